"""The help panel and the command palette: every key and every command.

Both read the tables that bind the keys and run the commands.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from assent.core.text.hidden_chars import visible_line
from assent.render.lines import BLANK, Line, table_lines
from assent.tui.commands.command import GROUPS, CommandInfo
from assent.tui.keys import KEY_CONTEXTS, Where, rows_of
from assent.tui.line_view import Section
from assent.tui.panels.panel import LinesPanel
from assent.tui.panels.picker import Picker, PickerRow
from assent.tui.prompt.completion import Completion

CONTEXT_TITLES: Final = {
    "anywhere": "Keys",
    "prompt": "In the prompt",
    "conversation": "Conversation",
    "question": "At a question",
    "review": "In a review of a plan, an undo or a redo",
    "run": "In the view of a run",
    "list": "In a list",
    "field": "In a field, and where something is asked again",
    "pager": "In the transcript and other pages to read",
}
HEAD: Final = (
    Line("plain", "Describe a task. In plan mode the model explores and plans; nothing"),
    Line("plain", "changes until you review and approve the plan. A build can be undone."),
)


class HelpPanel(LinesPanel):
    """Shows keys and commands; `/` searches in them."""

    def __init__(
        self,
        table: Sequence[CommandInfo],
        own: Sequence[Completion] = (),
        first: Where = "anywhere",
    ) -> None:
        super().__init__("Help", [Section("help", tuple(help_lines(table, own, first)))])


def help_lines(
    table: Sequence[CommandInfo], own: Sequence[Completion] = (), first: Where = "anywhere"
) -> Iterator[Line]:
    """Renders all keys by context, the one that the user is in first, and all commands."""
    yield from HEAD
    for place in sorted(KEY_CONTEXTS, key=lambda place: place != first):
        yield BLANK
        yield Line("heading", CONTEXT_TITLES[place])
        yield from _rows(list(rows_of(place)))
    for group, words in GROUPS.items():
        yield BLANK
        yield Line("heading", words)
        yield from _rows([_told(one) for one in table if one.group == group])
    if own:
        yield BLANK
        yield Line("heading", "Custom commands")
        yield from _rows([(visible_line(one.text), visible_line(one.about)) for one in own])


def _told(one: CommandInfo) -> tuple[str, str]:
    also = f" (also {', '.join(one.aliases)})" if one.aliases else ""
    return one.usage, f"{one.about}{also}"


def _rows(rows: Sequence[tuple[str, str]]) -> Iterator[Line]:
    yield from table_lines("plain", [(f"  {name}", what) for name, what in rows])


# The command palette: every command, found by a few letters.


class CommandPalette(Picker):
    """Lists all commands; the chosen one is run, or put into the prompt if it needs an argument."""

    heading = "Commands"
    keys = "Enter run · PgUp PgDn page · Esc close"
    abbreviates = True

    def __init__(self, table: Sequence[CommandInfo], own: Sequence[Completion]) -> None:
        super().__init__()
        self._table = table
        self._own = own

    def rows(self) -> Sequence[PickerRow]:
        usual = [
            PickerRow(one.name, (one.usage, one.about), name=" ".join((one.name, *one.aliases)))
            for one in self._table
        ]
        own = [
            PickerRow(one.text, (visible_line(one.text), visible_line(one.about)))
            for one in self._own
        ]
        return [*usual, *own]
