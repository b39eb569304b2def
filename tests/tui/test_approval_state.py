"""The table of keys of the approval panel, explored as a whole: only a documented road approves."""

from collections import deque
from itertools import product

import msgspec
import pytest

from assent.tui.panels.approval.state import (
    APPROVING,
    DECIDING,
    MOVING,
    PLAN_ACTIONS,
    ApprovalAction,
    ApprovalStage,
    ApprovalState,
    early_text,
    handle_approval_key,
    key_line,
)

LETTERS = [chr(code) for code in range(ord("a"), ord("z") + 1)]
SPECIAL = ("enter", "escape", "space", "tab", "backspace", "delete", "ctrl+c", "ctrl+g", "ctrl+j",
           "ctrl+m", "ctrl+x", "ctrl+y", "shift+tab", "f1", "question_mark", "slash", "full_stop",
           "Y", "O", "X", "S", "ä", "é", "<paste>", "")  # fmt: skip
KEYS = tuple(dict.fromkeys([*LETTERS, *"0123456789", *SPECIAL, *MOVING, *PLAN_ACTIONS]))
FLAGS = ("open", "awaited", "approved", "read", "marked", "part", "undo", "high", "skipped")
EVERY = tuple(
    ApprovalState(stage, **dict(zip(FLAGS, flags, strict=True)))
    for stage in ApprovalStage
    for flags in product((False, True), repeat=len(FLAGS))
)


def reading(**flags: bool) -> ApprovalState:
    return msgspec.structs.replace(
        ApprovalState(ApprovalStage.READING, open=True, awaited=True), **flags
    )


def pressed(standing: ApprovalState, *keys: str) -> tuple[ApprovalState, list[ApprovalAction]]:
    acts = []
    for key in keys:
        standing, act = handle_approval_key(standing, key)
        acts.append(act)
    return standing, acts


def roads(start: ApprovalState) -> set[tuple[str, ...]]:
    """Returns the shortest keys that lead from a standing to each way of saying yes."""
    found: set[tuple[str, ...]] = set()
    known = {start}
    queue: deque[tuple[ApprovalState, tuple[str, ...]]] = deque([(start, ())])
    while queue:
        standing, keys = queue.popleft()
        for key in KEYS:
            after, act = handle_approval_key(standing, key)
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
        for _, act in [handle_approval_key(before, key)]
        if act in APPROVING
    }
    assert yes == {
        (ApprovalStage.CHOOSING, "y", ApprovalAction.BUILD),
        (ApprovalStage.CHOOSING, "y", ApprovalAction.START),
        (ApprovalStage.CHOOSING, "o", ApprovalAction.APPROVE),
    }


def test_f41_what_was_neither_read_nor_skipped_is_not_approved() -> None:
    for before in EVERY:
        for key in KEYS:
            if handle_approval_key(before, key)[1] in APPROVING:
                assert before.read or before.skipped


def test_f41_the_question_comes_only_by_1_and_after_the_end_or_a_skip() -> None:
    asked = [
        (before, key)
        for before in EVERY
        for key in KEYS
        if before.stage is not ApprovalStage.CHOOSING
        and handle_approval_key(before, key)[0].stage is ApprovalStage.CHOOSING
    ]
    assert {key for _, key in asked} == {"1", "s"}
    for before, key in asked:
        if before.stage is ApprovalStage.SKIPPING:
            assert key == "1"
            continue
        assert before.stage is ApprovalStage.READING
        assert before.awaited
        if key == "s":
            assert not before.high
        else:
            assert before.read or (before.marked and not before.part)
    skipped = [
        (before, key)
        for before in EVERY
        for key in KEYS
        if before.stage is not ApprovalStage.SKIPPING
        and handle_approval_key(before, key)[0].stage is ApprovalStage.SKIPPING
    ]
    assert {key for _, key in skipped} == {"s"}
    assert all(each.stage is ApprovalStage.READING and each.awaited for each, _ in skipped)
    assert all(each.high for each, _ in skipped)


