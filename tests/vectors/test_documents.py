"""Documents name only files, functions and tests that exist."""

import pytest
from tools.docs import broken_references, exists


def test_references_lead_somewhere() -> None:
    assert broken_references() == []


@pytest.mark.parametrize(
    ("path", "name", "found"),
    [
        ("core/digest.py", None, True),
        ("src/assent/core/digest.py", "pack", True),
        ("core/plan/plan.py", "Plan.digest", True),
        ("core/plan/plan.py", "Plan.text", True),
        ("core/plan/record.py", "TRANSITIONS", True),
        ("core/digests.py", None, False),
        ("core", None, False),
        ("core/digest.py", "unpack", False),
        ("core/plan/plan.py", "Plan.pack", False),
        ("core/plan/plan.py", "digest", False),
    ],
)
def test_a_reference_is_looked_up(path: str, name: str | None, found: bool) -> None:
    assert exists(path, name) is found
