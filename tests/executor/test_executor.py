"""The executor's one loop: what it refuses, what it says, in which order it acts."""

from collections.abc import Iterable, Iterator
from errno import EIO

import pytest
from tests.executor.concurrent_changes import THEIRS
from tests.executor.file_writers import Call, WatchedHands, Watcher, failing
from tests.executor.harness import World

from assent.core.digest import sha256
from assent.core.errors import DigestMismatch, Drift, Refused, StoreError
from assent.core.paths import STAGE
from assent.core.plan.operation import FileOperation, RunCommand, WriteFile
from assent.core.plan.plan import Plan
from assent.core.run.journal import (
    AbortedEntry,
    CommittedEntry,
    FinishedEntry,
    JournalEntry,
    RecoveringEntry,
    RunStep,
    SettledEntry,
    StartedEntry,
    StepProgress,
)
from assent.core.run.permit import Permit, permit_text, permitted
from assent.core.run.slot_move import SlotLayout
from assent.executor.executor import Executor
from assent.ports import MAX_WHOLE_READ
from assent.store.memory import MemoryBlobStore
from assent.testing.memory_workspace import (
    MemoryFileWriter,
    MemoryJournal,
    MemoryNode,
    SimulatedCrash,
)
from assent.testing.plan_cases import NOW, PlanCase, approved_plan, combined_case, single_cases

CASES = {case.name: case for case in single_cases(b"w/one")}
CREATE, REPLACE = CASES["create_deep"], CASES["replace"]
CHANGES = ("create", "rename", "exchange", "make_folder", "remove_folder", "remove", "sync")


def names(entries: Iterable[JournalEntry]) -> list[str]:
    return [type(entry).__name__ for entry in entries]


def is_untouched(world: World) -> bool:
    changed = [call for call in world.hands.calls if call.verb in CHANGES]
    return (changed, world.files, world.journal.runs) == ([], world.start, {})


def test_g2_a_command_is_refused_before_the_first_journal_record() -> None:
    world = World(REPLACE)
    world.approved = approved_plan((*REPLACE.operations, RunCommand((b"rm", b"-r", b"w"))))
    with pytest.raises(Refused):
        world.apply()
    assert is_untouched(world)


def test_law_1_nothing_but_a_checked_consent_is_applied() -> None:
    world = World(REPLACE)
    for thing in (world.approved.plan, world.approved.approval, None):
        with pytest.raises((TypeError, AttributeError)):
            list(world._executor().apply(thing, "run"))  # type: ignore[arg-type]
    assert is_untouched(world)


def test_law_1_a_permitted_plan_is_applied_with_its_permit() -> None:
    world = World(REPLACE)
    text = permit_text("s1", "c1", "answer", "yes")
    plan = Plan(text, REPLACE.operations)
    permit = Permit("p1", "s1", "c1", "answer", "yes", plan.digest, NOW)
    for _ in world._executor().apply(permitted(plan, permit), "run"):
        pass
    first = world.journal.read("run")[0]
    assert isinstance(first, StartedEntry)
    assert (first.plan_id, first.approval, first.digest) == ("", "p1", plan.digest)
    assert world.files == world.finish


def test_f45_a_changed_file_is_refused_before_the_first_journal_record() -> None:
    world = World(REPLACE)
    world.hands.disk.files[b"w/one_a"] = THEIRS
    world.start[b"w/one_a"] = THEIRS
    with pytest.raises(Drift):
        world.apply()
    assert is_untouched(world)


def test_law_7_a_missing_blob_is_refused_before_the_first_journal_record() -> None:
    world = World(REPLACE)
    world.blobs.contents.clear()
    with pytest.raises(StoreError):
        world.apply()
    assert is_untouched(world)


def test_law_3_the_first_record_spends_the_approval_and_says_how_the_disk_is_used() -> None:
    world = World(CREATE)
    world.apply()
    approval = world.approved.approval
    first = StartedEntry(
        approval.plan_id,
        world.approved.plan.digest,
        approval.id,
        SlotLayout("run"),
        (b"w/one_x", b"w/one_x/y"),
    )
    made = first.folders
    assert world.journal.read("run") == [
        first,
        CommittedEntry(),
        SettledEntry("done", made),
        FinishedEntry("done", ("done",), made),
    ]


class Ordered(MemoryJournal):
    """A journal that writes its entries between the calls of the hands."""

    def __init__(self, hands: WatchedHands) -> None:
        super().__init__()
        self.story: list[str] = []
        hands.before.append(lambda call: self.story.append(call.verb))

    def write(self, run: str, entry: JournalEntry) -> None:
        self.story.append(type(entry).__name__)
        super().write(run, entry)


@pytest.mark.parametrize(
    "case", [CREATE, REPLACE, CASES["move"], CASES["prune"]], ids=lambda c: c.name
)
def test_law_5_intent_comes_before_effect_and_done_after(case: PlanCase) -> None:
    world = World(case)
    world.journal = journal = Ordered(world.hands)
    world.apply()
    story = [word for word in journal.story if word not in ("look", "missing", "layout")]
    started, committed, settled = map(
        story.index, ("StartedEntry", "CommittedEntry", "SettledEntry")
    )
    renames = [at for at, word in enumerate(story) if word in ("rename", "exchange")]
    assert started == 0
    assert story[committed - 1] == story[settled - 1] == "sync"
    assert committed < min(renames) <= max(renames) < settled
    assert "create" not in story[committed:]
    assert "remove" not in story[:settled]
    assert story[-1] == "FinishedEntry"


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_run_makes_and_removes_the_folders_that_the_plan_says(case: PlanCase) -> None:
    world = World(case)
    world.apply()
    wanted = MemoryFileWriter(world.finish).folders | {b"w"}
    assert (world.outcome, world.files, world.folders) == ("done", world.finish, wanted)
    assert STAGE + b"/run" not in world.hands.disk.folders
    world.hands.disk.lose_power()
    assert world.folders == wanted


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_run_that_fails_at_its_last_rename_leaves_no_folder_behind(case: PlanCase) -> None:
    calm = World(case)
    calm.apply()
    last = [call for call in calm.hands.calls if call.verb in ("rename", "exchange")][-1]
    world = World(case)
    world.hands.before.append(failing(EIO, lambda call: call.number == last.number))
    world.apply()
    wanted = MemoryFileWriter(world.start).folders
    assert (world.outcome, world.files, world.folders) == ("rolled_back", world.start, wanted)


