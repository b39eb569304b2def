"""Readings: who was shown what; a record that fails never stands in the way of reading."""

from tests.support.engine import PassedOn, RacingStore, World

from assent.app.engine import Engine
from assent.core.errors import StoreError
from assent.core.event import ReviewShown, StoredEvent
from assent.core.plan.record import PlanRecord
from assent.planning.review_history import NOT_COMPARED, NOT_RECORDED
from assent.ports import EventBatch


class Full(PassedOn):
    """A store that takes no readings, as if the disk were full."""

    def append(self, *batches: EventBatch) -> tuple[StoredEvent, ...]:
        if any(isinstance(event, ReviewShown) for batch in batches for event in batch.events):
            raise StoreError("The disk is full.")
        return super().append(*batches)


def readings(world: World) -> list[ReviewShown]:
    recorded = [one.event for one in world.store.read_all(["reading/"])]
    return [event for event in recorded if isinstance(event, ReviewShown)]


def shown(record: PlanRecord) -> ReviewShown:
    return ReviewShown(record.plan_id, record.digest, record.frozen, "tester")


def revised(engine: Engine, record: PlanRecord, content: bytes) -> PlanRecord:
    record = engine.drafts.write(record, b"a", [content], None).record
    return engine.approvals.propose(record)


def test_g9_a_reading_that_cannot_be_recorded_is_a_warning(world: World) -> None:
    record = world.propose({"a": b"1"})
    engine = world.engine(Full(world.store))
    assert engine.review_history.review(record).since is None
    engine.review_history.record(record)
    assert engine.warnings == (f"{NOT_RECORDED}The disk is full.",)
    assert readings(world) == []


def test_g9_the_same_reading_is_recorded_once(world: World) -> None:
    record = world.propose({"a": b"1"})
    engine = world.engine()
    for _ in range(3):
        engine.review_history.record(record)
    assert readings(world) == [shown(record)]
    later = revised(engine, record, b"2")
    engine.review_history.record(later)
    engine.review_history.record(record)
    assert readings(world) == [shown(record), shown(later), shown(record)]


def test_g9_two_who_read_at_the_same_time_are_both_on_record(world: World) -> None:
    record = world.propose({"a": b"1"})
    later = revised(world.engine(), record, b"2")
    other = world.engine()
    racing = RacingStore(world.store, ReviewShown, lambda: other.review_history.record(later))
    engine = world.engine(racing)
    engine.review_history.record(record)
    assert engine.warnings == ()
    assert readings(world) == [shown(later), shown(record)]


def test_g9_a_form_that_is_no_longer_kept_is_a_warning(world: World) -> None:
    record = world.propose({"a": b"1"})
    engine = world.engine()
    event = ReviewShown(record.plan_id, "d" * 64, "0" * 64, "tester")
    world.store.append(
        EventBatch(f"reading/{record.workspace}/{record.plan_id}", 0, "now", (event,))
    )
    found = engine.review_history.review(record)
    assert (found.since, len(found.operations)) == (None, 1)
    assert engine.warnings[0].startswith(NOT_COMPARED)
