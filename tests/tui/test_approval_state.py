"""The table of keys of the approval panel, explored as a whole: only a documented road approves."""

from collections import deque
from itertools import product

import msgspec
import pytest

from assent.tui.panels.approval_state import (
    APPROVING,
    DECIDING,
    MOVING,
    OF_PLAN,
    Act,
    Stage,
    Standing,
    press,
)

LETTERS = [chr(code) for code in range(ord("a"), ord("z") + 1)]
SPECIAL = ("enter", "escape", "space", "tab", "backspace", "delete", "ctrl+c", "ctrl+g", "ctrl+j",
           "ctrl+m", "ctrl+x", "ctrl+y", "shift+tab", "f1", "question_mark", "slash", "full_stop",
           "Y", "O", "X", "S", "ä", "é", "<paste>", "")  # fmt: skip
KEYS = tuple(dict.fromkeys([*LETTERS, *"0123456789", *SPECIAL, *MOVING, *OF_PLAN]))
FLAGS = ("open", "awaited", "approved", "read", "marked", "part", "undo")
EVERY = tuple(
    Standing(stage, **dict(zip(FLAGS, flags, strict=True)))
    for stage in Stage
    for flags in product((False, True), repeat=len(FLAGS))
)


def reading(**flags: bool) -> Standing:
    return msgspec.structs.replace(Standing(Stage.READING, open=True, awaited=True), **flags)


def pressed(standing: Standing, *keys: str) -> tuple[Standing, list[Act]]:
    acts = []
    for key in keys:
        standing, act = press(standing, key)
        acts.append(act)
    return standing, acts


def roads(start: Standing) -> set[tuple[str, ...]]:
    """Returns the shortest keys that lead from a standing to each way of saying yes."""
    found: set[tuple[str, ...]] = set()
    known = {start}
    queue: deque[tuple[Standing, tuple[str, ...]]] = deque([(start, ())])
    while queue:
        standing, keys = queue.popleft()
        for key in KEYS:
            after, act = press(standing, key)
            if act in APPROVING:
                found.add((*keys, key))
            elif after not in known:
                known.add(after)
                queue.append((after, (*keys, key)))
    return found


def test_f41_nothing_approves_but_an_answer_to_the_question() -> None:
    yes = {
        (before.stage, key, act)
        for before in EVERY
        for key in KEYS
        for _, act in [press(before, key)]
        if act in APPROVING
    }
    assert yes == {
        (Stage.CHOOSING, "y", Act.BUILD),
        (Stage.CHOOSING, "y", Act.START),
        (Stage.CHOOSING, "o", Act.APPROVE),
    }


def test_f41_the_question_comes_only_by_1_and_after_the_end_or_a_skip() -> None:
    asked = [
        (before, key)
        for before in EVERY
        for key in KEYS
        if before.stage is not Stage.CHOOSING and press(before, key)[0].stage is Stage.CHOOSING
    ]
    assert {key for _, key in asked} == {"1"}
    for before, _ in asked:
        if before.stage is Stage.SKIPPING:
            continue
        assert before.stage is Stage.READING
        assert before.awaited
        assert before.read or (before.marked and not before.part)
    skipped = [
        (before, key)
        for before in EVERY
        for key in KEYS
        if before.stage is not Stage.SKIPPING and press(before, key)[0].stage is Stage.SKIPPING
    ]
    assert {key for _, key in skipped} == {"s"}
    assert all(each.stage is Stage.READING and each.awaited for each, _ in skipped)


@pytest.mark.parametrize(
    ("flags", "shortest"),
    [
        ({"read": True}, {("1", "y"), ("1", "o")}),
        ({}, {("s", "1", "y"), ("s", "1", "o")}),
        ({"read": True, "part": True, "marked": True}, {("1", "y"), ("1", "o")}),
        ({"part": True, "marked": True}, {("s", "1", "y"), ("s", "1", "o")}),
        ({"read": True, "approved": True}, {("1", "y")}),
        ({"read": True, "undo": True}, {("1", "y")}),
        ({"read": True, "marked": True}, set()),
        ({"marked": True}, set()),
        ({"read": True, "awaited": False}, set()),
        ({"awaited": False, "open": False}, set()),
    ],
)
def test_f41_only_these_roads_lead_to_a_yes(
    flags: dict[str, bool], shortest: set[tuple[str, ...]]
) -> None:
    assert roads(reading(**flags)) == shortest


