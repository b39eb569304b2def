"""The loop asks, settles and repeats, and whatever ends it, the session says so."""

import re

import pytest
from tests.support.model import PRICES, Spoken, drive, driver, fails, says

from assent.agent.loop.budget import BudgetLimits
from assent.agent.loop.loop import (
    ANSWER_CUT_OFF,
    CONTINUE_COMMAND,
    KEPT_STAGED,
    NO_TOOLS_IN_LAST_STEP,
    RESUME_COMMAND,
    AgentLoop,
)
from assent.agent.loop.step import CALL_ABORTED
from assent.core.errors import Interrupted, ModelError, Unavailable, UsageError
from assent.core.event import StoredEvent
from assent.core.llm import (
    ChatMessage,
    PartCompleted,
    ReasoningPart,
    RequestRetried,
    StopReason,
    StreamDelta,
    StreamEnded,
    StreamPaused,
    TextPart,
    TokenUsage,
    ToolCall,
    ToolResult,
)
from assent.core.session.agent import Agent, PromptContext
from assent.core.session.event import (
    INTERRUPTED_PLANNING,
    CallEnded,
    CallStarted,
    MessageAdded,
    PartSaid,
    StepEnded,
    StepRetried,
    StepStarted,
    TurnEnded,
)
from assent.ports import OpenedModel
from assent.testing.memory_turn import MemoryTurn

READ = ToolCall("c1", "read", {"path": "a"})
TOOLS = {"read": lambda args: f"content of {args['path']}", "present": lambda args: "Presented."}


def test_f124_everything_said_is_an_event_in_order_and_pieces_are_shown_live() -> None:
    turn = MemoryTurn(tools=TOOLS)
    model = Spoken(
        [StreamDelta("text", "I "), *says(ReasoningPart("Hm."), "I look.", READ)],
        says("It is there."),
    )
    before = len(turn.events)
    shown = drive(driver(model), turn)
    assert [each if isinstance(each, StreamDelta) else each.event for each in shown] == [
        StepStarted(1, "plan", "test/model", "plan"),
        StreamDelta("text", "I "),
        PartSaid(ReasoningPart("Hm.")),
        PartSaid(TextPart("I look.")),
        PartSaid(READ),
        StepEnded(StopReason.CALLS),
        CallStarted("c1", "read"),
        CallEnded("c1", "read", ToolResult("c1", "content of a")),
        StepStarted(2, "plan", "test/model", "plan"),
        PartSaid(TextPart("It is there.")),
        StepEnded(StopReason.END),
        TurnEnded("end"),
    ]
    stored = [each.event for each in shown if isinstance(each, StoredEvent)]
    assert stored == turn.events[before:]
    assert [prompt.turn for prompt in model.asked] == [1, 2]
    assert model.asked[1].messages[1:] == (
        ChatMessage("assistant", (ReasoningPart("Hm."), TextPart("I look."), READ), "test/model"),
        ChatMessage("user", (ToolResult("c1", "content of a"),)),
    )


def test_the_same_message_is_the_same_object_in_every_request() -> None:
    turn = MemoryTurn(tools=TOOLS)
    model = Spoken(says(READ), says(ToolCall("c2", "read", {"path": "b"})), says("Done."))
    drive(driver(model), turn)
    first, second, third = [prompt.messages for prompt in model.asked]
    assert [id(m) for m in second[: len(first)]] == [id(m) for m in first]
    assert [id(m) for m in third[: len(second)]] == [id(m) for m in second]


def test_a_call_that_ends_the_turn() -> None:
    turn = MemoryTurn(tools=TOOLS)
    turn.ends = {"present"}
    drive(driver(Spoken(says(ToolCall("c1", "present", {})))), turn)
    assert turn.events[-1] == TurnEnded("presented")


def test_what_others_said_is_heard_before_each_step() -> None:
    turn = MemoryTurn(tools=TOOLS)
    turn.news = [MessageAdded("n1", "plan", (TextPart("Rejected."),), "rejected")]
    model = Spoken(says("Well."))
    drive(driver(model), turn)
    assert model.asked[0].messages[-1].parts == (TextPart("Rejected."), TextPart("Hello"))


