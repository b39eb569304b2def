"""Law 8: a plan's record is the fold of its events, wherever their stream is cut."""

from collections.abc import Callable

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.properties import examples

from assent.core.errors import IllegalState
from assent.core.event import (
    DraftChanged,
    DraftEdited,
    Event,
    PlanApproved,
    PlanCreated,
    PlanDiscarded,
    PlanProposed,
    PlanRejected,
    PlanRevised,
    PlanSelected,
    RunEnded,
    RunHalted,
    RunResumed,
    RunStarted,
    StoredEvent,
    TextRevised,
    event_tag,
)
from assent.core.plan.approval import Approval, Approver, signed_bytes
from assent.core.plan.record import (
    ApprovalRecord,
    PlanRecord,
    PlanRun,
    PlanState,
    TextRevision,
    fold_plan,
    fold_plan_events,
)
from assent.core.run.journal import RunOutcome

NOON, LATER, EVENING = (f"2026-01-01T{hour}:00:00.000Z" for hour in (12, 13, 18))
CREATED = PlanCreated("plan", "workspace", "session", "name", b"path", "goal")
ONE, TWO = PlanProposed("d1", "c1", "o1", "f1"), PlanProposed("d2", "c2", "o2", "f2")
EMPTY = PlanRecord(
    "plan", "workspace", "session", "name", b"path", "goal", "", NOON, 1, updated_at=NOON
)


def yes(
    name: str, digest: str = "d1", at: str = NOON, until: str = "", key: str = ""
) -> PlanApproved:
    person = Approver("ann", "terminal")
    return PlanApproved(Approval(name, "plan", "c", "o", digest, person, "", at, until, key))


def recorded(*events: Event) -> list[StoredEvent]:
    return [StoredEvent(n, "plan/plan", n, NOON, event) for n, event in enumerate(events, 1)]


def record(*events: Event) -> PlanRecord:
    found = fold_plan_events(None, recorded(CREATED, *events))
    assert found is not None
    return found


def changed(events: int, **fields: object) -> PlanRecord:
    return msgspec.structs.replace(EMPTY, seq=events + 1, **fields)


A1 = yes("a1").approval
THIRD = 3  # event of the stream: created, proposed, approved
SPENT = (ApprovalRecord(A1, "r1", seq=THIRD),)
STARTED = (ONE, yes("a1"), RunStarted("r1", "a1", "d1"))
RUNNING = {"digest": "d1", "frozen": "f1", "consents": SPENT}


@pytest.mark.parametrize(
    ("events", "wanted"),
    [
        ((), EMPTY),
        (
            (TextRevised("c1", 3), TextRevised("c2", 4)),
            changed(2, revisions=(TextRevision(1, NOON, "c1"), TextRevision(2, NOON, "c2"))),
        ),
        ((DraftChanged("b1", (), ()), DraftChanged("b2", (), ())), changed(2, draft="b2")),
        (
            (DraftEdited("e1", (), ()), DraftEdited("e2", (), ())),
            changed(2, draft="e2", edits=2, edits_after=1),
        ),
        (
            (DraftChanged("b1", (), ()), PlanSelected("plan"), DraftEdited("e1", (), ())),
            changed(3, draft="e1", edits=1, edits_of="b1", edits_after=3),
        ),
        ((DraftEdited("e1", (), ()), DraftChanged("b1", (), ())), changed(2, draft="b1")),
        ((PlanSelected("plan"),), changed(1)),
        ((ONE,), changed(1, state=PlanState.AWAITING_APPROVAL, digest="d1", frozen="f1")),
        ((ONE, PlanRevised()), changed(2)),
        (
            (ONE, yes("a1"), PlanRevised(), TWO),
            changed(
                4,
                state=PlanState.AWAITING_APPROVAL,
                digest="d2",
                frozen="f2",
                consents=(ApprovalRecord(A1, seq=THIRD),),
            ),
        ),
        (
            (ONE, yes("a1"), PlanRejected("d1", "not so", "ann")),
            changed(3, consents=(ApprovalRecord(A1, "", True, seq=THIRD),)),
        ),
        ((PlanDiscarded(),), changed(1, state=PlanState.DISCARDED)),
        (
            STARTED,
            changed(3, state=PlanState.EXECUTING, runs=(PlanRun("r1", "d1", "f1"),), **RUNNING),
        ),
        (
            (*STARTED, RunEnded("r1", "done")),
            changed(
                4, state=PlanState.COMPLETED, runs=(PlanRun("r1", "d1", "f1", "done"),), **RUNNING
            ),
        ),
        (
            (*STARTED, RunEnded("r1", "nothing")),
            changed(
                4,
                state=PlanState.COMPLETED,
                runs=(PlanRun("r1", "d1", "f1", "nothing"),),
                **RUNNING,
            ),
        ),
        (
            (*STARTED, RunEnded("r1", "rolled_back")),
            changed(
                4,
                state=PlanState.AWAITING_APPROVAL,
                runs=(PlanRun("r1", "d1", "f1", "rolled_back"),),
                **RUNNING,
            ),
        ),
        (
            (*STARTED, RunHalted("r1")),
            changed(
                4, state=PlanState.HALTED, runs=(PlanRun("r1", "d1", "f1", None, True),), **RUNNING
            ),
        ),
        (
            (*STARTED, RunHalted("r1"), RunResumed("r1", "roll_back")),
            changed(5, state=PlanState.EXECUTING, runs=(PlanRun("r1", "d1", "f1"),), **RUNNING),
        ),
        (
            (*STARTED, RunHalted("r1"), RunEnded("r1", "done")),
            changed(
                5, state=PlanState.COMPLETED, runs=(PlanRun("r1", "d1", "f1", "done"),), **RUNNING
            ),
        ),
    ],
)
def test_every_event_leaves_its_mark(events: tuple[Event, ...], wanted: PlanRecord) -> None:
    assert record(*events) == wanted


