"""Rebase: adapts operations to files that changed, by three-way merge, or reports conflicts."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from typing import TypeAlias, TypeVar, assert_never

import msgspec

from assent.core.digest import sha256
from assent.core.patch.file_patch import split_lines
from assent.core.paths import casefolded, display_path
from assent.core.plan.operation import (
    DeleteFile,
    FileOperation,
    FileState,
    MoveFile,
    WriteFile,
    footprint,
)
from assent.core.run.slot_move import PathState
from assent.core.text.line_diff import line_changes

# Three-way merge: whether a change made in one version of a text still fits another version.


CONTEXT_LINES = 3  # lines around a change that must be as they were
CHANGED_BY_OTHERS = "these lines or lines next to them changed"
MOVED_BY_OTHERS = "these lines were moved"
_MAX_CONTEXT_PLACES = 10_000  # places where a line of context stands before it counts as no help

LineEdit: TypeAlias = tuple[int, int, tuple[bytes, ...]]  # lines i:j of the old text become these


class MergeConflict(msgspec.Struct, frozen=True):
    """A change that does not apply: its first and last line in the old text, from 1."""

    first: int
    last: int
    why: str


def three_way_merge(before: bytes, after: bytes, now: bytes) -> bytes | MergeConflict:
    """Returns `now` with the changes from `before` to `after`; those it already has are kept.

    The context of every change must be unchanged, and its place unambiguous.
    """
    old, there = split_lines(before), split_lines(now)
    theirs, wanted = _edits(old, there), _edits(old, split_lines(after))
    if clash := _not_there(old, wanted, theirs):
        return clash
    known = set(theirs)
    ours = [edit for edit in wanted if edit not in known]
    meeting, places = _OtherEdits(theirs, len(old)), (_LineIndex(old), _LineIndex(there))
    for start, end, _ in ours:
        if meeting.meets(start, end):
            return MergeConflict(start + 1, max(end, start + 1), CHANGED_BY_OTHERS)
        window = old[max(start - CONTEXT_LINES, 0) : end + CONTEXT_LINES]
        counts = {place.count(window) for place in places}
        if len(counts) > 1 or -1 in counts:
            return MergeConflict(start + 1, max(end, start + 1), "its position is ambiguous")
    return b"".join(_applied(old, sorted([*ours, *theirs])))


def _not_there(
    old: Sequence[bytes], wanted: Sequence[LineEdit], theirs: Sequence[LineEdit]
) -> MergeConflict | None:
    """Finds a change that both sides made, but that others made as a part of something else.

    Moved lines are also missing at their old place; and where lines were removed, only the lines
    around them can show that they were not changed into something else.
    """
    ours, shared = set(wanted), set(theirs).intersection(wanted)
    others = [edit for edit in theirs if edit not in ours]
    put = {line for *_, lines in others for line in lines if line.strip()}
    meeting = _OtherEdits(others, len(old))
    for start, end, lines in wanted:
        if (start, end, lines) not in shared or start == end:
            continue
        if not put.isdisjoint(old[start:end]):
            return MergeConflict(start + 1, end, MOVED_BY_OTHERS)
        if not lines and meeting.meets(start, end):
            return MergeConflict(start + 1, end, CHANGED_BY_OTHERS)
    return None


def _edits(old: Sequence[bytes], new: Sequence[bytes]) -> list[LineEdit]:
    return [(i, j, tuple(new[k:m])) for i, j, k, m in line_changes(old, new)]


def _applied(old: Sequence[bytes], edits: Sequence[LineEdit]) -> list[bytes]:
    made: list[bytes] = []
    at = 0
    for start, end, lines in edits:
        made += (*old[at:start], *lines)
        at = end
    return [*made, *old[at:]]


class _OtherEdits:
    """The changes of others, to be asked which lines they touch."""

    def __init__(self, edits: Sequence[LineEdit], length: int) -> None:
        self._starts = [start for start, *_ in edits]
        self._ends = [end for _, end, _ in edits]
        self._length = length

    def meets(self, start: int, end: int) -> bool:
        """Tells whether a change overlaps or touches another, or has one in its context."""
        if self._any(bisect_left(self._ends, start), bisect_right(self._starts, end)):
            return True
        low, high = max(start - CONTEXT_LINES, 0), min(end + CONTEXT_LINES, self._length)
        return self._any(bisect_right(self._ends, low), bisect_left(self._starts, high))

    def _any(self, first: int, last: int) -> bool:
        return first < last


class _LineIndex:
    """The positions of lines in a text."""

    def __init__(self, lines: Sequence[bytes]) -> None:
        self._lines = lines
        self._at: dict[bytes, list[int]] = {}
        for at, line in enumerate(lines):
            self._at.setdefault(line, []).append(at)

    def count(self, window: Sequence[bytes]) -> int:
        """Counts where some lines stand one after another; -1 if that takes too long to tell."""
        if not window:
            return 0
        rarest = min(range(len(window)), key=lambda n: len(self._at.get(window[n], ())))
        found = self._at.get(window[rarest], [])
        if len(found) > _MAX_CONTEXT_PLACES:
            return -1
        starts = [at - rarest for at in found if at >= rarest]
        return sum(self._lines[at : at + len(window)] == window for at in starts)


T = TypeVar("T")

MAX_MERGE_BYTES = 8 << 20  # bytes of a text that is merged; no one reads a larger diff

LookUpState: TypeAlias = Callable[[bytes], PathState]
ReadContent: TypeAlias = Callable[
    [bytes, FileState], bytes
]  # the content of a state, or what lies there


class RebasedOperation(msgspec.Struct, frozen=True):
    """The operation that does the same now; None if the files already have the change.

    `content` is the merged content, if there is one.
    """

    op: FileOperation | None
    content: bytes | None = None


class RebaseConflict(msgspec.Struct, frozen=True):
    """Why an operation no longer applies to the files."""

    path: bytes
    why: str


def rebase_operation(
    op: FileOperation, look: LookUpState, read: ReadContent
) -> RebasedOperation | RebaseConflict:
    """Returns an operation rebased onto the files as they are now."""
    if all(look(path) == before for path, before, _ in footprint(op)):
        return RebasedOperation(op)
    match op:
        case WriteFile(path, before):
            now = look(path)
            if now == "folder":
                return RebaseConflict(path, "is a folder now.")
            return _made(op, now) if before is None else _changed(op, before, now, read)
        case DeleteFile(path, before, prune):
            return _deleted(path, before, look(path), prune)
        case MoveFile():
            return _moved(op, look)
        case _:
            assert_never(op)


def _made(op: WriteFile, now: FileState | None) -> RebasedOperation | RebaseConflict:
    """A new file whose name is taken: by the same content, or by another."""
    if now == op.after:
        return RebasedOperation(None)
    if now is not None and (now.digest, now.kind) == (op.after.digest, op.after.kind):
        return RebasedOperation(WriteFile(op.path, now, op.after))
    return RebaseConflict(op.path, "should be created, but something else was created there.")


def _deleted(
    path: bytes, before: FileState, now: PathState, prune: int
) -> RebasedOperation | RebaseConflict:
    if now is None:
        return RebasedOperation(None)
    if isinstance(now, FileState) and _content(now) == _content(before):
        return RebasedOperation(DeleteFile(path, now, prune))
    return RebaseConflict(path, "should be deleted, but it has changed.")


def _moved(op: MoveFile, look: LookUpState) -> RebasedOperation | RebaseConflict:
    """A move takes a file as it is; only its new name must be free."""
    now, there = look(op.path), look(op.to)
    only_case = casefolded(op.path) == casefolded(op.to) and there == now
    if now is None and isinstance(there, FileState) and _content(there) == _content(op.before):
        return RebasedOperation(None)
    if there is not None and not only_case:
        return RebaseConflict(op.to, "should be the new name, but it already exists.")
    if not isinstance(now, FileState) or now.kind != op.before.kind:
        return RebaseConflict(op.path, "should be moved, but it no longer exists.")
    return RebasedOperation(MoveFile(op.path, op.to, now, op.prune))


def _changed(
    op: WriteFile, before: FileState, now: FileState | None, read: ReadContent
) -> RebasedOperation | RebaseConflict:
    if now is None:
        return RebaseConflict(op.path, "should be changed, but it was deleted.")
    mode = _chosen(before.mode, op.after.mode, now.mode)
    if mode is None:
        return RebaseConflict(op.path, "has a new mode that conflicts with the mode in the plan.")
    states = [_content(state) for state in (before, op.after, now)]
    chosen = _chosen(*states)
    if chosen is not None:
        source = op.after if chosen == states[1] else now
        kept = msgspec.structs.replace(source, mode=0o777 if source.kind == "link" else mode)
        return RebasedOperation(None if kept == now else WriteFile(op.path, now, kept))
    if {state.kind for state in (before, op.after, now)} != {"file"}:
        return RebaseConflict(op.path, "is or was a symlink, and both sides changed it.")
    return _merged(op, before, now, mode, read)


def _merged(
    op: WriteFile, before: FileState, now: FileState, mode: int, read: ReadContent
) -> RebasedOperation | RebaseConflict:
    if max(before.size, op.after.size, now.size) > MAX_MERGE_BYTES:
        return RebaseConflict(op.path, "changed and is too large to merge.")
    texts = [read(op.path, state) for state in (before, op.after, now)]
    if any(b"\0" in text for text in texts):
        return RebaseConflict(op.path, "changed and is not text, so it cannot be merged.")
    found = three_way_merge(*texts)
    if isinstance(found, MergeConflict):
        one = found.first == found.last
        where = f"line {found.first}" if one else f"lines {found.first} to {found.last}"
        return RebaseConflict(op.path, f"conflicts at {where} of the old version: {found.why}.")
    after = FileState(sha256(found), len(found), mode)
    if after == now:
        return RebasedOperation(None)
    return RebasedOperation(WriteFile(op.path, now, after), found)


def _content(state: FileState) -> tuple[str, str]:
    return state.digest, state.kind


def _chosen(before: T, after: T, now: T) -> T | None:
    """Returns what both sides agree on, or the one that changed; None if they differ."""
    if after in (before, now):
        return now
    return after if now == before else None


def conflict_text(conflict: RebaseConflict) -> str:
    """Describes a conflict in one sentence."""
    return f"{display_path(conflict.path)} {conflict.why}"
