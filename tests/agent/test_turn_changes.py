"""F149: what each turn of a session changed: files, lines, and the diffs themselves."""

from pathlib import Path

import pytest
from tests.runs.test_permits import undo
from tests.runs.test_session_commands import Scripted, finished_by
from tests.support.engine import World
from tests.support.session import PRESENTS, Script, work
from tests.support.subagents import Family, task

from assent.app.engine import Engine
from assent.core.errors import NotFound
from assent.core.run.journal import drive_to_end
from assent.core.session.record import SessionRecord
from assent.core.shell.process import OutputChunk, ProcessResult
from assent.core.tool import CommandEffect, SessionCommandRequest
from assent.render.turn_changes import TurnChanges


@pytest.fixture
def family(tmp_path: Path) -> Family:
    return Family(tmp_path)


def wrote(path: str, text: str) -> list[tuple[str, dict[str, object]]]:
    return [("write", {"path": path, "text": text})]


def counted(turns: list[TurnChanges]) -> list[tuple[int, int, int, int]]:
    return [(one.turn, len(one.files), one.additions, one.deletions) for one in turns]


def summary(world: World, record: SessionRecord) -> list[TurnChanges]:
    return world.engine().turn_changes.turns(record)


def test_f149_files_and_lines_of_each_turn(world: World) -> None:
    world.put({"a.txt": b"one\ntwo\n", "c.txt": b"gone\n"})
    record = world.engine().sessions.start("Change it", "yolo")
    script = Script(wrote("a.txt", "one\nTWO\nthree\n"), wrote("b.txt", "b\n"), "Done.")
    record = work(world, record, script)
    record = work(world, world.engine().sessions.say(record, "Why?"), Script("Because."))
    delete = Script([("delete", {"path": "c.txt"})], "Done.")
    record = work(world, world.engine().sessions.say(record, "Delete  it"), delete)
    turns = summary(world, record)
    assert counted(turns) == [(1, 2, 3, 1), (2, 0, 0, 0), (3, 1, 0, 1)]
    assert [one.said for one in turns] == ["Change it", "Why?", "Delete it"]
    diffs = [file.diff or "" for file in turns[0].files]
    assert "-two\n+TWO\n+three\n" in diffs[0]
    assert "+++ b/b.txt" in diffs[1]
    assert world.engine().turn_changes.turn(record, 3) == turns[2]
    with pytest.raises(NotFound, match="no turn 4"):
        world.engine().turn_changes.turn(record, 4)


def test_f149_two_edits_of_one_file_count_as_what_they_come_to(world: World) -> None:
    record = world.engine().sessions.start("Change it", "yolo")
    script = Script(wrote("a.txt", "one\n"), wrote("a.txt", "two\n"), "Done.")
    record = work(world, record, script)
    assert counted(summary(world, record)) == [(1, 1, 1, 0)]


def test_f149_what_was_undone_is_marked(world: World) -> None:
    record = world.engine().sessions.start("Change it", "yolo")
    script = Script(wrote("a.txt", "one\n"), wrote("b.txt", "two\n"), "Done.")
    record = work(world, record, script)
    undo(world.engine(), summary(world, record)[0].runs[0])
    assert summary(world, record)[0].undone == "some"
    undo(world.engine(), summary(world, record)[0].runs[1])
    assert summary(world, record)[0].undone == "all"


def test_f149_the_build_of_a_plan_counts_for_the_turn_that_presented_it(world: World) -> None:
    engine = world.engine()
    record = engine.sessions.start("Plan it", "plan")
    record = work(world, record, Script([*wrote("a.txt", "a\n"), *PRESENTS]))
    plan = engine.plans.find(record.plan_id)
    engine.approvals.approve(plan, plan.digest, "", "test")
    assert counted(summary(world, record)) == [(1, 0, 0, 0)]
    drive_to_end(engine.runs.build(plan.plan_id))
    assert counted(summary(world, record)) == [(1, 1, 1, 0)]


def ran(engine: Engine, record: SessionRecord, world: World, path: str) -> None:
    def act() -> None:
        world.put({path: b"made\n"})

    order = SessionCommandRequest(record, "c1", CommandEffect("make"), "answer", "yes")
    finished_by(
        engine.session_commands.run(order, Scripted(act, OutputChunk(b"made\n"), ProcessResult(0)))
    )


def test_f149_commands_of_calls_count_and_those_of_the_person_do_not(world: World) -> None:
    engine = world.engine()
    record = work(world, engine.sessions.start("Run it", "yolo"), Script("Done."))
    ran(engine, record, world, "made.txt")

    def own() -> None:
        world.put({"mine.txt": b"mine\n"})

    finished_by(
        engine.session_commands.run_as_user(record, "make", Scripted(own, ProcessResult(0)))
    )
    [turn] = summary(world, record)
    assert [file.operation.path for file in turn.files] == [b"made.txt"]
    assert (turn.additions, turn.deletions) == (1, 0)


def test_f149_what_children_did_counts_for_the_turn_that_started_them(family: Family) -> None:
    write = [("write", {"path": "a.txt", "content": "a\n"})]
    root = family.play("yolo", main=[[task("Write", "general")], "Done."], general=[write, "Done."])
    assert counted(family.engine.turn_changes.turns(root)) == [(1, 1, 1, 0)]


def test_f149_a_file_that_is_no_text_is_counted_without_lines(world: World) -> None:
    record = world.engine().sessions.start("Change it", "yolo")
    record = work(world, record, Script(wrote("a.bin", "\0\1"), "Done."))
    [turn] = summary(world, record)
    assert [(file.diff, file.additions) for file in turn.files] == [(None, 0)]
