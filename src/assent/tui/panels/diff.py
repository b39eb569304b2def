"""Diffs that a command shows: in the conversation if they are short, else in a panel.

The rows are those of a review; from 140 columns they stand side by side.
"""

from collections.abc import Iterable, Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.events import Resize
from textual.widgets import Static

from assent.render.lines import BLANK, Line
from assent.render.review import NONE, Review
from assent.render.turn_changes import (
    TurnChanges,
    file_heading_lines,
    session_heading_lines,
    turn_heading_lines,
)
from assent.tui.context import AppContext
from assent.tui.line_view import LineView, Section
from assent.tui.panels.approval.review import diff_section, operation_section
from assent.tui.panels.decision import COLUMNS_WIDTH, TOO_NARROW
from assent.tui.panels.panel import MAX_INLINE_LINES, LinesPanel


class DiffPanel(LinesPanel):
    """Shows diffs to scroll and to search, from 140 columns side by side."""

    DEFAULT_CSS = """
    DiffPanel.wide > #frame { max-width: 240; }
    DiffPanel LineView { margin: 0; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("d", "lay_out", "Side by side", show=False)]
    keys = "↑ ↓ PgUp PgDn scroll · / search, n next · Esc close"
    wide_keys = "↑ ↓ PgUp PgDn scroll · / search, n next · d columns · Esc close"

    def on_resize(self, event: Resize) -> None:
        super().on_resize(event)
        self._lay_out(event.size.width)

    def action_lay_out(self) -> None:
        """Changes between one column and two, and remembers it."""
        width = self.app.size.width
        if width < COLUMNS_WIDTH:
            self.query_one("#panel-keys", Static).update(f"{TOO_NARROW} {self.keys}")
            return
        self.terminal.remember(side_by_side=not self.terminal.choices.side_by_side)
        self._lay_out(width)

    def _lay_out(self, width: int) -> None:
        columns = width >= COLUMNS_WIDTH and self.terminal.choices.side_by_side
        keys = self.wide_keys if width >= COLUMNS_WIDTH else self.keys
        self.query_one("#panel-keys", Static).update(keys)
        self.set_class(columns, "wide")
        self.query_one(LineView).lay_out(columns=columns)


def show_diffs(app: AppContext, heading: str, sections: Sequence[Section]) -> None:
    """Shows diffs in the conversation; in a panel what is long, or can stand side by side."""
    lines = [section.painted(at) for section in sections for at in range(len(section.lines))]
    while lines and lines[-1] == BLANK:
        lines.pop()
    wide = app.screen_stack[0].size.width >= COLUMNS_WIDTH and app.choices.side_by_side
    beside = wide and any(one.columns and one.columns.pairs() for one in sections)
    if len(lines) > MAX_INLINE_LINES or beside:
        app.open_panel(DiffPanel(heading, sections))
    else:
        app.add_note(*lines)


def staged_sections(review: Review) -> list[Section]:
    """Returns the operations of a plan in full, as a review shows them."""
    if not review.operations:
        return [Section("none", (Line("dim", NONE),))]
    return [operation_section(review, number) for number in range(1, len(review.operations) + 1)]


def turn_sections(changes: TurnChanges) -> list[Section]:
    """Returns what a turn changed: its result, and the diff of every file."""
    return _change_sections(turn_heading_lines(changes), changes)


def session_sections(changes: TurnChanges) -> list[Section]:
    """Returns what a session changed, as far as it was not undone."""
    return _change_sections(session_heading_lines(changes), changes)


def _change_sections(heading: Iterable[Line], changes: TurnChanges) -> list[Section]:
    sections = [Section("changes", (*heading, BLANK))]
    for number, file in enumerate(changes.files, 1):
        head = list(file_heading_lines(file))
        if file.diff:
            sections.append(diff_section(f"file:{number}", head, file.diff))
        else:
            sections.append(Section(f"file:{number}", (*head, BLANK)))
    return sections
