"""Diffs and sources as tables of HTML: line numbers, syntax roles, comments below lines."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from markupsafe import Markup, escape

from assent.core.text.hidden_chars import source_line_count
from assent.render.diff_view import (
    NONE,
    SIGN,
    DiffRow,
    DiffSpans,
    FileDiff,
    RowKind,
    folds,
    paired_rows,
)
from assent.render.lines import Spans

CLASSES: Final[dict[RowKind, str]] = {
    "added": "ad", "removed": "rm", "context": "cx", "gap": "gap", "note": "nt",
}  # fmt: skip
UNIFIED: Final = 3  # columns
SPLIT: Final = 4

Said = Mapping[int, Markup]  # what stands below a line, by its number as comments count it
LinkTo = Callable[[int], str]  # where one comments on a line; nothing where one cannot
OpenFold = Callable[[int, int], str]  # where unchanged lines are shown, by the first and the last
MOST_OPENED: Final = 100  # lines at a time
NOTHING_SAID: Final[Said] = {}


def spans_html(spans: Spans) -> str:
    """Returns spans as HTML; every text in them is escaped."""
    found = []
    for span in spans:
        text = str(escape(span.text))
        role = "" if span.role == "plain" else f' class="s-{span.role}"'
        if span.changed:
            text = f"<mark>{text}</mark>"
        found.append(f"<span{role}>{text}</span>" if role else text)
    return "".join(found)


def source_table(lines: Sequence[Spans], said: Said, link: LinkTo) -> Markup:
    """Returns lines with their numbers, and what was said below them."""
    rows = []
    number = 1
    for spans in lines:
        last = number + source_line_count("".join(span.text for span in spans)) - 1
        rows.append(
            f'<tr data-at="{number}"><td class="n">{_numbered(number, number, link)}</td>'
            f'<td class="c">{spans_html(spans) or "&#8203;"}</td></tr>'
        )
        rows += [_said(said[at], 2) for at in range(number, last + 1) if at in said]
        number = last + 1
    return Markup('<table class="source">' + "".join(rows) + "</table>")


def unified_table(
    file: FileDiff, said: Said, link: LinkTo, unfold: OpenFold | None = None
) -> Markup:
    """Returns the diff of a file in one column of lines; `unfold` leads to those that it lacks."""
    spans, gaps = DiffSpans(file), _fold_links(file, unfold)
    found: list[str] = []
    for at, row in enumerate(file.rows):
        name = CLASSES[row.kind]
        if row.kind == "gap":
            found.append(_gap(row, UNIFIED, gaps.get(at, "")))
        else:
            found.append(
                f'<tr class="{name}" data-at="{row.line}"><td class="n">{row.old or ""}</td>'
                f'<td class="n">{_numbered(row.new, row.line, link) or _dot(row, link)}</td>'
                f'<td class="c">{_sign(row)}{spans_html(spans.row(at))}</td></tr>'
            )
        if _is_last(file, at):
            found += [_said(said[one], UNIFIED) for one in _lines(row) if one in said]
    found.append(_end(file, UNIFIED, gaps))
    return Markup('<table class="diff">' + "".join(found) + "</table>")


def split_table(file: FileDiff, said: Said, link: LinkTo, unfold: OpenFold | None = None) -> Markup:
    """Returns the diff of a file side by side: what was on the left, what will be on the right."""
    spans, rows, gaps = DiffSpans(file), file.rows, _fold_links(file, unfold)
    found: list[str] = []
    for left, right in paired_rows(rows):
        if left == right and rows[left].kind == "gap":
            found.append(_gap(rows[left], SPLIT, gaps.get(left, "")))
        else:
            cells = _side(spans, rows, left, "old", link) + _side(spans, rows, right, "new", link)
            found.append(f"<tr>{cells}</tr>")
        for at in dict.fromkeys((left, right)):
            if at != NONE and _is_last(file, at):
                found += [_said(said[one], SPLIT) for one in _lines(rows[at]) if one in said]
    found.append(_end(file, SPLIT, gaps))
    columns = '<colgroup><col class="at"><col><col class="at"><col></colgroup>'
    return Markup(f'<table class="diff split">{columns}' + "".join(found) + "</table>")


def _side(spans: DiffSpans, rows: Sequence[DiffRow], at: int, side: str, link: LinkTo) -> str:
    row = rows[at] if at != NONE else None
    wrong = {"old": "added", "new": "removed"}[side]
    if row is None or row.kind == wrong:
        return '<td class="n no"></td><td class="c no"></td>'
    number = row.old if side == "old" else row.new
    shown = _numbered(number, row.line, link) if number else ""
    return (
        f'<td class="n {CLASSES[row.kind]}">{shown}</td><td class="c {CLASSES[row.kind]}" '
        f'data-at="{row.line}">{_sign(row)}{spans_html(spans.row(at))}</td>'
    )


def _numbered(number: int, line: int, link: LinkTo) -> str:
    if not number:
        return ""
    to = link(line) if line else ""  # an unfolded line is none of the patch
    if not to:
        return str(number)
    return f'<a href="{escape(to)}" tabindex="-1">{number}</a>'


def _dot(row: DiffRow, link: LinkTo) -> str:
    """Returns what one comments by on a removed line, which has no number on the right."""
    to = link(row.line) if row.kind == "removed" and not row.is_continued else ""
    return f'<a href="{escape(to)}" tabindex="-1">·</a>' if to else ""


def _sign(row: DiffRow) -> str:
    return f'<span class="sg">{"↪" if row.is_continued else SIGN.get(row.kind, " ")}</span>'


def _fold_links(file: FileDiff, unfold: OpenFold | None) -> dict[int, str]:
    """Returns where each fold is opened, by its row: of a long one, the lines beside what changed.

    Before the first change that is its end, after a change its beginning.
    """
    found = {}
    for fold in folds(file) if unfold else ():
        first, last = fold.new, fold.new + (fold.count or MOST_OPENED) - 1
        if fold.new == 1:
            first = max(first, last - MOST_OPENED + 1)
        found[fold.at] = unfold(first, min(last, first + MOST_OPENED - 1)) if unfold else ""
    return found


def _end(file: FileDiff, columns: int, gaps: Mapping[int, str]) -> str:
    """Returns what leads to the lines after the last one; how many there are is not known."""
    to = gaps.get(len(file.rows), "")
    return _gap(DiffRow("gap", "Lines below", 0), columns, to) if to else ""


def _gap(row: DiffRow, columns: int, to: str = "") -> str:
    words = escape(row.text.strip())
    if not words:
        return ""
    if to:
        words = Markup('<a class="unfold" href="{}">{}</a>').format(Markup(escape(to)), words)
    return f'<tr class="gap"><td colspan="{columns}">{words}</td></tr>'


def _said(html: Markup, columns: int) -> str:
    return f'<tr class="said"><td colspan="{columns}">{html}</td></tr>'


def _is_last(file: FileDiff, at: int) -> bool:
    """Tells whether no further piece of the same line follows."""
    return at + 1 == len(file.rows) or not file.rows[at + 1].is_continued


def _lines(row: DiffRow) -> Iterator[int]:
    if row.line:
        yield from range(row.line, row.line + source_line_count(row.text))
