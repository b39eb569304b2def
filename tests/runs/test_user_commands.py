"""Commands that a person types in a face: with their rights, on record, for the model to read."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.house.source import modules, nodes
from tests.runs.test_permits import undo
from tests.runs.test_session_commands import Scripted, finished_by, recorded
from tests.sandbox.profiles import left_over, long_time
from tests.support.engine import World
from tests.support.session import Script, work
from tests.support.threads import Worker, plain_process

from assent.app.engine import Engine
from assent.core.errors import Busy, Refused
from assent.core.event import CommandEnded, CommandStarted
from assent.core.llm import TextPart
from assent.core.session.event import MessageAdded
from assent.core.session.record import SessionRecord
from assent.core.shell.process import CommandSpec, OutputChunk, ProcessLimits, ProcessResult
from assent.store.locks import FileLocks
from assent.tools.outcome import BYTES, KEPT_BYTES


def making(world: World) -> Scripted:
    def act() -> None:
        world.put({"made.txt": b"new\n"})

    return Scripted(act, OutputChunk(b"made\n"), ProcessResult(0))


def heard(engine: Engine, record: SessionRecord) -> list[str]:
    events = [one.event for one in engine.sessions.events(record)]
    said = [e for e in events if isinstance(e, MessageAdded) and e.synthetic == "shell"]
    return [part.text for event in said for part in event.parts if isinstance(part, TextPart)]


@pytest.mark.parametrize("mode", ["plan", "ask", "yolo"])
def test_it_runs_in_every_mode_with_the_person_s_rights_and_is_on_record(
    world: World, mode: str
) -> None:
    engine = world.engine()
    record = engine.sessions.start("Do it", mode)
    process = making(world)
    running = engine.session_commands.run_as_user(record, "make it", process)
    assert next(running) == OutputChunk(b"made\n")
    outcome = finished_by(running)
    begun, ended = recorded(engine)
    assert isinstance(begun, CommandStarted)
    assert begun == CommandStarted(
        begun.id, record.session, "", "make it", "", "person", "typed by tester", confined=False,
        turn=0, before=begun.before,
    )  # fmt: skip
    assert isinstance(ended, CommandEnded)
    assert (ended.code, ended.changed) == (0, ("made.txt",))
    [(line, folder, _, confined)] = process.ran
    assert (line, folder, confined) == ("make it", bytes(world.root), False)
    assert outcome.text == "made\n[Files: made.txt (new).]"


def test_the_model_reads_of_it_with_its_next_step_and_no_turn_begins(world: World) -> None:
    engine = world.engine()
    record = engine.sessions.start("Do it", "plan")
    finished_by(engine.session_commands.run_as_user(record, "make it", making(world)))
    [words] = heard(engine, record)
    assert words.endswith("\n\n$ make it\nmade\n[Files: made.txt (new).]")
    after = engine.sessions.load(record.session)
    assert (after.turns, after.working, after.messages) == (0, False, 1)
    script = Script("I see.")
    work(world, record, script)
    read = [part.text for message in script.prompts[0] for part in message.parts
            if isinstance(part, TextPart)]  # fmt: skip
    assert read[-1] == words


def test_secrets_are_taken_out_of_what_the_model_reads(world: World) -> None:
    engine = world.engine()
    record = engine.sessions.start("Do it", "plan")
    secret = "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3z0K"
    process = Scripted(lambda: None, OutputChunk(f"key={secret}\n".encode()), ProcessResult(0))
    finished_by(engine.session_commands.run_as_user(record, f"echo {secret}", process))
    [words] = heard(engine, record)
    assert secret not in words
    finished_by(
        engine.session_commands.run_as_user(
            record, "echo", Scripted(lambda: None), mask=lambda _: "masked"
        )
    )
    assert heard(engine, record)[1:] == ["masked"]


def test_it_needs_no_session_and_no_workspace_before(world: World) -> None:
    engine = world.engine()
    finished_by(engine.session_commands.run_as_user(None, "make it", making(world)))
    begun, _ = recorded(engine)
    assert isinstance(begun, CommandStarted)
    assert (begun.session, begun.turn) == ("", 0)


def test_an_undo_covers_it_alone_and_not_with_a_turn(world: World) -> None:
    engine = world.engine()
    record = engine.sessions.start("Do it", "yolo")
    work(world, record, Script([("write", {"path": "a.txt", "text": "a\n"})], "Done."))
    record = engine.sessions.load(record.session)
    finished_by(engine.session_commands.run_as_user(record, "make it", making(world)))
    assert [kept.how for kept in engine.history.all()] == ["run", "command"]
    undo(engine)
    assert world.files() == {"a.txt": b"a\n"}
    undo(engine)
    assert world.files() == {}


def test_what_does_not_run_tells_the_model_nothing(world: World) -> None:
    def refuse() -> None:
        raise Refused("There is no shell.", "assent doctor")

    engine = world.engine()
    record = engine.sessions.start("Do it", "plan")
    with pytest.raises(Refused, match="no shell"):
        finished_by(engine.session_commands.run_as_user(record, "x", Scripted(refuse)))
    assert heard(engine, record) == []
    assert isinstance(recorded(engine)[-1], CommandEnded)


def test_it_waits_while_somebody_builds(world: World, tmp_path: Path) -> None:
    world.locks = FileLocks(tmp_path / "locks", patience=0.01)
    engine = world.engine()
    record = engine.sessions.start("Do it", "plan")
    with (
        world.locks.hold(engine.workspace, "assent build"),
        pytest.raises(Busy, match="assent build"),
    ):
        finished_by(engine.session_commands.run_as_user(record, "make", making(world)))
    assert recorded(engine) == []


def test_f113_it_is_interrupted_from_another_thread(world: World) -> None:
    engine, mark = world.engine(), long_time()
    record = engine.sessions.start("Do it", "plan")
    line = f"echo begun; echo x > x.txt; sleep {mark}"
    assert not engine.session_commands.interrupt()
    worker = Worker(engine.session_commands.run_as_user(record, line, plain_process(world.root)))
    worker.until(lambda one: b"begun" in one.content)
    assert engine.session_commands.interrupt()
    worker.ended()
    assert left_over(mark) == []
    assert worker.result.text == (
        "begun\n[It was stopped early: interrupted.]\n[Exit code 130.]\n[Files: x.txt (new).]"
    )
    assert worker.result.text in heard(engine, record)[0]
    assert not engine.session_commands.interrupt()


def test_who_goes_away_ends_it_and_the_model_hears_of_it(world: World) -> None:
    engine, mark = world.engine(), long_time()
    record = engine.sessions.start("Do it", "plan")
    running = engine.session_commands.run_as_user(
        record, f"echo begun; sleep {mark}", plain_process(world.root)
    )
    next(running)
    running.close()
    assert left_over(mark) == []
    assert "interrupted" in heard(engine, record)[0]


class Chatty(Scripted):
    """Implements ports.ProcessRunner: says much more than anybody keeps."""

    def run_command(
        self, errand: CommandSpec, folder: bytes, limits: ProcessLimits, *, confined: bool = True
    ) -> Iterator[OutputChunk | ProcessResult]:
        for _ in range(12):
            yield OutputChunk(b"x" * (1 << 20))
        yield ProcessResult(0)


def test_what_it_says_is_bounded(world: World) -> None:
    engine = world.engine()
    record = engine.sessions.start("Do it", "plan")
    outcome = finished_by(engine.session_commands.run_as_user(record, "yes", Chatty(lambda: None)))
    assert f"[The first {12582912 - KEPT_BYTES} bytes were dropped.]" in outcome.text
    assert len(heard(engine, record)[0]) < 60_000


TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


class Telling(Scripted):
    """Implements ports.ProcessRunner: a token lies where the model's part of the output begins."""

    def run_command(
        self, errand: CommandSpec, folder: bytes, limits: ProcessLimits, *, confined: bool = True
    ) -> Iterator[OutputChunk | ProcessResult]:
        yield OutputChunk(f"{'x ' * 50_000}{TOKEN} {'y ' * (BYTES // 2 - 9)}".encode())
        yield ProcessResult(0)


def test_no_half_of_a_secret_is_told_where_the_output_is_cut(world: World) -> None:
    engine = world.engine()
    record = engine.sessions.start("Do it", "plan")
    finished_by(engine.session_commands.run_as_user(record, "yes", Telling(lambda: None)))
    (told,) = heard(engine, record)
    assert "y y y" in told
    assert not any(TOKEN[at : at + 8] in told for at in range(len(TOKEN) - 7))


def test_no_tool_no_driver_and_no_session_can_get_there() -> None:
    callers = [
        path
        for path, tree in modules().items()
        for node in nodes(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "run_as_user"
    ]
    assert callers == ["tui/shell_controller.py"]
