"""Diff view: a patch as rows with line numbers, syntax roles and what changed within a line."""

import re
from collections.abc import Iterator, Sequence
from typing import Final, Literal

import msgspec

from assent.core.text.hidden_chars import (
    EMPTY_LINES_MARK,
    LONG_LINE,
    fold_long,
    source_line_count,
    visible_diff,
)
from assent.core.text.line_diff import line_changes
from assent.render.diff import CONTEXT
from assent.render.lines import Line, Span, Spans, Style, overlaid_spans, with_hidden_marked
from assent.render.syntax import HighlightedCode, HighlightTime, language_of_file

RowKind = Literal["context", "added", "removed", "gap", "note"]
Ranges = tuple[tuple[int, int], ...]

MAX_PAIRS: Final = 400  # lines of one change that are compared with their counterparts
ALIKE: Final = 0.4  # of two lines must be the same, or all of both is what changed
NONE: Final = -1


class DiffRow(msgspec.Struct, frozen=True, gc=False):
    """A row of a diff: a line of the file without its sign, or something about the diff."""

    kind: RowKind
    text: str  # safe text; of a very long line a piece
    line: int  # of the patch as comments count them, from 1
    old: int = 0  # its number in the old file; 0: not there
    new: int = 0
    is_continued: bool = False  # a further piece of the line above
    skipped: int = 0  # of a gap: unchanged lines that are not shown there

    @property
    def is_code(self) -> bool:
        """Whether it shows a line of the file."""
        return self.kind in ("context", "added", "removed")


class FileDiff(msgspec.Struct, frozen=True):
    """A part of a patch: about one file, or one of the two about a file that becomes a link."""

    path: str  # as the patch writes it; of a new name
    about: tuple[str, ...]  # what its header says beyond the names: modes, renames
    rows: tuple[DiffRow, ...]
    header_lines: int  # of the patch, before the first hunk
    is_whole: bool = False  # its end is the end of the file

    @property
    def counts(self) -> tuple[int, int]:
        """How many lines it adds and removes."""
        found = {"added": 0, "removed": 0}
        for row in self.rows:
            if row.kind in found and not row.is_continued:
                found[row.kind] += _lines_in(row.text)
        return found["added"], found["removed"]

    @property
    def summary(self) -> str:
        """How many lines change, and what else its header says, in words."""
        plus, minus = self.counts
        counts = " ".join([f"+{plus}"] * bool(plus) + [f"-{minus}"] * bool(minus))
        return " · ".join(filter(None, [counts, self.news]))

    @property
    def news(self) -> str:
        """What its header says beyond the name, in words: a new file, another mode."""
        old, new = (self._mode(start) for start in ("old mode ", "new mode "))
        modes = [f"mode {old} → {new}"] if old and new else []
        made = [_MADE.get(words, words) for words in self.about if not words.startswith(_TOLD)]
        return " · ".join([*made, *modes])

    @property
    def name(self) -> str:
        """The path, and the one before if it is renamed."""
        was = [words for words in self.about if words.startswith(_RENAMED)]
        return f"{was[0].removeprefix(_RENAMED)} → {self.path}" if was else self.path

    def _mode(self, start: str) -> str:
        found = [words for words in self.about if words.startswith(start)]
        return found[0].removeprefix(start)[-3:] if found else ""


# What a header says that is plain, or that its title and other words say already.
_TOLD: Final = ("old mode ", "new mode ", "rename ", "index ")
_MADE: Final = {
    "new file mode 100644": "new file",
    "new file mode 100755": "new file, executable",
    "new file mode 120000": "new symbolic link",
    "deleted file mode 100644": "deleted",
    "deleted file mode 100755": "deleted, was executable",
    "deleted file mode 120000": "deleted symbolic link",
}
_SIGNS: Final[dict[str, RowKind]] = {"+": "added", "-": "removed", " ": "context", "\\": "note"}
SIGN: Final[dict[RowKind, str]] = {"added": "+", "removed": "-"}
_HUNK: Final = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_RENAMED: Final = "rename from "
_PART: Final = "\ndiff --git "
_NAMES: Final = ("diff --git ", "--- ", "+++ ", "index ", "similarity index ")
_WORDS: Final = re.compile(r"\w+|\s+|.")
_SYMLINK: Final = " 120000"


