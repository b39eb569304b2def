"""When keys count: tables of times and verdicts, without a clock."""

from math import inf

import pytest

from assent.tui.keys import BURST_S, AnswerTiming, BurstDetector, KeyDebounce

Times = list[float]


@pytest.mark.parametrize(
    ("times", "dropped"),
    [
        ([10.0], [True]),  # painted right then
        ([10.59], [True]),
        ([10.6], [False]),
        ([10.5, 11.0, 11.5], [True, True, True]),  # each key begins the silence anew
        ([10.5, 11.1, 11.2], [True, False, False]),  # and after it all keys count
        ([9.0, 10.6], [True, False]),  # typed before the paint
    ],
)
def test_keys_count_after_a_silence(times: Times, dropped: list[bool]) -> None:
    silence = KeyDebounce(0.6, 10.0)
    assert [silence.breaks(at, "y") for at in times] == dropped


def test_keys_that_only_read_count_once_it_is_painted_and_break_no_silence() -> None:
    silence = KeyDebounce(0.6, 10.0)
    assert [silence.breaks(at, "end") for at in (9.9, 10.0, 10.5)] == [True, False, False]
    assert not silence.breaks(10.6, "y")
    assert KeyDebounce(0.6, 10.0).breaks(10.5, "enter")
    assert KeyDebounce(0.6, 10.0).breaks(10.5, "")  # a paste


def test_without_a_panel_nothing_is_dropped() -> None:
    assert not KeyDebounce().breaks(0.0, "y")


@pytest.mark.parametrize(
    ("painted", "times", "quick"),
    [
        (inf, [10.0], [True]),  # nobody has seen it
        (10.0, [10.0], [True]),
        (10.0, [10.24], [True]),
        (10.0, [10.25], [False]),
        (10.0, [10.3, 10.5, 10.75], [False, True, False]),  # from one key to the next
    ],
)
def test_an_answer_takes_quiet_before_it(painted: float, times: Times, quick: list[bool]) -> None:
    pace = AnswerTiming()
    pace.paint(painted, 0.25)
    assert [pace.is_quick(at) for at in times] == quick


def test_the_key_that_asked_counts_as_the_key_before() -> None:
    pace = AnswerTiming()
    pace.paint(9.0, 0.25)
    assert not pace.note(10.0)
    pace.ask()
    pace.paint(10.01, 0.25)
    assert [pace.is_quick(at) for at in (10.2, 10.46)] == [True, False]


@pytest.mark.parametrize(("after", "taken"), [(10.0, True), (10.24, True), (10.25, False)])
def test_an_answer_takes_quiet_after_it(after: float, taken: bool) -> None:
    pace = AnswerTiming()
    pace.paint(9.0, 0.25)
    assert pace.hold(10.0)
    assert pace.is_overtaken(after) is taken
    assert pace.release() is not taken


def test_an_answer_is_let_go_once() -> None:
    pace = AnswerTiming()
    assert not pace.release()
    assert pace.hold(10.0)
    assert [pace.release(), pace.release()] == [True, False]


def test_the_rest_of_a_burst_asks_for_nothing_either() -> None:
    pace = AnswerTiming()
    pace.paint(9.0, 0.25)
    assert pace.is_quick(9.1)
    pace.cancel()
    assert [pace.note(at) for at in (9.2, 9.3, 9.5, 9.8, 9.9)] == [True, True, True, False, False]


def test_where_no_quiet_is_wanted_an_answer_is_not_kept_back() -> None:
    pace = AnswerTiming()
    pace.paint(10.0, 0.0)
    assert [pace.is_quick(10.0), pace.is_quick(10.01), pace.hold(10.01)] == [True, False, False]


@pytest.mark.parametrize(
    ("gaps", "soon"),
    [
        ([0.1, 0.1, 0.1], False),  # typed
        ([0.1, 0.001, 0.001], True),  # delivered together
        ([0.001] * 6 + [0.1], False),  # and then a key by hand
    ],
)
def test_keys_that_come_at_once_are_told_from_typed_ones(gaps: list[float], soon: bool) -> None:
    burst, at = BurstDetector(), 1.0
    for gap in gaps:
        at += gap
        burst.take(at, BURST_S)
    assert burst.soon is soon
