"""Sections: lines that belong together, wrapped to a width, and the search in them.

They know which row shows which line.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import Final, Protocol, TypeAlias

import msgspec
from rich.cells import cell_len, split_graphemes
from textual.events import Key

from assent.core.text.hidden_chars import CONTINUATION_MARK, visible_line
from assent.render.lines import BLANK, GUTTER, Line, Span, Spans, Style, merged_spans

# Wraps lines that are wider than the screen, so that no piece looks like a separate line.
#
# A continued piece follows our mark `↪`, or is indented deeper than its line began. Text of
# others cannot contain that mark, because it is escaped (core.text.hidden_chars). Text of the
# conversation continues at its own indent: all of it is indented already.


# In text of others, a piece that began with a sign could look like a separate line.
CODE_STYLES: Final[frozenset[Style]] = frozenset({"added", "removed", "hunk", "code"})
TAB: Final = 4
TEXT_STYLES: Final[frozenset[Style]] = frozenset({"prose", "said"})
HANGING_INDENT: Final = 2  # columns that a continued line of prose is deeper than it began
MAX_HANGING_INDENT: Final = 12  # a line that begins deeper is continued after the sign
MIN_WIDTH: Final = 4  # columns; with fewer, the sign gets its own row

_SIGN: Final = CONTINUATION_MARK[0]
_BULLET: Final = re.compile(r" *(?:[-*+•☐☑▎]|\d{1,3}[.)]) +")
# Letters of one cell each, and nothing that joins with the one before: most of what is not ASCII.
_ONE_CELL: Final = re.compile(f"[ -~\u00a1-\u00ac\u00ae-\u024f\u0400-\u0481{_SIGN}│]*").fullmatch
_BEHIND: Final = GUTTER[0] + _SIGN  # a gutter in which something goes on


def wrapped_line(line: Line, width: int, *, cut: bool = False) -> list[Line]:
    """Returns a line as pieces that fit; nothing is omitted.

    With `cut` it is cut at the width, blanks and all, as lines of code are.
    """
    if "\t" in line.text:
        line = Line(line.style, line.text.expandtabs(TAB), _without_tabs(line.spans))
    text = line.text
    if (text.isascii() and len(text) <= width) or cell_len(text) <= width:
        return [line]
    pieces, before = _pieces("code" if cut else line.style, text, width)
    if not line.spans:
        return [Line(line.style, piece) for piece in pieces]
    return [*_with_spans(line, pieces, len(before))]


def _pieces(style: Style, text: str, width: int) -> tuple[list[str], str]:
    """Returns the pieces of a text, and what stands before each but the first."""
    lead = len(text) - len(text.lstrip(" "))
    if width < MIN_WIDTH:
        return _narrow(text, width), ""
    if text.startswith(GUTTER):
        return _between_words(text, width, _BEHIND), _BEHIND
    if style in CODE_STYLES or lead + HANGING_INDENT > min(MAX_HANGING_INDENT, width // 2):
        return _cut(text, width), CONTINUATION_MARK
    hang = " " * _hang(style, text, lead)
    return _between_words(text, width, hang), hang


def _with_spans(line: Line, pieces: Sequence[str], before: int) -> Iterator[Line]:
    """Yields the pieces of a line with the spans of what they show."""
    at = 0
    for number, piece in enumerate(pieces):
        start = before if number else 0
        body = piece[start:]
        if not line.text.startswith(body, at):
            at += 1  # the blank at which it was broken
        if not line.text.startswith(body, at):  # a sign in a row of its own
            yield Line(line.style, piece)
            continue
        lead = Span(piece[:start], "gutter")
        spans = merged_spans((lead, *_cut_out(line.spans, at, at + len(body))))
        yield Line(line.style, piece, spans)
        at += len(body)


def _cut_out(spans: Spans, start: int, end: int) -> Iterator[Span]:
    """Yields the spans of a part of their text."""
    at = 0
    for span in spans:
        first, last = max(start - at, 0), min(end - at, len(span.text))
        if first < last:
            yield Span(span.text[first:last], span.role, span.changed)
        at += len(span.text)
        if at >= end:
            return


def _without_tabs(spans: Spans) -> Spans:
    """Returns spans with tabs expanded as in the line that they make up."""
    found: list[Span] = []
    column = 0
    for span in spans:
        first, *others = span.text.split("\t")
        text = first
        for other in others:
            text += " " * (TAB - (column + len(text)) % TAB) + other
        column += len(text)
        found.append(Span(text, span.role, span.changed))
    return tuple(found)


def _hang(style: Style, text: str, lead: int) -> int:
    """Returns the indentation of continuation rows: for a message, below its first word."""
    if style not in TEXT_STYLES or not lead:
        return lead + HANGING_INDENT
    bullet = _BULLET.match(text)
    return min(bullet.end(), lead + HANGING_INDENT + HANGING_INDENT) if bullet else lead


def _cut(text: str, width: int) -> list[str]:
    """Breaks at the width, and marks the continuation."""
    head, rest = _split(text, width)
    found = [head]
    while rest:
        head, rest = _split(rest, width - len(CONTINUATION_MARK))
        found.append(CONTINUATION_MARK + head)
    return found


def _between_words(text: str, width: int, hang: str) -> list[str]:
    """Breaks between words if possible, and indents the continuation."""
    found: list[str] = []
    before, rest = "", text
    while rest:
        head, tail = _split(rest, width - len(before))
        if tail and not tail.startswith(" "):
            blank = head.rfind(" ", len(head) // 2)  # a long word is cut: little room is wasted
            if blank > 0:
                head, tail = rest[:blank], rest[blank:]
        found.append(before + head)
        before, rest = hang, tail.removeprefix(" ")
    return found


def _narrow(text: str, width: int) -> list[str]:
    head, rest = _split(text, width)
    found = [head]
    while rest:
        head, rest = _split(rest, width)
        found += [_SIGN, head]
    return found


def _split(text: str, width: int) -> tuple[str, str]:
    """Returns as much of a text as fits, at least one character, and the rest."""
    if text.isascii() or _ONE_CELL(text[: width + 1]):
        return text[:width], text[width:]
    cells = 0
    spans, _ = split_graphemes(text[: 4 * width + MIN_WIDTH])  # more of it never fits
    for start, _, size in spans:
        cells += size
        if cells > width and start:
            return text[:start], text[start:]
    return _split_long(text, width)


def _split_long(text: str, width: int) -> tuple[str, str]:
    """Splits a text that has many characters of no width."""
    cells = 0
    for start, _, size in split_graphemes(text)[0]:
        cells += size
        if cells > width and start:
            return text[:start], text[start:]
    return text, ""


# Incremental search in a line view: `/` starts it, n and N go to the next match.


class LinePosition(msgspec.Struct, frozen=True):
    """A line of a section, counted from 0 as it was passed in, however it is wrapped."""

    key: str
    line: int


class LineSearch:
    """The query and its matches; case does not matter."""

    def __init__(self) -> None:
        self.query = ""
        self.typing = False
        self.hits: Sequence[LinePosition] = ()
        self.at = 0

    @property
    def is_open(self) -> bool:
        """Whether its row is shown at the bottom."""
        return self.typing or bool(self.query)

    @property
    def position(self) -> LinePosition | None:
        return self.hits[self.at] if self.hits else None

    @property
    def status_text(self) -> str:
        """The text of its row."""
        sought = f"/{visible_line(self.query)}"
        if self.typing and not self.query:
            return f"{sought}   Enter keep, Esc close"
        found = f"{self.at + 1} of {len(self.hits)}" if self.hits else "not found"
        return f"{sought}   {found}   {'Enter keep' if self.typing else 'n N'}, Esc close"

    def begin(self) -> None:
        """Starts to take keys as letters of the query."""
        self.typing, self.query, self.hits, self.at = True, "", (), 0

    def end(self) -> None:
        """Ends the search."""
        self.typing, self.query, self.hits = False, "", ()

    def take(self, event: Key) -> bool:
        """Handles a key while a query is typed; tells whether the query changed."""
        before = self.query
        match event.key:
            case "enter":
                self.typing = False
                self.query = before if self.hits else ""
            case "escape":
                self.end()
            case "backspace":
                self.query = before[:-1]
            case "ctrl+u":
                self.query = ""
            case _ if event.is_printable and event.character:
                self.query += event.character
            case _:
                pass
        return self.query != before and self.typing

    def found(self, hits: Sequence[LinePosition], first: int) -> None:
        """Stores the matches of the query, and which of them comes first."""
        self.hits, self.at = hits, first if first < len(hits) else 0

    def keep(self, hits: Sequence[LinePosition]) -> None:
        """Stores the matches after the lines changed; the current one stays, if it is there."""
        here = self.position
        self.hits = hits
        self.at = hits.index(here) if here in hits else min(self.at, max(len(hits) - 1, 0))

    def step(self, by: int) -> None:
        """Moves to another match; after the last comes the first."""
        if self.hits:
            self.at = (self.at + by) % len(self.hits)

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Returns the matches in a text; none if case folding changes its length."""
        wanted, folded = self.query.lower(), text.lower()
        if not wanted or len(folded) != len(text):
            return []
        found, at = [], folded.find(wanted)
        while at >= 0:
            found.append((at, at + len(wanted)))
            at = folded.find(wanted, at + len(wanted))
        return found


