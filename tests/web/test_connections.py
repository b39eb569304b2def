"""Connections that say little, say it slowly, do not listen, or are very many."""

import asyncio
import resource
import socket
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from tests.web.harness import Served
from tests.web.raw import connect, head, read_to_end, status
from tests.web.small_server import listening

from assent.core.errors import AssentError
from assent.web.guard import BodyLimits, Guard
from assent.web.listener import ConnectionLimits, open_socket
from assent.web.origins import make_origins
from assent.web.responses import error_response

QUICK = ConnectionLimits(head_s=0.3, idle_s=1, rest_s=0.3, stalled_s=0.5, connections=50)
QUICK_BODY = BodyLimits(size=1 << 20, patience_s=0.5, bytes_per_s=1 << 20)


async def answer(request: Request) -> Response:
    """Reads a body and says how long it was; other paths read none, or send without an end."""
    if request.url.path == "/unread":
        return PlainTextResponse("unread")
    if request.url.path == "/endless":
        return StreamingResponse(endless())
    if request.url.path == "/broken":
        raise KeyError("a secret value")
    try:
        return PlainTextResponse(str(len(await request.body())))
    except AssentError as error:
        return error_response(error)


async def endless() -> AsyncIterator[bytes]:
    while True:
        yield b"x" * 65536
        await asyncio.sleep(0)


async def app(scope: Scope, receive: Receive, send: Send) -> None:
    response = await answer(Request(scope, receive))
    await response(scope, receive, send)


@contextmanager
def quick(limits: ConnectionLimits = QUICK) -> Iterator[tuple[str, list[BaseException]]]:
    failures: list[BaseException] = []
    with closing(open_socket("127.0.0.1", 0)) as port_socket:
        origins = make_origins("127.0.0.1", port_socket.getsockname()[1])
        guarded: ASGIApp = Guard(
            app, origins, QUICK_BODY, lambda method, error: failures.append(error)
        )
        with listening(guarded, limits, port_socket) as url:
            yield url, failures


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with quick() as (found, failures):
        yield found
    assert failures == []


def seconds_until_end(sock: socket.socket) -> float:
    began = time.monotonic()
    read_to_end(sock)
    return time.monotonic() - began


def kept_alive(url: str, path: str = "/") -> bytes:
    return head(url, f"GET {path} HTTP/1.1").replace(b"Connection: close\r\n", b"")


def read_answer(sock: socket.socket) -> bytes:
    """Reads one answer with a length."""
    found = b""
    while b"\r\n\r\n" not in found:
        found += sock.recv(65536)
    start, _, body = found.partition(b"\r\n\r\n")
    length = int(start.lower().partition(b"content-length: ")[2].split()[0])
    while len(body) < length:
        body += sock.recv(65536)
    return start + b"\r\n\r\n" + body


def drip(sock: socket.socket, content: bytes, pause: float = 0.05, most: float = 10) -> float:
    """Sends byte by byte until the other side closes; returns after how long."""
    began = time.monotonic()
    for byte in content:
        try:
            sock.sendall(bytes([byte]))
        except OSError:
            break
        if time.monotonic() - began > most:
            break
        time.sleep(pause)
    return time.monotonic() - began


def test_who_says_nothing_is_disconnected(url: str) -> None:
    with connect(url) as sock:
        assert seconds_until_end(sock) < 5


def test_a_slow_head_is_cut_off(url: str) -> None:
    with connect(url) as sock:
        assert drip(sock, head(url, "GET / HTTP/1.1", "X: " + "a" * 500)) < 5


def test_a_slow_head_is_cut_off_on_a_connection_that_was_kept(url: str) -> None:
    with connect(url) as sock:
        for _ in range(2):
            sock.sendall(kept_alive(url))
            assert status(read_answer(sock)) == 200
        assert drip(sock, head(url, "GET / HTTP/1.1", "X: " + "a" * 500)) < 5


