"""Three-way merge: whether a change made in one version of a text still fits another version."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import TypeAlias

import msgspec

from assent.core.patch.hunks import split_lines
from assent.core.text.line_diff import line_changes

CONTEXT_LINES = 3  # lines around a change that must be as they were
CHANGED_BY_OTHERS = "somebody changed these lines, or some beside them"
MOVED_BY_OTHERS = "somebody moved these lines elsewhere"
_MAX_CONTEXT_PLACES = 10_000  # places where a line of context stands before it counts as no help

LineEdit: TypeAlias = tuple[int, int, tuple[bytes, ...]]  # lines i:j of the old text become these


class MergeConflict(msgspec.Struct, frozen=True):
    """A change that does not fit: the first and last line of it in the old text, from 1."""

    first: int
    last: int
    why: str


def three_way_merge(before: bytes, after: bytes, now: bytes) -> bytes | MergeConflict:
    """Returns `now` with what led from `before` to `after`; what it holds already stays as it is.

    Every change must have its context unchanged around it, in a place that is not in doubt.
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
            return MergeConflict(start + 1, max(end, start + 1), "its place is in doubt")
    return b"".join(_applied(old, sorted([*ours, *theirs])))


def _not_there(
    old: Sequence[bytes], wanted: Sequence[LineEdit], theirs: Sequence[LineEdit]
) -> MergeConflict | None:
    """Finds a change that both made, and that somebody made as a part of something else.

    Lines that were moved are missing where they stood, too; and where lines are gone, only those
    on both sides can tell that nothing else became of them.
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
    """Where lines stand in a text."""

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
