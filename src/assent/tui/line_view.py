"""LineView: a scrolling, searchable widget for any number of lines.

Only visible lines are drawn.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import ceil
from typing import ClassVar, Final

from rich.segment import Segment
from rich.style import Style as Look
from textual.actions import SkipAction
from textual.binding import Binding, BindingType
from textual.events import Click, Key, Resize
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.scrollbar import ScrollBar
from textual.strip import Strip

from assent.render.lines import Line
from assent.tui.min_size import TooSmallOverlay, is_too_small
from assent.tui.sections import NO_ROW, LinePosition, LineSearch, Section, SectionList, SectionRow
from assent.tui.theme import (
    CURSOR,
    FOUND,
    MARK,
    chosen_theme,
    ground_in_theme,
    span_in_theme,
    style_in_theme,
)

# Redraws only the part of a scroll bar where its thumb moved.


EIGHTHS: Final = 8  # of a row, in which a bar is drawn


class ScrollThumb:
    """Remembers where the thumb was drawn; drawing a whole bar costs as much as a page of text."""

    def __init__(self) -> None:
        self._edges: tuple[int, int] | None = None
        self._size = (0, 0)  # of the bar, and of what it is for

    def forget(self) -> None:
        """Draws the whole bar with the next move."""
        self._edges = None

    def move(self, bar: ScrollBar, rows: int, top: float) -> None:
        """Sets how many rows a bar has, and which is the first visible one."""
        bar.set_reactive(ScrollBar.window_virtual_size, rows)
        bar.set_reactive(ScrollBar.position, top)
        before, size = self._edges, (bar.size.height, bar.window_size)
        self._edges = _edges(*size, rows, top)
        if before is None or size != self._size:
            self._size = size
            bar.refresh()
        elif before != self._edges:
            bar.refresh(*_moved(before, self._edges))


def _edges(height: int, seen: int, rows: int, top: float) -> tuple[int, int]:
    """Returns where the thumb begins and ends, in eighths of a row, as Textual draws it."""
    if rows <= seen:
        return 0, height * EIGHTHS
    size = max(1, seen * height / rows)
    start = int((height - size) * top / (rows - seen) * EIGHTHS)
    return start, start + ceil(size * EIGHTHS)


def _moved(before: tuple[int, int], after: tuple[int, int]) -> Iterator[Region]:
    """Yields the rows between the old and the new position of each edge."""
    for old, new in zip(before, after, strict=True):
        if old != new:
            first, last = sorted((old // EIGHTHS, new // EIGHTHS))
            yield Region(0, first, 1, last - first + 1)


# LineView: a scrolling widget for any number of lines; only visible ones are drawn.
#
# - LineView() scrolls; `/` searches, n and N go to the next match
# - LineView(pointing=True) has a cursor, moved by keys and clicks: `position`, `point`, `reveal`
# - LineView(following=True) stays at its end while the user is there
# - LineView(gutter=True) leaves room for `mark({LinePosition: sign})` before the lines
# - view.show(sections) shows these sections and no others, from the beginning
# - view.renew(sections) does the same, but keeps the scroll position
# - view.put(*sections) adds sections, or replaces those whose keys are known
# - view.reached_end: the last row was visible once; announced by `LineView.EndReached`


__all__ = ["NO_ROW", "LinePosition", "LineView", "Section"]

GUTTER: Final = 2  # columns: the cursor's sign, and a mark's
POINTER: Final = "▸"


class LineView(ScrollView, can_focus=True):
    """A scrolling list of sections; with `following` it stays at its end.

    With `pointing` it has a cursor, which the user moves line by line.
    """

    DEFAULT_CSS = """
    LineView {
        overflow-x: hidden; overflow-y: auto; scrollbar-gutter: stable;
        scrollbar-size: 0 1;
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("k", "scroll_up", "Up", show=False),
        Binding("j", "scroll_down", "Down", show=False),
        Binding("g", "scroll_home", "Beginning", show=False),
        Binding("G", "scroll_end", "End", show=False),
        Binding("slash", "find", "Search", show=False),
        Binding("n", "find_on(1)", "Next", show=False),
        Binding("N", "find_on(-1)", "Previous", show=False),
        Binding("escape", "find_end", "End the search", show=False),
    ]

    class EndReached(Message):
        """The last line became visible."""

        def __init__(self, paper: "LineView") -> None:
            super().__init__()
            self.paper = paper

        @property
        def control(self) -> "LineView":
            return self.paper

    class Resized(Message):
        """Another number of rows fits now."""

    class Wrapped(Message):
        """The lines were wrapped to another width, which changes how many rows they take."""

    def __init__(
        self,
        *,
        pointing: bool = False,
        following: bool = False,
        gutter: bool = False,
        id: str | None = None,
    ) -> None:
        super().__init__(id=id)
        self._paged = SectionList()
        self._pointing = pointing
        self._following = following
        self._gutter = GUTTER if pointing or gutter else 0
        self._stuck = following  # the user is at the end, and stays there
        self._marks: Mapping[LinePosition, str] = {}
        self._finding = LineSearch()
        self._base = Look()
        self._theme = "dark"
        self._thumb = ScrollThumb()
        self.cursor = 0 if pointing else NO_ROW
        self.calm = False  # without the keys, only a sign tells where the cursor is
        self.reached_end = False
        self.theme_name = ""  # empty: the app's

    @property
    def sections(self) -> Sequence[Section]:
        return self._paged.all

    @property
    def rows(self) -> int:
        """How many rows there are at this width; none before the layout."""
        return self._paged.rows

    @property
    def position(self) -> LinePosition | None:
        """The line that the cursor is on."""
        return self.at(self.cursor) if self._pointing else None

    @property
    def searching(self) -> bool:
        """Whether keys are the letters of a search."""
        return self._finding.typing

    @property
    def searched(self) -> LinePosition | None:
        """The match of the search that is gone to; None without one."""
        return self._finding.position

    @property
    def height(self) -> int:
        """How many rows are visible at a time."""
        return max(self.scrollable_content_region.height - self._finding.is_open, 1)

    @property
    def is_at_end(self) -> bool:
        """Whether the user is at the end, and stays there."""
        return self._stuck

    def show(self, sheets: Iterable[Section]) -> None:
        """Shows only these sections, from the beginning."""
        self._paged.show(sheets)
        self.reached_end = False
        self.cursor = min(self.cursor, 0)
        self._stuck = self._following
        if not self._stuck:  # at once: the end of what was shown must not pass for the new one
            self._scroll(0)
        self._changed()

    def renew(self, sheets: Iterable[Section]) -> None:
        """Shows only these sections; the reading position stays at the same line."""
        top, cursor = self.at(self.scroll_offset.y), self.position
        changed = self._paged.show(sheets)
        self.reached_end = self.reached_end and not changed
        if self._finding.query:
            self._finding.keep(list(self._paged.matching(self._finding.query)))
        self._changed()
        self._hold(top, cursor)

    def put(self, *sheets: Section) -> None:
        """Adds sections at the end; one with a known key replaces the earlier one."""
        changed = self._paged.put(sheets)
        self.reached_end = self.reached_end and not changed
        if self._finding.query and changed:
            self._search_in(sheets)
        self._changed(self._paged.kept if self._following else 0)

    def mark(self, marks: Mapping[LinePosition, str]) -> None:
        """Shows a sign before each of these lines only."""
        self._marks = dict(marks)
        self.refresh()

    def at(self, row: int) -> LinePosition | None:
        """Returns which line of which section a row shows."""
        piece = self._paged.piece(row)
        return piece.spot if piece else None

    def first_line(self, row: int) -> LinePosition | None:
        """Returns the first line that a row shows, which may show two side by side."""
        return self._paged.first_line(row)

    def row_of(self, spot: LinePosition) -> int:
        """Returns the first row that shows a line; 0 if there is none."""
        return max(self._paged.row_of(spot), 0)

    def reveal(self, spot: LinePosition) -> None:
        """Scrolls a line to the top, with the cursor on it."""
        row = self.row_of(spot)
        if self._pointing:
            self.point(row)
        self._scroll(row)

    def lay_out(self, *, columns: bool) -> None:
        """Shows what can be side by side in two columns, or in one; the position stays."""
        if columns != self._paged.columns:
            top, cursor = self.at(self.scroll_offset.y), self.position
            self._paged.fit(self._paged.width, columns=columns)
            self._changed()
            self._hold(top, cursor)

    def bring(self, spot: LinePosition) -> None:
        """Scrolls just far enough to make a line visible."""
        self._bring(self.row_of(spot))

    def point(self, row: int) -> None:
        """Moves the cursor to a row, and makes it visible."""
        self.cursor = max(0, min(row, self.rows - 1))
        self._bring(self.cursor)
        self.refresh()

    def recolor(self, theme: str) -> None:
        """Redraws everything in a theme; an empty name is the app's theme."""
        self.theme_name = theme
        self.refresh()

    def on_mount(self) -> None:
        self.app.theme_changed_signal.subscribe(self, lambda _: self.refresh())
        layouts = self.screen.screen_layout_refresh_signal
        layouts.subscribe(self, self._laid_out, immediate=True)

    def _laid_out(self, _: object) -> None:
        """Has the lines wrapped where no Resize tells of a new width.

        None comes if a size was read between a change of what is shown and its layout.
        """
        if self._text_width() and not self._fits():
            self.call_next(self._wrap)

    def on_resize(self, event: Resize) -> None:
        self._thumb.forget()
        if not self._fits():
            self._wrap()
        elif self._stuck:
            self._scroll(self.max_scroll_y)
        self.post_message(self.Resized())

    def _fits(self) -> bool:
        return self._text_width() == self._paged.width

    def _text_width(self) -> int:
        return max(self.scrollable_content_region.width - self._gutter, 0)

    def _wrap(self) -> None:
        """Wraps the lines to the width that there is; the position stays."""
        if not self._fits():
            top, cursor = self.at(self.scroll_offset.y), self.position
            self._paged.fit(self._text_width(), columns=self._paged.columns)
            self._changed()
            self._hold(top, cursor)
            self.post_message(self.Wrapped())

    def on_focus(self) -> None:
        self.refresh()

    def on_blur(self) -> None:
        self.refresh()

    def on_click(self, event: Click) -> None:
        row = self.scroll_offset.y + event.y
        if self._pointing and row < self.rows:
            self.point(row)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        self._move_bar()
        if round(old_value) != round(new_value):
            self.refresh(self.size.region)
        self._stuck = self._following and new_value >= self.max_scroll_y

    async def on_key(self, event: Key) -> None:
        if not self._finding.typing:
            return  # to the next of those who get it, up the classes
        event.stop()
        event.prevent_default()
        if self._finding.take(event):
            hits = list(self._paged.matching(self._finding.query)) if self._finding.query else []
            self._finding.found(hits, self._first_hit(hits))
            self._go()
        self._measure()

    def action_find(self) -> None:
        self._finding.begin()
        self._measure()

    def action_find_on(self, by: int) -> None:
        if not self._finding.query:
            raise SkipAction
        self._finding.step(by)
        self._go()

    def action_find_end(self) -> None:
        if not self._finding.is_open:
            raise SkipAction
        self._finding.end()
        self._measure()

    def action_scroll_up(self) -> None:
        self._step(-1)

    def action_scroll_down(self) -> None:
        self._step(1)

    def action_page_up(self) -> None:
        self._step(1 - self.height)

    def action_page_down(self) -> None:
        self._step(self.height - 1)

    def action_scroll_home(self) -> None:
        self._step(-self.rows)

    def action_scroll_end(self) -> None:
        self._step(self.rows)

    def render_lines(self, crop: Region) -> list[Strip]:
        self._base = self.rich_style
        self._theme = self.theme_name or chosen_theme(self.app.theme)
        return super().render_lines(crop)

    def render_line(self, y: int) -> Strip:
        width = self.scrollable_content_region.width
        if self._finding.is_open and y == self.scrollable_content_region.height - 1:
            words = Strip([Segment(self._finding.status_text, self._base + CURSOR)])
            return words.adjust_cell_length(width, self._base + CURSOR)
        row = y + self.scroll_offset.y
        piece = self._paged.piece(row)
        if piece is None:
            return Strip.blank(width, self._base)
        if row == self.rows - 1:
            self._end_drawn(width)
        return self._drawn(row, piece, width)

    def _drawn(self, row: int, piece: SectionRow, width: int) -> Strip:
        segments: list[Segment] = []
        style = self._base
        for line in self._paged.parts(row):
            drawn, style = self._segments(line)
            segments += drawn
        if self._gutter:
            pointed = POINTER if row == self.cursor else " "
            sign = self._marks.get(piece.spot, " ") if piece.first else " "
            segments.insert(0, Segment(pointed + sign, self._base + MARK))
        if row == self.cursor and (self.has_focus or not self.calm):
            segments = [*Segment.apply_style(segments, post_style=CURSOR)]
            style += CURSOR
        return Strip(segments).adjust_cell_length(width, style)

    def _segments(self, line: Line) -> tuple[list[Segment], Look]:
        """Returns a line, or a side of a row, as it is drawn, and what it ends in."""
        if line.spans:
            style = self._base + ground_in_theme(self._theme, line.style)
            segments = [
                Segment(span.text, style + span_in_theme(self._theme, line.style, span))
                for span in line.spans
            ]
        else:
            style = self._base + style_in_theme(self._theme, line.style)
            segments = [Segment(line.text, style)]
        if self._finding.query and (found := self._finding.spans(line.text)):
            segments = _lit(line.text, found, style)
        return segments, style

    def _end_drawn(self, width: int) -> None:
        """Records that the last row is on the screen, at the current width."""
        fits = width - self._gutter == self._paged.width
        if fits and not self.reached_end and not self._following and self._is_seen():
            self.reached_end = True
            self.post_message(self.EndReached(self))

    def _is_seen(self) -> bool:
        """Tells whether nothing covers it: no other screen, and no overlay."""
        screen = self.screen
        covers = any(
            small.display or is_too_small(screen.size) for small in screen.query(TooSmallOverlay)
        )
        return screen.is_active and not covers

    def _measure(self, kept: int = 0) -> None:
        """Sets the scrollable size: all rows, and the one that a search takes.

        The first `kept` rows may stay as they are drawn.
        """
        rows = self.rows + self._finding.is_open
        size = Size(self.scrollable_content_region.width, rows)
        if self._is_laid_out(size):  # laying out everything again takes long
            self.set_reactive(LineView.virtual_size, size)
            self._move_bar()
            self.scroll_y = min(self.scroll_y, self.max_scroll_y)
        else:
            self._thumb.forget()
            self.virtual_size = size
            self.call_after_refresh(self._move_bar)  # it may be there only then
        self._refresh_from(kept)

    def _is_laid_out(self, size: Size) -> bool:
        """Tells whether the layout stays the same with this scrollable size."""
        seen = self.container_size.height
        alike = size.width == self.virtual_size.width and not self.styles.auto_dimensions
        return alike and seen > 0 and (size.height > seen) == self.show_vertical_scrollbar

    def _move_bar(self) -> None:
        if self.show_vertical_scrollbar:
            self._thumb.move(self.vertical_scrollbar, self.virtual_size.height, self.scroll_y)

    def _refresh_from(self, row: int) -> None:
        """Redraws rows, from one that may be out of sight."""
        if not row:
            self.refresh()
        elif (left := self.size.height + self.scroll_offset.y - row) > 0:
            left = min(left, self.size.height)
            self.refresh(Region(0, self.size.height - left, self.size.width, left))

    def _changed(self, kept: int = 0) -> None:
        self._measure(kept)
        self.cursor = min(self.cursor, max(self.rows - 1, 0))
        if self._stuck:
            self._scroll(self.max_scroll_y)

    def _hold(self, top: LinePosition | None, cursor: LinePosition | None) -> None:
        """Scrolls back to the lines where the user was."""
        if self._pointing and cursor is not None:
            self.cursor = max(self._paged.row_of(cursor), 0)
        if top is not None and not self._stuck and (row := self._paged.row_of(top)) >= 0:
            self._scroll(row)

    def _step(self, by: int) -> None:
        if not self._pointing:
            self._scroll(self.scroll_offset.y + by)
            return
        top = self.scroll_offset.y  # the wheel may have scrolled away from the cursor
        self.point(max(top, min(self.cursor, top + self.height - 1)) + by)

    def _scroll(self, row: float) -> None:
        """Scrolls at once, although Textual may not know the new size yet."""
        self.scroll_to(y=max(0, min(row, self.max_scroll_y)), animate=False, force=True)

    def _bring(self, row: int) -> None:
        top, height = self.scroll_offset.y, self.height
        if row < top:
            self._scroll(row)
        elif row >= top + height:
            self._scroll(row - height + 1)

    def _first_hit(self, hits: Sequence[LinePosition]) -> int:
        """Returns the first search hit from the current position; at the end, the last one."""
        here = self.cursor if self._pointing else self.scroll_offset.y
        other = max(len(hits) - 1, 0) if self._following else 0
        return next((at for at, hit in enumerate(hits) if self.row_of(hit) >= here), other)

    def _search_in(self, sheets: Sequence[Section]) -> None:
        """Searches sections that were added or replaced, and keeps all other matches."""
        keys = {sheet.key for sheet in sheets}
        hits = [hit for hit in self._finding.hits if hit.key not in keys]
        hits += self._paged.matching(self._finding.query, sheets)
        self._finding.keep(sorted(hits, key=self._paged.order))

    def _go(self) -> None:
        spot = self._finding.position
        if spot is None:
            return
        if self._pointing:
            self.point(self.row_of(spot))
        else:
            self._bring(self.row_of(spot))
        self.refresh()


def _lit(text: str, spans: Sequence[tuple[int, int]], style: Look) -> list[Segment]:
    """Returns a text as segments, with the spans highlighted."""
    found, at = [], 0
    for start, end in spans:
        found += [Segment(text[at:start], style), Segment(text[start:end], style + FOUND)]
        at = end
    return [*found, Segment(text[at:], style)]
