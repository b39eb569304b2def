"""Budgets of steps, tokens, dollars and seconds: reached, the person is asked (F110)."""

from collections.abc import Callable, Iterator
from threading import Thread

import pytest
from tests.support.model import PRICES, Spoken, drive, driver, says

from assent.agent.loop.budget import Budget, BudgetLimits, BudgetSpent
from assent.agent.loop.loop import KEPT_STAGED, AgentLoop
from assent.core.errors import Interrupted
from assent.core.event import StoredEvent
from assent.core.llm import (
    ModelRequest,
    PartCompleted,
    StopReason,
    StreamDelta,
    StreamEvent,
    TextPart,
    TokenUsage,
    ToolCall,
)
from assent.core.session.agent import Agent, PromptContext
from assent.core.session.event import INTERRUPTED_PLANNING, MessageAdded, TurnEnded
from assent.ports import OpenedModel
from assent.ports.cancellation import CancellableModelStream, CancelToken
from assent.testing.memory_turn import MemoryTurn

READ = ToolCall("c1", "read", {"path": "a"})
TOOLS = {"read": lambda args: "content"}
FIVE = TokenUsage(4, 1)  # six dollars, five tokens


def turn_of(*answers: bool) -> MemoryTurn:
    turn = MemoryTurn(tools=TOOLS)
    turn.answers = [*answers]
    return turn


def reads(count: int) -> Spoken:
    """A model that reads again and again, and then says so."""
    calls = [says(ToolCall(f"c{n}", "read", {"n": n}), usage=FIVE) for n in range(count)]
    return Spoken(*calls, says("Done.", usage=FIVE))


class Ticking:
    """A clock that advances whenever it is looked at."""

    def __init__(self, by: float) -> None:
        self._by = by
        self._now = 0.0

    def __call__(self) -> float:
        self._now += self._by
        return self._now


@pytest.mark.parametrize(
    ("limits", "question", "words"),
    [
        (
            BudgetLimits(max_budget=6.0),
            "$6.00 used. Continue with another $6.00?",
            "The budget of $6.00 is used up ($6.0000 so far).",
        ),
        (
            BudgetLimits(max_tokens=5),
            "5 tokens used. Continue with another 5?",
            "The budget of 5 tokens is used up (5 so far).",
        ),
        (
            BudgetLimits(max_tokens=1),
            "5 tokens used. Continue with another 1?",
            "The budget of 1 token is used up (5 so far).",
        ),
    ],
)
def test_f110_a_budget_that_is_spent_asks_and_without_a_yes_ends_with_what_is_kept(
    limits: BudgetLimits, question: str, words: str
) -> None:
    turn, model = turn_of(), reads(2)
    drive(driver(model, limits, prices=PRICES), turn)
    assert turn.asked == [("Budget", question)]
    assert (len(model.asked), turn.events[-1]) == (1, TurnEnded("budget", f"{words} {KEPT_STAGED}"))


@pytest.mark.parametrize("limits", [BudgetLimits(max_budget=6.0), BudgetLimits(max_tokens=5)])
def test_f110_a_yes_extends_by_the_same_amount(limits: BudgetLimits) -> None:
    turn, model = turn_of(True, True, True), reads(3)
    it = driver(model, limits, prices=PRICES)
    drive(it, turn)
    assert (len(model.asked), len(turn.asked)) == (4, 3)
    assert turn.events[-1] == TurnEnded("end")
    assert it.purse.spent == BudgetSpent(20, 24.0, 0.0)


def test_f110_a_no_after_a_yes_says_what_was_allowed_in_all() -> None:
    turn, model = turn_of(True, False), reads(3)
    drive(driver(model, BudgetLimits(max_tokens=5)), turn)
    words = f"The budget of 10 tokens is used up (10 so far). {KEPT_STAGED}"
    assert (len(model.asked), turn.events[-1]) == (2, TurnEnded("budget", words))


def test_f110_one_step_that_spends_far_more_is_asked_about_once() -> None:
    turn, model = turn_of(True), reads(1)
    drive(driver(model, BudgetLimits(max_tokens=1)), turn)
    assert (len(turn.asked), turn.events[-1]) == (1, TurnEnded("end"))


