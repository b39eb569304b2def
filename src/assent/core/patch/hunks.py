"""Applies the hunks of a patch to a content, and tells where each of them fits."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import accumulate, islice

import msgspec

from assent.core.errors import NoMatch
from assent.core.patch.file_patch import Hunk
from assent.core.paths import one_line

_LONGEST = 120  # characters of a line in a message


class AppliedHunks(msgspec.Struct, frozen=True):
    """A content with the hunks applied; `moved` are those that did not stand where they said.

    Each of these is a hunk's number and how many lines further down it was found.
    """

    content: bytes
    moved: tuple[tuple[int, int], ...] = ()


def apply_hunks(content: bytes, hunks: Sequence[Hunk]) -> AppliedHunks:
    """Applies hunks; all their lines must be there, where they say or in one other place alone."""
    text = _LineText(content)
    made: list[bytes] = []
    moved = []
    cursor, shift = 0, 0
    for number, hunk in enumerate(hunks, 1):
        stated = _stated(hunk)
        at = _place(text, hunk, stated + shift, cursor)
        if at is None:
            raise NoMatch(_misfit(text, hunk, number, stated + shift))
        shift = at - stated
        moved += [(number, shift)] if shift else []
        made += (*text.lines[cursor:at], *hunk.new)
        cursor = at + len(hunk.old)
    return AppliedHunks(b"".join([*made, *text.lines[cursor:]]), tuple(moved))


def is_applied(content: bytes, hunks: Sequence[Hunk]) -> bool:
    """Tells whether a content already is what the hunks would make, each at its stated place."""
    text = _LineText(content)
    return all(_fits(text, hunk.reversed, _stated(hunk.reversed)) for hunk in hunks)


def split_lines(content: bytes) -> list[bytes]:
    """Splits at line feeds only; each line keeps its own."""
    lines = content.split(b"\n")
    last = lines.pop()
    return [line + b"\n" for line in lines] + ([last] if last else [])


class _LineText:
    def __init__(self, content: bytes) -> None:
        self.content = content
        self.lines = split_lines(content)
        self._starts: list[int] = []

    @property
    def starts(self) -> list[int]:
        """Where each line begins, and where the last one ends."""
        if not self._starts:
            self._starts = [0, *accumulate(map(len, self.lines))]
        return self._starts

    def places(self, wanted: bytes, line: int) -> Iterator[int]:
        """Yields every line from one on at which some whole lines stand."""
        start = self.starts[line]
        if not start and self._is_whole(wanted, 0):
            yield 0
        at = self.content.find(b"\n" + wanted, max(start - 1, 0))
        while at >= 0:
            if self._is_whole(wanted, at + 1):
                yield bisect_left(self.starts, at + 1)
            at = self.content.find(b"\n" + wanted, at + 1)

    def _is_whole(self, wanted: bytes, at: int) -> bool:
        """Tells whether some lines stand at an offset, the last of them to its end."""
        whole = wanted.endswith(b"\n") or at + len(wanted) == len(self.content)
        return whole and self.content.startswith(wanted, at)


def _stated(hunk: Hunk) -> int:
    """Returns the index of the line that a hunk says it begins at; an empty one names the last."""
    return max(hunk.old_start - 1, 0) if hunk.old else hunk.old_start


def _place(text: _LineText, hunk: Hunk, stated: int, cursor: int) -> int | None:
    if stated >= cursor and _fits(text, hunk, stated):
        return stated
    if not hunk.old or _is_anchored(hunk):
        at = max(len(text.lines) - len(hunk.old), 0) if hunk.lead else 0
        return at if at >= cursor and _fits(text, hunk, at) else None
    fitting = list(islice(text.places(b"".join(hunk.old), cursor), 2))
    return fitting[0] if len(fitting) == 1 else None


def _fits(text: _LineText, hunk: Hunk, at: int) -> bool:
    if not hunk.old:
        return not text.lines  # without a line of context it could stand anywhere
    if _is_anchored(hunk) and at != (len(text.lines) - len(hunk.old) if hunk.lead else 0):
        return False
    return text.lines[at : at + len(hunk.old)] == list(hunk.old)


def _is_anchored(hunk: Hunk) -> bool:
    """Context on one side alone says that the file begins, or ends, on the other."""
    if hunk.lead:
        return not hunk.trail
    return bool(hunk.trail) and hunk.old_start <= 1


def _misfit(text: _LineText, hunk: Hunk, number: int, stated: int) -> str:
    if not hunk.old:
        words = "has no line of context, and the file is not empty"
        return f"hunk {number} {words}; make the patch with context."
    if not _is_anchored(hunk) and len(list(islice(text.places(b"".join(hunk.old), 0), 2))) > 1:
        return (
            f"hunk {number} does not fit at line {stated + 1}, and its lines stand in more than "
            "one other place."
        )
    told = f"hunk {number} does not fit at line {_first_other(text, hunk, stated)}"
    if is_applied(text.content, (hunk,)):
        told += " It looks as if it were applied already."
    return told


def _first_other(text: _LineText, hunk: Hunk, stated: int) -> str:
    """Says which line is the first that is not as expected."""
    for at, expected in enumerate(hunk.old, stated):
        found = text.lines[at] if 0 <= at < len(text.lines) else None
        if found != expected:
            there = "the end of the file" if found is None else _told(found)
            return f"{at + 1}: expected {_told(expected)}, found {there}."
    edge = "end" if hunk.lead else "beginning"
    return f"{stated + 1}: expected the {edge} of the file there."


def _told(line: bytes) -> str:
    words = one_line(line.removesuffix(b"\n"))
    more = "…" if len(words) > _LONGEST else ""
    end = "" if line.endswith(b"\n") else " without a line end"
    return f"`{words[:_LONGEST]}{more}`{end}"
