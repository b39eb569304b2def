"""References: what the events of a store need, so that nothing that is needed is ever collected."""

from collections.abc import Sequence

import msgspec
import pytest

from assent.core.blob_references import blob_references, streams_with_blobs
from assent.core.digest import sha256
from assent.core.errors import StoreError
from assent.core.event import (
    MAX_OUTPUTS,
    CommandEnded,
    DraftChanged,
    DraftEdited,
    Event,
    JournalWritten,
    OutputKept,
    OutputsDeleted,
    PermitGiven,
    PlanApproved,
    PlanCreated,
    PlanDiscarded,
    PlanProposed,
    ReviewShown,
    RunEnded,
    RunsDeleted,
    RunStarted,
    StoredEvent,
    TextRevised,
)
from assent.core.plan.approval import Approval, Approver
from assent.core.plan.draft import DraftEdit, draft_name
from assent.core.plan.operation import FileState, Operation, WriteFile
from assent.core.plan.plan import Plan
from assent.core.run.journal import (
    CommandEndedEntry,
    CommandStartedEntry,
    FinishedEntry,
    JournalEntry,
    OperationResult,
    RollbackStartedEntry,
)
from assent.core.run.permit import Permit
from assent.core.run.workspace_changes import WorkspaceChanges

PLAN, RUN = "plan/w/p", "run/w/r"


class Store:
    """A log and its contents, as far as this is about them."""

    def __init__(self) -> None:
        self.events: list[StoredEvent] = []
        self.blobs: dict[str, bytes] = {}

    def keep(self, content: bytes) -> str:
        self.blobs[sha256(content)] = content
        return sha256(content)

    def state(self, content: bytes) -> FileState:
        return FileState(self.keep(content), len(content), 0o644)

    def add(self, stream: str, *events: Event) -> None:
        for event in events:
            seq = 1 + sum(one.stream == stream for one in self.events)
            self.events.append(StoredEvent(len(self.events) + 1, stream, seq, "now", event))

    def journal(self, *entries: JournalEntry, run: str = RUN) -> None:
        self.add(run, *[JournalWritten(entry) for entry in entries])

    def needed(self) -> set[bytes]:
        """The contents that are needed, by what they are."""
        found = blob_references(self.events, self.read, self.blobs.__contains__)
        return {self.blobs[digest] for digest in found if digest in self.blobs}

    def read(self, digest: str) -> bytes:
        try:
            return self.blobs[digest]
        except KeyError:
            raise StoreError("It is gone.") from None

    def write(self, before: bytes, after: bytes) -> WriteFile:
        return WriteFile(b"f", self.state(before), self.state(after))


def drafted(store: Store, operations: Sequence[Operation], text: bytes = b"text") -> Plan:
    """Adds a plan with a draft that is not proposed yet."""
    if not any(one.stream == PLAN for one in store.events):
        store.add(PLAN, PlanCreated("p", "w", "s", "name", b"path"))
    draft = store.keep(msgspec.json.encode(operations))
    store.add(PLAN, TextRevised(store.keep(text), len(text)), DraftChanged(draft, (), ()))
    return Plan(text, tuple(operations))


def edited(store: Store, added: Sequence[Operation], cut: tuple[int, ...] = ()) -> None:
    """Adds an edit of the plan's draft."""
    last = [one.event for one in store.events if isinstance(one.event, DraftChanged | DraftEdited)]
    name = draft_name(last[-1].draft if last else "", DraftEdit(cut, tuple(added)))
    store.add(PLAN, DraftEdited(name, (), tuple(added), cut))


def proposed(store: Store, operations: Sequence[Operation]) -> Plan:
    plan = drafted(store, operations)
    frozen = store.keep(msgspec.json.encode(plan))
    store.add(PLAN, PlanProposed(plan.digest, plan.content_hash, plan.operations_hash, frozen))
    return plan


def built(store: Store, operations: Sequence[Operation], run: str = "r") -> Plan:
    plan = proposed(store, operations)
    approval = Approval(
        f"a{run}", "p", plan.content_hash, plan.operations_hash, plan.digest, Approver("u", "t"),
        "", "now", "", "k", "s",
    )  # fmt: skip
    ended = RunEnded(run, "done")
    store.add(PLAN, PlanApproved(approval), RunStarted(run, approval.id, plan.digest), ended)
    results: list[OperationResult] = ["done" for _ in operations]
    store.journal(FinishedEntry("done", tuple(results)), run=f"run/w/{run}")
    return plan


