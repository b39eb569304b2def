"""What each wire really sends for a conversation, and what it makes of an answer."""

from typing import Any

import msgspec
import pytest
from tests.llm.http_models import HELLO, KEY, NAMES, model, parts, wire
from tests.llm.server import Turn, serving
from tests.llm.wire_responses import Reply

from assent.core.llm import (
    ChatMessage,
    ImagePart,
    ModelRequest,
    ReasoningPart,
    StopReason,
    StreamEnded,
    TextPart,
    TokenUsage,
    ToolCall,
    ToolDefinition,
    ToolResult,
)
from assent.llm.wires.wire import WireTarget

READ = ToolDefinition("read", "Reads a file.", {"type": "object", "properties": {}})
PICTURE = ImagePart("image/png", b"\x89PNG")
URL = "data:image/png;base64,iVBORw=="
SELF, OTHER = "test/model-1", "other/model"

CALLS = (ToolCall("c1", "read", {"path": "a"}), ToolCall("c2", "read", None, "{broken"))
RESULTS = (ToolResult("c1", "found", images=(PICTURE,)), ToolResult("c2", "not JSON", failed=True))
THOUGHTS = {
    "anthropic": ReasoningPart("hm", {"signature": "signed"}),
    "chat": ReasoningPart("hm", {"field": "reasoning_content"}),
    "responses": ReasoningPart("hm", {"id": "rs_1", "encrypted_content": "sealed"}),
}


def talk(name: str, who: str = SELF) -> ModelRequest:
    """A conversation with everything in it."""
    return ModelRequest(
        ("Base.", "Project."),
        (
            ChatMessage("user", (TextPart("Look"), PICTURE)),
            ChatMessage("assistant", (THOUGHTS[name], TextPart("I look."), *CALLS), who),
            ChatMessage("user", (*RESULTS, TextPart("Go on"))),
        ),
        (READ,),
        output=99,
    )


def sent(name: str, prompt: ModelRequest, asked: WireTarget | None = None) -> dict[str, Any]:
    return msgspec.json.decode(b"".join(wire(name, asked).body(prompt)), type=dict[str, Any])


MARK = {"cache_control": {"type": "ephemeral"}}
IMAGE = {
    "type": "image",
    "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw=="},
}
ANTHROPIC = {
    "model": "model-1",
    "max_tokens": 99,
    "stream": True,
    "tools": [{"name": "read", "description": "Reads a file.", "input_schema": READ.schema}],
    "system": [
        {"type": "text", "text": "Base.", **MARK},
        {"type": "text", "text": "Project.", **MARK},
    ],
    "messages": [
        {"role": "user", "content": [{"type": "text", "text": "Look"}, {**IMAGE, **MARK}]},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "signed"},
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "c1", "name": "read", "input": {"path": "a"}},
                {"type": "tool_use", "id": "c2", "name": "read", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "c1",
                    "content": [{"type": "text", "text": "found"}, IMAGE],
                },
                {
                    "type": "tool_result",
                    "tool_use_id": "c2",
                    "content": "not JSON",
                    "is_error": True,
                },
                {"type": "text", "text": "Go on", **MARK},
            ],
        },
    ],
}
FUNCTION = {"name": "read", "description": "Reads a file.", "parameters": READ.schema}
CHAT = {
    "model": "model-1",
    "stream": True,
    "stream_options": {"include_usage": True},
    "max_tokens": 99,
    "messages": [
        {"role": "system", "content": "Base.\n\nProject."},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "Look"},
                {"type": "image_url", "image_url": {"url": URL}},
            ],
        },
        {
            "role": "assistant",
            "content": "I look.",
            "tool_calls": [
                {
                    "id": "c1",
                    "type": "function",
                    "function": {"name": "read", "arguments": '{"path":"a"}'},
                },
                {"id": "c2", "type": "function", "function": {"name": "read", "arguments": "{}"}},
            ],
            "reasoning_content": "hm",
        },
        {"role": "tool", "tool_call_id": "c1", "content": "found"},
        {"role": "tool", "tool_call_id": "c2", "content": "not JSON"},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "Go on"},
                {"type": "text", "text": "(image returned by the tool)"},
                {"type": "image_url", "image_url": {"url": URL}},
            ],
        },
    ],
    "tools": [{"type": "function", "function": FUNCTION}],
}
SHOWN = {"type": "input_image", "image_url": URL}
RESPONSES = {
    "model": "model-1",
    "stream": True,
    "store": False,
    "max_output_tokens": 99,
    "include": ["reasoning.encrypted_content"],
    "instructions": "Base.\n\nProject.",
    "tools": [{"type": "function", **FUNCTION, "strict": False}],
    "input": [
        {"role": "user", "content": [{"type": "input_text", "text": "Look"}, SHOWN]},
        {"type": "reasoning", "summary": [], "id": "rs_1", "encrypted_content": "sealed"},
        {"role": "assistant", "content": [{"type": "output_text", "text": "I look."}]},
        {"type": "function_call", "call_id": "c1", "name": "read", "arguments": '{"path":"a"}'},
        {"type": "function_call", "call_id": "c2", "name": "read", "arguments": "{}"},
        {
            "type": "function_call_output",
            "call_id": "c1",
            "output": [{"type": "input_text", "text": "found"}, SHOWN],
        },
        {"type": "function_call_output", "call_id": "c2", "output": "not JSON"},
        {"role": "user", "content": [{"type": "input_text", "text": "Go on"}]},
    ],
}
BODIES = {"anthropic": ANTHROPIC, "chat": CHAT, "responses": RESPONSES}


