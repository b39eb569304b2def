"""A real HTTP server on loopback that speaks the three wires, with every fault, and remembers."""

import socket
import ssl
import struct
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, BinaryIO

import msgspec
from tests.llm.wire_responses import PATHS, WIRES, Reply, error_event

LINGER_NOT = struct.pack("ii", 1, 0)  # closing then resets the connection
STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


class Turn(msgspec.Struct, frozen=True):
    """What one request is answered with."""

    reply: Reply = Reply("Hello there.")
    fault: str = ""
    raw: bytes = b""  # sent as it is, instead of all else
    close: bool = False  # whether the connection is closed in silence after the answer
    forever: bytes = b""  # sent behind `raw` again and again, until the client has enough


class Heard(msgspec.Struct, frozen=True):
    """A request as it arrived, and over which connection."""

    connection: int
    line: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> dict[str, Any]:
        return msgspec.json.decode(self.body, type=dict[str, Any])


class Server:
    """Answers with the turns in order, then with the last one for ever."""

    def __init__(self, turns: Sequence[Turn], tls: ssl.SSLContext | None = None) -> None:
        self._tls = tls
        self.heard: list[Heard] = []
        self.models = ["first-model", "second-model"]
        self.endless = False  # whether the list of models is answered with turns, too
        self.arrived = threading.Semaphore(0)  # a request was read, and its turn given out
        self._turns = list(turns)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._open: list[socket.socket] = []
        self._connections = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def serve(self) -> None:
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._connections += 1
            self._open.append(sock)
            number = self._connections
            threading.Thread(target=self._talk, args=(sock, number), daemon=True).start()

    def close(self) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for sock in self._open:
            with suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
            sock.close()

    def _talk(self, sock: socket.socket, number: int) -> None:
        with suppress(OSError):
            if self._tls:
                sock = self._tls.wrap_socket(sock, server_side=True)
                self._open.append(sock)
            self._listen(sock, number)
        sock.close()

    def _listen(self, sock: socket.socket, number: int) -> None:
        with sock.makefile("rb") as file:
            while (heard := _read(file, number)) is not None:
                self.heard.append(heard)
                path = heard.line.split()[1]
                listed = path.endswith("/models") and not self.endless
                turn = None if listed else self._turn()
                self.arrived.release()
                if not self._answer(sock, path, turn):
                    break

    def _turn(self) -> Turn:
        return self._turns.pop(0) if len(self._turns) > 1 else self._turns[0]

    def _answer(self, sock: socket.socket, path: str, turn: Turn | None) -> bool:
        """Answers one request; tells whether the connection goes on."""
        if turn is None:
            named = [{"id": name} for name in self.models]
            sock.sendall(whole(b"200 OK", msgspec.json.encode({"data": named})))
            return True
        if turn.raw:
            sock.sendall(turn.raw)
            while turn.forever:
                sock.sendall(turn.forever)
            return not turn.close
        wire = PATHS.get(path)
        if wire is None:
            sock.sendall(whole(b"404 Not Found", b'{"error": {"message": "no such path"}}'))
            return True
        events = WIRES[wire](turn.reply)
        return _FAULTS.get(turn.fault, _fine)(sock, events, wire) and not turn.close


