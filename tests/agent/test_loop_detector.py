"""Repetitions are counted by what calls say; progress is not mistaken for one (F106 to F108)."""

from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assent.agent.loop_guard import (
    CallFailure,
    CallHistory,
    CallRepeat,
    LoopLimits,
    LoopStage,
    canonical_arguments,
    detect_repeat,
    failure_warning,
    loop_stage,
    normalized_error,
    retry_objection,
)
from assent.core.llm import ToolCall

READ = ToolCall("c1", "read", {"path": "a", "limit": 5})


@pytest.mark.parametrize(
    ("calls", "found"),
    [
        ("", CallRepeat(0)),
        ("A", CallRepeat(1)),
        ("AB", CallRepeat(1)),
        ("AA", CallRepeat(2)),
        ("AAA", CallRepeat(3)),
        ("ABA", CallRepeat(2)),
        ("ABCA", CallRepeat(2)),
        ("ABAB", CallRepeat(2, 2)),
        ("ABABAB", CallRepeat(3, 2)),
        ("XYABCABCABC", CallRepeat(3, 3)),
        ("ABCDEFABCDEF", CallRepeat(2, 6)),
        ("ABCDEFGABCDEFG", CallRepeat(2)),  # too long for a cycle; the call itself counts
        ("AXXA", CallRepeat(2)),
        ("BAAA", CallRepeat(3)),
        ("AABAAB", CallRepeat(2, 3)),
    ],
)
def test_f106_the_same_call_and_cycles_are_counted(calls: str, found: CallRepeat) -> None:
    assert detect_repeat(calls) == found


@pytest.mark.parametrize(
    ("limits", "stages"),
    [
        (LoopLimits(), [0, 0, 1, 2, 3, 3]),
        (LoopLimits(warn=0), [0, 0, 0, 2, 3, 3]),
        (LoopLimits(ask=0), [0, 0, 1, 1, 3, 3]),
        (LoopLimits(block=0), [0, 0, 1, 2, 2, 2]),
        (LoopLimits(0, 0, 0), [0, 0, 0, 0, 0, 0]),
        (LoopLimits(3, 4, 5), [0, 0, 0, 1, 2, 3]),
    ],
)
def test_f107_stages_come_as_the_settings_say_and_zero_is_none(
    limits: LoopLimits, stages: list[int]
) -> None:
    assert [loop_stage(times, limits) for times in range(6)] == [LoopStage(each) for each in stages]


def test_f106_arguments_in_another_order_are_the_same_call() -> None:
    other = ToolCall("c2", "read", {"limit": 5, "path": "a"})
    track = CallHistory()
    assert track.mark(READ, "read", edits=False) == track.mark(other, "read", edits=False)
    assert (
        canonical_arguments({"b": {"y": 1, "x": [2]}, "a": None})
        == '{"a":null,"b":{"x":[2],"y":1}}'
    )


@pytest.mark.parametrize(
    ("call", "tool"),
    [
        (ToolCall("c1", "read", {"path": "b", "limit": 5}), "read"),
        (ToolCall("c1", "read", {"path": "a"}), "read"),
        (ToolCall("c1", "read", {"path": "a", "limit": "5"}), "read"),
        (ToolCall("c1", "read", None, '{"path": "a"'), "read"),
        (READ, "list"),
    ],
)
def test_f106_other_arguments_or_tools_are_other_calls(call: ToolCall, tool: str) -> None:
    track = CallHistory()
    assert track.mark(call, tool, edits=False) != track.mark(READ, "read", edits=False)


def test_f106_after_a_new_edit_a_call_is_another_one_and_an_edit_never_is() -> None:
    before = CallHistory()
    after = before.edited("one")
    assert before.mark(READ, "read", edits=False) != after.mark(READ, "read", edits=False)
    assert before.mark(READ, "edit", edits=True) == after.mark(READ, "edit", edits=True)
    assert after.edited("one") is after
    assert after.reset().edits == after.edits


def test_f106_of_more_calls_than_the_window_the_oldest_go() -> None:
    track = CallHistory()
    for mark in "ABCDE":
        track = track.made(mark, 3)
    assert track.calls == ("C", "D", "E")
    assert track.made("F", 0).calls == ("C", "D", "E", "F")


Made = tuple[str, str]  # a tool and its error; empty: it worked


def of(made: Made, *, ran: bool = True) -> CallFailure:
    return CallFailure(made[0], normalized_error(made[1]), ran=ran)


def after(*answers: Sequence[Made], ran: bool = True) -> CallHistory:
    """Returns the track after answers with these calls."""
    track = CallHistory()
    for answer in answers:
        for made in answer:
            track = track.failed_by(of(made, ran=ran)) if made[1] else track.worked(made[0])
        track = track.answered()
    return track


def failing(*calls: Made) -> str:
    """Makes calls, each an answer of its own; says what is wrong with the last tool then."""
    return failure_warning(after(*[(call,) for call in calls]), calls[-1][0], LoopLimits())


IN_A_ROW = "All calls failed in 3 answers in a row."


def test_f108_failures_in_a_row_are_counted_and_a_success_ends_them() -> None:
    one, two, three = ("read", "one"), ("list", "two"), ("read", "three")
    assert failing(one, two) == ""
    assert failing(one, two, three) == IN_A_ROW
    assert failing(one, two, ("list", ""), three, two) == ""


