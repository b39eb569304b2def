"""docs/features.md names only tests that exist, and every feature has tests named after it."""

import ast
import re
from functools import cache

from tests.house.source import ROOT

PAGE = ROOT / "docs" / "features.md"
ROW = re.compile(r"^\| ([FG]\d+) \|.*\| ([^|]*) \|$", re.MULTILINE)
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")
BUILT = {
    "F": (
        14,
        79,
        80,
        98,
        19,
        20,
        21,
        44,
        45,
        46,
        47,
        48,
        49,
        52,
        55,
        56,
        61,
        62,
        64,
        65,
        66,
        69,
        112,
        *range(142, 146),
    ),
    "G": (1, 2, 3, 4, 5, 6, 7, 13, 17),
}


def test_every_named_test_exists() -> None:
    named = [pair for tests in _rows().values() for pair in tests]
    assert [f"{path}::{name}" for path, name in named if name not in _functions(path)] == []


def test_every_row_names_a_test() -> None:
    assert [feature for feature, tests in _rows().items() if not tests] == []


def test_every_built_feature_has_a_test_named_after_it() -> None:
    rows = _rows()
    wanted = [f"{letter}{number}" for letter, numbers in BUILT.items() for number in numbers]
    named = {feature: [name for _, name in rows.get(feature, ())] for feature in wanted}
    assert [f for f, names in named.items() if not _any_after(f, names)] == []


def _any_after(feature: str, names: list[str]) -> bool:
    return any(name.startswith(f"test_{feature.lower()}_") for name in names)


def _rows() -> dict[str, list[tuple[str, str]]]:
    page = PAGE.read_text(encoding="utf-8")
    return {feature: NAMED.findall(shown) for feature, shown in ROW.findall(page)}


@cache
def _functions(path: str) -> frozenset[str]:
    file = ROOT / path
    tree = ast.parse(file.read_bytes() if file.exists() else b"")
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef))
