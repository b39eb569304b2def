"""The shape of the code: how long things are, and that functions say what they return."""

from tests.house.source import ROOT, functions

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
