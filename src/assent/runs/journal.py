"""The journal in the event store: entries of runs, and which changes runs and commands made."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Final

import msgspec

from assent.core.digest import operation_ids
from assent.core.errors import ApprovalUsed, AssentError, ConcurrentChange, StoreError
from assent.core.event import (
    CommandEnded,
    CommandStarted,
    Event,
    JournalWritten,
    PermitGiven,
    RunEnded,
    RunHalted,
    RunResumed,
    RunStarted,
    StoredEvent,
)
from assent.core.paths import display_path, typed_line
from assent.core.plan.operation import Operation, RunCommand
from assent.core.plan.record import PlanRecord, PlanRun, PlanState
from assent.core.run.journal import (
    CommandStartedEntry,
    CommittedEntry,
    FinishedEntry,
    HaltedEntry,
    JournalEntry,
    OperationResult,
    RecoveringEntry,
    SettledEntry,
    StartedEntry,
    is_one_rename,
    started_entry,
    trusted_entries,
)
from assent.core.run.permit_log import PermitLog, PermitRun
from assent.core.run.state import UNKNOWN_END, command_ends, rollback_start
from assent.core.run.workspace_changes import WorkspaceChanges, decode_changes
from assent.core.shell.process import script_line, shell_line
from assent.core.undo import AppliedChange, AppliedCommand, merged_changes
from assent.planning.ports import NoHookRunner, Ports
from assent.planning.repositories import USED_HERE, PlanRepository, used_approval_stream
from assent.ports import EventBatch

CHANGED_MEANWHILE: Final = (
    "The plan or its approval changed while the build was being prepared. Nothing was changed."
)
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
        self, ports: Ports, repository: PlanRepository, given: PermitGiven | None = None
    ) -> None:
        self._ports = ports
        self._repository = repository
        self._given = given
        self._known: dict[
            str, list[JournalEntry]
        ] = {}  # what was read of each run; none ever changes
        self._last: dict[str, int] = {}  # how many records of each run that was
        self._held: list[JournalEntry] = []  # known, and written with the next one

    def read(self, run: str) -> list[JournalEntry]:
        try:
            recorded = self._ports.store.read(self._stream(run), self._last.get(run, 0))
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
        traced = self._ports.store.trace(self._stream(run))
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
        # Nobody else writes it; if someone did, the log refuses a batch that does not follow.
        entries = self.known(run) if run in self._last else self.read(run)
        alone = self._is_one_rename(entries)
        if alone and isinstance(entry, CommittedEntry):
            # Until its rename is on disk, and recorded, a crash rolls it back.
            self._held, self._known[run] = [entry], [*entries, entry]
            return
        at = self._ports.clock.now()
        events = tuple([JournalWritten(each) for each in (*self._held, entry)])
        batch = EventBatch(self._stream(run), self._last.get(run, 0), at, events)
        batches = (batch, *self._for_the_plan(run, entry, entries))
        if self._is_waited_for_later(entry, alone=alone):
            batches = tuple(msgspec.structs.replace(each, synced=False) for each in batches)
        try:
            self._ports.store.append(*batches)
        except ConcurrentChange:
            if not isinstance(entry, StartedEntry) or not self._is_spent(entry.approval):
                raise
            raise ApprovalUsed(
                USED_HERE, "assent approve FILE"
            ) from None  # another build was faster
        self._last[run], self._held = batch.after + len(events), []
        self._known[run] = trusted_entries([*entries, entry])

    def _is_one_rename(self, entries: Sequence[JournalEntry]) -> bool:
        """Tells whether this is the permitted edit of one file, from its start to its end."""
        given, first = self._given, entries[0] if entries else None
        return (
            given is not None
            and isinstance(first, StartedEntry)
            and is_one_rename(first, given.operations)
        )

    def _is_waited_for_later(self, entry: JournalEntry, *, alone: bool) -> bool:
        """Tells whether an entry of an edit is on disk soon enough with the end of its call.

        The session records that next, and waits for both. Hooks run when the end is on disk.
        """
        if isinstance(entry, SettledEntry):
            return alone and entry.outcome == "done"
        silent = isinstance(self._ports.hooks, NoHookRunner)
        return self._given is not None and silent and isinstance(entry, FinishedEntry)

    def abandon(self, run: str, first: StartedEntry, end: FinishedEntry) -> None:
        """Ends a run whose entries cannot be trusted: they are set aside."""
        at, last = self._ports.clock.now(), self._last.get(run, 0)
        story: tuple[JournalEntry, ...] = (
            RecoveringEntry("accept", trusted=0),
            first,
            RecoveringEntry("accept"),
            end,
        )
        batch = EventBatch(self._stream(run), last, at, tuple([JournalWritten(e) for e in story]))
        self._ports.store.append(batch, *self._for_the_plan(run, end, [first]))
        self._last[run], self._known[run] = last + len(story), list(story[1:])

    def close(self, run: str, end: FinishedEntry) -> None:
        """Records again that a run is over, if only its plan does not know it."""
        if batches := self._for_the_plan(run, end, self.known(run)):
            self._ports.store.append(*batches)

    def _is_spent(self, approval: str) -> bool:
        return bool(self._ports.store.streams(used_approval_stream(approval)))

    def _for_the_plan(
        self, run: str, entry: JournalEntry, entries: list[JournalEntry]
    ) -> list[EventBatch]:
        if not isinstance(entry, StartedEntry | RecoveringEntry | HaltedEntry | FinishedEntry):
            return []
        first = entry if isinstance(entry, StartedEntry) else started_entry(entries)
        if not first.plan_id:
            return self._for_the_permit(run, entry)
        record = self._repository.load(first.plan_id)
        events = _plan_events(run, entry, record)
        batches = [self._repository.batch(record, record.plan_id, *events)] if events else []
        if isinstance(entry, StartedEntry) and record.imported:
            # An approval from a bundle is used up for every workspace of this machine.
            at = self._ports.clock.now()
            batches.append(EventBatch(used_approval_stream(entry.approval), 0, at, tuple(events)))
        return batches

    def _for_the_permit(self, run: str, entry: JournalEntry) -> list[EventBatch]:
        permits = self._repository.permit_log()
        events = self._permit_events(run, entry, permits)
        return [self._repository.permit_batch(permits, *events)] if events else []

    def _permit_events(self, run: str, entry: JournalEntry, permits: PermitLog) -> list[Event]:
        match entry:
            case StartedEntry(approval=permit):
                if permits.unfinished or self._given is None or self._given.permit.id != permit:
                    raise ConcurrentChange(
                        "Another run in this workspace is unfinished.", "assent status"
                    )
                return [self._given]
            case _:
                return _run_events(run, entry, halted=bool(permits.last and permits.last.halted))

    def _stream(self, run: str) -> str:
        return f"run/{self._repository.workspace}/{run}"


def _plan_events(run: str, entry: JournalEntry, record: PlanRecord) -> list[Event]:
    match entry:
        case StartedEntry(approval=approval, digest=digest):
            given = [c for c in record.consents if c.approval.id == approval]
            if any(consent.run for consent in given):
                raise ConcurrentChange("Another process used this approval.", "assent status")
            # Hooks and other preparations take a while, and the plan may change during them.
            fits = digest == record.digest and digest in [c.approval.digest for c in given]
            if not fits or any(consent.void for consent in given):
                raise ConcurrentChange(CHANGED_MEANWHILE, "assent review")
            return [RunStarted(run, approval, digest)]
        case _:
            return _run_events(run, entry, halted=record.state is PlanState.HALTED)


def _run_events(run: str, entry: JournalEntry, *, halted: bool) -> list[Event]:
    """Returns what an entry means for the plan or permit that the run belongs to."""
    match entry:
        case RecoveringEntry(way) if halted and way in ("resume", "roll_back"):
            return [RunResumed(run, way)]
        case HaltedEntry():
            return [RunHalted(run)]
        case FinishedEntry(outcome=outcome):
            return [RunEnded(run, outcome)]
        case _:
            return []


# Reads from journals and permits which changes runs and session commands made.


MAY_HAVE_CHANGED: tuple[OperationResult, ...] = (
    "done",
    "unknown",
)  # results that may have changed something
# A command that failed may still have changed files, unless the run was rolled back.
COMMAND_MAY_HAVE_CHANGED: tuple[OperationResult, ...] = (*MAY_HAVE_CHANGED, "failed", "conflict")

_UNKNOWN = WorkspaceChanges(known=False)


class SessionCommand(msgspec.Struct, frozen=True):
    """A command that a session ran, with its end if that is recorded."""

    started: CommandStarted
    ended: CommandEnded | None = None
    at: str = ""  # when it ended


class AppliedChanges:
    """What was done in a workspace, by the id of a run or of a session's command."""

    def __init__(self, ports: Ports, repository: PlanRepository) -> None:
        self._ports = ports
        self._repository = repository
        self._read: dict[str, tuple[AppliedChange, ...]] = {}
        self._plans: dict[str, tuple[Operation, ...]] = {}

    @cached_property
    def records(self) -> list[PlanRecord]:
        return self._repository.all()

    @cached_property
    def permit_events(self) -> list[StoredEvent]:
        return self._repository.permit_events()

    @cached_property
    def permits(self) -> list[PermitRun]:
        """Every permit that was given here, oldest first."""
        return self._repository.permit_runs(self.permit_events)

    @cached_property
    def commands(self) -> list[SessionCommand]:
        """Every command of a session, oldest first."""
        found: dict[str, SessionCommand] = {}
        for recorded in self.permit_events:
            match recorded.body:
                case CommandStarted(id=id) as started:
                    found[id] = SessionCommand(started)
                case CommandEnded(id=id) as ended if id in found:
                    found[id] = SessionCommand(found[id].started, ended, recorded.at)
                case _:
                    pass
        return list(found.values())

    def permit(self, run: str) -> PermitRun | None:
        """Returns the permit that a run used."""
        return self._permitted.get(run)

    def command(self, name: str) -> SessionCommand | None:
        """Returns a session's command by its id."""
        return self._commands.get(name)

    @cached_property
    def _commands(self) -> dict[str, SessionCommand]:
        return {one.started.id: one for one in self.commands}

    @cached_property
    def _permitted(self) -> dict[str, PermitRun]:
        return {permit.run: permit for permit in self.permits}

    @cached_property
    def _notes(self) -> dict[str, PlanRun]:
        return {note.run: note for record in self.records for note in record.runs}

    def of(self, run: str) -> tuple[AppliedChange, ...]:
        """Returns what a run or a command did and what was not reverted, in order."""
        if run not in self._read:
            self._read[run] = tuple(self._found(run))
        return self._read[run]

    def changed_by_commands(self, run: str) -> list[Operation]:
        """Returns the changes that commands made; no journal is read of a run without any."""
        ran = run in self._commands or any(isinstance(o, RunCommand) for o in self.operations(run))
        changes = [change for change in self.of(run) if change.ordered] if ran else []
        return [op for change in changes for op in change.operations]

    def left_changes(self, run: str) -> bool:
        """Tells whether a run left anything to undo; one with only commands may not have."""
        try:
            operations = self.named(run)
            if not operations or not all(isinstance(op, RunCommand) for op in operations):
                return True
            return can_be_undone(self.of(run))
        except AssentError:  # an undo says what is damaged, and what to do about it
            return True

    def made_folders(self, run: str) -> tuple[bytes, ...]:
        """Returns the folders that a run created."""
        end = self.end(run)
        return end.made if end else ()

    def end(self, run: str) -> FinishedEntry | None:
        """Returns the last entry of a run; None if there is none yet, or no journal."""
        entries = self.entries(run)
        last = entries[-1] if entries else None
        return last if isinstance(last, FinishedEntry) else None

    def entries(self, run: str) -> list[JournalEntry]:
        return StoreJournal(self._ports, self._repository).read(run)

    def operations(self, run: str) -> tuple[Operation, ...]:
        """Returns all operations of a run."""
        if run in self._permitted:
            return self._permitted[run].operations
        if run not in self._notes:
            return ()
        if run not in self._plans:
            self._plans[run] = self._repository.plan(self._notes[run]).operations
        return self._plans[run]

    def named(self, run: str) -> tuple[Operation, ...]:
        """Returns the same operations, without checking them against a digest."""
        note = self._notes.get(run)
        return self._repository.unchecked_plan(note).operations if note else self.operations(run)

    def ids(self, run: str) -> tuple[str, ...]:
        """Returns the ids of a run's operations; a session's command has its own id."""
        if run in self._commands:
            return (run,)
        return operation_ids(self.operations(run))

    def note(self, run: str) -> PlanRun | None:
        """Returns the note about a run in its plan."""
        return self._notes.get(run)

    def changes(self, blob: str) -> WorkspaceChanges:
        """Returns what a command changed, as it was recorded."""
        if not blob:
            return WorkspaceChanges()
        try:
            return decode_changes(self._ports.blobs.read(blob))
        except (AssentError, msgspec.MsgspecError):
            return _UNKNOWN

    def _found(self, run: str) -> Iterator[AppliedChange]:
        command = self._commands.get(run)
        if command is not None:
            yield self._of_session(command)
            return
        end = self.end(run)
        if end is None:
            return
        operations = self.operations(run)
        ids = operation_ids(operations)
        accepted = end.outcome == "done"
        entries = self.entries(run) if any(isinstance(op, RunCommand) for op in operations) else []
        for index, (op, result) in enumerate(zip(operations, end.results, strict=True)):
            if isinstance(op, RunCommand):
                if result in (COMMAND_MAY_HAVE_CHANGED if accepted else MAY_HAVE_CHANGED):
                    yield self._of_plan(AppliedChange(run, index, ids[index], ()), op, entries)
            elif result in MAY_HAVE_CHANGED:
                yield AppliedChange(run, index, ids[index], (op,))

    def _of_plan(
        self, change: AppliedChange, op: RunCommand, entries: Sequence[JournalEntry]
    ) -> AppliedChange:
        there = entries[: rollback_start(entries)]  # on the way back, other operations are counted
        ends = command_ends(entries).get(change.index, ())
        began = [e for e in there if isinstance(e, CommandStartedEntry) and e.index == change.index]
        unseen = [_UNKNOWN] if len(began) > len(ends) else []
        told = [self.changes(end.changes) if end.changes else _UNKNOWN for end in ends]
        changes = merged_changes([*told, *unseen])
        seen = not unseen and all(end.cut != UNKNOWN_END for end in ends)
        confined = op.profile != "unconfined"
        ordered = AppliedCommand(
            command_text(op), op, changes.skipped, changes.known, confined, seen=seen
        )
        return msgspec.structs.replace(
            change, operations=changes.operations, ordered=ordered, made=changes.made
        )

    def _of_session(self, command: SessionCommand) -> AppliedChange:
        begun, end = command.started, command.ended
        if end is None or (not end.changes and end.changed != ()):
            changes = _UNKNOWN
        else:
            changes = self.changes(end.changes)
        line, seen = typed_line(begun.line), end is not None and end.cut != UNKNOWN_END
        ordered = AppliedCommand(line, None, changes.skipped, changes.known, begun.confined, seen)
        return AppliedChange(begun.id, 0, begun.id, changes.operations, ordered, changes.made)


def can_be_undone(changes: Iterable[AppliedChange]) -> bool:
    """Tells whether there is anything to undo: files, or a command with its own undo."""
    return any(change.operations or change.undo for change in changes)


def command_text(op: RunCommand) -> str:
    """Returns a command on one line; a commit, which has one fixed form, is shortened."""
    if op.profile == "commit":
        return "git commit"
    return shell_line(op.argv) if op.argv else typed_line(script_line(display_path(op.script)))