def diff_view(patch: str) -> list[FileDiff]:
    """Returns the files of a patch, each in rows; every line of the files is in one."""
    if not patch:
        return []
    found: list[FileDiff] = []
    first, *others = visible_diff(patch).removesuffix("\n").split(_PART)
    line = 0
    for part in (first, *[_PART[1:] + other for other in others]):
        file = _file(part, line)
        line += file.header_lines + sum(
            _lines_in(row.text) for row in file.rows if not row.is_continued
        )
        found.append(file)
    return found


def paired_rows(rows: Sequence[DiffRow]) -> list[tuple[int, int]]:
    """Pairs rows for two columns, by position: removed with added; what is on both is alike."""
    pairs: list[tuple[int, int]] = []
    at = 0
    while at < len(rows):
        removed, added = _change(rows, at)
        if removed.start == added.stop:
            pairs.append((at, at))
            at += 1
            continue
        for n in range(max(len(removed), len(added))):
            left = removed[n] if n < len(removed) else NONE
            pairs.append((left, added[n] if n < len(added) else NONE))
        at = added.stop
    return pairs


class DiffSpans:
    """The spans of the rows of a file's diff, worked out for those that are asked for."""

    def __init__(self, file: FileDiff, time: HighlightTime | None = None) -> None:
        self._file = file
        self._time = time or HighlightTime()
        self._changed: dict[int, Ranges] = {}
        self._compared: set[int] = set()  # rows
        self._code: list[tuple[HighlightedCode, int] | None] = []

    def row(self, at: int) -> Spans:
        """Returns the spans of a row, which make up its text."""
        row = self._file.rows[at]
        if not row.is_code or row.is_continued:
            return with_hidden_marked((Span(row.text),)) if row.text else ()
        place = (self._code or self._begin())[at]
        spans = place[0].spans(place[1]) if place else (Span(row.text),)
        if row.kind == "context":
            return spans
        ranges = self._changes(at)
        return overlaid_spans(spans, ranges, lambda span: Span(span.text, span.role, True))

    def _begin(self) -> "list[tuple[HighlightedCode, int] | None]":
        """Sorts the lines of each hunk into those of the old file and those of the new."""
        old: list[str] = []
        new: list[str] = []
        sides = self._sides(old, new)
        for row in self._file.rows:
            if row.kind == "gap":
                old, new = [], []
                sides = self._sides(old, new)
            if not row.is_code or row.is_continued:
                self._code.append(None)
                continue
            if row.kind != "added":
                old.append(row.text)
            if row.kind != "removed":
                new.append(row.text)
            side = row.kind != "removed"
            self._code.append((sides[side], len((old, new)[side]) - 1))
        return self._code

    def _sides(self, old: list[str], new: list[str]) -> tuple[HighlightedCode, HighlightedCode]:
        language = language_of_file(self._file.path)
        return (
            HighlightedCode(old, language, self._time),
            HighlightedCode(new, language, self._time),
        )

    def _changes(self, at: int) -> Ranges:
        if at not in self._compared:
            rows, start = self._file.rows, at
            while start and rows[start - 1].kind in ("added", "removed"):
                if rows[start - 1].kind == "added" and rows[start].kind == "removed":
                    break
                start -= 1
            removed, added = _change(rows, start)
            self._compared.update(removed, added)
            self._changed.update(_compared(rows, removed, added))
        return self._changed.get(at, ())


