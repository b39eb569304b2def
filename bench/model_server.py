"""A model's server for measuring: answers at once, and knows how long it waited for each request.

Run as a program: prints its port, and serves one connection after another. `GET /gaps` returns, as
JSON, the seconds between the end of each answer and the first byte of the request after it, and the
moment when the very first byte came; then it forgets them. The path says what is answered: below
`/loop/N/` N calls that read, below `/edits/N/` N calls that edit, then words; elsewhere a call.
"""

import json
import socket
import sys
import time
from typing import Any

LINES = 2_000  # of the file that is edited; line k reads `value = k`

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
USAGE = {"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 5}}


def _answer(*chunks: dict[str, Any]) -> bytes:
    """Returns a whole response that streams the chunks."""
    events = [b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in (*chunks, USAGE)]
    events.append(b"data: [DONE]\n\n")
    return HEAD + b"".join(b"%x\r\n%b\r\n" % (len(e), e) for e in events) + b"0\r\n\r\n"


def _said(text: str, end: str = "") -> dict[str, Any]:
    choice: dict[str, Any] = {"delta": {"role": "assistant", "content": text}}
    return {"choices": [{**choice, "finish_reason": end} if end else choice]}


def _called(number: int, tool: str, **args: object) -> bytes:
    function = {"name": tool, "arguments": json.dumps(args)}
    call = {"index": 0, "id": f"call_{number}", "function": function}
    return _answer(
        _said("I look at the next file."),
        {"choices": [{"delta": {"tool_calls": [call]}}]},
        {"choices": [{"delta": {}, "finish_reason": "tool_calls"}]},
    )


def _read(number: int) -> bytes:
    # No two calls are the same: a model that repeats itself is stopped.
    return _called(number, "read", path="src/a.py", offset=number % 20 + 1, limit=number + 20)


def _edit(number: int) -> bytes:
    line = number * 37 % LINES
    return _called(number, "edit", path="big.py", old=f"value = {line}\n", new=f"value = -{line}\n")


KINDS = {"loop": _read, "edits": _edit}
WORDS = _answer(_said("That is all.", "stop"))
ALWAYS = _called(1, "read", path="src/a.py")


class ModelServer:
    """Serves, and remembers when."""

    def __init__(self) -> None:
        self.gaps: list[float] = []
        self.first = 0.0

    def serve(self, sock: socket.socket) -> None:
        """Answers the requests of one connection."""
        ended, asked = 0.0, 0
        held = b""
        while True:
            held = held or sock.recv(1 << 20)
            came = time.perf_counter()
            if not held:
                return
            self.first = self.first or time.time()
            while b"\r\n\r\n" not in held:
                held += sock.recv(1 << 20)
            head, _, rest = held.partition(b"\r\n\r\n")
            if head.startswith(b"GET"):
                sock.sendall(self.told())
                held = rest
                continue
            held = _after_body(sock, head, rest)
            if ended:
                self.gaps.append(came - ended)
            asked += 1
            sock.sendall(_reply(head, asked))
            ended = time.perf_counter()

    def told(self) -> bytes:
        body = json.dumps({"gaps": self.gaps, "first": self.first}).encode()
        self.gaps, self.first = [], 0.0
        return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)


def _reply(head: bytes, asked: int) -> bytes:
    """Chooses the answer to the n-th request of a connection by its path."""
    _, kind, number, *_ = head.split(b" ", 2)[1].decode().split("/")
    if kind not in KINDS:
        return ALWAYS
    return KINDS[kind](asked) if asked <= int(number) else WORDS


def _after_body(sock: socket.socket, head: bytes, rest: bytes) -> bytes:
    length = int(head.lower().partition(b"content-length:")[2].split()[0])
    pieces, size = [rest], len(rest)
    while size < length:
        pieces.append(sock.recv(1 << 20))
        size += len(pieces[-1])
    return b"".join(pieces)[length:]


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
