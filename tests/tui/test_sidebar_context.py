"""Context and cost: a bar that does not lie, numbers that people read, and what is left."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assent.core.event import StoredEvent
from assent.core.llm import StopReason, TokenUsage
from assent.core.session.estimate import WorkEstimate
from assent.core.session.event import SessionEvent, StepEnded, StepStarted, TurnEnded
from assent.render.estimate import dollars_text, token_count_text
from assent.render.lines import BLANK, Line
from assent.tui.sidebar.context import (
    EMPTY,
    FULL,
    SessionUsage,
    UsageLimits,
    context_lines,
    usage_bar,
)
from assent.tui.sidebar.context import add_usage as taken_one


def taken(*events: SessionEvent) -> SessionUsage:
    took = SessionUsage()
    for seq, event in enumerate(events, 1):
        took = taken_one(took, StoredEvent(seq, "session/w/s", seq, "now", event))
    return took


def test_f126_the_last_step_is_what_the_window_holds() -> None:
    first, last = TokenUsage(100, 10), TokenUsage(200, 20, 50, 5, 3)
    took = taken(
        StepStarted(1, "plan", "a/one", "plan"),
        StepEnded(StopReason.CALLS, first, 0.5),
        StepStarted(2, "plan", "a/two", "plan"),
        StepEnded(StopReason.END, last, None),
        TurnEnded("end"),
    )
    assert took == SessionUsage(5, "a/two", 2, last, None)
    assert took.used == 220


@pytest.mark.parametrize(
    ("used", "most", "expected"),
    [
        (0, 100, EMPTY * 10),
        (1, 1_000_000, FULL + EMPTY * 9),
        (50, 100, FULL * 5 + EMPTY * 5),
        (99, 100, FULL * 9 + EMPTY),
        (100, 100, FULL * 10),
        (500, 100, FULL * 10),
        (5, 0, EMPTY * 10),
    ],
)
def test_f126_the_bar_is_full_only_if_everything_is_used(
    used: int, most: int, expected: str
) -> None:
    assert usage_bar(used, most, 10) == expected


@given(st.integers(0, 10**7), st.integers(0, 10**7), st.integers(2, 80))
def test_the_bar_has_its_width_and_grows(used: int, most: int, width: int) -> None:
    drawn = usage_bar(used, most, width)
    assert len(drawn) == width
    assert drawn.count(FULL) <= usage_bar(used + 1 + most // width, most, width).count(FULL)


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (0, "0"),
        (999, "999"),
        (1000, "1k"),
        (12_340, "12.3k"),
        (200_000, "200k"),
        (999_499, "999.5k"),
        (999_500, "1M"),
        (1_050_000, "1.05M"),
    ],
)
def test_tokens_are_counted_as_people_read_them(number: int, expected: str) -> None:
    assert token_count_text(number) == expected


@pytest.mark.parametrize(
    ("dollars", "expected"),
    [(None, "unknown"), (0.0, "$0.00"), (0.0123, "$0.0123"), (0.5, "$0.50"), (12.345, "$12.35")],
)
def test_money(dollars: float | None, expected: str) -> None:
    assert dollars_text(dollars) == expected


def test_a_window_of_unknown_size_has_no_bar() -> None:
    assert [*context_lines(SessionUsage(), TokenUsage(), 0.0, UsageLimits())] == [
        Line("plain", "0 tokens"),
        BLANK,
        Line("plain", "spent  nothing"),
    ]


def test_f126_a_window_that_is_nearly_full_says_so_in_words() -> None:
    took = SessionUsage(1, "", 0, TokenUsage(80, 0))
    lines = [
        *context_lines(took, TokenUsage(), None, UsageLimits(100, tokens=500, spent_tokens=600))
    ]
    assert lines == [
        Line("risk", f"{FULL * 16}{EMPTY * 4} 80%"),
        Line("risk", "80 of 100 tokens, nearly full"),
        BLANK,
        Line("plain", "spent   unknown"),
        Line("plain", "budget  0 tokens left of 500"),
    ]


def test_g15_what_is_expected_stands_next_to_what_was_spent() -> None:
    took = taken(StepStarted(1, "plan", "a/one", "plan"))
    coming = WorkEstimate(2, (2, 8), (20_000, 160_000), (0.006, 0.5))
    lines = [line.text for line in context_lines(took, TokenUsage(), 0.0123, UsageLimits(), coming)]
    assert lines[-3:] == [
        "spent     $0.0123",
        "expected  20k to 160k tokens",
        "          $0.0060 to $0.50",
    ]
    free = msgspec.structs.replace(coming, cost=None)
    *_, last = context_lines(took, TokenUsage(), None, UsageLimits(), free)
    assert last.text.strip() == "cost unknown"
