"""Sections: lines that belong together, wrapped to a width, and which row shows which."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import msgspec

from assent.render.lines import Line
from assent.tui.line_view.line_wrap import wrapped_line
from assent.tui.line_view.search import LinePosition

NO_ROW: Final = -1
MAX_SMALL_UPDATE: Final = 8


class Section(msgspec.Struct, frozen=True):
    """Lines that belong together under a key: a message, a call, a diff, a file."""

    key: str
    lines: tuple[Line, ...]


class SectionRow(msgspec.Struct, frozen=True, gc=False):
    """What one row shows: a line or a piece of one, its position, and whether it begins it."""

    line: Line
    spot: LinePosition
    first: bool


class _WrappedSection(msgspec.Struct, gc=False):
    """A section wrapped to the width, with the line that each piece comes from."""

    pieces: list[Line]
    origins: list[int] | None  # None: each line is one piece


class SectionList:
    """Sections in order, at one width. Only what changed is wrapped again; at width 0 nothing."""

    def __init__(self) -> None:
        self._sheets: list[Section] = []
        self._places: dict[str, int] = {}
        self._wrapped: list[_WrappedSection | None] = []
        self._starts: list[int] = [0]  # the row at which each sheet begins, as far as known
        self.width = 0
        self.kept = 0  # rows at the beginning that the last `put` left as they were

    @property
    def all(self) -> Sequence[Section]:
        return self._sheets

    @property
    def rows(self) -> int:
        """How many rows there are at this width."""
        if not self.width:
            return 0
        for place in range(len(self._starts) - 1, len(self._sheets)):
            self._starts.append(self._starts[place] + len(self._fit(place).pieces))
        return self._starts[-1]

    def fit(self, width: int) -> None:
        """Wraps everything for another width, when it is next looked at."""
        self.width = width
        self._wrapped = [None] * len(self._sheets)
        self._starts = [0]

    def show(self, sheets: Iterable[Section]) -> bool:
        """Holds these sheets and no others, and tells whether anything is new.

        The very sheets that were there before stay wrapped.
        """
        before = self._sheets
        known = dict(zip(map(id, before), self._wrapped, strict=True))
        self._sheets = list(sheets)
        self._wrapped = [known.get(id(sheet)) for sheet in self._sheets]
        self._places = {sheet.key: at for at, sheet in enumerate(self._sheets)}
        self._starts = [0]
        return self._sheets != before

    def put(self, sheets: Iterable[Section]) -> bool:
        """Adds sheets at the end, or in the place of their keys; tells whether any is new."""
        changed, self.kept = False, self.rows
        for sheet in sheets:
            at = self._places.setdefault(sheet.key, len(self._sheets))
            if at == len(self._sheets):
                self._sheets.append(sheet)
                self._wrapped.append(None)
            elif self._sheets[at] != sheet:
                self._replace(at, sheet)
            else:
                continue
            changed = True
        return changed

    def _replace(self, at: int, sheet: Section) -> None:
        """Puts a sheet in the place of another, and keeps how its first lines were wrapped."""
        before, wrapped = self._sheets[at], self._wrapped[at]
        self._sheets[at], self._wrapped[at] = sheet, None
        kept = 0
        if wrapped is not None:
            same = _alike(before.lines, sheet.lines)
            origins = wrapped.origins
            kept = same if origins is None else bisect_left(origins, same)
            self._wrapped[at] = _wrap(sheet, self.width, same, wrapped.pieces[:kept], origins)
        start = self._starts[at] if at < len(self._starts) else 0
        self.kept = min(self.kept, start + kept)
        del self._starts[at + 1 :]

    def piece(self, row: int) -> SectionRow | None:
        """Returns what a row shows."""
        if not 0 <= row < self.rows:
            return None
        place = bisect_right(self._starts, row) - 1
        wrapped, inside = self._fit(place), row - self._starts[place]
        origins = wrapped.origins
        origin = inside if origins is None else origins[inside]
        first = origins is None or not inside or origins[inside - 1] != origin
        return SectionRow(
            wrapped.pieces[inside], LinePosition(self._sheets[place].key, origin), first
        )

    def row_of(self, spot: LinePosition) -> int:
        """Returns the first row that shows a line; the last of its sheet if it has fewer lines."""
        place = self._places.get(spot.key, NO_ROW)
        if place == NO_ROW or not self.rows:
            return NO_ROW
        wrapped = self._fit(place)
        last = max(len(wrapped.pieces) - 1, 0)
        if wrapped.origins is None:
            return self._starts[place] + min(spot.line, last)
        inside = wrapped.origins.index(spot.line) if spot.line in wrapped.origins else last
        return self._starts[place] + inside

    def matching(self, wanted: str) -> Iterator[LinePosition]:
        """Returns the lines that have some letters in them, small or capital."""
        wanted = wanted.lower()
        for sheet in self._sheets:
            for at, line in enumerate(sheet.lines):
                if wanted in line.text.lower():
                    yield LinePosition(sheet.key, at)

    def _fit(self, place: int) -> _WrappedSection:
        found = self._wrapped[place]
        if found is None:
            found = self._wrapped[place] = _wrap(self._sheets[place], self.width)
        return found


def _wrap(
    sheet: Section,
    width: int,
    done: int = 0,
    known: Sequence[Line] = (),
    of_known: Sequence[int] | None = None,
) -> _WrappedSection:
    """Wraps a sheet; of the lines that are done, the pieces and their origins are known."""
    pieces = list(known)
    origins = list(range(done)) if of_known is None else list(of_known[: len(pieces)])
    for origin, line in enumerate(sheet.lines[done:], done):
        text = line.text
        if len(text) <= width and text.isascii() and "\t" not in text:
            pieces.append(line)
            origins.append(origin)
            continue
        fitting = wrapped_line(line, width)
        pieces += fitting
        origins += [origin] * len(fitting)
    return _WrappedSection(pieces, origins if len(pieces) > len(sheet.lines) else None)


def _alike(one: Sequence[Line], other: Sequence[Line]) -> int:
    """Returns how many lines two texts begin with alike."""
    least = min(len(one), len(other))
    start = max(least - MAX_SMALL_UPDATE, 0)  # a text mostly grows at its end
    start = start if one[:start] == other[:start] else 0
    return next((at for at in range(start, least) if one[at] != other[at]), least)
