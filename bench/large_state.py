"""How whole commands feel in a workspace with a long past: many sessions, or many runs.

The pasts are made by the library itself. Figures are processor time, user and system, of the
program from its start to its end: most of that is the start, which is what a person waits for.
"""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

from bench.figure import Figure, at_most
from bench.model_server import model_server
from bench.pace import Action, Scale, best
from bench.startup import ASSENT

from assent.agent.session_repository import SessionRepository
from assent.app.composition import open_engine
from assent.app.engine import Engine
from assent.core.digest import sha256
from assent.core.llm import StopReason, TextPart, TokenUsage
from assent.core.plan.operation import FileState, WriteFile
from assent.core.run.journal import drive_to_end
from assent.core.session.event import PartSaid, StepEnded, StepStarted, TurnEnded, TurnStarted
from assent.core.tool import EditEffect

FLAT = at_most(1.3)
UNDO_ROUNDS = 3  # each adds runs to a past that should stay short
TURN = ("-p", "Look around", "--model", "openai/m")
# No person is at a terminal here, and the whole folder is thrown away.
CONFIG = "[approve]\nwithout_terminal = true\n"


def large_state_figures(work: Path, scale: Scale) -> Iterator[Figure]:
    """Measures commands after many sessions and after many runs, against few of them."""
    config = work / "config" / "assent" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(CONFIG, encoding="utf-8")
    few = scale.past
    with model_server() as port:
        base = f"http://127.0.0.1:{port}/loop/0/v1"
        env = {**os.environ, "XDG_CONFIG_HOME": str(work / "config"), "OPENAI_BASE_URL": base}
        short, long = work / "few-sessions", work / "many-sessions"
        make_sessions(short, few)
        make_sessions(long, scale.sessions)
        for line in (("status",), ("sessions", "list"), TURN):
            ours, theirs = best(scale.rounds, _cost(long, env, *line), _cost(short, env, *line))
            yield Figure(_name(line, scale.sessions, few, "sessions"), ours, theirs, FLAT)
        short, long = work / "few-runs", work / "many-runs"
        make_runs(short, few)
        make_runs(long, scale.runs)
        for line in (("status",), ("runs", "list"), ("undo", "--dry-run"), TURN):
            ours, theirs = best(scale.rounds, _cost(long, env, *line), _cost(short, env, *line))
            yield Figure(_name(line, scale.runs, few, "runs"), ours, theirs, FLAT)
        ours, theirs = best(min(UNDO_ROUNDS, scale.rounds), _undo(long, env), _undo(short, env))
        yield Figure(_name(("undo",), scale.runs, few, "runs"), ours, theirs, FLAT)


def _name(line: tuple[str, ...], many: int, few: int, noun: str) -> str:
    command = "-p" if line is TURN else " ".join(line)
    return f"{command} with {many:,} {noun} / with {few:,}"


def _cost(folder: Path, env: dict[str, str], *line: str) -> Action:
    """Returns what runs a command, and returns the processor time that it took."""
    return lambda: _ran(folder, env, *line)[0]


def _undo(folder: Path, env: dict[str, str]) -> Action:
    """Undoes the newest run, and redoes it afterwards, so that there is one to undo again."""

    def approved(command: str) -> float:
        shown = json.loads(_ran(folder, env, command, "--dry-run", "--json")[1])
        return _ran(folder, env, command, "--digest", shown["digest"])[0]

    def undo() -> float:
        seconds = approved("undo")
        approved("redo")
        return seconds

    return undo


def _ran(folder: Path, env: dict[str, str], *line: str) -> tuple[float, bytes]:
    with subprocess.Popen(
        [ASSENT, *line],
        cwd=folder,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        assert process.stdout is not None
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise AssertionError(f"{' '.join(line)} ended with {process.returncode}.")
    return usage.ru_utime + usage.ru_stime, output


GOAL = "Look at part {} of the program and say what it does"


def make_sessions(root: Path, count: int) -> None:
    """Makes a workspace with sessions of one turn in plan mode, each with its own plan."""
    engine = _opened(root)
    for number in range(count):
        record = engine.sessions.start(GOAL.format(number), "plan")
        _repository(engine).append(
            record,
            TurnStarted(1),
            StepStarted(1, "plan", "openai/m", "plan"),
            PartSaid(TextPart("It reads a file.")),
            StepEnded(StopReason.END, TokenUsage(2_000, 40)),
            TurnEnded("end"),
        )
    engine.close()


def make_runs(root: Path, count: int) -> None:
    """Makes a workspace in which files were written: by built plans, and by edits of a session."""
    engine = _opened(root)
    session = engine.sessions.start("Write files", "auto-edit")
    for number in range(count):
        path, content = b"f%d" % number, b"%d\n" % number
        if number % 2:
            state = FileState(sha256(content), len(content), 0o644)
            edit = EditEffect((WriteFile(path, None, state),), {state.digest: content})
            session = _repository(engine).append(session, TurnStarted(number))[0]
            engine.permits.apply(session, f"call{number}", edit, "mode", "auto-edit")
            session = _repository(engine).append(session, TurnEnded("end"))[0]
            continue
        record = engine.plans.new(f"plan-{number}", goal=f"Write file {number}")
        record = engine.drafts.write(record, path, [content], None).record
        record = engine.approvals.propose(record)
        engine.approvals.approve(record, record.digest, "", "bench")
        drive_to_end(engine.runs.build(record.plan_id))
    engine.close()


def _opened(root: Path) -> Engine:
    (root / ".git").mkdir(parents=True)
    return open_engine(os.fspath(root))[0]


def _repository(engine: Engine) -> SessionRepository:
    return engine.sessions.repository()
