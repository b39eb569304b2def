"""What commands of a session's turn changed goes with the turn, in the order of the log."""

from collections.abc import Callable

import msgspec
import pytest
from tests.agent.test_text_plan_builds import build_with_edits, load
from tests.runs.test_permits import apply, session, undo, write
from tests.runs.test_session_commands import Scripted
from tests.support.engine import OpenLocks, World

from assent.app.engine import Engine
from assent.core.errors import Busy, NotFound, StoreError
from assent.core.event import CommandStarted, RunsDeleted
from assent.core.plan.operation import footprint
from assent.core.shell.process import ProcessResult
from assent.core.tool import CommandEffect, SessionCommandRequest
from assent.core.undo import RAN_UNCONFINED
from assent.planning.ports import RetentionLimits
from assent.ports import CollectionResult


def command(
    engine: Engine, act: Callable[[], object], turn: int = 1, *, confined: bool = True
) -> str:
    """Runs a command of a turn; returns its id."""
    wanted = SessionCommandRequest(
        session(engine, turn), "c2", CommandEffect("make"), "answer", "yes", confined
    )
    for _ in engine.session_commands.run(wanted, Scripted(act, ProcessResult(0))):
        pass
    events = engine._ports.store.read(engine.plans.repository().permit_stream)
    return [e.event.id for e in events if isinstance(e.event, CommandStarted)][-1]


def put(world: World, files: dict[str, bytes]) -> Callable[[], None]:
    return lambda: world.put(files)


def test_g6_a_turn_goes_with_what_its_commands_changed(world: World) -> None:
    world.put({"a": b"1", "b": b"1"})
    engine = world.engine()
    apply(engine, write("a", b"1", b"2"))
    command(engine, put(world, {"a": b"3", "b": b"2", "new/c": b"c"}))
    apply(engine, write("a", b"3", b"4"))
    report = undo(engine)
    assert {result for _, result in report.operations} == {"undone"}
    assert world.files() == {"a": b"1", "b": b"1"}
    assert not (world.root / "new").exists()


def test_g6_a_single_command_is_named_by_its_id(world: World) -> None:
    world.put({"a": b"1", "b": b"1"})
    engine = world.engine()
    apply(engine, write("a", b"1", b"2"))
    name = command(engine, put(world, {"b": b"2"}))
    undo(engine, name)
    assert world.files() == {"a": b"2", "b": b"1"}
    undo(engine)
    assert world.files() == {"a": b"1", "b": b"1"}
    with pytest.raises(NotFound):
        undo(engine)


def test_f142_what_changed_after_the_command_is_left_alone(world: World) -> None:
    world.put({"a": b"1", "b": b"1"})
    engine = world.engine()
    command(engine, put(world, {"a": b"2", "b": b"2"}))
    world.put({"b": b"mine"})
    report = undo(engine)
    assert report.notes == ("Skipped: b changed after the run.",)
    assert world.files() == {"a": b"1", "b": b"mine"}


def test_a_command_that_changed_nothing_is_nothing_to_undo(world: World) -> None:
    world.put({"a": b"1"})
    engine = world.engine()
    command(engine, put(world, {"a": b"2"}), turn=1)
    command(engine, lambda: None, turn=2)
    undo(engine)
    assert world.files() == {"a": b"1"}


def test_f144_a_command_without_a_sandbox_may_have_done_more(world: World) -> None:
    engine = world.engine()
    command(engine, put(world, {"a": b"1"}), confined=False)
    preview = engine.undo.preview()
    (gap,) = preview.extent.gaps
    assert gap.why == RAN_UNCONFINED
    assert f"## Not covered\n\n- {RAN_UNCONFINED}".encode() in preview.plan.text


def test_f141_a_turn_with_commands_is_redone(world: World) -> None:
    world.put({"a": b"1"})
    engine = world.engine()
    apply(engine, write("a", b"1", b"2"))
    command(engine, put(world, {"a": b"3", "b": b"b"}))
    undo(engine)
    for _ in engine.undo.apply(engine.undo.redo(), "test"):
        pass
    assert world.files() == {"a": b"3", "b": b"b"}


def test_f141_a_command_after_an_undo_ends_that_it_is_redone_unnamed(world: World) -> None:
    engine = world.engine()
    first = apply(engine, write("a", None, b"1")).run
    undo(engine)
    command(engine, lambda: None, turn=2)
    assert engine.undo.redo().target.record.undoes == first
    command(engine, put(world, {"b": b"1"}), turn=3)
    with pytest.raises(NotFound):
        engine.undo.redo()
    assert engine.undo.redo(first).target.record.undoes == first


