"""The loop guard over a whole turn: warn, ask, block; go on; failures; rules (F106 to F108)."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from assent.agent.loop_guard import DO_SOMETHING_ELSE, LoopGuard, LoopLimits, same_error_text
from assent.core.llm import ToolCall
from assent.core.tool import Action, Decision, GuardedCall, ResourceAccess, ToolOutcome, Verdict
from assent.sandbox.read_only_shell import only_reads

RUNS = Decision(Verdict.RUN)
ASKS = Decision(Verdict.ASK, "It repeats the same call.", "loop")
OK = ToolOutcome("done")
BAD = ToolOutcome("It failed.", failed=True)
CRASHED = ToolOutcome("It failed.\n[Exit code 2.]", failed=True, metadata={"exit": 2})
NOT_FOUND = ToolOutcome("No such program.", failed=True, metadata={"exit": 127})
ACTIONS = {
    "read": Action.READ, "edit": Action.EDIT, "shell": Action.SHELL, "server_x": Action.TOOL,
    "fetch": Action.FETCH, "grep": Action.SEEK, "present_plan": Action.PRESENT, "task": Action.TASK,
}  # fmt: skip
FREE = ("read", "grep", "fetch", "edit", "present_plan")  # failing, they have done nothing


class Turn:
    """Makes calls as a toolbox does; `answers` says what the person says when asked."""

    def __init__(
        self, limits: LoopLimits | None = None, rule: Decision = ASKS, *, answers: bool = False
    ) -> None:
        self.judged: list[ResourceAccess] = []
        self.guard = LoopGuard(limits or LoopLimits(), self._judge, only_reads)
        self.answers = answers
        self.stuck = ""  # what the guard said to the last answer
        self._rule = rule
        self._count = 0

    def _judge(self, request: ResourceAccess, attempt: GuardedCall) -> Decision:
        self.judged.append(request)
        return self._rule

    def attempt(self, tool: str, args: dict[str, Any], decision: Decision = RUNS) -> GuardedCall:
        self._count += 1
        requests = (ResourceAccess(ACTIONS[tool], str(args.get("command", "x"))),)
        call = ToolCall(f"c{self._count}", tool, args)
        return GuardedCall("s1", "build", "ask", call, tool, requests, decision)

    def call(
        self,
        tool: str = "read",
        outcome: ToolOutcome = OK,
        decision: Decision = RUNS,
        **args: object,
    ) -> str:
        """Makes a call, an answer of its own; returns `ran`, `warned`, `asked` or `blocked`."""
        made = self.one(tool, outcome, decision, **args)
        self.stuck = self.guard.turn_end_reason()
        return made

    def one(
        self,
        tool: str = "read",
        outcome: ToolOutcome = OK,
        decision: Decision = RUNS,
        **args: object,
    ) -> str:
        """Makes a call that is one of several in its answer."""
        attempt = self.attempt(tool, args, decision)
        said = self.guard.before(attempt)
        verdict = said.verdict if said else decision.verdict
        refused = verdict is Verdict.DENY or (verdict is Verdict.ASK and not self.answers)
        settled = Decision(Verdict.DENY) if refused else Decision(verdict)
        told = ToolOutcome("No.", failed=True) if refused else outcome
        heard = self.guard.after(_with(attempt, settled), told)
        if said is not None:
            return "blocked" if said.verdict is Verdict.DENY else "asked"
        return "ran" if heard == told else "warned"


def _with(attempt: GuardedCall, decision: Decision) -> GuardedCall:
    return GuardedCall(
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
        "done\n\n[This exact call was made for the 2nd time in this turn. The result does "
        f"not change; further repeats will be denied. {DO_SOMETHING_ELSE}]"
    )
    assert turn.guard.after(second, OK) == ToolOutcome(warned)
    third = turn.attempt("read", {"path": "a"})
    assert turn.guard.before(third) == Decision(
        Verdict.ASK,
        "This exact call was made for the 3rd time in this turn.",
        "loop",
    )
    fourth = turn.attempt("read", {"path": "a"})
    assert turn.guard.before(fourth) == Decision(
        Verdict.DENY,
        "This exact call was made for the 4th time in this turn. It is denied. "
        f"{DO_SOMETHING_ELSE}",
        "loop",
    )


def test_f107_a_cycle_is_named_as_one() -> None:
    turn = Turn()
    for path in "ABABA":
        turn.call(path=path)
    said = turn.guard.before(turn.attempt("read", {"path": "B"}))
    assert said is not None
    assert said.reason == "The same 2 calls were made for the 3rd time in this turn."


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
    changed = ToolOutcome("done", metadata={"changed": ["a"]})
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
    made = [turn.call("shell", CRASHED, command=f"make {n}") for n in range(3)]
    assert made == ["ran", "ran", "warned"]
    assert [turn.call("shell", command=f"make {w}") for w in "xyz"] == [
        "asked", "blocked", "blocked",
    ]  # fmt: skip


def test_f108_what_is_blocked_may_be_tried_again_after_something_else_worked() -> None:
    turn = Turn()
    for number in range(3):
        turn.call("shell", CRASHED, command=f"make {number}")
    assert [turn.call("shell", command=f"make {w}") for w in "xy"] == ["asked", "blocked"]
    assert turn.call(path="a") == "ran"
    assert turn.call("shell", command="make z") == "ran"


@pytest.mark.parametrize("tool", ["shell", "task", "server_x", *FREE])
def test_f108_the_calls_of_one_answer_fail_once(tool: str) -> None:
    turn = Turn()
    found = [turn.one(tool, CRASHED, command=f"make {n}") for n in range(9)]
    assert found == ["ran"] * 9
    assert turn.guard.turn_end_reason() == ""
    assert turn.call(tool, command="make all") == "ran"


@pytest.mark.parametrize("tool", FREE)
def test_f108_what_fails_without_an_effect_is_never_refused_for_that(tool: str) -> None:
    """A corrected call runs; that the others failed is only said."""
    turn = Turn()
    found = [turn.call(tool, BAD, path=number) for number in range(9)]
    assert found == ["ran", "ran", *["warned"] * 7]
    assert (turn.call(tool, path="good"), turn.judged) == ("ran", [])


@pytest.mark.parametrize("line", ["cat a", "grep x a | head", "git log", "cd src && rg x"])
def test_f108_a_command_that_only_reads_is_not_refused_for_earlier_failures(line: str) -> None:
    turn = Turn()
    for number in range(5):
        turn.call("shell", CRASHED, command=f"make {number}")
    assert turn.call("shell", command="make all") == "blocked"
    assert turn.call("shell", CRASHED, command=line) == "warned"
    assert turn.call("shell", command=f"{line} ") == "warned"  # its second time


def test_f108_reading_that_fails_holds_no_command_back() -> None:
    turn = Turn()
    for number in range(6):
        turn.call("shell", CRASHED, command=f"cat {number}")
    assert turn.call("shell", command="make") == "ran"


def test_f108_a_command_that_never_began_can_be_corrected() -> None:
    turn = Turn()
    for word in ("maek", "mkae", "make-all", "mak"):
        turn.call("shell", NOT_FOUND, command=word)
    for number in range(4):
        turn.call("shell", BAD, command=f"make {number}")  # refused by the engine: no exit code
    assert turn.call("shell", command="make") == "ran"


def test_f108_a_tool_of_a_server_has_one_attempt_to_be_corrected() -> None:
    turn = Turn()
    made = [turn.call("server_x", BAD, n=number) for number in range(3)]
    assert (made, turn.call("server_x", n="good")) == (["ran", "ran", "warned"], "ran")
    for number in range(4):
        turn.call("server_x", BAD, m=number)
    assert [turn.call("server_x", n=word) for word in "xy"] == ["asked", "blocked"]


def test_f108_different_commands_do_not_fail_alike() -> None:
    """Something works in between, so that they are no streak either."""
    turn = Turn()
    for number in range(6):
        assert turn.call("shell", CRASHED, command=f"make {number}") == "ran"
        assert turn.call(path=number) == "ran"


def test_f108_go_on_and_a_success_end_the_streak() -> None:
    turn = Turn(answers=True)
    for word in "abc":
        turn.call("shell", CRASHED, command=f"make {word}")
    assert [turn.call("shell", command=f"make {word}") for word in "defg"] == [
        "asked", "ran", "ran", "ran",
    ]  # fmt: skip


def test_f108_a_go_on_that_fails_again_is_one_failure() -> None:
    turn = Turn(answers=True)
    found = [turn.call("shell", CRASHED, command=f"make {word}") for word in "abcdefg"]
    assert found == ["ran", "ran", "warned", "asked", "ran", "warned", "asked"]


def test_f108_the_same_error_three_times_asks() -> None:
    turn = Turn()
    for number in range(4):
        turn.call(path=f"fine {number}")
        turn.call(
            "server_x", ToolOutcome(f"No a/{number}.py in line {number}.", failed=True), n=number
        )
    said = turn.guard.before(turn.attempt("server_x", {"path": "next"}))
    assert said == Decision(Verdict.ASK, same_error_text(4), "loop")


def test_f108_the_model_is_told_that_nothing_works() -> None:
    turn = Turn()
    for number in range(2):
        turn.call("edit", ToolOutcome(f"{'abc'[number]}", failed=True), n=number)
    third = turn.attempt("edit", {"n": 2})
    assert turn.guard.before(third) is None
    told = f"no such text\n\n[All calls failed in 3 answers in a row. {DO_SOMETHING_ELSE}]"
    assert turn.guard.after(third, ToolOutcome("no such text", failed=True)).text == told


def test_f108_a_model_for_which_nothing_works_comes_to_an_end() -> None:
    turn = Turn()
    ends = []
    for number in range(20):
        turn.call("edit", BAD, n=number)
        ends.append(bool(turn.stuck))
    assert ends == [False] * 19 + [True]


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
    assert turn.judged[0] == ResourceAccess(Action.LOOP, "read")
    assert turn.judged[0].permission == "doom_loop"


def test_f107_a_rule_that_denies_is_named() -> None:
    turn = Turn(rule=Decision(Verdict.DENY, "Not here.", "user", "doom_loop: * = deny"))
    turn.call(path="a")
    turn.call(path="a")
    assert turn.guard.before(turn.attempt("read", {"path": "a"})) == Decision(
        Verdict.DENY,
        f"This exact call was made for the 3rd time in this turn. Not here. {DO_SOMETHING_ELSE}",
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

    def make(attempt: GuardedCall) -> ToolOutcome:
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
        found.append((made, bool(turn.stuck)))
    assert found == [
        ("ran", False), ("warned", False), ("asked", False), ("blocked", True), ("blocked", True),
    ]  # fmt: skip


def test_f107_an_answer_in_which_anything_works_begins_anew() -> None:
    turn = Turn(LoopLimits(give_up=2))
    for number in range(6):
        turn.one(path="a")
        turn.call("shell", command=f"fine {number}")
        assert turn.stuck == ""


def test_f107_zero_never_gives_up() -> None:
    turn = Turn(LoopLimits(give_up=0))
    for _ in range(30):
        turn.call(path="a")
        assert turn.stuck == ""


def test_f107_a_no_of_the_gate_counts_only_where_it_is_the_same_call() -> None:
    turn = Turn(LoopLimits(give_up=1))
    no = Decision(Verdict.DENY)
    for number in range(9):
        turn.call(path=number, decision=no)
        assert turn.stuck == ""
    ends = []
    for _ in range(3):
        turn.call(path="a", decision=no)
        ends.append(bool(turn.stuck))
    assert ends == [False, False, True]


@pytest.mark.parametrize("decision", [RUNS, Decision(Verdict.DENY)])
def test_f108_calls_that_nobody_can_read_are_a_streak_whatever_they_name(
    decision: Decision,
) -> None:
    turn = Turn(LoopLimits(give_up=2))
    ends = []
    for number in range(5):
        call = ToolCall(f"u{number}", f"none{number}", {})
        unread = GuardedCall("s1", "build", "ask", call, call.tool, (), decision)
        turn.guard.after(unread, ToolOutcome(f"Tool {number} not found.", failed=True))
        ends.append(bool(turn.guard.turn_end_reason()))
    assert ends == [False, False, False, True, True]
    assert turn.call(path="a") == "ran"  # what can be read is not held back by it


def test_f106_a_model_that_is_only_refused_comes_to_an_end() -> None:
    turn = Turn()
    ends = []
    for number in range(20):
        turn.call("shell", decision=Decision(Verdict.ASK), command=f"touch {number}")
        ends.append(bool(turn.stuck))
    assert ends == [False] * 19 + [True]


def test_nobody_is_asked_about_a_command_that_is_only_staged() -> None:
    """The person who approves the plan is; repeated to no end, it is refused like anything."""
    staged = Decision(Verdict.STAGE)
    turn = Turn()
    found = [turn.call("shell", decision=staged, command="make") for _ in range(4)]
    assert found == ["ran", "warned", "warned", "blocked"]
    failing = Turn(LoopLimits(failures=1))
    assert failing.call("shell", CRASHED, command="make a") == "warned"
    assert failing.call("shell", decision=staged, command="make") == "ran"
    assert (turn.judged, failing.judged) == ([], [])
    assert Turn(LoopLimits(ask=1)).call("shell", command="cat a") == "asked"


def named(option: str) -> ToolOutcome:
    """The outcome of a call that goes to the draft of an option, as all calls after it do."""
    return ToolOutcome("done", metadata={"option": option})


def test_the_same_call_for_another_option_is_another_call() -> None:
    turn = Turn()
    told = []
    for label in ("A", "B", "C"):
        turn.call("edit", named(label), option=label)
        told.append(turn.call(path="a"))
    assert told == ["ran"] * 3
    assert turn.call(path="a") == "warned"


def test_going_back_and_forth_between_options_is_a_loop_as_well() -> None:
    turn = Turn()
    told = []
    for label in "ABABABABAB":
        told.append(turn.call("present_plan", named(label), option=label))
        told.append(turn.call(path="a"))
    assert told[:4] == ["ran"] * 4
    assert "asked" in told
    assert told[-1] == "blocked"
