"""How fast the whole program works in a turn: every event durable, every call settled, next to
a bare client that does the same by hand."""

import http.client
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.figure import Figure, at_most, within
from bench.model_request import FOUND, SYSTEM, heard, model_server, told
from bench.model_server import LINES
from bench.pace import Scale, best, timed
from bench.startup import ASSENT, BARE

# What a process had before it became another program counts as had by that: so a small one starts
# it, and says at the end how much it had at most, in KiB.
WEIGHED = (
    sys.executable,
    "-Sc",
    "import os, sys; "
    "pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ); "
    "_, status, usage = os.wait4(pid, 0); "
    "print(usage.ru_maxrss); "
    "sys.exit(os.waitstatus_to_exitcode(status))",
)


def step_figures(work: Path, scale: Scale) -> Iterator[Figure]:
    """Measures `assent -p`: its start, its steps, its edits, and the memory of all that."""
    with model_server() as port:
        yield from _starts(work, port, scale)
        yield from _loops(work, port, scale)
        yield from _edits(work, port, scale)
        yield from _memory(work, port, scale)


def _starts(work: Path, port: int, scale: Scale) -> Iterator[Figure]:
    def first_byte() -> float:
        began = time.time()
        _assent(work, port, "loop/0")
        return float(told(port)["first"]) - began

    bare, first = best(
        scale.starts, lambda: timed(lambda: subprocess.run(BARE, check=True)), first_byte
    )
    yield Figure("first byte of `assent -p` / bare Python", first, bare, at_most(16))


def _loops(work: Path, port: int, scale: Scale) -> Iterator[Figure]:
    kind = f"loop/{scale.steps}"
    long = "x = 1\n" * (scale.history // 6)
    plain, short, tall = best(
        scale.rounds,
        lambda: _gap(port, lambda: _by_hand(port, kind, _read)),
        lambda: _gap(port, lambda: _assent(work, port, kind)),
        lambda: _gap(port, lambda: _assent(work, port, kind, long)),
    )
    yield Figure(f"gap per step of `assent -p`, {scale.steps} steps", short, plain, at_most(10))
    tokens = f"{scale.history // 4:,} tokens"
    yield Figure(f"the same at {tokens} / at the start", tall, short, at_most(2))


def _edits(work: Path, port: int, scale: Scale) -> Iterator[Figure]:
    kind = f"edits/{scale.steps}"
    text = "".join(f"value = {line}\n" for line in range(LINES))
    theirs = work / "theirs.py"

    def by_hand() -> None:
        theirs.write_text(text, encoding="utf-8")
        _by_hand(port, kind, lambda args: _edit(theirs, args))

    (work / "big.py").write_text(text, encoding="utf-8")
    plain, ours = best(
        scale.rounds,
        lambda: _gap(port, by_hand),
        lambda: _gap(port, lambda: _assent(work, port, kind)),
    )
    yield Figure(f"gap per edit of a {LINES:,}-line file", ours, plain, at_most(3))


def _memory(work: Path, port: int, scale: Scale) -> Iterator[Figure]:
    for kind, name, limit in (
        ("loop/0", "memory of one turn", 60),
        (f"loop/{scale.steps}", f"memory of {scale.steps} steps", 80),
    ):
        used = float(_assent(work, port, kind, starter=WEIGHED).split()[-1]) / 1024
        yield Figure(name, used, None, within(limit), "memory")
        told(port)


def _gap(port: int, run: Any) -> float:
    """Returns the median time that the server waited between two steps."""
    told(port)
    run()
    return float(statistics.median(told(port)["gaps"]))


def _assent(
    work: Path, port: int, kind: str, said: str = "", starter: tuple[str, ...] = ()
) -> bytes:
    """Plans once; returns what a starter has to say."""
    base = f"http://127.0.0.1:{port}/{kind}/v1"
    (work / "src").mkdir(exist_ok=True)
    (work / "src" / "a.py").write_text(FOUND, encoding="utf-8")
    ran = subprocess.run(
        [*starter, ASSENT, "-p", "Look around", "--model", "openai/m"],
        cwd=work,
        env={**os.environ, "OPENAI_BASE_URL": base},
        input=said.encode(),
        capture_output=True,
        check=False,
    )
    assert ran.returncode in (0, 3), ran.stderr.decode()
    return ran.stdout


def _by_hand(port: int, kind: str, act: Any) -> None:
    """The loop that anybody would write with the standard library alone, nothing kept."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    messages: list[dict[str, Any]] = [{"role": "system", "content": SYSTEM}]
    while True:
        body = {"model": "m", "stream": True, "messages": messages}
        connection.request("POST", f"/{kind}/v1/chat/completions", json.dumps(body))
        said = heard(connection)
        if not said["tool_calls"]:
            break
        call = said["tool_calls"][0]
        result = act(json.loads(call["function"]["arguments"]))
        messages += [said, {"role": "tool", "tool_call_id": call["id"], "content": result}]
    connection.close()


def _read(args: dict[str, Any]) -> str:
    return FOUND


def _edit(file: Path, args: dict[str, Any]) -> str:
    """Reads, replaces, and writes so that after a crash the new file is there, and whole."""
    text = file.read_text(encoding="utf-8")
    assert text.count(args["old"]) == 1
    draft = file.with_suffix(".new")
    with draft.open("w", encoding="utf-8") as out:
        out.write(text.replace(args["old"], args["new"]))
        out.flush()
        os.fsync(out.fileno())
    draft.replace(file)
    folder = os.open(file.parent, os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)
    return "Done."
