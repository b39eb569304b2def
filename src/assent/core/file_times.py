"""File times: whether those of a file or folder prove that it is as it was seen."""

from typing import Final

# Some file systems keep times in steps of two seconds: what changed this recently may change again
# without new times.
MTIME_GRANULARITY_NS: Final = 2_000_000_000


def is_settled(times: tuple[int, ...], now: int) -> bool:
    """Tells whether every later change will show in times that were read at this moment."""
    return now - max(times) > MTIME_GRANULARITY_NS
