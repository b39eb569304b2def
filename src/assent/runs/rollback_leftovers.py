"""What remains after a run: files a command's undo did not restore, folders, kept slots."""

from collections.abc import Iterator, Sequence

from assent.core.errors import AssentError
from assent.core.paths import is_inside, one_line
from assent.core.plan.operation import FileOperation, FileState, RunCommand, footprint
from assent.core.plan.plan import Plan
from assent.core.run.journal import FinishedEntry, JournalEntry
from assent.core.run.results import was_accepted
from assent.core.run.slot_move import PathState, prunable_folders
from assent.core.undo import NOT_A_FILE, STILL_DIFFERENT, has_state
from assent.executor.rollback import JournaledRun, changes_reader, read_rollbacks
from assent.ports import BlobStore, PathStateReader, WorkspaceFiles


def leftovers(
    plan: Plan, entries: Sequence[JournalEntry], blobs: BlobStore, disk: PathStateReader
) -> Iterator[str]:
    """Names the files of compensated commands that are other than before, if the run is back."""
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
    """Names folders that should have gone with the last file in them, and are still there."""
    last = entries[-1]
    done = (
        isinstance(last, FinishedEntry)
        and last.outcome == "done"
        and not was_accepted(last, entries)
    )
    operations = [op for op in plan.operations if isinstance(op, FileOperation)]
    folders = prunable_folders(operations) if done else []
    used = {path for op in operations for path, _, after in footprint(op) if after is not None}
    told: list[bytes] = []
    for folder in folders:  # innermost first; those above it only follow from it
        above = any(is_inside(one, folder) for one in told)
        if (
            above
            or any(is_inside(path, folder) for path in used)
            or _seen(folder, disk) != "folder"
        ):
            continue
        try:
            held = disk.names(folder)
        except AssentError:
            held = []
        if held and len(operations) < len(plan.operations):
            continue  # a command may have put it there
        told.append(folder)
        why = f"it holds {one_line(held[0])}" if held else "the system did not permit it"
        yield f"Not removed, although the plan leaves it empty: {one_line(folder)} ({why})."


def kept_slots_text(
    kept: Sequence[bytes], blobs: BlobStore, disk: PathStateReader
) -> Iterator[str]:
    """Names slots that stay; that their content exists nowhere else only where that is true."""
    seen = {slot: _seen(slot, disk) for slot in kept}
    digests = [state.digest for state in seen.values() if isinstance(state, FileState)]
    for slot, state in seen.items():
        if not isinstance(state, FileState):
            yield f"Kept, because nobody knows what is in it: {one_line(slot)}"
        elif blobs.has(state.digest):
            yield f"Left behind, though its content is stored elsewhere, too: {one_line(slot)}"
        elif digests.count(state.digest) > 1:
            yield f"Kept; another slot holds the same content: {one_line(slot)}"
        else:
            yield f"Kept, because it exists nowhere else: {one_line(slot)}"


def _seen(path: bytes, disk: PathStateReader) -> PathState:
    try:
        return disk.read_states((path,))[path]
    except AssentError:
        return NOT_A_FILE
