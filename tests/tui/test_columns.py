"""Diffs side by side: each line in its column, nothing omitted, and the choice is remembered."""

from hypothesis import example, given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from tests.tui.harness import Seat, Stage
from tests.tui.panel_actions import Reader
from tests.tui.widget_app import Sight, shown

from assent.config.screen_choices import read_choices
from assent.core.plan.comment import Comment, CommentAnchor, PlacedComment
from assent.core.text.hidden_chars import CONTINUATION_MARK
from assent.render.comments import with_comments
from assent.render.diff import unified_diff
from assent.render.diff_view import NONE, NumberedDiff
from assent.render.lines import BLANK, Line, spans_text
from assent.tui.line_view import LinePosition, LineView, Section
from assent.tui.panels.decision import TOO_NARROW
from assent.tui.sections import SEPARATOR, SectionList

TITLE = Line("heading", "2. write a.py")
LINES = st.lists(
    st.sampled_from(
        ["a", "b = 1", "b = 2", "", "\u200b", "日本語 " * 9, "x" * 1100, "\tif a:  # why", "-- a"]
    ),
    max_size=30,
)  # fmt: skip
WIDE = (150, 40)


def comment(line: int) -> PlacedComment:
    anchor = CommentAnchor("1", line, line, (), "write a.py", 1)
    said = Comment("c1", anchor, f"Why line {line}?", "", "ann", "")
    return PlacedComment(said, anchor, "here")


def section(diff: NumberedDiff, *comments: PlacedComment) -> Section:
    rows, numbers = diff.lines(), diff.numbers()
    place_of = {id(line): at for at, line in enumerate(rows)}
    body = [*with_comments(rows, comments, "1", numbers)]
    places = [place_of.get(id(line), NONE) for line in body]
    counted: list[int] = []
    for place in places:
        counted.append(numbers[place] if place >= 0 else counted[-1])
    return Section(
        "s",
        (TITLE, *body, BLANK),
        (0, *counted, 0),
        diff,
        (NONE, *places, NONE),
        diff,
    )


def paged(sheet: Section, width: int) -> SectionList:
    found = SectionList()
    found.fit(width, columns=True)
    found.show([sheet])
    return found


def placed(rows: SectionList, row: int) -> LinePosition | None:
    piece = rows.piece(row)
    return piece.spot if piece else None


def joined(pieces: list[str]) -> str:
    first, *others = pieces
    return first + "".join([one.removeprefix(CONTINUATION_MARK) for one in others])


def compared(text: str) -> str:
    """Returns a line as it is compared: where wide letters are cut, a column may stay empty."""
    return text.rstrip() if text.isascii() else text.replace(" ", "")


def patch(old: list[str], new: list[str]) -> NumberedDiff:
    before, after = ("".join(f"{line}\n" for line in lines) for lines in (old, new))
    return NumberedDiff(unified_diff(before.encode(), after.encode(), b"a.py", b"a.py") or "")


@given(LINES, LINES, st.integers(40, 160))
@example(["a"] * 4, ["b"], 40)
@settings(deadline=None, max_examples=60)
def test_every_character_of_a_diff_is_in_its_column(
    old: list[str], new: list[str], width: int
) -> None:
    diff = patch(old, new)
    sheet = section(diff)
    rows = paged(sheet, width)
    wanted: tuple[list[str], list[str]] = ([], [])
    for left, right in diff.pairs():
        for column, at in enumerate((left, right)):
            side = diff.side(at, column) if at >= 0 else None
            if side is not None:
                wanted[column].append(side.text.expandtabs(4))
    found: tuple[list[list[str]], list[list[str]]] = ([], [])
    whole = []
    for row in range(rows.rows):
        piece, parts = rows.piece(row), rows.parts(row)
        assert piece is not None
        assert cell_len("".join([part.text for part in parts])) <= width
        assert [spans_text(part.spans) or part.text for part in parts] == [p.text for p in parts]
        if len(parts) == 1:
            whole.append(parts[0].text)
            continue
        left_side, between, right_side = (part.text for part in parts)
        assert between == SEPARATOR
        for column, text in enumerate((left_side, right_side)):
            if piece.first:
                found[column].append([])
            if text.strip() or not found[column][-1]:
                found[column][-1].append(text)
    for column in (0, 1):
        said = [one for one in map(joined, found[column]) if one.strip()]
        assert [*map(compared, said)] == [*map(compared, wanted[column])]
    if diff.pairs():
        gaps = [line.text for line in diff.lines() if line.style == "hunk"]
        assert whole == [TITLE.text, *gaps, ""]
    else:  # it has lines of one file only
        assert whole[0] == TITLE.text


