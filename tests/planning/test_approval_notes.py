"""Notes of approvals: none is lost and none doubled, whatever happens while a plan is made."""

import pytest
from tests.support.engine import PassedOn, RacingStore, World
from tests.support.session import Script, planned, work

from assent.core.errors import StoreError
from assent.core.event import NotesCarried, PlanCreated, StoredEvent
from assent.core.plan.record import PlanRecord
from assent.ports import EventBatch
from assent.render.approval import HEADING

NOTE = "Rename it later"


class Broken(PassedOn):
    """A store that fails when a plan is made."""

    def append(self, *batches: EventBatch) -> tuple[StoredEvent, ...]:
        if any(isinstance(event, PlanCreated) for batch in batches for event in batch.events):
            raise StoreError("The power is gone.")
        return super().append(*batches)


@pytest.fixture
def noted(world: World) -> World:
    """A workspace where a plan was approved with a note, and built."""
    record = world.propose({"a": b"1"})
    world.build(world.engine().approvals.approve(record, record.digest, NOTE, "test"))
    return world


def carried(world: World) -> list[NotesCarried]:
    events = [one.event for one in world.store.read_all(["workspace/"])]
    return [event for event in events if isinstance(event, NotesCarried)]


def text(world: World, record: PlanRecord) -> str:
    return (world.engine().plans.live_text(record) or b"").decode()


def waiting(world: World) -> list[str]:
    return [one.note for one in world.engine().plans.waiting_notes()]


def test_g11_a_crash_after_the_file_was_written_loses_and_doubles_nothing(noted: World) -> None:
    with pytest.raises(StoreError):
        noted.engine(Broken(noted.store)).plans.new("two", "tests")
    assert (waiting(noted), carried(noted)) == ([NOTE], [])
    (found,) = [record for record in noted.engine().plans.all() if record.name == "two"]
    assert NOTE in text(noted, found)
    assert [one.plan_id for one in carried(noted)] == [found.plan_id]
    assert HEADING not in text(noted, noted.engine().plans.new("three", "tests"))


def test_g11_what_happens_to_the_workspace_meanwhile_does_not_stop_a_plan(noted: World) -> None:
    other = noted.engine()
    racing = RacingStore(noted.store, PlanCreated, lambda: other.memory.remember("It rains."))
    record = noted.engine(racing).plans.new("two", "tests")
    assert NOTE in text(noted, record)
    assert [one.plan_id for one in carried(noted)] == [record.plan_id]
    assert waiting(noted) == []


def test_g11_the_plan_and_the_record_of_its_notes_are_one_transaction(noted: World) -> None:
    seen: list[list[str]] = []

    class Watching(PassedOn):
        def append(self, *batches: EventBatch) -> tuple[StoredEvent, ...]:
            seen.append([type(event).__name__ for one in batches for event in one.events])
            return super().append(*batches)

    noted.engine(Watching(noted.store)).plans.new("two", "tests")
    assert seen[0] == ["PlanCreated", "TextRevised", "NotesCarried"]


def test_g11_a_session_that_goes_on_under_another_name_takes_the_notes_along(noted: World) -> None:
    record = planned(noted.engine(), noted.engine().sessions.start("Go on", "plan"))
    first = noted.engine().plans.find()
    assert NOTE in text(noted, first)
    work(noted, record, Script([("write_plan", {"text": "# Mine\n", "name": "other"})], "Done."))
    second = noted.engine().plans.find()
    assert (second.name, first.name != "other") == ("other", True)
    assert NOTE in text(noted, second)
    assert waiting(noted) == []


def test_g11_a_note_outlives_the_plan_that_it_was_about(noted: World) -> None:
    record = noted.engine().plans.find()
    noted.engine().plans.delete([record])
    assert waiting(noted) == [NOTE]
