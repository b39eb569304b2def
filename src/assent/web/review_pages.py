"""Reviews in pages: of a plan with very many operations, one piece after the other."""

from collections.abc import Callable, Iterator, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from assent.core.errors import NotFound, UsageError
from assent.render.rows import Row

if TYPE_CHECKING:
    from assent.render.review import Review

PAGE_OPERATIONS: Final = 100
PAGE_CHARS: Final = 1 << 20  # of diffs, from which a page is full with fewer operations
MAX_KEPT_CHARS: Final = 64 << 20  # of the reviews that are kept while they are read
MAX_KEPT: Final = 32
ALWAYS: Final = ("plan_id", "name", "state", "digest", "approved")  # what every page has


def pages_of(operations: Sequence[Any]) -> Iterator[list[Any]]:
    """Yields operations in pages; there is always a first one."""
    page: list[Any] = []
    chars = 0
    for operation in operations:
        size = len(operation["diff"] or "")
        if page and (len(page) == PAGE_OPERATIONS or chars + size > PAGE_CHARS):
            yield page
            page, chars = [], 0
        page.append(operation)
        chars += size
    yield page


class KeptReviews:
    """Keeps a few reviews of many operations while their pages are read, so that all are of one."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, str, str], tuple[Review, int]] = {}
        self._lock = Lock()

    def find(self, key: tuple[str, str, str]) -> "Review | None":
        """Returns what was kept for a cookie, a plan and its digest."""
        with self._lock:
            found = self._kept.get(key)
        return found[0] if found else None

    def keep(self, key: tuple[str, str, str], review: "Review") -> None:
        """Keeps a review, if there is room for it; older ones make it."""
        size = sum(len(each.diff or "") for each in review.operations)
        with self._lock:
            self._kept.pop(key, None)
            self._kept[key] = review, size
            while len(self._kept) > MAX_KEPT or (
                sum(size for _, size in self._kept.values()) > MAX_KEPT_CHARS
            ):
                del self._kept[next(iter(self._kept))]


class ReviewPages:
    """Cuts reviews into pages, and keeps a few so that all pages of one are of one rendering."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, str], tuple[Row, list[list[Any]], int]] = {}
        self._lock = Lock()

    def page(self, access: str, name: str, number: int, render: Callable[[], Row]) -> Row:
        """Returns a page of a review by its number; the first one is always rendered anew.

        `name` stands for a plan and its digest; a draft has none, and is rendered for each page. It
        has how many `pages` there are, and how many operations at most are on each.
        """
        if number < 1:
            raise UsageError("Pages are counted from 1.")
        key = access, name
        with self._lock:
            kept = self._kept.get(key) if number > 1 and name else None
        if kept is None:
            row = render()
            operations: Any = row["operations"]
            cut = list(pages_of(operations))
            kept = row, cut, sum(len(each["diff"] or "") for each in operations)
            self._keep(key, kept)
        row, cut, _ = kept
        if number > len(cut):
            raise NotFound(f"There is no page {number}; the last one is {len(cut)}.")
        shown = row if number == 1 else {name: row[name] for name in ALWAYS}
        of = {"page": number, "pages": len(cut), "page_operations": PAGE_OPERATIONS}
        return {**shown, "operations": cut[number - 1], **of}

    def _keep(self, key: tuple[str, str], review: tuple[Row, list[list[Any]], int]) -> None:
        with self._lock:
            self._kept.pop(key, None)
            if len(review[1]) == 1 or not key[1]:
                return  # there is no second page, or it may be of another draft
            self._kept[key] = review
            while len(self._kept) > MAX_KEPT or (
                sum(size for _, _, size in self._kept.values()) > MAX_KEPT_CHARS
            ):
                del self._kept[next(iter(self._kept))]
