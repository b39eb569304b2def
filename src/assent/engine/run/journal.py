"""The journal in the store: a run's entries, together with what they mean for the plan."""

from typing import Final

from assent.core.errors import Moved, Spent
from assent.core.event import (
    Event,
    JournalWritten,
    PermitGiven,
    RunEnded,
    RunHalted,
    RunResumed,
    RunStarted,
)
from assent.core.journal import Entry, Finished, Halted, Recovering, Started, started
from assent.core.lifecycle import State
from assent.core.permit_book import PermitBook
from assent.core.record import PlanRecord
from assent.engine.doors import Doors
from assent.engine.plan.ledger import Ledger
from assent.ports import Batch

USED_HERE: Final = "The approval was used on this machine."


class StoreJournal:
    """Implements ports.Journal. The first entry spends the approval, or fails (law 3).

    A permit is given and spent by one and the same entry.
    """

    def __init__(self, doors: Doors, ledger: Ledger, given: PermitGiven | None = None) -> None:
        self._doors = doors
        self._ledger = ledger
        self._given = given
        self._known: dict[str, list[Entry]] = {}  # what was read of each run; none ever changes

    def read(self, run: str) -> list[Entry]:
        known = self._known.setdefault(run, [])
        recorded = self._doors.store.read(self._stream(run), len(known))
        known += [r.event.entry for r in recorded if isinstance(r.event, JournalWritten)]
        return list(known)

    def write(self, run: str, entry: Entry) -> None:
        entries = self.read(run)
        at = self._doors.clock.now()
        batch = Batch(self._stream(run), len(entries), at, (JournalWritten(entry),))
        batches = (batch, *self._for_the_plan(run, entry, entries))
        try:
            self._doors.store.append(*batches)
        except Moved:
            if not isinstance(entry, Started) or not self._is_spent(entry.approval):
                raise
            raise Spent(USED_HERE, "assent approve FILE") from None  # another build was faster

    def _is_spent(self, approval: str) -> bool:
        return bool(self._doors.store.streams(spent_stream(approval)))

    def _for_the_plan(self, run: str, entry: Entry, entries: list[Entry]) -> list[Batch]:
        if not isinstance(entry, Started | Recovering | Halted | Finished):
            return []
        first = entry if isinstance(entry, Started) else started(entries)
        if not first.plan_id:
            return self._for_the_permit(run, entry)
        record = self._ledger.load(first.plan_id)
        events = _plan_events(run, entry, record)
        batches = [self._ledger.batch(record, record.plan_id, *events)] if events else []
        if isinstance(entry, Started) and record.imported:
            # A yes that travelled is used up for every workspace of this machine.
            at = self._doors.clock.now()
            batches.append(Batch(spent_stream(entry.approval), 0, at, tuple(events)))
        return batches

    def _for_the_permit(self, run: str, entry: Entry) -> list[Batch]:
        book = self._ledger.book()
        events = self._permit_events(run, entry, book)
        return [self._ledger.permit_batch(book, *events)] if events else []

    def _permit_events(self, run: str, entry: Entry, book: PermitBook) -> list[Event]:
        match entry:
            case Started(approval=permit):
                if book.unfinished or self._given is None or self._given.permit.id != permit:
                    raise Moved("Another change is unfinished.", "assent status")
                return [self._given]
            case _:
                return _run_events(run, entry, halted=bool(book.last and book.last.halted))

    def _stream(self, run: str) -> str:
        return f"run/{self._ledger.workspace}/{run}"


def spent_stream(approval: str) -> str:
    """Returns the stream that exists once an approval from elsewhere was used here (law 3)."""
    return f"spent/{approval}"


def _plan_events(run: str, entry: Entry, record: PlanRecord) -> list[Event]:
    match entry:
        case Started(approval=approval, digest=digest):
            if any(c.run for c in record.consents if c.approval.id == approval):
                raise Moved("The approval was used meanwhile.", "assent status")
            return [RunStarted(run, approval, digest)]
        case _:
            return _run_events(run, entry, halted=record.state is State.HALTED)


def _run_events(run: str, entry: Entry, *, halted: bool) -> list[Event]:
    """Returns what an entry means for whatever the run belongs to."""
    match entry:
        case Recovering(way) if halted and way in ("resume", "roll_back"):
            return [RunResumed(run, way)]
        case Halted():
            return [RunHalted(run)]
        case Finished(outcome=outcome):
            return [RunEnded(run, outcome)]
        case _:
            return []
