"""What was served to whom: only what a cookie or token was shown can be decided by it.

It is kept in memory: after a restart everything has to be shown again.
"""

from collections.abc import Iterable
from threading import Lock
from typing import Final

import msgspec

from assent.web.errors import NotReviewed

MAX_SERVED: Final = 10_000  # that are remembered, over all cookies and tokens
MAX_VIEWED: Final = 50_000  # operations that are marked as viewed, over all cookies
UNSEEN: Final = "Nothing was decided."


class Served(msgspec.Struct, frozen=True):
    """How much of something was served, in order from its beginning."""

    page: int = 1  # the last one
    pages: int = 1
    was: str = ""  # the digest of the plan that a smaller plan was made from,
    without: tuple[str, ...] = ()  # by leaving out these operations

    @property
    def whole(self) -> bool:
        return self.page >= self.pages


ALL: Final = Served()


class ReviewMemory:
    """Remembers what was served, by cookie or token, what it is about, and its digest."""

    def __init__(self) -> None:
        self._served: dict[tuple[str, str, str], Served] = {}
        self._lock = Lock()

    def note(self, access: str, subject: str, digest: str, served: Served = ALL) -> None:
        """Notes that a page was served; it counts if those before it were, in one piece."""
        key = access, subject, digest
        with self._lock:
            before = self._served.get(key)
            reached = before.page if before and before.pages == served.pages else 0
            if served.page > reached + 1:
                return
            page = max(served.page, reached)
            self._served.pop(key, None)
            self._served[key] = msgspec.structs.replace(served, page=page)
            if len(self._served) > MAX_SERVED:
                del self._served[next(iter(self._served))]

    def find(self, access: str, subject: str, digest: str) -> Served | None:
        """Returns what was served of something; None if nothing was."""
        with self._lock:
            return self._served.get((access, subject, digest))

    def check(
        self, access: str, subject: str, digest: str, look: str, *, skipped: bool = False
    ) -> Served:
        """Returns what was served; raises NotReviewed unless that is all of it.

        `look` is what shows it. The end can be skipped, but not the beginning.
        """
        found = self.find(access, subject, digest)
        if found is None:
            raise NotReviewed(f"This was not shown to you. {UNSEEN}", look)
        if not found.whole and not skipped:
            raise NotReviewed(
                f"Page {found.page} of {found.pages} was shown to you. {UNSEEN}",
                f"{look}?page={found.page + 1}",
            )
        return found


class ViewedOperations:
    """Remembers which operations were marked as viewed, by cookie and plan.

    It is a help for reading and decides nothing. An operation that stays the same in the next
    version of a plan stays viewed.
    """

    def __init__(self) -> None:
        self._viewed: dict[tuple[str, str, str], None] = {}  # the oldest first
        self._lock = Lock()

    def mark(self, access: str, plan: str, operation: str, *, viewed: bool) -> None:
        """Marks an operation as viewed, or as not viewed."""
        key = access, plan, operation
        with self._lock:
            self._viewed.pop(key, None)
            if viewed:
                self._viewed[key] = None
            if len(self._viewed) > MAX_VIEWED:
                del self._viewed[next(iter(self._viewed))]

    def among(self, access: str, plan: str, operations: Iterable[str]) -> set[str]:
        """Returns which of some operations are marked as viewed."""
        with self._lock:
            return {each for each in operations if (access, plan, each) in self._viewed}
