"""G15: what open steps are expected to take, from what the session used so far."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assent.core.event import StoredEvent
from assent.core.llm import Prices, StopReason, TokenUsage
from assent.core.session.estimate import (
    FIRST_REQUEST,
    MAX_RECENT,
    WorkEstimate,
    WorkHistory,
    estimate_work,
    open_steps,
    work_history,
)
from assent.core.session.event import (
    Compacted,
    SessionEvent,
    SessionRewound,
    StepEnded,
    StepStarted,
    Todo,
)

PRICES = Prices(input=2.0, output=10.0, cache_read=0.2, cache_write=2.5)
USAGES = st.builds(TokenUsage, st.integers(0, 10**6), st.integers(0, 10**5))
HISTORIES = st.builds(WorkHistory, st.just("a/b"), st.lists(USAGES, max_size=5).map(tuple))


def stored(*events: SessionEvent) -> list[StoredEvent]:
    return [StoredEvent(n, "session/w/s", n, "now", event) for n, event in enumerate(events, 1)]


def step(model: str, *numbers: int) -> tuple[SessionEvent, SessionEvent]:
    usage = TokenUsage(*numbers)
    return StepStarted(1, "build", model, "ask"), StepEnded(StopReason.END, usage, None)


def test_g15_the_history_is_what_recent_requests_used() -> None:
    events = stored(*step("a/one", 100, 10), *step("a/two", 200, 20), *step("a/two", 0, 0))
    found = work_history(events)
    assert found == WorkHistory("a/two", (TokenUsage(100, 10), TokenUsage(200, 20)))
    assert found.size == 220
    many = [event for _ in range(MAX_RECENT + 5) for event in step("a/one", 1, 1)]
    assert len(work_history(stored(*many)).recent) == MAX_RECENT


def test_g15_what_left_the_context_does_not_count() -> None:
    for gone in (Compacted("short", 0), SessionRewound("m", "words", 0)):
        found = work_history(stored(*step("a/one", 100, 10), gone))
        assert found == WorkHistory("a/one")


def test_g15_without_history_there_are_usual_numbers() -> None:
    found = estimate_work(WorkHistory(), 2)
    assert found.requests == (2, 8)
    low = 2 * FIRST_REQUEST + 500 + 2 * 200
    high = 8 * FIRST_REQUEST + 3_000 * 28 + 8 * 1_000
    assert found == WorkEstimate(2, (2, 8), (low, high))


def test_g15_each_request_reads_what_came_before_it() -> None:
    history = WorkHistory("a/b", (TokenUsage(1_000, 100), TokenUsage(1_400, 300)))
    found = estimate_work(history, 1, PRICES)
    assert found.tokens == (1_700 + 200, 4 * 1_700 + 6 * 400 + 4 * 300)
    assert found.cost is not None
    low, high = found.cost
    assert low == pytest.approx((1_700 * 2 + 200 * 10) / 1e6)
    assert high == pytest.approx(((4 * 1_700 + 6 * 400) * 2 + 1_200 * 10) / 1e6)


def test_g15_a_cache_makes_only_the_least_cheaper() -> None:
    plain = (TokenUsage(10_000, 100), TokenUsage(10_400, 100))
    cached = (TokenUsage(10_000, 100), TokenUsage(10_400, 100, cache_read=9_000))
    without = estimate_work(WorkHistory("a/b", plain), 1, PRICES).cost
    with_it = estimate_work(WorkHistory("a/b", cached), 1, PRICES).cost
    assert without is not None
    assert with_it is not None
    assert with_it[0] < without[0]
    assert with_it[1] == without[1]


def test_g15_no_request_reads_more_than_the_model_can() -> None:
    history = WorkHistory("a/b", (TokenUsage(9_000, 500), TokenUsage(9_400, 500)))
    assert estimate_work(history, 5, window=10_000).tokens[1] == 20 * 10_000 - 100 + 20 * 500


def test_g15_an_unknown_price_is_no_cost() -> None:
    assert estimate_work(WorkHistory(), 3).cost is None


def test_g15_open_todos_are_steps() -> None:
    states = ("pending", "in_progress", "completed", "cancelled")
    todos = [Todo(state, state) for state in states]  # type: ignore[arg-type]
    assert open_steps(todos) == 2


@given(HISTORIES, st.integers(0, 400), st.integers(0, 10**6))
def test_g15_the_least_is_never_more_than_the_most(
    history: WorkHistory, steps: int, window: int
) -> None:
    found = estimate_work(history, steps, PRICES, window)
    assert found.cost is not None
    for low, high in (found.requests, found.tokens, found.cost):
        assert 0 <= low <= high


@given(HISTORIES, st.integers(1, 100))
def test_g15_more_steps_never_take_less(history: WorkHistory, steps: int) -> None:
    fewer, more = (estimate_work(history, count, PRICES) for count in (steps, steps + 1))
    assert fewer.cost is not None
    assert more.cost is not None
    assert fewer.tokens[0] <= more.tokens[0]
    assert fewer.tokens[1] <= more.tokens[1]
    assert fewer.cost[1] <= more.cost[1]
