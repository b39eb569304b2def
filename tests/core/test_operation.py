"""Footprints, inverses and what can be taken back (law 7, G7)."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.core.states import LINK, TOOL, A, B

from assent.core.plan.operation import (
    DeleteFile,
    FileOperation,
    Footprint,
    MoveFile,
    Operation,
    RunCommand,
    WriteFile,
    footprint,
    inverse,
    reversibility,
)

COMMAND = RunCommand((b"make",), b"", b"sub", ((b"K", b"v"),), 9, True, (b"make", b"clean"))
STATES = st.sampled_from([A, B, TOOL, LINK])
PATHS = st.sampled_from([b"a", b"d/e/f", b"d/e", b"\xff"])
FILE_OPERATIONS: st.SearchStrategy[FileOperation] = st.one_of(
    st.builds(WriteFile, PATHS, st.none() | STATES, STATES),
    st.builds(DeleteFile, PATHS, STATES, st.integers(0, 3)),
    st.builds(MoveFile, PATHS, PATHS, STATES, st.integers(0, 3)),
)


def file_inverse(op: FileOperation) -> FileOperation:
    back = inverse(op)
    assert isinstance(back, FileOperation)
    return back


def without_prune(op: FileOperation) -> FileOperation:
    return op if isinstance(op, WriteFile) else msgspec.structs.replace(op, prune=0)


@settings(max_examples=30, deadline=None)
@given(FILE_OPERATIONS)
def test_law_7_the_inverse_swaps_the_footprint(op: FileOperation) -> None:
    swapped = {(path, after, before) for path, before, after in footprint(op)}
    assert set(footprint(file_inverse(op))) == swapped


@settings(max_examples=30, deadline=None)
@given(FILE_OPERATIONS)
def test_law_7_the_inverse_of_the_inverse_is_the_operation_again(op: FileOperation) -> None:
    assert file_inverse(file_inverse(op)) == without_prune(op)


@pytest.mark.parametrize(
    ("op", "wanted"),
    [
        (WriteFile(b"p", None, A), ((b"p", None, A),)),
        (WriteFile(b"p", A, B), ((b"p", A, B),)),
        (DeleteFile(b"p", A, 1), ((b"p", A, None),)),
        (MoveFile(b"p", b"q", A, 1), ((b"p", A, None), (b"q", None, A))),
        (COMMAND, ()),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_footprint_names_every_path_before_and_after(op: Operation, wanted: Footprint) -> None:
    assert footprint(op) == wanted


@pytest.mark.parametrize(
    ("op", "made", "prune"),
    [
        (WriteFile(b"a/b/c/f", None, A), {b"a", b"a/b", b"a/b/c"}, 3),
        (WriteFile(b"a/b/c/f", None, A), {b"a/b/c"}, 1),
        (WriteFile(b"a/b/c/f", None, A), {b"a", b"a/b"}, 0),  # a/b/c was there, so it stays
        (WriteFile(b"a/b/c/f", None, A), set(), 0),
        (WriteFile(b"f", None, A), {b"a"}, 0),
        (MoveFile(b"f", b"a/b/f", A), {b"a", b"a/b"}, 2),
        (MoveFile(b"a/b/f", b"f", A, 2), {b"a", b"a/b"}, 0),
    ],
)
def test_the_inverse_removes_folders_that_the_run_made(
    op: Operation, made: set[bytes], prune: int
) -> None:
    back = inverse(op, frozenset(made))
    assert isinstance(back, DeleteFile | MoveFile)
    assert back.prune == prune


@pytest.mark.parametrize(
    ("op", "back"),
    [
        (WriteFile(b"p", A, B), WriteFile(b"p", B, A)),
        (DeleteFile(b"d/p", A, 1), WriteFile(b"d/p", None, A)),
        (COMMAND, RunCommand((b"make", b"clean"), b"", b"sub", ((b"K", b"v"),), 9, True)),
        (RunCommand((b"make",)), None),
        (RunCommand((), b"make"), None),
    ],
    ids=lambda value: type(value).__name__,
)
def test_law_7_what_has_no_inverse_says_so(op: Operation, back: Operation | None) -> None:
    assert inverse(op, frozenset([b"d"])) == back


@pytest.mark.parametrize(
    ("op", "word"),
    [
        (WriteFile(b"p", None, A), "reversible"),
        (WriteFile(b"p", A, LINK), "reversible"),
        (DeleteFile(b"p", A), "reversible"),
        (MoveFile(b"p", b"q", A), "reversible"),
        (COMMAND, "compensated"),
        (RunCommand((b"make",)), "reversible"),
        (RunCommand((), b"make"), "reversible"),
        (RunCommand((b"make",), network=True), "irreversible"),
        (RunCommand((b"make",), network=True, undo=(b"x",)), "compensated"),
        (RunCommand((b"make",), profile="unconfined"), "irreversible"),
        (RunCommand((b"make",), profile="unconfined", undo=(b"x",)), "compensated"),
        (RunCommand((b"git", b"commit"), profile="commit"), "irreversible"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_g7_reversibility_is_known_before_approval(op: Operation, word: str) -> None:
    assert reversibility(op) == word
    bare = isinstance(op, RunCommand) and not op.undo  # what it changed is put back, if anything
    assert (inverse(op) is None) == bare
    assert word != "irreversible" or bare