def contents(needed: set[bytes]) -> set[bytes]:
    return {content for content in needed if content[:1] not in (b"{", b"[")}


@pytest.fixture
def store() -> Store:
    return Store()


def test_a_draft_needs_what_is_in_it_and_no_more_what_was(store: Store) -> None:
    drafted(store, [store.write(b"old", b"first")])
    drafted(store, [store.write(b"old", b"second")])
    assert contents(store.needed()) == {b"old", b"second", b"text"}


def test_a_draft_with_edits_needs_what_is_in_it_in_the_end(store: Store) -> None:
    first, second, third = (store.write(b"old", after) for after in (b"1st", b"2nd", b"3rd"))
    drafted(store, [first])
    whole = msgspec.json.encode([first])
    edited(store, [second])
    assert contents(store.needed()) == {b"old", b"1st", b"2nd", b"text"}
    assert whole in store.needed()  # the edits are of it
    edited(store, [third], cut=(0,))
    assert contents(store.needed()) == {b"old", b"2nd", b"3rd", b"text"}
    assert whole in store.needed()
    drafted(store, [])
    assert contents(store.needed()) == {b"text"}
    edited(store, [second])
    assert contents(store.needed()) == {b"old", b"2nd", b"text"}
    store.add(PLAN, PlanDiscarded())
    assert contents(store.needed()) == {b"text"}


def test_a_draft_of_edits_alone_needs_what_they_stage(store: Store) -> None:
    store.add(PLAN, PlanCreated("p", "w", "s", "name", b"path"))
    edited(store, [store.write(b"old", b"new")])
    assert store.needed() == {b"old", b"new"}


def test_nothing_is_collected_if_edits_of_a_draft_are_missing(store: Store) -> None:
    drafted(store, [store.write(b"old", b"new")])
    wrong = DraftEdited("0" * 64, (), (store.write(b"old", b"newer"),), ())
    store.add(PLAN, wrong)
    with pytest.raises(StoreError):
        store.needed()


def test_a_plan_that_waits_needs_everything(store: Store) -> None:
    proposed(store, [store.write(b"old", b"new")])
    assert store.needed() == set(store.blobs.values())


def test_a_plan_that_was_given_up_needs_its_text_alone(store: Store) -> None:
    proposed(store, [store.write(b"old", b"new")])
    store.add(PLAN, PlanDiscarded())
    assert contents(store.needed()) == {b"text"}


def test_a_run_needs_both_sides_until_it_is_given_up(store: Store) -> None:
    built(store, [store.write(b"old", b"new")])
    assert contents(store.needed()) == {b"old", b"new", b"text"}
    store.add("workspace/w", RunsDeleted(("r",), 6))
    assert contents(store.needed()) == {b"text"}


def test_what_another_run_needs_stays(store: Store) -> None:
    built(store, [store.write(b"old", b"new")])
    store.add("permit/w", given(store, "other", b"new", b"newer"))
    store.add("workspace/w", RunsDeleted(("r",), 6))
    assert contents(store.needed()) == {b"new", b"newer", b"text"}


def given(store: Store, run: str, before: bytes, after: bytes) -> PermitGiven:
    permit = Permit("id", "s", "c", "mode", "", "0" * 64, "now")
    return PermitGiven(permit, run, (store.write(before, after),))


def test_a_permit_needs_both_sides_until_it_is_given_up(store: Store) -> None:
    store.add("permit/w", given(store, "r1", b"a", b"b"), given(store, "r2", b"c", b"d"))
    store.add("workspace/w", RunsDeleted(("r1",), 2))
    assert store.needed() == {b"c", b"d"}


def test_a_command_needs_what_it_changed_until_it_is_given_up(store: Store) -> None:
    changes = store.keep(msgspec.json.encode(WorkspaceChanges((store.write(b"a", b"b"),))))
    store.add("permit/w", CommandEnded("c", 0, "", ("f",), 0, changes))
    assert contents(store.needed()) == {b"a", b"b"}
    store.add("workspace/w", RunsDeleted(("c",), 2))
    assert store.needed() == set()


