"""Themes: the look of each line style in dark, light and plain, and which fits a terminal.

The colors for Textual's widgets come from them too.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from rich.style import Style as Look
from textual.theme import Theme

from assent.core.permission.mode import Mode
from assent.render.lines import Role, Span, Style

if TYPE_CHECKING:
    from textual.app import App


# What each line style looks like in the dark, light and plain theme.


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
# What each part of a line looks like, where a line has parts.
_ROLES: Final[dict[str, dict[Role, str]]] = {
    DARK: {
        "plain": "",
        "keyword": "#ce93d8",
        "type": "#80cbc4",
        "function": "#90caf9",
        "constant": "#ffb74d",
        "string": "#aed581",
        "comment": "#a3a9b1",
        "tag": "#ffd54f",
        "heading": "bold #90caf9",
        "strong": "bold",
        "emphasis": "italic",
        "struck": "strike",
        "code": "#ffcc80",
        "link": "#90caf9",
        "target": "#80cbc4",
        "quote": "#b0b6be",
        "marker": "#a0a6af",
        "gutter": "#a0a6af",
        "hidden": "bold #ff8a80",
    },
    LIGHT: {
        "plain": "",
        "keyword": "#7b1fa2",
        "type": "#00695c",
        "function": "#0d47a1",
        "constant": "#8a3d00",
        "string": "#1b5e20",
        "comment": "#5a5f66",
        "tag": "#6b5000",
        "heading": "bold #0d47a1",
        "strong": "bold",
        "emphasis": "italic",
        "struck": "strike",
        "code": "#8a3d00",
        "link": "#0d47a1",
        "target": "#00695c",
        "quote": "#4a4f55",
        "marker": "#595e65",
        "gutter": "#595e65",
        "hidden": "bold #b71c1c",
    },
    PLAIN: {
        "plain": "",
        "keyword": "",
        "type": "",
        "function": "",
        "constant": "",
        "string": "",
        "comment": "",
        "tag": "",
        "heading": "bold",
        "strong": "bold",
        "emphasis": "italic",
        "struck": "strike",
        "code": "",
        "link": "underline",
        "target": "",
        "quote": "",
        "marker": "",
        "gutter": "",
        "hidden": "bold",
    },
}
# Behind lines that have parts, and behind what changed within them. What is not in it has none.
_GROUNDS: Final[dict[str, dict[Style, tuple[str, str]]]] = {
    DARK: {
        "added": ("on #16291c", "on #1a4023"),
        "removed": ("on #301b1d", "on #4a1f22"),
        "code": ("on #1b1f26", ""),
    },
    LIGHT: {
        "added": ("on #e4f4e5", "on #cdeccf"),
        "removed": ("on #fbe6e5", "on #fad3d1"),
        "code": ("on #f0f0ec", ""),
    },
    PLAIN: {"added": ("", "underline"), "removed": ("", "underline")},
}
_PARSED_ROLES: Final = {
    name: {role: Look.parse(words) for role, words in looks.items()}
    for name, looks in _ROLES.items()
}
_PARSED_GROUNDS: Final = {
    name: {style: tuple(map(Look.parse, words)) for style, words in grounds.items()}
    for name, grounds in _GROUNDS.items()
}
_NO_GROUND: Final = (Look(), Look())
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


def ground_in_theme(theme: str, style: Style) -> Look:
    """Returns what is behind a line that has parts."""
    return _PARSED_GROUNDS[theme].get(style, _NO_GROUND)[0]


def span_in_theme(theme: str, style: Style, span: Span) -> Look:
    """Returns how a part of a line with a style looks in a theme."""
    look = _PARSED_ROLES[theme][span.role]
    if span.role == "gutter" and style in _PARSED_GROUNDS[theme]:
        look = _PARSED[theme][style] if style != "code" else look
    elif style == "heading":
        look = _PARSED_ROLES[theme]["heading"] + look
    if span.changed:
        look += _PARSED_GROUNDS[theme].get(style, _NO_GROUND)[1]
    return look


def chosen_theme(registered: str) -> str:
    """Returns dark, light or plain for Textual's name of a theme."""
    name = registered.removeprefix(PREFIX)
    return name if name in THEMES else DARK


# Detects the theme for a terminal, and registers our themes with Textual for its widgets.
#
# The app calls `begin_with_theme` once, and sets `app.theme = TEXTUAL[name]` whenever a person
# chooses dark, light or plain. Line views follow the app's theme by themselves.


TEXTUAL: Final = {name: PREFIX + name for name in THEMES}
_LIGHT_GROUNDS: Final = ("7", "15")  # how terminals report their background colour


def detect_theme(wanted: str, environment: Mapping[str, str]) -> str:
    """Returns the theme that the user wants, else the one that fits their terminal."""
    if wanted in THEMES:
        return wanted
    if environment.get("NO_COLOR") or environment.get("TERM") == "dumb":
        return PLAIN
    ground = environment.get("COLORFGBG", "").rpartition(";")[2]
    return LIGHT if ground in _LIGHT_GROUNDS else DARK


def begin_with_theme(app: "App[int]", name: str) -> None:
    """Registers the themes with Textual, and has an app that does not run yet begin with one.

    Set later, a theme has Textual read every style sheet and style every widget a second time.
    """
    for theme in REGISTERED:
        app.register_theme(theme)
    app.set_reactive(type(app).theme, TEXTUAL[name])
    is_dark = app.current_theme.dark
    app.set_class(is_dark, "-dark-mode", update=False)
    app.set_class(not is_dark, "-light-mode", update=False)
    app.stylesheet.set_variables(app.get_css_variables())


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
