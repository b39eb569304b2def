"""A stage for the tests of the screen: waits that a busy machine cannot shorten, fewer paints."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import textual.app
import textual.pilot
from tests.tui.harness import Stage
from tests.tui.tmux import Tmux, tmux
from tests.tui.widget_app import drawn, painted_later
from textual import screen
from textual._context import active_app
from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet

_parse = Stylesheet._parse_rules
_parsed: dict[tuple[object, ...], list[RuleSet]] = {}


def _parsed_once(sheet: Stylesheet, css: str, *where: Any, **more: Any) -> list[RuleSet]:
    """Returns what a style sheet says; every app has the same ones, and nobody changes rules."""
    key = (css, where, frozenset(more.items()), frozenset(sheet._variables.items()))
    if key not in _parsed:
        _parsed[key] = _parse(sheet, css, *where, **more)
    return _parsed[key]


_parse_all = Stylesheet.parse
_sheets: dict[tuple[object, ...], tuple[list[RuleSet], dict[str, list[RuleSet]]]] = {}


def _parse_once(sheet: Stylesheet) -> None:
    """Does the same for all style sheets of an app together, with what finds rules by name."""
    key = (*sheet.source.items(), frozenset(sheet._variables.items()))
    if key not in _sheets:
        _parse_all(sheet)
        assert sheet._rules is not None
        _sheets[key] = (sheet._rules, sheet.rules_map)
    sheet._rules, sheet._rules_map = _sheets[key]
    sheet._require_parse = False


Stylesheet._parse_rules = _parsed_once  # type: ignore[method-assign]
Stylesheet.parse = _parse_once  # type: ignore[method-assign]
# What changes is painted at most 5 times a second instead of 60: nobody watches.
screen.UPDATE_PERIOD = 1 / 5  # type: ignore[misc]
screen.Screen._compositor_refresh = painted_later  # type: ignore[method-assign]


async def _idle(*_: float) -> None:
    """Waits until the app has nothing to do, instead of until the process gets little time."""
    await drawn(active_app.get())


textual.app.wait_for_idle = textual.pilot.wait_for_idle = _idle  # type: ignore[attr-defined]


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


@pytest.fixture(scope="module")
def server() -> Iterator[Tmux]:
    """A server for real terminals."""
    with tmux() as started:
        yield started
