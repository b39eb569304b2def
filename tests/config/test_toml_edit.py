"""One value of a TOML text is changed, and nothing else: for any text and any key."""

import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assent.config.toml_edit import (
    CannotEdit,
    dotted_key,
    line_of,
    parse_key,
    toml_literal,
    with_value,
    without_key,
)

TEXT = '''\
# What everybody here uses.

# the model
model = "a/b" # why
[plan] # plans
staging = true

[mcp.one]
command = ["a", # with a comment
  "b]"]
[mcp.one.reads]
"x y" = """three " quotes
[no.table]
"""
# the second
[mcp.two]
command=["z"]
[[rules]]
permission="bash"
[[rules]]
permission="edit"
'''
PLACES: dict[tuple[str, ...], Any] = {
    ("model",): "other",
    ("mode",): "ask",
    ("plan", "export"): 'a "quoted" \\ name\n',
    ("plan", "staging"): False,
    ("mcp", "one", "reads", "x y"): "*",
    ("mcp", "one", "timeout_s"): 2.5,
    ("mcp", "two", "environment"): {"A B": "c", "d": "\x00"},
    ("undo", "files"): 3,
    ("models", "openai/x", "context"): 3,
}


def put(table: dict[str, Any], path: tuple[str, ...], value: Any) -> dict[str, Any]:
    key, *rest = path
    return {**table, key: put(table.get(key, {}), tuple(rest), value) if rest else value}


@pytest.mark.parametrize("path", PLACES, ids=dotted_key)
def test_one_value_changes_and_every_other_line_stays(path: tuple[str, ...]) -> None:
    after = with_value(TEXT, path, PLACES[path])
    assert tomllib.loads(after) == put(tomllib.loads(TEXT), path, PLACES[path])
    gone = [line for line in TEXT.splitlines() if line not in after.splitlines()]
    known = path in {("model",), ("plan", "staging"), ("mcp", "one", "reads", "x y")}
    assert bool(gone) is known
    assert not [line for line in gone if line.startswith("#")]


def test_a_comment_behind_a_changed_value_stays() -> None:
    assert 'model = "x" # why\n' in with_value(TEXT, ("model",), "x")


def test_what_would_rewrite_other_parts_is_refused() -> None:
    with pytest.raises(CannotEdit):
        with_value('plan = { export = "x" }\n', ("plan", "staging"), True)


@pytest.mark.parametrize("path", [("model",), ("plan",), ("mcp", "one"), ("mcp", "one", "reads")])
def test_a_key_or_a_table_goes_with_all_of_it_and_comments_around_it_stay(
    path: tuple[str, ...],
) -> None:
    after = without_key(TEXT, path)
    whole = tomllib.loads(TEXT)
    inner = whole
    for key in path[:-1]:
        inner = inner[key]
    del inner[path[-1]]
    assert tomllib.loads(after) == whole
    assert "# the second\n" in after
    assert "# What everybody here uses.\n" in after


EMPTIED = [
    # (before, key, after)
    ("[a]\nb = 1\n", ("a", "b"), ""),
    ("x = 1\n\n[a]\nb = 1\n", ("a", "b"), "x = 1\n"),
    ("[a]\nb = 1\n\n[c]\nd = 1\n", ("a", "b"), "[c]\nd = 1\n"),
    ("[a]\n[a.b]\nc = 1\n", ("a", "b", "c"), ""),
    ("[a]\nx = 1\n[a.b]\nc = 1\n", ("a", "b", "c"), "[a]\nx = 1\n"),
    ("# of a\n[a]\nb = 1\n", ("a", "b"), "# of a\n"),
    ("[a] # of a\nb = 1\n", ("a", "b"), "[a] # of a\n"),
    ("['a#']\nb = 1\n", ("a#", "b"), ""),
    ("[a]\n# b = 2\nb = 1\n", ("a", "b"), "[a]\n# b = 2\n"),
    ("[a]\nb = 1\n# below\n", ("a", "b"), "[a]\n# below\n"),
    ("[a]\nb = 1\n\n# of c\n[c]\n", ("a", "b"), "# of c\n[c]\n"),
    ("[a]\nb = 1\n# c = 1\n[c]\n", ("a", "b"), "[a]\n# c = 1\n[c]\n"),
    ("[a]\nb = 1\n\n# x\n\n# of c\n[c]\n", ("a", "b"), "[a]\n\n# x\n\n# of c\n[c]\n"),
    ('x = """\n\n\n\n"""\n\n[a]\nb = 1\n', ("a", "b"), 'x = """\n\n\n\n"""\n'),
]


@pytest.mark.parametrize(("before", "path", "after"), EMPTIED)
def test_a_header_goes_with_its_last_key_unless_comments_need_it(
    before: str, path: tuple[str, ...], after: str
) -> None:
    assert without_key(before, path) == after


LINES = {("plan", "staging"): 6, ("mcp", "one", "command"): 9, ("mcp", "two"): 16}
LINES_OF_LISTS = {("rules", 1, "permission"): 21, ("plan", "missing"): 5}


@pytest.mark.parametrize(("path", "line"), [*LINES.items(), *LINES_OF_LISTS.items()], ids=str)
def test_the_line_of_a_key(path: tuple[str | int, ...], line: int) -> None:
    assert line_of(TEXT, path) == line


WORDS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6)
VALUES = st.recursive(
    st.booleans() | st.integers(-(2**40), 2**40) | WORDS | st.just(""),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=6,
)


@given(
    st.dictionaries(WORDS, st.dictionaries(WORDS, VALUES, max_size=3), max_size=3),
    st.lists(st.tuples(WORDS, WORDS, VALUES), max_size=4),
)
def test_any_value_can_be_set_in_any_file(
    start: dict[str, Any], changes: list[tuple[str, str, Any]]
) -> None:
    text, expected = "# first\n\n", dict[str, Any]()
    every = [(one, two, value) for one, inner in start.items() for two, value in inner.items()]
    for one, two, value in [*every, *changes]:
        text = with_value(text, (one, two), value)
        expected = put(expected, (one, two), value)
        assert tomllib.loads(text) == expected
        assert text.startswith("# first\n")
    for one, two, _ in every:
        text = without_key(text, (one, two))
        left = expected.pop(one, {})
        left.pop(two, None)
        expected |= {one: left} if left else {}
        assert tomllib.loads(text) == expected
        assert text.startswith("# first\n")


@given(st.lists(WORDS, min_size=1, max_size=4))
def test_a_key_is_read_as_it_is_written(parts: list[str]) -> None:
    assert parse_key(dotted_key(tuple(parts))) == tuple(parts)
    assert tomllib.loads(f"x = {toml_literal(parts)}") == {"x": parts}
