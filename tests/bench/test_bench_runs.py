"""The bench runs from end to end, measures in turn, and says which bars are missed."""

import hashlib
import json
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from bench.client_reference import SYSTEM, ReferenceClient
from bench.figure import Figure, at_least, at_most, figure_line, missed_line, within
from bench.model_server import LAST, ModelServer, last_gap, model_server, server_notes
from bench.pace import best
from bench.step import make_workspace, run_turn, write_big_file, write_pages

ROOT = Path(__file__).parents[2]

ROWS = (
    "assent --version",
    "assent --help",
    "apply 100 new files / bare",
    "apply 100 new files / git apply",
    "undo 100 new files / apply",
    "apply new: 100 / 10",
    "apply 100 replaced files / bare",
    "undo replaced: 100 / 10",
    "review 100 replaced files / git diff",
    "review --json new: 100 / 10",
    "append an event / bare SQLite",
    "read a blob / bare open, read, SHA-256",
    "digest 16 MiB / hashlib",
    "memory while digesting 16 MiB",
    "build after 30 runs / after 3",
    "undo after 30 runs / after 3",
    "status after 30 runs / after 3",
    "state per small run",
    "the same with plan and readable copies",
    "stage one by one: 10 / 1 calls",
    "state of 10 calls / of 1",
    "state per staged operation of 10",
    "first command in 200 files, processor time",
    "later command in 200 files: added processor time",
    "status with 4 sessions / with 2",
    "sessions list with 4 sessions / with 2",
    "-p with 4 sessions / with 2",
    "status with 4 runs / with 2",
    "runs list with 4 runs / with 2",
    "undo --dry-run with 4 runs / with 2",
    "-p with 4 runs / with 2",
    "undo with 4 runs / with 2",
    "confined true: added",
    "true in a scratch copy: added",
    "true in a scratch copy of 200 files / of 100",
    "10 changes read back",
    "the same beside 100 ignored files",
    "memory: command 22 over command 20",
    "rehearsal of 10 new files / apply",
    "first true in a real copy of 200 files",
    "first byte of a first request / bare Python",
    "gap per step, 3 steps / http.client",
    "the same at 2,000 tokens / http.client",
    "first byte of `assent -p` / bare Python",
    "gap per step of `assent -p`, 3 steps",
    "the same at 2,000 tokens / at the start",
    "own time of step 12 / of step 10",
    "first `grep` in a fresh state folder: added",
    "gap per edit of a 2,000-line file",
    "the same in auto-edit",
    "memory of one turn",
    "first request of the plan agent, tokens",
    "fixed part at its largest, median story",
    "ready: first answer of `assent serve` / bare Python",
    "5 sessions at once: turns/s / opencode serve",
    "delivery p95, 20 subscribers / 2",
    "turns/s with 20 subscribers / without",
    "the same, without compression",
)


