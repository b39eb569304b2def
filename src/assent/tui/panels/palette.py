"""The command palette: every command, found by a few letters."""

from collections.abc import Sequence

from assent.core.text.hidden_chars import visible_line
from assent.tui.commands.registry import BuiltinCommand
from assent.tui.panels.picker import Picker, PickerRow
from assent.tui.prompt.completion import Completion


class CommandPalette(Picker):
    """Ends with a line that is run, or that goes to the prompt if it needs an argument."""

    heading = "What can be done"
    keys = "Enter do it · PgUp PgDn page · Esc close"
    ranked = True

    def __init__(self, table: Sequence[BuiltinCommand], own: Sequence[Completion]) -> None:
        super().__init__()
        self._table = table
        self._own = own

    def rows(self) -> Sequence[PickerRow]:
        usual = [
            PickerRow(one.name, (one.usage, one.about), also=" ".join(one.aliases))
            for one in self._table
        ]
        own = [
            PickerRow(one.text, (visible_line(one.text), visible_line(one.about)))
            for one in self._own
        ]
        return [*usual, *own]
