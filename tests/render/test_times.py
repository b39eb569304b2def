"""Times in lists: a moment by the person's own clock, and how long ago it was."""

from datetime import datetime

import pytest

from assent.render.lines import local_time, relative_time

AT = "2026-03-01T12:00:00.000Z"


@pytest.mark.parametrize(
    ("now", "ago"),
    [
        ("2026-03-01T12:00:59.999Z", "just now"),
        ("2026-03-01T12:01:00.000Z", "1 min ago"),
        ("2026-03-01T13:59:00.000Z", "1 h ago"),
        ("2026-03-04T11:00:00.000Z", "2 d ago"),
        ("2026-03-01T11:00:00.000Z", "in the future"),
    ],
)
def test_a_moment_is_local_and_relative(now: str, ago: str) -> None:
    local = datetime.fromisoformat(AT).astimezone().strftime("%Y-%m-%d %H:%M")
    assert relative_time(AT, now) == f"{local} ({ago})"
    assert local_time(AT) == local


def test_what_is_no_moment_is_shown_as_it_is() -> None:
    assert relative_time("then", AT) == local_time("then") == "then"
