"""F148: going back to before a message: what the model reads then, and where one can go."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assent.core.errors import NotFound
from assent.core.event import StoredEvent
from assent.core.llm import ChatMessage, StopReason, TextPart, ToolCall, ToolResult
from assent.core.session.event import (
    CallEnded,
    CallStarted,
    Compacted,
    MessageAdded,
    PartSaid,
    SessionEvent,
    SessionRewound,
    StepEnded,
    StepStarted,
    Todo,
    TodosChanged,
    TurnEnded,
    TurnStarted,
)
from assent.core.session.transcript import (
    Transcript,
    UserMessage,
    chosen_message,
    rewind_targets,
    without_rewound,
)

STEP = StepStarted(1, "plan", "m", "plan")
CALL = ToolCall("a", "read", {})


def said(id: str, synthetic: str = "") -> MessageAdded:
    return MessageAdded(id, "plan", (TextPart(f"words of {id}"),), synthetic)


def turn(number: int, answer: str) -> tuple[SessionEvent, ...]:
    step = (STEP, PartSaid(TextPart(answer)), StepEnded(StopReason.END))
    return TurnStarted(number), *step, TurnEnded("end")


def recorded(events: Sequence[SessionEvent]) -> list[StoredEvent]:
    return [StoredEvent(n, "s", n, f"t{n}", event) for n, event in enumerate(events, 1)]


def read(events: Sequence[SessionEvent]) -> list[ChatMessage]:
    transcript = Transcript()
    for event in events:
        transcript.add(event)
    return list(transcript.messages)


def ids(events: Sequence[SessionEvent]) -> list[str]:
    return [each.id for each in rewind_targets(recorded(events))]


FIRST = (said("reminder", "reminder"), said("1"), *turn(1, "One."))
SECOND = (said("hook", "hook"), said("2"), *turn(2, "Two."))
THIRD = (said("3"), *turn(3, "Three."))
ALL = (*FIRST, *SECOND, *THIRD)


@pytest.mark.parametrize(
    ("message", "left"),
    [("3", (*FIRST, *SECOND)), ("2", FIRST), ("1", ())],
)
def test_f148_the_model_reads_what_came_before_the_message_and_what_led_to_it(
    message: str, left: Sequence[SessionEvent]
) -> None:
    back = (*ALL, SessionRewound(message))
    assert read(back) == read(left)
    assert [one.event for one in without_rewound(recorded(back))] == list(left)
    assert ids(back) == ids(left)
    again = (said("4"), *turn(4, "Four."))
    assert read((*back, *again)) == read((*left, *again))


def test_f148_what_was_said_in_one_breath_is_told_apart() -> None:
    events = (said("1"), said("2"))
    assert len(read(events)) == 1
    assert read((*events, SessionRewound("2"))) == read((said("1"),))
    assert read((*events, SessionRewound("2"), said("3"))) == read((said("1"), said("3")))


def test_f148_a_message_amid_calls_begins_behind_their_results() -> None:
    calls = (said("1"), STEP, PartSaid(CALL), StepEnded(StopReason.CALLS), CallStarted("a", "read"))
    events = (
        *calls,
        said("2"),
        CallEnded("a", "read", ToolResult("a", "content")),
        *turn(1, "Fine."),
    )
    expected = [
        ChatMessage("user", (TextPart("words of 1"),)),
        ChatMessage("assistant", (CALL,), "m"),
        ChatMessage("user", (ToolResult("a", "content"),)),
    ]
    assert read((*events, SessionRewound("2"))) == expected


def test_f148_calls_that_wait_are_gone_with_it() -> None:
    asked = (said("1"), STEP, PartSaid(CALL), StepEnded(StopReason.CALLS), TurnEnded("waiting"))
    transcript = Transcript()
    for event in (*asked, SessionRewound("1")):
        transcript.add(event)
    assert (transcript.messages, transcript.pending_calls) == ((), ())


def test_f148_what_became_a_summary_is_out_of_reach() -> None:
    events = (*FIRST, Compacted("In short.", 0), *SECOND)
    assert ids(events) == ["2"]
    with pytest.raises(NotFound, match="now part of a summary"):
        chosen_message(recorded(events), "1")
    assert read((*events, SessionRewound("1"))) == read(events)
    with pytest.raises(NotFound, match="now part of a summary"):
        chosen_message(recorded(events[: len(FIRST) + 1]), "")


def test_f148_one_can_go_back_again_but_not_to_what_was_cut() -> None:
    events = (*ALL, SessionRewound("2"))
    with pytest.raises(NotFound, match="matches 0 messages"):
        chosen_message(recorded(events), "3")
    assert chosen_message(recorded(events), "").id == "1"
    assert read((*events, SessionRewound("1"))) == []


def test_f148_a_message_is_named_by_the_start_of_its_id() -> None:
    events = (said("10"), said("11"), said("2"))
    assert chosen_message(recorded(events), "2").id == "2"
    with pytest.raises(NotFound, match="matches 2 messages"):
        chosen_message(recorded(events), "1")
    with pytest.raises(NotFound, match="has no messages yet"):
        chosen_message([], "")


def test_f148_each_message_knows_its_turn_and_the_todos_before_it() -> None:
    todos = TodosChanged((Todo("one"),))
    events = (said("1"), TurnStarted(1), todos, said("2"), TurnEnded("end"), said("3"))
    assert rewind_targets(recorded(events)) == [
        UserMessage("1", "words of 1", "t1", 1, 1, "plan"),
        UserMessage("2", "words of 2", "t4", 1, 4, "plan", "", (Todo("one"),)),
        UserMessage("3", "words of 3", "t6", 2, 6, "plan", "", (Todo("one"),)),
    ]


PIECES = st.sampled_from(
    [said("h", "hook"), said("m", "mode"), *turn(1, "One."), PartSaid(CALL),
     StepEnded(StopReason.CALLS), CallEnded("a", "read", ToolResult("a", "content"))]
)  # fmt: skip


@given(st.lists(PIECES, max_size=12), st.lists(PIECES, max_size=12))
def test_f148_wherever_one_goes_back_the_rest_is_as_if_nothing_had_been_said(
    before: list[SessionEvent], after: list[SessionEvent]
) -> None:
    """Only calls that were under way make a difference: they have results in what is left."""
    at_rest = (*before, StepStarted(2, "plan", "m", "plan"), TurnEnded("end"))
    back = (*at_rest, said("x"), *after, SessionRewound("x"))
    assert read(back) == read(at_rest)
