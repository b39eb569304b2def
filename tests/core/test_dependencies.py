"""Drafts of several segments: what rests on what, and what is left when an operation goes."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.core.states import A, B, C, Tree, applied, below
from tests.core.test_draft_model import files, stories
from tests.support.properties import examples

from assent.core.digest import operation_ids
from assent.core.errors import ImpossibleOperations
from assent.core.plan.draft import (
    OTHER_BASE,
    check_dependencies,
    check_tree,
    content_sources,
    segments,
    stage,
    without_operations,
)
from assent.core.plan.operation import (
    DeleteFile,
    FileState,
    MoveFile,
    Operation,
    RunCommand,
    WriteFile,
    footprint,
)

MAKE = RunCommand((b"make",))
Story = tuple[Tree, list[Operation], Tree]


@pytest.mark.parametrize(
    ("operations", "index", "left"),
    [
        # A command goes, and what it kept apart is composed.
        ((WriteFile(b"p", A, B), MAKE, WriteFile(b"p", B, C)), 1, (WriteFile(b"p", A, C),)),
        ((WriteFile(b"p", None, B), MAKE, DeleteFile(b"p", B)), 1, ()),
        ((MoveFile(b"p", b"q", A), MAKE, MoveFile(b"q", b"r", A)), 1, (MoveFile(b"p", b"r", A),)),
        ((DeleteFile(b"p", A), MAKE, WriteFile(b"p", None, B)), 1, (WriteFile(b"p", A, B),)),
        (
            (MoveFile(b"p", b"q", A), MAKE, WriteFile(b"q", A, B)),
            1,
            (DeleteFile(b"p", A), WriteFile(b"q", None, B)),
        ),
        ((MAKE, WriteFile(b"p", A, B), MAKE), 0, (WriteFile(b"p", A, B), MAKE)),
        # The last operation on a path goes, and nothing else changes.
        ((WriteFile(b"p", A, B), MAKE, WriteFile(b"p", B, C)), 2, (WriteFile(b"p", A, B), MAKE)),
        (
            (WriteFile(b"p", A, B), MAKE, WriteFile(b"q", None, C)),
            0,
            (MAKE, WriteFile(b"q", None, C)),
        ),
    ],
)
def test_an_operation_goes(
    operations: tuple[Operation, ...], index: int, left: tuple[Operation, ...]
) -> None:
    assert without_operations(operations, (index,)) == left


@pytest.mark.parametrize(
    "operations",
    [
        (WriteFile(b"p", A, B), MAKE, WriteFile(b"p", B, C)),
        (WriteFile(b"p", None, B), MAKE, MoveFile(b"p", b"q", B)),
        (MoveFile(b"q", b"p", A), MAKE, DeleteFile(b"p", A)),
        (DeleteFile(b"p", A), MAKE, WriteFile(b"p", None, B)),
        (DeleteFile(b"p", A), MAKE, MAKE, MoveFile(b"q", b"p", B)),
    ],
)
def test_what_a_later_segment_rests_on_stays_and_the_way_is_named(
    operations: tuple[Operation, ...],
) -> None:
    with pytest.raises(ImpossibleOperations) as refused:
        without_operations(operations, (0,))
    last = operation_ids(operations)[-1]
    assert "An operation on p after a command depends on this one" in refused.value.message
    assert refused.value.next == f"assent stage remove {last[:12]}"


@pytest.mark.parametrize(
    ("operations", "holds"),
    [
        ((WriteFile(b"p", A, B), MAKE, WriteFile(b"p", B, C)), True),
        ((WriteFile(b"p", A, B), MAKE, WriteFile(b"p", A, C)), False),
        ((DeleteFile(b"p", A), MAKE, WriteFile(b"p", None, C)), True),
        ((DeleteFile(b"p", A), MAKE, WriteFile(b"p", A, C)), False),
        ((MoveFile(b"p", b"q", A), MAKE, WriteFile(b"q", A, B)), True),
        ((MoveFile(b"p", b"q", A), MAKE, DeleteFile(b"p", A)), False),
    ],
)
def test_a_segment_expects_what_the_one_before_it_leaves(
    operations: tuple[Operation, ...], holds: bool
) -> None:
    if holds:
        check_dependencies(operations)
        return
    with pytest.raises(ImpossibleOperations, match=OTHER_BASE):
        check_dependencies(operations)


@pytest.mark.parametrize(
    ("operations", "found"),
    [
        ((WriteFile(b"p", A, B), MAKE, WriteFile(b"p", B, C)), {A: b"p"}),
        ((MoveFile(b"p", b"q", A), MAKE, WriteFile(b"q", A, B)), {A: b"p"}),
        ((MAKE, DeleteFile(b"p", A), WriteFile(b"q", B, C)), {A: b"p", B: b"q"}),
        ((WriteFile(b"p", None, A), MAKE, MoveFile(b"p", b"q", A)), {}),
    ],
)
def test_old_content_lies_where_the_first_operation_found_it(
    operations: tuple[Operation, ...], found: dict[FileState, bytes]
) -> None:
    assert content_sources(operations) == found


@pytest.mark.parametrize(
    ("operations", "possible"),
    [
        ((DeleteFile(b"d/f", A), MAKE, WriteFile(b"d", None, A)), True),
        ((MoveFile(b"d/f", b"g", A), MAKE, WriteFile(b"d", None, A)), True),
        ((MAKE, WriteFile(b"d", None, A)), False),
        ((WriteFile(b"d", None, A), MAKE, WriteFile(b"x", None, A)), False),
        ((DeleteFile(b"d/f", A), MAKE, WriteFile(b"d/f", None, B), MAKE, WriteFile(b"d", None, A)),
         False),
    ],
)  # fmt: skip
def test_what_an_earlier_segment_deletes_makes_room(
    operations: tuple[Operation, ...], possible: bool
) -> None:
    tree: Tree = {b"d/f": A}

    def check() -> None:
        check_tree(operations, tree.__contains__, lambda folder: below(tree, folder))

    if possible:
        check()
        return
    with pytest.raises(ImpossibleOperations, match="a file cannot replace it"):
        check()


@settings(max_examples=examples(50), deadline=None)
@given(stories(commands=True))
def test_a_draft_that_was_possible_step_by_step_holds_together(story: Story) -> None:
    start, steps, _ = story
    draft = stage((), steps)
    check_dependencies(draft)
    for state, path in content_sources(draft).items():
        assert start[path] == state


@settings(max_examples=examples(50), deadline=None)
@given(stories(commands=True), st.data())
def test_without_one_operation_the_rest_still_does_what_it_did(
    story: Story, data: st.DataObject
) -> None:
    start, steps, end = story
    draft = stage((), steps)
    if not draft:
        return
    index = data.draw(st.integers(0, len(draft) - 1))
    gone = draft[index]
    try:
        left = without_operations(draft, (index,))
    except ImpossibleOperations:
        paths = {path for path, *_ in footprint(gone)}
        later = {path for op in draft[index + 1 :] for path, *_ in footprint(op)}
        assert paths & later
        return
    check_dependencies(left)
    kept = applied(start, files(left))
    touched = {path for path, *_ in footprint(gone)}
    assert {p: s for p, s in kept.items() if p not in touched} == {
        p: s for p, s in end.items() if p not in touched
    }
    for path, before, _ in footprint(gone):
        assert kept.get(path) == before
    for segment in segments(left):
        names = [path for op in segment for path, *_ in footprint(op)]
        assert len(names) == len(set(names))
