"""Models that ask the test server, and what they were asked."""

import socket
from collections.abc import Callable, Mapping

from tests.llm.server import Server

from assent.core.llm import (
    ChatMessage,
    MessagePart,
    ModelRequest,
    PartCompleted,
    RequestRetried,
    RetrySettings,
    StreamDelta,
    StreamEvent,
    TextPart,
)
from assent.llm.errors import ErrorContext, RetryingModel
from assent.llm.http_client import HttpClient, parse_url
from assent.llm.http_model import HttpModel, ProviderEndpoint
from assent.llm.wires.anthropic import AnthropicWire
from assent.llm.wires.chat import ChatWire
from assent.llm.wires.responses import ResponsesWire
from assent.llm.wires.wire import WireProtocol, WireTarget
from assent.ports import Model
from assent.ports.cancellation import CancelToken

KEY = "sk-secret-key"
HELLO = ModelRequest(("Be brief.",), (ChatMessage("user", (TextPart("Hello"),)),))
NAMES = ("anthropic", "chat", "responses")
CLIENTS: list[HttpClient] = []  # closed after each test
NOW = 1_800_000_000.0


def wire(name: str, asked: WireTarget | None = None) -> WireProtocol:
    asked = asked or WireTarget("test", "model-1", reasons=True)
    kinds: Mapping[str, type[AnthropicWire] | type[ChatWire] | type[ResponsesWire]]
    kinds = {"anthropic": AnthropicWire, "chat": ChatWire, "responses": ResponsesWire}
    return kinds[name](asked)


def client(idle_s: float = 60, environment: Mapping[str, str] | None = None) -> HttpClient:
    CLIENTS.append(HttpClient(insecure, environment or {}, idle_s))
    return CLIENTS[-1]


def model(server: Server, name: str, http: HttpClient | None = None) -> HttpModel:
    base = server.url if name == "anthropic" else f"{server.url}/v1"
    who = ErrorContext("test", "model-1", base, "TEST_KEY", KEY)
    door = ProviderEndpoint(
        who, parse_url(base, "url"), {"x-more": "yes"}, bearer=name != "anthropic"
    )
    return HttpModel(wire(name), door, http or client(), lambda: NOW)


def retrying(
    inner: Model, waits: list[float], tries: int = 5, chance: float = 0.0
) -> RetryingModel:
    """A patient model that never really waits."""
    return pausing(inner, waits.append, tries, chance)


def pausing(
    inner: Model, pause: Callable[[float], object], tries: int = 5, chance: float = 0.0
) -> RetryingModel:
    """A patient model, and what is done in its pauses."""

    def sleep(cut: CancelToken[str], seconds: float) -> None:
        pause(seconds)

    return RetryingModel(inner, RetrySettings(tries=tries), sleep, lambda: chance)


def insecure(sock: socket.socket, host: str) -> socket.socket:
    raise AssertionError("nobody speaks https here")


def parts(answers: list[StreamEvent]) -> list[MessagePart]:
    """The parts that count: those after the last failed attempt."""
    retries = [
        number for number, answer in enumerate(answers) if isinstance(answer, RequestRetried)
    ]
    last = answers[retries[-1] :] if retries else answers
    return [answer.part for answer in last if isinstance(answer, PartCompleted)]


def shown(answers: list[StreamEvent], kind: str = "text") -> str:
    found = [answer for answer in answers if isinstance(answer, StreamDelta)]
    return "".join(delta.text for delta in found if delta.kind == kind)
