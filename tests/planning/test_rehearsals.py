"""The log of rehearsals: all are kept, whoever else records one at the same moment."""

import pytest
from msgspec.structs import replace
from tests.support.engine import PassedOn, RacingStore, World

from assent.core.errors import ConcurrentChange
from assent.core.event import PlanRehearsed, StoredEvent
from assent.core.plan.rehearsal import Rehearsal, RehearsedCommand, relied_on_hash
from assent.ports import EventBatch

RAN = RehearsedCommand("make test", "argument", 0, 1.0)


class Crowded(PassedOn):
    """A store where others always record a rehearsal first."""

    def append(self, *batches: EventBatch) -> tuple[StoredEvent, ...]:
        if any(isinstance(event, PlanRehearsed) for batch in batches for event in batch.events):
            raise ConcurrentChange("The stream has moved on.")
        return super().append(*batches)


def rehearsal(operations_hash: str, line: str) -> Rehearsal:
    ran = (replace(RAN, line=line),)
    return Rehearsal("", operations_hash, relied_on_hash(()), ran, "overlay", "person", "now")


def test_g12_two_rehearsals_that_end_at_the_same_moment_are_both_kept(world: World) -> None:
    record = world.propose({"a": b"1"})
    plan = world.engine().rehearser.plan(record)
    first, second = (rehearsal(plan.operations_hash, line) for line in ("one", "two"))
    other = world.engine()
    racing = RacingStore(world.store, PlanRehearsed, lambda: other.rehearsals.record(record, first))
    world.engine(racing).rehearsals.record(record, second)
    kept = [one.event for one in world.store.read_all(["rehearsal/"])]
    assert len(kept) == 2
    assert world.engine().rehearsals.of(record, plan) == second


def test_g12_what_can_never_be_recorded_is_said(world: World) -> None:
    record = world.propose({"a": b"1"})
    found = rehearsal(world.engine().rehearser.plan(record).operations_hash, "one")
    with pytest.raises(ConcurrentChange, match="was not recorded"):
        world.engine(Crowded(world.store)).rehearsals.record(record, found)
