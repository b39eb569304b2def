"""The journal in the event store: a run's entries, with their effect on the plan."""

from typing import Final

import msgspec

from assent.core.errors import ApprovalUsed, ConcurrentChange, StoreError
from assent.core.event import (
    Event,
    JournalWritten,
    PermitGiven,
    RunEnded,
    RunHalted,
    RunResumed,
    RunStarted,
)
from assent.core.plan.record import PlanRecord, PlanState
from assent.core.run.journal import (
    FinishedEntry,
    HaltedEntry,
    JournalEntry,
    RecoveringEntry,
    StartedEntry,
    started_entry,
    trusted_entries,
)
from assent.core.run.permit_log import PermitLog
from assent.planning.plan_repository import USED_HERE, PlanRepository, used_approval_stream
from assent.planning.ports import Ports
from assent.ports import EventBatch

MISSING_RECORD: Final = "Record {} of the run is missing from the log or was altered."


class JournalDamage(msgspec.Struct, frozen=True):
    """Why the journal of a run cannot be trusted, and how many of its first entries can."""

    why: str
    entries: tuple[JournalEntry, ...] = ()


class StoreJournal:
    """Implements ports.Journal. The first entry uses up the approval, or fails (law 3).

    A permit is given and used up by the same entry.
    """

    def __init__(
        self, doors: Ports, ledger: PlanRepository, given: PermitGiven | None = None
    ) -> None:
        self._doors = doors
        self._ledger = ledger
        self._given = given
        self._known: dict[
            str, list[JournalEntry]
        ] = {}  # what was read of each run; none ever changes
        self._last: dict[str, int] = {}  # how many records of each run that was

    def read(self, run: str) -> list[JournalEntry]:
        try:
            recorded = self._doors.store.read(self._stream(run), self._last.get(run, 0))
        except StoreError:
            doubt = self._trace(run)
            if doubt is not None:
                raise
            return self.known(run)  # a person has decided since what still counts
        if recorded:
            self._last[run] = recorded[-1].seq
            more = [r.event.entry for r in recorded if isinstance(r.event, JournalWritten)]
            self._known[run] = trusted_entries([*self.known(run), *more])
        return self.known(run)

    def known(self, run: str) -> list[JournalEntry]:
        """Returns what was read or written of a run so far, without reading the log."""
        return list(self._known.get(run, ()))

    def damage(self, run: str) -> JournalDamage | None:
        """Verifies the chain of the run's entries; where it is broken, trusts those before that."""
        return self._trace(run)

    def _trace(self, run: str) -> JournalDamage | None:
        traced = self._doors.store.trace(self._stream(run))
        found: list[JournalEntry] = []
        due, whole, position = 1, True, 0
        for one in traced.events:
            if not isinstance(one.event, JournalWritten):
                continue
            entry = one.event.entry
            decided = isinstance(entry, RecoveringEntry) and entry.trusted >= 0
            whole = decided or (whole and one.seq == due)
            if whole:
                found, due, position = trusted_entries([*found, entry]), one.seq + 1, one.position
        self._known[run], self._last[run] = found, traced.last
        why = next((words for at, words in traced.faults if at > position), "")
        if not whole or not found:
            why = why or next((words for _, words in traced.faults), MISSING_RECORD.format(due))
        return JournalDamage(why, tuple(found)) if why else None

    def write(self, run: str, entry: JournalEntry) -> None:
        entries = self.read(run)
        at = self._doors.clock.now()
        batch = EventBatch(self._stream(run), self._last.get(run, 0), at, (JournalWritten(entry),))
        batches = (batch, *self._for_the_plan(run, entry, entries))
        try:
            self._doors.store.append(*batches)
        except ConcurrentChange:
            if not isinstance(entry, StartedEntry) or not self._is_spent(entry.approval):
                raise
            raise ApprovalUsed(
                USED_HERE, "assent approve FILE"
            ) from None  # another build was faster
        self._last[run] = batch.after + 1
        self._known[run] = trusted_entries([*entries, entry])

    def abandon(self, run: str, first: StartedEntry, end: FinishedEntry) -> None:
        """Ends a run none of whose entries can be trusted: they are set aside."""
        at, last = self._doors.clock.now(), self._last.get(run, 0)
        story: tuple[JournalEntry, ...] = (
            RecoveringEntry("accept", trusted=0),
            first,
            RecoveringEntry("accept"),
            end,
        )
        batch = EventBatch(self._stream(run), last, at, tuple([JournalWritten(e) for e in story]))
        self._doors.store.append(batch, *self._for_the_plan(run, end, [first]))
        self._last[run], self._known[run] = last + len(story), list(story[1:])

    def close(self, run: str, end: FinishedEntry) -> None:
        """Records again that a run is over, if only its plan does not know it."""
        if batches := self._for_the_plan(run, end, self.known(run)):
            self._doors.store.append(*batches)

    def _is_spent(self, approval: str) -> bool:
        return bool(self._doors.store.streams(used_approval_stream(approval)))

    def _for_the_plan(
        self, run: str, entry: JournalEntry, entries: list[JournalEntry]
    ) -> list[EventBatch]:
        if not isinstance(entry, StartedEntry | RecoveringEntry | HaltedEntry | FinishedEntry):
            return []
        first = entry if isinstance(entry, StartedEntry) else started_entry(entries)
        if not first.plan_id:
            return self._for_the_permit(run, entry)
        record = self._ledger.load(first.plan_id)
        events = _plan_events(run, entry, record)
        batches = [self._ledger.batch(record, record.plan_id, *events)] if events else []
        if isinstance(entry, StartedEntry) and record.imported:
            # A yes that travelled is used up for every workspace of this machine.
            at = self._doors.clock.now()
            batches.append(EventBatch(used_approval_stream(entry.approval), 0, at, tuple(events)))
        return batches

    def _for_the_permit(self, run: str, entry: JournalEntry) -> list[EventBatch]:
        book = self._ledger.permit_log()
        events = self._permit_events(run, entry, book)
        return [self._ledger.permit_batch(book, *events)] if events else []

    def _permit_events(self, run: str, entry: JournalEntry, book: PermitLog) -> list[Event]:
        match entry:
            case StartedEntry(approval=permit):
                if book.unfinished or self._given is None or self._given.permit.id != permit:
                    raise ConcurrentChange(
                        "Another run in this workspace is unfinished.", "assent status"
                    )
                return [self._given]
            case _:
                return _run_events(run, entry, halted=bool(book.last and book.last.halted))

    def _stream(self, run: str) -> str:
        return f"run/{self._ledger.workspace}/{run}"


def _plan_events(run: str, entry: JournalEntry, record: PlanRecord) -> list[Event]:
    match entry:
        case StartedEntry(approval=approval, digest=digest):
            if any(c.run for c in record.consents if c.approval.id == approval):
                raise ConcurrentChange("Another process used this approval.", "assent status")
            return [RunStarted(run, approval, digest)]
        case _:
            return _run_events(run, entry, halted=record.state is PlanState.HALTED)


def _run_events(run: str, entry: JournalEntry, *, halted: bool) -> list[Event]:
    """Returns what an entry means for whatever the run belongs to."""
    match entry:
        case RecoveringEntry(way) if halted and way in ("resume", "roll_back"):
            return [RunResumed(run, way)]
        case HaltedEntry():
            return [RunHalted(run)]
        case FinishedEntry(outcome=outcome):
            return [RunEnded(run, outcome)]
        case _:
            return []
