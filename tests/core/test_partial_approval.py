"""Partial approval: what stays of a plan when operations are declined, and what goes with them."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.core.states import NESTED, TREES, A, B, C, Tree, applied, below, is_possible
from tests.support.properties import examples

from assent.core.errors import ImpossibleOperations, NotFound
from assent.core.plan.draft import check_tree, segments, stage
from assent.core.plan.git_commit import commit_command
from assent.core.plan.operation import (
    DeleteFile,
    FileOperation,
    FileState,
    MoveFile,
    Operation,
    RunCommand,
    WriteFile,
)
from assent.core.plan.partial_approval import PartialPlan, chosen_operations, partial_plan

MAKE, TEST = RunCommand((b"make",)), RunCommand((b"test",))
COMMIT = commit_command("Apply")
ONE, TWO = WriteFile(b"1", None, A), WriteFile(b"2", None, A)

STAYS_A_FILE = "d/f needs a folder, but d remains a file."
STAYS_A_FOLDER = "d cannot replace a folder that still contains d/f."


def made_on(path: str) -> str:
    return f"It depends on an excluded operation that changes {path}."


def edit(before: FileState | None, after: FileState, path: bytes = b"p") -> WriteFile:
    return WriteFile(path, before, after)


@pytest.mark.parametrize(
    ("operations", "declined", "wanted"),
    [
        ((ONE, TWO), {0}, PartialPlan((TWO,), (0,))),
        ((ONE, TWO), {0, 1}, PartialPlan((), (0, 1))),
        ((ONE, TWO), set(), PartialPlan((ONE, TWO), ())),
        # A place that only a declined operation would free.
        (
            (DeleteFile(b"d", A), WriteFile(b"d/f", None, A), ONE),
            {0},
            PartialPlan((ONE,), (0,), ((1, STAYS_A_FILE),)),
        ),
        (
            (MoveFile(b"d", b"e", A), WriteFile(b"d/f", None, A)),
            {0},
            PartialPlan((), (0,), ((1, STAYS_A_FILE),)),
        ),
        (
            (DeleteFile(b"d/f", A), WriteFile(b"d", None, A)),
            {0},
            PartialPlan((), (0,), ((1, STAYS_A_FOLDER),)),
        ),
        (
            (DeleteFile(b"d/f", A), DeleteFile(b"d/g", A), WriteFile(b"d", None, A)),
            {0},
            PartialPlan((DeleteFile(b"d/g", A),), (0,), ((2, STAYS_A_FOLDER),)),
        ),
        # The other way round nothing depends.
        (
            (DeleteFile(b"d", A), WriteFile(b"d/f", None, A)),
            {1},
            PartialPlan((DeleteFile(b"d", A),), (1,)),
        ),
        # A chain: what follows leaves something in the way of the next.
        (
            (DeleteFile(b"a", A), MoveFile(b"b", b"a/x", A), WriteFile(b"b/y", None, A)),
            {0},
            PartialPlan(
                (),
                (0,),
                (
                    (1, "a/x needs a folder, but a remains a file."),
                    (2, "b/y needs a folder, but b remains a file."),
                ),
            ),
        ),
        # Case alone.
        (
            (DeleteFile(b"README", A), WriteFile(b"readme", None, B)),
            {0},
            PartialPlan(
                (),
                (0,),
                (
                    (
                        1,
                        "readme would exist next to README, which now remains; on "
                        "case-insensitive file systems they are the same name.",
                    ),
                ),
            ),
        ),
        (
            (DeleteFile(b"D", A), WriteFile(b"d/f", None, B)),
            {0},
            PartialPlan((), (0,), ((1, "d/f needs a folder, but D remains a file."),)),
        ),
        (
            (MoveFile(b"README", b"readme", A), ONE),
            {0},
            PartialPlan((ONE,), (0,)),
        ),
        # What stands on earlier content, beyond a command.
        (
            (edit(A, B), MAKE, edit(B, C), ONE),
            {0},
            PartialPlan((MAKE, ONE), (0,), ((2, made_on("p")),)),
        ),
        ((edit(A, B), MAKE, edit(B, C)), {2}, PartialPlan((edit(A, B), MAKE), (2,))),
        (
            (edit(A, B), MAKE, DeleteFile(b"p", B)),
            {0},
            PartialPlan((MAKE,), (0,), ((2, made_on("p")),)),
        ),
        (
            (MoveFile(b"q", b"p", A), MAKE, edit(A, B)),
            {0},
            PartialPlan((MAKE,), (0,), ((2, made_on("p")),)),
        ),
        # Back and forth: the third finds what it wants, although the first two are gone.
        (
            (edit(A, B), MAKE, edit(B, A), TEST, edit(A, C)),
            {0},
            PartialPlan((MAKE, TEST, edit(A, C)), (0,), ((2, made_on("p")),)),
        ),
        # A place that was freed before a command.
        (
            (DeleteFile(b"d", A), MAKE, WriteFile(b"d/f", None, A)),
            {0},
            PartialPlan((MAKE,), (0,), ((2, STAYS_A_FILE),)),
        ),
        # A command: what comes later may rest on it, and stays.
        ((MAKE, ONE), {0}, PartialPlan((ONE,), (0,), (), (1,))),
        ((ONE, MAKE), {1}, PartialPlan((ONE,), (1,))),
        ((ONE, MAKE, COMMIT), {1}, PartialPlan((ONE, COMMIT), (1,))),
        ((ONE, MAKE, COMMIT), {2}, PartialPlan((ONE, MAKE), (2,))),
        # What it kept apart is one segment now, so each path has one operation.
        ((edit(A, B), MAKE, edit(B, C)), {1}, PartialPlan((edit(A, C),), (1,), (), (2,))),
        (
            (WriteFile(b"d", None, A), MAKE, WriteFile(b"d/f", None, A)),
            {1},
            PartialPlan((WriteFile(b"d", None, A),), (1,), ((2, STAYS_A_FILE),)),
        ),
        (
            (WriteFile(b"d/f", None, A), MAKE, WriteFile(b"d", None, A)),
            {1},
            PartialPlan((WriteFile(b"d/f", None, A),), (1,), ((2, STAYS_A_FOLDER),)),
        ),
    ],
)
def test_g10_what_cannot_stay_goes_too(
    operations: tuple[Operation, ...], declined: set[int], wanted: PartialPlan
) -> None:
    assert partial_plan(operations, declined) == wanted


def test_g10_operations_are_named_by_a_start_that_only_one_has() -> None:
    ids = ("aa1", "ab2", "b3")
    assert chosen_operations(ids, ["b", "aa"]) == (0, 2)
    assert chosen_operations(ids, ["b3", "b"]) == (2,)
    for reference, count in {"a": 2, "c": 0, "": 0}.items():
        with pytest.raises(NotFound) as caught:
            chosen_operations(ids, ["b", reference])
        assert caught.value.message == (
            f"{reference!r} matches {count} operations; it must match exactly one."
        )


def moves(tree: Tree) -> list[FileOperation]:
    """Lists every operation after which no name is a file and a folder at once."""
    found: list[FileOperation] = [
        WriteFile(name, tree.get(name), state)
        for name in NESTED
        for state in (A, B, C)
        if state != tree.get(name)
    ]
    found += [DeleteFile(name, state) for name, state in tree.items()]
    found += [
        MoveFile(name, to, state) for name, state in tree.items() for to in NESTED if to not in tree
    ]
    return [op for op in found if is_possible(applied(tree, [op]))]


@st.composite
def stories(draw: st.DrawFn) -> tuple[Tree, tuple[Operation, ...], set[int]]:
    """A tree, a plan that can be applied to it, and what a person declines of that."""
    start: Tree = draw(st.sampled_from(TREES))
    tree, steps = start, []
    for _ in range(draw(st.integers(1, 9))):
        if draw(st.integers(0, 3)) == 0:
            steps.append(draw(st.sampled_from((MAKE, TEST))))
            continue
        step: Any = draw(st.sampled_from(moves(tree)))
        tree = applied(tree, [step])
        steps.append(step)
    operations = stage((), steps)
    some = st.sets(st.integers(0, len(operations) - 1)) if operations else st.just(set[int]())
    return start, operations, draw(some)


def after(tree: Tree, operations: Sequence[Operation]) -> Tree:
    """Applies segment by segment; each has to be possible as a whole."""
    for segment in segments(operations):
        files = [op for op in segment if not isinstance(op, RunCommand)]
        check_tree(files, tree.__contains__, partial(below, tree))
        tree = applied(tree, files)
        assert is_possible(tree)
    return tree


@settings(max_examples=examples(300), deadline=None)
@given(stories())
def test_g10_what_is_kept_can_always_be_applied(
    story: tuple[Tree, tuple[Operation, ...], set[int]],
) -> None:
    tree, operations, declined = story
    after(tree, operations)
    found = partial_plan(operations, declined)
    after(tree, found.kept)
    followed = {index for index, _ in found.followed}
    assert set(found.declined) == declined
    assert followed.isdisjoint(declined)
    kept = [op for index, op in enumerate(operations) if index not in declined | followed]
    assert found.kept == stage((), kept)
    assert (not followed) or declined


@settings(max_examples=examples(200), deadline=None)
@given(stories())
def test_g10_nothing_follows_that_could_stay_alone(
    story: tuple[Tree, tuple[Operation, ...], set[int]],
) -> None:
    """With only what follows first put back, the plan can not be applied."""
    tree, operations, declined = story
    found = partial_plan(operations, declined)
    if not found.followed:
        return
    gone = declined | {index for index, _ in found.followed[1:]}
    kept = [op for index, op in enumerate(operations) if index not in gone]
    with pytest.raises((AssertionError, ImpossibleOperations)):
        after(tree, stage((), kept))
