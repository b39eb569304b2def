"""How soon a model is asked, and how much time passes between two steps, next to a bare client."""

import http.client
import json
import os
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.figure import Figure, at_most
from bench.pace import Scale, best, timed
from bench.startup import ASSENT, BARE

from assent.core.llm.message import ChatMessage, MessagePart, TextPart, ToolCall, ToolResult
from assent.core.llm.provider import RetrySettings
from assent.core.llm.request import ModelRequest, PartCompleted, ToolDefinition
from assent.llm.errors import ErrorContext
from assent.llm.http.client import HttpClient
from assent.llm.http.url import parse_url
from assent.llm.http_model import HttpModel, ProviderEndpoint
from assent.llm.retry import RetryingModel
from assent.llm.wires.chat import ChatWire
from assent.llm.wires.wire import WireTarget

SYSTEM = "You plan changes. " * 60
SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}}
FOUND = "def greet(name):\n    return f'hello {name}'\n" * 5
PIECE = 2_000  # characters of one result in a long history


def model_request_figures(work: Path, scale: Scale) -> Iterator[Figure]:
    """Measures the program's first request, and the steps of the client alone."""
    with model_server() as port:
        bare, first = best(
            scale.starts,
            lambda: timed(lambda: subprocess.run(BARE, check=True)),
            lambda: _first_byte(work, port),
        )
        yield Figure("first byte of a first request / bare Python", first, bare, at_most(16))
        for characters, name in (
            (0, f"gap per step, {scale.steps} steps / http.client"),
            (scale.history, f"the same at {scale.history // 4:,} tokens / http.client"),
        ):
            theirs, ours = best(
                scale.rounds,
                lambda size=characters: _gap(port, Plain(port, size), scale.steps),  # type: ignore[misc]
                lambda size=characters: _gap(port, Ours(port, size), scale.steps),  # type: ignore[misc]
            )
            yield Figure(name, ours, theirs, at_most(10))


class Plain:
    """The client that anybody would write with the standard library alone."""

    def __init__(self, port: int, characters: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port)
        self._messages: list[dict[str, Any]] = [{"role": "system", "content": SYSTEM}]
        for start in range(0, characters, PIECE):
            self._messages.append({"role": "user", "content": f"{start} {FOUND * 9}"[:PIECE]})

    def step(self) -> None:
        function = {"name": "read", "description": "Reads.", "parameters": SCHEMA}
        body = {
            "model": "m",
            "stream": True,
            "messages": self._messages,
            "tools": [{"type": "function", "function": function}],
        }
        self._connection.request("POST", "/v1/chat/completions", json.dumps(body))
        said = heard(self._connection)
        self._messages += [said, {"role": "tool", "tool_call_id": "call_1", "content": FOUND}]

    def close(self) -> None:
        self._connection.close()


def heard(connection: http.client.HTTPConnection) -> dict[str, Any]:
    """Reads a streamed answer by hand."""
    said: dict[str, Any] = {"role": "assistant", "content": "", "tool_calls": []}
    for line in connection.getresponse().read().splitlines():
        if line.startswith(b"data: {"):
            for choice in json.loads(line[6:])["choices"]:
                said["content"] += choice["delta"].get("content", "")
                said["tool_calls"] += choice["delta"].get("tool_calls", [])
    return said


class Ours:
    """The same with Assent's client, retries and values."""

    def __init__(self, port: int, characters: int) -> None:
        base = f"http://127.0.0.1:{port}/v1"
        door = ProviderEndpoint(ErrorContext("bench", "m"), parse_url(base, "bench"), {})
        self._client = HttpClient(_no_tls, {})
        wire = ChatWire(WireTarget("bench", "m"))
        self._model = RetryingModel(HttpModel(wire, door, self._client), RetrySettings())
        starts = range(0, characters, PIECE)
        texts = [f"{start} {FOUND * 9}"[:PIECE] for start in starts]
        self._messages = tuple(ChatMessage("user", (TextPart(text),)) for text in texts)

    def step(self) -> None:
        prompt = ModelRequest((SYSTEM,), self._messages, (READ,))
        answers = self._model.stream(prompt)
        parts: tuple[MessagePart, ...] = tuple(
            a.part for a in answers if isinstance(a, PartCompleted)
        )
        results = tuple(ToolResult(part.id, FOUND) for part in parts if isinstance(part, ToolCall))
        self._messages += (ChatMessage("assistant", parts, "bench/m"), ChatMessage("user", results))

    def close(self) -> None:
        self._client.close()


READ = ToolDefinition("read", "Reads.", SCHEMA)


def _gap(port: int, client: Plain | Ours, steps: int) -> float:
    """Returns the median time that the server waited between two steps."""
    client.step()  # a first one, in which everything is encoded
    for _ in range(steps):
        client.step()
    client.close()
    return float(statistics.median(told(port)["gaps"]))


def _first_byte(work: Path, port: int) -> float:
    """Returns the time from the start of the program to the first byte that the server saw."""
    environment = {**os.environ, "OPENAI_BASE_URL": f"http://127.0.0.1:{port}/v1"}
    line = [ASSENT, "models", "ask", "openai/m", "Hello"]
    began = time.time()
    subprocess.run(
        line,
        cwd=work,
        env=environment,
        check=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    return float(told(port)["first"]) - began


def told(port: int) -> dict[str, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.request("GET", "/gaps")
    found: dict[str, Any] = json.loads(connection.getresponse().read())
    connection.close()
    return found


@contextmanager
def model_server() -> Iterator[int]:
    server = subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("model_server.py"))], stdout=subprocess.PIPE
    )
    try:
        assert server.stdout is not None
        yield int(server.stdout.readline())
    finally:
        server.kill()
        server.wait()
        if server.stdout is not None:
            server.stdout.close()


def _no_tls(sock: socket.socket, host: str) -> socket.socket:
    raise AssertionError("nobody speaks https here")