# Sections: lines that belong together, wrapped to a width, and which row shows which.


NO_ROW: Final = -1
MAX_SMALL_UPDATE: Final = 8


class LineColors(Protocol):
    """The spans of lines, worked out when they are drawn."""

    def spans(self, at: int, /) -> Spans: ...


class LineColumns(Protocol):
    """Lines that stand in two columns where there is room, by their places."""

    def pairs(self) -> Sequence[tuple[int, int]]:
        """Returns what is beside each other, in order; negative: nothing, twice the same: both."""
        ...

    def side(self, at: int, column: int, /) -> Line | None:
        """Returns what a line shows in a column, without spans; None if it takes both columns."""
        ...

    def side_spans(self, at: int, column: int, /) -> Spans: ...


class Section(msgspec.Struct, frozen=True):
    """Lines that belong together under a key: a message, a call, a diff, a file.

    If it has colors, those of its lines that have a place get spans when they are drawn; if it has
    columns, they stand side by side where the list has two. `numbers` are those of the lines as
    comments count them; 0: none, and a line without a place but with a number belongs below the
    line before it.
    """

    key: str
    lines: tuple[Line, ...]
    numbers: tuple[int, ...] = ()
    colors: LineColors | None = None
    places: tuple[int, ...] = ()  # of the lines in colors and columns; negative: none
    columns: LineColumns | None = None

    def painted(self, at: int) -> Line:
        """Returns a line with its spans."""
        line = self.lines[at]
        if self.colors is None or self.places[at] < 0 or line.spans:
            return line
        return Line(line.style, line.text, self.colors.spans(self.places[at]))