def test_a_resumed_run_still_knows_which_folders_it_made() -> None:
    world = World(CREATE)
    world.hands.before.append(crashing("rename"))
    with pytest.raises(SimulatedCrash):
        world.apply()
    world.calm_down()
    world.recover()
    last = world.journal.read("run")[-1]
    assert last == FinishedEntry("done", ("done",), (b"w/one_x", b"w/one_x/y"))


def test_law_5_a_run_that_was_cut_while_sweeping_is_swept_and_done() -> None:
    world = World(REPLACE)
    world.hands.before.append(crashing("remove"))
    with pytest.raises(SimulatedCrash):
        world.apply()
    world.calm_down()
    world.recover()
    assert (world.outcome, world.files, world.slots) == ("done", world.finish, {})


def crashing(verb: str) -> Watcher:
    def crash(call: Call) -> None:
        if call.verb == verb:
            raise SimulatedCrash

    return crash


def test_progress_is_told_step_by_step() -> None:
    operations: list[FileOperation] = [
        WriteFile(b"w/%03d" % n, None, MemoryNode(b"x").state) for n in range(130)
    ]
    world = World(PlanCase("many", {}, tuple(operations), (b"x",)))
    told = list(Executor(world.hands, world.blobs, world.journal).apply(world.approved, "run"))
    wanted = [(step, at) for step in (RunStep.PREPARE, RunStep.FINISH) for at in (0, 64, 128)]
    assert told == [StepProgress(step, at, 130) for step, at in wanted]


def test_a_plan_of_nothing_is_done_at_once() -> None:
    world = World(PlanCase("nothing", {}, ()))
    world.apply()
    assert (world.outcome, world.results, world.files) == ("done", (), world.start)


class CountedBlobs(MemoryBlobStore):
    """Blobs that tell how they were read."""

    def __init__(self) -> None:
        super().__init__()
        self.streamed: list[str] = []

    def chunks(self, digest: str) -> Iterator[bytes]:
        self.streamed.append(digest)
        content = self.read(digest)
        return iter((content[:MAX_WHOLE_READ], content[MAX_WHOLE_READ:]))


def test_large_content_is_streamed_and_small_content_is_not() -> None:
    large, small = MemoryNode(b"x" * (MAX_WHOLE_READ + 1)), MemoryNode(b"y" * MAX_WHOLE_READ)
    operations = (WriteFile(b"l", None, large.state), WriteFile(b"s", None, small.state))
    world = World(PlanCase("sizes", {}, operations, (large.content, small.content)))
    blobs = CountedBlobs()
    blobs.contents, world.blobs = world.blobs.contents, blobs
    world.apply()
    assert blobs.streamed == [large.state.digest]
    assert world.files == world.finish


def test_f64_damaged_new_content_stops_the_run_before_anything_is_visible() -> None:
    world = World(combined_case((CASES["delete"], CREATE)))
    new = sha256(b"new of w/one")
    world.blobs.contents[new] = b"rotten"
    world.apply()
    entries = world.journal.read("run")
    assert names(entries) == ["StartedEntry", "AbortedEntry", "SettledEntry", "FinishedEntry"]
    abort = entries[1]
    assert isinstance(abort, AbortedEntry)
    assert (abort.index, abort.result) == (1, "failed")
    assert abort.reason == f"The content {new[:12]}… is missing or damaged."
    assert (world.outcome, world.results) == ("rolled_back", ("not_started", "failed"))
    assert world.files == world.start


def test_law_4_a_run_is_recovered_only_with_its_own_plan() -> None:
    world = World(REPLACE)
    world.apply()
    before = world.journal.read("run")
    executor = Executor(world.hands, world.blobs, world.journal)
    with pytest.raises(DigestMismatch):
        list(executor.recover(Plan(b"", ()), "run", "auto"))
    assert world.journal.read("run") == before


def test_law_6_a_run_that_is_over_is_not_taken_up_again() -> None:
    world = World(REPLACE)
    world.apply()
    before, calls = world.journal.read("run"), list(world.hands.calls)
    world.recover("roll_back")
    world.recover("auto")
    assert (world.journal.read("run"), world.hands.calls) == (before, calls)


def test_a_run_that_waits_stays_as_it_is_until_a_person_says_which_way() -> None:
    world = World(REPLACE)
    calls = world.hands.calls
    world.hands.after.append(failing(EIO, lambda _: any(c.verb == "exchange" for c in calls)))
    world.apply()
    world.hands.after.clear()
    assert world.outcome == "needs_you"
    files, slots = world.files, world.slots
    world.recover("auto")
    assert world.journal.read("run")[-1] == RecoveringEntry("auto")
    assert (world.outcome, world.files, world.slots) == ("needs_you", files, slots)
