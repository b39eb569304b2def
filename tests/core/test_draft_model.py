"""Composition against a model: a draft does what its steps did, in fewer operations."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.core.states import LINK, TOOL, A, B, Tree, applied
from tests.support.properties import examples

from assent.core.plan.draft import net_changes, segments, stage
from assent.core.plan.operation import (
    DeleteFile,
    FileOperation,
    MoveFile,
    Operation,
    RunCommand,
    WriteFile,
    footprint,
)

NAMES = (b"a", b"b", b"c", b"d")
STATES = (A, B, TOOL, LINK)
MAKE = RunCommand((b"make",))

trees = st.dictionaries(st.sampled_from(NAMES), st.sampled_from(STATES))


def possible(tree: Tree) -> list[FileOperation]:
    """Lists every operation that finds what it expects."""
    free = [name for name in NAMES if name not in tree]
    writes = [
        WriteFile(name, tree.get(name), after)
        for name in NAMES
        for after in STATES
        if after != tree.get(name)
    ]
    deletes = [DeleteFile(name, state) for name, state in tree.items()]
    moves = [MoveFile(name, to, state) for name, state in tree.items() for to in free]
    return [*writes, *deletes, *moves]


@st.composite
def stories(draw: st.DrawFn, commands: bool = False) -> tuple[Tree, list[Operation], Tree]:
    """A tree, steps that are each possible when they come, and the tree after them."""
    start = draw(trees)
    tree: Tree = start
    steps: list[Operation] = []
    for _ in range(draw(st.integers(0, 12))):
        if commands and draw(st.integers(0, 3)) == 0:
            steps.append(MAKE)
            continue
        step: Any = draw(st.sampled_from(possible(tree)))
        tree = applied(tree, [step])
        steps.append(step)
    return start, steps, tree


def files(operations: tuple[Operation, ...]) -> list[FileOperation]:
    return [op for op in operations if isinstance(op, FileOperation)]


@settings(max_examples=examples(50), deadline=None)
@given(stories())
def test_a_draft_does_what_its_steps_did(story: tuple[Tree, list[Operation], Tree]) -> None:
    start, steps, end = story
    draft = stage((), steps)
    touched = [path for op in draft for path, *_ in footprint(op)]
    assert len(touched) == len(set(touched))
    assert applied(start, files(draft)) == end
    assert applied(start, reversed(files(draft))) == end
    assert {path: after for path, (_, after) in net_changes(draft).items()} == {
        name: end.get(name) for name in NAMES if start.get(name) != end.get(name)
    }


@settings(max_examples=examples(25), deadline=None)
@given(stories(), st.integers(0, 12))
def test_it_makes_no_difference_in_how_many_calls_steps_are_staged(
    story: tuple[Tree, list[Operation], Tree], cut: int
) -> None:
    _, steps, _ = story
    draft = stage((), steps)
    assert stage(stage((), steps[:cut]), steps[cut:]) == draft
    assert stage((), draft) == draft


@settings(max_examples=examples(50), deadline=None)
@given(stories())
def test_what_a_step_does_not_touch_keeps_its_order_and_what_it_changes_its_place(
    story: tuple[Tree, list[Operation], Tree],
) -> None:
    _, steps, _ = story
    draft: tuple[Operation, ...] = ()
    for step in steps:
        touched = {path for path, *_ in footprint(step)}
        hit = [
            at
            for at, op in enumerate(draft)
            if not touched.isdisjoint(path for path, *_ in footprint(op))
        ]
        kept = [op for at, op in enumerate(draft) if at not in hit]
        before, draft = draft, stage(draft, [step])
        assert [op for op in draft if op in kept] == kept
        if len(draft) >= len(before):  # else something cancelled out, and what follows moves up
            places = range(len(before))
            assert [at for at in places if draft[at] != before[at]] == [
                at for at in hit if draft[at] != before[at]
            ]


@settings(max_examples=examples(25), deadline=None)
@given(stories(commands=True))
def test_every_segment_is_composed_by_itself(story: tuple[Tree, list[Operation], Tree]) -> None:
    start, steps, end = story
    draft = stage((), steps)
    wanted = [part for segment in segments(steps) for part in segments(stage((), segment))]
    assert segments(draft) == wanted
    assert draft.count(MAKE) == steps.count(MAKE)
    assert applied(start, files(draft)) == end
