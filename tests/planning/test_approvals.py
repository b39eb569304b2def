"""Approvals as the engine keeps them: genuine, in time, one of two that race, and spent once."""

from collections.abc import Callable

import msgspec
import pytest
from tests.support.engine import NamedSigner, RacingStore, World

from assent.core.errors import (
    ApprovalUsed,
    AssentError,
    ConcurrentChange,
    DigestMismatch,
    Expired,
    NotApproved,
    Refused,
    StoreError,
)
from assent.core.event import PlanApproved, RunStarted
from assent.core.plan.approval import Approval
from assent.core.plan.record import PlanRecord
from assent.core.run.journal import drive_to_end
from assent.ports import EventBatch

FILES = {"a.txt": b"a\n"}


def forge(world: World, change: Callable[[Approval], Approval]) -> PlanRecord:
    """Puts an approval into the log that nobody gave, made from a real one of another plan."""
    record = world.propose(FILES)
    engine = world.engine()
    real = engine.approvals.sign(record.plan_id, engine.plans.repository().plan(record), "", "test")
    forged = engine.plans.repository().append(record, record.plan_id, PlanApproved(change(real)))
    assert engine.approvals.is_approved(forged)
    return forged


FORGERIES: dict[str, Callable[[Approval], Approval]] = {
    "no signature": lambda a: msgspec.structs.replace(a, signature=""),
    "another note": lambda a: msgspec.structs.replace(a, note="Yes, all of it"),
    "another expiry": lambda a: msgspec.structs.replace(a, expires_at="2099-01-01T00:00:00.000Z"),
    "another time": lambda a: msgspec.structs.replace(a, approved_at="2020-01-01T00:00:00.000Z"),
    "another plan": lambda a: msgspec.structs.replace(a, plan_id="other"),
    "another key": lambda a: msgspec.structs.replace(a, key="theirs"),
    "other operations": lambda a: msgspec.structs.replace(a, operations_hash="0" * 64),
    "another id": lambda a: msgspec.structs.replace(a, id="fresh"),
}


@pytest.mark.parametrize("change", FORGERIES.values(), ids=FORGERIES)
def test_g3_a_forged_approval_is_refused(
    world: World, change: Callable[[Approval], Approval]
) -> None:
    record = forge(world, change)
    with pytest.raises(Refused) as refused:
        world.build(record)
    assert refused.value.exit == 7
    assert world.files() == {}


def test_g3_an_approval_by_another_key_is_refused(world: World) -> None:
    record = world.approve(FILES)
    world.signer = NamedSigner("theirs")
    with pytest.raises(Refused):
        world.build(record)
    assert world.files() == {}


def test_an_unchanged_approval_is_what_the_forgeries_start_from(world: World) -> None:
    assert world.build(forge(world, lambda approval: approval)).outcome == "done"
    assert world.files() == FILES


@pytest.mark.parametrize(
    ("hour", "error"), [(12, None), (13, None), (14, Expired), (23, Expired), (11, Expired)]
)
def test_an_approval_expires_and_a_clock_set_back_does_not_revive_it(
    world: World, hour: int, error: type[AssentError] | None
) -> None:
    world.expires_s = 2 * 3600
    record = world.approve(FILES)
    world.clock.hour = hour
    assert world.engine().approvals.is_approved(record) is (error is None)
    if error is None:
        assert world.build(record).outcome == "done"
        return
    with pytest.raises(error) as refused:
        world.build(record)
    assert refused.value.exit == 4


def test_without_an_expiry_the_clock_does_not_matter(world: World) -> None:
    record = world.approve(FILES)
    world.clock.hour = 1
    assert world.build(record).outcome == "done"


def test_two_approvals_at_once_are_one(world: World) -> None:
    record = world.propose(FILES)

    def other() -> None:
        world.engine().approvals.approve(record, record.digest, "first", "test")

    racing = world.engine(RacingStore(world.store, PlanApproved, other))
    with pytest.raises(ConcurrentChange) as refused:
        racing.approvals.approve(record, record.digest, "second", "test")
    assert refused.value.exit == 5
    (consent,) = world.engine().plans.find("work").consents
    assert consent.approval.note == "first"


