"""A model server on loopback that speaks chat completions and keeps every request as it was sent.

`StoryServer` answers with the turns of a story. Another answerer is any object that returns the
pieces of a response to a request: `bench/record_story.py` has one that waits for a person.
"""

import json
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Protocol

from assent.llm.scripted import ScriptedTurn

CHARS_PER_TOKEN = 4


class Answerer(Protocol):
    """What answers the requests of a server."""

    def answer(self, body: bytes) -> Iterator[bytes]:
        """Yields the response to a request: a stream of events, in pieces."""


class StoryServer:
    """Answers with the turns that a story has next."""

    def __init__(self) -> None:
        self.answers: list[ScriptedTurn] = []
        self.bodies: list[bytes] = []
        self.excess = 0  # requests that the story has no answer for
        self.url = ""

    def answer(self, body: bytes) -> Iterator[bytes]:
        self.bodies.append(body)
        self.excess += not self.answers
        turn = self.answers.pop(0) if self.answers else ScriptedTurn("That is all.")
        yield turn_events(turn, len(self.bodies), body)


def turn_events(turn: ScriptedTurn, number: int, body: bytes) -> bytes:
    """Returns the answer to the request of this number, as a stream of events."""
    calls = [
        {
            "index": at,
            "id": f"call_{number}_{at}",
            "function": {"name": call.tool, "arguments": json.dumps(call.args)},
        }
        for at, call in enumerate(turn.calls)
    ]
    delta: dict[str, Any] = {"role": "assistant", "content": turn.text}
    end = "tool_calls" if calls else "stop"
    usage = {"prompt_tokens": len(body) // CHARS_PER_TOKEN, "completion_tokens": 5}
    chunks = [
        {"choices": [{"delta": {**delta, "tool_calls": calls} if calls else delta}]},
        {"choices": [{"delta": {}, "finish_reason": end}]},
        {"choices": [], "usage": usage},
    ]
    events = [b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks]
    return b"".join(events) + b"data: [DONE]\n\n"


@contextmanager
def story_server() -> Iterator[StoryServer]:
    """Serves a story in a thread."""
    own = StoryServer()
    with serving(own) as own.url:
        yield own


@contextmanager
def serving(own: Answerer) -> Iterator[str]:
    """Serves in threads, one for each connection; yields the base URL."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("transfer-encoding", "chunked")
            self.end_headers()
            for piece in own.answer(body):
                self._send(piece)
            self._send(b"")

        def _send(self, piece: bytes) -> None:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))

        def log_message(self, format: str, *args: object) -> None:
            """Says nothing."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: object, client_address: object) -> None:
            """Says nothing about a program that ended without closing its connection."""
            if not isinstance(sys.exception(), ConnectionError):
                super().handle_error(request, client_address)  # type: ignore[arg-type]

    server = Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()
