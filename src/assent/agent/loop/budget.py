"""The budget of an invocation: steps, tokens, dollars and seconds, allowed and used."""

import time
from collections.abc import Callable, Generator
from threading import Lock
from typing import Literal, TypeAlias

import msgspec

from assent.core.errors import UsageError
from assent.core.event import StoredEvent
from assent.core.llm import TokenUsage
from assent.ports import OpenedModel
from assent.ports.session import Turn

_CENTS, _LEAST = 0.1, 0.0001  # dollars; less is said with more digits

BudgetKind: TypeAlias = Literal["dollars", "tokens", "seconds"]


class BudgetLimits(msgspec.Struct, frozen=True):
    """How far an invocation may go before the user is asked; None or 0: no limit."""

    max_turns: int | None = None  # steps of one turn
    max_budget: float | None = None  # dollars
    max_tokens: int | None = None
    max_seconds: float | None = None  # of one turn


class BudgetSpent(msgspec.Struct, frozen=True):
    """What an invocation has used, with all children; `guessed`: part of it was estimated."""

    tokens: int = 0
    dollars: float = 0.0
    seconds: float = 0.0  # of the newest turn
    guessed: bool = False


class BudgetReached(msgspec.Struct, frozen=True):
    """A limit that is reached: as a message, and as a question whether to continue."""

    kind: BudgetKind
    most: float
    words: str
    question: str


class Budget:
    """The remaining budget; a turn and its child sessions share one."""

    def __init__(self, limits: BudgetLimits, clock: Callable[[], float] = time.monotonic) -> None:
        self.limits = limits
        self._clock = clock
        self._lock = Lock()
        self._spent = BudgetSpent()
        self._began = clock()
        self._closed = False
        self._by: dict[BudgetKind, float] = {
            "dollars": limits.max_budget or 0,
            "tokens": limits.max_tokens or 0,
            "seconds": limits.max_seconds or 0,
        }
        self._most = dict(self._by)

    @property
    def spent(self) -> BudgetSpent:
        return msgspec.structs.replace(self._spent, seconds=self._clock() - self._began)

    @property
    def closed(self) -> bool:
        """Whether the user declined to continue in this turn; then no question follows in it."""
        return self._closed

    def begin(self) -> None:
        """Begins a turn: its time starts, and the user may be asked again."""
        with self._lock:
            self._began = self._clock()
            self._most["seconds"] = self._by["seconds"]
            self._closed = False

    def seconds_left(self) -> float | None:
        """Returns the remaining seconds of the turn; None without a limit."""
        most = self._most["seconds"]
        return max(0.0, most - self.spent.seconds) if most else None

    def check(self, opened: OpenedModel) -> BudgetReached | None:
        """Returns a limit that is reached; raises UsageError if that cannot be determined."""
        if self._by["dollars"] and opened.prices is None:
            raise UsageError(
                f"Prices for {opened.name} are unknown, so the budget cannot be enforced. No "
                "request was sent.",
                f'omit --max-budget, or add [models."{opened.name}"] prices',
            )
        spent = self.spent
        with self._lock:
            for kind, most in self._most.items():
                if most and getattr(spent, kind) >= most:
                    return BudgetReached(kind, most, *_words(kind, spent, most, self._by[kind]))
        return None

    def extend(self, reached: BudgetReached) -> None:
        """Extends the budget after the user agreed; two simultaneous requests extend it once."""
        spent = getattr(self.spent, reached.kind)
        with self._lock:
            if self._most[reached.kind] == reached.most:
                self._most[reached.kind] = max(reached.most, spent) + self._by[reached.kind]

    def close(self) -> None:
        """Remembers that the user does not want to continue."""
        self._closed = True

    def spend(
        self, opened: OpenedModel, usage: TokenUsage, *, guessed: bool = False
    ) -> float | None:
        """Counts used tokens and their cost; returns the cost if it is known."""
        cost = opened.prices.of(usage) if opened.prices else None
        with self._lock:
            self._spent = msgspec.structs.replace(
                self._spent,
                tokens=self._spent.tokens + usage.input + usage.output,
                dollars=self._spent.dollars + (cost or 0.0),
                guessed=self._spent.guessed or guessed,
            )
        return cost


def _words(kind: BudgetKind, spent: BudgetSpent, most: float, by: float) -> tuple[str, str]:
    """Returns the message that a limit is reached, and the question whether to continue."""
    match kind:
        case "dollars":
            return (
                f"The budget of {_money(most)} is used up (${spent.dollars:.4f} so far).",
                f"{_money(spent.dollars)} used. Continue with another {_money(by)}?",
            )
        case "tokens":
            return (
                f"The budget of {_counted(most, 'token')} is used up ({spent.tokens} so far).",
                f"{_counted(spent.tokens, 'token')} used. Continue with another {by:.0f}?",
            )
        case "seconds":
            took = _counted(spent.seconds, "second")
            return (
                f"The turn took {took}; its limit is {most:g}.",
                f"The turn has taken {took}. Continue for another {by:g}?",
            )


def _counted(number: float, noun: str) -> str:
    shown = f"{number:.0f}"
    return f"{shown} {noun}" if shown == "1" else f"{shown} {noun}s"


# Limits the number of steps of a turn, and asks the user before allowing more.


class StepLimit:
    """Counts the steps of one turn; at `most` the user is asked, at `fixed` the turn ends."""

    def __init__(self, most: int = 0, fixed: int = 0) -> None:
        self.taken = 0
        self._by = most
        self._most = most
        self._fixed = fixed

    def take(self, turn: Turn) -> Generator[StoredEvent, None, bool]:
        """Counts a step; tells whether it is the last, which must end with a message (F109)."""
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
        return f"The turn has taken {taken}, and the next is its last. Allow {self._by} more?"


def _money(dollars: float) -> str:
    """Returns dollars with enough digits: a small budget is not shown as none."""
    digits = 2 if dollars >= _CENTS or not dollars else 4 if dollars >= _LEAST else 8
    return f"${dollars:.{digits}f}"
