"""Keys: the table of what each does and where, and when a key counts by its time.

Nothing is decided by a key that was typed for something else.
"""

from collections.abc import Iterator
from math import inf
from typing import Final, Literal, TypeAlias

import msgspec
from textual.binding import Binding

# The table of keys: what each does and where, for the bindings and for the help.


Where: TypeAlias = Literal["anywhere", "prompt", "conversation"]


class KeyHelp(msgspec.Struct, frozen=True):
    """One key. Without an action its widget binds it itself, and only the help lists it."""

    keys: str  # as Textual names them; several by commas
    shown: str
    what: str
    where: Where = "anywhere"
    action: str = ""
    priority: bool = False  # before whatever has the focus


KEYS: Final = (
    KeyHelp("enter", "Enter", "say what is typed", "prompt"),
    KeyHelp("ctrl+j", "Ctrl+J", "begin another line; so does Alt+Enter", "prompt"),
    KeyHelp("up,down", "Up, Down", "what was said before and after", "prompt"),
    KeyHelp("ctrl+r", "Ctrl+R", "search what was said before", "prompt"),
    KeyHelp("at", "@", "complete a file's name", "prompt"),
    KeyHelp("slash", "/", "a command; Tab completes it", "prompt"),
    KeyHelp("exclamation_mark", "!", "run a command line of your own", "prompt"),
    KeyHelp("question_mark", "?", "this help, where nothing is typed", "prompt"),
    KeyHelp("shift+tab", "Shift+Tab", "next mode: plan, ask, auto-edit", action="cycle_mode",
        priority=True),
    KeyHelp("escape", "Esc", "interrupt what is at work; twice: go back to an earlier message",
        action="step_back"),
    KeyHelp("ctrl+c", "Ctrl+C", "take an answer back, or clear what is typed; twice: leave",
        action="clear_or_leave", priority=True),
    KeyHelp("ctrl+d", "Ctrl+D", "leave, where nothing is typed", action="leave_if_empty"),
    KeyHelp("ctrl+b", "Ctrl+B", "show or hide the side area", action="toggle_side", priority=True),
    KeyHelp("tab", "Tab", "to the side area and back; there 1 to 4 choose a part, Enter opens"),
    KeyHelp("ctrl+t", "Ctrl+T", "review the plan", action="review", priority=True),
    KeyHelp("ctrl+g", "Ctrl+G", "open the plan's text in your editor", action="edit_plan",
        priority=True),
    KeyHelp("f2", "F2", "open the question that waits", action="question", priority=True),
    KeyHelp("f9", "F9", "the demo, which needs no model", action="demo"),
    KeyHelp("ctrl+p", "Ctrl+P", "everything that can be done, by name", action="palette"),
    KeyHelp("ctrl+o", "Ctrl+O", "unfold or fold results and reasoning; a click does it for one",
        "conversation", "fold"),
    KeyHelp("pageup", "PgUp", "scroll back", "conversation", "page_back", priority=True),
    KeyHelp("pagedown", "PgDn", "scroll on", "conversation", "page_on", priority=True),
    KeyHelp("ctrl+home", "Ctrl+Home", "to the beginning", "conversation", "to_start",
        priority=True),
    KeyHelp("ctrl+end", "Ctrl+End", "to the end, and stay there", "conversation", "to_end",
        priority=True),
)  # fmt: skip
KEY_CONTEXTS: Final[tuple[Where, ...]] = ("anywhere", "prompt", "conversation")


def bindings() -> list[Binding]:
    """Returns the bindings of the screen."""
    return [
        Binding(row.keys, f"do('{row.action}')", row.what, show=False, priority=row.priority)
        for row in KEYS
        if row.action
    ]


def rows_of(where: Where) -> Iterator[tuple[str, str]]:
    """Returns the keys of one place with what they do, for the help."""
    return ((row.shown, row.what) for row in KEYS if row.where == where)


# When a key counts, by its time: nothing is decided by a key that was typed for something else.
#
# Times are passed in; nothing here reads a clock. A panel that decides ignores keys until typing
# pauses, an answer counts with a short pause before and after it, and keys meant for a panel that
# just closed are dropped.