def test_f108_a_tool_that_did_not_fail_may_be_tried() -> None:
    track = after([("read", "1")], [("read", "b")], [("read", "c")])
    tools = ("read", "list")
    assert [bool(failure_warning(track, tool, LoopLimits())) for tool in tools] == [True, False]


def test_f108_the_same_error_three_times_counts_whatever_other_tools_do() -> None:
    paths = ("/a/b.py in line 7", "/c/d.py in line 12", "x/y in line 0")
    same = [("read", f"No {path}.") for path in paths]
    fine = ("list", "")
    assert failing(same[0], fine, same[1], fine, same[2]) == "The same error occurred 3 times."
    assert failing(same[0], fine, same[1], fine, ("read", "Another.")) == ""
    assert failing(same[0], same[1], ("read", ""), same[2]) == ""


def test_f108_the_same_error_of_another_command_is_another_error() -> None:
    track = CallHistory()
    for command in ("make a", "make b", "make c"):
        failure = CallFailure("shell", "exit code #.", command, ran=True)
        track = track.failed_by(failure).answered().worked("read").answered()
    assert retry_objection(track, "shell", LoopLimits()) == ""
    for _ in range(2):
        track = track.failed_by(failure).answered().worked("read").answered()
    assert retry_objection(track, "shell", LoopLimits()) == "The same error occurred 3 times."


def test_f108_a_new_edit_makes_old_errors_forgotten() -> None:
    error = of(("x", "e"))
    track = CallHistory()
    for _ in range(2):
        track = track.failed_by(error).answered().worked("y").answered()
    third = track.failed_by(error).answered()
    assert failure_warning(third, "x", LoopLimits()) == "The same error occurred 3 times."
    assert failure_warning(third, "x", LoopLimits(failures=0)) == ""
    assert failure_warning(track.edited("one").failed_by(error).answered(), "x", LoopLimits()) == ""


CALLS = st.tuples(st.sampled_from(["read", "shell", "edit"]), st.sampled_from(["", "a", "b"]))


@given(st.lists(st.lists(CALLS, max_size=6), max_size=12))
def test_f108_an_answer_counts_once_whatever_is_in_it(answers: list[list[Made]]) -> None:
    track = after(*answers)
    streak = 0
    for answer in answers:
        if any(not error for _, error in answer):
            streak = 0
        elif answer:
            streak += 1
    assert (track.failed, track.ran) == (streak, streak)
    assert len(track.errors) <= len(answers) * len({"read", "shell", "edit"}) * len({"a", "b"})
    longest = max(Counter((e.tool, e.error) for e in track.errors).values(), default=0)
    assert longest <= len(answers)


@given(st.lists(st.lists(CALLS, max_size=6), max_size=12))
def test_f108_what_never_ran_is_never_hopeless(answers: list[list[Made]]) -> None:
    track = after(*answers, ran=False)
    tools = ("read", "shell", "edit")
    assert [retry_objection(track, tool, LoopLimits()) for tool in tools] == ["", "", ""]


@given(st.lists(st.lists(CALLS, min_size=1, max_size=6), max_size=12))
def test_f108_a_success_makes_good_what_its_tool_did_wrong(answers: list[list[Made]]) -> None:
    track = after(*answers).worked("shell")
    assert (failure_warning(track, "shell", LoopLimits()), track.failed) == ("", 0)


@given(st.integers(0, 9), st.integers(0, 5))
def test_f108_so_many_failing_answers_are_too_many(answers: int, most: int) -> None:
    track = after(*[[("shell", f"{'abcdefghi'[n]}")] for n in range(answers)])
    limits = LoopLimits(failures=most)
    reached = most > 0 and answers >= most
    assert bool(failure_warning(track, "shell", limits)) is reached
    assert bool(retry_objection(track, "shell", limits)) is reached
    assert bool(retry_objection(track, "shell", limits, foreign=True)) is (0 < most < answers)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Error 12 at 0xFF3a", "error 7  at\n0x01", True),
        ("No file src/a/b.py.", "No file ../other/c.", True),
        ("No such file", "No such folder", False),
        ("x" * 5000, "x" * 9000, True),
    ],
)
def test_f108_numbers_and_paths_make_no_other_error(one: str, other: str, same: bool) -> None:
    assert (normalized_error(one) == normalized_error(other)) is same


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"path": "./a.txt"}, {"path": "a.txt"}),
        ({"path": "././src//a.txt"}, {"path": "src/b/../a.txt"}),
        ({"path": "a", "to": "./b/"}, {"path": "./a", "to": "b"}),
        ({"command": "git  status \n"}, {"command": "git status"}),
        ({"edits": [{"path": "./a"}]}, {"edits": [{"path": "a"}]}),
    ],
)
def test_f106_another_spelling_is_the_same_call(
    one: dict[str, object], other: dict[str, object]
) -> None:
    assert canonical_arguments(one) == canonical_arguments(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"path": "a"}, {"path": "/a"}),
        ({"path": "../a"}, {"path": "a"}),
        ({"path": ""}, {"path": "."}),
        ({"content": "./a"}, {"content": "a"}),
        ({"content": "a  b"}, {"content": "a b"}),
        ({"command": "ab"}, {"command": "a b"}),
    ],
)
def test_f106_what_says_something_else_is_another_call(
    one: dict[str, object], other: dict[str, object]
) -> None:
    assert canonical_arguments(one) != canonical_arguments(other)
