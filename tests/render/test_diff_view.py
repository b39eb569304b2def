"""A diff is shown in rows: every line of both sides, numbered, with what changed within it."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from assent.core.text.hidden_chars import source_line_count, source_lines, visible_diff
from assent.render.comments import commentable_part
from assent.render.diff import diff_lines, unified_diff
from assent.render.diff_view import (
    NONE,
    DiffRow,
    DiffSpans,
    FileDiff,
    NumberedDiff,
    changed_ranges,
    diff_view,
    paired_rows,
    unfolded,
)
from assent.render.lines import Span, spans_text

LINES = st.lists(
    st.sampled_from(
        ["a", "b", "def f(): return 1", "def f(): return 2", "", "\u200b", "-- a", "x" * 1100]
    ),
    max_size=40,
)  # fmt: skip
SIGNS = {"added": "+", "removed": "-", "context": " ", "note": ""}


def viewed(old: str, new: str, path: bytes = b"a.py") -> FileDiff:
    diff = unified_diff(old.encode(), new.encode(), path, path)
    assert diff
    [file] = diff_view(diff)
    return file


@given(LINES, LINES, st.booleans())
@example(["a"] * 30, ["b"] * 30, False)
@settings(deadline=None)
def test_rows_reproduce_the_patch_and_spans_the_rows(
    old: list[str], new: list[str], ends: bool
) -> None:
    before, after = ("\n".join([*lines, ""] if ends else lines) for lines in (old, new))
    diff = unified_diff(before.encode(), after.encode(), b"a.py", b"a.py") or ""
    shown = visible_diff(diff).removesuffix("\n").split("\n")
    files = diff_view(diff)
    lines: list[str] = []
    for row in files[0].rows if files else ():
        if row.is_continued:
            lines[-1] += row.text.removeprefix("↪ ")
        elif row.kind != "gap":
            lines.append(SIGNS[row.kind] + row.text)
    assert lines == [line for line in shown[2:] if not line.startswith("@@ ")]
    for file in files:
        spans = DiffSpans(file)
        assert [spans_text(spans.row(at)) for at in range(len(file.rows))] == [
            row.text for row in file.rows
        ]


@given(LINES, LINES)
@settings(deadline=None)
def test_numbers_are_those_of_the_files(old: list[str], new: list[str]) -> None:
    before, after = ("".join(f"{line}\n" for line in lines) for lines in (old, new))
    diff = unified_diff(before.encode(), after.encode(), b"a", b"a") or ""
    for file in diff_view(diff):
        for row in [row for row in file.rows if not row.is_continued]:
            for number, lines in ((row.old, old), (row.new, new)):
                if number:
                    first = source_lines(visible_diff(f"+{lines[number - 1]}"))[0][1:]
                    assert row.text.startswith(("␤", first[:199]))


@given(LINES, LINES)
@settings(deadline=None)
def test_a_row_knows_its_line_of_the_patch_as_comments_count_them(
    old: list[str], new: list[str]
) -> None:
    before, after = ("".join(f"{line}\n" for line in lines) for lines in (old, new))
    diff = unified_diff(before.encode(), after.encode(), b"a", b"a") or ""
    part = commentable_part(diff_lines(diff))
    for file in diff_view(diff):
        for row in file.rows:
            if row.is_code and not row.is_continued and "␤" not in row.text:
                assert part.lines[row.line - 1][1:].startswith(row.text[:199])


@given(LINES, LINES, st.lists(st.tuples(st.integers(1, 12), st.integers(1, 12)), max_size=3))
@settings(deadline=None)
def test_folded_lines_are_shown_in_their_places(
    old: list[str], new: list[str], wanted: list[tuple[int, int]]
) -> None:
    before, after = ("".join(f"{line}\n" for line in lines) for lines in (old, new))
    shown = [range(min(pair), max(pair) + 1) for pair in wanted]
    for file in diff_view(unified_diff(before.encode(), after.encode(), b"a", b"a") or ""):
        if not old or not new:
            continue
        some, all = unfolded(file, after, shown), unfolded(file, after, [range(1, len(new) + 1)])
        assert _code(some.rows) == _code(file.rows), "what the patch has stays as it is"
        assert not [row for row in all.rows if row.kind == "gap" and row.skipped]
        for opened in (some, all):
            assert [_counted(opened.rows, side) for side in (0, 1)] == [len(old), len(new)]
        seen = {row.new for row in some.rows if row.kind == "context" and not row.line}
        assert {n for n in seen if n} <= {n for part in shown for n in part}


@given(LINES, LINES)
@settings(deadline=None)
def test_side_by_side_every_row_is_on_its_side_once_and_in_order(
    old: list[str], new: list[str]
) -> None:
    before, after = ("".join(f"{line}\n" for line in lines) for lines in (old, new))
    for file in diff_view(unified_diff(before.encode(), after.encode(), b"a", b"a") or ""):
        pairs = paired_rows(file.rows)
        for side, other in ((0, "added"), (1, "removed")):
            shown = [pair[side] for pair in pairs if pair[side] != NONE]
            assert shown == sorted(shown)
            missing = set(range(len(file.rows))) - set(shown)
            assert all(file.rows[at].kind in (other, "note") for at in missing)


@given(st.text("ab c(", max_size=30), st.text("ab c(", max_size=30))
def test_what_did_not_change_within_a_line_is_the_same_on_both_sides(old: str, new: str) -> None:
    left, right = changed_ranges(old, new)
    if left or right:
        assert _without(old, left) == _without(new, right)


def _counted(rows: tuple[DiffRow, ...], side: int) -> int:
    """Counts the lines of a side; they are numbered without holes, but where a gap says so."""
    count = 0
    for row in rows:
        number = (row.old, row.new)[side]
        if row.kind == "gap":
            count += row.skipped
        elif number and not row.is_continued:
            assert number == count + 1
            count += source_line_count(row.text)
    return count


def _code(rows: tuple[DiffRow, ...]) -> list[DiffRow]:
    return [row for row in rows if row.line and row.kind != "gap"]


def _without(text: str, ranges: tuple[tuple[int, int], ...]) -> str:
    return "".join(char for at, char in enumerate(text) if not any(a <= at < b for a, b in ranges))


def test_a_changed_word_is_marked_in_its_line() -> None:
    file = viewed("x = one + 2\n", "x = two + 2\n")
    spans = DiffSpans(file)
    assert [span.text for span in spans.row(1) if span.changed] == ["one"]
    assert [span.text for span in spans.row(2) if span.changed] == ["two"]
    assert file.counts == (1, 1)


def test_lines_with_little_in_common_have_no_marks() -> None:
    assert changed_ranges("return one", "import everything else") == ((), ())


def test_code_is_highlighted_on_both_sides() -> None:
    spans = DiffSpans(viewed("x = 'a'\n", "x = 'b'\n"))
    assert spans.row(1)[-2:] == (Span("a", "string", True), Span("'", "string"))


def test_unchanged_lines_between_are_counted() -> None:
    old = [f"line {n}\n" for n in range(50)]
    new = [*old[:10], "new\n", *old[10:40], *old[41:]]
    rows = viewed("".join(old), "".join(new)).rows
    assert [row.text for row in rows if row.kind == "gap"] == [
        "7 unchanged lines",
        "24 unchanged lines",
    ]


@pytest.mark.parametrize(
    ("header", "path", "about"),
    [
        ("diff --git a/x.py b/x.py\n--- a/x.py\n+++ b/x.py", "x.py", ()),
        (
            "diff --git a/x b/x\nold mode 100644\nnew mode 100755",
            "x",
            ("old mode 100644", "new mode 100755"),
        ),
        (
            "diff --git a/x b/y\nsimilarity index 100%\nrename from x\nrename to y",
            "y",
            ("rename from x", "rename to y"),
        ),
        (
            "diff --git a/x b/x\ndeleted file mode 100644\n--- a/x\n+++ /dev/null",
            "x",
            ("deleted file mode 100644",),
        ),
    ],
)
def test_a_header_is_its_path_and_what_else_it_says(
    header: str, path: str, about: tuple[str, ...]
) -> None:
    [file] = diff_view(header)
    assert (file.path, file.about, file.rows) == (path, about, ())


def test_a_file_that_becomes_a_link_has_two_parts() -> None:
    diff = (
        "diff --git a/x b/x\ndeleted file mode 100644\n--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"
        "diff --git a/x b/x\nnew file mode 120000\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+b\n"
    )
    removed, made = diff_view(diff)
    assert [row.kind for row in removed.rows] == ["gap", "removed"]
    assert [row.line for row in made.rows] == [11, 12]


@given(LINES, LINES)
@settings(deadline=None)
def test_numbered_lines_are_made_up_by_their_spans(old: list[str], new: list[str]) -> None:
    before, after = ("".join(f"{line}\n" for line in lines) for lines in (old, new))
    diff = NumberedDiff(unified_diff(before.encode(), after.encode(), b"a.py", b"a.py") or "")
    lines = diff.lines()
    assert len(lines) == len(diff.numbers()) == len(diff.rows)
    assert [spans_text(diff.spans(at)) for at in range(len(lines))] == [one.text for one in lines]


def test_both_numbers_stand_before_a_line_with_its_sign() -> None:
    patch = unified_diff(b"a\nb\nc\n", b"a\nB\nc\n", b"x", b"x") or ""
    diff = NumberedDiff(patch)
    assert [line.text for line in diff.lines()] == ["1 1  a", "2   -b", "  2 +B", "3 3  c"]
    assert (diff.summaries, diff.numbers()) == (["+1 -1"], [4, 5, 6, 7])
    assert diff == NumberedDiff(patch) != NumberedDiff("")


def test_of_a_new_file_there_is_one_number() -> None:
    patch = "diff --git a/x b/x\nnew file mode 100755\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+a\n"
    diff = NumberedDiff(patch)
    assert [line.text for line in diff.lines()] == ["1 +a"]
    assert diff.summaries == ["+1 · new file, executable"]


def test_a_mode_that_changes_is_said() -> None:
    diff = NumberedDiff("diff --git a/x b/x\nold mode 100644\nnew mode 100755\n")
    assert (diff.lines(), diff.summaries) == ([], ["mode 644 → 755"])
