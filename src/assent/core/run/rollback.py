"""Rollback: operations that revert a run on the disk as it is, without losing other changes."""

from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from assent.core.paths import is_inside
from assent.core.plan.operation import (
    DeleteFile,
    FileOperation,
    FileState,
    MoveFile,
    RunCommand,
    WriteFile,
    footprint,
    inverse,
)
from assent.core.run.journal import (
    JournalEntry,
    PathConflict,
    RollbackStartedEntry,
    SegmentSweptEntry,
)
from assent.core.run.slot_move import PathState
from assent.core.run.state import Rollback, Rollbacks, segment_ranges
from assent.core.undo import (
    NO_LONGER_READABLE,
    NOT_A_FILE,
    UndoContext,
    behind_foreign_links,
    has_state,
    invert,
)

CHANGED_AFTER_RUN = "it changed after the run wrote it"
BEHIND_SYMLINK = "a symlink has replaced the folder it was in"
UNREADABLE = f"it {NO_LONGER_READABLE}"
CHANGED_DURING_RUN = (
    "something else changed it during the run; only the changes after that were reverted"
)


class RunFileChange(msgspec.Struct, frozen=True):
    """One change that a run made to files: by operation `index` itself, or by its command.

    Changes of a command with an undo command, and of that undo command, are `compensated`.
    """

    index: int
    operation: FileOperation
    compensated: bool = False


class _RunPathChange(msgspec.Struct, frozen=True):
    """What a trace tells to one path."""

    index: int
    before: FileState | None
    after: FileState | None
    compensated: bool = False


class _RollbackPath(msgspec.Struct, frozen=True):
    """A path being rolled back: its target state, its current state, and whose work that is.

    The work of the operations in `stuck` precedes another writer's change.
    """

    before: FileState | None
    now: FileState | None
    about: tuple[int, ...] = ()
    stuck: tuple[int, ...] = ()


def command_rollback(commands: Sequence[tuple[int, RunCommand]]) -> Rollback:
    """Returns the commands that undo commands, newest first."""
    backs = [(index, inverse(op)) for index, op in reversed(commands)]
    operations = tuple(op for _, op in backs if op is not None)
    return Rollback(operations, tuple((index,) for index, op in backs if op is not None))


def rolled_back_operations(
    entries: Iterable[JournalEntry], backs: Rollbacks
) -> tuple[FileOperation, ...]:
    """Returns what a run has rolled back so far, by the finished segments of its rollbacks."""
    found: list[FileOperation] = []
    back = Rollback()
    for entry in entries:
        match entry:
            case RollbackStartedEntry(blob):
                back = backs[blob]
            case SegmentSweptEntry(segment, "done") if back.operations:
                found += segment_ranges(back.operations)[segment].files
            case _:
                continue
    return tuple(found)


def file_rollback(
    traces: Iterable[RunFileChange],
    made: Iterable[bytes],
    seen: Mapping[bytes, PathState],
    kept: Callable[[str], bool],
) -> Rollback:
    """Returns one segment that reverts the traced changes; later changes are left and reported.

    `seen` is what exists under every path of a trace, and in the folders above. A path that only
    compensated commands touched is left to them.
    """
    every = _steps(traces)
    steps = {p: taken for p, taken in every.items() if not all(s.compensated for s in taken)}
    touches = [(p, step.before, step.after) for p, taken in every.items() for step in taken]
    moved = behind_foreign_links(seen, touches)
    paths = {
        path: _on_the_way(seen[path], taken) if taken[0].before or path not in moved else None
        for path, taken in steps.items()
    }
    left = [
        PathConflict(index, path, b"", CHANGED_DURING_RUN if found else _why(seen[path]))
        for path, found in paths.items()
        for index in (_indices(steps[path]) if found is None else found.stuck)
    ]
    due = {path: found for path, found in paths.items() if found and found.before != found.now}
    there = [path for path, found in due.items() if found.now is not None]
    ground = UndoContext(
        seen,
        lambda path: [p for p in there if is_inside(p, path)],
        kept,
        homeless=_homeless(steps, paths),
    )
    inversion = invert(forward := _operations(due), made, ground)
    for at, reason in inversion.conflicts:
        path = forward[at].path
        left += [PathConflict(index, path, b"", reason) for index in _about(forward[at], due)]
    operations = tuple(op for _, op in inversion.operations)
    return Rollback(operations, tuple(_about(op, due) for op in operations), (), tuple(left))