def test_f10_the_newest_message_decides_agent_model_and_temperature() -> None:
    agents = {"poet": Agent("poet", prompt="Rhyme.", model="other/m", temperature=0.5)}
    turn = MemoryTurn(tools=TOOLS, agents=agents)
    turn.say("Sing.", agent="poet")
    model, named = Spoken(says("La.")), list[str]()

    def opener(name: str) -> OpenedModel:
        named.append(name)
        return OpenedModel(model, name)

    drive(AgentLoop(opener, PromptContext()), turn)
    assert named == ["other/m"]
    assert (model.asked[0].temperature, "Rhyme." in model.asked[0].system) == (0.5, True)


def test_f112_a_retry_is_an_event_and_voids_what_was_said() -> None:
    turn = MemoryTurn(tools=TOOLS)
    model = Spoken(
        [
            PartCompleted(TextPart("Ha")),
            PartCompleted(READ),
            RequestRetried(1, 2.0, "Busy."),
            *says("Hello."),
        ]
    )
    drive(driver(model), turn)
    assert StepRetried(1, 2.0, "Busy.") in turn.events
    assert turn.messages[-1] == ChatMessage("assistant", (TextPart("Hello."),), "test/model")
    assert not [event for event in turn.events if isinstance(event, CallStarted)]


@pytest.mark.parametrize("by", ["agent", "limits"])
def test_f109_the_last_step_has_no_tools_and_must_sum_up(by: str) -> None:
    agents = {"plan": Agent("plan", steps=2)} if by == "agent" else {}
    limits = BudgetLimits(max_turns=2) if by == "limits" else None
    turn = MemoryTurn(tools=TOOLS, agents=agents)
    model = Spoken(says(READ), says("In sum.", ToolCall("c9", "read", {"path": "b"})))
    drive(driver(model, limits), turn)
    first, last = model.asked
    assert [offer.name for offer in first.tools] == ["read", "present"]
    assert last.tools == ()
    assert "last step" in last.messages[-1].parts[0].text  # type: ignore[union-attr]
    assert turn.events[-2:] == [
        CallEnded("c9", "read", ToolResult("c9", NO_TOOLS_IN_LAST_STEP, failed=True)),
        TurnEnded("limit", f"The turn reached its limit of 2 steps. {KEPT_STAGED}"),
    ]


def test_f126_tokens_and_cost_are_kept_for_each_step() -> None:
    turn = MemoryTurn(tools=TOOLS)
    model = Spoken(says(READ, usage=TokenUsage(2, 1)), says("Done.", usage=TokenUsage(4, 1, 1)))
    drive(driver(model, prices=PRICES), turn)
    ended = [event for event in turn.events if isinstance(event, StepEnded)]
    assert [(step.usage, step.cost) for step in ended] == [
        (TokenUsage(2, 1), 4.0),
        (TokenUsage(4, 1, 1), 5.0),
    ]
    assert (turn.record.usage, turn.record.cost) == (TokenUsage(6, 2, 1), 9.0)


def test_f126_a_cost_that_is_not_known_is_none() -> None:
    turn = MemoryTurn()
    drive(driver(Spoken(says("Done.", usage=TokenUsage(2, 1)))), turn)
    assert turn.record.cost is None


def test_a_budget_is_checked_before_each_request_over_all_turns() -> None:
    turn = MemoryTurn(tools=TOOLS)
    model = Spoken(says(READ, usage=TokenUsage(2, 1)), says("More."))
    it = driver(model, BudgetLimits(max_budget=4.0), prices=PRICES)
    drive(it, turn)
    assert len(model.asked) == 1
    ended = TurnEnded("budget", f"The budget of $4.00 is used up ($4.0000 so far). {KEPT_STAGED}")
    assert turn.events[-1] == ended
    turn.begin("Go on")
    drive(it, turn)
    assert (len(model.asked), turn.events[-1]) == (1, ended)


