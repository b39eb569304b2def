"""The shape of the code: where imports stand, how long things are, what they are called."""

import ast
import re

from tests.house.source import ROOT, Function, functions, modules

FOLDERS, FILE_LINES, FUNCTION_LINES = ("src", "bench", "demo", "tools", "tests"), 400, 40
# They choose what to start, paint before they load, or need few nouns: so they import late.
CHOOSE_LATE = ("app/", "cli/", "tui/", "engine/engine.py")
WORD = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z0-9]+")
EMPTY = re.compile(
    r"(manager|helper|util|common|service|handler|processor|data|info|impl|v2|legacy)s?", re.I
)


def test_imports_stand_at_the_top() -> None:
    late = [
        place
        for place, function in functions().items()
        if not place.startswith(CHOOSE_LATE)
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    assert late == []


def test_files_are_short() -> None:
    paths = [path for folder in FOLDERS for path in ROOT.glob(f"{folder}/**/*.py")]
    lengths = {str(path.relative_to(ROOT)): len(path.read_bytes().splitlines()) for path in paths}
    assert {path: lines for path, lines in lengths.items() if lines > FILE_LINES} == {}


def test_functions_are_short() -> None:
    lengths = {place: (f.end_lineno or 0) - f.lineno + 1 for place, f in functions().items()}
    assert {place: lines for place, lines in lengths.items() if lines > FUNCTION_LINES} == {}


def test_every_function_says_what_it_returns() -> None:
    assert [place for place, function in functions().items() if function.returns is None] == []


def test_names_say_something() -> None:
    names = [(path, path.removesuffix(".py")) for path in modules()]
    for path, tree in modules().items():
        found = [node for node in ast.walk(tree) if isinstance(node, Function | ast.ClassDef)]
        names += [(path, node.name) for node in found]
    assert [name for name in names if any(map(EMPTY.fullmatch, WORD.findall(name[1])))] == []
