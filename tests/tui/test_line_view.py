"""Paper: many lines, little drawn; the person's place, the end, the cursor, the search."""

from tests.tui.widget_app import Sight, shown
from textual.events import MouseScrollDown
from textual.widget import Widget

from assent.render.lines import Line
from assent.tui.line_view import LinePosition, LineView, Section


def sheet(key: str, *texts: str) -> Section:
    return Section(key, tuple([Line("plain", text) for text in texts]))


def numbered(count: int, width: int = 0) -> Section:
    return sheet("s", *[f"line {n}".ljust(width, ".") for n in range(count)])


def ends(sight: Sight) -> int:
    return len(sight.of(LineView.EndReached))


def wheel(widget: Widget) -> MouseScrollDown:
    return MouseScrollDown(widget, 1, 1, 0, 1, 0, False, False, False)


def test_only_what_is_in_sight_is_drawn() -> None:
    paper = LineView()

    async def act(sight: Sight) -> None:
        paper.show([numbered(100_000)])
        await sight.pilot.pause()
        assert sight.lines() == [f"line {n}" for n in range(10)]
        assert (paper.rows, paper.reached_end) == (100_000, False)

    shown(paper, act)


def test_a_sheet_whose_key_is_known_takes_its_place() -> None:
    paper = LineView()

    async def act(sight: Sight) -> None:
        paper.show([sheet("a", "one"), sheet("b", "two")])
        paper.put(sheet("a", "one", "more"), sheet("c", "three"))
        await sight.pilot.pause()
        assert sight.lines()[:5] == ["one", "more", "two", "three", ""]

    shown(paper, act)


def test_the_end_is_reached_when_the_last_row_is_on_the_screen_and_not_before() -> None:
    paper = LineView()

    async def act(sight: Sight) -> None:
        paper.focus()
        paper.show([numbered(12)])
        await sight.pilot.pause()
        assert (paper.reached_end, ends(sight)) == (False, 0)
        await sight.press("down")
        assert (paper.reached_end, ends(sight), sight.lines()[-1]) == (False, 0, "line 10")
        await sight.press("down")
        assert (paper.reached_end, ends(sight), sight.lines()[-1]) == (True, 1, "line 11")
        await sight.press("up", "down")
        assert ends(sight) == 1

    shown(paper, act)


def test_the_end_of_a_short_text_is_reached_at_once_and_of_none_never() -> None:
    paper = LineView()

    async def act(sight: Sight) -> None:
        paper.show([])
        await sight.pilot.pause()
        assert not paper.reached_end
        paper.show([numbered(10)])
        await sight.pilot.pause()
        assert (paper.reached_end, ends(sight)) == (True, 1)

    shown(paper, act)


def test_the_end_counts_with_the_rows_that_wrapping_makes() -> None:
    paper = LineView()

    async def act(sight: Sight) -> None:
        paper.show([numbered(10, width=60)])
        await sight.pilot.pause()
        assert (paper.rows, paper.reached_end) == (20, False)

    shown(paper, act)


def test_the_end_behind_something_else_is_not_reached() -> None:
    paper = LineView()

    async def act(sight: Sight) -> None:
        paper.display = False
        paper.show([numbered(3)])
        await sight.pilot.pause()
        assert not paper.reached_end
        paper.display = True
        await sight.pilot.pause()
        await sight.until(lambda: paper.reached_end)

    shown(paper, act)


def test_what_is_added_after_the_end_was_reached_has_to_be_seen_too() -> None:
    paper = LineView()

    async def act(sight: Sight) -> None:
        paper.show([numbered(10)])
        await sight.pilot.pause()
        paper.put(sheet("more", "after the end"))
        await sight.pilot.pause()
        assert not paper.reached_end
        paper.focus()
        await sight.press("end")
        assert (paper.reached_end, sight.lines()[-1]) == (True, "after the end")

    shown(paper, act)


def test_another_width_keeps_the_line_at_the_top_and_the_cursor() -> None:
    paper = LineView(pointing=True)

    async def act(sight: Sight) -> None:
        paper.show([numbered(200, width=70)])
        await sight.pilot.pause()
        paper.reveal(LinePosition("s", 100))
        paper.point(paper.row_of(LinePosition("s", 102)))
        for width in (25, 80, 60, 13, 40):
            await sight.resize(width, 10)
            assert paper.at(paper.scroll_offset.y) == LinePosition("s", 100)
            assert paper.position == LinePosition("s", 102)

    shown(paper, act)


def test_whoever_is_at_the_end_stays_there_whatever_comes_or_shrinks() -> None:
    paper = LineView(following=True)

    async def act(sight: Sight) -> None:
        paper.show([numbered(50)])
        await sight.pilot.pause()
        assert sight.lines()[-1] == "line 49"
        paper.put(sheet("b", *["more"] * 20, "newest"))
        await sight.pilot.pause()
        assert sight.lines()[-1] == "newest"
        for size in ((40, 5), (20, 12), (40, 30)):
            await sight.resize(*size)
            assert sight.lines()[-1] == "newest"

    shown(paper, act)


