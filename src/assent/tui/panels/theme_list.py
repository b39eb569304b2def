"""The theme list: previews each theme while moving over it; Esc restores the old one."""

from collections.abc import Sequence
from typing import Final

from assent.render.lines import Line
from assent.tui.panels.picker import Picker, PickerRow
from assent.tui.theme.styles import DARK, LIGHT, PLAIN, THEMES

THEME_DESCRIPTIONS: Final = {
    DARK: "light letters on a dark ground",
    LIGHT: "dark letters on a light ground",
    PLAIN: "the terminal's own colours, and no others",
}
SAMPLE: Final = (
    Line("heading", "A heading"),
    Line("plain", "Words as they are"),
    Line("said", "> what you said"),
    Line("risk", "! a risk"),
    Line("added", "+ a line that is added"),
    Line("removed", "- a line that is removed"),
    Line("hunk", "@@ where it is @@"),
    Line("code", "code"),
    Line("digest", "9f3c a digest"),
    Line("dim", "what matters less"),
)


class ThemeList(Picker):
    """Ends with the name of a theme."""

    heading = "Themes"
    keys = "↑ ↓ look · Enter keep · Esc as before"
    previews = True

    def __init__(self, before: str) -> None:
        super().__init__()
        self._before = before

    def rows(self) -> Sequence[PickerRow]:
        ordered = [self._before, *[name for name in THEMES if name != self._before]]
        return [PickerRow(name, (name, THEME_DESCRIPTIONS[name])) for name in ordered]

    def preview(self, row: PickerRow) -> Sequence[Line]:
        return SAMPLE

    def pointed(self, row: PickerRow) -> None:
        if row.key != self.terminal.theme_name:
            self.terminal.set_theme(row.key)

    def action_leave(self) -> None:
        self.terminal.set_theme(self._before)
        self.dismiss(None)
