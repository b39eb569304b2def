"""Limits the number of steps of a turn, and asks the person before allowing more."""

from collections.abc import Generator

from assent.core.event import StoredEvent
from assent.ports import Turn


class StepLimit:
    """Counts the steps of one turn. Past `most` the person is asked; `fixed` holds whatever."""

    def __init__(self, most: int = 0, fixed: int = 0) -> None:
        self.taken = 0
        self._by = most
        self._most = most
        self._fixed = fixed

    def take(self, turn: Turn) -> Generator[StoredEvent, None, bool]:
        """Takes a step; tells whether it is the last, which must end in words (F109)."""
        self.taken += 1
        fixed = min((each for each in (turn.agent.steps, self._fixed) if each), default=0)
        if self.taken == fixed:
            return True
        if self.taken != self._most:
            return False
        if self.taken == 1:  # nothing has been done yet that could go on
            return True
        if not (yield from turn.confirm("Steps", self._question())):
            return True
        self._most += self._by
        return False

    def _question(self) -> str:
        done = self.taken - 1
        taken = f"{done} step" if done == 1 else f"{done} steps"
        return f"The turn has taken {taken}, and the next is its last; go on with {self._by} more?"
