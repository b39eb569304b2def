"""Context and cost: how full the context is, the last step's usage, and the budget."""

from collections.abc import Iterator
from typing import Final

import msgspec

from assent.core.event import StoredEvent
from assent.core.llm import TokenUsage
from assent.core.session.estimate import WorkEstimate
from assent.core.session.event import StepEnded, StepStarted
from assent.core.text.hidden_chars import visible_line
from assent.render.estimate import dollars_text, estimate_texts, token_count_text
from assent.render.lines import BLANK, Line, Style, table_lines

FULL, EMPTY = "█", "░"
BAR: Final = 20  # characters
NEARLY_FULL: Final = 0.8  # of a window; a summary comes soon


class UsageLimits(msgspec.Struct, frozen=True):
    """The limits of a model and of an invocation; 0: unknown, or no limit."""

    window: int = 0  # tokens that the model can read
    dollars: float = 0.0
    tokens: int = 0
    spent_dollars: float = 0.0  # by this invocation, with all children
    spent_tokens: int = 0


class SessionUsage(msgspec.Struct, frozen=True):
    """What a session used so far. `seq` is the last event that was counted."""

    seq: int = 0
    model: str = ""
    steps: int = 0
    last: TokenUsage = TokenUsage()
    last_cost: float | None = None  # dollars; None: prices are not known

    @property
    def used(self) -> int:
        """Tokens that the next request will have at least."""
        return self.last.input + self.last.output


def add_usage(before: SessionUsage, recorded: StoredEvent) -> SessionUsage:
    """Adds one more event of a session to its usage."""
    known = msgspec.structs.replace(before, seq=recorded.seq)
    match recorded.event:
        case StepStarted(model=model):
            return msgspec.structs.replace(known, model=model)
        case StepEnded(usage=usage, cost=cost):
            steps = known.steps + 1
            return msgspec.structs.replace(known, steps=steps, last=usage, last_cost=cost)
        case _:
            return known


def context_lines(
    took: SessionUsage,
    total: TokenUsage,
    cost: float | None,
    allowance: UsageLimits,
    estimate: WorkEstimate | None = None,
) -> Iterator[Line]:
    """Renders the context with a bar, tokens of the last step and in total, cost and budget.

    What the open steps are expected to take stands next to what was spent.
    """
    if took.model:
        yield Line("dim", visible_line(model_name(took.model)))
    yield from _window(took.used, allowance.window)
    if took.steps:
        yield BLANK
        yield from _step(took, total)
    yield BLANK
    texts = estimate_texts(estimate) if estimate else ()
    coming = list(zip(("expected", ""), texts, strict=False))
    rows = [("spent", _dollars(cost)), *coming, *_left(allowance)]
    yield from table_lines("plain", rows)


def model_name(name: str) -> str:
    """Returns a model's short name: for a model file, only the last part of its path."""
    return name.rpartition("/")[2] if ":/" in name else name


def usage_bar(used: int, most: int, width: int = BAR) -> str:
    """Returns a bar of characters; any use shows, and only full use fills the bar."""
    share = min(max(used / most, 0.0), 1.0) if most else 0.0
    filled = round(share * width)
    if used > 0 and most:
        filled = max(filled, 1)
    if used < most:
        filled = min(filled, width - 1)
    return FULL * filled + EMPTY * (width - filled)


def _window(used: int, window: int) -> Iterator[Line]:
    if not window:
        yield Line("plain", f"{token_count_text(used)} tokens")
        return
    share = used / window
    style: Style = "risk" if share >= NEARLY_FULL else "plain"
    yield Line(style, f"{usage_bar(used, window)} {share:.0%}")
    full = ", nearly full" if share >= NEARLY_FULL else ""
    yield Line(style, f"{token_count_text(used)} of {token_count_text(window)} tokens{full}")


def _step(took: SessionUsage, total: TokenUsage) -> Iterator[Line]:
    fields = ("input", "output", "cache_read", "cache_write", "reasoning")
    rows = [
        (
            name.replace("_", " "),
            token_count_text(getattr(took.last, name)),
            token_count_text(getattr(total, name)),
        )
        for name in fields
    ]
    title = ("tokens", "last step", "session")
    widths = [max(map(len, column)) for column in zip(title, *rows, strict=True)]
    for at, (name, *numbers) in enumerate([title, *rows]):
        right = [number.rjust(width) for number, width in zip(numbers, widths[1:], strict=True)]
        yield Line("plain" if at else "dim", "  ".join([name.ljust(widths[0]), *right]))


def _dollars(amount: float | None) -> str:
    """Returns an amount in dollars; none is said, and not shown as $0.00."""
    return "nothing" if amount == 0 else dollars_text(amount)


def _left(allowance: UsageLimits) -> Iterator[tuple[str, str]]:
    if allowance.dollars:
        left = max(0.0, allowance.dollars - allowance.spent_dollars)
        yield "budget", f"{_dollars(left)} left of {dollars_text(allowance.dollars)}"
    if allowance.tokens:
        rest = max(0, allowance.tokens - allowance.spent_tokens)
        yield (
            "budget",
            f"{token_count_text(rest)} tokens left of {token_count_text(allowance.tokens)}",
        )
