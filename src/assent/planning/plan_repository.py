"""Loads plans as folds of their event streams and appends events to them."""

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

import msgspec

from assent.core.errors import NotFound, StoreError, WorkspaceMismatch
from assent.core.event import Event, StoredEvent
from assent.core.plan.operation import Operation
from assent.core.plan.plan import Plan
from assent.core.plan.record import PlanRecord, PlanRun, fold_plan, fold_plan_events
from assent.core.run.permit_log import PermitLog, PermitRun, fold_permit, permit_runs
from assent.planning.ports import Ports
from assent.ports import EventBatch

# Decodes the stored fold of a stream; a damaged one is ignored and folded again.


Fold = TypeVar("Fold")


def decoded_head(head: tuple[int, bytes] | None, decode: Callable[[bytes], Fold]) -> Fold | None:
    """Returns a stored fold, or None if it is missing or damaged: events can be folded again."""
    if head is None:
        return None
    try:
        return decode(head[1])
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


USED_HERE: Final = "The approval was already used on this machine."

_decode = msgspec.json.Decoder(PlanRecord).decode
_decode_book = msgspec.json.Decoder(PermitLog).decode
_decode_plan = msgspec.json.Decoder(Plan).decode
_decode_draft = msgspec.json.Decoder(tuple[Operation, ...]).decode


class PlanRepository:
    """The plans of one workspace, by id."""

    def __init__(self, doors: Ports, workspace: str) -> None:
        self._doors = doors
        self.workspace = workspace
        self._frozen: tuple[str, Plan | None] = "", None  # the last one kept or read, by its blob

    def stream(self, plan_id: str) -> str:
        return f"plan/{self.workspace}/{plan_id}"

    def load(self, plan_id: str) -> PlanRecord:
        """Returns a plan, folded up to its newest event."""
        record = self._load(self.stream(plan_id))
        if record is not None:
            return record
        if any(name.endswith("/" + plan_id) for name in self._doors.store.streams("plan/")):
            raise WorkspaceMismatch(
                f"Plan {plan_id} was created for another workspace.", "assent plan list"
            )
        raise NotFound(f"Plan {plan_id} not found.", "assent plan list")

    def all(self) -> list[PlanRecord]:
        """Returns every plan of the workspace, newest first."""
        if not self.workspace:
            return []
        store, prefix = self._doors.store, self.stream("")
        heads = store.heads(prefix)
        streams = sorted(store.streams(prefix), reverse=True)
        records = [decoded_head(heads.get(one), _decode) or self._load(one) for one in streams]
        return [record for record in records if record is not None]

    def batch(self, record: PlanRecord | None, plan_id: str, *events: Event) -> EventBatch:
        """Prepares events for a plan together with the head that they make."""
        stream, at = self.stream(plan_id), self._doors.clock.now()
        after = record.seq if record else 0
        head = record
        for seq, event in enumerate(events, after + 1):
            head = fold_plan(head, StoredEvent(0, stream, seq, at, event))
        return EventBatch(stream, after, at, events, msgspec.json.encode(head))

    def append(
        self,
        record: PlanRecord | None,
        plan_id: str,
        *events: Event,
        beside: Sequence[EventBatch] = (),
    ) -> PlanRecord:
        """Appends events, if no one else did meanwhile and the lifecycle allows them.

        `beside` is recorded with them, or nothing is.
        """
        batch = self.batch(record, plan_id, *events)
        self._doors.store.append(batch, *beside)
        assert batch.head is not None
        return _decode(batch.head)

    @property
    def permit_stream(self) -> str:
        """The stream of the workspace's permits."""
        return f"permit/{self.workspace}"

    def permit_log(self) -> PermitLog:
        """Returns the permits, folded up to their newest event."""
        book = decoded_head(self._doors.store.head(self.permit_stream), _decode_book) or PermitLog()
        for recorded in self._doors.store.read(self.permit_stream, book.seq):
            book = fold_permit(book, recorded)
        return book

    def permit_runs(self) -> list[PermitRun]:
        """Returns every permit that was given here, oldest first."""
        return permit_runs(self._doors.store.read(self.permit_stream)) if self.workspace else []

    def permit_batch(self, book: PermitLog, *events: Event) -> EventBatch:
        """Prepares events for the permits together with the head that they make."""
        at, head = self._doors.clock.now(), book
        for seq, event in enumerate(events, book.seq + 1):
            head = fold_permit(head, StoredEvent(0, self.permit_stream, seq, at, event))
        return EventBatch(self.permit_stream, book.seq, at, events, msgspec.json.encode(head))

    def operations(self, record: PlanRecord) -> tuple[Operation, ...]:
        """Returns the staged operations."""
        return self.draft_operations(record.draft) if record.draft else ()

    def draft_operations(self, draft: str) -> tuple[Operation, ...]:
        """Returns the operations of one version of a draft."""
        return _decode_draft(self._doors.blobs.read(draft))

    def keep_draft(self, operations: Sequence[Operation]) -> str:
        """Stores staged operations as a blob and returns its digest."""
        draft, _ = self._doors.blobs.keep([msgspec.json.encode(operations)])
        self._doors.blobs.flush()
        return draft

    def keep_plan(self, plan: Plan) -> str:
        """Stores a plan as a blob, from now on frozen, and returns its digest."""
        frozen, _ = self._doors.blobs.keep([msgspec.json.encode(plan)])
        self._doors.blobs.flush()
        self._frozen = frozen, plan
        return frozen

    def plan(self, note: PlanRecord | PlanRun) -> Plan:
        """Returns a frozen plan, or the plan of a run, checked against its digest."""
        content = self._doors.blobs.read(note.frozen)  # it is what its name says, or an error
        name, plan = self._frozen
        if plan is None or name != note.frozen:
            plan = _decode_plan(content)
            self._frozen = note.frozen, plan
        if plan.digest != note.digest:
            raise StoreError(
                f"The stored plan does not match its digest {note.digest[:12]}…, so it was not "
                "used.",
                "assent propose",
            )
        return plan

    def unchecked_plan(self, note: PlanRun) -> Plan:
        """Returns the plan of a run as stored, for callers that check everything themselves."""
        return _decode_plan(self._doors.blobs.read(note.frozen))

    def _load(self, stream: str) -> PlanRecord | None:
        kept = self._doors.store.head(stream)
        record = decoded_head(kept, _decode)
        return fold_plan_events(record, self._doors.store.read(stream, record.seq if record else 0))


def used_approval_stream(approval: str) -> str:
    """Returns the stream that exists once an imported approval was used here (law 3)."""
    return f"spent/{approval}"