def test_whoever_went_back_is_left_there() -> None:
    paper = LineView(following=True)

    async def act(sight: Sight) -> None:
        paper.focus()
        paper.show([numbered(50)])
        await sight.pilot.pause()
        await sight.press("pageup", "pageup")
        top = sight.lines()[0]
        paper.put(sheet("b", "newest"))
        await sight.pilot.pause()
        assert sight.lines()[0] == top
        await sight.press("end")
        assert sight.lines()[-1] == "newest"
        paper.put(sheet("c", "still newer"))
        await sight.pilot.pause()
        assert sight.lines()[-1] == "still newer"

    shown(paper, act)


def test_shorter_content_leaves_nobody_in_the_void() -> None:
    paper = LineView(pointing=True)

    async def act(sight: Sight) -> None:
        paper.show([numbered(100)])
        await sight.pilot.pause()
        paper.point(99)
        await sight.pilot.pause()
        paper.renew([numbered(3)])
        await sight.pilot.pause()
        assert (paper.cursor, paper.position) == (2, LinePosition("s", 2))
        assert [line.strip("▸ ") for line in sight.lines()[:3]] == ["line 0", "line 1", "line 2"]

    shown(paper, act)


def test_keys_move_the_cursor_and_the_sight_with_it() -> None:
    paper = LineView(pointing=True)
    walk = {
        "down": 1, "j": 2, "up": 1, "k": 0, "pagedown": 9, "G": 99, "pageup": 90, "g": 0,
        "end": 99, "home": 0,
    }  # fmt: skip

    async def act(sight: Sight) -> None:
        paper.focus()
        paper.show([numbered(100)])
        await sight.pilot.pause()
        for key, row in walk.items():
            await sight.press(key)
            assert paper.cursor == row, key
            assert f"▸ line {row}" in sight.lines(), key

    shown(paper, act)


def test_the_wheel_scrolls_and_the_cursor_goes_on_from_what_is_in_sight() -> None:
    paper = LineView(pointing=True)

    async def act(sight: Sight) -> None:
        paper.focus()
        paper.show([numbered(100)])
        await sight.pilot.pause()
        for _ in range(8):
            paper.post_message(wheel(paper))
            await sight.pilot.pause()
        top = paper.scroll_offset.y
        assert top > 0
        await sight.press("down")
        assert paper.cursor == top + 1

    shown(paper, act)


def test_a_click_points() -> None:
    paper = LineView(pointing=True)

    async def act(sight: Sight) -> None:
        paper.show([numbered(100)])
        await sight.pilot.pause()
        await sight.pilot.click(paper, offset=(5, 4))
        assert paper.position == LinePosition("s", 4)

    shown(paper, act)


def test_marks_stand_before_the_first_piece_of_their_lines() -> None:
    paper = LineView(gutter=True)

    async def act(sight: Sight) -> None:
        paper.show([sheet("a", "one", "two " * 12, "three")])
        paper.mark({LinePosition("a", 1): "*", LinePosition("b", 0): "!"})
        await sight.pilot.pause()
        assert [line[:6] for line in sight.lines()[:4]] == ["  one", " *two ", "    tw", "  thre"]

    shown(paper, act)


def test_a_search_goes_from_hit_to_hit_and_esc_ends_it() -> None:
    paper = LineView()

    async def act(sight: Sight) -> None:
        paper.focus()
        paper.show(
            [sheet("a", *[f"{'Needle' if n % 40 == 30 else 'hay'} {n}" for n in range(120)])]
        )
        await sight.pilot.pause()
        await sight.press("slash", *"needle")
        assert "Needle 30" in sight.text()
        assert sight.lines()[-1].startswith("/needle   1 of 3")
        await sight.press("enter", "n")
        assert "Needle 70" in sight.text()
        await sight.press("N", "N")
        assert "Needle 110" in sight.text()
        await sight.press("escape")
        assert "/needle" not in sight.text()

    shown(paper, act)


def test_keys_of_a_query_mean_nothing_else() -> None:
    paper = LineView(pointing=True)

    async def act(sight: Sight) -> None:
        paper.focus()
        paper.show([numbered(100)])
        await sight.pilot.pause()
        await sight.press("slash", *"Ggjk", "backspace", "backspace", "backspace", "backspace")
        assert paper.cursor == 0
        await sight.press("slash", "x", "enter")
        assert sight.lines()[-1].endswith("line 9")  # it is nowhere, so the search is over

    shown(paper, act)


def test_the_last_row_can_be_seen_beside_a_search() -> None:
    paper = LineView()

    async def act(sight: Sight) -> None:
        paper.focus()
        paper.show([numbered(30)])
        await sight.pilot.pause()
        await sight.press("slash", *"line 29", "enter")
        assert sight.lines()[-2] == "line 29"
        assert paper.reached_end

    shown(paper, act)


def test_what_opens_has_its_lines_although_its_size_was_read_before_it_was_laid_out() -> None:
    """The layout then finds nothing changed, and no news of a size comes, although it has one."""
    paper = LineView()
    paper.display = False

    async def act(sight: Sight) -> None:
        paper.show([numbered(3)])
        await sight.pause()
        paper.display = True
        sight.screen._compositor.update_widgets({paper})  # as a redraw does that comes first
        assert paper.size.width
        await sight.pause()
        assert (sight.lines()[:3], paper.rows) == (["line 0", "line 1", "line 2"], 3)
        assert paper.reached_end

    shown(paper, act)
