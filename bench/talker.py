"""A model's server for measuring: answers at once, and knows how long it waited for each request.

Run as a program: prints its port, and serves one connection after another. `GET /gaps` returns, as
JSON, the seconds between the end of each answer and the first byte of the request after it, and the
moment when the very first byte came; then it forgets them.
"""

import json
import socket
import sys
import time

CHUNKS = (
    {"choices": [{"delta": {"role": "assistant", "content": "I look at the next file."}}]},
    {
        "choices": [
            {
                "delta": {
                    "tool_calls": [
                        {
                            "index": 0,
                            "id": "call_1",
                            "function": {"name": "read", "arguments": '{"path": "src/a.py"}'},
                        }
                    ]
                }
            }
        ]
    },
    {"choices": [{"delta": {}, "finish_reason": "tool_calls"}]},
    {"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 5}},
)
EVENTS = [b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in CHUNKS]
EVENTS.append(b"data: [DONE]\n\n")
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
BODY = b"".join(b"%x\r\n%b\r\n" % (len(event), event) for event in EVENTS)
ANSWER = HEAD + BODY + b"0\r\n\r\n"


class Talker:
    """Serves, and remembers when."""

    def __init__(self) -> None:
        self.gaps: list[float] = []
        self.first = 0.0

    def talk(self, sock: socket.socket) -> None:
        """Answers the requests of one connection."""
        ended = 0.0
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
            sock.sendall(ANSWER)
            ended = time.perf_counter()

    def told(self) -> bytes:
        body = json.dumps({"gaps": self.gaps, "first": self.first}).encode()
        self.gaps, self.first = [], 0.0
        return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)


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
    talker = Talker()
    while True:
        sock, _ = listener.accept()
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with sock:
            try:
                talker.talk(sock)
            except OSError as error:
                print(error, file=sys.stderr)


if __name__ == "__main__":
    main()