@pytest.mark.parametrize("name", NAMES)
def test_a_conversation_as_it_is_sent(name: str) -> None:
    assert sent(name, talk(name)) == BODIES[name]


@pytest.mark.parametrize("name", NAMES)
def test_thoughts_of_another_model_are_not_sent(name: str) -> None:
    text = msgspec.json.encode(sent(name, talk(name, OTHER))).decode()
    assert not any(word in text for word in ("hm", "signed", "sealed"))
    assert "I look." in text


@pytest.mark.parametrize("name", NAMES)
def test_options_of_the_configuration_join_the_body(name: str) -> None:
    asked = WireTarget("test", "model-1", options={"temperature": 0.5, "model": "not this"})
    body = sent(name, HELLO, asked)
    assert (body["temperature"], body["model"]) == (0.5, "model-1")


@pytest.mark.parametrize("name", NAMES)
def test_f10_the_temperature_of_an_agent_is_sent_except_to_models_that_reason(name: str) -> None:
    warm = ModelRequest((), HELLO.messages, temperature=0.0)
    options = {"temperature": 0.5}
    assert sent(name, warm, WireTarget("test", "m", options=options))["temperature"] == 0.0
    assert "temperature" not in sent(name, warm, WireTarget("test", "m", reasons=True))
    assert "temperature" not in sent(name, HELLO, WireTarget("test", "m"))


def test_anthropic_names_a_tool_where_tools_were_used_and_none_is_allowed() -> None:
    used = (*HELLO.messages, ChatMessage("assistant", (ToolCall("c1", "read", {}),), SELF))
    body = sent("anthropic", ModelRequest(("Base.",), used))
    assert ([tool["name"] for tool in body["tools"]], body["tool_choice"]) == (
        ["none"],
        {"type": "none"},
    )
    assert "tools" not in sent("anthropic", HELLO)


@pytest.mark.parametrize(("known", "wanted"), [(0, 16_000), (8_192, 8_192), (128_000, 32_000)])
def test_anthropic_always_names_a_limit(known: int, wanted: int) -> None:
    assert sent("anthropic", HELLO, WireTarget("test", "m", known))["max_tokens"] == wanted


def test_anthropic_marks_the_tools_where_there_is_no_system_prompt() -> None:
    body = sent("anthropic", ModelRequest((), HELLO.messages, (READ,)))
    assert body["tools"][-1].keys() == {"name", "description", "input_schema", "cache_control"}
    assert "system" not in body


def test_anthropic_never_has_more_marks_than_it_allows() -> None:
    turns = tuple(ChatMessage("user", (TextPart(str(n)),)) for n in range(9))
    body = wire("anthropic").body(ModelRequest(("a", "b", "c"), turns, (READ,)))
    assert b"".join(body).count(b"cache_control") == 4


