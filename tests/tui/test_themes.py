"""Themes: readable in the dark, in the light and without colour; widgets follow."""

from typing import get_args

import pytest
from rich.color import Color
from tests.tui.harness import Seat, Stage
from tests.tui.widget_app import Sight, shown
from textual.color import Color as Ground
from textual.theme import Theme

from assent.render.lines import Line, Role, Span, Style
from assent.tui.line_view import LineView, Section
from assent.tui.theme import (
    DARK,
    LIGHT,
    PLAIN,
    REGISTERED,
    TEXTUAL,
    THEMES,
    chosen_theme,
    detect_theme,
    ground_in_theme,
    span_in_theme,
    style_in_theme,
)

STYLES: tuple[Style, ...] = get_args(Style)
ENOUGH = 4.5  # contrast of text, as the guidelines for accessible content want it


def brightness(color: str) -> float:
    parts = [part / 255 for part in Color.parse(color).get_truecolor()]
    bent = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * bent[0] + 0.7152 * bent[1] + 0.0722 * bent[2]


def contrast(one: str, other: str) -> float:
    dark, bright = sorted([brightness(one), brightness(other)])
    return (bright + 0.05) / (dark + 0.05)


def registered(name: str) -> Theme:
    return next(theme for theme in REGISTERED if theme.name == TEXTUAL[name])


@pytest.mark.parametrize("name", [DARK, LIGHT])
@pytest.mark.parametrize("ground", ["background", "surface"])
def test_every_style_is_readable(name: str, ground: str) -> None:
    behind = getattr(registered(name), ground)
    for style in STYLES:
        color = style_in_theme(name, style).color
        if color is not None:
            assert contrast(color.name, behind) >= ENOUGH, (style, color.name)


@pytest.mark.parametrize("name", [DARK, LIGHT])
def test_the_colours_of_widgets_are_readable(name: str) -> None:
    theme = registered(name)
    for field in ("primary", "secondary", "warning", "error", "success", "accent", "foreground"):
        for ground in (theme.background, theme.surface):
            assert contrast(getattr(theme, field), str(ground)) >= ENOUGH, field


@pytest.mark.parametrize("name", [DARK, LIGHT])
@pytest.mark.parametrize("style", ["plain", "code", "added", "removed"])
@pytest.mark.parametrize("changed", [False, True])
def test_every_role_is_readable_on_every_ground(name: str, style: Style, *, changed: bool) -> None:
    for role in get_args(Role):
        look = ground_in_theme(name, style) + span_in_theme(name, style, Span("a", role, changed))
        behind = look.bgcolor.name if look.bgcolor else registered(name).background
        color = look.color.name if look.color else registered(name).foreground
        assert contrast(str(color), str(behind)) >= ENOUGH, (role, color, behind)


def test_plain_has_no_colour_at_all() -> None:
    assert [style for style in STYLES if style_in_theme(PLAIN, style).color is not None] == []
    theme = registered(PLAIN)
    assert {theme.primary, theme.error, theme.background, theme.foreground} == {"ansi_default"}


@pytest.mark.parametrize(
    ("wish", "environment", "expected"),
    [
        ("", {}, DARK),
        ("light", {"NO_COLOR": "1"}, LIGHT),
        ("", {"NO_COLOR": "1"}, PLAIN),
        ("", {"NO_COLOR": ""}, DARK),
        ("", {"TERM": "dumb"}, PLAIN),
        ("", {"COLORFGBG": "0;15"}, LIGHT),
        ("", {"COLORFGBG": "15;0"}, DARK),
        ("pink", {}, DARK),
    ],
)
def test_the_theme_to_begin_with(wish: str, environment: dict[str, str], expected: str) -> None:
    assert detect_theme(wish, environment) == expected


def test_names_go_both_ways() -> None:
    assert [chosen_theme(TEXTUAL[name]) for name in THEMES] == list(THEMES)
    assert chosen_theme("textual-dark") == DARK


def test_a_paper_follows_the_theme_of_its_app() -> None:
    paper = LineView()
    seen = {}

    def color() -> str:
        style = next(iter(paper.render_lines(paper.size.region)[0])).style
        return str(style.color.name) if style and style.color else ""

    async def act(sight: Sight) -> None:
        paper.show([Section("a", (Line("risk", "look"),))])
        for name in THEMES:
            sight.theme = TEXTUAL[name]
            await sight.pilot.pause()
            seen[name] = color()

    shown(paper, act)
    assert seen[DARK] == "#ff8a80"
    assert seen[LIGHT] == "#b71c1c"
    assert seen[PLAIN] == "default"


def test_with_no_color_everything_is_in_the_colours_of_the_terminal(stage: Stage) -> None:
    stage.env["NO_COLOR"] = "1"
    found = set()

    async def act(seat: Seat) -> None:
        assert seat.app.theme_name == PLAIN
        for strip in seat.app.screen._compositor.render_strips():
            segments = list(strip)
            for each in seat.app.get_line_filters():
                segments = each.apply(segments, Ground(0, 0, 0))
            styles = [segment.style for segment in segments if segment.style]
            found.update([color.name for s in styles for color in (s.color, s.bgcolor) if color])

    stage.show(act)
    assert found == {"default"}
