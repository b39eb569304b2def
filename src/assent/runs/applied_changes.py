"""Reads from journals and permits which changes runs and session commands made."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

import msgspec

from assent.core.digest import operation_ids
from assent.core.errors import AssentError
from assent.core.event import CommandEnded, CommandStarted
from assent.core.paths import display_path, typed_line
from assent.core.plan.operation import Operation, RunCommand
from assent.core.plan.record import PlanRecord, PlanRun
from assent.core.run.journal import (
    CommandStartedEntry,
    FinishedEntry,
    JournalEntry,
    OperationResult,
)
from assent.core.run.permit_log import PermitRun
from assent.core.run.state import UNKNOWN_END, command_ends, rollback_start
from assent.core.run.workspace_changes import WorkspaceChanges, decode_changes
from assent.core.shell.process import script_line, shell_line
from assent.core.undo import AppliedChange, AppliedCommand, merged_changes
from assent.planning.plan_repository import PlanRepository
from assent.planning.ports import Ports
from assent.runs.journal import StoreJournal

MAY_HAVE_CHANGED: tuple[OperationResult, ...] = (
    "done",
    "unknown",
)  # results that may have changed something
# A command that failed may have changed files all the same, unless the run was put back.
COMMAND_MAY_HAVE_CHANGED: tuple[OperationResult, ...] = (*MAY_HAVE_CHANGED, "failed", "conflict")

_UNKNOWN = WorkspaceChanges(known=False)


class SessionCommand(msgspec.Struct, frozen=True):
    """A command that a session ran, with its end if that is recorded."""

    started: CommandStarted
    ended: CommandEnded | None = None
    at: str = ""  # when it ended


class AppliedChanges:
    """What was done in a workspace, by the id of a run or of a session's command."""

    def __init__(self, doors: Ports, ledger: PlanRepository) -> None:
        self._doors = doors
        self._ledger = ledger
        self._read: dict[str, tuple[AppliedChange, ...]] = {}
        self._plans: dict[str, tuple[Operation, ...]] = {}

    @cached_property
    def records(self) -> list[PlanRecord]:
        return self._ledger.all()

    @cached_property
    def permits(self) -> list[PermitRun]:
        return self._ledger.permit_runs()

    @cached_property
    def commands(self) -> list[SessionCommand]:
        """Every command of a session, oldest first."""
        if not self._ledger.workspace:
            return []
        found: dict[str, SessionCommand] = {}
        for recorded in self._doors.store.read(self._ledger.permit_stream):
            match recorded.event:
                case CommandStarted(id=id) as started:
                    found[id] = SessionCommand(started)
                case CommandEnded(id=id) as ended if id in found:
                    found[id] = SessionCommand(found[id].started, ended, recorded.at)
                case _:
                    pass
        return list(found.values())

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
        return StoreJournal(self._doors, self._ledger).read(run)

    def operations(self, run: str) -> tuple[Operation, ...]:
        """Returns all operations of a run."""
        if run in self._permitted:
            return self._permitted[run].operations
        if run not in self._notes:
            return ()
        if run not in self._plans:
            self._plans[run] = self._ledger.plan(self._notes[run]).operations
        return self._plans[run]

    def named(self, run: str) -> tuple[Operation, ...]:
        """Returns the same operations, without checking them against a digest."""
        note = self._notes.get(run)
        return self._ledger.unchecked_plan(note).operations if note else self.operations(run)

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
            return decode_changes(self._doors.blobs.read(blob))
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
        self, deed: AppliedChange, op: RunCommand, entries: Sequence[JournalEntry]
    ) -> AppliedChange:
        there = entries[: rollback_start(entries)]  # on the way back, other operations are counted
        ends = command_ends(entries).get(deed.index, ())
        began = [e for e in there if isinstance(e, CommandStartedEntry) and e.index == deed.index]
        unseen = [_UNKNOWN] if len(began) > len(ends) else []
        told = [self.changes(end.changes) if end.changes else _UNKNOWN for end in ends]
        changes = merged_changes([*told, *unseen])
        seen = not unseen and all(end.cut != UNKNOWN_END for end in ends)
        confined = op.profile != "unconfined"
        ordered = AppliedCommand(
            command_text(op), op, changes.skipped, changes.known, confined, seen=seen
        )
        return msgspec.structs.replace(
            deed, operations=changes.operations, ordered=ordered, made=changes.made
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


def can_be_undone(deeds: Iterable[AppliedChange]) -> bool:
    """Tells whether there is anything to undo: files, or a command with its own undo."""
    return any(deed.operations or deed.undo for deed in deeds)


def command_text(op: RunCommand) -> str:
    """Returns a command on one line; a commit, which has one fixed form, is shortened."""
    if op.profile == "commit":
        return "git commit"
    return shell_line(op.argv) if op.argv else typed_line(script_line(display_path(op.script)))