def test_a_budget_also_ends_where_nobody_counts_tokens() -> None:
    turn = MemoryTurn(tools=TOOLS)
    it = driver(Spoken(says(READ)), BudgetLimits(max_budget=0.5), prices=PRICES)
    drive(it, turn)
    assert isinstance(turn.events[-1], TurnEnded)
    assert turn.events[-1].why == "budget"


def test_a_budget_without_prices_is_refused_before_anything_is_asked() -> None:
    turn, model = MemoryTurn(), Spoken()
    error = fails(driver(model, BudgetLimits(max_budget=1.0)), turn)
    assert isinstance(error, UsageError)
    assert error.message.startswith("Prices for test/model are unknown")
    assert (model.asked, turn.events[-1]) == ([], TurnEnded("failed", error.message))


def test_a_refusal_is_told_and_fails() -> None:
    turn = MemoryTurn(tools=TOOLS)
    model = Spoken([PartCompleted(READ), StreamEnded(StopReason.REFUSED, words="Not this.")])
    error = fails(driver(model), turn)
    assert error.message == f"test/model refused to answer: Not this. {KEPT_STAGED}"
    assert turn.events[-1] == TurnEnded("failed", "test/model refused to answer: Not this.")
    assert not [event for event in turn.events if isinstance(event, CallStarted)]


def test_an_answer_that_is_too_long_is_told() -> None:
    turn = MemoryTurn()
    drive(driver(Spoken(says("Once upon", stop=StopReason.LENGTH))), turn)
    words = f"The answer of test/model was cut off at the output limit. {KEPT_STAGED}"
    assert turn.events[-1] == TurnEnded("limit", words)


def test_calls_of_an_answer_that_is_too_long_are_not_carried_out() -> None:
    turn = MemoryTurn(tools=TOOLS)
    model = Spoken(says(READ, stop=StopReason.LENGTH), says("Smaller, then."))
    drive(driver(model), turn)
    assert model.asked[1].messages[-1].parts == (ToolResult("c1", ANSWER_CUT_OFF, failed=True),)
    assert turn.events[-1] == TurnEnded("end")


def test_an_answer_that_is_too_long_again_and_again_ends_the_turn() -> None:
    turn = MemoryTurn(tools=TOOLS)
    model = Spoken(*[says(READ, stop=StopReason.LENGTH)] * 3)
    drive(driver(model), turn)
    assert (len(model.asked), turn.record.working) == (3, False)


@pytest.mark.parametrize("stroke", [KeyboardInterrupt(), Interrupted("Cut.")])
def test_f113_an_interrupted_answer_leaves_a_valid_history(stroke: BaseException) -> None:
    turn = MemoryTurn(tools=TOOLS)
    model = Spoken(
        [PartCompleted(TextPart("I look.")), PartCompleted(READ), stroke], says("Again.")
    )
    it = driver(model)
    error = fails(it, turn)
    assert (type(error), error.message, error.next) == (
        Interrupted,
        INTERRUPTED_PLANNING,
        RESUME_COMMAND,
    )
    assert turn.events[-2:] == [
        CallEnded("c1", "read", ToolResult("c1", CALL_ABORTED, failed=True)),
        TurnEnded("interrupted", INTERRUPTED_PLANNING),
    ]
    turn.begin("Go on")
    drive(it, turn)
    assert model.asked[1].messages[1:] == (
        ChatMessage("assistant", (TextPart("I look."), READ), "test/model"),
        ChatMessage("user", (ToolResult("c1", CALL_ABORTED, failed=True),)),
        ChatMessage("user", (TextPart("Go on"),)),
    )
    assert model.closed == 2


def test_f113_a_listener_who_goes_away_interrupts() -> None:
    turn, model = MemoryTurn(tools=TOOLS), Spoken(says("I look.", READ), says("Never."))
    going = driver(model).drive(turn)
    while not isinstance(getattr(next(going), "event", None), CallStarted):
        pass
    going.close()  # type: ignore[attr-defined]
    assert turn.events[-1] == TurnEnded("interrupted", INTERRUPTED_PLANNING)
    assert (turn.record.working, len(model.asked)) == (False, 1)


