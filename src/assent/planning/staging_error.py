"""Adds to a staging error that nothing was staged, and which command to type next."""

from collections.abc import Iterator
from contextlib import contextmanager

from assent.core.errors import AssentError, IllegalState, StoreError, WorkspaceError

_SAFE = "Nothing was "  # changed, or staged


@contextmanager
def nothing_staged(next: str, look: str = "") -> Iterator[None]:
    """Completes an error: that nothing was staged, and what to type next; `look` if a file failed.

    What the store could not do, and a plan that cannot be changed, say themselves how things stand.
    """
    try:
        yield
    except (StoreError, IllegalState):
        raise
    except AssentError as error:
        if _SAFE not in error.message:
            error.message += f" {_SAFE}staged."
        if not error.next:
            error.next = look if look and isinstance(error, WorkspaceError) else next
        raise
