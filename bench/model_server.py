"""A model server for measuring: answers at once, and knows how long it waited for each request.

Run as a program: prints its port, and serves one connection after another. `GET /gaps` returns, as
JSON, what was noted since the last time, and forgets it. A gap is the client's own time for a step:
its clock starts before the answer is sent, because a client may have read it before sending is
over, and stops when the next request has arrived as a whole, because a client may send the head
before it has encoded the rest. Also noted are the moment of the very first byte, on the clock that
all processes of a machine share, and the size of the last request.

The path says what is answered. `/loop/N/`: N calls that read a few lines. `/edits/N/`: N calls that
edit. `/greps/N/`: N calls that search. `/pages/N/`: N calls that each read a file of their own,
then LAST calls that read a few lines. After the calls comes a text. Elsewhere every answer is the
same call.
"""

import http.client
import json
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

LINES = 2_000  # of the file that is edited; line k reads `value = k`
LAST = 10  # steps that are measured once a history has grown

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
CHARS_PER_TOKEN = 4
RECEIVE_BYTES = 1 << 20

Chunk: TypeAlias = dict[str, Any]


def _text(text: str, end: str = "") -> Chunk:
    choice: dict[str, Any] = {"delta": {"role": "assistant", "content": text}}
    return {"choices": [{**choice, "finish_reason": end} if end else choice]}


def _call(number: int, tool: str, **args: object) -> list[Chunk]:
    function = {"name": tool, "arguments": json.dumps(args)}
    call = {"index": 0, "id": f"call_{number}", "function": function}
    return [
        _text("I look at the next file."),
        {"choices": [{"delta": {"tool_calls": [call]}}]},
        {"choices": [{"delta": {}, "finish_reason": "tool_calls"}]},
    ]


def _read(number: int) -> list[Chunk]:
    # No two calls are the same: a model that repeats itself is stopped.
    return _call(number, "read", path="src/a.py", offset=number % 20 + 1, limit=number + 20)


def _edit(number: int) -> list[Chunk]:
    line = number * 37 % LINES
    return _call(number, "edit", path="big.py", old=f"value = {line}\n", new=f"value = -{line}\n")


def _grep(number: int) -> list[Chunk]:
    return _call(number, "grep", pattern=f"def greet|{number}")


def page_path(number: int) -> str:
    """Returns the file that the n-th call of `/pages/` reads."""
    return f"pages/{number}.txt"


def _answer(head: bytes, number: int) -> list[Chunk]:
    """Chooses the answer to the n-th request of a connection by its path."""
    _, kind, count, *_ = head.split(b" ", 2)[1].decode().split("/")
    match kind:
        case "loop" if number <= int(count):
            return _read(number)
        case "edits" if number <= int(count):
            return _edit(number)
        case "greps" if number <= int(count):
            return _grep(number)
        case "pages" if number <= int(count):
            return _call(number, "read", path=page_path(number))
        case "pages" if number <= int(count) + LAST:
            return _read(number)
        case "loop" | "edits" | "greps" | "pages":
            return [_text("That is all.", "stop")]
        case _:
            return _call(1, "read", path="src/a.py")


def _response(chunks: list[Chunk], size: int) -> bytes:
    """Returns a whole response that streams the chunks and counts the tokens of the request."""
    usage = {"prompt_tokens": size // CHARS_PER_TOKEN, "completion_tokens": 5}
    every = [*chunks, {"choices": [], "usage": usage}]
    events = [b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in every]
    events.append(b"data: [DONE]\n\n")
    return HEAD + b"".join(b"%x\r\n%b\r\n" % (len(e), e) for e in events) + b"0\r\n\r\n"


class ModelServer:
    """Serves connections, and notes when requests arrived."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._gaps: list[float] = []
        self._first = 0.0
        self._size = 0

    def serve(self, sock: socket.socket) -> None:
        """Answers the requests of one connection."""
        answered: float | None = None
        number = 0
        rest = b""
        while True:
            held = rest or sock.recv(RECEIVE_BYTES)
            if not held:
                return
            self._first = self._first or self._clock()
            while b"\r\n\r\n" not in held:
                held += _receive(sock)
            head, _, body = held.partition(b"\r\n\r\n")
            if head.startswith(b"GET"):
                sock.sendall(self._notes())
                rest = body
                continue
            self._size, rest = _rest_of_body(sock, head, body)
            if answered is not None:
                self._gaps.append(self._clock() - answered)
            number += 1
            response = _response(_answer(head, number), self._size)
            answered = self._clock()
            sock.sendall(response)

    def _notes(self) -> bytes:
        notes = {"gaps": self._gaps, "first": self._first, "size": self._size}
        self._gaps, self._first, self._size = [], 0.0, 0
        body = json.dumps(notes).encode()
        return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)


def _rest_of_body(sock: socket.socket, head: bytes, body: bytes) -> tuple[int, bytes]:
    """Waits for the end of a request; returns its size, and what came after it."""
    length = int(head.lower().partition(b"content-length:")[2].split()[0])
    received = len(body)
    while received < length:
        body = _receive(sock)
        received += len(body)
    return length, body[len(body) - (received - length) :]


def _receive(sock: socket.socket) -> bytes:
    piece = sock.recv(RECEIVE_BYTES)
    if not piece:
        raise ConnectionError("a request ended early")
    return piece


def last_gap(port: int, steps: int, history: int = 0) -> float:
    """Returns the median of the last gaps; fails if the last request was smaller than a history."""
    notes = server_notes(port)
    if notes["size"] < history or len(notes["gaps"]) < steps:
        found = f"{len(notes['gaps'])} gaps, a last request of {notes['size']} bytes"
        raise AssertionError(f"Too little to measure: {found}.")
    return float(statistics.median(notes["gaps"][-steps:]))


def server_notes(port: int) -> dict[str, Any]:
    """Returns what the server noted since the last time."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.request("GET", "/gaps")
    notes: dict[str, Any] = json.loads(connection.getresponse().read())
    connection.close()
    return notes


@contextmanager
def model_server() -> Iterator[int]:
    """Runs the server in a process of its own, and yields its port."""
    server = subprocess.Popen([sys.executable, __file__], stdout=subprocess.PIPE)
    try:
        assert server.stdout is not None
        yield int(server.stdout.readline())
    finally:
        server.kill()
        server.wait()
        if server.stdout is not None:
            server.stdout.close()


def main() -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    server = ModelServer()
    while True:
        sock, _ = listener.accept()
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with sock:
            try:
                server.serve(sock)
            except OSError as error:
                print(error, file=sys.stderr)


if __name__ == "__main__":
    main()
