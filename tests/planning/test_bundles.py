"""Bundles as the engine reads them: one changed byte anywhere, and nothing of it counts."""

from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest
from tests.support.signing_host import Machine, NamedKeys

from assent.core.digest import sha256
from assent.core.errors import (
    ApprovalUsed,
    AssentError,
    CorruptFile,
    Expired,
    NotIndependent,
    UntrustedKey,
)
from assent.core.event import PlanApproved, StoredEvent
from assent.core.plan.bundle import Bundle, bundle_bytes, read_bundle
from assent.core.run.journal import drive_to_end
from assent.planning.repositories import USED_HERE
from assent.ports import EventBatch
from assent.store.memory import MemoryEventStore

FLIPS = (0x01, 0x02, 0x20, 0x80)
HOUR = 3600


@pytest.fixture
def planner(tmp_path: Path) -> Machine:
    return Machine(tmp_path / "planner", "planner")


@pytest.fixture
def person(tmp_path: Path) -> Machine:
    return Machine(tmp_path / "person", "ada")


@pytest.fixture
def runner(tmp_path: Path) -> Machine:
    return Machine(tmp_path / "runner", "runner", "ada")


def packed(planner: Machine) -> Bundle:
    """Makes a bundle with a new file and a replaced one."""
    planner.put({"b.txt": b"old\n"})
    engine = planner.opened()
    record = engine.plans.new("work", "tests", "A goal")
    for path, content in {b"a.txt": b"a\n", b"b.txt": b"new\n"}.items():
        record = engine.drafts.write(record, path, [content], None).record
    return engine.bundles().pack(engine.approvals.propose(record, portable=True))


def agreed(planner: Machine, person: Machine, expires_s: int | None = None) -> Bundle:
    bundle = packed(planner)
    yes = person.opened().bundles().approve(bundle, "Checked", "test", expires_s)
    return bundle.with_approval(yes)


def flipped(content: bytes) -> Iterator[bytes]:
    """Yields the content with each byte of it changed, in several ways."""
    for at, byte in enumerate(content):
        for bits in FLIPS:
            yield content[:at] + bytes([byte ^ bits]) + content[at + 1 :]


def mended(content: bytes) -> bytes:
    """Gives a changed file the checksum that fits it, as whoever changed it on purpose would."""
    body = content[: content.rindex(b"\n", 0, -1) + 1]
    return body + msgspec.json.encode({"line": "end", "sha256": sha256(body)}) + b"\n"


def test_g14_any_changed_byte_is_noticed(planner: Machine, person: Machine) -> None:
    content = bundle_bytes(agreed(planner, person))
    for changed in flipped(content):
        with pytest.raises(AssentError):
            read_bundle(changed)


def test_g14_any_changed_byte_means_nothing_else_even_with_a_new_checksum(
    planner: Machine, person: Machine, runner: Machine
) -> None:
    bundle = agreed(planner, person)
    body = bundle_bytes(bundle)
    bundles = runner.opened().bundles()
    assert bundles.read(mended(body)) == bundle
    assert bundles.refusal(bundle, bundle.approvals[0]) is None
    survived = 0
    for changed in flipped(body[: body.rindex(b'{"line":"end"') - 1]):
        try:
            found = bundles.read(mended(changed + b"\n" + b"end\n"))
        except AssentError:
            continue
        survived += 1
        # Only the yes itself may read differently, and then it is none.
        assert msgspec.structs.replace(found, approvals=()) == msgspec.structs.replace(
            bundle, approvals=()
        )
        for yes in found.approvals:
            assert yes == bundle.approvals[0] or bundles.refusal(found, yes) is not None
    assert survived, "some changes of an approval can be read"


def test_g14_equal_bundles_make_equal_files(planner: Machine) -> None:
    bundle = packed(planner)
    content = bundle_bytes(bundle)
    assert read_bundle(content) == bundle
    assert bundle_bytes(read_bundle(content)) == content


def test_g14_a_bundle_is_applied_by_the_same_road_as_any_plan(
    planner: Machine, person: Machine, runner: Machine
) -> None:
    bundle = agreed(planner, person)
    runner.put({"b.txt": b"old\n"})
    engine = runner.opened()
    record = engine.bundles().import_plan(bundle, bundle_bytes(bundle))
    assert (record.plan_id, record.user) == (bundle.origin.plan_id, "tester")
    assert engine.bundles().import_plan(bundle, bundle_bytes(bundle)) == record
    assert drive_to_end(engine.runs.build(record.plan_id)).outcome == "done"
    assert runner.files() == {"a.txt": b"a\n", "b.txt": b"new\n"}
    assert runner.kinds() == [
        "PlanCreated", "TextRevised", "DraftChanged", "PlanProposed", "PlanApproved", "RunStarted",
        "RunEnded",
    ]  # fmt: skip