DEBOUNCE_S: Final = 0.6  # of silence, before keys count in a panel that opened
ANSWER_S: Final = 0.25  # before an answer and after it, in which no other key comes
BURST_S: Final = 0.02  # between keys that nobody types: they were pasted
CLOSE_S: Final = 0.4  # of silence, before keys count at the prompt after a panel closed
MAX_TYPED_BURST: Final = 4  # keys that may come in one go and were typed nevertheless
TOO_QUICK: Final = "Too quick: nothing was decided."
ANSWER_CANCELLED: Final = "Taken back: nothing was decided."
CONFIRM_KEY: Final = "ctrl+y"  # a yes to what is hard to take back: no sentence ends in it
# Keys that are no part of any sentence, and decide nothing: what was opened can be read at once.
SCROLL_KEYS: Final = frozenset({"up", "down", "pageup", "pagedown", "home", "end", "escape"})


class KeyDebounce:
    """Drops what is typed until typing pauses; each key restarts the pause."""

    def __init__(self, need: float = 0.0, since: float = -inf) -> None:
        self._need = need
        self._since = since

    def breaks(self, at: float, key: str = "") -> bool:
        """Tells whether something typed comes too early to count."""
        if at < self._since + self._need:
            if key not in SCROLL_KEYS:
                self._since = max(self._since, at)
            return key not in SCROLL_KEYS or at < self._since
        self._need, self._since = 0.0, -inf
        return False


class BurstDetector:
    """Tells typed keys from those that arrive all at once.

    A slow line delivers a few at a time that were typed by hand; a paste is more than a few.
    """

    def __init__(self) -> None:
        self._last = -inf
        self._many = 0
        self.need = 0.0
        self.soon = False  # whether the key comes at once with the one before

    @property
    def is_paste(self) -> bool:
        return self._many > MAX_TYPED_BURST

    def take(self, at: float, need: float) -> None:
        """Takes a key, or a paste, into account."""
        self.soon = at < self._last + need
        self._many = self._many + 1 if self.soon else 0
        self._last, self.need = at, need


class AnswerTiming:
    """Decides whether a key answers a question, by when it was painted and the key before."""

    def __init__(self) -> None:
        self._need = ANSWER_S
        self._painted = inf
        self._before = -inf
        self._hasty = False
        self._held: float | None = None

    @property
    def seen(self) -> bool:
        """Whether what is asked is on the screen."""
        return self._painted < inf

    @property
    def has_pending(self) -> bool:
        """Whether an answer waits for the moment after it to pass."""
        return self._held is not None

    def ask(self) -> None:
        """Says that something new is asked, which nobody has seen yet."""
        self._painted = inf

    def paint(self, at: float, need: float) -> None:
        """Says when it was painted, and how much quiet an answer takes."""
        self._painted, self._need = at, need

    def is_early(self, at: float) -> bool:
        """Tells whether a key was typed before anybody could see what it would do."""
        return at <= self._painted

    def is_quick(self, at: float) -> bool:
        """Takes a key at an open question; tells whether it comes too soon to be an answer."""
        quick = at <= self._painted or at < max(self._painted, self._before) + self._need
        self._before = at
        return quick

    def note(self, at: float) -> bool:
        """Takes a key where nothing is asked; tells whether it goes on with what was too quick."""
        rest = self._hasty and at < self._before + self._need
        self._hasty, self._before = rest, at
        return rest

    def cancel(self) -> None:
        """Takes a question back because of haste; the rest of the burst does not count either."""
        self._hasty, self._held = True, None

    def hold(self, at: float) -> bool:
        """Keeps an answer back for the moment after it; tells whether there is one to wait for."""
        self._held = at if self._need > 0 else None
        return self.has_pending

    def is_overtaken(self, at: float) -> bool:
        """Takes a key after an answer; tells whether it comes so soon that there was no answer."""
        soon = self._held is not None and at < self._held + self._need
        if soon:
            self._before = at
            self.cancel()
        return soon

    def release(self) -> bool:
        """Lets the answer go that is kept back; tells whether there is one still."""
        held, self._held = self._held, None
        return held is not None

    @property
    def wait(self) -> float:
        """How long an answer is kept back."""
        return self._need