def test_f113_calls_that_had_not_begun_are_told_so() -> None:
    turn = MemoryTurn(tools=TOOLS)
    answer = [
        PartCompleted(TextPart("I look.")),
        PartCompleted(READ),
        StreamPaused(),
        StreamEnded(StopReason.CALLS),
    ]
    going = driver(Spoken(answer)).drive(turn)
    while getattr(next(going), "event", None) != PartSaid(READ):
        pass
    going.close()  # type: ignore[attr-defined]
    assert turn.events[-3:] == [
        StepEnded(StopReason.END, words="The user interrupted the answer."),
        CallEnded("c1", "read", ToolResult("c1", CALL_ABORTED, failed=True)),
        TurnEnded("interrupted", INTERRUPTED_PLANNING),
    ]


def test_what_was_said_is_durable_before_more_is_waited_for() -> None:
    """At most the part that is being streamed is lost, whenever the process dies."""
    turn = MemoryTurn(tools=TOOLS)
    parts = [
        PartCompleted(TextPart("One.")),
        PartCompleted(TextPart("Two.")),
        StreamPaused(),
        StreamDelta("text", "Thr"),
    ]
    going = driver(
        Spoken([*parts, PartCompleted(TextPart("Three.")), StreamEnded(StopReason.END)])
    ).drive(turn)
    while next(going) != StreamDelta("text", "Thr"):
        pass
    assert turn.events[-2:] == [PartSaid(TextPart("One.")), PartSaid(TextPart("Two."))]


def test_a_failure_says_what_was_kept_and_voids_half_an_answer() -> None:
    turn = MemoryTurn(tools=TOOLS)
    model = Spoken(
        [PartCompleted(TextPart("Half")), PartCompleted(READ), Unavailable("It is down.")]
    )
    error = fails(driver(model), turn)
    assert (type(error), error.message) == (Unavailable, f"It is down. {KEPT_STAGED}")
    assert error.next == CONTINUE_COMMAND
    assert turn.events[-2:] == [
        StepRetried(1, 0.0, "It is down."),
        TurnEnded("failed", "It is down."),
    ]
    assert turn.messages == (ChatMessage("user", (TextPart("Hello"),)),)


def test_a_failure_keeps_the_advice_that_it_came_with() -> None:
    error = fails(driver(Spoken([ModelError("No key.", "export KEY=...")])), MemoryTurn())
    assert error.next == "export KEY=..."


def test_an_answer_without_an_end_is_a_failure() -> None:
    error = fails(driver(Spoken([PartCompleted(TextPart("Half"))])), MemoryTurn())
    assert error.message == f"The response ended early. {KEPT_STAGED}"


def test_odd_names_and_ids_of_calls_are_mended_before_they_are_sent_back() -> None:
    odd = [
        ToolCall("c1", "read", {"path": "a"}),
        ToolCall("c1", "read", {"path": "b"}),
        ToolCall("", "", {}),
        ToolCall("x" * 140, "no such\x1b[31m tool" * 900, {}),
    ]
    turn, model = MemoryTurn(tools=TOOLS), Spoken(says(*odd), says("Done."))
    drive(driver(model), turn)
    calls = [part for part in model.asked[1].messages[1].parts if isinstance(part, ToolCall)]
    results = [part for part in model.asked[1].messages[2].parts if isinstance(part, ToolResult)]
    assert [call.id for call in calls] == ["c1", "call_1_2", "call_1_3", "call_1_4"]
    assert [result.call for result in results] == [call.id for call in calls]
    assert [call.tool for call in calls[:3]] == ["read", "read", "_"]
    assert re.fullmatch(r"[A-Za-z0-9_-]{64}", calls[3].tool)


def test_f113_outside_plan_mode_nothing_was_staged_and_assent_c_goes_on() -> None:
    turn = MemoryTurn(tools=TOOLS, mode="ask")
    error = fails(driver(Spoken([PartCompleted(TextPart("I look.")), KeyboardInterrupt()])), turn)
    words = "You interrupted the turn. Messages and changes so far are kept."
    assert (error.message, error.next) == (words, "assent -c")
    assert turn.events[-1] == TurnEnded("interrupted", words)