def changed_ranges(old: str, new: str) -> tuple[Ranges, Ranges]:
    """Returns what differs between two lines, on each side; nothing if little is the same."""
    before, after = _WORDS.findall(old), _WORDS.findall(new)
    changes = line_changes([one.encode() for one in before], [one.encode() for one in after])
    old_ends, new_ends = _ends(before), _ends(after)
    left = [(old_ends[i], old_ends[j]) for i, j, _, _ in changes if i < j]
    right = [(new_ends[k], new_ends[m]) for _, _, k, m in changes if k < m]
    longer = max(len(old.strip()), len(new.strip()))
    most = max(sum(b - a for a, b in left), sum(b - a for a, b in right))
    if most > (1 - ALIKE) * longer:
        return (), ()
    return tuple(left), tuple(right)


_STYLES: Final[dict[RowKind, Style]] = {"added": "added", "removed": "removed", "gap": "hunk"}


class NumberedDiff:
    """A patch as lines with numbers, whose spans are worked out when they are asked for.

    Two are equal if their patches are.
    """

    def __init__(self, patch: str) -> None:
        self._patch = patch
        self.files = diff_view(patch)
        self._spans = [DiffSpans(file) for file in self.files]
        self.rows = [
            (at, number)
            for at, file in enumerate(self.files)
            for number, row in enumerate(file.rows)
            if row.kind != "gap" or row.text
        ]
        numbers = [(row.old, row.new) for file in self.files for row in file.rows]
        # How wide the numbers are of each file; there are none of a file that is not there.
        self._widths = [len(str(last)) for last in map(max, zip(*numbers, strict=True)) if last]
        self._sides = [side for side in (0, 1) if any(pair[side] for pair in numbers)]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NumberedDiff) and self._patch == other._patch

    def __hash__(self) -> int:
        return hash(self._patch)

    @property
    def summaries(self) -> list[str]:
        """Returns for each file how many lines change, and what else is to be known."""
        return [file.summary for file in self.files]

    def lines(self) -> list[Line]:
        """Returns a line for each row, without spans."""
        return [
            Line(_STYLES.get(row.kind, "plain"), self._lead(row) + row.text)
            for row in map(self._row, range(len(self.rows)))
        ]

    def numbers(self) -> list[int]:
        """Returns for each row the last line of the patch in it, as comments count them."""
        rows = map(self._row, range(len(self.rows)))
        return [row.line + _lines_in(row.text) - 1 for row in rows]

    def spans(self, at: int) -> Spans:
        """Returns the spans of a row, which make up its line."""
        file, number = self.rows[at]
        row = self.files[file].rows[number]
        lead = Span(self._lead(row), "gutter")
        if row.kind in ("gap", "note"):
            return (Span(lead.text + row.text, "gutter"),)
        return (lead, *self._spans[file].row(number))

    def pairs(self) -> list[tuple[int, int]]:
        """Pairs rows for two columns, old and new; none if the lines of one file are all it has."""
        if self._sides != [0, 1]:
            return []
        place_of = {place: at for at, place in enumerate(self.rows)}
        return [
            (left, right)
            for number, file in enumerate(self.files)
            for left, right in (
                [place_of.get((number, row), NONE) for row in pair]
                for pair in paired_rows(file.rows)
            )
            if (left, right) != (NONE, NONE)
        ]

    def side(self, at: int, column: int) -> Line | None:
        """Returns what a row shows in one column, without spans; None if it takes both."""
        row = self._row(at)
        if row.kind == "gap":
            return None
        return Line(_STYLES.get(row.kind, "plain"), self._side_lead(row, column) + row.text)

    def side_spans(self, at: int, column: int) -> Spans:
        """Returns the spans of a row in one column."""
        file, number = self.rows[at]
        row = self.files[file].rows[number]
        lead = self._side_lead(row, column)
        if row.kind == "note":
            return (Span(lead + row.text, "gutter"),)
        return (Span(lead, "gutter"), *self._spans[file].row(number))

    def _side_lead(self, row: DiffRow, column: int) -> str:
        number = str((row.old, row.new)[column] or "").rjust(self._widths[column])
        return f"{number} {SIGN.get(row.kind, ' ')}"

    def _row(self, at: int) -> DiffRow:
        file, number = self.rows[at]
        return self.files[file].rows[number]

    def _lead(self, row: DiffRow) -> str:
        if row.kind == "gap":
            return f"{'⋯':>{sum(self._widths) + len(self._widths) - 1}} "
        pair = row.old, row.new
        columns = zip(self._sides, self._widths, strict=True)
        numbers = [str(pair[side] or "").rjust(width) for side, width in columns]
        return f"{' '.join(numbers)} {SIGN.get(row.kind, ' ')}"