class SectionRow(msgspec.Struct, frozen=True, gc=False):
    """The content of one row: a line or a piece of one, its position, and whether it begins it."""

    line: Line
    spot: LinePosition
    first: bool


class _WrappedSection(msgspec.Struct, gc=False):
    """A section wrapped to the width, with the line that each piece comes from."""

    pieces: list[Line]
    origins: list[int] | None  # None: each line is one piece
    pairs: "list[Pair] | None" = None  # in two columns: the lines on the sides of each row


Pair: TypeAlias = tuple[int, int]  # lines of a section side by side; negative: none
SEPARATOR: Final = " │ "  # between two columns
MIN_COLUMNS: Final = 40  # the width from which there can be two columns


class SectionList:
    """Sections in order, at one width; only changes are wrapped again, and at width 0 nothing."""

    def __init__(self) -> None:
        self._sheets: list[Section] = []
        self._places: dict[str, int] = {}
        self._wrapped: list[_WrappedSection | None] = []
        self._starts: list[int] = [0]  # the row at which each sheet begins, as far as known
        self.width = 0
        self.columns = False  # whether sections that can be in two columns are
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

    def fit(self, width: int, *, columns: bool = False) -> None:
        """Sets another width; everything is wrapped again when it is next used."""
        self.width, self.columns = width, columns
        self._wrapped = [None] * len(self._sheets)
        self._starts = [0]

    def show(self, sheets: Iterable[Section]) -> bool:
        """Replaces all sections, and tells whether anything is new.

        Sections that are the same objects as before stay wrapped.
        """
        before = self._sheets
        known = dict(zip(map(id, before), self._wrapped, strict=True))
        self._sheets = list(sheets)
        self._wrapped = [known.get(id(sheet)) for sheet in self._sheets]
        self._places = {sheet.key: at for at, sheet in enumerate(self._sheets)}
        self._starts = [0]
        return self._sheets != before

    def put(self, sheets: Iterable[Section]) -> bool:
        """Adds sections at the end, or replaces those with their keys; tells whether any is new."""
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
        """Replaces a section, and keeps the wrapping of its first lines if they are the same."""
        before, wrapped = self._sheets[at], self._wrapped[at]
        self._sheets[at], self._wrapped[at] = sheet, None
        kept = 0
        if wrapped is not None and wrapped.pairs is None and not self._splits(sheet):
            same = _alike(before.lines, sheet.lines)
            origins = wrapped.origins
            kept = same if origins is None else bisect_left(origins, same)
            self._wrapped[at] = _wrap(sheet, self.width, same, wrapped.pieces[:kept], origins)
        start = self._starts[at] if at < len(self._starts) else 0
        self.kept = min(self.kept, start + kept)
        del self._starts[at + 1 :]

    def piece(self, row: int) -> SectionRow | None:
        """Returns the content of a row."""
        if not 0 <= row < self.rows:
            return None
        place = bisect_right(self._starts, row) - 1
        wrapped, inside = self._fit(place), row - self._starts[place]
        origins = wrapped.origins
        origin = inside if origins is None else origins[inside]
        beginnings = wrapped.pairs or origins
        first = beginnings is None or not inside or beginnings[inside - 1] != beginnings[inside]
        spot = LinePosition(self._sheets[place].key, origin)
        return SectionRow(wrapped.pieces[inside], spot, first)

    def parts(self, row: int) -> tuple[Line, ...]:
        """Returns what a row shows, with spans: one line, or the two sides and what is between."""
        place = bisect_right(self._starts, row) - 1
        piece = self.piece(row)
        if piece is None:
            return ()
        pairs = self._fit(place).pairs
        if pairs is None:
            return (self.painted(row) or piece.line,)
        inside = row - self._starts[place]
        first = inside
        while first and pairs[first - 1] == pairs[inside]:
            first -= 1
        return _side_by_side(self._sheets[place], pairs[inside], self.width, True)[inside - first]

    def first_line(self, row: int) -> LinePosition | None:
        """Returns the first line that a row shows: of two columns, the one that comes first."""
        piece = self.piece(row)
        if piece is None:
            return None
        place = bisect_right(self._starts, row) - 1
        pairs = self._fit(place).pairs
        if pairs is None:
            return piece.spot
        return LinePosition(
            piece.spot.key, min(line for line in pairs[row - self._starts[place]] if line >= 0)
        )

    def painted(self, row: int) -> Line | None:
        """Returns what a row shows, with spans that are only worked out for what is drawn."""
        piece = self.piece(row)
        if piece is None:
            return None
        place = bisect_right(self._starts, row) - 1
        sheet = self._sheets[place]
        if sheet.colors is None:
            return piece.line
        origins = self._fit(place).origins
        origin = piece.spot.line
        part = 0 if origins is None else row - self._starts[place] - bisect_left(origins, origin)
        return wrapped_line(sheet.painted(origin), self.width)[part]

    def row_of(self, spot: LinePosition) -> int:
        """Returns the first row that shows a line; the section's last row if it has fewer lines."""
        place = self._places.get(spot.key, NO_ROW)
        if place == NO_ROW or not self.rows:
            return NO_ROW
        wrapped = self._fit(place)
        last = max(len(wrapped.pieces) - 1, 0)
        if wrapped.pairs is not None:
            rows = (at for at, pair in enumerate(wrapped.pairs) if spot.line in pair)
            return self._starts[place] + next(rows, last)
        if wrapped.origins is None:
            return self._starts[place] + min(spot.line, last)
        inside = wrapped.origins.index(spot.line) if spot.line in wrapped.origins else last
        return self._starts[place] + inside

    def order(self, spot: LinePosition) -> tuple[int, int]:
        """Returns what positions are sorted by."""
        return self._places[spot.key], spot.line

    def matching(
        self, wanted: str, sheets: Iterable[Section] | None = None
    ) -> Iterator[LinePosition]:
        """Yields the lines that contain a text, ignoring case; of all sections, or of these."""
        wanted = wanted.lower()
        for sheet in self._sheets if sheets is None else sheets:
            for at, line in enumerate(sheet.lines):
                if wanted in line.text.lower():
                    yield LinePosition(sheet.key, at)

    def _fit(self, place: int) -> _WrappedSection:
        found = self._wrapped[place]
        if found is None:
            sheet = self._sheets[place]
            split = self._splits(sheet)
            wrap = _wrap_columns if split else _wrap
            found = self._wrapped[place] = wrap(sheet, self.width)
        return found

    def _splits(self, sheet: Section) -> bool:
        fits = self.columns and self.width >= MIN_COLUMNS
        return fits and sheet.columns is not None and bool(sheet.columns.pairs())