@pytest.mark.parametrize("outcome", ["done", "rolled_back"])
def test_a_plan_discarded_while_halted_stays_discarded_however_its_run_ends(
    outcome: RunOutcome,
) -> None:
    given_up = (*STARTED, RunHalted("r1"), PlanDiscarded())
    again = (*given_up, RunHalted("r1"), RunEnded("r1", outcome))
    assert record(*given_up).unfinished == PlanRun("r1", "d1", "f1", None, True)
    assert record(*again) == changed(
        7, state=PlanState.DISCARDED, runs=(PlanRun("r1", "d1", "f1", outcome),), **RUNNING
    )


def test_a_record_knows_when_it_last_changed_also_as_an_older_version_kept_it() -> None:
    now = StoredEvent(2, "plan/plan", 2, EVENING, TextRevised("c1", 3))
    found = fold_plan(record(), now)
    assert (found.created_at, found.changed_at) == (NOON, EVENING)
    assert msgspec.structs.replace(found, updated_at="").changed_at == EVENING
    old = msgspec.structs.replace(record(ONE, yes("a1", at=LATER)), updated_at="")
    assert old.changed_at == LATER


def test_where_an_approval_was_given_stands_beside_what_was_signed() -> None:
    proposed = record(msgspec.structs.replace(ONE, root=b"/here"))
    assert proposed.root == b"/here"
    given = msgspec.structs.replace(yes("a1"), branch="main", root=b"/there")
    approved = fold_plan(proposed, StoredEvent(3, "plan/plan", 3, NOON, given))
    assert (approved.root, approved.branch_of(A1)) == (b"/there", "main")
    assert approved.branch_of(None) == ""
    older = msgspec.json.decode(
        msgspec.json.encode(msgspec.to_builtins(yes("a1").approval)), type=Approval
    )
    assert signed_bytes(older) == signed_bytes(given.approval)
    assert msgspec.json.decode(
        b'{"type":"plan_approved","approval":' + msgspec.json.encode(older) + b"}",
        type=PlanApproved,
    ) == yes("a1")


def test_f55_an_event_that_the_table_does_not_know_is_refused() -> None:
    with pytest.raises(IllegalState):
        record(RunStarted("r1", "a1", "d1"))


def test_a_record_begins_with_the_creation_of_its_plan() -> None:
    assert fold_plan_events(None, []) is None
    with pytest.raises(AssertionError):
        fold_plan(None, recorded(ONE)[0])


