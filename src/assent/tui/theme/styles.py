"""What each line style looks like in the dark, light and plain theme."""

from typing import Final

from rich.style import Style as Look

from assent.core.permission.mode import Mode
from assent.render.lines import Style

PREFIX: Final = "assent-"  # of the names that Textual knows them by

LIGHT, DARK, PLAIN = "light", "dark", "plain"
THEMES: Final = (DARK, LIGHT, PLAIN)

# Colour only repeats what words and signs already say: `plain` has none, and loses nothing.
_LOOKS: Final[dict[str, dict[Style, str]]] = {
    DARK: {
        "heading": "bold",
        "risk": "bold #ff8a80",
        "added": "#9ccc65",
        "removed": "#ef9a9a",
        "hunk": "#80cbc4",
        "dim": "#9e9e9e",
        "plain": "",
        "prose": "",
        "digest": "bold #ffd54f",
        "said": "bold #90caf9",
        "code": "#ce93d8",
    },
    LIGHT: {
        "heading": "bold",
        "risk": "bold #b71c1c",
        "added": "#1b5e20",
        "removed": "#b71c1c",
        "hunk": "#00695c",
        "dim": "#616161",
        "plain": "",
        "prose": "",
        "digest": "bold #7a5c00",
        "said": "bold #0d47a1",
        "code": "#6a1b9a",
    },
    PLAIN: {
        "heading": "bold",
        "risk": "bold",
        "added": "",
        "removed": "",
        "hunk": "",
        "dim": "",
        "plain": "",
        "prose": "",
        "digest": "bold",
        "said": "bold",
        "code": "",
    },
}
_PARSED: Final = {
    name: {style: Look.parse(words) for style, words in looks.items()}
    for name, looks in _LOOKS.items()
}
CURSOR: Final = Look(reverse=True)
FOUND: Final = Look(underline=True, bold=True, reverse=True)  # by a search
MARK: Final = Look(bold=True)  # a sign in a gutter
MODE_CLASSES: Final[dict[Mode, str]] = {
    "plan": "mode-plan",
    "ask": "mode-ask",
    "auto-edit": "mode-auto",
    "yolo": "mode-yolo",
}


def style_in_theme(theme: str, style: Style) -> Look:
    """Returns how a style looks in a theme."""
    return _PARSED[theme][style]


def chosen_theme(registered: str) -> str:
    """Returns dark, light or plain for the name that Textual knows a theme by."""
    name = registered.removeprefix(PREFIX)
    return name if name in THEMES else DARK
