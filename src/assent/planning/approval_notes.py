"""Notes that people attach to approvals, kept until a later plan lists them as items."""

from assent.core.errors import UsageError
from assent.core.event import NotesCarried
from assent.core.plan.record import PlanRecord, PlanState
from assent.planning.plan_repository import PlanRepository
from assent.planning.workspace_repository import WorkspaceRepository
from assent.ports import EventBatch
from assent.render.approval import SOURCE, ApprovalNote, notes_in_text, notes_section

MAX_NOTE_CHARS = 1 << 16  # so that every note finds room in a plan


class ApprovalNotes:
    """The notes of a workspace's approvals, and the plan that each became part of."""

    def __init__(self, workspaces: WorkspaceRepository) -> None:
        self._workspaces = workspaces

    def waiting(self, ledger: PlanRepository) -> tuple[ApprovalNote, ...]:
        """Returns the notes that no plan has among its items yet, oldest first.

        A plan that was given up before anything came of it counts as none.
        """
        home = self._workspaces.find()
        if home is None:
            return ()
        records = {record.plan_id: record for record in ledger.all()}
        idle = {p for p, r in records.items() if r.state is PlanState.DISCARDED and not r.runs}
        found = [noted for record in records.values() for noted in notes_of(record)]
        left = [n for n in found if home.carried.get(n.approval, "") in ("", *idle)]
        return tuple(sorted(left, key=lambda noted: (noted.at, noted.approval)))

    def of_plan(self, ledger: PlanRepository, plan_id: str) -> tuple[ApprovalNote, ...]:
        """Returns the notes that became items of a plan."""
        home = self._workspaces.find()
        own = {a for a, plan in home.carried.items() if plan == plan_id} if home else set[str]()
        if not own:
            return ()
        found = [noted for record in ledger.all() for noted in notes_of(record)]
        return tuple(sorted((n for n in found if n.approval in own), key=lambda n: n.at))

    def with_items(self, text: bytes, notes: tuple[ApprovalNote, ...], most: int) -> bytes:
        """Returns a text in which notes are items; those for which there is no room keep waiting.

        What is among its items already is not added.
        """
        there = notes_in_text(notes, text)
        added: tuple[ApprovalNote, ...] = ()
        for noted in notes:
            longer = (*added, noted)
            if noted not in there and len(text) + len(notes_section(longer).encode()) <= most:
                added = longer
        end = b"" if text.endswith(b"\n") or not text else b"\n"
        return text + end + notes_section(added).encode() if added else text

    def carrying(self, ledger: PlanRepository, plan_id: str, text: bytes) -> tuple[EventBatch, ...]:
        """Prepares the record that notes became items of a plan, where its text has any."""
        if SOURCE.encode() not in text:
            return ()
        there = tuple(noted.approval for noted in notes_in_text(self.waiting(ledger), text))
        return (self._workspaces.batch(NotesCarried(plan_id, there)),) if there else ()


def check_note(note: str) -> str:
    """Refuses a note that is too long to become an item of a plan; returns any other."""
    if len(note.encode()) > MAX_NOTE_CHARS:
        raise UsageError(
            f"A note has at most {MAX_NOTE_CHARS} bytes; this has more. Nothing was approved.",
            "assent approve --help",
        )
    return note


def notes_of(record: PlanRecord, digest: str = "") -> tuple[ApprovalNote, ...]:
    """Returns the notes of a plan's approvals, or of those of one digest."""
    approvals = [consent.approval for consent in record.consents]
    return tuple(
        ApprovalNote(
            a.id, record.plan_id, record.name, a.digest, a.approver.user, a.approved_at, a.note
        )
        for a in approvals
        if a.note.strip() and digest in ("", a.digest)
    )
