"""The side area: the plan as its file changes, operations, todos, context and cost."""

import os
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest
from tests.support.session import planned
from tests.tui.widget_app import Sight, shown

from assent.app.engine import Engine
from assent.core.llm import StopReason, TokenUsage
from assent.core.plan.operation import RunCommand
from assent.core.plan.record import PlanRecord
from assent.core.session.event import SessionEvent, StepEnded, StepStarted, Todo, TodosChanged
from assent.core.session.record import SessionRecord
from assent.testing.engine_fixture import EngineFixture, open_engine_fixture
from assent.tui.prompt.input import load_prompt_history
from assent.tui.sidebar.context import UsageLimits
from assent.tui.sidebar.data import read_sidebar_data, unknown_limits
from assent.tui.sidebar.sidebar import OperationPanel, Sidebar

LOW, HIGH = (44, 20), (60, 46)
TODOS = (Todo("Read", "completed"), Todo("Write", "in_progress"), Todo("Test"))
STEPS = "# Fix\n\n## Write\n- [ ] 1 Write a.txt\n\n## Check\n- [ ] 2 Test it (after 1)\n"
STEP = (
    StepStarted(1, "plan", "anthropic/one", "plan"),
    StepEnded(StopReason.END, TokenUsage(48_213, 1_200, 40_000, 2_000, 300), 0.25),
)


class Here:
    """A session with a plan on a real engine, and a side area beside it."""

    def __init__(self, base: Path) -> None:
        self.root = base / "project"
        self.root.mkdir()
        (base / "state").mkdir()
        self.engine: Engine = open_engine_fixture(EngineFixture(self.root, base / "state"))
        started = self.engine.sessions.start("Fix the parser", "plan")
        self.session: SessionRecord = planned(self.engine, started)
        self.side = Sidebar()

    @property
    def plan(self) -> PlanRecord:
        return self.engine.plans.repository().load(self.session.plan_id)

    @property
    def file(self) -> Path:
        return self.root / os.fsdecode(self.plan.path)

    def note(self, *events: SessionEvent) -> None:
        record = self.engine.sessions.load(self.session.session)
        self.session = self.engine.sessions.repository().append(record, *events)[0]

    def build(self) -> str:
        """Approves the plan and applies it; returns the run."""
        plan = self.engine.approvals.propose(self.plan)
        self.engine.approvals.approve(plan, plan.digest, "", "test")
        work = self.engine.runs.build(plan.plan_id)
        while True:
            try:
                next(work)
            except StopIteration as end:
                run: str = end.value.run
                return run

    def show(self, act: Callable[[Sight], Awaitable[None]], size: tuple[int, int] = LOW) -> None:
        async def run(sight: Sight) -> None:
            await self.look(sight)
            await act(sight)

        shown(self.side, run, size)

    async def look(
        self, sight: Sight, allowance: Callable[[str], UsageLimits] = unknown_limits
    ) -> None:
        """Has the side area read everything, and waits until it is shown."""
        self.side.refresh_data(self.engine, self.session, allowance)
        wanted = read_sidebar_data(self.engine, self.session, allowance)
        await sight.until(lambda: self.side.values == wanted)
        await sight.pilot.pause()


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Here]:
    made = Here(tmp_path)
    yield made
    made.engine.close()


def test_f28_the_plan_follows_its_file_and_marks_what_changed(here: Here) -> None:
    async def act(sight: Sight) -> None:
        assert "│ ## Goal" in sight.text()
        assert "*" not in sight.text()
        text = here.file.read_text(encoding="utf-8")
        changed = text.replace("## Goal", "## What for")
        here.file.write_text(changed, encoding="utf-8")
        await sight.until(lambda: "## What for" in sight.text())
        marked = [line for line in sight.lines() if "*" in line]
        assert [line.split("│")[-1].strip() for line in marked] == ["## What for"]
        await sight.until(lambda: "*" not in sight.text())

    here.side.moment = 0.1
    here.show(act)