USABLE: list[tuple[str, tuple[Event, ...], str, str]] = [
    ("none", (ONE,), NOON, ""),
    ("fresh", (ONE, yes("a1")), NOON, "a1"),
    ("the newest", (ONE, yes("a1"), yes("a2")), NOON, "a2"),
    ("other digest", (ONE, yes("a1"), PlanRevised(), TWO), NOON, ""),
    ("the same digest again", (ONE, yes("a1"), PlanRevised(), ONE), NOON, "a1"),
    ("drafting", (ONE, yes("a1"), PlanRevised()), NOON, ""),
    ("spent", (*STARTED, RunEnded("r1", "rolled_back")), NOON, ""),
    ("an earlier left", (ONE, yes("a2"), *STARTED[1:], RunEnded("r1", "rolled_back")), NOON, ""),
    ("given again", (*STARTED, RunEnded("r1", "rolled_back"), yes("a2")), NOON, "a2"),
    ("void", (ONE, yes("a1"), PlanRejected("d1", "", "ann"), ONE), NOON, ""),
    ("after a no", (ONE, yes("a1"), PlanRejected("d1", "", "ann"), ONE, yes("a2")), NOON, "a2"),
    ("in time", (ONE, yes("a1", until=EVENING)), LATER, "a1"),
    ("expired", (ONE, yes("a1", until=LATER)), EVENING, ""),
    ("expired, an older one not", (ONE, yes("a1"), yes("a2", until=LATER)), EVENING, ""),
    ("expired, not another", (ONE, yes("a1"), yes("a2", until=LATER, key="k")), EVENING, "a1"),
    ("clock set back", (ONE, yes("a1", at=LATER, until=EVENING)), NOON, ""),
    ("clock set back, no expiry", (ONE, yes("a1", at=LATER)), NOON, "a1"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("events", "now", "wanted"), [row[1:] for row in USABLE], ids=[row[0] for row in USABLE]
)
def test_law_3_an_approval_is_usable_once_in_time_and_for_one_digest(
    events: tuple[Event, ...], now: str, wanted: str
) -> None:
    found = record(*events).usable(now)
    assert (found.id if found else "") == wanted


def test_the_text_is_the_last_revision() -> None:
    assert record().content_hash == ""
    assert record(TextRevised("c1", 3), TextRevised("c2", 4)).content_hash == "c2"


def test_the_unfinished_run_is_the_one_without_an_outcome() -> None:
    again = (*STARTED, RunEnded("r1", "rolled_back"), yes("a2"), RunStarted("r2", "a2", "d1"))
    assert record(ONE).unfinished is None
    assert record(*STARTED).unfinished == PlanRun("r1", "d1", "f1")
    assert record(*STARTED, RunEnded("r1", "done")).unfinished is None
    halted = record(*again, RunHalted("r2"))
    assert halted.unfinished == PlanRun("r2", "d1", "f1", None, True)
    assert halted.runs[0] == PlanRun("r1", "d1", "f1", "rolled_back")


# From each state, events that its plan may see; several lead back, so that stories grow long.
NEXT: dict[PlanState, list[Callable[[int], Event]]] = {
    PlanState.DRAFTING: [
        lambda n: TextRevised(f"c{n}", n),
        lambda n: DraftChanged(f"b{n}", (), ()),
        lambda n: DraftEdited(f"e{n}", (), ()),
        lambda n: PlanProposed(f"d{n % 2}", "c", "o", f"f{n}"),
    ],
    PlanState.AWAITING_APPROVAL: [
        lambda n: yes(f"a{n}", f"d{n % 2}"),
        lambda n: RunStarted(f"r{n}", f"a{n - 1}", f"d{n % 2}"),
        lambda _: PlanRevised(),
        lambda _: PlanRejected("d", "no", "ann"),
    ],
    PlanState.EXECUTING: [
        lambda n: RunHalted(f"r{n - 1}"),
        lambda n: RunEnded(f"r{n - 1}", "rolled_back"),
        lambda n: RunEnded(f"r{n - 1}", "done"),
    ],
    PlanState.HALTED: [
        lambda n: RunResumed(f"r{n - 2}", "resume"),
        lambda n: RunEnded(f"r{n - 2}", "done"),
        lambda _: PlanDiscarded(),
    ],
    PlanState.COMPLETED: [lambda _: PlanDiscarded()],
    PlanState.DISCARDED: [lambda _: PlanSelected("plan")],
}


@settings(max_examples=examples(40), deadline=None)
@given(st.lists(st.integers(0, 5), max_size=14), st.integers(1, 15))
def test_law_8_where_the_stream_is_cut_makes_no_difference(choices: list[int], cut: int) -> None:
    stream = recorded(CREATED)
    whole = fold_plan(None, stream[0])
    for choice in choices:
        number = len(stream) + 1
        makers = NEXT[whole.state]
        event = makers[choice % len(makers)](number)
        stream.append(StoredEvent(number, "plan/plan", number, NOON, event))
        whole = fold_plan(whole, stream[-1])
    head = msgspec.json.encode(fold_plan_events(None, stream[:cut]))
    kept = msgspec.json.decode(head, type=PlanRecord)
    assert fold_plan_events(kept, stream[cut:]) == whole


def test_an_event_is_called_by_its_tag() -> None:
    assert [event_tag(event) for event in (CREATED, *STARTED)] == [
        "plan_created",
        "plan_proposed",
        "plan_approved",
        "run_started",
    ]