def test_a_kept_connection_ends_if_nothing_comes(url: str) -> None:
    with connect(url) as sock:
        sock.sendall(kept_alive(url))
        read_answer(sock)
        assert 0.5 < seconds_until_end(sock) < 10


def test_a_slow_body_is_refused(url: str) -> None:
    with connect(url) as sock:
        sock.sendall(head(url, "POST / HTTP/1.1", "Content-Length: 100000"))
        drip(sock, b"a" * 1_000, 0.05, most=1.0)
        assert status(sock.recv(65536)) == 413


def test_a_body_in_many_parts_is_read(url: str) -> None:
    with connect(url) as sock:
        sock.sendall(head(url, "POST / HTTP/1.1", "Transfer-Encoding: chunked"))
        for _ in range(100):
            sock.sendall(b"3e8\r\n" + b"a" * 1_000 + b"\r\n")
        sock.sendall(b"0\r\n\r\n")
        assert read_to_end(sock).endswith(b"\r\n\r\n100000")


def test_the_rest_of_a_body_that_no_one_reads_is_not_waited_for(url: str) -> None:
    with connect(url) as sock:
        sent = head(url, "POST /unread HTTP/1.1", "Content-Length: 100000")
        sock.sendall(sent.replace(b"Connection: close\r\n", b""))
        assert status(read_answer(sock)) == 200
        assert drip(sock, b"a" * 1_000) < 5


def test_after_a_body_that_no_one_read_the_connection_can_be_used_and_ends(url: str) -> None:
    with connect(url) as sock:
        sent = head(url, "POST /unread HTTP/1.1", "Content-Length: 10")
        sock.sendall(sent.replace(b"Connection: close\r\n", b""))
        assert status(read_answer(sock)) == 200
        sock.sendall(b"a" * 10 + kept_alive(url))
        assert status(read_answer(sock)) == 200
        assert seconds_until_end(sock) < 10


def test_who_does_not_read_an_answer_is_disconnected(url: str) -> None:
    with connect(url) as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sock.sendall(head(url, "GET /endless HTTP/1.1"))
        time.sleep(2.0)  # in which nothing is read
        began = time.monotonic()
        read_to_end(sock)
        assert time.monotonic() - began < 5


def test_a_fault_of_ours_says_nothing_about_values() -> None:
    with quick() as (url, failures), connect(url) as sock:
        sock.sendall(head(url, "GET /broken HTTP/1.1"))
        answer = read_to_end(sock)
    assert status(answer) == 500
    assert b"secret" not in answer
    assert [type(each) for each in failures] == [KeyError]


def test_those_who_have_been_silent_for_longest_make_room() -> None:
    limits = ConnectionLimits(head_s=60, connections=20)
    with quick(limits) as (url, _), ExitStack() as opened:
        silent = [opened.enter_context(connect(url)) for _ in range(100)]
        with connect(url) as sock:
            sock.sendall(head(url, "GET / HTTP/1.1"))
            assert status(read_to_end(sock)) == 200
        silent[0].settimeout(5)
        assert read_to_end(silent[0]) == b""


def test_thousands_of_open_connections_keep_no_one_out(server: Served) -> None:
    wanted = 3_000
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = hard if hard == resource.RLIM_INFINITY else min(hard, wanted + 512)
    if allowed != resource.RLIM_INFINITY and allowed < wanted + 512:
        wanted = allowed - 512
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted + 512), hard))
    browser = server.browser()
    try:
        with ExitStack() as opened:
            for number in range(wanted):
                sock = opened.enter_context(connect(server.url))
                if number % 2:
                    sock.sendall(b"GET /login HTTP/1.1\r\nHost: ")  # and no more
            assert wanted >= 500
            began = time.monotonic()
            for _ in range(20):
                assert browser.get("/access")["role"] == "approver"
            assert time.monotonic() - began < 20
            assert server.browser("viewer").get("/access")["role"] == "viewer"
        memory = Path(f"/proc/{server.process.pid}/status").read_text("utf-8")
        assert int(memory.partition("VmRSS:")[2].split()[0]) < 400 << 10
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