def test_a_run_needs_the_snapshot_only_while_it_goes_on(store: Store) -> None:
    snapshot = store.keep(msgspec.json.encode([[["path", store.keep(b"stood")]]]))
    changes = store.keep(msgspec.json.encode(WorkspaceChanges((store.write(b"a", b"b"),))))
    back = store.keep(msgspec.json.encode([store.write(b"b", b"back")]))
    output = store.keep(b"said")
    store.journal(
        CommandStartedEntry(0, snapshot),
        CommandEndedEntry(0, 0, "", changes, output),
        RollbackStartedEntry(back),
    )
    every = {b"stood", b"a", b"b", b"back", b"said"}
    assert contents(store.needed()) == every
    store.add("workspace/w", RunsDeleted(("r",), 2))
    assert contents(store.needed()) == every  # it is not over, whatever somebody says
    store.journal(FinishedEntry("rolled_back", ("undone",)))
    assert store.needed() == set()


def test_what_a_run_said_stays_with_it(store: Store) -> None:
    snapshot = store.keep(msgspec.json.encode([[["path", store.keep(b"stood")]]]))
    changes = store.keep(msgspec.json.encode(WorkspaceChanges()))
    store.journal(
        CommandStartedEntry(0, snapshot), CommandEndedEntry(0, 0, "", changes, store.keep(b"said"))
    )
    store.journal(FinishedEntry("done", ("done",)))
    assert contents(store.needed()) == {b"said"}


@pytest.mark.parametrize(
    "ends", [(), (CommandEndedEntry(0, 0, "record"),), (CommandEndedEntry(0, 0, "record"), None)]
)
def test_what_stood_before_a_command_stays_until_its_changes_are_known(
    store: Store, ends: tuple[CommandEndedEntry | None, ...]
) -> None:
    snapshot = store.keep(msgspec.json.encode([[["path", store.keep(b"stood")]]]))
    changes = store.keep(msgspec.json.encode(WorkspaceChanges((store.write(b"a", b"b"),))))
    reckoned = CommandEndedEntry(0, -1, "unknown", changes)
    store.journal(CommandStartedEntry(0, snapshot), *[end or reckoned for end in ends])
    store.journal(FinishedEntry("done", ("unknown",)))
    known = ends[-1:] == (None,)
    assert contents(store.needed()) == ({b"a", b"b"} if known else {b"stood"})
    store.add("workspace/w", RunsDeleted(("r",), 2))
    assert store.needed() == set()


def test_what_somebody_was_shown_stays_while_the_plan_lives(store: Store) -> None:
    plan = proposed(store, [store.write(b"old", b"first")])
    frozen = store.keep(msgspec.json.encode(plan))
    store.add("review/w", ReviewShown("p", plan.digest, frozen, "me"))
    drafted(store, [store.write(b"old", b"second")])
    assert contents(store.needed()) >= {b"first", b"second"}


def test_an_event_of_a_kind_that_nobody_treats_keeps_all_that_it_names(store: Store) -> None:
    listed = store.keep(b'["%s"]' % store.keep(b"deep").encode())
    store.add("other/w", PlanCreated("x", "w", "s", "n", b"", imported=listed))
    assert contents(store.needed()) == {b"deep"}


def test_law_9_what_cannot_be_read_lets_nothing_go(store: Store) -> None:
    plan = proposed(store, [store.write(b"old", b"new")])
    del store.blobs[sha256(msgspec.json.encode(plan))]
    with pytest.raises(StoreError):
        store.needed()


def test_streams_that_name_no_contents_are_not_looked_through() -> None:
    streams = ["plan/w/p", "session/w/s", "grant/w", "run/w/r", "new/w"]
    assert streams_with_blobs(streams) == ["new/", "plan/", "run/"]


def test_f122_outputs_of_a_session_are_needed_until_it_is_deleted() -> None:
    store = Store()
    one, other = store.keep(b"one"), store.keep(b"other")
    store.add("output/w/s1", OutputKept("a", one, 3))
    store.add("output/w/s2", OutputKept("b", one, 3), OutputKept("c", other, 5))
    assert store.needed() == {b"one", b"other"}
    store.add("output/w/s2", OutputsDeleted())
    assert store.needed() == {b"one"}
    store.add("output/w/s1", OutputsDeleted())
    assert store.needed() == set()


def test_f122_only_the_newest_outputs_of_a_session_are_needed() -> None:
    store = Store()
    digests = [store.keep(b"%d" % number) for number in range(MAX_OUTPUTS + 3)]
    store.add("output/w/s", *[OutputKept(each[:9], each, 1) for each in digests])
    assert store.needed() == {b"%d" % number for number in range(3, MAX_OUTPUTS + 3)}
