"""Drift checks before the first write: is the disk still as the plan saw it (law 2)?"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeAlias

import msgspec

from assent.core.errors import Drift, StoreError
from assent.core.paths import ancestors, casefolded, display_path, folders_above, parent
from assent.core.plan.operation import FileOperation, FileState, MoveFile, WriteFile, footprint
from assent.core.plan.plan import Plan, ReliedOnFile
from assent.core.run.slot_move import PathState, needed_folders
from assent.core.run.state import segment_ranges
from assent.core.text import counted
from assent.ports import MAX_WHOLE_READ, BlobStore, PathStateReader

Expected: TypeAlias = PathState | ReliedOnFile

FILES_CHANGED = "Files changed since the plan was created."


MAX_NAMED = 20  # differences spelled out in one message


class PathDrift(msgspec.Struct, frozen=True):
    """A path that is not as the plan expects."""

    path: bytes
    expected: str
    found: str


def first_segment_files(plan: Plan) -> tuple[FileOperation, ...]:
    """Returns the plan's first file segment; commands may change what later ones find."""
    return next((span.files for span in segment_ranges(plan.operations) if not span.command), ())


def check_disk(plan: Plan, operations: Sequence[FileOperation], disk: PathStateReader) -> None:
    """Refuses a plan whose files, or files it relies on, changed since it was made."""
    found = list(changed_paths(plan, operations, disk))
    if not found:
        return
    named = found[:MAX_NAMED]
    lines = [f"{display_path(path)} {change_text(before, seen)}." for path, before, seen in named]
    more = f" And {len(found) - MAX_NAMED} more." if len(found) > MAX_NAMED else ""
    drift = Drift(f"{FILES_CHANGED} {' '.join(lines)}{more}", "assent rebase")
    drift.rows["changed"] = [
        {"path": display_path(path), "expected": state_text(before), "found": state_text(seen)}
        for path, before, seen in named
    ]
    raise drift


def drifted_paths(
    plan: Plan, operations: Sequence[FileOperation], disk: PathStateReader
) -> Iterable[PathDrift]:
    """Yields every path that is not as the plan saw it, in the order of the plan."""
    for path, before, seen in changed_paths(plan, operations, disk):
        yield PathDrift(path, state_text(before), state_text(seen))


def changed_paths(
    plan: Plan, operations: Sequence[FileOperation], disk: PathStateReader
) -> Iterable[tuple[bytes, Expected, PathState | str]]:
    """Yields the paths that are not as the plan saw them, each as it was and as it is now."""
    removed = {op.path for op in operations if type(op) is not WriteFile}
    steps = [
        step
        for step in _steps(operations)
        if step[2] is not None or not removed or not _is_below(step[1], removed)
    ]
    # Names of one folder in a row are found at once; those of a move are mostly in two.
    found = _look_at_all(disk, {path: before for _, path, before in sorted(steps, key=_folder)})
    odd = [(op, path, before) for op, path, before in steps if found[path] != before]
    freed = folders_above(removed) if odd else set()
    for op, path, before in odd:
        seen = found[path]
        if before is None and seen == "folder" and path in freed:
            continue
        if not _same_name_in_other_case(op, path, seen):
            yield path, before, seen
    needed = [f for f in needed_folders(operations) if not _is_below(f, removed)]
    above = _look_at_all(disk, dict.fromkeys(needed))
    blocked = [folder for folder in needed if above[folder] not in (None, "folder")]
    for folder in blocked:
        if folder not in removed:
            yield folder, "folder", above[folder]
    for file in plan.relied_on:
        seen = _look(disk, file.path)
        if not isinstance(seen, FileState) or seen.digest != file.digest:
            yield file.path, file, seen


def check_blobs(operations: Iterable[FileOperation], blobs: BlobStore) -> None:
    """Refuses to start unless new content is stored and old content is kept, undamaged.

    What a run displaces may be removed, so undo relies on these copies alone.
    """
    kept = [op for op in operations if type(op) is not MoveFile]
    old = [op.before for op in kept if op.before is not None]
    new = [op.after for op in kept if type(op) is WriteFile]
    if gone := set(blobs.missing([state.digest for state in (*old, *new)])):
        path = next(op.path for op in kept if not gone.isdisjoint(_digests(op)))
        raise StoreError(
            f"The stored content of {display_path(path)} is missing. Nothing was changed.",
            "assent stage list",
        )
    for state in old:
        _read_through(blobs, state)


