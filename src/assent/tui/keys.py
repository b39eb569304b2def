"""Keys: the table of what each does and where, and when a key is accepted.

A key that was typed for something else decides nothing.
"""

from collections.abc import Iterator
from math import inf
from typing import Final, Literal, TypeAlias

import msgspec
from textual.binding import Binding

# The table of keys: what each does and where, for the bindings and for the help.


Where: TypeAlias = Literal[
    "anywhere", "prompt", "conversation", "question", "review", "run", "list", "field", "pager",
]  # fmt: skip


class KeyHelp(msgspec.Struct, frozen=True):
    """One key; without an action its widget binds it, and only the help lists it."""

    keys: str  # as Textual names them; several by commas
    shown: str
    what: str
    where: Where = "anywhere"
    action: str = ""
    priority: bool = False  # before whatever has the focus
    means: str = ""  # the same in every place, for a key that counts in several


KEYS: Final = (
    KeyHelp("enter", "Enter", "send the message, or queue it while the model works", "prompt"),
    KeyHelp("ctrl+j", "Ctrl+J", "insert a new line (also Alt+Enter)", "prompt"),
    KeyHelp("up,down", "Up, Down", "previous and next message; edit what is queued", "prompt"),
    KeyHelp("ctrl+r", "Ctrl+R", "search earlier messages", "prompt"),
    KeyHelp("at", "@", "complete a file, a folder or the name of a definition", "prompt"),
    KeyHelp("ctrl+v", "Ctrl+V", "attach the image in the clipboard, or insert what was cut",
        "prompt"),
    KeyHelp("slash", "/", "a command; Tab completes it", "prompt"),
    KeyHelp("exclamation_mark", "!", "run a shell command", "prompt"),
    KeyHelp("question_mark", "?", "this help, when the prompt is empty", "prompt"),
    KeyHelp("shift+tab", "Shift+Tab", "next mode: plan, ask, auto-edit", action="cycle_mode",
        priority=True),
    KeyHelp("escape", "Esc", "interrupt, or show the run; at rest twice: rewind to a message",
        action="step_back", means="close"),
    KeyHelp("ctrl+c", "Ctrl+C", "clear the prompt, or interrupt; at rest twice: exit",
        action="clear_or_leave", priority=True),
    KeyHelp("ctrl+d", "Ctrl+D", "exit, when the prompt is empty", action="leave_if_empty"),
    KeyHelp("ctrl+b", "Ctrl+B", "show or hide the sidebar", action="toggle_side", priority=True),
    KeyHelp("tab", "Tab", "a pending question; else sidebar and prompt, 1 to 4 choose a tab",
        means="next"),
    KeyHelp("ctrl+t", "Ctrl+T", "review the plan", action="review", means="review", priority=True),
    KeyHelp("ctrl+g", "Ctrl+G", "edit the plan's text in your editor", action="edit_plan",
        priority=True, means="edit"),
    KeyHelp("ctrl+z", "Ctrl+Z", "undo the last run after a preview, when the prompt is empty",
        action="undo", means="undo"),
    KeyHelp("f2", "F2", "go to the pending question", action="question", priority=True),
    KeyHelp("f9", "F9", "open the demo; needs no model", action="demo"),
    KeyHelp("ctrl+p", "Ctrl+P", "search all commands", action="palette"),
    KeyHelp("ctrl+o", "Ctrl+O", "expand or collapse results and reasoning; click one to toggle",
        "conversation", "fold"),
    KeyHelp("f3", "F3", "the whole conversation in a pager; / searches it", "conversation",
        "transcript", priority=True),
    KeyHelp("pageup", "PgUp", "scroll up", "conversation", "page_back", priority=True),
    KeyHelp("pagedown", "PgDn", "scroll down", "conversation", "page_on", priority=True),
    KeyHelp("ctrl+home", "Ctrl+Home", "go to the start", "conversation", "to_start",
        priority=True),
    KeyHelp("ctrl+end", "Ctrl+End", "go to the end and follow", "conversation", "to_end",
        priority=True),
)  # fmt: skip
# The keys of panels. The same key means the same thing wherever it means anything; in the pager,
# which decides nothing, they are those that pagers have.
PANEL_KEYS: Final = (
    KeyHelp("y", "y", "yes, once; high risk asks for Ctrl+Y", "question", means="yes"),
    KeyHelp("a", "a", "yes, and don't ask again in this session; Enter confirms", "question"),
    KeyHelp("p", "p", "the same for a folder or prefix that you can edit", "question"),
    KeyHelp("P", "P", "the same for every session of this project", "question"),
    KeyHelp("n", "n", "no, or no answer", "question"),
    KeyHelp("e", "e", "no, and why; or your own answer; Enter sends", "question"),
    KeyHelp("u", "u", "yes, without the sandbox; asks for Ctrl+Y", "question"),
    KeyHelp("v", "v", "show the raw call", "question", means="the other form of what is shown"),
    KeyHelp("s", "s", "skip reading to the end", "question", means="skip"),
    KeyHelp("space", "Space", "select or clear one of several options", "question", means="mark"),
    KeyHelp("enter", "Enter", "send the chosen option; confirm what is shown", "question",
        means="go on"),
    KeyHelp("ctrl+y", "Ctrl+Y", "confirm high risk", "question", means="confirm"),
    KeyHelp("left_square_bracket,right_square_bracket", "[ ]", "other pending questions",
        "question", means="previous and next"),
    KeyHelp("1,2,3,4,5,6,7,8,9", "1 to 9", "choose an option", "question", means="choose"),
    KeyHelp("tab", "Tab", "back to the prompt; the question stays", "question", means="next"),
    KeyHelp("question_mark", "?", "all keys", "question", means="all keys"),
    KeyHelp("escape", "Esc", "a step back; else answer later", "question", means="close"),
    KeyHelp("1", "1", "approve: shows the rest, then asks for y", "review", means="choose"),
    KeyHelp("y", "y", "yes: approve and build, or undo", "review", means="yes"),
    KeyHelp("o", "o", "yes, but do not build yet", "review"),
    KeyHelp("2", "2", "no, with feedback", "review", means="choose"),
    KeyHelp("3", "3", "exit planning; asks for Ctrl+Y", "review", means="choose"),
    KeyHelp("ctrl+y", "Ctrl+Y", "confirm what asks for it", "review", means="confirm"),
    KeyHelp("s", "s", "skip reading to the end", "review", means="skip"),
    KeyHelp("space", "Space", "exclude or include an operation", "review", means="mark"),
    KeyHelp("w", "w", "preview without what is excluded", "review"),
    KeyHelp("c", "c", "comment on a line", "review"),
    KeyHelp("m", "m", "a note with the approval", "review"),
    KeyHelp("v", "v", "the text as rendered Markdown; any key goes back", "review",
        means="the other form of what is shown"),
    KeyHelp("t", "t", "propose the plan's text as it is now; asks for Ctrl+Y", "review"),
    KeyHelp("b", "b", "rebase onto the current files; asks for Ctrl+Y", "review"),
    KeyHelp("f,plus,minus", "f + -", "the critic's next comment; + keeps it, - dismisses it",
        "review"),
    KeyHelp("left_square_bracket,right_square_bracket", "[ ]", "previous and next operation",
        "review", means="previous and next"),
    KeyHelp("d", "d", "diffs side by side, or in one column (from 140 columns)", "review"),
    KeyHelp("r", "r", "risks", "review"),
    KeyHelp("h", "h", "history", "review"),
    KeyHelp("i", "i", "of an undo: only this operation; w: all of it again", "review"),
    KeyHelp("ctrl+g", "Ctrl+G", "edit the plan's text in your editor", "review", means="edit"),
    KeyHelp("question_mark", "?", "all keys", "review", means="all keys"),
    KeyHelp("slash", "/", "search; n and N go on", "review", means="search"),
    KeyHelp("tab", "Tab", "the next option of several plans", "review", means="next"),
    KeyHelp("escape", "Esc", "close; nothing is decided", "review", means="close"),
    KeyHelp("1", "1", "of a stopped run: resume; asks for Ctrl+Y", "run", means="choose"),
    KeyHelp("2", "2", "of a stopped run: roll back; asks for Ctrl+Y", "run", means="choose"),
    KeyHelp("3", "3", "of a stopped run: accept as is; asks for Ctrl+Y", "run", means="choose"),
    KeyHelp("x", "x", "stop the command that runs; asks for Ctrl+Y", "run"),
    KeyHelp("V", "V", "whether the model verifies the build; while it does, stop it", "run"),
    KeyHelp("ctrl+z", "Ctrl+Z", "undo what was built, after a preview", "run", means="undo"),
    KeyHelp("ctrl+y", "Ctrl+Y", "confirm", "run", means="confirm"),
    KeyHelp("question_mark", "?", "all keys", "run", means="all keys"),
    KeyHelp("escape", "Esc", "close; the run goes on", "run", means="close"),
    KeyHelp("enter", "Enter", "choose; any letter filters", "list", means="go on"),
    KeyHelp("ctrl+u", "Ctrl+U", "clear the filter", "list", means="clear"),
    KeyHelp("space", "Space", "of revisions: compare with this one", "list", means="mark"),
    KeyHelp("ctrl+t", "Ctrl+T", "of plans: review", "list", means="review"),
    KeyHelp("ctrl+g", "Ctrl+G", "of plans: edit in your editor", "list", means="edit"),
    KeyHelp("ctrl+l", "Ctrl+L", "of plans: history of the text", "list"),
    KeyHelp("ctrl+f", "Ctrl+F", "of sessions: fork", "list"),
    KeyHelp("ctrl+e", "Ctrl+E", "of sessions: rename", "list"),
    KeyHelp("delete,ctrl+x", "Del", "of plans and sessions: delete (also Ctrl+X); asks for Ctrl+Y",
        "list"),
    KeyHelp("escape", "Esc", "close", "list", means="close"),
    KeyHelp("enter", "Enter", "send or save", "field", means="go on"),
    KeyHelp("ctrl+j", "Ctrl+J", "insert a new line (also Alt+Enter)", "field", means="new line"),
    KeyHelp("tab", "Tab", "the next field", "field", means="next"),
    KeyHelp("ctrl+a", "Ctrl+A", "of feedback: send to all options", "field"),
    KeyHelp("ctrl+u", "Ctrl+U", "clear up to the cursor", "field", means="clear"),
    KeyHelp("ctrl+y", "Ctrl+Y", "where asked again: confirm", "field", means="confirm"),
    KeyHelp("ctrl+w", "Ctrl+W", "where a rewind is asked again: with files", "field"),
    KeyHelp("escape", "Esc", "back; nothing is sent", "field", means="close"),
    KeyHelp("slash", "/", "search", "pager", means="search"),
    KeyHelp("n,N", "n N", "the next match, the previous one", "pager"),
    KeyHelp("g,G", "g G", "the beginning, the end", "pager"),
    KeyHelp("space,b", "Space b", "a page on, a page back", "pager"),
    KeyHelp("d", "d", "diffs side by side, or in one column (from 140 columns)", "pager"),
    KeyHelp("escape", "Esc", "end the search; close", "pager", means="close"),
)  # fmt: skip
# What moves in every panel, and is in no table.
MOVING_KEYS: Final = frozenset({
    "up", "down", "k", "j", "ctrl+p", "ctrl+n", "pageup", "pagedown", "home", "end",
})  # fmt: skip
KEY_CONTEXTS: Final[tuple[Where, ...]] = (
    "anywhere", "prompt", "conversation", "question", "review", "run", "list", "field", "pager",
)  # fmt: skip


