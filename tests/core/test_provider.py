"""What an answer costs."""

import pytest

from assent.core.llm import Prices, TokenUsage

PRICES = Prices(input=4, output=20, cache_read=0.5, cache_write=5)


@pytest.mark.parametrize(
    ("usage", "dollars"),
    [
        (TokenUsage(), 0),
        (TokenUsage(1_000_000), 4),
        (TokenUsage(output=1_000_000), 20),
        (TokenUsage(1_000_000, cache_read=1_000_000), 0.5),
        (TokenUsage(1_000_000, cache_write=1_000_000), 5),
        (TokenUsage(1_000_000, 100_000, 500_000, 250_000, 90_000), 1 + 2 + 0.25 + 1.25),
    ],
)
def test_f126_cached_tokens_are_counted_once(usage: TokenUsage, dollars: float) -> None:
    assert PRICES.of(usage) == pytest.approx(dollars)
