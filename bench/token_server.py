"""A model's server that speaks slowly: 200 pieces of text a second, until nobody listens."""

import json
import re
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Thread

from bench.model_server import HEAD

PACE_S = 1 / 200


NOT_FOUND = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"


def _read(sock: socket.socket) -> bytes:
    """Reads a request to its end, as long as it says that it is; returns its method."""
    seen = sock.recv(1 << 20)
    while b"\r\n\r\n" not in seen and (piece := sock.recv(1 << 20)):
        seen += piece
    head, _, body = seen.partition(b"\r\n\r\n")
    found = re.search(rb"(?i)content-length: *(\d+)", head)
    left = int(found[1]) - len(body) if found else 0
    while left > 0 and (piece := sock.recv(1 << 20)):
        left -= len(piece)
    return head.partition(b" ")[0]


def _stream(sock: socket.socket) -> None:
    """Streams words without end to who sends a message; there is no list of models."""
    if _read(sock) != b"POST":
        sock.sendall(NOT_FOUND)
        return
    sock.sendall(HEAD)
    began, number = time.perf_counter(), 0
    while True:
        number += 1
        text = f"token {number} " if number % 12 else f"token {number}\n\n"
        choice = {"delta": {"role": "assistant", "content": text}}
        event = b"data: " + json.dumps({"choices": [choice]}).encode() + b"\n\n"
        sock.sendall(b"%x\r\n%b\r\n" % (len(event), event))
        time.sleep(max(0.0, began + number * PACE_S - time.perf_counter()))


def _serve(listener: socket.socket) -> None:
    with suppress(OSError):
        while True:
            sock, _ = listener.accept()
            Thread(target=_answer, args=(sock,), daemon=True).start()


def _answer(sock: socket.socket) -> None:
    with sock, suppress(OSError):
        _stream(sock)


@contextmanager
def token_server() -> Iterator[int]:
    """Serves on a port of its own while the block runs."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        Thread(target=_serve, args=(listener,), daemon=True).start()
        yield listener.getsockname()[1]
