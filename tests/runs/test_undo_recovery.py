"""Law 8: which undo a run carried out is known from the record, so its end is told rightly."""

import tempfile

import msgspec
import pytest
from hypothesis import event, example, given, settings
from tests.agent.test_text_plan_builds import build_with_edits, load
from tests.runs.test_permits import apply, write
from tests.runs.test_runs_with_commands import built, script, site
from tests.runs.test_runs_with_commands import write as staged
from tests.runs.test_undo_file_kinds import AWAY, FOLDER, STEPS, TO_LINK, Step, act
from tests.runs.test_undo_file_kinds import world as laid_out
from tests.runs.test_undo_turns import command, put
from tests.support.engine import World

from assent.app.engine import Engine
from assent.core.event import PlanCreated
from assent.core.plan.operation import RunCommand
from assent.core.run.journal import drive_to_end
from assent.core.undo import AppliedChange
from assent.executor.disk import Disk
from assent.runs.run_status import NO_RUN, RunReport
from assent.runs.undo.history import skipped_operations
from assent.runs.undo.service import UndoPlan
from assent.store.hash_chain import decode_event
from assent.testing.engine_fixture import EngineFixture, open_engine_fixture
from assent.testing.memory_workspace import SimulatedCrash

__all__ = ["site"]  # a fixture of another file


def recalled(engine: Engine, report: RunReport) -> tuple[UndoPlan, RunReport]:
    found = engine.undo.recorded(report)
    assert found is not None
    return found


def same(engine: Engine, undo: UndoPlan) -> RunReport:
    """Carries out an undo, and compares it with what is recalled of it afterwards."""
    report = drive_to_end(engine.undo.apply(undo, "test"))
    plain = engine.runs.report(engine.plans.repository(), report.run, undo.plan)
    found, told = recalled(engine, plain)
    assert told == report
    # The plan that is taken back has gone on in the meantime, if it was an undo itself.
    of_then = msgspec.structs.replace(found.target, record=undo.target.record)
    assert msgspec.structs.replace(found, target=of_then) == undo
    return report


@settings(max_examples=60, deadline=None)
@given(STEPS, STEPS, STEPS, STEPS)
@example(FOLDER, TO_LINK, [], [])
@example(FOLDER, AWAY, [], [("write", "e/x", b"mine")])
@example(FOLDER, [], AWAY, [("remove", "d/x", b"")])
def test_law_8_an_undo_and_its_redo_are_recalled_as_they_were_shown(
    before: list[Step], one: list[Step], two: list[Step], mine: list[Step]
) -> None:
    with tempfile.TemporaryDirectory() as base:
        there = laid_out(base, before, one, two)
        engine = there.opened()
        drive_to_end(engine.runs.build(there.approved(0, 0)))
        act(mine, there.root)
        undo = engine.undo.preview()
        event(f"left alone: {bool(undo.inversion.conflicts)}")
        if not undo.plan.operations:
            return
        same(engine, undo)
        redo = engine.undo.redo()
        if redo.plan.operations:
            same(engine, redo)


def test_law_8_a_turn_a_part_of_it_and_a_single_operation_are_recalled(world: World) -> None:
    world.put({"a": b"1", "b": b"1"})
    engine = world.engine()
    apply(engine, write("a", b"1", b"2"))
    name = command(engine, put(world, {"a": b"3", "b": b"2"}))
    apply(engine, write("a", b"3", b"4"))
    same(engine, engine.undo.preview(operation="3"))
    same(engine, engine.undo.preview(name))
    same(engine, engine.undo.redo())
    same(engine, engine.undo.preview())
    same(engine, engine.undo.redo())
    assert world.files() == {"a": b"3", "b": b"2"}


def test_law_8_a_build_by_a_model_is_recalled(world: World) -> None:
    record = load(world, build_with_edits(world))
    engine = world.engine()
    assert record.building is not None
    same(engine, engine.undo.preview(record.building.run))
    same(engine, engine.undo.redo())


