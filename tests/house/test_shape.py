"""The shape of the code: how long things are, what functions return, and one class for one name."""

import ast

from tests.house.source import ROOT, Modules, functions, modules, nodes

FOLDERS, FILE_LINES, FUNCTION_LINES = ("src", "bench", "demo", "tools", "tests"), 800, 80


def test_files_are_short() -> None:
    paths = [path for folder in FOLDERS for path in ROOT.glob(f"{folder}/**/*.py")]
    lengths = {str(path.relative_to(ROOT)): len(path.read_bytes().splitlines()) for path in paths}
    assert {path: lines for path, lines in lengths.items() if lines > FILE_LINES} == {}


def test_functions_are_short() -> None:
    lengths = {place: (f.end_lineno or 0) - f.lineno + 1 for place, f in functions().items()}
    assert {place: lines for place, lines in lengths.items() if lines > FUNCTION_LINES} == {}


def test_every_function_says_what_it_returns() -> None:
    assert [place for place, function in functions().items() if function.returns is None] == []


def test_no_two_classes_share_a_name() -> None:
    assert classes_twice(modules()) == {}


def test_a_name_taken_twice_is_found() -> None:
    one, other = ast.parse("class Plan: ..."), ast.parse("def made():\n    class Plan: ...")
    assert classes_twice({"core/a.py": one, "runs/b.py": other}) == {
        "Plan": ["core/a.py", "runs/b.py"]
    }


def classes_twice(of: Modules) -> dict[str, list[str]]:
    """Names of classes that mean two things, with the modules that define them."""
    homes: dict[str, list[str]] = {}
    for path, tree in of.items():
        for node in nodes(tree):
            if isinstance(node, ast.ClassDef):
                homes.setdefault(node.name, []).append(path)
    return {name: paths for name, paths in homes.items() if len(paths) > 1}
