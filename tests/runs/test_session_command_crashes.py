"""Law 6 for a session's command whose process died: what changed since goes on record, once."""

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from tests.runs.test_permits import undo
from tests.runs.test_session_commands import Scripted, finished_by, order, recorded
from tests.support.engine import PassedOn
from tests.support.fake_commands import Acting, ActingWorld

from assent.app.engine import Engine
from assent.core.blob_references import blob_references
from assent.core.errors import Busy, RunUnfinished, StoreError
from assent.core.event import CommandEnded, CommandStarted, StoredEvent
from assent.core.run.journal import drive_to_end
from assent.core.shell.process import OutputChunk, ProcessResult
from assent.ports import EventBatch
from assent.runs.command_end import lost_end_note
from assent.runs.session_commands import UNKNOWN_END
from assent.store.locks import FileLocks
from assent.store.memory import MemoryBlobStore

SINCE = lost_end_note(CommandEnded("c1", 0, changed=("a", "new/b")))


class Died(BaseException):
    """The process was killed."""


class DyingStore(PassedOn):
    """A store whose process is killed before the end of a command goes on record."""

    def append(self, *batches: EventBatch) -> tuple[StoredEvent, ...]:
        if any(isinstance(event, CommandEnded) for batch in batches for event in batch.events):
            raise Died
        return super().append(*batches)


class FullBlobs(MemoryBlobStore):
    """Blobs on a disk that is full from some moment on."""

    full = False

    def keep(self, chunks: Iterable[bytes]) -> tuple[str, int]:
        if self.full:
            raise StoreError("No space is left on the disk of the state.")
        return super().keep(chunks)


@pytest.fixture
def world(tmp_path: Path) -> ActingWorld:
    world = ActingWorld(tmp_path)
    world.put({"a": b"1"})
    return world


def change(world: ActingWorld) -> Callable[[], None]:
    return lambda: world.put({"a": b"2", "new/b": b"b"})


def cut_off(world: ActingWorld) -> Engine:
    """Has a session's process die in the middle of a command; returns the engine of the next."""
    store, world.store = world.store, DyingStore(world.store)
    engine = world.opened()
    with pytest.raises(Died):
        list(engine.session_commands.run(order(engine), Scripted(change(world))))
    world.store = store
    return world.opened()


def ended(engine: Engine) -> CommandEnded:
    begun, end = recorded(engine)
    assert isinstance(begun, CommandStarted)
    assert isinstance(end, CommandEnded)
    assert (end.id, end.code, end.cut) == (begun.id, -1, "unknown")
    return end


VERBS: dict[str, Callable[[Engine], object]] = {
    "the next turn": lambda engine: drive_to_end(engine.runs.recover_unfinished()),
    "recover": lambda engine: drive_to_end(engine.runs.recover()),
    "runs list": lambda engine: engine.runs.record_lost_command(),
}


@pytest.mark.parametrize("verb", VERBS)
def test_what_changed_since_is_recorded_once_and_undo_covers_it(
    world: ActingWorld, verb: str
) -> None:
    engine = cut_off(world)
    VERBS[verb](engine)
    VERBS[verb](engine)
    assert ended(engine).changed == ("a", "new/b")
    (told,) = engine.warnings
    undo_it = "To undo these changes: `assent undo`."
    assert told == f"A session's command was interrupted: $ make. {SINCE} {undo_it}"
    assert engine.runs.unfinished_command() is None
    assert undo(engine).outcome == "done"
    assert world.files() == {"a": b"1"}


def test_the_next_command_sees_to_it_first(world: ActingWorld) -> None:
    engine = cut_off(world)
    list(
        engine.session_commands.run(
            order(engine), Scripted(lambda: world.put({"c": b"c"}), ProcessResult(0))
        )
    )
    _, first, _, second = recorded(engine)
    assert isinstance(first, CommandEnded)
    assert isinstance(second, CommandEnded)
    assert (first.cut, first.changed, second.changed) == ("unknown", ("a", "new/b"), ("c",))


def test_the_model_is_told_that_the_end_was_not_seen_and_what_changed(world: ActingWorld) -> None:
    engine = cut_off(world)
    assert engine.session_commands.unknown_end("s1", "c1") == UNKNOWN_END
    engine.runs.record_lost_command()
    assert engine.session_commands.unknown_end("s1", "c1") == f"{UNKNOWN_END} {SINCE}"
    assert [
        engine.session_commands.unknown_end(*name) for name in (("s2", "c1"), ("s1", "c2"))
    ] == ["", ""]


def test_a_command_that_is_at_work_is_left_alone(world: ActingWorld, tmp_path: Path) -> None:
    world.locks = FileLocks(tmp_path / "locks", patience=0)
    engine, other = world.opened(), world.opened()
    running = engine.session_commands.run(order(engine), Scripted(change(world)))
    assert next(running) == OutputChunk(b"out\n")
    other.runs.record_lost_command()
    drive_to_end(other.runs.recover_unfinished())
    with pytest.raises(Busy):
        drive_to_end(other.runs.recover())
    assert len(recorded(other)) == 1
    assert list(running) != []
    assert isinstance(end := recorded(other)[-1], CommandEnded)
    assert (end.code, end.cut) == (0, "")


def test_what_still_runs_is_not_judged_yet(world: ActingWorld) -> None:
    engine = cut_off(world)
    acting = engine._ports.command_runner
    assert isinstance(acting, Acting)
    acting.outlived = "process 7"
    with pytest.raises(RunUnfinished, match="process 7"):
        drive_to_end(engine.runs.recover())
    with pytest.raises(RunUnfinished, match="process 7"):
        list(engine.session_commands.run(order(engine), Scripted(lambda: None)))
    engine.runs.record_lost_command()
    assert engine.warnings == ("It still runs: process 7.",)
    assert len(recorded(engine)) == 1


def test_what_it_needs_is_kept_from_collection_until_its_end_is_on_record(
    world: ActingWorld,
) -> None:
    engine = cut_off(world)
    begun = recorded(engine)[0]
    assert isinstance(begun, CommandStarted)
    old = world.blobs.keep([b"1"])[0]
    assert {begun.before, old} <= needed(world)
    engine.runs.record_lost_command()
    assert begun.before not in needed(world)
    assert old in needed(world)


def needed(world: ActingWorld) -> set[str]:
    events = world.store.read_all(["permit/"])
    return blob_references(events, world.blobs.read, world.blobs.has)


def test_a_record_that_is_gone_is_said_to_be_unknown(world: ActingWorld) -> None:
    engine = cut_off(world)
    begun = recorded(engine)[0]
    assert isinstance(begun, CommandStarted)
    del world.blobs.contents[begun.before]
    engine.runs.record_lost_command()
    assert ended(engine).changed is None
    assert "Some of the changes in the workspace" in engine.warnings[0]


def test_a_full_disk_is_named_and_what_changed_is_recorded_later(world: ActingWorld) -> None:
    blobs = world.blobs = FullBlobs()
    engine = world.opened()

    def fill() -> None:
        change(world)()
        blobs.full = True

    told = finished_by(engine.session_commands.run(order(engine), Scripted(fill))).text
    assert "[Its changes are not recorded yet and cannot be undone: No space is left" in told
    assert "too many" not in told
    with pytest.raises(StoreError):
        list(engine.session_commands.run(order(engine), Scripted(lambda: None)))
    assert len(recorded(engine)) == 1
    blobs.full = False
    assert undo_after(engine) == "done"
    assert world.files() == {"a": b"1"}


def undo_after(engine: Engine) -> str:
    drive_to_end(engine.runs.recover_unfinished())
    return undo(engine).outcome