def test_f110_the_next_turn_asks_anew() -> None:
    turn, model = turn_of(False, True), reads(1)
    it = driver(model, BudgetLimits(max_tokens=5))
    drive(it, turn)
    turn.begin("Go on")
    drive(it, turn)
    assert [event for event in turn.events if isinstance(event, TurnEnded)] == [
        TurnEnded("budget", f"The budget of 5 tokens is used up (5 so far). {KEPT_STAGED}"),
        TurnEnded("end"),
    ]


def test_f110_seconds_are_those_of_one_turn() -> None:
    opened = OpenedModel(reads(3), "test/model")
    it = AgentLoop(
        lambda name: opened, PromptContext(), BudgetLimits(max_seconds=30.0), Ticking(4.0)
    )
    turn = turn_of(False)
    drive(it, turn)
    ended = turn.events[-1]
    assert isinstance(ended, TurnEnded)
    assert (ended.why, ended.words.endswith(KEPT_STAGED)) == ("budget", True)
    assert turn.asked[0][1].endswith("seconds. Continue for another 30?")
    turn.answers = [True] * 9
    turn.begin("Go on")
    drive(it, turn)
    assert turn.events[-1] == TurnEnded("end")


def test_f110_before_the_last_step_the_person_may_allow_more() -> None:
    turn, model = turn_of(True, False), reads(5)
    drive(driver(model, BudgetLimits(max_turns=2)), turn)
    assert turn.asked == [
        ("Steps", "The turn has taken 1 step, and the next is its last. Allow 2 more?"),
        ("Steps", "The turn has taken 3 steps, and the next is its last. Allow 2 more?"),
    ]
    assert [bool(prompt.tools) for prompt in model.asked] == [True, True, True, False]
    words = f"The turn reached its limit of 4 steps. {KEPT_STAGED}"
    assert turn.events[-1] == TurnEnded("limit", words)


def test_f110_a_limit_of_one_step_needs_no_question() -> None:
    turn, model = turn_of(True), reads(0)
    drive(driver(model, BudgetLimits(max_turns=1)), turn)
    assert (turn.asked, model.asked[0].tools) == ([], ())


def test_f109_steps_of_an_agent_hold_whatever_the_person_would_say() -> None:
    turn = MemoryTurn(tools=TOOLS, agents={"plan": Agent("plan", steps=2)})
    turn.answers = [True] * 3
    drive(driver(reads(2), BudgetLimits(max_turns=3)), turn)
    assert (turn.asked, turn.record.steps) == ([], 2)


def test_f110_children_spend_from_the_same_purse() -> None:
    turn, child = turn_of(), turn_of()
    model = reads(1)
    it = driver(model, BudgetLimits(max_tokens=10))
    drive(it.child_driver(), child)
    assert (it.purse.spent.tokens, child.events[-1]) == (10, TurnEnded("end"))
    drive(it, turn)
    words = f"The budget of 10 tokens is used up (10 so far). {KEPT_STAGED}"
    assert (len(model.asked), turn.events[-1]) == (2, TurnEnded("budget", words))


def test_f110_a_no_to_a_child_is_a_no_to_the_others_without_a_question() -> None:
    it = driver(reads(9), BudgetLimits(max_tokens=5))
    first, second = turn_of(False), turn_of(True)
    drive(it.child_driver(), first)
    drive(it.child_driver(), second)
    assert (len(first.asked), second.asked) == (1, [])
    assert second.events[-1] == first.events[-1]


def test_f110_a_childs_steps_are_its_own_and_fixed() -> None:
    turn = turn_of(True, True)
    model = reads(4)
    it = driver(model, BudgetLimits(max_turns=1))
    drive(it.child_driver(3), turn)
    assert (turn.asked, turn.record.steps) == ([], 3)
    assert [bool(prompt.tools) for prompt in model.asked] == [True, True, False]


def test_f110_two_who_ask_at_once_get_more_only_once() -> None:
    purse = Budget(BudgetLimits(max_tokens=5), lambda: 0.0)
    opened = OpenedModel(Spoken(), "test/model")
    purse.spend(opened, FIVE)
    one, other = purse.check(opened), purse.check(opened)
    assert one is not None
    assert one == other
    purse.extend(one)
    purse.extend(one)
    purse.spend(opened, FIVE)
    found = purse.check(opened)
    assert found is not None
    assert found.most == 10


