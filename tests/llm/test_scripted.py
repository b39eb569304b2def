"""The scripted model answers by its file, also when a process ended in between."""

import re
from pathlib import Path
from typing import get_args

import msgspec
import pytest
from tests.llm.http_models import parts, retrying, shown
from tests.llm.server import FAULTS

from assent.core.errors import ModelError, UsageError
from assent.core.llm import (
    ChatMessage,
    ModelRequest,
    ReasoningPart,
    RequestRetried,
    StopReason,
    StreamEnded,
    TextPart,
    TokenUsage,
    ToolCall,
    ToolResult,
)
from assent.llm.scripted import ModelScript, ScriptedFault, ScriptedModel, read_script

DOCS = Path(__file__).parents[2] / "docs" / "models.md"
SCRIPT = {
    "turns": [
        {"text": "First.", "reasoning": "Hm.", "calls": [{"tool": "read", "args": {"a": 1}}]},
        {"text": "Second."},
    ],
    "children": {"explore": [{"text": "Explored."}]},
}


def script(content: object) -> ModelScript:
    return msgspec.json.decode(msgspec.json.encode(content), type=ModelScript)


def after(turns: int, **more: object) -> ModelRequest:
    """The prompt of a session that has had some answers."""
    said = (
        ChatMessage("user", (TextPart("Go on"),)),
        ChatMessage("assistant", (TextPart("Done"),)),
    )
    history = (*said * turns, ChatMessage("user", (TextPart("Go on"),)))
    return msgspec.structs.replace(ModelRequest((), history), **more)


def test_a_turn_answers_the_request_with_its_number() -> None:
    model = ScriptedModel(script(SCRIPT), "scripted:x")
    first = list(model.stream(after(0)))
    call = ToolCall("call_main_1_1", "read", {"a": 1})
    assert parts(first) == [ReasoningPart("Hm."), TextPart("First."), call]
    assert first[-1] == StreamEnded(StopReason.CALLS, TokenUsage(1, 4))
    assert (shown(first), shown(first, "reasoning")) == ("First.", "Hm.")
    assert shown(first, "call") == '{"a":1}'
    again = ScriptedModel(script(SCRIPT), "scripted:x")  # another process
    assert parts(list(again.stream(after(1)))) == [TextPart("Second.")]
    assert parts(list(again.stream(after(0)))) == parts(first)


def test_a_number_that_is_given_counts() -> None:
    model = ScriptedModel(script(SCRIPT), "scripted:x")
    assert parts(list(model.stream(after(0, turn=2)))) == [TextPart("Second.")]


def test_titles_and_summaries_take_no_turn() -> None:
    model = ScriptedModel(script(SCRIPT), "scripted:x")
    assert parts(list(model.stream(after(1, kind="title")))) == [TextPart("Go on Go on")]
    assert parts(list(model.stream(after(1, kind="compact")))) == [TextPart("Summary: Go on Go on")]
    assert parts(list(model.stream(after(1)))) == [TextPart("Second.")]


def test_children_have_turns_of_their_own() -> None:
    model = ScriptedModel(script(SCRIPT), "scripted:x")
    assert parts(list(model.stream(after(0, kind="explore")))) == [TextPart("Explored.")]
    with pytest.raises(ModelError, match="0 turns for other, but turn 1 was requested"):
        list(model.stream(after(0, kind="other")))


def test_past_the_end_is_an_error() -> None:
    with pytest.raises(ModelError, match="has 2 turns, but turn 3 was requested") as caught:
        list(ScriptedModel(script(SCRIPT), "scripted:x").stream(after(2)))
    assert (caught.value.exit, type(caught.value)) == (1, ModelError)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_happens_once_and_says_nothing_twice(fault: str) -> None:
    turns = [{"text": "One two three.", "calls": [{"tool": "read"}], "fault": fault}]
    waits: list[float] = []
    answers = list(
        retrying(ScriptedModel(script({"turns": turns}), "scripted:x"), waits).stream(after(0))
    )
    assert parts(answers) == [TextPart("One two three."), ToolCall("call_main_1_1", "read", {})]
    assert waits == ([] if fault == "drip" else [1.0 if fault == "rate_limit_after" else 2.0])
    assert len([a for a in answers if isinstance(a, RequestRetried)]) == len(waits)


def test_the_faults_have_the_names_of_the_documentation() -> None:
    section = DOCS.read_text(encoding="utf-8").partition("## Faults")[2].partition("\n## ")[0]
    named = re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)
    assert sorted(named) == sorted(FAULTS) == sorted(get_args(ScriptedFault))


def test_an_answer_to_a_question_leads_to_another_turn() -> None:
    model = ScriptedModel(script(SCRIPT | {"answers": {"Keep it": {2: {"text": "Kept."}}}}), "x")

    def said(result: str, number: int) -> list[object]:
        history = (*after(number - 1).messages, ChatMessage("user", (ToolResult("c", result),)))
        request = msgspec.structs.replace(after(0), messages=history)
        return [*parts(list(model.stream(request)))]

    assert said('{"answers":["Keep it"]}', 2) == [TextPart("Kept.")]
    assert said('{"answers":["Delete it"]}', 2) == [TextPart("Second.")]
    assert said('{"answers":["Keep it"]}', 1)[1] == TextPart("First.")


BAD = {
    "no JSON": b"{",
    "an unknown member": b'{"turns": [{"txt": "x"}]}',
    "an unknown fault": b'{"turns": [{"fault": "flood"}]}',
    "a list": b"[]",
}


@pytest.mark.parametrize("content", BAD.values(), ids=BAD)
def test_a_script_that_makes_no_sense(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "s.json"
    path.write_bytes(content)
    with pytest.raises(UsageError, match=r"The script scripted:s\.json cannot be used: "):
        read_script(path, "scripted:s.json")


def test_a_script_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file"):
        read_script(tmp_path / "s.json", "scripted:s.json")
