"""Redraws only the part of a scroll bar where its thumb moved."""

from collections.abc import Iterator
from math import ceil
from typing import Final

from textual.geometry import Region
from textual.scrollbar import ScrollBar

EIGHTHS: Final = 8  # of a row, in which a bar is drawn


class ScrollThumb:
    """Remembers where the thumb was drawn. Drawing a whole bar costs as much as a page of text."""

    def __init__(self) -> None:
        self._edges: tuple[int, int] | None = None
        self._size = (0, 0)  # of the bar, and of what it is for

    def forget(self) -> None:
        """Has all of the bar drawn with the next move."""
        self._edges = None

    def move(self, bar: ScrollBar, rows: int, top: float) -> None:
        """Tells a bar how many rows there are, and which is the first in sight."""
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
    """Returns the rows between where each edge was and where it is."""
    for old, new in zip(before, after, strict=True):
        if old != new:
            first, last = sorted((old // EIGHTHS, new // EIGHTHS))
            yield Region(0, first, 1, last - first + 1)
