"""The index of a draft decides as the checks of the whole draft do, and edits lead to it."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.core.states import LINK, A, B, Tree, below
from tests.support.properties import examples

from assent.core.digest import canonical_bytes, operation_ids, pack, sha256
from assent.core.errors import AssentError, Refused, StoreError
from assent.core.event import DraftEdited
from assent.core.paths import ancestors, casefolded
from assent.core.plan.draft import (
    SMALLEST,
    DraftEdit,
    check_dependencies,
    check_tree,
    draft_edit,
    draft_name,
    fold_edits,
    is_due_whole,
    refuse_similar_names,
    segments,
    stage,
    without_operations,
)
from assent.core.plan.draft_index import DraftIndex
from assent.core.plan.operation import (
    DeleteFile,
    FileState,
    MoveFile,
    Operation,
    RunCommand,
    WriteFile,
    footprint,
)
from assent.core.run.slot_move import prunable_folders

# Few names, so that they get in each other's way: as folders of each other, in other case, and in
# another form of Unicode.
FOLDERS: tuple[bytes, ...] = (b"a", b"a/b", b"a/b/c", b"a/d")
ALIKE: tuple[bytes, ...] = (b"a", b"A", b"a/b", b"A/b", "\u00e9/x".encode(), b"e\xcc\x81")
STATES = (A, B, LINK)
COMMANDS = (RunCommand((b"make",)), RunCommand((b"make", b"test")))

# What is staged, the place of what is removed, or a command that stays at the end.
Step = list[Operation] | int | RunCommand
states = st.sampled_from(STATES)
operations_of = {
    names: st.one_of(
        st.builds(WriteFile, st.sampled_from(names), st.none() | states, states),
        st.builds(DeleteFile, st.sampled_from(names), states, st.integers(0, 2)),
        st.builds(MoveFile, st.sampled_from(names), st.sampled_from(names), states),
        st.sampled_from(COMMANDS),
    )
    for names in (FOLDERS, ALIKE)
}
operations: st.SearchStrategy[Operation] = st.one_of(*operations_of.values())
trees = st.sampled_from(
    [{}, {b"a": A}, {b"a/b": A}, {b"a/b/c": A}, {b"a/b": A, b"a/d": B}, {b"a/b/c": A, b"a/d": A}]
)


@st.composite
def stories(draw: st.DrawFn) -> tuple[Tree, list[Step]]:
    """Files, and what happens to a draft about them: operations are staged, or some are removed.

    Mostly an operation expects what is there at that point, so that much of it is possible.
    """
    tree: Tree = draw(trees)
    kind = operations_of[draw(st.sampled_from((FOLDERS, ALIKE)))]
    now, story = dict[bytes, FileState | None](tree), list[Step]()
    for _ in range(draw(st.integers(1, 8))):
        if draw(st.integers(0, 4)) == 0:
            story.append(draw(st.integers(0, 5) | st.sampled_from(COMMANDS)))
            continue
        step = []
        for _ in range(draw(st.sampled_from((1, 1, 1, 2)))):
            op = draw(kind)
            step.append(op if draw(st.integers(0, 9)) == 0 else fitting(now, op))
            now |= {path: after for path, _, after in footprint(step[-1])}
        story.append(step)
    return tree, story


def fitting(now: dict[bytes, FileState | None], op: Operation) -> Operation:
    """Lets an operation expect what is there, where something is."""
    match op:
        case WriteFile(path, _, after):
            return WriteFile(path, now.get(path), after)
        case DeleteFile(path, before, prune):
            return DeleteFile(path, now.get(path) or before, prune)
        case MoveFile(path, to, before, prune):
            return MoveFile(path, to, now.get(path) or before, prune)
        case _:
            return op


def outcome(work: Callable[[], object]) -> Any:
    """Returns what a call returns, or the kind of error that it raises."""
    try:
        return work()
    except AssentError as error:
        return type(error)


def check_whole(draft: tuple[Operation, ...], tree: Tree) -> None:
    check_dependencies(draft)
    check_tree(draft, tree.__contains__, partial(below, tree))


def case_pairs(draft: tuple[Operation, ...]) -> bool:
    """Tells whether two operations between commands touch paths that differ in case alone."""
    for segment in segments(draft):
        known: dict[bytes, int] = {}
        for index, op in enumerate(segment):
            for path, *_ in footprint(op):
                if known.setdefault(casefolded(path), index) != index:
                    return True
    return False


def assert_tells_the_same(index: DraftIndex, draft: tuple[Operation, ...]) -> None:
    """Everything that an index knows is what the operations say."""
    steps = [step for op in draft for step in footprint(op)]
    drafted = {path: after for path, _, after in steps}
    files = [op for op in draft if not isinstance(op, RunCommand)]
    assert (index.operations, index.ids) == (draft, operation_ids(draft))
    assert index.drafted == drafted
    assert set(index.made) == {
        f for path, after in drafted.items() if after for f in ancestors(path)
    }
    assert set(index.pruned) == set(prunable_folders(files))
    assert set(index.coming) == {path for path, _, after in steps if after is not None}
    assert set(index.going) == {path for path, _, after in steps if after is None}
    links = [state for _, *both in steps for state in both if state and state.kind == "link"]
    assert index.has_links == bool(links)
    assert index.has_similar_names == (outcome(partial(refuse_similar_names, draft)) is Refused)
    if not index.has_case_pairs:
        assert not case_pairs(draft)


@settings(max_examples=examples(400), deadline=None)
@given(stories())
def test_an_index_decides_as_the_checks_of_the_whole_draft(told: tuple[Tree, list[Step]]) -> None:
    """What is refused leaves the draft as it was."""
    tree, story = told
    draft: tuple[Operation, ...] = ()
    last: tuple[Operation, ...] = ()  # of it: commands that stay at its end
    index = DraftIndex()
    for step in story:
        own, behind = draft[: len(draft) - len(last)], last
        if isinstance(step, RunCommand):
            wanted, behind = own, (*last, step)
            found = outcome(partial(index.staged_at_end, [step]))
        elif isinstance(step, int):
            # Two neighbours, so that some are removed together with what depends on them.
            places = {step % len(draft), (step + 1) % len(draft)} if draft else set()
            behind = tuple(op for at, op in enumerate(last, len(own)) if at not in places)
            wanted = outcome(partial(without_operations, own, places & set(range(len(own)))))
            found = outcome(partial(index.without, places))
        else:
            wanted = outcome(partial(stage, own, step))
            found = outcome(partial(index.staged, step))
        if not isinstance(found, DraftIndex):
            assert found == wanted
            continue
        wanted = (*wanted, *behind)
        assert found.at_end == len(behind)
        assert_tells_the_same(found, wanted)
        whole = outcome(partial(check_whole, wanted, tree))
        quick = outcome(partial(found.check, index, tree.__contains__, partial(below, tree)))
        assert quick == whole
        if whole is None:
            assert_is_reached(index, found)
            draft, last, index = wanted, behind, found


def assert_is_reached(before: DraftIndex, after: DraftIndex) -> None:
    """A change says what is added and removed as ids tell it, and its edit leads to the draft."""
    change = after.change_from(before)
    old, new = set(before.ids), set(after.ids)
    pairs = zip(after.ids, after.operations, strict=True)
    assert change.added == tuple((name, op) for name, op in pairs if name not in old)
    assert change.removed == tuple(name for name in before.ids if name not in new)
    assert fold_edits("", before.operations, [edited("", change.edit)]) == after.operations
    again = DraftIndex(before.operations, before.at_end)  # equal, and not the same objects
    assert fold_edits("", again.operations, [edited("", change.edit)]) == after.operations


def edited(before: str, edit: DraftEdit) -> DraftEdited:
    name = draft_name(before, edit)
    return DraftEdited(name, (), edit.put, edit.cut, edit.places, edit.at_end)


@given(st.lists(operations, max_size=8), st.lists(operations, max_size=8))
def test_any_draft_is_an_edit_of_any_other(before: list[Operation], after: list[Operation]) -> None:
    edit = draft_edit(tuple(before), tuple(after))
    assert fold_edits("x", before, [edited("x", edit)]) == tuple(after)


OPS = (WriteFile(b"a", None, A), WriteFile(b"b", None, B))
MORE = WriteFile(b"c", None, A)


@pytest.mark.parametrize(
    ("before", "after", "edit"),
    [
        (OPS, (*OPS, MORE), DraftEdit((), (MORE,))),
        (OPS, OPS[1:], DraftEdit((0,))),
        (OPS, (MORE, OPS[1]), DraftEdit((0,), (MORE,), (0,))),
        (OPS, (OPS[0], MORE), DraftEdit((1,), (MORE,))),
        (OPS, (OPS[0], MORE, OPS[1]), DraftEdit((), (MORE,), (1,))),
    ],
)
def test_an_edit_names_what_leaves_and_what_comes_and_nothing_else(
    before: tuple[Operation, ...], after: tuple[Operation, ...], edit: DraftEdit
) -> None:
    """So a change in the middle of a long draft is stored as small as one at its end."""
    assert draft_edit(before, after) == edit


@pytest.mark.parametrize(
    "edit",
    [
        *(DraftEdit(cut) for cut in [(2,), (-1,), (0, 0), (1, 0)]),
        *(DraftEdit((), OPS, places) for places in [(4, 5), (0,), (1, 1), (2, 0), (-1, 0)]),
        *(DraftEdit((), (MORE,), at_end=count) for count in (-1, 1, 4)),
    ],
)
def test_an_edit_of_places_that_a_draft_does_not_have_is_refused(edit: DraftEdit) -> None:
    with pytest.raises(StoreError, match="does not match its changes"):
        fold_edits("", OPS, [edited("", edit)])


def test_edits_that_do_not_follow_from_each_other_are_refused() -> None:
    first = edited("", DraftEdit((), OPS[:1]))
    second = edited(first.draft, DraftEdit((), OPS[1:]))
    assert fold_edits("", (), [first, second]) == OPS
    for wrong in ([second], [second, first], [first, first]):
        with pytest.raises(StoreError, match="does not match its changes"):
            fold_edits("", (), wrong)


def test_an_edit_of_an_older_version_has_the_same_name_as_ever() -> None:
    """So drafts in logs that were written before edits had places still open."""
    name = "7" * 64
    assert draft_name(name, DraftEdit((1,), OPS)) == sha256(
        pack(b"assent.draft.1", name.encode(), pack(b"1"), *map(canonical_bytes, OPS))
    )
    assert len({draft_name(name, each) for each in (
        DraftEdit((1,), OPS), DraftEdit((1,), OPS, (0, 1)), DraftEdit((1,), OPS, (), 1)
    )}) == 3  # fmt: skip


def test_whole_versions_take_in_all_little_more_than_the_draft() -> None:
    """However many calls there are, and no more is read for a draft than in proportion to it."""
    whole = changed = stored = 0
    for size in range(1, 20_001):
        if is_due_whole(whole, changed, 0, 1, size):
            whole, changed, stored = size, 0, stored + size
        else:
            changed += 1
        assert stored <= 1.5 * size
        assert changed < max(SMALLEST, 2 * whole)