def _wrap_columns(sheet: Section, width: int) -> _WrappedSection:
    """Wraps a section in two columns, each line within its own."""
    pieces: list[Line] = []
    origins: list[int] = []
    pairs: list[Pair] = []
    for pair in _column_pairs(sheet):
        rows = _side_by_side(sheet, pair, width, False)
        pieces += [Line("plain", "".join([part.text for part in row])) for row in rows]
        origins += [pair[1] if pair[1] >= 0 else pair[0]] * len(rows)
        pairs += [pair] * len(rows)
    return _WrappedSection(pieces, origins, pairs)


def _column_pairs(sheet: Section) -> Iterator[Pair]:
    """Yields every line of a section once, with the one beside it; what has no place, twice."""
    if sheet.columns is None:
        return
    line_of = {place: at for at, place in enumerate(sheet.places) if place >= 0}
    first = min(line_of.values(), default=len(sheet.lines))
    below: dict[int, list[int]] = {}  # comments, by the line that they are below of
    behind: list[int] = []
    above = first
    for at in range(first, len(sheet.lines)):
        if sheet.places[at] >= 0:
            above = at
        elif sheet.numbers[at]:
            below.setdefault(above, []).append(at)
        else:
            behind.append(at)
    yield from ((at, at) for at in range(first))
    for pair in sheet.columns.pairs():
        left, right = (line_of.get(place, NO_ROW) for place in pair)
        yield left, right
        for at in dict.fromkeys((left, right)):
            yield from ((one, one) for one in below.get(at, ()))
    yield from ((at, at) for at in behind)