def test_f110_payments_from_many_threads_are_all_counted() -> None:
    purse = Budget(BudgetLimits())
    opened = OpenedModel(Spoken(), "test/model", prices=PRICES)

    def pay() -> None:
        for _ in range(500):
            purse.spend(opened, FIVE)

    threads = [Thread(target=pay) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (purse.spent.tokens, purse.spent.dollars) == (10_000, 12_000.0)


def test_f126_what_nobody_counted_is_marked_as_a_guess() -> None:
    it = driver(Spoken(says("x" * 400)))
    drive(it, turn_of())
    assert it.purse.spent.guessed
    assert it.purse.spent.tokens > 100


def test_a_report_of_a_child_is_read_before_the_turn_ends() -> None:
    turn = turn_of()
    report = MessageAdded("m9", "plan", (TextPart("The child is done."),), "task")
    turn.reports = [report]
    model = Spoken(says("I wait."), says("It is done."))
    drive(driver(model), turn)
    assert model.asked[1].messages[-1].parts == report.parts
    assert turn.events[-1] == TurnEnded("end")
    assert sum(isinstance(event, TurnEnded) for event in turn.events) == 1


@pytest.mark.parametrize("stop", [StopReason.LENGTH, StopReason.END])
def test_a_turn_that_cannot_go_on_does_not_wait_for_reports(stop: StopReason) -> None:
    turn = turn_of()
    turn.reports = [MessageAdded("m9", "plan", (TextPart("Late."),), "task")]
    limits = BudgetLimits(max_turns=1) if stop is StopReason.END else None
    drive(driver(Spoken(says("Done.", stop=stop)), limits), turn)
    assert len(turn.reports) == 1


class Over(MemoryTurn):
    """A turn that somebody else ends before the next step."""

    def read_new_messages(self) -> tuple[StoredEvent, ...]:
        self._over = True
        return self.append_events(TurnEnded("paused", "Lunch."))


def test_f111_a_turn_that_ended_itself_is_left_alone() -> None:
    turn, model = Over(), Spoken()
    drive(driver(model), turn)
    assert (model.asked, turn.events[-1]) == ([], TurnEnded("paused", "Lunch."))


class Waiting:
    """A model that says half a word, and then waits until it is cut."""

    def __init__(self, on_wait: Callable[[], None]) -> None:
        self._on_wait = on_wait

    def stream(self, prompt: ModelRequest) -> CancellableModelStream:
        return CancellableModelStream(self._answer)

    def _answer(self, cut: CancelToken[str]) -> Iterator[StreamEvent]:
        yield StreamDelta("text", "ha")
        self._on_wait()
        cut.wait(30)
        cut.raise_if_cancelled()
        yield PartCompleted(TextPart("never"))


def test_f111_a_request_under_way_is_ended_from_another_thread() -> None:
    threads: list[Thread] = []

    def stop_elsewhere() -> None:
        threads.append(Thread(target=it.stop))
        threads[0].start()

    it, turn = driver(Waiting(stop_elsewhere)), turn_of()
    with pytest.raises(Interrupted):
        drive(it, turn)
    threads[0].join()
    assert turn.events[-1] == TurnEnded("interrupted", INTERRUPTED_PLANNING)


def test_f111_a_stop_between_two_requests_ends_the_turn_and_not_the_next_one() -> None:
    model = Spoken(says(READ), says("Again."))
    it = driver(model)

    def read(args: object) -> str:
        it.stop()
        return "content"

    turn = MemoryTurn(tools={"read": read})
    with pytest.raises(Interrupted):
        drive(it, turn)
    assert (len(model.asked), turn.events[-1]) == (
        1,
        TurnEnded("interrupted", INTERRUPTED_PLANNING),
    )
    turn.begin("Go on")
    drive(it, turn)
    assert turn.events[-1] == TurnEnded("end")


def test_f111_a_stop_before_the_work_begins_holds() -> None:
    model, turn = Spoken(), turn_of()
    child = driver(model).child_driver()
    child.stop()
    with pytest.raises(Interrupted):
        drive(child, turn)
    assert model.asked == []


def test_f110_what_is_left_of_a_turns_time_can_be_asked() -> None:
    now = [0.0]
    purse = Budget(BudgetLimits(max_seconds=10), lambda: now[0])
    now[0] = 4.0
    assert purse.seconds_left() == 6.0
    now[0] = 12.0
    assert purse.seconds_left() == 0.0
    purse.begin()
    assert purse.seconds_left() == 10.0
    assert Budget(BudgetLimits()).seconds_left() is None
