"""The list of modes, from the strictest on, with what each allows without asking."""

from collections.abc import Sequence
from typing import Final

from assent.core.permission.mode import mode_names
from assent.core.text.hidden_chars import visible_line
from assent.tui.panels.picker import Picker, PickerRow

MODE_DESCRIPTIONS: Final = {
    "plan": "nothing changes before you approved a plan",
    "ask": "you are asked before every change and command",
    "auto-edit": "files are edited unasked, commands are asked",
    "yolo": "nothing is asked; you confirm this mode first",
}


class ModeList(Picker):
    """Ends with the name of a mode."""

    heading = "Modes"
    keys = "Enter go on in this one · PgUp PgDn page · Esc close"

    def rows(self) -> Sequence[PickerRow]:
        now, own = self.terminal.status_snapshot.mode, self.terminal.engine.sessions.modes
        about = {
            name: f"{mode.base}, narrowed. {visible_line(mode.label)}".rstrip()
            for name, mode in own.items()
        }
        about |= MODE_DESCRIPTIONS
        return [
            PickerRow(name, (f"{'*' if name == now else ' '} {visible_line(name)}", about[name]))
            for name in mode_names(own)
        ]