def _side_by_side(sheet: Section, pair: Pair, width: int, painted: bool) -> list[tuple[Line, ...]]:
    """Returns the rows of a pair: of one line over both columns, or of the two sides."""
    sides = [_side(sheet, at, column, painted) for column, at in enumerate(pair)]
    if pair[0] == pair[1] and sides[0] is None:
        whole = sheet.painted(pair[0]) if painted else sheet.lines[pair[0]]
        return [(piece,) for piece in wrapped_line(whole, width)]
    room = (width - len(SEPARATOR)) // 2, width - len(SEPARATOR) - (width - len(SEPARATOR)) // 2
    left, right = (
        wrapped_line(side, size, cut=True) if side else []
        for side, size in zip(sides, room, strict=True)
    )
    between = Line("dim", SEPARATOR)
    return [
        (_padded(one, room[0]), between, _padded(other, room[1]))
        for one, other in zip_longest(left, right, fillvalue=BLANK)
    ]


def _side(sheet: Section, at: int, column: int, painted: bool) -> Line | None:
    place = sheet.places[at] if at >= 0 else NO_ROW
    line = sheet.columns.side(place, column) if sheet.columns and place >= 0 else None
    if line is None or sheet.columns is None or not painted:
        return line
    return Line(line.style, line.text, sheet.columns.side_spans(place, column))


def _padded(line: Line, width: int) -> Line:
    """Returns a line that fills its column."""
    blank = " " * (width - cell_len(line.text))
    if not blank:
        return line
    spans = (*line.spans, Span(blank)) if line.spans else ()
    return Line(line.style, line.text + blank, spans)


def _wrap(
    sheet: Section,
    width: int,
    done: int = 0,
    known: Sequence[Line] = (),
    of_known: Sequence[int] | None = None,
) -> _WrappedSection:
    """Wraps a section; for the lines that are done, the pieces and their origins are known."""
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
    """Returns the length of the common prefix of two lists of lines."""
    least = min(len(one), len(other))
    start = max(least - MAX_SMALL_UPDATE, 0)  # a text mostly grows at its end
    start = start if one[:start] == other[:start] else 0
    return next((at for at in range(start, least) if one[at] != other[at]), least)
