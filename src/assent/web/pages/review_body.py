"""The body of a review page: its operations, with comments, and the unchanged lines one opened."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode

import msgspec
from markupsafe import Markup

from assent.core.plan.operation import WriteFile
from assent.render.review import OperationReview, Review
from assent.web.pages.diff_html import LinkTo, OpenFold
from assent.web.pages.plans import small_number
from assent.web.pages.review_view import (
    SHORT,
    CommentView,
    OpenedLines,
    OperationView,
    comments_below,
    has_folds,
    operation_view,
    text_table,
    thread_html,
)

if TYPE_CHECKING:
    from assent.app.engine import Engine

MAX_OPENED: Final = 200  # folds of a page,
MAX_LINES: Final = 1_000  # and lines of each
_FOLD: Final = re.compile(r"([0-9a-f]{12}):([1-9][0-9]{0,6})-([0-9]{1,7})(?:,|$)")


class ReviewBody(msgspec.Struct, frozen=True):
    """What a page of a review shows its operations with; each is rendered when it is asked for."""

    review: Review
    said: Sequence[CommentView]
    values: Mapping[str, Any]  # of the templates of threads
    address: Mapping[str, str]  # the query of the page; an empty value is left out
    asked: str  # the part and line that a comment is being written about, such as `plan:3`
    folds: str  # which unchanged lines are shown, such as `3f2a…:10-20`,
    opened: Mapping[str, OpenedLines]  # and these, by operation

    def operation(self, at: int) -> OperationView:
        """Returns an operation by its place in the plan."""
        one = self.review.operations[at]
        return operation_view(
            at + 1,
            self.review,
            one,
            self.threads(one.id),
            self.comment_links(one.id),
            split=bool(self.address["view"]),
            comments=tuple(each for each in self.said if each.on == one.id),
            unfold=self.fold_links(at + 1, one.id) if has_folds(one.op) else None,
            opened=self.opened.get(one.id),
        )

    def text(self) -> Markup:
        """Returns the text of the plan, which is on the first page."""
        return text_table(self.review.text, self.threads("plan"), self.comment_links("plan"))

    def threads(self, on: str) -> dict[int, Markup]:
        """Returns what stands below the lines of a part: comments, and the form for another."""
        found = comments_below(self.said, on, lambda thread: thread_html(thread, self.values))
        place, _, line = self.asked.partition(":")
        at = small_number(line)
        if place == on[:SHORT] and at:
            form = thread_html((), {**self.values, "where": self.asked})
            found[at] = found.get(at, Markup("")) + form
        return found

    def comment_links(self, on: str) -> LinkTo:
        """Returns where one comments on a line of a part."""
        if not self.values["can_comment"]:
            return lambda line: ""
        start = self._query({"on": ""})
        return lambda line: f"{start}on={on[:SHORT]}:{line}#say"

    def fold_links(self, number: int, id: str) -> OpenFold:
        """Returns where unchanged lines of an operation are shown; what is open stays open."""
        start = self._query({"open": ""})
        before = f"{self.folds}," if self.folds else ""
        return lambda first, last: f"{start}open={before}{id[:SHORT]}:{first}-{last}#o{number}"

    def _query(self, but: Mapping[str, str]) -> str:
        """Returns the beginning of an address of this page, to which a value is added."""
        kept = {"open": self.folds, **self.address, **but}
        query = urlencode({name: text for name, text in kept.items() if text}, safe=":,")
        return f"?{query}&" if query else "?"


def opened_lines(
    engine: "Engine", operations: Sequence[OperationReview], folds: str
) -> dict[str, OpenedLines]:
    """Reads which unchanged lines are shown, such as `3f2a…:10-20`, and the files they are of."""
    lines: dict[str, list[range]] = {}
    for name, first, last in _FOLD.findall(folds)[:MAX_OPENED]:
        start, stop = int(first), int(last) + 1
        if start < stop:
            part = range(start, min(stop, start + MAX_LINES))
            lines.setdefault(name, []).append(part)
    read: Callable[[str], Any] = engine.drafts.content_reader([one.op for one in operations])
    found = {}
    for one in operations:
        wanted = lines.get(one.id[:SHORT])
        if wanted and one.diff and has_folds(one.op) and isinstance(one.op, WriteFile):
            text = b"".join(read(one.op.after.digest)).decode("utf-8", "backslashreplace")
            found[one.id] = OpenedLines(tuple(wanted), text)
    return found