def test_anthropic_gets_sealed_thoughts_and_harmless_ids() -> None:
    said = (
        ReasoningPart("", {"redacted": "sealed"}),
        ReasoningPart("lost"),
        ToolCall("a|b.c", "read", {}),
    )
    prompt = ModelRequest(
        (), (ChatMessage("assistant", said, SELF), ChatMessage("user", (TextPart(" "),)))
    )
    assert sent("anthropic", prompt)["messages"] == [
        {
            "role": "assistant",
            "content": [
                {"type": "redacted_thinking", "data": "sealed"},
                {"type": "tool_use", "id": "a_b_c", "name": "read", "input": {}},
            ],
        }
    ]


@pytest.mark.parametrize("name", NAMES)
def test_half_characters_do_no_harm(name: str) -> None:
    prompt = ModelRequest((), (ChatMessage("user", (TextPart("a\udcffb"),)),))
    assert b"a?b" in b"".join(wire(name).body(prompt))


def test_responses_ask_only_models_that_reason_for_their_thoughts() -> None:
    body = sent("responses", HELLO, WireTarget("openai", "gpt-4o"))
    assert "include" not in body


def test_openai_itself_wants_another_word_for_the_limit() -> None:
    prompt = ModelRequest((), HELLO.messages, output=5)
    assert sent("chat", prompt, WireTarget("openai", "gpt-5"))["max_completion_tokens"] == 5


def test_what_was_attached_to_a_call_goes_back_with_it() -> None:
    thought = ReasoningPart("", {"calls": {"c1": {"google": {"seal": "s"}}}})
    said = ChatMessage(
        "assistant", (thought, ToolCall("c1", "ls", {}), ToolCall("c2", "ls", {})), SELF
    )
    (message,) = sent("chat", ModelRequest((), (said,)))["messages"]
    attached = [call.get("extra_content") for call in message["tool_calls"]]
    assert attached == [{"google": {"seal": "s"}}, None]
    other = msgspec.structs.replace(said, model=OTHER)
    assert "seal" not in str(sent("chat", ModelRequest((), (other,))))


def test_mistral_counts_without_being_asked() -> None:
    assert "stream_options" not in sent("chat", HELLO, WireTarget("mistral", "m"))


HEADERS = {
    "anthropic": {"x-api-key": KEY, "anthropic-version": "2023-06-01"},
    "chat": {"authorization": f"Bearer {KEY}"},
    "responses": {"authorization": f"Bearer {KEY}"},
}
KEPT: dict[str, dict[str, Any]] = {
    "anthropic": {"signature": "signed"},
    "chat": {"field": "reasoning_content"},
    "responses": {
        "id": "rs_1",
        "summary": [{"type": "summary_text", "text": "Let me think."}],
        "encrypted_content": "sealed",
    },
}
USAGES = {
    "anthropic": TokenUsage(60, 9, 30, 20),
    "chat": TokenUsage(60, 9, 30, 0, 4),
    "responses": TokenUsage(60, 9, 30, 0, 4),
}


@pytest.mark.parametrize("name", NAMES)
def test_an_answer_with_everything_over_a_real_connection(name: str) -> None:
    calls = (("c1", "read", '{"path": "a"}'), ("c2", "list", ""), ("c3", "read", "{nonsense"))
    with serving(Turn(Reply("Hello.", "Let me think.", calls))) as server:
        answers = list(model(server, name).stream(HELLO))
        (heard,) = server.heard
    assert parts(answers) == [
        ReasoningPart("Let me think.", KEPT[name]),
        TextPart("Hello."),
        ToolCall("c1", "read", {"path": "a"}),
        ToolCall("c2", "list", {}),
        ToolCall("c3", "read", None, "{nonsense"),
    ]
    assert answers[-1] == StreamEnded(StopReason.CALLS, USAGES[name])
    own = {"content-type": "application/json", "x-more": "yes", "host": server.url[7:]}
    assert {key: heard.headers[key] for key in (*own, *HEADERS[name])} == {**own, **HEADERS[name]}
    assert heard.json == sent(name, HELLO)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("stop", "wanted"),
    [("length", StopReason.LENGTH), ("refusal", StopReason.REFUSED), ("", StopReason.END)],
)
def test_why_it_stopped(name: str, stop: str, wanted: StopReason) -> None:
    with serving(Turn(Reply("Hello.", stop=stop))) as server:
        last = list(model(server, name).stream(HELLO))[-1]
    assert isinstance(last, StreamEnded)
    assert last.stop is wanted
    refused = name == "responses" and stop == "refusal"
    assert last.words == ("I would rather not." if refused else "")