def _digests(op: FileOperation) -> list[str]:
    return [state.digest for _, *both in footprint(op) for state in both if state]


def _read_through(blobs: BlobStore, state: FileState) -> None:
    """Reads stored content to its end, where the store says whether it is sound."""
    if state.size <= MAX_WHOLE_READ:
        blobs.read(state.digest)
        return
    for _ in blobs.chunks(state.digest):
        pass


def change_text(before: Expected, seen: PathState | str) -> str:
    """Returns in a few words how a path changed since the plan saw it."""
    match before, seen:
        case _, None:
            return "was deleted"
        case None, FileState():
            return f"was created: a {_THINGS[seen.kind]}"
        case _, "folder":
            return "is a folder now"
        case _, str():
            return f"is {seen} now"
        case FileState() | ReliedOnFile(), FileState() if _kind(before) != seen.kind:
            return f"is a {_THINGS[seen.kind]} now"
        case FileState(), FileState():
            return f"changed: {', '.join(_differences(before, seen))}"
        case ReliedOnFile(), FileState():
            return "changed: other content"
        case _, FileState():
            return f"is a {_THINGS[seen.kind]} now, and no folder"


_THINGS: Final = {"file": "file", "link": "symlink"}


def _kind(before: FileState | ReliedOnFile) -> str:
    return before.kind if isinstance(before, FileState) else "file"


def _differences(before: FileState, seen: FileState) -> Iterable[str]:
    """Yields what differs between two files or symlinks: size, content and mode."""
    if seen.kind == "link":
        yield "another target"
    elif before.size != seen.size:
        yield f"{counted(seen.size, 'byte')} instead of {before.size:,}"
    elif before.digest != seen.digest:
        yield "other content of the same size"
    if before.mode != seen.mode:
        yield f"mode {seen.mode:o} instead of {before.mode:o}"


def state_text(seen: Expected | str) -> str:
    """Describes what exists, or should exist, under a name."""
    match seen:
        case ReliedOnFile(_, digest):
            return f"content {digest[:12]}…"
        case None:
            return "nothing"
        case FileState(digest, size, mode, kind):
            thing = "a symlink" if kind == "link" else f"a file, mode {mode:o},"
            return f"{thing} {counted(size, 'byte')}, content {digest[:12]}…"
        case "folder":
            return "a folder"
        case words:
            return words


def _look_at_all(
    disk: PathStateReader, hoped: Mapping[bytes, PathState]
) -> Mapping[bytes, PathState | str]:
    try:
        return disk.read_states(hoped)
    except OSError:
        return {path: _look(disk, path) for path in hoped}  # to say which one, and why


def _look(disk: PathStateReader, path: bytes) -> PathState | str:
    try:
        return disk.read_states((path,))[path]
    except OSError as error:
        return f"an unreadable path ({error.strerror})"


def _steps(
    operations: Iterable[FileOperation],
) -> Iterable[tuple[FileOperation, bytes, FileState | None]]:
    """Yields each path that operations touch, and what should be there before."""
    for op in operations:
        yield op, op.path, op.before
        if type(op) is MoveFile:
            yield op, op.to, None


def _folder(step: tuple[FileOperation, bytes, FileState | None]) -> bytes:
    return parent(step[1])


def _is_below(path: bytes, removed: set[bytes]) -> bool:
    """Tells whether a file or symlink goes above it: nothing is below that, and it is looked at."""
    return bool(removed) and not removed.isdisjoint(ancestors(path))


def _same_name_in_other_case(op: FileOperation, path: bytes, seen: PathState | str) -> bool:
    """On a file system without case, the new name of a case-only move is the old file itself."""
    if not isinstance(op, MoveFile) or path != op.to:
        return False
    return seen == op.before and casefolded(op.to) == casefolded(op.path)