@contextmanager
def serving(*turns: Turn, tls: ssl.SSLContext | None = None) -> Iterator[Server]:
    """Runs a server while a test asks it."""
    server = Server(turns or (Turn(),), tls)
    thread = threading.Thread(target=server.serve, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.close()
        thread.join()


def whole(status: bytes, body: bytes, headers: bytes = b"Content-Type: application/json") -> bytes:
    """Returns a response that is no stream."""
    length = b"Content-Length: %d" % len(body)
    return b"HTTP/1.1 %b\r\n%b\r\n%b\r\n\r\n%b" % (status, headers, length, body)


def refusal(status: bytes, kind: str, headers: bytes = b"Content-Type: application/json") -> bytes:
    """Returns an error as all wires put it."""
    trouble = {"type": "error", "error": {"type": kind, "message": "Told by the server"}}
    return whole(status, msgspec.json.encode(trouble), headers)


def _read(file: BinaryIO, number: int) -> Heard | None:
    line = file.readline()
    if not line:
        return None
    headers: dict[str, str] = {}
    while (field := file.readline()) not in (b"\r\n", b""):
        name, _, value = field.decode("latin-1").partition(":")
        headers[name.lower()] = value.strip()
    body = file.read(int(headers.get("content-length", "0")))
    return Heard(number, line.decode("latin-1").strip(), headers, body)


def _fine(sock: socket.socket, events: list[bytes], wire: str) -> bool:
    sock.sendall(STREAM + b"".join(map(_chunk, events)) + b"0\r\n\r\n")
    return True


def _half(sock: socket.socket, events: list[bytes], more: bytes = b"") -> None:
    sock.sendall(STREAM + b"".join(map(_chunk, events[: len(events) // 2])) + more)


def _whole_answer(answer: bytes) -> Any:
    def send(sock: socket.socket, events: list[bytes], wire: str) -> bool:
        sock.sendall(answer)
        return True

    return send


def _reset_before(sock: socket.socket, events: list[bytes], wire: str) -> bool:
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, LINGER_NOT)
    return False


def _reset_during(sock: socket.socket, events: list[bytes], wire: str) -> bool:
    _half(sock, events)
    return _reset_before(sock, events, wire)


def _cut(sock: socket.socket, events: list[bytes], wire: str) -> bool:
    _half(sock, events)
    return False


def _malformed(sock: socket.socket, events: list[bytes], wire: str) -> bool:
    middle = len(events) // 2
    return _fine(sock, [*events[:middle], b'data: {"type": \n\n', *events[middle:]], wire)


def _truncated(sock: socket.socket, events: list[bytes], wire: str) -> bool:
    broken = events[len(events) // 2]
    _half(sock, events, _chunk(broken[: len(broken) // 2] + b"\n\n") + b"0\r\n\r\n")
    return True


def _error(sock: socket.socket, events: list[bytes], wire: str) -> bool:
    _half(sock, events, _chunk(error_event(wire)) + b"0\r\n\r\n")
    return True


def _empty(sock: socket.socket, events: list[bytes], wire: str) -> bool:
    return _fine(sock, WIRES[wire](Reply()), wire)


def _drip(sock: socket.socket, events: list[bytes], wire: str) -> bool:
    for byte in STREAM + b"".join(map(_chunk, events)) + b"0\r\n\r\n":
        sock.sendall(bytes([byte]))
    return True


def _stall(sock: socket.socket, events: list[bytes], wire: str) -> bool:
    _half(sock, events)
    sock.recv(1)  # until the client gives up
    return False


def _chunk(content: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(content), content)


_HTML = whole(b"200 OK", b"<html><title>Welcome</title></html>", b"Content-Type: text/html")
_AFTER = b"Content-Type: application/json\r\nRetry-After: 7"
_FAULTS = {
    "rate_limit": _whole_answer(refusal(b"429 Slow", "rate_limit_error")),
    "rate_limit_after": _whole_answer(refusal(b"429 Slow", "rate_limit_error", _AFTER)),
    "server_error": _whole_answer(refusal(b"500 Oh", "api_error")),
    "overloaded": _whole_answer(refusal(b"529 Oh", "overloaded_error")),
    "reset_before": _reset_before,
    "reset_during": _reset_during,
    "cut": _cut,
    "malformed_event": _malformed,
    "truncated_json": _truncated,
    "error_event": _error,
    "html_page": _whole_answer(_HTML),
    "empty_reply": _empty,
    "drip": _drip,
    "stall": _stall,
}
FAULTS = tuple(_FAULTS)