@pytest.mark.parametrize("stage", [Stage.LOADING, Stage.RECORDING])
def test_f41_no_key_leads_anywhere_before_it_is_shown_and_while_it_is_recorded(
    stage: Stage,
) -> None:
    for before in EVERY:
        if before.stage is stage:
            answers = {press(before, key) for key in KEYS}
            assert answers <= {(before, Act.NOTHING), (before, Act.LEAVE)}


def test_f41_a_key_that_is_held_down_never_says_yes() -> None:
    for before in EVERY:
        if before.stage is Stage.READING:
            for key in KEYS:
                standing, acts = pressed(before, *[key] * 5)
                assert not APPROVING & {*acts}
                assert Act.EXIT not in acts
                assert standing.stage is not Stage.RECORDING


def test_f41_any_other_key_goes_back_from_the_question_and_says_nothing() -> None:
    question = reading(read=True, stage=Stage.CHOOSING)  # type: ignore[arg-type]
    back = (reading(read=True), Act.NOTHING)
    assert {key for key in KEYS if press(question, key) != back} == {"1", "y", "o", "n"}
    assert press(question, "1") == (question, Act.NOTHING)
    assert press(question, "n") == (question, Act.NOTE)


def test_f38_three_keys_have_three_outcomes() -> None:
    read = reading(read=True)
    assert pressed(read, "1", "o") == (
        reading(read=True, stage=Stage.RECORDING),  # type: ignore[arg-type]
        [Act.NOTHING, Act.APPROVE],
    )
    assert press(read, "2") == (read, Act.FEEDBACK)
    assert pressed(read, "3", "ctrl+x") == (
        reading(read=True, stage=Stage.RECORDING),  # type: ignore[arg-type]
        [Act.NOTHING, Act.EXIT],
    )


def test_f40_a_plan_is_given_up_only_by_3_and_ctrl_x() -> None:
    assert {
        (before.stage, key) for before in EVERY for key in KEYS if press(before, key)[1] is Act.EXIT
    } == {(Stage.EXITING, "ctrl+x")}
    assert {
        (before.stage, key)
        for before in EVERY
        for key in KEYS
        if before.stage is not Stage.EXITING and press(before, key)[0].stage is Stage.EXITING
    } == {(Stage.READING, "3")}


def test_f41_nothing_is_decided_but_by_an_answer_and_asked_for_by_another_key() -> None:
    found = {
        (before.stage, key, act)
        for before in EVERY
        for key in KEYS
        for _, act in [press(before, key)]
        if act in DECIDING - APPROVING
    }
    assert found == {
        (Stage.EXITING, "ctrl+x", Act.EXIT),
        (Stage.PROPOSING, "ctrl+y", Act.PROPOSE),
        (Stage.FITTING, "ctrl+y", Act.REBASE),
    }
    asked = {
        (key, press(reading(), key)[0].stage)
        for key in KEYS
        if press(reading(), key)[0].stage in (Stage.PROPOSING, Stage.FITTING)
    }
    assert asked == {("p", Stage.PROPOSING), ("b", Stage.FITTING)}


def test_g10_marks_stand_in_the_way_of_a_yes_to_the_whole_plan() -> None:
    marked = reading(read=True, marked=True)
    question, acts = pressed(marked, "1")
    assert question.stage is Stage.CHOOSING
    assert acts == [Act.NOTHING]
    assert press(question, "w") == (marked, Act.PART)
    for key in ("y", "o", "n", "enter"):
        assert press(question, key) == (marked, Act.NOTHING)
    assert press(marked, "w") == (marked, Act.PART)
    smaller = reading(read=True, marked=True, part=True)
    assert press(smaller, "w") == (smaller, Act.WHOLE)
    assert press(smaller, "space") == (smaller, Act.NOTHING)


def test_an_undo_has_no_keys_that_talk_about_a_plan() -> None:
    undo = reading(read=True, undo=True)
    for key in ("2", "3", "c", "n", "p", "b", "ctrl+g"):
        assert press(undo, key) == (undo, Act.NOTHING)
    assert press(pressed(undo, "1")[0], "o") == (undo, Act.NOTHING)


def test_what_is_over_can_be_read_and_nothing_else() -> None:
    over = reading(open=False, awaited=False)
    acts = {key: press(over, key)[1] for key in KEYS}
    assert {act for key, act in acts.items() if key in MOVING} == {*MOVING.values()}
    assert {act for key, act in acts.items() if key in OF_PLAN} == {Act.CLOSED}
    assert acts["1"] is Act.CLOSED