@pytest.mark.parametrize(
    ("flags", "shortest"),
    [
        ({"read": True}, {("1", "y"), ("1", "o")}),
        ({}, {("s", "y"), ("s", "o")}),
        ({"high": True}, {("s", "1", "y"), ("s", "1", "o")}),
        ({"read": True, "part": True, "marked": True}, {("1", "y"), ("1", "o")}),
        ({"part": True, "marked": True}, {("s", "y"), ("s", "o")}),
        (
            {"part": True, "marked": True, "high": True},
            {("s", "1", "y"), ("s", "1", "o")},
        ),
        ({"undo": True, "high": True}, {("s", "1", "y")}),
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


@pytest.mark.parametrize("stage", [ApprovalStage.LOADING, ApprovalStage.RECORDING])
def test_f41_no_key_leads_anywhere_before_it_is_shown_and_while_it_is_recorded(
    stage: ApprovalStage,
) -> None:
    for before in EVERY:
        if before.stage is stage:
            answers = {handle_approval_key(before, key) for key in KEYS}
            assert answers <= {(before, ApprovalAction.NOTHING), (before, ApprovalAction.LEAVE)}


def test_f41_a_key_that_is_held_down_never_says_yes() -> None:
    for before in EVERY:
        if before.stage is ApprovalStage.READING:
            for key in KEYS:
                standing, acts = pressed(before, *[key] * 5)
                assert not APPROVING & {*acts}
                assert ApprovalAction.EXIT not in acts
                assert standing.stage is not ApprovalStage.RECORDING


def test_f41_any_other_key_goes_back_from_the_question_and_says_nothing() -> None:
    question = reading(read=True, stage=ApprovalStage.CHOOSING)  # type: ignore[arg-type]
    back = (reading(read=True), ApprovalAction.NOTHING)
    assert {key for key in KEYS if handle_approval_key(question, key) != back} == {
        "1",
        "s",
        "y",
        "o",
        "m",
    }
    for held in ("1", "s"):
        assert handle_approval_key(question, held) == (question, ApprovalAction.NOTHING)
    assert handle_approval_key(question, "m") == (question, ApprovalAction.NOTE)


def test_f38_three_keys_have_three_outcomes() -> None:
    read = reading(read=True)
    assert pressed(read, "1", "o") == (
        reading(read=True, stage=ApprovalStage.RECORDING),  # type: ignore[arg-type]
        [ApprovalAction.NOTHING, ApprovalAction.APPROVE],
    )
    assert handle_approval_key(read, "2") == (read, ApprovalAction.FEEDBACK)
    assert pressed(read, "3", "ctrl+y") == (
        reading(read=True, stage=ApprovalStage.RECORDING),  # type: ignore[arg-type]
        [ApprovalAction.NOTHING, ApprovalAction.EXIT],
    )


def test_f40_a_plan_is_given_up_only_by_3_and_ctrl_y() -> None:
    assert {
        (before.stage, key)
        for before in EVERY
        for key in KEYS
        if handle_approval_key(before, key)[1] is ApprovalAction.EXIT
    } == {(ApprovalStage.EXITING, "ctrl+y")}
    assert {
        (before.stage, key)
        for before in EVERY
        for key in KEYS
        if before.stage is not ApprovalStage.EXITING
        and handle_approval_key(before, key)[0].stage is ApprovalStage.EXITING
    } == {(ApprovalStage.READING, "3")}


def test_f41_nothing_is_decided_but_by_an_answer_and_asked_for_by_another_key() -> None:
    found = {
        (before.stage, key, act)
        for before in EVERY
        for key in KEYS
        for _, act in [handle_approval_key(before, key)]
        if act in DECIDING - APPROVING
    }
    assert found == {
        (ApprovalStage.EXITING, "ctrl+y", ApprovalAction.EXIT),
        (ApprovalStage.PROPOSING, "ctrl+y", ApprovalAction.PROPOSE),
        (ApprovalStage.FITTING, "ctrl+y", ApprovalAction.REBASE),
    }
    asked = {
        (key, handle_approval_key(reading(), key)[0].stage)
        for key in KEYS
        if handle_approval_key(reading(), key)[0].stage
        in (ApprovalStage.PROPOSING, ApprovalStage.FITTING)
    }
    assert asked == {("t", ApprovalStage.PROPOSING), ("b", ApprovalStage.FITTING)}


def test_g10_marks_stand_in_the_way_of_a_yes_to_the_whole_plan() -> None:
    marked = reading(read=True, marked=True)
    assert key_line(marked).startswith("w preview without excluded · 2 feedback · ")
    assert key_line(marked).count("preview") == 1
    for key in ("w", "1"):  # which would approve: it shows what that would be
        assert handle_approval_key(marked, key) == (marked, ApprovalAction.PART)
    question = msgspec.structs.replace(marked, stage=ApprovalStage.CHOOSING)
    for key in ("y", "o", "m", "n", "enter"):
        assert handle_approval_key(question, key) == (marked, ApprovalAction.NOTHING)
    smaller = reading(read=True, marked=True, part=True)
    assert handle_approval_key(smaller, "w") == (smaller, ApprovalAction.WHOLE)
    assert handle_approval_key(smaller, "space") == (smaller, ApprovalAction.NOTHING)


def test_the_key_that_approves_says_which_one_comes_before_it() -> None:
    for key in ("y", "o"):
        assert handle_approval_key(reading(), key) == (reading(), ApprovalAction.EARLY)
    undo, marked = reading(undo=True), reading(marked=True)
    assert handle_approval_key(undo, "y") == (undo, ApprovalAction.EARLY)
    assert early_text(reading()) == "1 comes first: it shows what you approve, then asks for y."
    assert early_text(undo) == "1 comes first: it shows what you undo, then asks for y."
    assert early_text(marked).startswith("w comes first:")
    over = reading(awaited=False)
    assert handle_approval_key(over, "y") == (over, ApprovalAction.NOTHING)


def test_an_undo_has_no_keys_that_talk_about_a_plan() -> None:
    undo = reading(read=True, undo=True)
    for key in ("2", "3", "c", "m", "v", "n", "t", "b", "ctrl+g"):
        assert handle_approval_key(undo, key) == (undo, ApprovalAction.NOTHING)
    assert handle_approval_key(pressed(undo, "1")[0], "o") == (undo, ApprovalAction.NOTHING)


def test_what_is_over_can_be_read_and_nothing_else() -> None:
    over = reading(open=False, awaited=False)
    acts = {key: handle_approval_key(over, key)[1] for key in KEYS}
    assert {act for key, act in acts.items() if key in MOVING} == {*MOVING.values()}
    assert {act for key, act in acts.items() if key in PLAN_ACTIONS} == {ApprovalAction.CLOSED}
    assert acts["1"] is ApprovalAction.CLOSED


def test_a_redo_offers_no_part_of_it() -> None:
    assert "only this operation" in key_line(reading(undo=True))
    assert "only this operation" not in key_line(reading(undo=True, again=True))
