"""Money, and what work is expected to take, as text."""

from typing import Final

from assent.core.session.estimate import WorkEstimate

UNKNOWN: Final = "unknown"
_CENTS: Final = 0.1  # dollars; less is shown with more digits
_LEAST: Final = 0.0001
_THOUSAND, _MILLION = 1_000, 1_000_000


def dollars_text(dollars: float | None) -> str:
    """Returns a cost in dollars, with more digits if it is small; some is never shown as none."""
    if dollars is None:
        return UNKNOWN
    if 0 < dollars < _LEAST / 2:
        return f"under ${_LEAST}"
    return f"${dollars:.4f}" if 0 < dollars < _CENTS else f"${dollars:.2f}"


def token_count_text(number: int) -> str:
    """Returns a number of tokens in short form: 950, 12.3k, 1.05M."""
    if number < _THOUSAND:
        return str(number)
    if number < _MILLION - _THOUSAND // 2:
        return _short(number / _THOUSAND, 1) + "k"
    return _short(number / _MILLION, 2) + "M"


def estimate_text(estimate: WorkEstimate) -> str:
    """Returns an estimate in one line: tokens and money, from the least to the most."""
    return ", ".join(estimate_texts(estimate))


def estimate_texts(estimate: WorkEstimate) -> tuple[str, str]:
    """Returns the expected tokens and the expected money, each as a range."""
    tokens = _span([token_count_text(number) for number in estimate.tokens])
    if estimate.cost is None:
        return f"{tokens} tokens", "cost unknown"
    return f"{tokens} tokens", _span([dollars_text(cost) for cost in estimate.cost])


def _span(ends: list[str]) -> str:
    return " to ".join(dict.fromkeys(ends))


def _short(number: float, digits: int) -> str:
    return f"{number:.{digits}f}".rstrip("0").rstrip(".")