def test_f53_an_approval_that_travels_expires(
    planner: Machine, person: Machine, runner: Machine
) -> None:
    bundle = agreed(planner, person, 2 * HOUR)
    runner.put({"b.txt": b"old\n"})
    for hour, refused in ((12, False), (13, False), (14, True), (23, True), (11, True)):
        runner.clock.hour = hour
        found = runner.opened().bundles().refusal(bundle, bundle.approvals[0])
        assert isinstance(found, Expired) is refused, hour
    with pytest.raises(Expired, match="One of the two clocks is wrong"):
        runner.opened().bundles().import_plan(bundle, b"")
    assert runner.kinds() == []


def test_f53_the_setting_is_the_default(planner: Machine, person: Machine) -> None:
    person.expires_s = HOUR
    assert agreed(planner, person).approvals[0].expires_at == "2026-01-01T13:00:00.000Z"


def test_g14_a_key_that_was_revoked_before_the_build_counts_no_more(
    planner: Machine, person: Machine, runner: Machine
) -> None:
    bundle = agreed(planner, person)
    runner.put({"b.txt": b"old\n"})
    record = runner.opened().bundles().import_plan(bundle, b"")
    runner.keys = NamedKeys()
    with pytest.raises(AssentError) as refused:
        drive_to_end(runner.opened().runs.build(record.plan_id))
    assert refused.value.exit == 7
    with pytest.raises(UntrustedKey):
        runner.opened().bundles().import_plan(bundle, b"")
    assert runner.files() == {"b.txt": b"old\n"}


def test_f59_whoever_asked_for_a_bundle_cannot_approve_it(planner: Machine) -> None:
    bundle = packed(planner)
    planner.independent = True
    with pytest.raises(NotIndependent) as refused:
        planner.opened().bundles().approve(bundle, "", "test")
    assert (refused.value.exit, refused.value.word) == (7, "not_independent")
    assert not [e for e in planner.store.read_all(["bundle/"]) if isinstance(e.event, PlanApproved)]


def test_f59_the_machine_that_applies_wants_another_key_too(
    planner: Machine, runner: Machine
) -> None:
    bundle = packed(planner)
    own = bundle.with_approval(planner.opened().bundles().approve(bundle, "", "test"))
    runner.put({"b.txt": b"old\n"})
    runner.keys = NamedKeys("planner")
    runner.independent = True
    with pytest.raises(NotIndependent):
        runner.opened().bundles().import_plan(own, b"")
    runner.independent = ("deletes",)  # which this plan does not
    assert runner.opened().bundles().import_plan(own, b"").imported


def test_f59_a_risk_that_was_seen_elsewhere_counts(planner: Machine) -> None:
    bundle = packed(planner)
    asked = msgspec.structs.replace(bundle.origin, risks=((), ("hard_link",)))
    planner.independent = ("hard_link",)
    with pytest.raises(NotIndependent, match="hard_link"):
        planner.opened().bundles().check_independent(msgspec.structs.replace(bundle, origin=asked))


def test_g14_a_bundle_that_is_too_large_is_not_read(planner: Machine) -> None:
    with pytest.raises(CorruptFile, match="larger than"):
        read_bundle(b"x" * ((128 << 20) + 1))


def test_g4_two_workspaces_of_a_machine_use_one_approval_once(
    planner: Machine, person: Machine, runner: Machine, tmp_path: Path
) -> None:
    """Both have taken the plan in before either begins; the log lets only the first begin."""
    bundle = agreed(planner, person)
    second = Machine(tmp_path / "second", "runner", "ada")
    second.store, second.blobs, second.clock = runner.store, runner.blobs, runner.clock
    records = []
    for machine in (runner, second):
        machine.put({"b.txt": b"old\n"})
        records.append(machine.opened().bundles().import_plan(bundle, b""))
    assert drive_to_end(runner.opened().runs.build(records[0].plan_id)).outcome == "done"
    with pytest.raises(ApprovalUsed, match=USED_HERE):
        drive_to_end(second.opened().runs.build(records[1].plan_id))
    assert second.files() == {"b.txt": b"old\n"}


class Raced(MemoryEventStore):
    """A log to which somebody else appends right before the first plan of ours."""

    meanwhile: Callable[[], object] | None = None

    def append(self, *batches: EventBatch) -> tuple[StoredEvent, ...]:
        if self.meanwhile and any(batch.stream.startswith("plan/") for batch in batches):
            first, self.meanwhile = self.meanwhile, None
            first()
        return super().append(*batches)


def test_g4_who_loses_the_race_for_an_approval_is_told_that_it_was_used(
    planner: Machine, person: Machine, runner: Machine
) -> None:
    bundle = agreed(planner, person)
    runner.put({"b.txt": b"old\n"})
    store = runner.store = Raced()
    other = runner.opened()
    store.meanwhile = lambda: drive_to_end(
        other.runs.build(other.bundles().import_plan(bundle, b"").plan_id)
    )
    with pytest.raises(ApprovalUsed):
        runner.opened().bundles().import_plan(bundle, b"")
    assert runner.files() == {"a.txt": b"a\n", "b.txt": b"new\n"}