def test_f28_a_file_that_is_replaced_or_deleted_is_noticed_too(here: Here) -> None:
    async def act(sight: Sight) -> None:
        other = here.root / "other.md"
        other.write_text("# Another title\n\nwords\n", encoding="utf-8")
        other.replace(here.file)
        await sight.until(lambda: "Another title" in sight.text())
        here.file.unlink()
        await sight.until(lambda: "was deleted" in sight.text())

    here.show(act)


def test_f28_a_proposed_plan_says_that_its_file_differs(here: Here) -> None:
    here.engine.plans.write(here.plan, b"# Fix the parser\n\nIt stops too early.\n")
    here.engine.approvals.propose(here.plan)

    async def act(sight: Sight) -> None:
        assert f"digest {here.plan.digest[:12]}" in sight.text()
        assert "Waiting for approval" in sight.text()
        assert "changed since" not in sight.text()
        here.file.write_text("# Other\n", encoding="utf-8")
        await sight.until(lambda: "changed since it was proposed" in " ".join(sight.text().split()))

    here.show(act, (100, 20))


def test_a_session_without_a_plan_says_so(here: Here) -> None:
    here.session = here.engine.sessions.start("Ask something", "ask")

    async def act(sight: Sight) -> None:
        assert "No plan yet." in sight.text()

    here.show(act)


def test_operations_are_listed_with_counts_and_risks_and_enter_shows_one(here: Here) -> None:
    (here.root / "a.txt").write_text("one\ntwo\n", encoding="utf-8")
    here.engine.drafts.write(here.plan, b"a.txt", [b"one\nthree\nfour\n"], None)
    here.engine.drafts.run(here.plan, RunCommand((b"make", b"test")))
    here.engine.drafts.write(here.plan, b".env", [b"A=1\n"], None)

    async def act(sight: Sight) -> None:
        here.side.focus_part()
        await sight.press("2")
        lines = [line.removeprefix("│").strip(" ▸") for line in sight.lines()[1:4]]
        assert lines == ["1  write  a.txt  +2 -1", "2! run    make test", "3! create .env  +1"]
        await sight.press("enter")
        assert isinstance(sight.screen, OperationPanel)
        assert "1. write a.txt" in sight.text()
        assert "+three" in sight.text()
        await sight.press("escape", "down", "enter")
        assert "$ make test" in sight.text()
        await sight.press("escape", "down", "enter")
        assert "! protected:" in sight.text()
        await sight.press("escape")
        assert not isinstance(sight.screen, OperationPanel)

    here.show(act)


def test_f127_todos_show_their_states_by_signs_and_words(here: Here) -> None:
    here.note(TodosChanged((*TODOS, Todo("Drop", "cancelled"))))

    async def act(sight: Sight) -> None:
        here.side.turn("todos")
        await sight.pilot.pause()
        lines = [line.removeprefix("│").strip() for line in sight.lines()[1:5]]
        assert lines == ["✓ done: Read", "▶ now: Write", "○ Test", "✗ dropped: Drop"]

    here.show(act)


def test_f25_steps_are_shown_with_the_todos(here: Here) -> None:
    here.file.write_text(STEPS, encoding="utf-8")
    here.engine.drafts.write(here.plan, b"a.txt", [b"x\n"], None)
    here.note(TodosChanged((Todo("2 Test it", "in_progress"), Todo("Look around"))))

    async def act(sight: Sight) -> None:
        here.side.turn("todos")
        await sight.until(lambda: "○ Look around" in sight.text())
        lines = [line.removeprefix("│").strip() for line in sight.lines()[1:6]]
        assert lines == ["Write", "○ 1 Write a.txt", "Check", "▶ now: 2 Test it", "○ Look around"]
        here.build()
        await here.look(sight)
        await sight.until(lambda: "✓ done: 1 Write a.txt" in sight.text())
        await sight.resize(*HIGH)
        assert "Todos (1/3)" in sight.text()

    here.show(act)


