"""F53: time is for display and expiry, never for order; a clock that goes back grants nothing."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.crash.trees import file, plant, seen, tree

from assent.app.engine import Engine
from assent.core.errors import ApprovalUsed, Expired
from assent.core.plan.record import PlanRecord
from assent.core.run.journal import drive_to_end
from assent.store.clock import SystemClock
from assent.testing.engine_fixture import EngineFixture, open_engine_fixture

DAY = 24 * 3600
NOW = 1_800_000_000  # seconds


class Bench:
    """A site whose every engine has the clock that the test has set."""

    def __init__(self, folder: Path, expires_s: int = 0) -> None:
        self.site = EngineFixture(folder / "work", folder / "state")
        self.site.root.mkdir()
        self.seconds = NOW
        self._expires_s = expires_s

    def open(self) -> Engine:
        clock = SystemClock(lambda: self.seconds * 1_000_000_000)
        return open_engine_fixture(self.site, clock=clock, expires_s=self._expires_s)

    def approved(self, name: str, path: bytes, content: bytes) -> PlanRecord:
        engine = self.open()
        record = engine.plans.new(name, "clock", "A goal")
        record = engine.drafts.write(record, path, [content], None).record
        record = engine.approvals.propose(record)
        return engine.approvals.approve(record, record.digest, "", "test")

    def build(self, record: PlanRecord) -> str:
        return drive_to_end(self.open().runs.build(record.plan_id)).outcome

    def tree(self) -> dict[bytes, bytes]:
        found = seen(bytes(self.site.root))
        return {path: entry.content for path, entry in found.items()}


def test_an_approval_from_the_future_does_not_serve(tmp_path: Path) -> None:
    bench = Bench(tmp_path, expires_s=DAY)
    record = bench.approved("one", b"a.txt", b"a\n")
    for seconds in (NOW - 1, NOW - 400 * DAY):
        bench.seconds = seconds
        with pytest.raises(Expired) as caught:
            bench.build(record)
        assert caught.value.exit == 4
        assert bench.tree() == {}
    bench.seconds = NOW + DAY - 1
    assert bench.build(record) == "done"


def build_refused(bench: Bench, record: PlanRecord) -> None:
    with pytest.raises(Expired):
        bench.build(record)


LOOKS: dict[str, Callable[[Bench, PlanRecord], object]] = {
    "a build": build_refused,
    "a look": lambda bench, record: bench.open().approvals.is_approved(record),
    "other work": lambda bench, record: bench.approved("two", b"b.txt", b"b\n"),
}


@pytest.mark.parametrize("look", LOOKS.values(), ids=LOOKS.keys())
@pytest.mark.parametrize("late", [DAY, 400 * DAY])
def test_an_approval_that_expired_stays_so_when_the_clock_goes_back(
    tmp_path: Path, look: Callable[[Bench, PlanRecord], object], late: int
) -> None:
    bench = Bench(tmp_path, expires_s=DAY)
    record = bench.approved("one", b"a.txt", b"a\n")
    bench.seconds = NOW + late
    look(bench, record)
    bench.seconds = NOW + DAY - 1
    engine = bench.open()
    assert not engine.approvals.is_approved(record)
    assert not engine.reviews.review(record).approved
    with pytest.raises(Expired) as caught:
        bench.build(record)
    assert "the clock was set back" in caught.value.message
    assert bench.tree() == {}
    length = len(bench.open().log())
    engine.approvals.is_approved(record)
    assert len(bench.open().log()) == length  # it is recorded once


def test_an_approval_that_is_given_after_a_clock_was_wrong_serves_until_its_time(
    tmp_path: Path,
) -> None:
    bench = Bench(tmp_path, expires_s=DAY)
    early = bench.approved("one", b"a.txt", b"a\n")
    bench.seconds = NOW + 400 * DAY
    bench.open().approvals.is_approved(early)
    bench.approved("two", b"b.txt", b"b\n")
    bench.seconds = NOW + 10
    build_refused(bench, early)
    again = bench.open().approvals.approve(early, early.digest, "", "test")
    assert bench.open().approvals.is_approved(again)
    assert bench.open().reviews.review(again).approved
    bench.seconds = NOW + 10 + DAY
    assert not bench.open().approvals.is_approved(again)
    bench.seconds = NOW + 20
    build_refused(bench, again)
    late = bench.approved("three", b"c.txt", b"c\n")
    assert bench.build(late) == "done"


def test_an_approval_that_nobody_saw_expired_serves_until_its_time(tmp_path: Path) -> None:
    bench = Bench(tmp_path, expires_s=DAY)
    record = bench.approved("one", b"a.txt", b"a\n")
    for seconds in (NOW + DAY - 1, NOW + 1, NOW + DAY - 1):
        bench.seconds = seconds
        assert bench.open().approvals.is_approved(record)
    assert bench.build(record) == "done"


def test_without_expiry_a_clock_set_back_changes_nothing(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    record = bench.approved("one", b"a.txt", b"a\n")
    bench.seconds = NOW - 4000 * DAY
    assert bench.build(record) == "done"
    with pytest.raises(ApprovalUsed):
        bench.build(record)
    assert bench.tree() == {b"a.txt": b"a\n"}


def test_undo_takes_back_the_run_that_came_last_not_the_one_with_the_latest_time(
    tmp_path: Path,
) -> None:
    bench = Bench(tmp_path)
    bench.build(bench.approved("one", b"a.txt", b"a\n"))
    bench.seconds = NOW - 30 * DAY
    bench.build(bench.approved("two", b"b.txt", b"b\n"))
    bench.seconds = NOW - 60 * DAY
    engine = bench.open()
    assert drive_to_end(engine.undo.apply(engine.undo.preview(), "test")).outcome == "done"
    assert bench.tree() == {b"a.txt": b"a\n"}
    engine = bench.open()
    assert drive_to_end(engine.undo.apply(engine.undo.preview(), "test")).outcome == "done"
    assert bench.tree() == {}


def test_ids_stay_unique_and_the_log_keeps_its_order_when_the_clock_stands_still(
    tmp_path: Path,
) -> None:
    bench = Bench(tmp_path)
    records = [bench.approved(f"p{n}", b"%d.txt" % n, b"x\n") for n in range(5)]
    assert {bench.build(record) for record in records} == {"done"}
    log = bench.open().log()
    assert len({record.plan_id for record in records}) == 5
    assert [event.position for event in log] == sorted({event.position for event in log})
    bench.seconds -= DAY
    late = bench.approved("late", b"late.txt", b"x\n")
    assert late.plan_id < min(record.plan_id for record in records)  # it sorts first, and yet
    assert bench.open().log()[-1].position > log[-1].position
    assert bench.open().plans.find().plan_id == late.plan_id


def test_a_run_that_was_killed_is_recovered_whatever_the_clock_says(tmp_path: Path) -> None:
    bench = Bench(tmp_path, expires_s=60)
    plant(bytes(bench.site.root), tree({b"a.txt": file(b"old\n")}))
    record = bench.approved("one", b"a.txt", b"new\n")
    work = bench.open().runs.build(record.plan_id)
    next(work)
    work.close()  # the process is gone while the slots are being filled
    bench.seconds = NOW - 4000 * DAY
    assert drive_to_end(bench.open().runs.recover()).outcome == "rolled_back"
    assert bench.tree() == {b"a.txt": b"old\n"}
