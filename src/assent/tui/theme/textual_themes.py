"""Detects the theme for a terminal, and registers our themes with Textual for its widgets.

The app calls `register_themes(app)` once, and sets `app.theme = TEXTUAL[name]` whenever a person
chooses dark, light or plain. Line views follow the app's theme by themselves.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from textual.filter import Monochrome, NoColor
from textual.theme import Theme

from assent.tui.theme.styles import DARK, LIGHT, PLAIN, PREFIX, THEMES

if TYPE_CHECKING:
    from textual.app import App

TEXTUAL: Final = {name: PREFIX + name for name in THEMES}
_LIGHT_GROUNDS: Final = ("7", "15")  # as terminals tell the colour behind their text


def detect_theme(wanted: str, environment: Mapping[str, str]) -> str:
    """Returns the theme that the person wants, else the one that their terminal seems to be."""
    if wanted in THEMES:
        return wanted
    if environment.get("NO_COLOR") or environment.get("TERM") == "dumb":
        return PLAIN
    ground = environment.get("COLORFGBG", "").rpartition(";")[2]
    return LIGHT if ground in _LIGHT_GROUNDS else DARK


def register_themes(app: "App[int]") -> None:
    """Has Textual know the themes."""
    for theme in REGISTERED:
        app.register_theme(theme)
    # For NO_COLOR Textual makes grey of everything, and black on black of a terminal's own colours.
    app._filters = [NoColor() if isinstance(f, Monochrome) else f for f in app._filters]


# Colours of widgets for which Textual would mix some; plain takes the terminal's own for all.
_OF_WIDGETS: Final = (
    "border", "border-blurred", "scrollbar", "scrollbar-hover", "scrollbar-active",
    "scrollbar-background", "scrollbar-background-hover", "scrollbar-background-active",
    "scrollbar-corner-color", "input-cursor-foreground", "input-cursor-background",
    "input-selection-foreground", "input-selection-background", "block-cursor-foreground",
    "block-cursor-background", "screen-selection-foreground", "screen-selection-background",
    "footer-key-foreground", "block-hover-background", "ansi-background", "ansi-foreground",
)  # fmt: skip
_OWN: Final = "ansi_default"
REGISTERED: Final = (
    Theme(
        name=TEXTUAL[DARK],
        primary="#90caf9",
        secondary="#80cbc4",
        warning="#ffd54f",
        error="#ff8a80",
        success="#9ccc65",
        accent="#ce93d8",
        foreground="#e6e6e6",
        background="#14161a",
        surface="#1d2026",
        panel="#3a3f4a",
        dark=True,
    ),
    Theme(
        name=TEXTUAL[LIGHT],
        primary="#0d47a1",
        secondary="#00695c",
        warning="#7a5c00",
        error="#b71c1c",
        success="#1b5e20",
        accent="#6a1b9a",
        foreground="#1b1b1b",
        background="#fbfbf9",
        surface="#f0f0ec",
        panel="#c9c9c3",
        dark=False,
    ),
    Theme(
        name=TEXTUAL[PLAIN],
        ansi=True,
        primary=_OWN,
        secondary=_OWN,
        warning=_OWN,
        error=_OWN,
        success=_OWN,
        accent=_OWN,
        foreground=_OWN,
        background=_OWN,
        surface=_OWN,
        panel=_OWN,
        boost=_OWN,
        variables=dict.fromkeys(_OF_WIDGETS, _OWN) | {"input-cursor-text-style": "reverse"},
    ),
)