def numbered_lines(patch: str) -> list[Line]:
    """Renders a patch with line numbers, and of its headers only what they tell.

    A file is named where there are several, or where it is renamed; else what is above the patch
    names it.
    """
    diff = NumberedDiff(patch)
    lines = [Line(line.style, line.text, diff.spans(at)) for at, line in enumerate(diff.lines())]
    found: list[Line] = []
    for number, file in enumerate(diff.files):
        named = len(diff.files) > 1 or file.name != file.path
        about = " · ".join(filter(None, [file.name, file.summary])) if named else file.news
        found += [Line("heading" if named else "dim", about)] if about else []
        found += [line for line, (at, _) in zip(lines, diff.rows, strict=True) if at == number]
    return found


def _ends(words: Sequence[str]) -> list[int]:
    found = [0]
    for word in words:
        found.append(found[-1] + len(word))
    return found


def _compared(
    rows: Sequence[DiffRow], removed: range, added: range
) -> Iterator[tuple[int, Ranges]]:
    """Compares the lines of a change, in order; if there are more on one side, only the first."""
    if not removed or not added or max(len(removed), len(added)) > MAX_PAIRS:
        return
    for left, right in zip(removed, added, strict=False):
        if rows[left].is_continued or rows[right].is_continued:
            return
        ranges = changed_ranges(rows[left].text, rows[right].text)
        yield left, ranges[0]
        yield right, ranges[1]


def _change(rows: Sequence[DiffRow], at: int) -> tuple[range, range]:
    """Returns the removed rows from a place on, and the added ones after them.

    The note that a file's last line has no line feed belongs to the line above it.
    """
    middle = _end_of(rows, at, "removed")
    return range(at, middle), range(middle, _end_of(rows, middle, "added"))


def _end_of(rows: Sequence[DiffRow], at: int, kind: RowKind) -> int:
    start = at
    while at < len(rows) and (rows[at].kind == kind or (at > start and rows[at].kind == "note")):
        at += 1
    return at


def _lines_in(text: str) -> int:
    """Returns how many lines a row stands for: mostly one, which is found out fast."""
    return source_line_count(text) if EMPTY_LINES_MARK[0] in text[:2] else 1


def _file(part: str, line: int) -> FileDiff:
    header, hunk, rest = part.partition("\n@@ ")
    if part.startswith("@@ "):
        header, hunk, rest = "", "@@ ", part[3:]
    names = header.split("\n") if header else []
    hunks = f"@@ {rest}".split("\n") if hunk else []
    rows = tuple(_rows(hunks, line + len(names)))
    about = [one for one in names if not one.startswith(_NAMES) or one.endswith(_SYMLINK)]
    return FileDiff(_path(names), tuple(about), rows, len(names))


def _path(names: Sequence[str]) -> str:
    """Returns the path after the change, or before it if there is none after."""
    for start in ("+++ ", "rename to ", "--- "):
        for name in names:
            path = name.removeprefix(start).removesuffix("\t")
            if path not in (name, "/dev/null"):
                quoted = path.startswith('"')
                path = path.strip('"') if quoted else path
                return path if start == "rename to " else path.partition("/")[2]
    title = names[0] if names else ""
    return title.rpartition(" b/")[2]


