"""Wildcards: which names a pattern stands for. What bash says is asked in tests/shell_grammar."""

from collections.abc import Mapping

import pytest

from assent.core.errors import Refused
from assent.core.shell.glob import expand_glob, literal_text

TREE: Mapping[bytes, Mapping[bytes, bool]] = {
    b"": {
        b"a": True,
        b"b": True,
        b"c.py": False,
        b"d.py": False,
        b".e": False,
        b"-f": False,
        b"[": False,
    },
    b"a/": {b"x.py": False, b"y": True, b".z": True},
    b"b/": {b"y": True},
    b"a/y/": {b"1": False},
    b"/usr/": {b"lib": True},
    b"./": {b"c.py": False},
}

FOUND = {
    "*.py": [b"c.py", b"d.py"],
    "?.py": [b"c.py", b"d.py"],
    "[!c].py": [b"d.py"],
    "[^c].py": [b"d.py"],
    "[c-d].py": [b"c.py", b"d.py"],
    "[d-c].py": [],
    "[d-cc].py": [b"c.py"],
    "[!d-c].py": [b"c.py", b"d.py"],
    "[c\\-d].py": [b"c.py", b"d.py"],
    "[]c].py": [b"c.py"],
    "*": [b"-f", b"[", b"a", b"b", b"c.py", b"d.py"],
    ".*": [b".e"],
    "[.]e": [],
    "*/": [b"a/", b"b/"],
    "*//y": [b"a/y", b"b/y"],
    "*/y/*": [b"a/y/1"],
    "*/x.py": [b"a/x.py"],
    "*/missing/": [],
    "*/.": [b"a/.", b"b/."],
    "*/.*/": [b"a/.z/"],
    "./c*": [b"./c.py"],
    "/usr/*": [b"/usr/lib"],
    "\\*": [],
    "[": [b"["],
    "missing/*": [],
}


def entries(folder: bytes) -> Mapping[bytes, bool]:
    return TREE.get(folder, {})


@pytest.mark.parametrize(("pattern", "paths"), FOUND.items())
def test_a_pattern_stands_for_paths(pattern: str, paths: list[bytes]) -> None:
    assert expand_glob(pattern, entries) == paths


def test_names_that_are_not_utf8_are_found() -> None:
    assert expand_glob("*", lambda _: {b"\xff": False}) == [b"\xff"]


@pytest.mark.timeout(20)
def test_many_stars_do_not_take_long() -> None:
    names = {b"a" * 255: False}
    assert expand_glob("*a" * 60 + "*b", lambda _: names) == []
    assert expand_glob("[" * 8000 + "*", lambda _: names) == []
    assert expand_glob("[]" * 8000, lambda _: names) == []


def test_too_many_paths_are_refused() -> None:
    names = {str(at).encode(): True for at in range(200)}
    with pytest.raises(Refused, match="more than"):
        expand_glob("*/../*/../*", lambda _: names)


def test_a_pattern_without_wildcards_is_text() -> None:
    assert [literal_text(pattern) for pattern in ("a\\*b", "a*b", "[", "")] == [
        "a*b",
        None,
        None,
        "",
    ]