@given(LINES, LINES)
@settings(deadline=None, max_examples=40)
def test_every_line_has_a_row_and_is_shown_once(old: list[str], new: list[str]) -> None:
    diff = patch(old, new)
    numbers = diff.numbers()
    comments = [comment(number) for number in sorted(set(numbers))[::3]]
    sheet = section(diff, *comments)
    rows = paged(sheet, 100)
    seen = [rows.parts(row) for row in range(rows.rows)]
    for at, line in enumerate(sheet.lines):
        row = rows.row_of(LinePosition("s", at))
        if line.style != "said":
            assert line.text == "" or "".join([part.text for part in seen[row]]).strip()
            continue
        assert seen[row] == (line,)
        while seen[row][0].style == "said":
            row -= 1
        spots = rows.first_line(row), placed(rows, row)
        assert sheet.numbers[at] in [sheet.numbers[spot.line] for spot in spots if spot]
    told = [parts[0].text for parts in seen if parts[0].style == "said"]
    assert sorted(told) == sorted(line.text for line in sheet.lines if line.style == "said")


def test_what_changed_within_a_line_is_marked_on_both_sides() -> None:
    rows = paged(section(patch(["total = 1 + rest"], ["total = 2 + rest"])), 100)
    left, _, right = rows.parts(1)
    for side, text in ((left, "1"), (right, "2")):
        assert [span.text for span in side.spans if span.changed] == [text]
    assert (left.style, right.style) == ("removed", "added")


def test_the_place_stays_where_the_layout_changes() -> None:
    old = [f"line {n}" for n in range(60)]
    new = [f"{line} changed" for line in old]
    paper = LineView(pointing=True)

    async def act(sight: Sight) -> None:
        paper.focus()
        paper.show([section(patch(old, new))])
        await sight.pause()
        paper.reveal(LinePosition("s", 90))
        paper.lay_out(columns=True)
        await sight.pause()
        assert paper.rows == 62  # title, 60 changes side by side, and what ends the section
        assert paper.position == LinePosition("s", 90)
        assert "line 29 changed" in sight.lines()[0]
        assert sight.lines()[0].count("line 29") == 2
        paper.lay_out(columns=False)
        await sight.pause()
        assert (paper.rows, paper.position) == (122, LinePosition("s", 90))

    shown(paper, act, (100, 10))


def test_g30_a_wide_review_is_side_by_side_until_it_is_switched_and_that_is_remembered(
    stage: Stage,
) -> None:
    stage.put("a.py", b"a = 1\nb = 2\n")
    stage.plan("work", "Do the work")
    stage.write("a.py", b"a = 3\nb = 2\n")
    stage.ok("propose")

    def beside(seat: Seat) -> bool:
        return any("a = 1" in line and "a = 3" in line for line in seat.text().split("\n"))

    async def switches(seat: Seat) -> None:
        reader = Reader(seat)
        await reader.open()
        await seat.until(lambda: beside(seat))
        await reader.press("d")
        await seat.until(lambda: not beside(seat))
        await seat.rest()
        await seat.resize(WIDE[0] - 20, WIDE[1])
        await reader.press("d")
        await seat.shows(TOO_NARROW)
        assert not seat.app.choices.side_by_side

    async def again(seat: Seat) -> None:
        reader = Reader(seat)
        await reader.open()
        assert not beside(seat)
        await reader.press("d")
        await seat.until(lambda: beside(seat))
        await seat.resize(WIDE[0] - 20, WIDE[1])
        await seat.until(lambda: not beside(seat))
        await seat.resize(*WIDE)
        await seat.until(lambda: beside(seat))
        await seat.rest()

    stage.show(switches, size=WIDE)
    with stage.here():
        assert read_choices().side_by_side is False
    stage.show(again, size=WIDE)
    with stage.here():
        assert read_choices().side_by_side is True
