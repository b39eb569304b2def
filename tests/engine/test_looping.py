"""The loop guard over a whole turn: warn, ask, block; go on; failures; rules (F106 to F108)."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from assent.core.message import Call
from assent.core.tool import Action, Attempt, Decision, Outcome, Request, Verdict
from assent.engine.session.looping import ELSE, LoopGuard
from assent.gate.loops import LoopLimits

RUNS = Decision(Verdict.RUN)
ASKS = Decision(Verdict.ASK, "It is the same thing once more.", "loop")
OK = Outcome("done")
BAD = Outcome("It failed.", failed=True)
ACTIONS = {"read": Action.READ, "edit": Action.EDIT, "shell": Action.SHELL}


class Turn:
    """Makes calls as a toolbox does; `answers` says what the person says when asked."""

    def __init__(
        self, limits: LoopLimits | None = None, rule: Decision = ASKS, *, answers: bool = False
    ) -> None:
        self.judged: list[Request] = []
        self.guard = LoopGuard(limits or LoopLimits(), self._judge)
        self.answers = answers
        self._rule = rule
        self._count = 0

    def _judge(self, request: Request, attempt: Attempt) -> Decision:
        self.judged.append(request)
        return self._rule

    def attempt(self, tool: str, args: dict[str, Any], decision: Decision = RUNS) -> Attempt:
        self._count += 1
        requests = (Request(ACTIONS[tool], "x"),)
        call = Call(f"c{self._count}", tool, args)
        return Attempt("s1", "build", "ask", call, tool, requests, decision)

    def call(
        self,
        tool: str = "read",
        outcome: Outcome = OK,
        decision: Decision = RUNS,
        **args: object,
    ) -> str:
        """Makes a call; returns `ran`, `warned`, `asked` (and answered) or `blocked`."""
        attempt = self.attempt(tool, args, decision)
        said = self.guard.before(attempt)
        verdict = said.verdict if said else decision.verdict
        refused = verdict is Verdict.DENY or (verdict is Verdict.ASK and not self.answers)
        settled = Decision(Verdict.DENY) if refused else Decision(verdict)
        told = Outcome("No.", failed=True) if refused else outcome
        heard = self.guard.after(_with(attempt, settled), told)
        if said is not None:
            return "blocked" if said.verdict is Verdict.DENY else "asked"
        return "ran" if heard == told else "warned"


def _with(attempt: Attempt, decision: Decision) -> Attempt:
    return Attempt(
        attempt.session, attempt.agent, attempt.mode, attempt.call, attempt.tool,
        attempt.requests, decision,
    )  # fmt: skip


def test_f106_f107_the_same_call_over_four_steps_warns_asks_and_blocks() -> None:
    turn = Turn()
    assert [turn.call(path="a") for _ in range(5)] == [
        "ran", "warned", "asked", "blocked", "blocked",
    ]  # fmt: skip
    assert turn.call(path="b") == "ran"


def test_f106_a_cycle_is_a_loop() -> None:
    turn = Turn()
    assert [turn.call(path=path) for path in "ABABABAB"] == [
        "ran", "ran", "warned", "warned", "asked", "asked", "blocked", "blocked",
    ]  # fmt: skip


def test_f107_the_words_say_how_often_and_what_to_do() -> None:
    turn = Turn(answers=True)
    turn.call(path="a")
    second = turn.attempt("read", {"path": "a"})
    assert turn.guard.before(second) is None
    warned = (
        "done\n\n[This very call is made for the 2nd time in this turn. Nothing new comes of it; "
        f"after more of them it is refused. {ELSE}]"
    )
    assert turn.guard.after(second, OK) == Outcome(warned)
    third = turn.attempt("read", {"path": "a"})
    assert turn.guard.before(third) == Decision(
        Verdict.ASK,
        "This very call is made for the 3rd time in this turn.",
        "loop",
    )
    fourth = turn.attempt("read", {"path": "a"})
    assert turn.guard.before(fourth) == Decision(
        Verdict.DENY,
        f"This very call is made for the 4th time in this turn. It is refused. {ELSE}",
        "loop",
    )


def test_f107_a_cycle_is_named_as_one() -> None:
    turn = Turn()
    for path in "ABABA":
        turn.call(path=path)
    said = turn.guard.before(turn.attempt("read", {"path": "B"}))
    assert said is not None
    assert said.reason == "The same 2 calls come for the 3rd time in this turn."


def test_f107_go_on_begins_anew() -> None:
    turn = Turn(answers=True)
    assert [turn.call(path="a") for _ in range(6)] == [
        "ran", "warned", "asked", "warned", "asked", "warned",
    ]  # fmt: skip


def test_f106_edit_test_edit_test_is_no_loop() -> None:
    turn = Turn()
    for number in range(8):
        assert turn.call("edit", new=number) == "ran"
        assert turn.call("shell", command="make test") == "ran"
        assert turn.call("read", path="a") == "ran"


def test_f106_identical_edits_count_over_the_whole_turn() -> None:
    turn = Turn()
    found = []
    for number in range(4):
        found.append(turn.call("edit", old="x", new="y"))
        turn.call("edit", other=number)
        turn.call("shell", command="make test")
    assert found == ["ran", "warned", "asked", "blocked"]


def test_f106_edits_to_and_fro_are_a_loop_with_what_is_between_them() -> None:
    turn = Turn(LoopLimits(failures=0))
    found = []
    for way in ("there", "back") * 3:
        turn.call("edit", way=way)
        found.append(turn.call("shell", command="make test"))
    assert found == ["ran", "ran", "warned", "asked", "blocked", "blocked"]


def test_f106_an_edit_that_failed_is_no_progress() -> None:
    turn = Turn(LoopLimits(failures=0))
    found = []
    for number in range(4):
        turn.call("edit", BAD, new=number)
        found.append(turn.call("shell", command="make test"))
    assert found == ["ran", "warned", "asked", "blocked"]


def test_f106_a_command_that_changes_files_is_progress_once() -> None:
    turn = Turn()
    changed = Outcome("done", metadata={"changed": ["a"]})
    for number in range(6):
        assert turn.call("shell", changed, command=f"sed {number}") == "ran"
        assert turn.call("shell", command="make test") == "ran"
    same = [turn.call("shell", changed, command="make") for _ in range(5)]
    assert same == ["ran", "ran", "warned", "asked", "blocked"]


def test_f106_what_the_gate_denies_counts_and_is_not_asked_about() -> None:
    turn = Turn(LoopLimits())
    denied = [turn.call(path="a", decision=Decision(Verdict.DENY)) for _ in range(6)]
    assert denied == ["ran"] * 6  # the guard adds nothing to a no
    assert turn.call(path="a") == "blocked"
    assert turn.call(path="b") == "ran"  # a no is no failure


def test_f108_three_failures_in_a_row_ask_and_then_block() -> None:
    turn = Turn()
    texts = ("one", "two", "three")
    assert [turn.call(outcome=Outcome(t, failed=True), path=t) for t in texts] == ["ran"] * 3
    assert [turn.call(path=path) for path in "xyz"] == ["asked", "blocked", "blocked"]


def test_f108_what_is_blocked_may_be_tried_again_after_something_else_worked() -> None:
    turn = Turn()
    for number in range(3):
        turn.call(outcome=BAD, path=number)
    assert [turn.call(path=path) for path in "xy"] == ["asked", "blocked"]
    assert turn.call("shell", command="ls") == "ran"
    assert turn.call(path="z") == "ran"


def test_f108_many_failures_at_once_are_asked_about_before_anything_is_blocked() -> None:
    turn = Turn()
    attempts = [turn.attempt("read", {"path": path}) for path in "abcdef"]
    assert [turn.guard.before(each) for each in attempts] == [None] * 6
    for each in attempts:
        turn.guard.after(each, Outcome(each.call.id, failed=True))
    assert turn.call(path="x") == "asked"


def test_f108_go_on_and_a_success_end_the_streak() -> None:
    turn = Turn(answers=True)
    for path in "abc":
        turn.call(outcome=BAD, path=path)
    assert [turn.call(path=path) for path in "defg"] == ["asked", "ran", "ran", "ran"]


def test_f108_a_go_on_that_fails_again_is_one_failure() -> None:
    turn = Turn(answers=True)
    found = [turn.call(outcome=BAD, path=path) for path in "abcdefg"]
    assert found == ["ran", "ran", "ran", "asked", "ran", "ran", "asked"]


def test_f108_the_same_error_three_times_asks() -> None:
    turn = Turn()
    for number in range(3):
        turn.call("shell", command=f"fine {number}")
        turn.call(outcome=Outcome(f"No src/{number}.py in line {number}.", failed=True), n=number)
    said = turn.guard.before(turn.attempt("read", {"path": "next"}))
    assert said == Decision(Verdict.ASK, "The same error came 3 times.", "loop")


@pytest.mark.parametrize(
    ("rule", "found"),
    [
        (Decision(Verdict.RUN, "Mine.", "user", "r"), ["ran", *["warned"] * 4]),
        (
            Decision(Verdict.DENY, "Mine.", "user", "r"),
            ["ran", "warned", "blocked", "blocked", "blocked"],
        ),
        (ASKS, ["ran", "warned", "asked", "blocked", "blocked"]),
        (Decision(Verdict.STAGE), ["ran", "warned", "asked", "blocked", "blocked"]),
    ],
)
def test_f107_rules_speak_of_loops_as_doom_loop(rule: Decision, found: list[str]) -> None:
    turn = Turn(rule=rule)
    assert [turn.call(path="a") for _ in range(5)] == found
    assert turn.judged[0] == Request(Action.LOOP, "read")
    assert turn.judged[0].permission == "doom_loop"


def test_f107_a_rule_that_denies_is_named() -> None:
    turn = Turn(rule=Decision(Verdict.DENY, "Not here.", "user", "doom_loop: * = deny"))
    turn.call(path="a")
    turn.call(path="a")
    assert turn.guard.before(turn.attempt("read", {"path": "a"})) == Decision(
        Verdict.DENY,
        f"This very call is made for the 3rd time in this turn. Not here. {ELSE}",
        "loop",
        "doom_loop: * = deny",
    )


def test_f106_a_call_that_is_settled_anew_counts_once() -> None:
    turn = Turn()
    attempt = turn.attempt("read", {"path": "a"})
    assert [turn.guard.before(attempt) for _ in range(9)] == [None] * 9


def test_f106_a_call_that_never_got_to_the_guard_counts_when_it_ends() -> None:
    turn = Turn()
    for _ in range(3):
        bad = turn.attempt("read", {"path": "a"}, Decision(Verdict.DENY))
        assert turn.guard.after(bad, BAD) == BAD
    assert turn.call(path="a") == "blocked"


def test_f106_calls_side_by_side_are_all_counted() -> None:
    turn = Turn(LoopLimits(0, 0, 201, window=0))
    attempts = [turn.attempt("read", {"path": "a"}) for _ in range(200)]

    def make(attempt: Attempt) -> Outcome:
        turn.guard.before(attempt)
        return turn.guard.after(attempt, OK)

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(make, attempts)) == [OK] * 200
    assert turn.call(path="a") == "blocked"


def test_f107_a_turn_that_only_goes_in_circles_is_ended() -> None:
    turn = Turn(LoopLimits(give_up=2))
    found = []
    for _ in range(5):
        made = turn.call(path="a")
        found.append((made, bool(turn.guard.stuck())))
    assert found == [
        ("ran", False), ("warned", False), ("asked", False), ("blocked", True), ("blocked", True),
    ]  # fmt: skip


def test_f107_an_answer_in_which_anything_works_begins_anew() -> None:
    turn = Turn(LoopLimits(give_up=2))
    for number in range(6):
        turn.call(path="a")
        turn.call("shell", command=f"fine {number}")
        assert turn.guard.stuck() == ""


def test_f107_zero_never_gives_up() -> None:
    turn = Turn(LoopLimits(give_up=0))
    for _ in range(30):
        turn.call(path="a")
        assert turn.guard.stuck() == ""


def test_f107_a_no_of_the_gate_counts_only_where_it_is_the_same_call() -> None:
    turn = Turn(LoopLimits(give_up=1))
    no = Decision(Verdict.DENY)
    for number in range(9):
        turn.call(path=number, decision=no)
        assert turn.guard.stuck() == ""
    ends = []
    for _ in range(3):
        turn.call(path="a", decision=no)
        ends.append(bool(turn.guard.stuck()))
    assert ends == [False, False, True]


@pytest.mark.parametrize("decision", [RUNS, Decision(Verdict.DENY)])
def test_f108_calls_that_nobody_can_read_are_a_streak_whatever_they_name(
    decision: Decision,
) -> None:
    turn = Turn(LoopLimits(give_up=2))
    ends = []
    for number in range(5):
        call = Call(f"u{number}", f"none{number}", {})
        unread = Attempt("s1", "build", "ask", call, call.tool, (), decision)
        turn.guard.after(unread, Outcome(f"There is no tool {number}.", failed=True))
        ends.append(bool(turn.guard.stuck()))
    assert ends == [False, False, False, True, True]
    assert turn.call(path="a") == "ran"  # what can be read is not held back by it


def test_f106_a_model_that_is_only_refused_comes_to_an_end() -> None:
    turn = Turn()
    ends = []
    for number in range(20):
        turn.call("shell", decision=Decision(Verdict.ASK), command=f"touch {number}")
        ends.append(bool(turn.guard.stuck()))
    assert ends == [False] * 19 + [True]


def test_nobody_is_asked_about_a_command_that_is_only_staged() -> None:
    """The person who approves the plan is; repeated to no end, it is refused like anything."""
    staged = Decision(Verdict.STAGE)
    turn = Turn()
    found = [turn.call("shell", decision=staged, command="make") for _ in range(4)]
    assert found == ["ran", "warned", "warned", "blocked"]
    failing = Turn(LoopLimits(failures=1))
    assert failing.call("shell", BAD, command="cat a") == "ran"
    assert failing.call("shell", decision=staged, command="make") == "ran"
    assert (turn.judged, failing.judged) == ([], [])
    assert Turn(LoopLimits(ask=1)).call("shell", command="cat a") == "asked"
