"""The purse: how far a turn may go, in steps and in dollars, and what it has cost so far."""

import msgspec

from assent.core.errors import UsageError
from assent.core.model import Usage
from assent.ports import Opened


class Limits(msgspec.Struct, frozen=True):
    """How far an invocation may go; None or 0: as far as it takes."""

    max_turns: int | None = None  # steps of one turn
    max_budget: float | None = None  # dollars


class Purse:
    """What is left of the budget."""

    def __init__(self, limits: Limits) -> None:
        self._limit = limits.max_budget or None
        self.spent = 0.0

    def check(self, opened: Opened) -> str:
        """Says that nothing is left, or nothing; raises UsageError where that cannot be known."""
        if self._limit is None:
            return ""
        if opened.prices is None:
            raise UsageError(
                f"The prices of {opened.name} are not known, so a budget cannot be kept. "
                "Nothing was asked.",
                f'leave --max-budget out, or add [models."{opened.name}"] prices',
            )
        if self.spent < self._limit:
            return ""
        return f"The budget of ${self._limit:.2f} is spent (${self.spent:.4f} so far)."

    def pay(self, opened: Opened, usage: Usage) -> float | None:
        """Spends what tokens cost, and returns it if it is known."""
        if opened.prices is None:
            return None
        cost = opened.prices.of(usage)
        self.spent += cost
        return cost
