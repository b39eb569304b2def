"""Long work on plans that a server was asked for: builds and rehearsals, and how each ended.

What the work does has events of its own. These only say that it was asked for, and that it is over:
work that neither ended nor is under way was interrupted.
"""

from collections.abc import Sequence
from typing import Final

import msgspec

from assent.core.errors import AssentError, ConcurrentChange
from assent.core.event import Event, StoredEvent, WorkEnded, WorkKind, WorkQueued
from assent.core.plan.record import PlanRecord
from assent.planning.ports import Ports
from assent.ports import EventBatch

MAX_TRIES: Final = 50  # of recording while other work on the plan is recorded


class PlanWork(msgspec.Struct, frozen=True):
    """One piece of work; without an end it is under way, or was interrupted."""

    queued: WorkQueued
    at: str
    ended: WorkEnded | None = None
    ended_at: str = ""

    @property
    def id(self) -> str:
        return self.queued.work


class PlanWorkLog:
    """Records and lists the work on plans. It changes no plan, so each has a stream of its own."""

    def __init__(self, ports: Ports) -> None:
        self._ports = ports

    def queue(self, record: PlanRecord, kind: WorkKind, access: str) -> PlanWork:
        """Records that work was asked for, before it begins."""
        work = self._ports.clock.new_id()
        event = WorkQueued(record.plan_id, work, kind, record.digest, access)
        return PlanWork(event, self._append(record, event))

    def end(
        self, record: PlanRecord, work: str, outcome: str, run: str, warnings: Sequence[str]
    ) -> None:
        """Records that work came to an end, and what a person should know although it did."""
        ended = WorkEnded(record.plan_id, work, outcome, run, warnings=tuple(warnings))
        self._append(record, ended)

    def fail(self, record: PlanRecord, work: str, error: AssentError) -> None:
        """Records why work could not be done."""
        told = (error.word, error.message, error.next)
        self._append(record, WorkEnded(record.plan_id, work, "", "", *told))

    def of(self, record: PlanRecord) -> list[PlanWork]:
        """Returns the work on a plan, oldest first."""
        found: dict[str, PlanWork] = {}
        for stored in self._read(record):
            match stored.event:
                case WorkQueued() as queued:
                    found[queued.work] = PlanWork(queued, stored.at)
                case WorkEnded(work=work) as ended if work in found:
                    was = found[work]
                    found[work] = PlanWork(was.queued, was.at, ended, stored.at)
                case _:
                    pass
        return list(found.values())

    def _read(self, record: PlanRecord) -> list[StoredEvent]:
        return self._ports.store.read(_stream(record))

    def _append(self, record: PlanRecord, event: Event) -> str:
        for _ in range(MAX_TRIES):
            at, known = self._ports.clock.now(), len(self._read(record))
            try:
                self._ports.store.append(EventBatch(_stream(record), known, at, (event,)))
            except ConcurrentChange:  # other work on the plan was recorded meanwhile
                continue
            return at
        raise ConcurrentChange("Other work on this plan keeps being recorded.", "assent status")


def _stream(record: PlanRecord) -> str:
    return f"work/{record.workspace}/{record.plan_id}"
