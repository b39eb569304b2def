"""Panels are opened by name: every name has a class, and every caller passes what it takes."""

import ast
import inspect
from functools import cache
from typing import get_args

from tests.house.source import modules, nodes

from assent.tui.context import PanelName
from assent.tui.parts import PANELS


@cache
def _calls() -> list[tuple[str, int, tuple[str, ...]]]:
    """Returns each call of `open` in the terminal UI: panel, positional arguments, options."""
    found = []
    for path, tree in modules().items():
        for node in nodes(tree) if path.startswith("tui/") else ():
            match node:
                case ast.Call(
                    ast.Attribute(attr="open"), [ast.Constant(str(name)), *rest], keywords
                ):
                    options = [one.arg for one in keywords if one.arg and one.arg != "then"]
                    found.append((name, len(rest), tuple(options)))
    return found


def test_every_name_has_a_panel() -> None:
    assert set(PANELS) == set(get_args(PanelName))


def test_every_panel_of_the_table_is_opened_by_somebody() -> None:
    by_the_app = {"run"}  # which opens it once, by a variable
    assert {name for name, _, _ in _calls()} | by_the_app == set(PANELS)


def test_whoever_opens_a_panel_passes_what_it_takes() -> None:
    wrong = []
    for name, given, options in _calls():
        try:
            inspect.signature(PANELS[name]).bind(*range(given), **dict.fromkeys(options))
        except TypeError as error:
            wrong.append((name, given, options, str(error)))
    assert wrong == []
