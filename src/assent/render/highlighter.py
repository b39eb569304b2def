"""Highlighter: the lines of a review with syntax colours in its diffs and in the plan's text.

The lines are the same as without it; only their parts get roles.
"""

from collections.abc import Iterator
from functools import partial
from typing import Final

from assent.render.diff import diff_lines, text_diff_lines
from assent.render.diff_view import DiffSpans, diff_view
from assent.render.lines import Line, Span, merged_spans
from assent.render.plan_source import plan_source_lines
from assent.render.syntax import HighlightTime

MOST_IN_ALL: Final = 2.0  # seconds of the processor for everything that one command shows


class Highlighter:
    """Renders what one command shows; once its time is spent, the rest has no syntax colours."""

    def __init__(self, time: HighlightTime | None = None) -> None:
        self._time = time or HighlightTime(MOST_IN_ALL)

    def text_lines(self, text: str) -> Iterator[Line]:
        """Renders a plan's text as `untrusted_lines` does, as styled source."""
        return plan_source_lines(text, self._time)

    def text_diff_lines(self, patch: str | None) -> list[Line]:
        """Renders the difference of two texts, or says why it is not shown."""
        return self.diff_lines(patch) if patch else [*text_diff_lines(patch)]

    def diff_lines(self, patch: str) -> list[Line]:
        """Renders a diff as `diff_lines` does, with spans on the lines of files."""
        lines = diff_lines(patch)
        at = 0
        for file in diff_view(patch) if self._time.is_left else ():
            while at < len(lines) and lines[at].style == "dim":
                at += 1  # the header; folded if a name is very long
            spans = DiffSpans(file, HighlightTime())
            for number, row in enumerate(file.rows):
                if not self._time.is_left:
                    return lines
                line = lines[at]
                if row.is_code and line.text and not row.is_continued:
                    parts = self._time.spend(partial(spans.row, number))
                    sign = line.text.removesuffix(row.text)
                    lines[at] = Line(line.style, line.text, merged_spans((Span(sign), *parts)))
                at += 1
        return lines
