"""Times: how moments of the log are written in lists, in the time of the person's own clock."""

from datetime import datetime


def moment(at: str) -> str:
    """Returns a moment to the minute; as it stands, if it is none."""
    try:
        return datetime.fromisoformat(at).astimezone().strftime("%Y-%m-%d %H:%M")
    except ValueError:
        return at[:16]
