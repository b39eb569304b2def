"""Estimates the tokens and the money that the open steps of a session will take, as a range."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final

import msgspec

from assent.core.event import StoredEvent
from assent.core.llm import Prices, TokenUsage
from assent.core.session.event import (
    Compacted,
    SessionRewound,
    StepEnded,
    StepStarted,
    Todo,
)

MAX_RECENT: Final = 10  # requests that count as recent
FEWEST_REQUESTS, MOST_REQUESTS = 1, 4  # that one open step takes
# What is assumed while a session has no requests to go by.
FIRST_REQUEST: Final = 8_000  # tokens of system prompt, tools and the first message
USUAL_OUTPUT: Final = (200, 1_000)  # tokens that a model answers with
USUAL_GROWTH: Final = (500, 3_000)  # tokens that a request is longer than the one before it
MAX_REQUESTS: Final = 1_000  # beyond which a range says nothing any more


class WorkHistory(msgspec.Struct, frozen=True):
    """What the recent requests of a session used, oldest first, and the model of the last."""

    model: str = ""
    recent: tuple[TokenUsage, ...] = ()

    @property
    def size(self) -> int:
        """Tokens that the next request has at least; 0: unknown."""
        return self.recent[-1].input + self.recent[-1].output if self.recent else 0


class WorkEstimate(msgspec.Struct, frozen=True):
    """What work is expected to take, from the least to the most; no cost: the price is unknown."""

    steps: int  # that are open
    requests: tuple[int, int]
    tokens: tuple[int, int]  # read and written, over all requests
    cost: tuple[float, float] | None = None  # dollars


def work_history(events: Iterable[StoredEvent]) -> WorkHistory:
    """Reads what recent requests used; what a summary or a rewind removed does not count."""
    model, recent = "", list[TokenUsage]()
    for one in events:
        match one.event:
            case StepStarted(model=name):
                model = name
            case StepEnded(usage=usage) if usage.input or usage.output:
                recent.append(usage)
            case Compacted() | SessionRewound():
                recent.clear()
            case _:
                pass
    return WorkHistory(model, tuple(recent[-MAX_RECENT:]))


def open_steps(todos: Iterable[Todo]) -> int:
    """Returns how many todos are not done yet."""
    return sum(todo.status in ("pending", "in_progress") for todo in todos)


def estimate_work(
    history: WorkHistory, steps: int, prices: Prices | None = None, window: int = 0
) -> WorkEstimate:
    """Estimates what open steps take; without any, it is one answer, as to a short message.

    Each request reads the whole history, and makes it longer for the next one. `window` is the
    most that the model can read at once; 0: unknown.
    """
    wanted = max(steps, 1)
    requests = (min(wanted * FEWEST_REQUESTS, MAX_REQUESTS),
                min(wanted * MOST_REQUESTS, MAX_REQUESTS))  # fmt: skip
    outputs = _range([usage.output for usage in history.recent], USUAL_OUTPUT)
    inputs = [usage.input for usage in history.recent]
    growth = _range([max(0, after - before) for before, after in pairwise(inputs)], USUAL_GROWTH)
    start = history.size or FIRST_REQUEST
    used = [
        _used(count, start, grows, output, window)
        for count, grows, output in zip(requests, growth, outputs, strict=True)
    ]
    tokens = (used[0].input + used[0].output, used[1].input + used[1].output)
    if prices is None:
        return WorkEstimate(steps, requests, tokens)
    caches = any(usage.cache_read for usage in history.recent)
    least = _cached(used[0], growth[0] * requests[0]) if caches else used[0]
    low, high = prices.of(least), prices.of(used[1])
    return WorkEstimate(steps, requests, tokens, (min(low, high), max(low, high)))


def _range(seen: Sequence[int], usual: tuple[int, int]) -> tuple[int, int]:
    """Returns the average and the most of what was seen; what is usual, if that is nothing."""
    return (sum(seen) // len(seen), max(seen)) if seen else usual


def _used(count: int, start: int, grows: int, output: int, window: int) -> TokenUsage:
    """Returns what requests use of which each reads everything before it."""
    sizes = [start + at * grows for at in range(count)]
    read = sum(min(size, window) if window else size for size in sizes)
    return TokenUsage(input=read, output=count * output)


def _cached(used: TokenUsage, fresh: int) -> TokenUsage:
    """Returns the same use where only what is new in each request was not read before."""
    return msgspec.structs.replace(used, cache_read=max(0, used.input - fresh))
