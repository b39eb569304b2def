"""G15: an estimate as people and programs read it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assent.core.session.estimate import WorkEstimate
from assent.render.estimate import dollars_text, estimate_text
from assent.render.rows import estimate_row


@pytest.mark.parametrize(
    ("dollars", "words"),
    [
        (None, "unknown"),
        (0.0, "$0.00"),
        (0.00001, "under $0.0001"),
        (0.006, "$0.0060"),
        (0.5, "$0.50"),
        (12.345, "$12.35"),
    ],
)
def test_g15_money_has_sense(dollars: float | None, words: str) -> None:
    assert dollars_text(dollars) == words


@given(st.floats(min_value=1e-12, max_value=1e4))
def test_g15_some_money_is_never_shown_as_none(dollars: float) -> None:
    assert any(digit in "123456789" for digit in dollars_text(dollars))


def test_g15_a_range_is_one_line_and_one_object() -> None:
    found = WorkEstimate(2, (2, 8), (16_900, 180_000), (0.006, 0.25))
    assert estimate_text(found) == "16.9k to 180k tokens, $0.0060 to $0.25"
    assert estimate_row(found) == {
        "steps": 2,
        "requests": {"low": 2, "high": 8},
        "tokens": {"low": 16_900, "high": 180_000},
        "cost": {"low": 0.006, "high": 0.25},
    }
    unknown = WorkEstimate(0, (1, 1), (900, 900))
    assert estimate_text(unknown) == "900 tokens, cost unknown"
    assert estimate_row(unknown)["cost"] is None
