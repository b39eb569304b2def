"""Segments, and drafts that would make one name a file and a folder at once."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.core.states import LINK, NESTED, TREES, A, B, Tree, applied, below, is_possible
from tests.support.properties import examples

from assent.core.errors import ImpossibleOperations
from assent.core.plan.draft import check_tree, segments, stage
from assent.core.plan.operation import (
    DeleteFile,
    FileOperation,
    MoveFile,
    Operation,
    RunCommand,
    WriteFile,
)

MAKE, TEST = RunCommand((b"make",)), RunCommand((b"test",))
ONE, TWO, THREE = (WriteFile(name, None, A) for name in (b"1", b"2", b"3"))


def test_a_symlink_that_goes_is_not_looked_behind() -> None:
    """Whoever asks what is behind a symlink is refused, so nobody asks."""

    def asked(path: bytes) -> bool:
        assert path == b"a", path
        return False

    def below_none(path: bytes) -> list[bytes]:
        raise AssertionError(path)

    operations = (DeleteFile(b"a/d", LINK), WriteFile(b"a/d/e/f", None, A))
    check_tree(operations, asked, below_none)


def check(tree: Tree, operations: tuple[Operation, ...]) -> None:
    check_tree(operations, tree.__contains__, lambda folder: below(tree, folder))


@pytest.mark.parametrize(
    ("operations", "wanted"),
    [
        ((), []),
        ((ONE, TWO), [(ONE, TWO)]),
        ((MAKE,), [(MAKE,)]),
        ((ONE, MAKE, TWO, THREE), [(ONE,), (MAKE,), (TWO, THREE)]),
        ((MAKE, TEST, ONE, TEST), [(MAKE,), (TEST,), (ONE,), (TEST,)]),
    ],
)
def test_segments_are_split_at_commands(
    operations: tuple[Operation, ...], wanted: list[tuple[Operation, ...]]
) -> None:
    assert segments(operations) == wanted


@pytest.mark.parametrize(
    ("tree", "operations"),
    [
        ({}, ()),
        ({b"d/f": A}, (WriteFile(b"d/g", None, A), WriteFile(b"d/f", A, B))),
        ({b"d": A}, (DeleteFile(b"d", A), WriteFile(b"d/f", None, A))),
        ({b"d": A}, (MoveFile(b"d", b"d/f", A),)),
        ({b"d/f": A}, (DeleteFile(b"d/f", A), WriteFile(b"d", None, A))),
        ({b"d/f": A}, (MoveFile(b"d/f", b"d", A),)),
        ({b"d/e/f": A, b"d/g": B}, (MoveFile(b"d/e/f", b"d/e", A),)),
        ({b"d-e": A}, (WriteFile(b"d", None, A),)),
        # A command may have made room: only the last segment is looked at.
        ({}, (WriteFile(b"d", None, A), MAKE, WriteFile(b"d/f", None, A))),
    ],
)
def test_a_name_may_change_from_file_to_folder_and_back(
    tree: Tree, operations: tuple[Operation, ...]
) -> None:
    check(tree, operations)


@pytest.mark.parametrize(
    ("tree", "operations", "message", "way_on"),
    [
        (
            {b"d": A},
            (WriteFile(b"d/e/f", None, A),),
            "d/e/f needs a folder, but d is a file.",
            "assent stage delete d",
        ),
        (
            {},
            (WriteFile(b"d", None, A), WriteFile(b"d/f", None, A)),
            "d/f needs a folder, but d is a file.",
            "assent stage delete d",
        ),
        (
            {b"d": A},
            (WriteFile(b"d", A, B), WriteFile(b"d/f", None, A)),
            "d/f needs a folder, but d is a file.",
            "assent stage delete d",
        ),
        (
            {b"d/f": A, b"d/g": A, b"d/h/i": A},
            (DeleteFile(b"d/f", A), WriteFile(b"d", None, A)),
            "d is a folder that contains d/g (2 in total); a file cannot replace it.",
            "assent stage delete d",
        ),
        (
            {b"d/f": A},
            (WriteFile(b"d/f", A, B), MoveFile(b"x", b"d", A)),
            "d is a folder that contains d/f (1 in total); a file cannot replace it.",
            "assent stage delete d",
        ),
    ],
)
def test_one_name_cannot_be_a_file_and_a_folder(
    tree: Tree, operations: tuple[Operation, ...], message: str, way_on: str
) -> None:
    with pytest.raises(ImpossibleOperations) as caught:
        check(tree, operations)
    assert (caught.value.message, caught.value.next) == (message, way_on)


trees = st.sampled_from(TREES)
ends = st.dictionaries(st.sampled_from(NESTED), st.sampled_from((A, B)))


def steps_between(start: Tree, end: Tree) -> tuple[FileOperation, ...]:
    deletes = [
        DeleteFile(name, start[name]) for name in NESTED if name in start.keys() - end.keys()
    ]
    writes = [
        WriteFile(name, start.get(name), end[name])
        for name in NESTED
        if name in end and start.get(name) != end[name]
    ]
    return (*deletes, *writes)


@settings(max_examples=examples(40), deadline=None)
@given(trees, ends)
def test_a_draft_is_refused_exactly_where_its_end_is_impossible(start: Tree, end: Tree) -> None:
    draft = stage((), steps_between(start, end))
    assert applied(start, steps_between(start, end)) == end
    try:
        check(start, draft)
    except ImpossibleOperations:
        assert not is_possible(end)
    else:
        assert is_possible(end)