def test_g6_a_build_of_prose_goes_with_what_its_commands_changed(world: World) -> None:
    plan = build_with_edits(world)
    engine = world.engine()
    building = load(world, plan).building
    assert building is not None
    at_rest = engine.sessions.load(building.session)
    record = msgspec.structs.replace(at_rest, build=building.run, mode="ask")
    wanted = SessionCommandRequest(record, "c2", CommandEffect("make"), "scope", "plan")
    process = Scripted(put(world, {"src/a.py": b"3\n", "made": b"m"}), ProcessResult(0))
    for _ in engine.session_commands.run(wanted, process):
        pass
    report = engine.text_plan_builds.report(load(world, plan))
    paths = sorted(path for op in report.about for path, *_ in footprint(op))
    assert paths == [b"made", b"src/a.py", b"src/b.py"]
    engine.text_plan_builds.finish(load(world, plan), "done")
    (listed,) = engine.history.all()
    assert (listed.how, listed.unit.name, listed.operations) == ("build", building.run, 4)
    undo(engine)
    assert world.files() == {"src/a.py": b"0\n"}


def test_f146_turns_and_commands_are_listed_and_given_up(world: World) -> None:
    engine = world.engine()
    apply(engine, write("a", None, b"1"), turn=1)
    command(engine, put(world, {"b": b"22"}), turn=1)
    name = command(engine, put(world, {"c": b"333"}), turn=2)
    turn, single = engine.history.all()
    assert (turn.unit.name, turn.how, turn.operations, turn.own) == ("s1.1", "turn", 2, 3)
    assert (single.unit.name, single.how, single.operations, single.own) == (name, "command", 1, 3)
    (item,) = engine.history.items(single)
    assert (item.line, item.told and item.told.code) == ("make", 0)
    engine.retention.delete(engine.retention.check(["s1.1"]))
    assert [bool(kept.given_up) for kept in engine.history.all()] == [True, False]
    with pytest.raises(NotFound, match="pruned"):
        engine.undo.preview(turn.unit.runs[0])
    undo(engine)
    assert world.files() == {"a": b"1", "b": b"22"}


def test_f146_nothing_is_collected_while_a_command_runs(world: World) -> None:
    world.locks, world.collector = Holding(), Counting()
    engine = world.engine()

    def act() -> None:
        with pytest.raises(Busy, match="is running"):
            engine.retention.collect()

    command(engine, act)
    engine.retention.collect()
    assert world.collector.asked == 1


class Holding(OpenLocks):
    """Lets everybody in, and says that others are at work."""

    def is_held(self, name: str) -> bool:
        return True


class Counting:
    """Implements ports.GarbageCollector: remembers what was needed."""

    def __init__(self) -> None:
        self.asked = 0

    def due(self) -> bool:
        return False

    def collect(self, needed: Callable[[str], bool]) -> CollectionResult:
        self.asked += 1
        return CollectionResult()


class Unsound(Counting):
    """A collector that is due, and fails."""

    def due(self) -> bool:
        return True

    def collect(self, needed: Callable[[str], bool]) -> CollectionResult:
        raise StoreError("The disk is gone.")


def test_f146_runs_go_by_age_but_never_the_newest(world: World) -> None:
    world.retention = RetentionLimits(days=1)
    engine = world.engine()
    for turn in (1, 2, 3):
        world.clock.hour = 9 + turn
        apply(engine, write(f"f{turn}", None, b"%d" % turn), turn=turn)
    world.clock.hour = 24 + 13  # the first two are older than a day
    given_up = engine.retention.retain()
    assert len(given_up.runs) == 2
    assert engine.warnings[-1] == (
        "2 older runs can no longer be undone (undo.keep_days, undo.keep_mb)."
    )
    world.clock.hour = 24 * 3
    assert engine.retention.retain().runs == ()
    undo(engine)
    assert world.files() == {"f1": b"1", "f2": b"2"}


def test_f146_what_cannot_be_collected_is_only_a_warning(world: World) -> None:
    world.collector = Unsound()
    engine = world.engine()
    apply(engine, write("a", None, b"1"))
    engine.retention.retain()
    assert engine.warnings == ("Some unused stored content was not removed: The disk is gone.",)


def test_f146_giving_up_is_on_record(world: World) -> None:
    engine = world.engine()
    run = apply(engine, write("a", None, b"12")).run
    engine.retention.delete(engine.retention.check([run]))
    assert engine.log()[-1].event == RunsDeleted((run,), 2, "tester")