def bindings() -> list[Binding]:
    """Returns the bindings of the screen."""
    return [
        Binding(row.keys, f"do('{row.action}')", row.what, show=False, priority=row.priority)
        for row in KEYS
        if row.action
    ]


def rows_of(where: Where) -> Iterator[tuple[str, str]]:
    """Returns the keys of one context with what they do, for the help."""
    return ((row.shown, row.what) for row in (*KEYS, *PANEL_KEYS) if row.where == where)


# When a key counts, by its time: nothing is decided by a key that was typed for something else.
#
# Times are passed in; nothing here reads a clock. A panel that decides ignores keys until typing
# pauses, an answer counts with a short pause before and after it, and keys meant for a panel that
# just closed are dropped.


DEBOUNCE_S: Final = 0.6  # of silence, before keys count in a panel that opened
ANSWER_S: Final = 0.25  # before an answer and after it, in which no other key comes
BURST_S: Final = 0.02  # between keys: no one types this fast, so they were pasted
CLOSE_S: Final = 0.4  # of silence, before keys count at the prompt after a panel closed
TOO_QUICK: Final = "Too fast: nothing was decided."
ANSWER_CANCELLED: Final = "Cancelled: nothing was decided."
CONFIRM_KEY: Final = "ctrl+y"  # approves what is hard to undo: no sentence ends in it
# Keys that are not part of any sentence, and decide nothing: a new panel can be read at once.
SCROLL_KEYS: Final = frozenset({"up", "down", "pageup", "pagedown", "home", "end", "escape"})