def test_g4_two_builds_at_once_spend_one_approval_once(world: World) -> None:
    """Even without the lock, the log lets only one of them start."""
    record = world.approve(FILES)
    racing = RacingStore(world.store, RunStarted, lambda: world.build(record))
    with pytest.raises(ConcurrentChange):
        drive_to_end(world.engine(racing).runs.build(record.plan_id))
    assert world.kinds().count("RunStarted") == 1
    assert world.files() == FILES
    with pytest.raises(ApprovalUsed):
        world.build(record)


def test_a_build_of_what_was_shown_before_is_refused(world: World) -> None:
    record = world.approve(FILES)
    engine = world.engine()
    drafted = engine.drafts.write(record, b"b.txt", [b"b\n"], None).record
    other = engine.approvals.propose(drafted)
    engine.approvals.approve(other, other.digest, "", "test")
    with pytest.raises(DigestMismatch) as refused:
        drive_to_end(engine.runs.build(record.plan_id, record.digest))
    assert record.digest in refused.value.message
    assert other.digest in refused.value.message
    assert (world.files(), world.kinds().count("RunStarted")) == ({}, 0)
    assert drive_to_end(engine.runs.build(record.plan_id, other.digest)).outcome == "done"


def test_an_approval_of_what_was_shown_before_is_refused(world: World) -> None:
    record = world.propose(FILES)
    shown = record.digest
    engine = world.engine()
    drafted = engine.drafts.write(record, b"b.txt", [b"b\n"], None).record
    with pytest.raises(DigestMismatch):
        engine.approvals.approve(drafted, shown, "", "test")
    engine.approvals.propose(drafted)
    with pytest.raises(DigestMismatch):
        engine.approvals.approve(drafted, shown, "", "test")
    assert world.kinds().count("PlanApproved") == 0


def test_a_digest_that_was_approved_before_still_is_unless_it_was_rejected(world: World) -> None:
    record = world.approve(FILES)
    engine = world.engine()
    revised = engine.plans.write(record, b"# Something else\n")
    assert not engine.approvals.is_approved(revised)
    with pytest.raises(NotApproved):
        engine.approvals.usable(revised)
    restored = engine.plans.write(revised, engine.plans.text(record.content_hash))
    again = engine.approvals.propose(restored)
    assert again.digest == record.digest
    assert engine.approvals.is_approved(again)
    rejected = engine.approvals.propose(engine.approvals.reject(again, "No"))
    assert rejected.digest == record.digest
    assert not engine.approvals.is_approved(rejected)


def test_a_refused_proposal_changes_nothing(world: World) -> None:
    record = world.approve(FILES)
    events = len(world.kinds())
    (world.root / "a.txt").write_bytes(b"in the way\n")
    with pytest.raises(AssentError) as refused:
        world.engine().approvals.propose(record)
    assert refused.value.word == "drift"
    assert len(world.kinds()) == events
    assert world.engine().plans.find("work") == record


def test_a_damaged_plan_is_not_built(world: World) -> None:
    record = world.approve(FILES)
    world.blobs.contents[record.frozen] = b"{}"
    with pytest.raises(StoreError):
        world.build(record)
    world.blobs.contents.pop(record.frozen)
    with pytest.raises(StoreError):
        world.build(record)
    assert world.files() == {}


def test_a_plan_is_decoded_once_and_its_stored_form_checked_every_time(world: World) -> None:
    record = world.approve(FILES)
    ledger = world.engine().plans.repository()
    assert ledger.plan(record) is ledger.plan(record)
    world.blobs.contents[record.frozen] = b"{}"
    with pytest.raises(StoreError):
        ledger.plan(record)


def test_a_plan_with_another_digest_than_its_event_names_is_not_built(world: World) -> None:
    """A frozen plan is checked against the digest that the person said yes to."""
    record = world.approve(FILES)
    other = world.engine().plans.repository().plan(record)
    swapped = msgspec.structs.replace(other, text=b"# Swapped\n")
    frozen, _ = world.blobs.keep([msgspec.json.encode(swapped)])
    forged = msgspec.structs.replace(record, frozen=frozen)
    head = msgspec.json.encode(msgspec.structs.replace(forged, seq=record.seq))
    stream = f"plan/{record.workspace}/{record.plan_id}"
    world.store.append(EventBatch(stream, record.seq, world.clock.now(), (), head))
    with pytest.raises(StoreError):
        world.build(record)
    assert world.files() == {}
