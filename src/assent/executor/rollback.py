"""Plans a rollback: from journal, blobs and disk, the operations that revert a run."""

from collections.abc import Callable, Iterator, Sequence

import msgspec

from assent.core.decoding import json_decoder
from assent.core.paths import folders_above
from assent.core.plan.operation import (
    DeleteFile,
    FileState,
    Operation,
    RunCommand,
    WriteFile,
    footprint,
)
from assent.core.run.journal import (
    CommandEndedEntry,
    JournalEntry,
    OperationResult,
    RollbackStartedEntry,
    SegmentSweptEntry,
)
from assent.core.run.results import made_folders, run_results
from assent.core.run.rollback import RunFileChange, command_rollback, file_rollback
from assent.core.run.slot_move import PathState
from assent.core.run.state import (
    Rollback,
    Rollbacks,
    command_ends,
    rollback_start,
    segment_ranges,
    succeeded,
)
from assent.core.run.workspace_changes import WorkspaceChanges, decode_changes
from assent.core.undo import NOT_A_FILE, has_state
from assent.ports import BlobStore
from assent.ports.file_writer import FileWriter

_decode = json_decoder(Rollback).decode


class JournaledRun(msgspec.Struct, frozen=True):
    """The operations of a plan, the journal of its run, and how to read what that names."""

    operations: tuple[Operation, ...]
    entries: Sequence[JournalEntry]
    backs: Rollbacks
    changes: Callable[[CommandEndedEntry], WorkspaceChanges]

    @property
    def results(self) -> tuple[OperationResult, ...]:
        return run_results(self.operations, self.entries, self.backs)

    def file_changes(self) -> Iterator[RunFileChange]:
        """Yields every known change of the run to files, oldest first."""
        course, back = segment_ranges(self.operations), Rollback()
        compensated = {index for index, _ in self.compensated()}
        for entry in self.entries:
            match entry:
                case RollbackStartedEntry(blob):
                    course, back = (), self.backs[blob]
                case SegmentSweptEntry(segment, "done") if course:
                    span = course[segment]
                    yield from (
                        RunFileChange(at, op) for at, op in enumerate(span.files, span.first)
                    )
                case CommandEndedEntry(index):
                    index = index if course else back.about[index][0]
                    changed = self.changes(entry).operations
                    yield from (RunFileChange(index, op, index in compensated) for op in changed)
                case _:
                    continue

    def made(self) -> tuple[bytes, ...]:
        """Returns the folders that the run and its commands created."""
        there = self.entries[: rollback_start(self.entries)]
        ends = [entry for entry in there if isinstance(entry, CommandEndedEntry)]
        by_commands = [folder for end in ends for folder in self.changes(end).made]
        return (*made_folders(there), *by_commands)

    def compensated(self) -> list[tuple[int, RunCommand]]:
        """Returns the commands that succeeded and have an undo command."""
        ends = command_ends(self.entries)
        return [
            (index, op)
            for index, op in enumerate(self.operations)
            if isinstance(op, RunCommand)
            and op.undo
            and index in ends
            and succeeded(ends[index][-1])
        ]

    def compensated_already(self) -> set[int]:
        """Returns those whose undo command has succeeded."""
        found: set[int] = set()
        back = Rollback()
        for entry in self.entries:
            match entry:
                case RollbackStartedEntry(blob):
                    back = self.backs[blob]
                case CommandEndedEntry(index) if back.about and succeeded(entry):
                    found.update(back.about[index])
                case _:
                    continue
        return found


def plan_rollback(
    history: JournaledRun, writer: FileWriter, blobs: BlobStore, *, lossy: bool = False
) -> RollbackStartedEntry:
    """Works out what remains to be rolled back, as things are now, and stores it.

    Where entries were lost, the disk shows what else was done.
    """
    back, _ = blobs.keep([msgspec.json.encode(_back(history, writer, blobs, lossy=lossy))])
    blobs.flush()
    return RollbackStartedEntry(back)


def read_rollbacks(entries: Sequence[JournalEntry], blobs: BlobStore) -> dict[str, Rollback]:
    """Reads the rollbacks that the entries of a run name."""
    turns = [entry.back for entry in entries if isinstance(entry, RollbackStartedEntry)]
    return {back: _decode(blobs.read(back)) for back in turns}


def changes_reader(blobs: BlobStore) -> Callable[[CommandEndedEntry], WorkspaceChanges]:
    """Returns a reader for the changes of commands; without a record they are unknown."""

    def read(ended: CommandEndedEntry) -> WorkspaceChanges:
        return (
            decode_changes(blobs.read(ended.changes))
            if ended.changes
            else WorkspaceChanges(known=False)
        )

    return read


def _back(history: JournaledRun, writer: FileWriter, blobs: BlobStore, *, lossy: bool) -> Rollback:
    """Undo commands come first: only then can be told which files are left to put back."""
    own = history.compensated()
    already = history.compensated_already()
    due = [(index, op) for index, op in own if index not in already]
    if due:
        return command_rollback(due)
    traces = [*history.file_changes(), *(_untold(history, writer) if lossy else ())]
    seen = _seen(traces, writer)
    there = {state.digest for state in seen.values() if isinstance(state, FileState)}
    back = file_rollback(
        traces,
        history.made(),
        seen,
        lambda digest: digest in there or blobs.has(digest),
    )
    named = {index for about in back.about for index in about}
    named.update(conflict.index for conflict in back.left)
    rest = tuple(at for at in range(len(history.operations)) if at not in named)
    return msgspec.structs.replace(back, rest=rest)


def _untold(history: JournaledRun, writer: FileWriter) -> Iterator[RunFileChange]:
    """Yields what the run did to files as far as only the disk shows it."""
    known: dict[bytes, list[FileState | None]] = {}  # how a path stood at first, and was left
    steps: dict[bytes, list[tuple[FileState | None, RunFileChange]]] = {}
    for at, (op, result) in enumerate(zip(history.operations, history.results, strict=True)):
        for path, before, after in footprint(op):
            states = known.setdefault(path, [before])
            states += [after] if result == "done" else []
            one = WriteFile(path, before, after) if after else before and DeleteFile(path, before)
            if one and result == "not_started":
                steps.setdefault(path, []).append((after, RunFileChange(at, one)))
    seen = _seen([trace for taken in steps.values() for _, trace in taken], writer)
    for path, taken in steps.items():
        shown = [at for at, (after, _) in enumerate(taken, 1) if has_state(seen[path], after)]
        if shown and not any(has_state(seen[path], state) for state in known[path]):
            yield from (trace for _, trace in taken[: shown[-1]])


def _seen(traces: Sequence[RunFileChange], writer: FileWriter) -> dict[bytes, PathState]:
    """Looks at every path and at the folders above; what cannot be looked at has changed."""
    paths = {path for trace in traces for path, *_ in footprint(trace.operation)}
    paths |= folders_above(paths)
    try:
        return writer.read_states(sorted(paths))
    except OSError:
        return {path: _one(path, writer) for path in paths}


def _one(path: bytes, writer: FileWriter) -> PathState:
    try:
        return writer.read_states((path,))[path]
    except OSError:
        return NOT_A_FILE