class KeyDebounce:
    """Drops what is typed until typing pauses; each key restarts the pause."""

    def __init__(self, need: float = 0.0, since: float = -inf) -> None:
        self._need = need
        self._since = since

    def breaks(self, at: float, key: str = "") -> bool:
        """Tells whether something was typed too early to count."""
        if at < self._since + self._need:
            if key not in SCROLL_KEYS:
                self._since = max(self._since, at)
            return key not in SCROLL_KEYS or at < self._since
        self._need, self._since = 0.0, -inf
        return False


class BurstDetector:
    """Tells typed keys from those that arrive all at once, from a paste or a text expander."""

    def __init__(self) -> None:
        self._last = -inf
        self.need = 0.0
        self.soon = False  # whether the key comes at once with the one before

    def take(self, at: float, need: float) -> None:
        """Takes the time of a key or a paste."""
        self.soon = at < self._last + need
        self._last, self.need = at, need


class AnswerTiming:
    """Decides whether a key answers a question, from the paint time and the previous key."""

    def __init__(self) -> None:
        self._need = ANSWER_S
        self._painted = inf
        self._before = -inf
        self._hasty = False
        self._held: float | None = None

    @property
    def seen(self) -> bool:
        """Whether the question is on the screen."""
        return self._painted < inf

    @property
    def has_pending(self) -> bool:
        """Whether an answer is being delayed."""
        return self._held is not None

    def ask(self) -> None:
        """Starts a new question, which the user has not seen yet."""
        self._painted = inf

    def paint(self, at: float, need: float) -> None:
        """Records when the question was painted, and the pause that an answer requires."""
        self._painted, self._need = at, need

    def is_early(self, at: float) -> bool:
        """Tells whether a key was typed before the user could see what it would do."""
        return at <= self._painted

    def is_quick(self, at: float) -> bool:
        """Records a key at an open question; tells whether it is too early for an answer."""
        quick = at <= self._painted or at < max(self._painted, self._before) + self._need
        self._before = at
        return quick

    def note(self, at: float) -> bool:
        """Records a key without a question; tells whether it belongs to an earlier burst."""
        rest = self._hasty and at < self._before + self._need
        self._hasty, self._before = rest, at
        return rest

    def cancel(self) -> None:
        """Closes a question because of fast typing; the rest of the burst is ignored too."""
        self._hasty, self._held = True, None

    def hold(self, at: float) -> bool:
        """Delays an answer for a moment; tells whether it is delayed."""
        self._held = at if self._need > 0 else None
        return self.has_pending

    def is_overtaken(self, at: float) -> bool:
        """Records a key after an answer; tells whether it came soon enough to cancel the answer."""
        soon = self._held is not None and at < self._held + self._need
        if soon:
            self._before = at
            self.cancel()
        return soon

    def release(self) -> bool:
        """Releases the delayed answer; tells whether there still is one."""
        held, self._held = self._held, None
        return held is not None

    @property
    def wait(self) -> float:
        """How long an answer is delayed."""
        return self._need
