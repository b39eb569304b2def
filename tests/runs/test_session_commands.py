"""Law 5 for commands outside plan mode: on record before, and after with what they changed."""

from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest
from tests.runs.test_permits import apply, session, undo, write
from tests.support.engine import World
from tests.support.session import NoProcess

from assent.app.engine import Engine
from assent.core.digest import sha256
from assent.core.errors import Busy, Refused
from assent.core.event import CommandEnded, CommandStarted
from assent.core.permission.mode import Mode
from assent.core.plan.operation import DeleteFile, FileState, WriteFile
from assent.core.run.workspace_changes import SnapshotLimits, WorkspaceChanges, decode_changes
from assent.core.shell.process import CommandSpec, OutputChunk, ProcessLimits, ProcessResult
from assent.core.tool import CommandEffect, SessionCommandRequest, ToolOutcome
from assent.runs.command_end import ChangedFile, changed_files_text
from assent.runs.session_commands import CommandStream, SessionCommands
from assent.store.locks import FileLocks

OK = (OutputChunk(b"out\n"), OutputChunk(b"err\n", error=True), ProcessResult(0))


class Scripted(NoProcess):
    """Implements ports.ProcessRunner: a command does what the test says, and ends as it says."""

    def __init__(self, act: Callable[[], object], *parts: OutputChunk | ProcessResult) -> None:
        self._act = act
        self._parts = parts or OK
        self.ran: list[tuple[str, bytes, float, bool]] = []

    def run_command(
        self, errand: CommandSpec, folder: bytes, limits: ProcessLimits, *, confined: bool = True
    ) -> Iterator[OutputChunk | ProcessResult]:
        self.ran.append((errand.line, folder, limits.seconds, confined))
        self._act()
        yield from self._parts


def verb(engine: Engine) -> SessionCommands:
    return SessionCommands(engine._ports, engine.permits._config, engine.runs)


def order(engine: Engine, line: str = "make", *, mode: Mode = "auto-edit") -> SessionCommandRequest:
    record = msgspec.structs.replace(session(engine), mode=mode)
    return SessionCommandRequest(
        record, "c1", CommandEffect(line, seconds=7), "answer", "yes, once"
    )


def done(engine: Engine, process: Scripted, line: str = "make") -> ToolOutcome:
    return finished_by(verb(engine).run(order(engine, line), process))


def finished_by(running: CommandStream) -> ToolOutcome:
    while True:
        try:
            next(running)
        except StopIteration as end:
            outcome: ToolOutcome = end.value
            return outcome


def recorded(engine: Engine) -> list[CommandStarted | CommandEnded]:
    ledger = engine.plans.repository()
    events = [each.event for each in engine._ports.store.read(ledger.permit_stream)]
    return [event for event in events if isinstance(event, CommandStarted | CommandEnded)]


def touch(root: Path, content: str = "new\n") -> Callable[[], object]:
    def act() -> None:
        (root / "made.txt").write_text(content, encoding="utf-8")
        (root / "old.txt").unlink()
        (root / ".git").mkdir()
        (root / ".git" / "config").write_text("x", encoding="utf-8")

    return act


def test_a_command_is_on_record_before_and_after_with_what_it_changed(world: World) -> None:
    world.put({"old.txt": b"old\n", "same.txt": b"same\n"})
    engine = world.engine()
    during: list[CommandStarted | CommandEnded] = []

    def act() -> None:
        during.extend(recorded(engine))
        touch(world.root)()

    process = Scripted(act, OutputChunk(b"built\n"), ProcessResult(2))
    outcome = done(engine, process)
    begun, ended = recorded(engine)
    assert isinstance(begun, CommandStarted)
    assert begun == CommandStarted(
        begun.id, "s1", "c1", "make", "", "answer", "yes, once", confined=True, turn=1,
        before=begun.before,
    )  # fmt: skip
    assert during == [begun]
    changed = ("made.txt", "old.txt")
    assert isinstance(ended, CommandEnded)
    assert ended == CommandEnded(begun.id, 2, changed=changed, changes=ended.changes)
    old, new = FileState(sha256(b"old\n"), 4, 0o644), FileState(sha256(b"new\n"), 4, 0o644)
    assert decode_changes(engine._ports.blobs.read(ended.changes)) == WorkspaceChanges(
        (DeleteFile(b"old.txt", old), WriteFile(b"made.txt", None, new))
    )
    assert engine._ports.blobs.read(old.digest) == b"old\n"
    assert engine._ports.blobs.read(new.digest) == b"new\n"
    assert process.ran == [("make", bytes(world.root), 7, True)]
    assert outcome == ToolOutcome(
        "built\n[Exit code 2.]\n[Files: made.txt (new), old.txt (gone).]",
        "make",
        failed=True,
        metadata={"exit": 2, "command": begun.id, "changed": list(changed)},
    )


