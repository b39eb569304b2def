"""A panel that shows something with a digest in full, and takes an approval of it.

One key asks, another one approves. Keys typed before the question was painted, or too soon after
another key, close the question, and pasted text never counts.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, TypeVar

import msgspec
from rich.cells import cell_len
from rich.text import Text
from textual.actions import SkipAction
from textual.events import Key, Paste, Resize
from textual.widget import Widget
from textual.widgets import Static

from assent.core.errors import AssentError
from assent.render.lines import Line
from assent.tui.keys import TOO_QUICK
from assent.tui.line_view import LinePosition, LineView, Section
from assent.tui.panels.approval.review import OPERATION, RISKS, error_line, number_of, unseen_text
from assent.tui.panels.approval.state import (
    ASKING,
    DECIDING,
    READ_ON,
    ApprovalAction,
    ApprovalStage,
    ApprovalState,
    action_lines,
    early_text,
    handle_approval_key,
    key_line,
)
from assent.tui.panels.panel import DebouncedPanel
from assent.tui.theme import chosen_theme, style_in_theme

T = TypeVar("T")
TOO_LOW: Final = "The question does not fit; make the terminal larger."
COLUMNS_WIDTH: Final = 140  # of the terminal, from which diffs can be side by side
TOO_NARROW: Final = f"Diffs stand side by side from {COLUMNS_WIDTH} columns on."
LOW: Final = 30  # rows, below which the context takes one or two
TINY: Final = 18  # rows, below which all room is left to what is read


class DecisionPanel(DebouncedPanel[str]):
    """Four areas: the title, everything that is decided on, its context, and the actions."""

    DEFAULT_CSS = """
    DecisionPanel #all { height: 1fr; }
    DecisionPanel #context { height: auto; max-height: 9; border-top: solid $primary; }
    DecisionPanel #actions { height: auto; border-top: solid $primary; }
    DecisionPanel.wide > #frame { max-width: 240; }
    DecisionPanel.low #context { border: none; max-height: 2; color: $text-muted; }
    DecisionPanel.low.asks #context { max-height: 1; }
    DecisionPanel.asks #panel-keys { color: $text; }
    DecisionPanel.alone #context, DecisionPanel.tiny #context { display: none; }
    DecisionPanel.tiny #panel-title { max-height: 3; }
    DecisionPanel.tiny.rests #panel-keys { max-height: 1; }
    DecisionPanel.bare #actions { display: none; }
    DecisionPanel.bare #panel-keys { border-top: solid $primary; max-height: 2; }
    """
    AUTO_FOCUS = "#all"

    def __init__(self) -> None:
        super().__init__()
        self.standing = ApprovalState()
        self.told = ""
        self.asks_again = False  # a question stays open under the panel that is about to open
        self._seen_to = 0  # the row up to which all was in sight when the question opened
        self._missed = False  # something was recorded while it was being read

    @property
    def line_view(self) -> LineView:
        return self.query_one("#all", LineView)

    def body(self) -> list[Widget]:
        return [LineView(pointing=True, id="all"), Static(id="context"), Static(id="actions")]

    def on_mount(self) -> None:
        self.load()

    def load(self) -> None:
        """Starts reading what there is to decide; it is shown when that is done."""
        raise NotImplementedError

    def titles(self, width: int) -> Sequence[Line]:
        """Returns the lines at the top."""
        raise NotImplementedError

    def context(self, width: int) -> Sequence[Line]:
        """Returns the lines between the content and the actions."""
        raise NotImplementedError

    def brief_context(self, width: int) -> Sequence[Line]:
        """Returns the same where there is little room."""
        return self.context(width)

    def digest(self) -> str:
        """Returns the digest that an approval would cover."""
        raise NotImplementedError

    def do(self, act: ApprovalAction) -> None:
        """Runs the action of a key, except for moving around."""
        raise NotImplementedError

    def reached(self) -> None:
        """Called when the end was on the screen."""

    def on_key(self, event: Key) -> None:
        """Handles every key that is not part of a search, by the table of its stage."""
        event.stop()
        event.prevent_default()
        asked = self.standing.stage in ASKING
        closes = event.key == "escape"
        if self.is_overtaken(event.time) or self.is_hasty(event.time, answers=asked, closes=closes):
            return
        if self.line_view.searching:  # and not where keys go: a click elsewhere took them away
            self.line_view.focus()
            return
        if asked and not self._in_sight():
            self._back(TOO_LOW)
            return
        self._press(event)

    @property
    def has_open_question(self) -> bool:
        return self.standing.stage in ASKING

    def cancel_question(self, why: str = TOO_QUICK) -> None:
        self._back(why)

    def _back(self, told: str) -> None:
        """Returns to reading, and shows why nothing was decided."""
        self._change(stage=ApprovalStage.READING)
        self.told = told
        self.paint(asked=True)

    def _press(self, event: Key) -> None:
        told, self.told = self.told, ""
        was = self.standing
        if (
            was.stage is ApprovalStage.READING
            and event.key in _SEARCHING
            and self._search(event.key)
        ):
            return
        after, act = handle_approval_key(was, event.key)
        if act in DECIDING:
            self.hold(event.time, partial(self._decided, after, act))
            return
        self.standing, self._seen_to = after, 0
        if act in _MOVES:
            _MOVES[act](self)
        elif act is not ApprovalAction.NOTHING:
            self._do(act)
        elif self._asks_at_end(was):
            self._ask_at_end(self.line_view.rows)
        if told or act not in _MOVES:
            self.paint(asked=self.standing.stage is not was.stage)

    def _decided(self, after: ApprovalState, act: ApprovalAction) -> None:
        self.standing = after
        self._do(act)
        self.paint(asked=True)

    def on_paste(self, event: Paste) -> None:
        event.stop()  # what is pasted decides nothing

    def on_line_view_end_reached(self, event: LineView.EndReached) -> None:
        event.stop()
        if self.standing.stage is not ApprovalStage.LOADING and self.line_view.reached_end:
            self._change(read=True)
            self.reached()
            self.paint()

    def on_screen_suspend(self) -> None:
        """Closes a question when something opens over it: the next keys may be for that."""
        if self.standing.stage in ASKING and not self.asks_again:
            self._change(stage=ApprovalStage.READING)
        self.asks_again = False

    def on_screen_resume(self) -> None:
        self.paint(asked=True)

    def on_resize(self, event: Resize) -> None:
        self.set_class(event.size.height < LOW, "low")
        self.set_class(event.size.height < TINY, "tiny")
        self._lay_out(event.size.width)
        self.call_after_refresh(self.paint)

    def _lay_out(self, width: int) -> None:
        """Shows diffs side by side if there is room and the user wants it."""
        columns = width >= COLUMNS_WIDTH and self.terminal.choices.side_by_side
        self.set_class(columns, "wide")
        self.line_view.lay_out(columns=columns)

    def _change_layout(self) -> None:
        """Changes between one column and two, and remembers it."""
        width = self.app.size.width
        if width < COLUMNS_WIDTH:
            self.told = TOO_NARROW
            return
        self.terminal.remember(side_by_side=not self.terminal.choices.side_by_side)
        self._lay_out(width)

    def show(self, sheets: Sequence[Section], standing: ApprovalState, told: str = "") -> None:
        """Shows something else to decide about, from its beginning."""
        self.standing, self.told = standing, told
        self.line_view.show(sheets)
        self.paint(asked=True)
        if self._missed:
            self.follow()

    def work(self, act: Callable[[], T], then: Callable[[T], None], stage: ApprovalStage) -> None:
        """Runs something slow in a thread; an error is shown, and nothing else happens."""
        self._change(stage=stage)
        self.paint(asked=True)

        def done(found: T) -> None:
            if self.is_attached:
                then(found)

        def tried() -> T:
            try:
                return act()
            except OSError as error:
                raise AssentError(f"Failed: {error}.") from error

        self.terminal.tasks.run("", tried, done, self.failed)

    def decided_elsewhere(self) -> Callable[[], str] | None:
        """Returns a function that reads what was decided elsewhere; None while loading."""
        raise NotImplementedError

    def close_decided(self) -> None:
        """Closes the panel, because it was decided elsewhere."""
        self.terminal.refresh_status()
        self.dismiss(None)

    def follow(self) -> None:
        """Checks whether it was decided elsewhere; then the panel closes.

        While it is loading or recording, this waits until it is shown the next time.
        """
        act = self.decided_elsewhere()
        self._missed = act is None or not self.is_followed
        if act is not None and self.is_followed:
            self.terminal.tasks.run("", act, self._heard, lambda _: None)

    def _heard(self, words: str) -> None:
        if words and self.is_followed:
            self.closes(words)

    @property
    def is_followed(self) -> bool:
        """Whether it closes when others decide; not while it is loading or recording."""
        return not self.is_over and self.standing.stage not in (
            ApprovalStage.LOADING,
            ApprovalStage.RECORDING,
        )

    def closes(self, words: str) -> None:
        """Shows in the conversation what was decided elsewhere, and closes the panel."""
        self.forget()
        self.terminal.add_note(Line("risk", words))
        if not self.is_active:
            self.terminal.hint(words)
        self.close_decided()

    def failed(self, error: AssentError) -> None:
        """Shows why something failed, and returns to reading if there is anything to read."""
        if self.is_attached:
            self.told = error_line(error)
            self._change(
                stage=ApprovalStage.READING if self.line_view.sections else ApprovalStage.LOADING
            )
            self.paint(asked=True)

    def paint(self, *, asked: bool = False) -> None:
        """Draws everything but the content; keys count once a new question is on the screen."""
        if not self.is_attached:
            return
        if asked:
            self.asks()
        width = self._width
        self._fill("#panel-title", self.titles(width))
        low = self.has_class("low")
        context = self.brief_context(width) if low else self.context(width)
        self._fill("#context", context)
        self.set_class(not context, "alone")
        unseen = ""
        if self.standing.stage is ApprovalStage.SKIPPING or self.standing.skipped:
            unseen = unseen_text(self.line_view.sections, self._last_in_sight())
        lines = action_lines(self.standing, self.digest(), self.told, unseen)
        self._fill("#actions", lines)
        asks = self.standing.stage in ASKING
        self.set_class(asks, "asks")
        self.set_class(not asks, "rests")
        self.set_class(not lines, "bare")
        self._fill("#panel-keys", [Line("plain" if asks else "dim", key_line(self.standing))])

    @property
    def _width(self) -> int:
        return max(self.query_one("#panel-title").size.width, 20)

    def _in_sight(self) -> bool:
        """Tells whether a question and its keys are fully visible, however small the screen is."""
        actions, keys = self.query_one("#actions"), self.query_one("#panel-keys")
        place, below = self.find_widget(actions), self.find_widget(keys)
        whole = all(
            each.visible_region == each.region and each.region.height > 0 for each in (place, below)
        )
        return whole and place.region.bottom <= below.region.y

    def _fill(self, zone: str, lines: Sequence[Line]) -> None:
        theme = chosen_theme(self.app.theme)
        text = Text("\n", no_wrap=False).join([_styled(line, theme) for line in lines])
        self.query_one(zone, Static).update(text)

    def _change(self, **changes: object) -> None:
        if changes.get("stage") is ApprovalStage.READING:
            changes["skipped"] = False
        self.standing = msgspec.structs.replace(self.standing, **changes)

    def _asks_at_end(self, was: ApprovalState) -> bool:
        """Tells whether the question opened while the end, which was read, was in sight."""
        opened = (
            self.standing.stage is ApprovalStage.CHOOSING and was.stage is not self.standing.stage
        )
        paper = self.line_view
        return opened and self.standing.read and paper.scroll_offset.y >= paper.max_scroll_y

    def _show_rest(self) -> None:
        """Turns the page, or asks at once if what was not shown fits beside the question."""
        paper = self.line_view
        seen = paper.scroll_offset.y + paper.height
        asked = msgspec.structs.replace(self.standing, stage=ApprovalStage.CHOOSING)
        question = _rows(action_lines(asked, self.digest(), ""), self._width)
        question += _rows([Line("plain", key_line(asked))], self._width) - 1
        beside = self.query_one("#all").size.height + self.query_one("#actions").size.height
        if paper.rows - seen <= beside - question:
            self._change(stage=ApprovalStage.CHOOSING, skipped=False)
            self._ask_at_end(seen)
            return
        self._page(1)
        self.told = READ_ON if paper.rows > seen + paper.height - 1 else ""

    def _ask_at_end(self, seen: int) -> None:
        """Keeps the end in sight beside the question, for which it has to make room."""
        self._seen_to = seen
        self.call_after_refresh(self._scroll_beside_question)

    def on_line_view_resized(self, event: LineView.Resized) -> None:
        event.stop()
        self._scroll_beside_question()

    def _scroll_beside_question(self) -> None:
        """Scrolls to the end; back to reading if a row would not have been in sight."""
        if self.standing.stage is not ApprovalStage.CHOOSING or not self._seen_to:
            return
        paper = self.line_view
        if paper.rows - paper.height > self._seen_to:
            self._back(READ_ON)
            return
        paper.action_scroll_end()
        if not self.standing.read:
            self.asks()  # keys count once it was painted

    def _do(self, act: ApprovalAction) -> None:
        match act:
            case ApprovalAction.REST:
                self._show_rest()
            case ApprovalAction.EARLY:
                self.told = early_text(self.standing)
            case ApprovalAction.LEAVE:
                self.action_leave()
            case ApprovalAction.HELP:
                app = self.terminal
                app.open("help", app.commands, app.own_commands, first="review")
            case ApprovalAction.LAYOUT:
                self._change_layout()
            case ApprovalAction.RISKS:
                self.line_view.reveal(LinePosition(RISKS, 0))
            case _:
                self.do(act)

    def _last_in_sight(self) -> LinePosition | None:
        paper = self.line_view
        return paper.first_line(min(paper.scroll_offset.y + paper.size.height, paper.rows) - 1)

    def _page(self, way: int) -> None:
        """Scrolls by a page; the cursor keeps its position on the screen."""
        paper = self.line_view
        step = way * max(paper.height - 1, 1)
        paper.scroll_to(y=paper.scroll_offset.y + step, animate=False, immediate=True)
        paper.point(paper.cursor + step)

    def _find(self) -> None:
        self.line_view.focus()
        self.line_view.action_find()

    def _search(self, key: str) -> bool:
        """Continues or ends a search; tells whether there is one."""
        try:
            _SEARCHING[key](self.line_view)
        except SkipAction:
            return False
        return True

    def _to_operation(self, way: int) -> None:
        paper = self.line_view
        spot = paper.position
        keys = [sheet.key for sheet in paper.sections]
        if spot is None or not keys:
            return
        at = keys.index(spot.key)
        ahead = keys[at + 1 :] if way > 0 else keys[:at][::-1]
        if way < 0 and number_of(spot.key) and spot.line:
            ahead = [spot.key, *ahead]
        found = next((key for key in ahead if key.startswith(OPERATION)), "")
        if found:
            paper.reveal(LinePosition(found, 0))


def _rows(lines: Sequence[Line], width: int) -> int:
    """Returns how many rows lines take at a width, or a row more than that."""
    return sum(1 + cell_len(line.text) // max(width - 1, 1) for line in lines)


def _styled(line: Line, theme: str) -> Text:
    """Returns a line in its style, with what is marked as a gutter dimmed."""
    look, dim = style_in_theme(theme, line.style), style_in_theme(theme, "dim")
    if not line.spans:
        return Text(line.text, look)
    return Text.assemble(
        *[(span.text, dim if span.role == "gutter" else look) for span in line.spans]
    )


_MOVES: dict[ApprovalAction, Callable[[DecisionPanel], None]] = {
    ApprovalAction.UP: lambda panel: panel.line_view.action_scroll_up(),
    ApprovalAction.DOWN: lambda panel: panel.line_view.action_scroll_down(),
    ApprovalAction.PAGE_UP: lambda panel: panel._page(-1),
    ApprovalAction.PAGE_DOWN: lambda panel: panel._page(1),
    ApprovalAction.TOP: lambda panel: panel.line_view.action_scroll_home(),
    ApprovalAction.END: lambda panel: panel.line_view.action_scroll_end(),
    ApprovalAction.NEXT: lambda panel: panel._to_operation(1),
    ApprovalAction.PREVIOUS: lambda panel: panel._to_operation(-1),
    ApprovalAction.FIND: lambda panel: panel._find(),
}
_SEARCHING: dict[str, Callable[[LineView], None]] = {
    "n": lambda paper: paper.action_find_on(1),
    "N": lambda paper: paper.action_find_on(-1),
    "escape": lambda paper: paper.action_find_end(),
}
