"""How much the server does at once: sessions with a turn each, and subscribers to their events."""

import asyncio
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
from bench.answering_server import answering_server
from bench.figure import Bar, Figure, at_least, at_most, within
from bench.pace import Scale, best, timed
from bench.startup import ASSENT, BARE
from bench.step import make_workspace
from bench.subscribers import subscribers

# Turns a second of `opencode serve` with 200 sessions at once, one text turn each, measured on a
# machine with two processors in November 2026, with a scripted model server on loopback as here.
OPENCODE_TURNS = 4.0
TURNS = Bar(100, at_least=True, absolute=True)  # 25 x that
MEMORY_MIB = 250
AS_BROWSERS = "Accept-Encoding: gzip, deflate, br"
MARKERS = 20  # events whose delivery is measured
NEW = b'{"goal": "Say something", "model": "openai/m"}'
WAIT_S = 300


class RunningServer(msgspec.Struct):
    """A server, and a token for it."""

    host: str
    token: str
    pid: int

    def request(self, method: str, path: str, body: bytes = b"") -> bytes:
        return (
            f"{method} /api/v1{path} HTTP/1.1\r\nHost: {self.host}\r\n"
            f"Authorization: Bearer {self.token}\r\nContent-Length: {len(body)}\r\n\r\n"
        ).encode() + body

    @property
    def peak(self) -> float:
        """The most memory that it had at once, in MiB."""
        found = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{self.pid}/status").read_text("utf-8"))
        return int(found[1]) / 1024 if found else 0.0

    @property
    def processor_time(self) -> float:
        fields = Path(f"/proc/{self.pid}/stat").read_text("utf-8").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def server_figures(work: Path, scale: Scale) -> Iterator[Figure]:
    """Measures turns, memory and events of `assent serve`, and how soon it is ready."""
    count, few, many = scale.together, scale.listeners // 10, scale.listeners
    with answering_server() as port:
        bare, ready = best(
            max(scale.rounds // 2, 1),
            lambda: timed(lambda: subprocess.run(BARE, check=True)),
            lambda: _ready(make_workspace(work / f"ready-{time.monotonic_ns()}"), port),
        )
        yield Figure(
            "ready: first answer of `assent serve` / bare Python", ready, bare, at_most(40)
        )
        with _serving(make_workspace(work / "turns"), port) as server:
            rounds = [_turns(server, count) for _ in range(max(scale.rounds // 2, 1))]
            turns, used, errors = zip(*rounds, strict=True)
            yield Figure(
                f"{count} sessions at once: turns/s / opencode serve",
                max(turns), OPENCODE_TURNS, TURNS, "count",
            )  # fmt: skip
            yield Figure("the same: processor time of the server per turn", min(used))
            yield Figure("the same: turns that failed", sum(errors), None, within(0), "count")
            yield Figure("the same: memory", server.peak, None, within(MEMORY_MIB), "memory")
        with _serving(make_workspace(work / "events"), port) as server:
            slow = _delivery(server, few)
            fast = _delivery(server, many)
            yield Figure(f"delivery p95, {many:,} subscribers / {few:,}", fast, slow, at_most(12))
        with _serving(make_workspace(work / "both"), port) as server:
            alone = beside = plain = 0.0
            for _ in range(scale.long_rounds):
                alone = max(alone, _turns(server, count)[0])
                with subscribers(server.host, server.token, many, AS_BROWSERS):
                    beside = max(beside, _turns(server, count)[0])
                with subscribers(server.host, server.token, many):
                    plain = max(plain, _turns(server, count)[0])
            name = f"turns/s with {many:,} subscribers / without"
            yield Figure(name, beside, alone, at_least(0.8), "count")
            yield Figure("the same, without compression", plain, alone, None, "count")


@contextmanager
def _serving(work: Path, port: int) -> Iterator[RunningServer]:
    """Starts a server, which has done one turn when it is measured."""
    with started(work, port) as (process, url):
        command = [ASSENT, "serve", "token", "--name", work.name, "--role", "author", "--json"]
        made = subprocess.run(command, cwd=work, check=True, capture_output=True)
        host = url.removeprefix("http://")
        server = RunningServer(host, json.loads(made.stdout)["token"], process.pid)
        _turns(server, 1)
        yield server


@contextmanager
def started(
    work: Path, port: int, env: Mapping[str, str] = os.environ
) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """Starts a server for a workspace; yields it and its URL."""
    command = [ASSENT, "serve", "--json", "--no-open", "--workspace", str(work)]
    env = {**env, "OPENAI_BASE_URL": f"http://127.0.0.1:{port}/v1"}
    quiet = subprocess.DEVNULL
    with subprocess.Popen(
        command, cwd=work, env=env, stdin=quiet, stdout=subprocess.PIPE, stderr=quiet
    ) as it:
        try:
            assert it.stdout is not None
            yield it, str(json.loads(it.stdout.readline())["url"])
        finally:
            it.send_signal(signal.SIGTERM)
            it.wait(WAIT_S)


def _ready(work: Path, port: int) -> float:
    began = time.monotonic()
    with started(work, port) as (_, url):
        asyncio.run(_get_login(url.removeprefix("http://")))
        return time.monotonic() - began


async def _get_login(host: str) -> None:
    reader, writer = await asyncio.open_connection(*host.split(":"))
    writer.write(f"GET /login HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
    if b" 200 " not in await reader.readline():
        raise AssertionError("The server does not answer.")
    writer.close()


def _turns(server: RunningServer, count: int) -> tuple[float, float, int]:
    """Starts sessions at once; returns turns a second, processor time per turn, and failures."""
    before = server.processor_time
    seconds, errors = asyncio.run(asyncio.wait_for(_run_turns(server, count), WAIT_S))
    return count / seconds, (server.processor_time - before) / count, errors


async def _run_turns(server: RunningServer, count: int) -> tuple[float, int]:
    reader, writer = await asyncio.open_connection(*server.host.split(":"), limit=1 << 20)
    writer.write(server.request("GET", "/events"))
    await reader.readuntil(b"\r\n\r\n")
    began = time.monotonic()
    starting = asyncio.gather(*[_post(server, "/sessions", NEW) for _ in range(count)])
    finished = errors = 0
    while finished < count:
        line = await reader.readline()
        if not line:
            raise AssertionError("The events ended.")
        if line.startswith(b"data: ") and b'"kind":"message_finished"' in line:
            finished += 1
            errors += bool(json.loads(line[6:])["body"].get("error"))
    seconds = time.monotonic() - began
    refused = [reply for reply in await starting if " 202 " not in reply]
    writer.close()
    return seconds, errors + len(refused)


async def _post(server: RunningServer, path: str, body: bytes, method: str = "POST") -> str:
    reader, writer = await asyncio.open_connection(*server.host.split(":"))
    writer.write(server.request(method, path, body))
    first = (await reader.readline()).decode()
    writer.close()
    return first


def _delivery(server: RunningServer, count: int) -> float:
    """Returns the time in which 95 of 100 subscribers got an event, from when it was caused."""
    session = asyncio.run(_first_session(server))
    with subscribers(server.host, server.token, count, markers=True) as lines:
        taken: list[float] = []
        for number in range(MARKERS):
            began = time.monotonic()
            body = json.dumps({"title": f"mark-{number}-"}).encode()
            reply = asyncio.run(_post(server, f"/sessions/{session}", body, "PATCH"))
            if " 200 " not in reply:
                raise AssertionError(reply)
            marker, *moments = json.loads(next(lines))
            if marker != number:
                raise AssertionError(f"Marker {marker} came instead of {number}.")
            taken += [moment - began for moment in moments]
    return statistics.quantiles(taken, n=20)[-1]


async def _first_session(server: RunningServer) -> str:
    reader, writer = await asyncio.open_connection(*server.host.split(":"))
    writer.write(server.request("GET", "/sessions"))
    head = await reader.readuntil(b"\r\n\r\n")
    length = re.search(rb"(?i)content-length: *(\d+)", head)
    rows: dict[str, Any] = json.loads(await reader.readexactly(int(length[1]) if length else 0))
    writer.close()
    return str(rows["sessions"][0]["session"])


if __name__ == "__main__":
    sys.exit("python -m bench.run --only server")
