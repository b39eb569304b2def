"""docs/features.md names only tests that exist, and every feature has tests named after it.

Whether they passed is checked at the end of a whole run, by tests/support/feature_check.py.
"""

import ast
from functools import cache

from tests.house.source import ROOT, parsed_test
from tests.support.feature_check import PAGE, feature_tests

F = """
    1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 19 20 21 23 24 25 26 27 28 29 30 31 32 33 34 35 36
    37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64 65 66 67
    68 69 70 71 72 73 74 75 76 77 78 79 80 81 82 83 84 85 86 87 88 89 90 91 92 93 94 95 96 97 98
    99 100 101 102 103 104 105 106 107 108 109 110 111 112 113 114 122 124 125 126 127 128 129 130
    131 134 135 136 138 139 141 142 143 144 145 146 147 148 149 150
"""
BUILT = {
    "F": F.split(),
    "G": (
        "1",
        "2",
        "3",
        "4",
        "5",
        "6",
        "7",
        "8",
        "9",
        "10",
        "11",
        "13",
        "14",
        "16",
        "17",
        "18",
        "22",
        "23",
        "30",
        "31",
        "32",
        "33",
        "34",
        "35",
    ),
}


def test_every_named_test_exists() -> None:
    named = [test for tests in _rows().values() for test in tests]
    assert [test for test in named if not _exists(*test.split("::"))] == []


def test_every_row_names_a_test() -> None:
    assert [feature for feature, tests in _rows().items() if not tests] == []


def test_every_built_feature_has_a_test_named_after_it() -> None:
    rows = _rows()
    wanted = [f"{letter}{number}" for letter, numbers in BUILT.items() for number in numbers]
    named = {f: [test.partition("::")[2] for test in rows.get(f, ())] for f in wanted}
    assert [f for f, names in named.items() if not _any_after(f, names)] == []


def _any_after(feature: str, names: list[str]) -> bool:
    return any(name.startswith(f"test_{feature.lower()}_") for name in names)


def _rows() -> dict[str, list[str]]:
    return feature_tests((ROOT / PAGE).read_text(encoding="utf-8"))


def _exists(path: str, name: str) -> bool:
    return name in _functions(path)


@cache
def _functions(path: str) -> frozenset[str]:
    tree = parsed_test(path)
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef))