def _why(seen: PathState) -> str:
    """Returns why a path stays as it is; one that cannot be seen is below a foreign symlink."""
    return (
        BEHIND_SYMLINK if seen is None else UNREADABLE if seen == NOT_A_FILE else CHANGED_AFTER_RUN
    )


def _homeless(
    steps: Mapping[bytes, Sequence[_RunPathChange]], paths: Mapping[bytes, _RollbackPath | None]
) -> dict[str, bytes]:
    """Returns the first contents of paths that do not get so far back."""
    first = {path: taken[0].before for path, taken in steps.items()}
    return {
        before.digest: path
        for path, found in paths.items()
        if (before := first[path]) and (found is None or found.before != before)
    }


def _steps(traces: Iterable[RunFileChange]) -> dict[bytes, list[_RunPathChange]]:
    """Returns what was done to each path, oldest first."""
    found: dict[bytes, list[_RunPathChange]] = {}
    for trace in traces:
        for path, before, after in footprint(trace.operation):
            touch = _RunPathChange(trace.index, before, after, trace.compensated)
            found.setdefault(path, []).append(touch)
    return found


def _on_the_way(seen: PathState, steps: Sequence[_RunPathChange]) -> _RollbackPath | None:
    """Finds how far back a path is, and how far it can go; None if the run did not leave it so."""
    if has_state(seen, steps[0].before):
        return _RollbackPath(steps[0].before, steps[0].before)
    marks = [at for at, step in enumerate(steps) if has_state(seen, step.before)]
    marks += [at for at, step in enumerate(steps, 1) if has_state(seen, step.after)]
    if not marks and seen is not None:
        return None
    now = None if seen == "folder" else seen
    # If another writer removed the file, restoring what was there before conflicts with nothing.
    low = top = max(marks, default=len(steps))
    state = now if marks else steps[-1].after
    while low and steps[low - 1].after == state:
        low -= 1
        state = steps[low].before
    while low < top and steps[low].compensated:  # its undo had its say: that is how it stays
        state = steps[low].after
        low += 1
    return _RollbackPath(state, now, _indices(steps[low:top]), _indices(steps[:low]))


def _indices(steps: Sequence[_RunPathChange]) -> tuple[int, ...]:
    return tuple(step.index for step in steps if not step.compensated)


def _operations(due: Mapping[bytes, _RollbackPath]) -> tuple[FileOperation, ...]:
    """Returns what leads from how things were to how they are.

    A content that left one name and came under another is a move: no copy of it may be kept.
    """
    moved = _moved(due)
    sources = set(moved.values())
    return tuple(
        _operation(path, found, moved.get(path))
        for path, found in due.items()
        if path not in sources
    )


def _operation(path: bytes, found: _RollbackPath, source: bytes | None) -> FileOperation:
    if found.now is None:
        assert found.before is not None, "a path that is due differs"
        return DeleteFile(path, found.before)
    if source is not None:
        return MoveFile(source, path, found.now)
    return WriteFile(path, found.before, found.now)


def _moved(due: Mapping[bytes, _RollbackPath]) -> dict[bytes, bytes]:
    """Pairs each new name with an old one that the same content left."""
    gone: dict[FileState, list[bytes]] = {}
    for path, found in due.items():
        if found.now is None and found.before is not None:
            gone.setdefault(found.before, []).append(path)
    fresh = [(path, found.now) for path, found in due.items() if found.before is None and found.now]
    return {path: gone[now].pop(0) for path, now in fresh if gone.get(now)}


def _about(op: FileOperation, due: Mapping[bytes, _RollbackPath]) -> tuple[int, ...]:
    indices = {index for path, *_ in footprint(op) for index in due[path].about}
    return tuple(sorted(indices))