def test_law_8_commands_with_an_undo_of_their_own_are_recalled(site: EngineFixture) -> None:
    engine = open_engine_fixture(site)
    steps = script("echo 1 >> log.txt", "echo first > log.txt"), script("rm in.txt")
    built(engine, staged("new.txt", "new\n"), *steps, staged("mine.txt", "other\n"))
    report = same(engine, engine.undo.preview())
    assert {result for _, result in report.operations} == {"undone"}
    same(engine, engine.undo.redo())


class Dying(Disk):
    """A disk whose process is gone before the second exchange of two files."""

    left = 1

    def rename_exchange(self, one: bytes, one_at: int, other: bytes, other_at: int) -> None:
        if not one.startswith(b"probe"):
            if not self.left:
                raise SimulatedCrash
            self.left -= 1
        super().rename_exchange(one, one_at, other, other_at)


@pytest.mark.parametrize("settles", [False, True])
def test_law_8_what_was_cut_is_told_in_terms_of_what_it_takes_back(
    world: World, *, settles: bool
) -> None:
    world.put({"a": b"1", "b": b"1"})
    run = world.build(world.approve({"a": b"2", "b": b"2"})).run
    dying = world.engine(disk=Dying()).undo
    with pytest.raises(SimulatedCrash):
        drive_to_end(dying.apply(dying.preview(), "test"))
    engine = world.engine()
    if settles:
        settled = drive_to_end(engine.runs.recover_unfinished())
        assert settled is not None
        (told,) = engine.warnings
        assert told == (
            f"Run {settled.run}, which undoes run {run}, was interrupted; it is now done."
        )
        return
    undone, report = recalled(engine, drive_to_end(engine.runs.recover()))
    assert (undone.run, engine.undo.next_command(undone, report)) == (run, "assent redo")
    assert [result for _, result in report.operations] == ["undone", "undone"]
    assert [op.path for op in undone.originals] == [b"a", b"b"]
    assert world.files() == {"a": b"1", "b": b"1"}


def test_no_undo_is_recalled_of_a_run_that_is_none(world: World) -> None:
    engine = world.engine()
    assert engine.undo.recorded(NO_RUN) is None
    assert engine.undo.recorded(world.build(world.approve({"a": b"2"}))) is None


def half_undone(world: World) -> tuple[Engine, RunReport]:
    """Takes back a run of two operations, one of which has to be left alone."""
    world.put({"a": b"1", "b": b"1"})
    world.build(world.approve({"a": b"2", "b": b"2"}))
    world.put({"a": b"mine"})
    engine = world.engine()
    return engine, drive_to_end(engine.undo.apply(engine.undo.preview(), "test"))


def test_law_8_why_an_undo_leaves_something_alone_is_on_record(world: World) -> None:
    engine, report = half_undone(world)
    (record,) = [one for one in engine.plans.repository().all() if one.undoes]
    assert record.left_alone == ((report.operations[0][0], "a changed after the run"),)


def test_an_old_record_still_tells_what_was_left_alone_but_not_why(world: World) -> None:
    engine, _ = half_undone(world)
    ledger = engine.plans.repository()
    undo, done = sorted(ledger.all(), key=lambda one: not one.undoes)
    (note,), plan = done.runs, ledger.plan(done)
    files = [op for op in plan.operations if not isinstance(op, RunCommand)]
    deeds = [AppliedChange(note.run, at, str(at), (op,)) for at, op in enumerate(files)]
    old = msgspec.structs.replace(undo, left_alone=())
    known = skipped_operations(undo, deeds, files, plan.ids)
    assert known == {0: "a changed after the run"}
    left = skipped_operations(old, deeds, files, plan.ids)
    assert left == {0: "a, for an unrecorded reason"}
    assert skipped_operations(done, deeds, files, plan.ids) == {}


def test_an_event_of_an_old_log_still_reads() -> None:
    body = (
        '{"type":"plan_created","plan_id":"p","workspace":"w","session":"s","name":"n","path":""}'
    )
    assert decode_event((1, "plan/w/p", 1, "now", "plan_created", body)).event == PlanCreated(
        "p", "w", "s", "n", b""
    )
