"""The record of a session: what each event changes, and that a cut makes no difference."""

from collections.abc import Sequence

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assent.core.llm import StopReason, TextPart, TokenUsage, ToolResult
from assent.core.permission.mode import MODES, Mode, default_agent
from assent.core.session.event import (
    CallEnded,
    ChildStarted,
    Compacted,
    CompactionRejected,
    CritiqueEnded,
    CritiqueStarted,
    MessageAdded,
    ModeChanged,
    PlanLinked,
    QuestionAsked,
    ResultsPruned,
    SessionDeleted,
    SessionEvent,
    SessionRenamed,
    SessionStarted,
    StepEnded,
    StepStarted,
    Todo,
    TodosChanged,
    TurnEnded,
    TurnStarted,
    WorkHalted,
)
from assent.core.session.record import SessionRecord, add_usage, fold_session

STARTED = SessionStarted("s", "w", "slug", "plan", "A goal")
FIRST = SessionRecord("s", "w", "slug", "plan", "t1", "t1", 1, "A goal")


def message(agent: str = "plan", synthetic: str = "", model: str = "") -> MessageAdded:
    return MessageAdded("1", agent, (TextPart("words"),), synthetic, model)


def folded(
    events: Sequence[SessionEvent], record: SessionRecord | None = None
) -> SessionRecord | None:
    after = record.seq if record else 0
    for seq, event in enumerate(events, after + 1):
        record = fold_session(record, event, seq, f"t{seq}")
    return record


@pytest.mark.parametrize(
    ("event", "changes"),
    [
        (message(), {"agent": "plan", "messages": 1, "waiting": True}),
        (message("build", "mode", "x/y"), {"agent": "build", "model": "x/y", "waiting": True}),
        (ModeChanged("yolo"), {"mode": "yolo"}),
        (PlanLinked("p", 3, 4), {"plan_id": "p", "plan_seq": 3, "home_seq": 4}),
        (TodosChanged((Todo("one"),)), {"todos": (Todo("one"),)}),
        (SessionRenamed("Title"), {"title": "Title"}),
        (SessionDeleted(), {"deleted": True}),
        (TurnStarted(1), {"turns": 1, "working": True}),
        (StepStarted(1, "plan", "m", "plan"), {"steps": 1}),
        (
            StepEnded(StopReason.END, TokenUsage(3, 1), 0.5),
            {"usage": TokenUsage(3, 1), "cost": 0.5},
        ),
        (StepEnded(StopReason.END, TokenUsage(3, 1)), {"usage": TokenUsage(3, 1), "cost": None}),
        (
            Compacted("s", 1, TokenUsage(2), 0.25),
            {"usage": TokenUsage(2), "cost": 0.25, "compactions": 1},
        ),
        (CompactionRejected(1, 2, TokenUsage(2), 0.25), {"usage": TokenUsage(2), "cost": 0.25}),
        (CritiqueStarted("p", "d", "m"), {}),
        (
            CritiqueEnded("p", "d", "m", 1, usage=TokenUsage(2), cost=0.25),
            {"usage": TokenUsage(2), "cost": 0.25},
        ),
        (CritiqueEnded("p", "d", "m", words="Not asked."), {}),
        (ResultsPruned(1, 2, 3), {}),
        (TurnEnded("end"), {"ended": "end"}),
        (QuestionAsked("q", "c", ()), {"questions": ("q",)}),
        (ChildStarted("c", "s2", "explore", "Look"), {"children": 1}),
        (WorkHalted("paused"), {"halt": "paused"}),
        (ModeChanged("ask", custom="docs"), {"mode": "ask", "custom": "docs"}),
        (CallEnded("c", "read", ToolResult("c", "")), {}),
    ],
)
def test_what_an_event_changes(event: SessionEvent, changes: dict[str, object]) -> None:
    wanted = msgspec.structs.replace(FIRST, seq=2, updated_at="t2", **changes)
    assert folded([STARTED, event]) == wanted


def test_the_newest_message_decides_the_agent_and_the_last_model_stays() -> None:
    record = folded([STARTED, message("plan", model="x/y"), message("explore")])
    assert record is not None
    assert (record.agent, record.model) == ("explore", "x/y")


def test_a_step_reads_what_was_said() -> None:
    record = folded([STARTED, message(), StepStarted(1, "plan", "m", "plan")])
    assert record is not None
    assert not record.waiting


@pytest.mark.parametrize("mode", MODES)
def test_only_plan_mode_has_the_plan_agent(mode: Mode) -> None:
    assert default_agent(mode) == ("plan" if mode == "plan" else "build")


USAGES = st.builds(TokenUsage, *[st.integers(0, 100)] * 5)
EVENTS: st.SearchStrategy[SessionEvent] = st.one_of(
    st.builds(message, st.sampled_from(["plan", "build"]), st.sampled_from(["", "mode"])),
    st.builds(ModeChanged, st.sampled_from(MODES)),
    st.builds(PlanLinked, st.sampled_from(["", "p"]), st.integers(0, 9), st.integers(0, 9)),
    st.builds(lambda words: TodosChanged((Todo(words),)), st.text(max_size=3)),
    st.builds(TurnStarted, st.integers(1, 9)),
    st.builds(StepEnded, st.just(StopReason.END), USAGES, st.none() | st.floats(0, 1)),
    st.just(TurnEnded("end")),
)


@given(st.lists(EVENTS, max_size=20), st.integers(0, 20))
def test_where_a_stream_is_cut_makes_no_difference(events: list[SessionEvent], cut: int) -> None:
    stream = [STARTED, *events]
    head = folded(stream[: cut + 1])
    assert head is not None
    kept = msgspec.json.decode(msgspec.json.encode(head), type=SessionRecord)
    assert folded(stream[cut + 1 :], kept) == folded(stream)


@given(USAGES, USAGES)
def test_tokens_add_up(one: TokenUsage, other: TokenUsage) -> None:
    assert add_usage(one, other) == add_usage(other, one)
    assert add_usage(one, TokenUsage()) == one
