"""Times as lists show them: in the user's local time, or relative."""

from datetime import datetime
from typing import Final

_UNITS: Final = ((86_400, "d"), (3600, "h"), (60, "min"))


def local_time(at: str) -> str:
    """Returns a moment to the minute; as it stands, if it is none."""
    try:
        return datetime.fromisoformat(at).astimezone().strftime("%Y-%m-%d %H:%M")
    except ValueError:
        return at[:16]


def relative_time(at: str, now: str) -> str:
    """Returns a moment and how long ago it was, such as `2026-03-01 12:00 (2 min ago)`."""
    try:
        passed = datetime.fromisoformat(now) - datetime.fromisoformat(at)
    except ValueError:
        return local_time(at)
    return f"{local_time(at)} ({_ago(int(passed.total_seconds()))})"


def _ago(seconds: int) -> str:
    for size, unit in _UNITS:
        if seconds >= size:
            return f"{seconds // size} {unit} ago"
    return "just now" if seconds >= 0 else "in the future"
