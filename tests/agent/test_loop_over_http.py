"""The loop with real wires over loopback, and with the scripted model."""

import msgspec
import pytest
from tests.llm.http_models import CLIENTS, NAMES, client, model, retrying
from tests.llm.server import FAULTS, Heard, Server, Turn, serving
from tests.llm.wire_responses import Reply

from assent.agent.loop.budget import BudgetLimits
from assent.agent.loop.loop import CONTINUE_COMMAND, KEPT_STAGED, AgentLoop
from assent.core.errors import ModelError
from assent.core.llm import TextPart, ToolResult
from assent.core.session.agent import PromptContext
from assent.core.session.event import CallStarted, StepEnded, StepRetried, TurnEnded
from assent.llm.scripted import ModelScript, ScriptedModel
from assent.ports import Model, OpenedModel
from assent.testing.memory_turn import MemoryTurn

LOOK = Reply("I look.", "Let me think.", (("call_1", "read", '{"path": "a"}'),))
TOOLS = {"read": lambda args: f"content of {args['path']}"}
STEPS = 50


def drive(asked: Model, turn: MemoryTurn, limits: BudgetLimits | None = None) -> None:
    opened = OpenedModel(asked, "test/model-1")
    try:
        list(AgentLoop(lambda name: opened, PromptContext(), limits).drive(turn))
    finally:
        while CLIENTS:
            CLIENTS.pop().close()


def heard(server: Server) -> list[Heard]:
    return [each for each in server.heard if not each.line.startswith("GET")]


@pytest.mark.parametrize("wire", NAMES)
@pytest.mark.parametrize("fault", [fault for fault in FAULTS if fault != "stall"])
def test_f112_no_fault_doubles_a_call_or_a_text(wire: str, fault: str) -> None:
    turn = MemoryTurn(tools=TOOLS)
    with serving(Turn(LOOK, fault), Turn(LOOK), Turn(Reply("Done."))) as server:
        if fault == "drip":  # is no fault after all
            server._turns.pop(1)
        drive(retrying(model(server, wire), []), turn)
    assert [type(e) for e in turn.events].count(CallStarted) == 1
    texts = [p.text for m in turn.messages[1:] for p in m.parts if isinstance(p, TextPart)]
    assert texts == ["I look.", "Done."]
    assert [type(e) for e in turn.events].count(StepRetried) == (0 if fault == "drip" else 1)
    assert turn.events[-1] == TurnEnded("end")


@pytest.mark.parametrize("wire", NAMES)
def test_f126_usage_is_what_the_provider_counted(wire: str) -> None:
    turn = MemoryTurn(tools=TOOLS)
    with serving(Turn(LOOK), Turn(Reply("Done."))) as server:
        drive(model(server, wire), turn)
    ended = [event for event in turn.events if isinstance(event, StepEnded)]
    assert [step.usage.input > 0 < step.usage.output for step in ended] == [True, True]


@pytest.mark.parametrize("wire", NAMES)
def test_f109_the_last_request_offers_no_tool(wire: str) -> None:
    turn = MemoryTurn(tools=TOOLS)
    with serving(Turn(LOOK), Turn(Reply("In sum."))) as server:
        drive(model(server, wire), turn, BudgetLimits(max_turns=2))
        first, last = [each.json for each in heard(server)]
    assert "read" in msgspec.json.encode(first["tools"]).decode()
    if wire == "anthropic":  # whose server wants tools to be named where some were used
        assert ([tool["name"] for tool in last["tools"]], last["tool_choice"]) == (
            ["none"],
            {"type": "none"},
        )
    else:
        assert "tools" not in last


def test_the_scripted_model_answers_each_step_with_its_turn() -> None:
    turns = [{"text": "One.", "calls": [{"tool": "read", "args": {"path": "a"}}]}, {"text": "Two."}]
    script = msgspec.convert({"turns": turns}, ModelScript)
    turn = MemoryTurn(tools=TOOLS)
    drive(ScriptedModel(script, "scripted:x"), turn)
    assert turn.messages[2].parts == (ToolResult("call_main_1_1", "content of a"),)
    assert turn.record.steps == 2
    turn.begin("And now?")
    with pytest.raises(ModelError) as caught:
        drive(ScriptedModel(script, "scripted:x"), turn)
    assert caught.value.message == (
        f"scripted:x has 2 turns, but turn 3 was requested. {KEPT_STAGED}"
    )
    assert caught.value.next != CONTINUE_COMMAND


def test_a_long_turn_keeps_one_connection_and_sends_each_message_once_more() -> None:
    turn = MemoryTurn(tools=TOOLS)
    replies = [Reply("", "", ((f"call_{n}", "read", '{"path": "a"}'),)) for n in range(STEPS)]
    with serving(*map(Turn, replies), Turn(Reply("Done."))) as server:
        drive(model(server, "chat", client()), turn)
        asked = heard(server)
    assert {each.connection for each in asked} == {1}
    assert len(asked) == STEPS + 1
    assert len(asked[-1].json["messages"]) == 2 + 2 * STEPS