def _rows(hunks: Sequence[str], line: int) -> Iterator[DiffRow]:
    old = new = 1
    for text in hunks:
        count = _lines_in(text)
        line += 1
        if text.startswith("@@") and (header := _HUNK.match(text)):
            begin = int(header[3]) + (header[4] == "0")
            skipped = begin - new
            old, new = int(header[1]) + (header[2] == "0"), begin
            words = _gap(skipped) + text[header.end() :]
            yield DiffRow("gap", words, line, skipped=max(skipped, 0))
            continue
        kind = _SIGNS.get(text[:1], "context")
        in_old, in_new = kind in ("context", "removed"), kind in ("context", "added")
        first, *others = fold_long(text) if len(text) > LONG_LINE else (text,)
        shown = first if kind == "note" else first[1:]
        yield DiffRow(kind, shown, line, old * in_old, new * in_new)
        for other in others:
            yield DiffRow(kind, other, line, is_continued=True)
        line += count - 1
        old += count * in_old
        new += count * in_new


def _gap(skipped: int) -> str:
    """Says how many lines a diff does not show because they are unchanged; else nothing."""
    noun = "line" if skipped == 1 else "lines"
    return f"{skipped} unchanged {noun}" if skipped > 0 else ""


# Unchanged lines that a diff does not show, and that a reader asks for.


class Fold(msgspec.Struct, frozen=True):
    """Unchanged lines that are not shown at a row, by their numbers in both files."""

    at: int  # the row of the gap; after the last row: what follows the diff
    old: int
    new: int
    count: int  # 0: not known, as a diff does not say how long a file is


def folds(file: FileDiff) -> list[Fold]:
    """Returns what the diff of a file does not show: before, between and after its hunks."""
    found = []
    old = new = 1  # the next lines
    context = 0  # unchanged lines since the last change; fewer than usual are all that there are
    for at, row in enumerate(file.rows):
        if row.kind == "gap":
            if row.skipped:
                found.append(Fold(at, old, new, row.skipped))
            old, new = old + row.skipped, new + row.skipped
        elif row.is_code and not row.is_continued:
            count = _lines_in(row.text)
            old, new = old + count * (row.kind != "added"), new + count * (row.kind != "removed")
            context = context + count if row.kind == "context" else 0
        if row.kind in ("gap", "note"):
            context = 0
    if context >= CONTEXT and not file.is_whole:
        found.append(Fold(len(file.rows), old, new, 0))
    return found


def unfolded(file: FileDiff, content: str, shown: Sequence[range]) -> FileDiff:
    """Returns a diff with unchanged lines that it left out, by their numbers in the new file.

    `content` is the new file. The lines belong to no line of the patch: `line` is 0. With the
    whole content known, what follows the diff is a gap, too.
    """
    lines = content.removesuffix("\n").split("\n")
    rows: list[DiffRow] = []
    at = 0
    for fold in folds(file):
        rows += file.rows[at : fold.at]
        at = fold.at + 1
        count = fold.count or len(lines) - fold.new + 1
        gap = file.rows[fold.at] if fold.count else DiffRow("gap", "", 0)
        rows += _unfolded_rows(fold, count, gap, lines, shown)
    rows += file.rows[at:]
    return msgspec.structs.replace(file, rows=tuple(rows), is_whole=True)


def _unfolded_rows(
    fold: Fold, count: int, gap: DiffRow, lines: Sequence[str], shown: Sequence[range]
) -> Iterator[DiffRow]:
    """Yields the lines of a fold that are shown, and gaps where others are."""
    about = gap.text.removeprefix(_gap(gap.skipped))
    number, end = fold.new, fold.new + count
    while number < end:
        part = next((each for each in shown if number in each), None)
        stop = min([each.start for each in shown if each.start > number] + [end])
        if part is None:
            last = stop == end
            yield DiffRow("gap", _gap(stop - number) + about * last, 0, skipped=stop - number)
        else:
            stop = min(part.stop, end)
            text = "\n".join(f" {line}" for line in lines[number - 1 : stop - 1])
            start = number + fold.old - fold.new
            span = stop - number
            patch = f"@@ -{start},{span} +{number},{span} @@\n{text}"
            for row in diff_view(patch)[0].rows[1:]:
                yield msgspec.structs.replace(row, line=0)
        number = stop
