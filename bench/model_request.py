"""How soon a model is asked, and how long the client alone takes between two steps."""

import os
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from bench.client_reference import SCHEMA, SYSTEM, ReferenceClient
from bench.figure import Figure, at_most
from bench.model_server import last_gap, model_server, server_notes
from bench.pace import Scale, best, timed
from bench.startup import ASSENT, BARE

from assent.core.llm import (
    ChatMessage,
    MessagePart,
    ModelRequest,
    PartCompleted,
    RetrySettings,
    ToolCall,
    ToolDefinition,
    ToolResult,
)
from assent.llm.errors import ErrorContext, RetryingModel
from assent.llm.http_client import HttpClient, parse_url
from assent.llm.http_model import HttpModel, ProviderEndpoint
from assent.llm.wires.chat import ChatWire
from assent.llm.wires.wire import WireTarget

READ = ToolDefinition("read", "Reads.", SCHEMA)
FOUND = "def greet(name):\n    return f'hello {name}'\n" * 20


def model_request_figures(work: Path, scale: Scale) -> Iterator[Figure]:
    """Measures the program's first request, and the steps of the client alone."""
    with model_server() as port:
        bare, first = best(
            scale.starts,
            lambda: timed(lambda: subprocess.run(BARE, check=True)),
            lambda: _first_byte(work, port),
        )
        yield Figure("first byte of a first request / bare Python", first, bare, at_most(12))
        for history, name in (
            (0, f"gap per step, {scale.steps} steps / http.client"),
            (scale.history, f"the same at {scale.history // 4:,} tokens / http.client"),
        ):
            theirs, ours = best(
                scale.rounds,
                lambda size=history: _gap(port, ReferenceClient(port), scale.steps, size),  # type: ignore[misc]
                lambda size=history: _gap(port, AssentClient(port), scale.steps, size),  # type: ignore[misc]
            )
            yield Figure(name, ours, theirs, at_most(10))


class AssentClient:
    """The steps of the reference with Assent's client, retries and values."""

    def __init__(self, port: int) -> None:
        base = f"http://127.0.0.1:{port}/v1"
        endpoint = ProviderEndpoint(ErrorContext("bench", "m"), parse_url(base, "bench"), {})
        self._client = HttpClient(_no_tls, {})
        wire = ChatWire(WireTarget("bench", "m"))
        self._model = RetryingModel(HttpModel(wire, endpoint, self._client), RetrySettings())
        self._messages: tuple[ChatMessage, ...] = ()

    def step(self, run: Callable[[dict[str, Any]], str]) -> bool:
        """Asks, runs the calls of the answer and keeps both; False if the answer calls nothing."""
        request = ModelRequest((SYSTEM,), self._messages, (READ,))
        parts: tuple[MessagePart, ...] = tuple(
            event.part for event in self._model.stream(request) if isinstance(event, PartCompleted)
        )
        calls = [part for part in parts if isinstance(part, ToolCall)]
        results = tuple(ToolResult(call.id, run(call.args or {})) for call in calls)
        self._messages += (ChatMessage("assistant", parts, "bench/m"), ChatMessage("user", results))
        return bool(calls)

    def close(self) -> None:
        self._client.close()


def page_text(characters: int) -> str:
    """Returns a text of so many characters, in lines of about a hundred."""
    line = "a line of a page " * 6 + "\n"
    return (line * (characters // len(line) + 1))[:characters]


def _gap(port: int, client: ReferenceClient | AssentClient, steps: int, history: int) -> float:
    """Returns the median time between two of the last steps, after a history has grown in steps."""
    page = page_text(history // steps)
    for _ in range(steps if history else 0):
        client.step(lambda args: page)
    for _ in range(steps + 1):
        client.step(lambda args: FOUND)
    client.close()
    return last_gap(port, steps, history)


def _first_byte(work: Path, port: int) -> float:
    """Returns the time from the start of the program to the first byte that the server saw."""
    environment = {**os.environ, "OPENAI_BASE_URL": f"http://127.0.0.1:{port}/v1"}
    line = [ASSENT, "models", "ask", "openai/m", "Hello"]
    began = time.monotonic()
    subprocess.run(
        line,
        cwd=work,
        env=environment,
        check=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    return float(server_notes(port)["first"]) - began


def _no_tls(sock: socket.socket, host: str) -> socket.socket:
    raise AssertionError("nothing here speaks https")
