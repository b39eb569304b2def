"""Rendered Markdown: a text of a model as lines without the signs of Markdown, while it grows.

Line breaks stay as they are written. Nothing is hidden: comments, tags and targets of links are
shown, and a sign without a counterpart stays.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from assent.core.text.hidden_chars import fold_long, visible_text
from assent.render.lines import (
    Line,
    Role,
    Span,
    Spans,
    Style,
    merged_spans,
    spans_text,
    with_hidden_marked,
)
from assent.render.markdown import (
    MarkdownReader,
    SourceLine,
    inline_spans,
    is_table_delimiter,
)
from assent.render.syntax import HighlightedCode, language_named

INDENT: Final = "  "
MAX_TABLE_WIDTH: Final = 62  # columns, as beside the side area; a wider table is shown row by row
QUOTE_BAR: Final = "▎ "
BETWEEN: Final = " │ "
_RULE: Final = "─" * 40
_BOXES: Final = {"[ ]": "☐ ", "[x]": "☑ ", "[X]": "☑ "}


class MarkdownRenderer:
    """Renders a growing text: each time only its new part, its last line and an open table."""

    def __init__(self, indent: str = INDENT) -> None:
        self._indent = indent
        self._known = ""
        self._forget()

    def lines(self, text: str) -> list[Line]:
        """Returns a text as lines, without empty ones at its beginning and end."""
        body = text.lstrip("\n")
        at = body.rstrip().rfind("\n") + 1  # where the last line begins that is not empty
        if at < len(self._known) or not body.startswith(self._known):
            self._forget()
        if at > len(self._known):
            whole = visible_text(body[len(self._known) : at])
            for line in whole.removesuffix("\n").split("\n"):
                self._take(line)
            self._known = body[:at]
        last = visible_text(body[at:]).rstrip("\n").split("\n")
        return [*self._lines, *self._ending(last)]

    def _forget(self) -> None:
        self._known = ""  # what is rendered
        self._lines: list[Line] = []
        self._reader = MarkdownReader()
        self._table = _Table(self._indent)
        self._code: list[str] = []  # the lines of an open fence,
        self._margin = 0  # how far they are indented,
        self._colors: HighlightedCode | None = None  # and their colours, as far as they are known

    def _take(self, line: str) -> None:
        """Renders a line that is final."""
        read = self._reader.read(line)
        if read.kind == "table":
            self._table.add(read.rest)
            return
        if self._table.rows:
            self._lines += self._table.lines()
            self._table = _Table(self._indent)
        if read.kind == "fence" and read.opens:
            self._code, self._margin = [], len(read.lead)
            self._colors = HighlightedCode(self._code, language_named(read.language))
        if read.kind == "code" and self._colors is not None:
            self._code.append(_without_margin(read.rest, self._margin))
            spans = self._colors.spans(len(self._code) - 1)
            self._lines += self._code_lines(spans)
            return
        self._lines += self._rendered(read)

    def _ending(self, lines: Sequence[str]) -> Iterator[Line]:
        """Renders the last line, which may still become another, and leaves no trace of it."""
        reader = self._reader.copy()
        table = self._table
        for line in lines:
            read = reader.read(line)
            if read.kind == "table":
                table = table.with_row(read.rest)
                continue
            yield from table.lines()
            table = _Table(self._indent)
            if read.kind == "code":
                code = _without_margin(read.rest, self._margin)
                yield from self._code_lines((Span(code),))
            else:
                yield from self._rendered(read)
        yield from table.lines()

    def _code_lines(self, spans: Spans) -> Iterator[Line]:
        yield from _folded("code", self._indent + INDENT, spans)

    def _rendered(self, read: SourceLine) -> Iterator[Line]:
        match read.kind:
            case "fence":
                if read.opens and read.language:
                    label = Span(f"{self._indent}{INDENT}{read.language}", "gutter")
                    yield Line("code", label.text, (label,))
            case "rule":
                yield Line("dim", f"{self._indent}{_RULE}")
            case _:
                style: Style = "heading" if read.kind == "heading" else "prose"
                yield from _folded(style, self._indent, _line_spans(read))


class _Table:
    """Rows of a table; what is known of them stays known while more come."""

    def __init__(self, indent: str) -> None:
        self._indent = indent
        self.rows: list[str] = []
        self._cells: list[list[Spans]] = []
        self._known: tuple[list[int], list[Line]] = ([], [])  # widths, and lines for them

    def add(self, row: str) -> None:
        """Adds a row that is final."""
        self.rows.append(row)
        self._cells.append(_cells(row, "strong" if len(self.rows) == 1 else "plain"))

    def with_row(self, row: str) -> "_Table":
        """Returns the table with one more row, for now."""
        table = _Table(self._indent)
        table.rows, table._cells = [*self.rows], [*self._cells]
        table._known = self._known
        table.add(row)
        return table

    def lines(self) -> list[Line]:
        """Returns the table with aligned columns, or row by row if it is too wide."""
        if not self.rows[1:] or not is_table_delimiter(self.rows[1]):
            rows = [inline_spans(row, signs=False) for row in self.rows]
            return [one for row in rows for one in _folded("prose", self._indent, row)]
        cells = [self._cells[0], *self._cells[2:]]
        columns = max(map(len, cells))
        widths = [
            max((_width(row[n]) for row in cells if n < len(row)), default=0)
            for n in range(columns)
        ]
        if sum(widths) + len(BETWEEN) * (columns - 1) > MAX_TABLE_WIDTH:
            return [*self._by_row(cells)]
        known, lines = self._known
        if known != widths:
            lines = [self._row(cells[0], widths), self._line_below(widths)]
        lines += [self._row(row, widths) for row in cells[len(lines) - 1 :]]
        self._known = (widths, lines)
        return [*lines]

    def _row(self, cells: Sequence[Spans], widths: Sequence[int]) -> Line:
        spans: list[Span] = [Span(self._indent)]
        for n, width in enumerate(widths):
            cell = cells[n] if n < len(cells) else ()
            blank = Span(" " * (width - _width(cell)))
            last = n == len(widths) - 1
            spans += [Span(BETWEEN, "marker")] if n else []
            spans += [blank, *cell] if n in self._to_the_right() else [*cell]
            spans += [] if last or n in self._to_the_right() else [blank]
        whole = with_hidden_marked(merged_spans(spans))
        return Line("prose", spans_text(whole), whole)

    def _to_the_right(self) -> set[int]:
        """Returns the columns whose delimiter ends with a colon alone: numbers, most often."""
        marks = _split_row(self.rows[1])
        return {n for n, one in enumerate(marks) if one.endswith(":") and one[:1] != ":"}

    def _line_below(self, widths: Sequence[int]) -> Line:
        bars = "─┼─".join("─" * width for width in widths)
        return Line("dim", f"{self._indent}{bars}")

    def _by_row(self, cells: Sequence[Sequence[Spans]]) -> Iterator[Line]:
        head, *rows = cells
        for row in rows:
            for n, cell in enumerate(row):
                name = head[n] if n < len(head) else ()
                sign = Span("• " if n == 0 else INDENT, "marker")
                colon = Span(": ") if name else Span("")
                whole = merged_spans((sign, *name, colon, *cell))
                yield from _folded("prose", self._indent, whole)


def _line_spans(read: SourceLine) -> Spans:
    """Returns the spans of a heading or of a line of text, with a sign of ours for an item."""
    quotes = read.lead.count(">")
    blanks = read.lead.rpartition(">")[2].removeprefix(" " if quotes else "")
    lead = Span(QUOTE_BAR * quotes, "marker"), Span(blanks)
    if read.kind == "heading":
        return merged_spans((*lead, *inline_spans(read.rest, "heading", signs=False)))
    if read.kind == "comment":
        return merged_spans((*lead, Span(read.rest, "comment")))
    role: Role = "quote" if quotes else "plain"
    sign = Span(_item_sign(read.sign), "marker")
    return merged_spans((*lead, sign, *inline_spans(read.rest, role, signs=False)))


def _item_sign(sign: str) -> str:
    bullet, _, box = sign.strip().partition(" ")
    task = _BOXES.get(box.strip(), "")
    if bullet[:1] in ("-", "*", "+"):
        return task or "• "
    return f"{bullet} {task}" if bullet else ""


def _cells(row: str, role: Role) -> list[Spans]:
    return [inline_spans(cell, role, signs=False) for cell in _split_row(row)]


def _split_row(row: str) -> list[str]:
    inner = row.strip().replace("\\|", "\0").removeprefix("|").removesuffix("|")
    return [cell.replace("\0", "|").strip() for cell in inner.split("|")]


def _width(spans: Iterable[Span]) -> int:
    return len(spans_text(spans))


def _without_margin(line: str, margin: int) -> str:
    return line[min(margin, len(line) - len(line.lstrip(" "))) :]


def _folded(style: Style, indent: str, spans: Spans) -> Iterator[Line]:
    """Yields the lines of one line of text, which is folded and plain if it is very long."""
    pieces = fold_long(spans_text(spans))
    if len(pieces) > 1:
        spans = ()
    lead = Span(indent)
    for piece in pieces:
        whole = (lead, *with_hidden_marked(spans)) if spans else (lead, Span(piece))
        yield Line(style, indent + piece, merged_spans(whole))