@pytest.mark.slow
def test_it_measures_everything_and_leaves_nothing(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "bench.run", "--quick", "--dir", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8")
    assert (done.returncode, done.stderr) == (0, "")
    measured = [line.partition("  ")[0] for line in done.stdout.splitlines()]
    assert [row for row in ROWS if row not in measured] == []
    assert "Missed bars:" in done.stdout or "Every bar is met." in done.stdout
    assert list(tmp_path.iterdir()) == []


# If a reference has to change, all earlier figures that name it are void: say so where it does.
FROZEN = {
    "client_reference.py": "66f39fb4bc40f5b82bb7baa3202575012bd5beafed029d3906534742803d74ae",
    "apply_reference.py": "968100133daa378e1055924a2ed8f1a9c4abe9b585c3ee3a2df820cf10fff2eb",
}


@pytest.mark.parametrize("name", FROZEN)
def test_reference_clients_are_frozen(name: str) -> None:
    assert hashlib.sha256((ROOT / "bench" / name).read_bytes()).hexdigest() == FROZEN[name]


def test_what_is_compared_takes_turns_and_the_best_counts() -> None:
    turns: list[str] = []
    ours, theirs = iter((3.0, 1.0, 2.0)), iter((6.0, 5.0, 4.0))

    def one() -> float:
        turns.append("ours")
        return next(ours)

    def other() -> float:
        turns.append("theirs")
        return next(theirs)

    assert best(3, one, other) == [1.0, 4.0]
    assert turns == ["ours", "theirs"] * 3


@pytest.mark.parametrize(
    ("figure", "verdict"),
    [
        (Figure("apply", 1.3, 1.0, at_most(1.3)), "met"),
        (Figure("apply", 1.31, 1.0, at_most(1.3)), "MISSED"),
        (Figure("digest", 91.0, 100.0, at_least(0.9), "speed"), "met"),
        (Figure("digest", 89.0, 100.0, at_least(0.9), "speed"), "MISSED"),
        (Figure("memory", 7.9, None, within(8), "memory"), "met"),
        (Figure("memory", 8.1, None, within(8), "memory"), "MISSED"),
        (Figure("no bar", 9.0, 1.0), ""),
        (Figure("nothing to compare with", 9.0, None, at_most(3)), ""),
    ],
)
def test_a_bar_is_met_or_missed(figure: Figure, verdict: str) -> None:
    assert (figure.verdict, figure.missed) == (verdict, verdict == "MISSED")


def test_a_missed_bar_is_named_with_its_ratio() -> None:
    figure = Figure("apply 10 files / bare", 0.02, 0.01, at_most(1.3))
    cells = ["20.00", "ms", "10.00", "ms", "2.00", "x", "≤", "1.30", "x", "MISSED"]
    assert figure_line(figure).split() == [*figure.name.split(), *cells]
    assert missed_line(figure) == "apply 10 files / bare: 2.00 x, bar ≤ 1.30 x"


def test_an_absolute_bar_says_so_and_is_missed_by_the_value() -> None:
    figure = Figure("confined true: added", 0.04, 0.01, within(0.03))
    cells = ["40.00", "ms", "10.00", "ms", "4.00", "x", "≤", "30.00", "ms", "absolute", "MISSED"]
    assert figure_line(figure).split() == [*figure.name.split(), *cells]
    assert missed_line(figure) == "confined true: added: 40.00 ms, bar ≤ 30.00 ms absolute"


class LoggedSocket(socket.socket):
    """A real socket that receives pieces of given sizes, and logs when it receives and sends."""

    def __init__(self, fileno: int, log: list[str], sizes: list[int]) -> None:
        super().__init__(fileno=fileno)
        self._log, self._sizes = log, sizes

    def recv(self, size: int, flags: int = 0) -> bytes:
        piece = super().recv(self._sizes.pop(0) if self._sizes else size, flags)
        self._log.append(f"received {len(piece)}")
        return piece

    def sendall(self, data: bytes, flags: int = 0) -> None:
        self._log.append("sent")
        super().sendall(data, flags)


def test_a_gap_starts_before_the_answer_and_ends_with_the_whole_request() -> None:
    log: list[str] = []

    def clock() -> float:
        log.append("clock")
        return log.count("clock")

    client, server = socket.socketpair()
    request = b"POST /loop/9/v1 HTTP/1.1\r\nContent-Length: 4\r\n\r\nbody"
    notes = b"GET /gaps HTTP/1.1\r\n\r\n"
    pieces = [10, len(request) - 12, 2]
    with client, LoggedSocket(server.detach(), log, pieces * 2 + [len(notes)]) as serving:
        client.sendall(request * 2 + notes)
        client.shutdown(socket.SHUT_WR)
        ModelServer(clock).serve(serving)
        received = client.recv(1 << 16)
    first, between, last = (f"received {size}" for size in pieces)
    assert log == [
        *(first, "clock", between, last, "clock", "sent"),  # the first byte; a gap starts
        *(first, between, last, "clock", "clock", "sent"),  # it ends; the next one starts
        *(f"received {len(notes)}", "sent", "received 0"),
    ]
    told = json.loads(received.rpartition(b"\r\n\r\n")[2])
    assert told == {"gaps": [1], "first": 1, "size": 4}


def test_the_reference_keeps_a_history_that_reads_as_if_encoded_at_once() -> None:
    with model_server() as port:
        client = ReferenceClient(port, "/loop/2/v1")
        before = client.body
        assert [client.step(lambda args: args["path"]) for _ in range(3)] == [True, True, False]
        client.close()
        assert server_notes(port)["size"] > len(before)
    kept = before.removesuffix(b"]}")
    assert client.body.startswith(kept)
    system, *rest = json.loads(client.body)["messages"]
    assert system == {"role": "system", "content": SYSTEM}
    roles = ["assistant", "tool", "assistant", "tool", "assistant"]
    assert [message["role"] for message in rest] == roles
    results = {"call_1": "src/a.py", "call_2": "src/a.py"}
    found = {m["tool_call_id"]: m["content"] for m in rest if m["role"] == "tool"}
    assert found == results


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "calls", "options"),
    [
        ("loop/25", 25, ()),
        ("pages/5", 5 + LAST, ()),
        ("edits/5", 5, ()),
        ("edits/5", 5, ("--mode", "auto-edit")),
    ],
)
def test_every_call_that_is_timed_succeeds(
    tmp_path: Path, kind: str, calls: int, options: tuple[str, ...]
) -> None:
    root = make_workspace(tmp_path / "workspace")
    write_pages(root, 5, 8_000)
    write_big_file(root)
    env = {"XDG_STATE_HOME": str(tmp_path / "state"), "XDG_CONFIG_HOME": str(tmp_path / "config")}
    with model_server() as port:
        lines = run_turn(root, port, kind, "--output-format", "stream-json", *options, env=env)
        last_gap(port, calls, 8_000 if kind == "pages/5" else 0)
    events = [json.loads(line) for line in lines.splitlines()]
    ended = [event["body"]["result"] for event in events if event["kind"] == "call_ended"]
    assert [result["failed"] for result in ended] == [False] * calls


def test_a_history_that_did_not_grow_is_not_measured() -> None:
    with model_server() as port:
        client = ReferenceClient(port, "/loop/3/v1")
        while client.step(lambda args: "short"):
            pass
        client.close()
        with pytest.raises(AssertionError, match="3 gaps, a last request of"):
            last_gap(port, 3, 8_000)
