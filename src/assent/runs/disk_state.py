"""The state of a run on disk, whatever its journal says: files, slots and stored contents."""

from collections.abc import Iterator, Sequence

from assent.core.errors import AssentError
from assent.core.paths import STAGE, ancestors, one_line, parent
from assent.core.plan.operation import FileOperation, FileState, Operation, RunCommand, footprint
from assent.core.plan.plan import Plan
from assent.core.run.journal import JournalEntry, OperationResult, RecoveringEntry
from assent.core.run.results import run_results
from assent.core.undo import has_state
from assent.executor.rollback import read_rollbacks
from assent.planning.ports import Ports
from assent.ports import BlobStore, WorkspaceFiles


def results_by_disk(
    plan: Plan, entries: Sequence[JournalEntry], doors: Ports, *, lossy: bool = False
) -> tuple[OperationResult, ...]:
    """Says how far each operation got: of files as the disk shows, of commands as recorded.

    If it is `lossy`, records were lost that could have told of a command.
    """
    told = (*entries, RecoveringEntry(trusted=len(entries))) if lossy else entries
    recorded = _recorded(plan, told, doors.blobs)
    return tuple(
        recorded[at] if isinstance(op, RunCommand) else _by_disk(op, doors.files)
        for at, op in enumerate(plan.operations)
    )


def disk_state_lines(run: str, plan: Plan, doors: Ports) -> Iterator[str]:
    """Names what stands under each path, the contents that are stored, and every slot in use."""
    for op in plan.operations:
        for path, before, after in footprint(op):
            stands = _stands(path, before, after, doors.files)
            kept = [
                f"{which} content: blob {state.digest}"
                for which, state in (("old", before), ("new", after))
                if state is not None and _has(doors.blobs, state.digest)
            ]
            yield "; ".join([f"{one_line(path)}: {stands}", *kept]) + "."
    for slot in slots_in_use(run, plan.operations, doors.files):
        yield f"In a slot of the run: {one_line(slot)}"


def slots_in_use(run: str, operations: Sequence[Operation], files: WorkspaceFiles) -> list[bytes]:
    """Returns the slots of a run that hold something, found by their names alone."""
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
        return "as the plan leaves it"
    if has_state(seen, before):
        return "as before the run"
    return "missing" if seen is None else "neither as before the run nor as the plan leaves it"


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