def test_a_command_that_changes_nothing_says_so(world: World) -> None:
    engine = world.engine()
    outcome = done(engine, Scripted(lambda: None))
    assert (outcome.failed, outcome.text) == (
        False,
        "out\nerr\n[It changed no files in the workspace.]",
    )


def test_in_plan_mode_no_command_runs_whoever_said_yes(world: World) -> None:
    engine = world.engine()
    process = Scripted(lambda: None)
    with pytest.raises(Refused, match="Plan mode allows only read-only"):
        next(verb(engine).run(order(engine, mode="plan"), process))
    assert (process.ran, recorded(engine)) == ([], [])


@pytest.mark.parametrize("folder", [b"../out", b"/etc", b"a/../.."])
def test_a_command_runs_in_the_workspace_only(world: World, folder: bytes) -> None:
    engine = world.engine()
    wanted = msgspec.structs.replace(order(engine), command=CommandEffect("ls", folder))
    with pytest.raises(Refused, match="workspace"):
        next(verb(engine).run(wanted, Scripted(lambda: None)))


def test_a_refusal_is_recorded_as_one_that_changed_nothing(world: World) -> None:
    def refuse() -> None:
        raise Refused("There is no sandbox.", "assent doctor")

    engine = world.engine()
    with pytest.raises(Refused, match="no sandbox"):
        done(engine, Scripted(refuse))
    begun, ended = recorded(engine)
    assert ended == CommandEnded(begun.id, 126, "start", ())
    assert engine.runs.unfinished_command() is None


def test_a_command_that_is_stopped_is_recorded_with_what_it_did(world: World) -> None:
    world.put({"old.txt": b"old\n"})
    engine = world.engine()
    running = verb(engine).run(order(engine), Scripted(touch(world.root)))
    assert next(running) == OutputChunk(b"out\n")
    running.close()
    begun, ended = recorded(engine)
    assert isinstance(ended, CommandEnded)
    changed = ("made.txt", "old.txt")
    assert ended == CommandEnded(begun.id, 130, "interrupted", changed, changes=ended.changes)
    assert len(decode_changes(engine._ports.blobs.read(ended.changes)).operations) == len(changed)


def test_after_a_crash_the_command_is_known_to_have_begun(world: World) -> None:
    """The machine stops before the end is written: nobody knows what the command did."""
    engine = world.engine()
    seen: list[CommandStarted | None] = []
    done(engine, Scripted(lambda: seen.append(engine.runs.unfinished_command())))
    begun, _ = recorded(engine)
    assert seen == [begun]
    assert engine.runs.unfinished_command() is None


def test_no_build_and_no_other_command_runs_meanwhile(world: World, tmp_path: Path) -> None:
    world.locks = FileLocks(tmp_path / "locks")
    engine = world.engine()

    def meanwhile() -> None:
        with pytest.raises(Busy, match="session talk"):
            done(engine, Scripted(lambda: None))
        with pytest.raises(Busy, match="session talk"):
            apply(engine, write("a.txt", None, b"a\n"))

    assert not done(engine, Scripted(meanwhile)).failed


def test_permits_and_commands_share_a_stream_and_undo_still_finds_its_run(world: World) -> None:
    engine = world.engine()
    done(engine, Scripted(lambda: None))
    apply(engine, write("a.txt", None, b"a\n"))
    done(engine, Scripted(lambda: None))
    ledger = engine.plans.repository()
    assert [run.outcome for run in ledger.permit_runs()] == ["done"]
    assert ledger.permit_log().unfinished is None
    assert undo(engine).outcome == "done"


def test_where_there_are_too_many_files_nobody_claims_to_know(world: World) -> None:
    assert changed_files_text(None).startswith("Some of its changes are unknown")
    many = tuple(ChangedFile(b"%03d" % number, "new") for number in range(25))
    assert changed_files_text(many).endswith("019 (new), and 5 more.")
    quiet = tuple(ChangedFile(b"out/%d" % number, "new", ignored=True) for number in range(30))
    assert changed_files_text(quiet[:1]) == "It changed only 1 file that Git ignores."
    assert changed_files_text((ChangedFile(b"a", "changed"), *quiet)) == (
        "Files: a (changed). It also changed 30 files that Git ignores."
    )
    engine = world.engine()
    world.put({"a": b"1", "b": b"2"})
    place = msgspec.structs.replace(engine.permits._config, snapshot_limits=SnapshotLimits(files=1))
    outcome = finished_by(
        SessionCommands(engine._ports, place, engine.runs).run(
            order(engine), Scripted(lambda: (world.root / "a").unlink())
        )
    )
    assert "Some of its changes are unknown" in outcome.text
    end = recorded(engine)[-1]
    assert isinstance(end, CommandEnded)
    assert end.changed is None
    kept = decode_changes(engine._ports.blobs.read(end.changes))
    assert kept == WorkspaceChanges(
        (DeleteFile(b"a", FileState(sha256(b"1"), 1, 0o644)),), known=False
    )
    assert undo(engine).outcome == "done"
    assert (world.root / "a").read_bytes() == b"1"
