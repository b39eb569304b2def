"""The transcript is always valid to send, wherever the events of a session were cut off."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assent.core.llm import ChatMessage, ReasoningPart, StopReason, TextPart, ToolCall, ToolResult
from assent.core.permission.mode import Mode
from assent.core.session.event import (
    CallEnded,
    CallStarted,
    Compacted,
    MessageAdded,
    ModeChanged,
    PartSaid,
    SessionEvent,
    SessionStarted,
    StepEnded,
    StepRetried,
    StepStarted,
    TurnEnded,
)
from assent.core.session.transcript import LOST, NEVER_BEGAN, SUMMARY, Transcript

STARTED = SessionStarted("s", "w", "slug", "plan")
STEP = StepStarted(1, "plan", "m", "plan")
END = StepEnded(StopReason.CALLS)
A, B = ToolCall("a", "read", {}), ToolCall("b", "read", {})


def said(text: str) -> MessageAdded:
    return MessageAdded("1", "plan", (TextPart(text),))


def happened(about: str, text: str) -> MessageAdded:
    return MessageAdded("", "plan", (TextPart(text),), synthetic=about)


def switched(mode: Mode) -> tuple[SessionEvent, ...]:
    return ModeChanged(mode), happened("mode", f"now {mode}")


def ended(call: str) -> CallEnded:
    return CallEnded(call, "read", ToolResult(call, f"content of {call}"))


def folded(events: Sequence[SessionEvent]) -> Transcript:
    transcript = Transcript()
    for event in events:
        transcript.add(event)
    return transcript


def user(*texts: str) -> list[ChatMessage]:
    return [ChatMessage("user", (TextPart(text),)) for text in texts]


ANSWER = ChatMessage("assistant", (A, B), "m")
RESULTS = ChatMessage("user", (ToolResult("a", "content of a"), ToolResult("b", "content of b")))
ASKED = (said("go"), STEP, PartSaid(A), PartSaid(B), END)


@pytest.mark.parametrize(
    ("events", "messages"),
    [
        ((said("go"),), user("go")),
        ((*ASKED, ended("b"), ended("a")), [*user("go"), ANSWER, RESULTS]),
        (
            (*ASKED, said("and this"), ended("a"), ended("b")),
            [*user("go"), ANSWER, RESULTS, *user("and this")],
        ),
        (
            (*ASKED, ended("a"), TurnEnded("interrupted")),
            [
                *user("go"),
                ANSWER,
                ChatMessage("user", (RESULTS.parts[0], ToolResult("b", NEVER_BEGAN, failed=True))),
            ],
        ),
        (
            (*ASKED, CallStarted("b", "read"), ended("a"), TurnEnded("interrupted")),
            [
                *user("go"),
                ANSWER,
                ChatMessage("user", (RESULTS.parts[0], ToolResult("b", LOST, failed=True))),
            ],
        ),
        (
            (said("first"), said("second"), STEP, said("third")),
            [ChatMessage("user", (TextPart("first"), TextPart("second"))), *user("third")],
        ),
        ((said("go"), STEP, PartSaid(TextPart("lost")), StepRetried(1, 2.0, "429")), user("go")),
        ((said("go"), STEP, PartSaid(ReasoningPart("hm")), END), user("go")),
        (
            (said("go"), STEP, PartSaid(TextPart("half")), TurnEnded("interrupted")),
            [*user("go"), ChatMessage("assistant", (TextPart("half"),), "m")],
        ),
        (
            (*ASKED, ended("a"), ended("b"), said("more"), Compacted("so far", 1)),
            user(SUMMARY + "so far", "more"),
        ),
        (
            (*ASKED, ended("a"), ended("b"), Compacted("so far", 1)),
            [*user(SUMMARY + "so far"), ANSWER, RESULTS],  # not results without their calls
        ),
        ((said("go"), Compacted("so far", 9)), user(SUMMARY + "so far", "go")),
        ((said("go"), ended("x")), user("go")),
        (
            (happened("run", "built"), said("go"), happened("undone", "undone")),
            [ChatMessage("user", (TextPart("built"), TextPart("undone"), TextPart("go")))],
        ),
        (
            (said("go"), STEP, END, happened("reminder", "mind"), said("on"), happened("run", "r")),
            [*user("go"), ChatMessage("user", (TextPart("r"), TextPart("mind"), TextPart("on")))],
        ),
        (
            (STARTED, said("go"), *switched("ask"), *switched("yolo")),
            [ChatMessage("user", (TextPart("now yolo"), TextPart("go")))],
        ),
        ((STARTED, said("go"), *switched("ask"), *switched("plan")), user("go")),
        ((STARTED, *switched("ask"), *switched("plan"), said("go")), user("go")),
        (
            (STARTED, said("go"), *switched("ask"), STEP, END, *switched("plan"), said("on")),
            [
                ChatMessage("user", (TextPart("now ask"), TextPart("go"))),
                ChatMessage("user", (TextPart("now plan"), TextPart("on"))),
            ],
        ),
        (
            (STARTED, happened("mode", "a fork"), said("go"), *switched("ask")),
            [ChatMessage("user", (TextPart("a fork"), TextPart("now ask"), TextPart("go")))],
        ),
        (
            (said("go"), STEP, PartSaid(A), PartSaid(A), END, ended("a"), ended("a")),
            [
                *user("go"),
                ChatMessage("assistant", (A,), "m"),
                ChatMessage("user", RESULTS.parts[:1]),
            ],
        ),
    ],
    ids=[
        "a message", "results in the order of calls", "said meanwhile", "a call that never began",
        "a lost call", "said in one go", "retried", "only reasoning", "half an answer", "a summary",
        "a summary never splits a call",
        "more kept than there is", "a stray result", "what happened comes first",
        "before what leads to the words", "only the last mode", "a mode and back",
        "a mode and back before the first words", "a mode that was read", "a fork stays",
        "a call twice",
    ],
)  # fmt: skip
def test_what_a_model_reads(events: Sequence[SessionEvent], messages: list[ChatMessage]) -> None:
    assert list(folded(events).messages) == messages


def test_calls_without_results_are_known() -> None:
    transcript = folded([*ASKED, ended("a")])
    assert list(transcript.pending_calls) == [B]
    transcript.add(ended("b"))
    assert list(transcript.pending_calls) == []


IDS = st.sampled_from("abc")
EVENTS: st.SearchStrategy[SessionEvent] = st.one_of(
    st.builds(said, st.sampled_from(["go", "on"])),
    st.just(STEP),
    st.builds(lambda i: PartSaid(ToolCall(i, "read", {})), IDS),
    st.just(PartSaid(TextPart("words"))),
    st.just(PartSaid(ReasoningPart("thoughts"))),
    st.just(StepRetried(1, 1.0, "again")),
    st.just(END),
    st.builds(ended, IDS),
    st.builds(Compacted, st.just("summary"), st.integers(0, 5)),
    st.just(TurnEnded("end")),
)


def check(messages: Sequence[ChatMessage]) -> None:
    """Every call has one result, directly after it; no result is without a call."""
    wanted: list[str] = []
    for message in messages:
        results = [part.call for part in message.parts if isinstance(part, ToolResult)]
        assert results == wanted
        wanted = [part.id for part in message.parts if isinstance(part, ToolCall)]
        assert len(set(wanted)) == len(wanted)
        assert message.parts
    assert wanted == []


@given(st.lists(EVENTS, max_size=40))
def test_f113_whatever_happened_the_next_request_is_valid(events: list[SessionEvent]) -> None:
    transcript = folded(events)
    transcript.add(STEP)
    check(transcript.messages)
    assert transcript.pending_calls == ()


@given(st.lists(EVENTS, max_size=40))
def test_a_message_that_was_sent_stays_the_same_object(events: list[SessionEvent]) -> None:
    transcript = Transcript()
    known: list[ChatMessage] = []
    for event in events:
        transcript.add(event)
        now = list(transcript.messages)
        if isinstance(event, Compacted):
            known = []
        assert [id(message) for message in now[: len(known)]] == [id(m) for m in known]
        if isinstance(event, StepStarted):  # from here on it was sent, and is encoded
            known = now


@given(st.lists(EVENTS, max_size=40))
def test_a_summary_keeps_the_newest_messages_as_they_are(events: list[SessionEvent]) -> None:
    transcript = folded([*events, STEP])
    before = transcript.messages
    transcript.add(Compacted("summary", 2))
    after = transcript.messages
    check(after)
    assert [id(m) for m in after[1:]][-2:] == [id(m) for m in before[-2:]]
