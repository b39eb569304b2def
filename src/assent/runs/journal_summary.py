"""Summarises for people how a run stands: each operation by its journal, or by what the disk shows.

It also says what remains, and which options there are.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import msgspec

from assent.core.errors import AssentError
from assent.core.paths import (
    STAGE,
    ancestors,
    display_path,
    folders_above,
    is_inside,
    one_line,
    parent,
)
from assent.core.plan.operation import FileOperation, FileState, Operation, RunCommand, footprint
from assent.core.plan.plan import Plan
from assent.core.run.journal import (
    AbortedEntry,
    CommandEndedEntry,
    CommandStartedEntry,
    FinishedEntry,
    HaltedEntry,
    JournalEntry,
    OperationResult,
    PathConflict,
    RecoveringEntry,
    RunOutcome,
    started_entry,
)
from assent.core.run.results import run_results, was_accepted
from assent.core.run.rollback import rolled_back_operations
from assent.core.run.slot_move import PathState, prunable_folders
from assent.core.run.state import (
    UNKNOWN_END,
    RunState,
    command_ends,
    fold_run,
    rollback_start,
    succeeded,
)
from assent.core.run.workspace_changes import SkipReason, WorkspaceChanges
from assent.core.shell.process import shell_line
from assent.core.text.secrets import redact
from assent.core.undo import (
    NOT_A_FILE,
    STILL_DIFFERENT,
    AppliedChange,
    AppliedCommand,
    attributed_text,
    has_state,
    put_back_text,
    undo_gaps,
)
from assent.executor.rollback import JournaledRun, changes_reader, read_rollbacks
from assent.planning.ports import Ports
from assent.ports import BlobStore, PathStateReader, WorkspaceFiles
from assent.runs.journal import command_text

MAX_OUTPUT_LINES: Final = 5  # lines of a failed command's output that are shown
MAX_LINE_CHARS: Final = 200
_UNFORESEEN: Final[tuple[SkipReason, ...]] = ("too many", "odd")
MOVE_ASIDE: Final = (
    "A rollback reverts all of these files, including changes of your own. Copy what you want to "
    "keep first."
)


MAY_HAVE_RUN: Final = "$ {}: it may have run; the log entries that would show it are lost."
INSPECT_FIRST: Final = (
    "Check what it did before you decide: --resume runs it again, and --roll-back restores only "
    "recorded changes."
)


class JournalSummary(msgspec.Struct, frozen=True):
    """The state of a run, operation by operation, and what a user should know about it."""

    outcome: RunOutcome
    results: tuple[OperationResult, ...]
    notes: tuple[str, ...]
    exits: tuple[int | None, ...] = ()  # of the operations that are commands and ran


def journal_summary(
    plan: Plan, entries: Sequence[JournalEntry], blobs: BlobStore
) -> JournalSummary:
    """Describes the state of a run from its journal."""
    last = entries[-1]
    aborts = [entry for entry in entries if isinstance(entry, AbortedEntry)]
    told = [f"{display_path(abort.path)}: {abort.reason}." for abort in aborts]
    if isinstance(last, FinishedEntry):
        notes = _once(*told, *_at_the_end(plan, entries, blobs))
        return JournalSummary(last.outcome, last.results, notes, _exits(plan, entries))
    backs = read_rollbacks(entries, blobs)
    found = run_results(plan.operations, entries, backs)
    now = fold_run(plan.operations, entries, backs)
    notes = _once(*told, *_stops(plan.operations, entries, now))
    if any(isinstance(op, RunCommand) for op in plan.operations):
        said = _said(entries, blobs)
        taken = (*_waiting(plan, entries, now, blobs), *_not_obeyed(entries))
        back = (*_put_back(entries, blobs), *_uncovered(plan, entries, blobs))
        last_halt = next((e for e in reversed(entries) if isinstance(e, HaltedEntry)), None)
        lost = may_have_run(plan.operations, found) if last_halt and last_halt.warned else ()
        notes = (*notes, *lost, *said, *taken, *back, *_ways(now))
    return JournalSummary("needs_you", found, notes, _exits(plan, entries))


def may_have_run(
    operations: Sequence[Operation], results: Sequence[OperationResult]
) -> Iterator[str]:
    """Names the commands whose entries were lost, so that they may have run."""
    for op, result in zip(operations, results, strict=True):
        if isinstance(op, RunCommand) and result == "unknown":
            yield f"{MAY_HAVE_RUN.format(command_text(op))} {INSPECT_FIRST}"


def _at_the_end(plan: Plan, entries: Sequence[JournalEntry], blobs: BlobStore) -> Iterator[str]:
    """Says which effects of commands remain that the user would not expect from such an end."""
    last = entries[-1]
    if not any(isinstance(op, RunCommand) for op in plan.operations):
        return
    if not isinstance(last, FinishedEntry) or last.outcome != "rolled_back":
        yield from _unseen(entries, blobs)
        yield from _unrecorded(plan, entries, blobs)
        return
    yield from _put_back(entries, blobs)
    yield from _uncovered(plan, entries, blobs)
    ends = command_ends(entries)
    for at, (op, result) in enumerate(zip(plan.operations, last.results, strict=True)):
        if isinstance(op, RunCommand) and result == "unknown" and at not in ends:
            told = MAY_HAVE_RUN.format(command_text(op))
            yield f"Not covered by a rollback: {told}"


def _exits(plan: Plan, entries: Sequence[JournalEntry]) -> tuple[int | None, ...]:
    """Returns the exit code of each operation that is a command and ran, the last one of each."""
    ends = command_ends(entries)
    if not ends:
        return ()
    codes = {at: each[-1].code for at, each in ends.items() if each[-1].cut != UNKNOWN_END}
    return tuple(codes.get(at) for at in range(len(plan.operations)))


def _stops(
    operations: Sequence[Operation], entries: Sequence[JournalEntry], now: RunState
) -> Iterator[str]:
    """Names every place that waits, and where the bytes are that belong there."""
    halts = [entry for entry in entries if isinstance(entry, HaltedEntry)]
    for conflict in halts[-1].conflicts if halts else ():
        where = _where(conflict, operations, now)
        kept = f"; the content meant for it is kept in {display_path(conflict.kept)}"
        why = conflict.reason.removesuffix(".")  # an error's own words end with one
        yield f"{where}{why}{kept if conflict.kept else ''}."


def _where(conflict: PathConflict, operations: Sequence[Operation], now: RunState) -> str:
    if conflict.path:
        return f"{display_path(conflict.path)}: "
    op = operations[conflict.index] if now.phase != "files" else None
    return f"$ {command_text(op)}: " if isinstance(op, RunCommand) else ""


def _said(entries: Sequence[JournalEntry], blobs: BlobStore) -> Iterator[str]:
    """Repeats the last words of the command that stopped the run."""
    ends = [entry for entry in entries if isinstance(entry, CommandEndedEntry)]
    if not ends or succeeded(ends[-1]) or not ends[-1].output:
        return
    try:
        content = blobs.read(ends[-1].output)
    except AssentError:
        return
    for line in content.decode("utf-8", "replace").splitlines()[-MAX_OUTPUT_LINES:]:
        if line.strip():
            yield f"Output: {redact(line.strip())[:MAX_LINE_CHARS]}"


def _waiting(
    plan: Plan, entries: Sequence[JournalEntry], now: RunState, blobs: BlobStore
) -> Iterator[str]:
    """Names what a rollback would restore of what changed while commands ran.

    Changes that others made at that time, or before an interrupted run was resumed, cannot be
    distinguished from the command's.
    """
    if now.back is not None and not any(span.command for span in now.spans):
        return  # files are already restored, unless others changed them since
    ends = command_ends(entries)
    found = False
    for index, each in ends.items():
        op = plan.operations[index]
        assert isinstance(op, RunCommand), "only commands run"
        if op.undo and succeeded(each[-1]):
            continue  # what it changed is left to its own undo
        last = index == max(ends) and not succeeded(each[-1])
        named = "that command" if last else f"$ {command_text(op)}"
        if told := attributed_text(_paths(each, blobs), named, started_entry(entries).layout.run):
            found = True
            yield told
    if found:
        yield MOVE_ASIDE


def _unseen(entries: Sequence[JournalEntry], blobs: BlobStore) -> Iterator[str]:
    """Names what an undo would restore of a command whose end was not seen."""
    unseen = [
        end for ends in command_ends(entries).values() for end in ends if end.cut == UNKNOWN_END
    ]
    if told := attributed_text(_paths(unseen, blobs), "that command"):
        yield told
        yield MOVE_ASIDE.replace("A rollback", "An undo")


def _put_back(entries: Sequence[JournalEntry], blobs: BlobStore) -> Iterator[str]:
    """Names what a rollback has restored so far; for a pruned run, that is unknown."""
    try:
        done = rolled_back_operations(entries, read_rollbacks(entries, blobs))
    except AssentError:
        return
    if told := put_back_text(done, started_entry(entries).layout.run):
        yield told


def _paths(ends: Iterable[CommandEndedEntry], blobs: BlobStore) -> set[bytes]:
    return {op.path for end in ends for op in _changes(end, blobs).operations}


def _not_obeyed(entries: Sequence[JournalEntry]) -> Iterator[str]:
    """Says which choice was made before it could be known what it would affect."""
    began = [at for at, entry in enumerate(entries) if isinstance(entry, CommandStartedEntry)]
    for entry in entries[began[-1] + 1 :] if began else ():
        match entry:
            case RecoveringEntry("resume" | "roll_back" as way):
                given = way.replace("_", "-")
                yield f"--{given} was not applied. Review the changes first, then run it again."
                return
            case RecoveringEntry() | CommandEndedEntry(cut="unknown"):
                continue
            case _:
                return


def _uncovered(plan: Plan, entries: Sequence[JournalEntry], blobs: BlobStore) -> Iterator[str]:
    """Says what commands did that a roll-back cannot put back, and which undo it does not run."""
    turned = rollback_start(entries) < len(entries)
    for index, ends in command_ends(entries).items():
        op = plan.operations[index]
        assert isinstance(op, RunCommand), "only commands run"
        if op.undo and turned and not succeeded(ends[-1]):
            undo = shell_line(op.undo)
            yield (
                "Undo command not run, because the command it reverses may not have succeeded: "
                f"$ {undo}."
            )
        for gap in undo_gaps([_deed(index, op, _changes(end, blobs)) for end in ends]):
            yield f"Not covered by a rollback: {gap.line}."


def _unrecorded(plan: Plan, entries: Sequence[JournalEntry], blobs: BlobStore) -> Iterator[str]:
    """Warns if commands encountered more than could be recorded, whatever a review foresaw."""
    for index, ends in command_ends(entries).items():
        op = plan.operations[index]
        if not isinstance(op, RunCommand) or op.undo or op.profile == "commit":
            continue
        for changes in (_changes(end, blobs) for end in ends):
            left = tuple(one for one in changes.skipped if one.why in _UNFORESEEN and not one.kept)
            ordered = AppliedCommand(command_text(op), None, left, changes.known)
            for gap in undo_gaps([AppliedChange("", index, "", (), ordered)]):
                yield f"An undo will not cover this: {gap.line}."


def _changes(ended: CommandEndedEntry, blobs: BlobStore) -> WorkspaceChanges:
    try:
        return changes_reader(blobs)(ended)
    except AssentError:
        return WorkspaceChanges(known=False)


def _deed(index: int, op: RunCommand, changes: WorkspaceChanges) -> AppliedChange:
    confined = op.profile != "unconfined"
    ordered = AppliedCommand(command_text(op), op, changes.skipped, changes.known, confined)
    return AppliedChange("", index, "", (), ordered)


def _ways(now: RunState) -> tuple[str, ...]:
    """Names the three ways on, each as what can be typed."""
    if undo := _undo_that_waits(now):
        again = f"runs $ {undo} again; no file is restored until it succeeds"
        return (
            f"assent recover --resume: {again}.",
            f"assent recover --roll-back: {again}.",
            "assent recover --accept: keeps everything as it is now and does not run it.",
        )
    if now.back is not None:
        resume = "continues the rollback wherever no other change conflicts"
    elif now.phase != "files" and now.segment.command:
        again = " again" if now.phase == "failed" or now.lost != "nothing" else ""
        resume = f"runs the command{again} and continues"
    else:
        resume = "checks the files again and continues"
    return (
        f"assent recover --resume: {resume}.",
        "assent recover --roll-back: undoes every recorded change of this run.",
        "assent recover --accept: keeps everything as it is now.",
    )


def _undo_that_waits(now: RunState) -> str:
    """Returns the command on the way back that a run stopped at, on one line."""
    stopped = now.back is not None and now.phase == "failed" and now.at < len(now.spans)
    command = now.segment.command if stopped else None
    return command_text(command) if command else ""


def _once(*notes: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(notes))


# What remains after a run: files a command's undo did not restore, folders, kept slots.


def leftovers(
    plan: Plan, entries: Sequence[JournalEntry], blobs: BlobStore, disk: PathStateReader
) -> Iterator[str]:
    """Names the files of compensated commands that still differ after a rollback."""
    last = entries[-1]
    commands = any(isinstance(op, RunCommand) and op.undo for op in plan.operations)
    if not commands or not isinstance(last, FinishedEntry) or last.outcome != "rolled_back":
        return
    try:
        backs = read_rollbacks(entries, blobs)
        traces = list(
            JournaledRun(plan.operations, entries, backs, changes_reader(blobs)).file_changes()
        )
    except AssentError:
        return  # what they did is not on record any more, and that is named
    first: dict[bytes, FileState | None] = {}
    theirs: set[bytes] = set()
    for trace in traces:
        for path, before, _ in footprint(trace.operation):
            first.setdefault(path, before)
            theirs.update([path] if trace.compensated else [])
    for path in sorted(theirs):
        if not has_state(_seen(path, disk), first[path]):
            yield f"{STILL_DIFFERENT}: {one_line(path)}."


def remaining_folders(
    plan: Plan, entries: Sequence[JournalEntry], disk: WorkspaceFiles
) -> Iterator[str]:
    """Names folders that should have been removed with their last file, and still exist."""
    last = entries[-1]
    done = (
        isinstance(last, FinishedEntry)
        and last.outcome == "done"
        and not was_accepted(last, entries)
    )
    operations = [op for op in plan.operations if isinstance(op, FileOperation)]
    folders = prunable_folders(operations) if done else []
    written = [path for op in operations for path, _, after in footprint(op) if after is not None]
    used = {*written, *folders_above(written)}
    told: list[bytes] = []
    for folder in folders:  # innermost first; those above it only follow from it
        above = any(is_inside(one, folder) for one in told)
        if above or folder in used or _seen(folder, disk) != "folder":
            continue
        try:
            held = disk.names(folder)
        except AssentError:
            held = []
        if held and len(operations) < len(plan.operations):
            continue  # a command may have put it there
        told.append(folder)
        why = f"it contains {one_line(held[0])}" if held else "the system refused"
        yield f"Folder not removed: {one_line(folder)} ({why})."


def kept_slots_text(
    kept: Sequence[bytes], blobs: BlobStore, disk: PathStateReader
) -> Iterator[str]:
    """Names slots that stay, and whether their content exists nowhere else."""
    seen = {slot: _seen(slot, disk) for slot in kept}
    digests = [state.digest for state in seen.values() if isinstance(state, FileState)]
    for slot, state in seen.items():
        if not isinstance(state, FileState):
            yield f"Kept, because its content is unknown: {one_line(slot)}"
        elif blobs.has(state.digest):
            yield f"Kept, although its content is also stored elsewhere: {one_line(slot)}"
        elif digests.count(state.digest) > 1:
            yield f"Kept; another slot has the same content: {one_line(slot)}"
        else:
            yield f"Kept, because no other copy exists: {one_line(slot)}"


def _seen(path: bytes, disk: PathStateReader) -> PathState:
    try:
        return disk.read_states((path,))[path]
    except AssentError:
        return NOT_A_FILE


# The state of a run on disk, whatever its journal says: files, slots and stored contents.


def results_by_disk(
    plan: Plan, entries: Sequence[JournalEntry], ports: Ports, *, lossy: bool = False
) -> tuple[OperationResult, ...]:
    """Says how far each operation got: files by the disk, commands by the journal.

    If it is `lossy`, entries were lost that could have shown a command.
    """
    told = (*entries, RecoveringEntry(trusted=len(entries))) if lossy else entries
    recorded = _recorded(plan, told, ports.blobs)
    return tuple(
        recorded[at] if isinstance(op, RunCommand) else _by_disk(op, ports.files)
        for at, op in enumerate(plan.operations)
    )


def disk_state_lines(run: str, plan: Plan, ports: Ports) -> Iterator[str]:
    """Describes what exists under each path, the stored contents, and every slot in use."""
    for op in plan.operations:
        for path, before, after in footprint(op):
            stands = _stands(path, before, after, ports.files)
            kept = [
                f"{which} content: blob {state.digest}"
                for which, state in (("old", before), ("new", after))
                if state is not None and _has(ports.blobs, state.digest)
            ]
            yield "; ".join([f"{one_line(path)}: {stands}", *kept]) + "."
    for slot in slots_in_use(run, plan.operations, ports.files):
        yield f"In a slot of this run: {one_line(slot)}"


def slots_in_use(run: str, operations: Sequence[Operation], files: WorkspaceFiles) -> list[bytes]:
    """Returns the slots of a run that are not empty, found by their names alone."""
    own = run.encode()
    found: list[bytes] = []
    for name in _names(STAGE, files):
        if name == own or name.startswith(own + b"."):
            found += _below(STAGE + b"/" + name, files)
    touched = [path for op in operations for path, *_ in footprint(op)]
    folders = {parent(path) for path in touched}.union(*map(ancestors, touched), [b""])
    for folder in sorted(folders):
        prefix = folder + b"/" if folder else b""
        beside = (b".assent-" + own + b"-", b".assent-" + own + b".")
        found += [prefix + name for name in _names(folder, files) if name.startswith(beside)]
    return found


def _recorded(
    plan: Plan, entries: Sequence[JournalEntry], blobs: BlobStore
) -> Sequence[OperationResult]:
    try:
        return run_results(plan.operations, entries, read_rollbacks(entries, blobs))
    except (AssentError, OSError):
        unknown: OperationResult = "unknown"
        return (unknown,) * len(plan.operations)


def _by_disk(op: FileOperation, files: WorkspaceFiles) -> OperationResult:
    try:
        seen = files.read_states([path for path, *_ in footprint(op)])
    except (AssentError, OSError):
        return "unknown"
    if all(has_state(seen[path], after) for path, _, after in footprint(op)):
        return "done"
    if all(has_state(seen[path], before) for path, before, _ in footprint(op)):
        return "not_started"
    return "unknown"


def _stands(
    path: bytes, before: FileState | None, after: FileState | None, files: WorkspaceFiles
) -> str:
    try:
        seen = files.read_states((path,))[path]
    except (AssentError, OSError):
        return "it cannot be read"
    if has_state(seen, after):
        return "matches the planned result"
    if has_state(seen, before):
        return "same as before the run"
    return (
        "missing"
        if seen is None
        else ("matches neither the state before the run nor the planned result")
    )


def _has(blobs: BlobStore, digest: str) -> bool:
    try:
        return blobs.has(digest)
    except (AssentError, OSError):
        return False


def _names(folder: bytes, files: WorkspaceFiles) -> list[bytes]:
    try:
        return files.names(folder)
    except (AssentError, OSError):
        return []


def _below(folder: bytes, files: WorkspaceFiles) -> list[bytes]:
    try:
        return files.below(folder)
    except (AssentError, OSError):
        return []