def test_f128_todos_go_back_on_the_screen_when_a_run_is_undone(here: Here) -> None:
    here.note(TodosChanged(TODOS))
    here.engine.drafts.write(here.plan, b"a.txt", [b"x\n"], None)
    run = here.build()
    here.note(TodosChanged((Todo("Something else"),)))

    async def act(sight: Sight) -> None:
        here.side.turn("todos")
        await sight.until(lambda: "○ Something else" in sight.text())
        here.engine.sessions.restore_todos(here.plan, run)
        await here.look(sight)
        assert "▶ now: Write" in sight.text()
        assert "Something else" not in sight.text()

    here.show(act)


def test_f126_g15_the_window_the_last_step_the_money_what_is_expected_and_the_budget(
    here: Here,
) -> None:
    here.note(*STEP)

    def allowance(model: str) -> UsageLimits:
        assert model == "anthropic/one"
        return UsageLimits(200_000, dollars=1.0, spent_dollars=0.25)

    async def act(sight: Sight) -> None:
        here.side.turn("context")
        await here.look(sight, allowance)
        lines = [line.removeprefix("│").strip() for line in sight.lines()[1:16]]
        assert lines == [
            "anthropic/one",
            "█████░░░░░░░░░░░░░░░ 25%",
            "49.4k of 200k tokens",
            "",
            "tokens       last step  session",
            "input            48.2k    48.2k",
            "output            1.2k     1.2k",
            "cache read         40k      40k",
            "cache write         2k       2k",
            "reasoning          300      300",
            "",
            "spent     $0.25",
            "expected  50.6k to 220.5k tokens",
            "cost unknown",
            "budget    $0.75 left of $1.00",
        ]

    here.show(act)


def test_where_there_is_height_all_parts_are_shown_at_once(here: Here) -> None:
    here.note(TodosChanged(TODOS), *STEP)

    async def act(sight: Sight) -> None:
        for words in ("Plan", "## Goal", "Operations", "Todos (1/3)", "Context (49.4k)", "spent"):
            assert words in sight.text(), words
        await sight.resize(*LOW)
        assert "[1 Plan]" in sight.text()
        assert "spent" not in sight.text()

    here.show(act, HIGH)


def test_keys_and_clicks_turn_to_another_part(here: Here) -> None:
    async def act(sight: Sight) -> None:
        here.side.focus_part()
        turned = []
        for key in ("4", "1", "3", "2", "right", "right", "right", "left"):
            await sight.press(key)
            turned.append(here.side.part)
        assert turned == [
            "context", "plan", "todos", "operations", "todos", "context", "plan", "context",
        ]  # fmt: skip
        await sight.pilot.click("#side-tabs", offset=(3, 0))
        await sight.pilot.pause()
        assert here.side.part == "plan"

    here.show(act)


def test_little_is_read_twice(here: Here) -> None:
    here.note(*STEP)
    here.engine.drafts.write(here.plan, b"a.txt", [b"x\n"], None)
    first = read_sidebar_data(here.engine, here.session)
    again = read_sidebar_data(here.engine, here.session, unknown_limits, first)
    assert again == first
    assert again.operations is first.operations
    here.note(StepEnded(StopReason.END, TokenUsage(5, 5), None))
    more = read_sidebar_data(here.engine, here.session, unknown_limits, first)
    assert (more.took.steps, more.took.last) == (2, TokenUsage(5, 5))


def test_another_session_begins_anew(here: Here) -> None:
    here.note(*STEP)
    first = read_sidebar_data(here.engine, here.session)
    other = here.engine.sessions.start("Something else", "ask")
    assert read_sidebar_data(here.engine, other, unknown_limits, first).took.steps == 0


def test_what_the_person_said_here_comes_with_this_session_last(here: Here) -> None:
    here.engine.sessions.start("Another goal", "ask")
    here.engine.sessions.say(here.session, "And a test.")
    assert load_prompt_history(here.engine, here.session) == [
        "Another goal", "Fix the parser", "And a test.",
    ]  # fmt: skip
