"""The run view on a real engine: progress, output, a halt and its three ways."""

from collections.abc import Awaitable, Callable
from functools import partial

import pytest
from tests.cli.harness import World
from tests.tui.harness import Seat, Stage

from assent.core.plan.operation import FileState, RunCommand, WriteFile
from assent.core.run.journal import CommandProgress, LiveCommandOutput, RunStep, StepProgress
from assent.render.lines import Line
from assent.tui.messages import RunActivity, RunBegan, RunOver
from assent.tui.panels.panel import DebouncedPanel
from assent.tui.panels.run import RunPanel
from assent.tui.panels.undo import UndoPanel
from assent.tui.run_controller import MAX_OUTPUT_LINES, RunProgressView

Act = Callable[[Seat], Awaitable[None]]


def approved(stage: World, *commands: str, name: str = "a") -> str:
    """Approves a plan that writes a file, and runs commands after it; returns its id."""
    stage.plan(f"work_{name}")
    stage.write(f"{name}.txt", b"a\n")
    for command in commands:
        stage.ok("stage", "run", "--script", command)
    digest = stage.ok("propose")["digest"]
    return str(stage.ok("approve", "--digest", digest)["plan_id"])


async def built(seat: Seat, plan: str) -> None:
    """Builds a plan, and waits until the run is at rest."""
    seat.app.build_plan(plan)
    await seat.until(lambda: isinstance(seat.app.screen, RunPanel))
    await rested(seat)


async def rested(seat: Seat) -> None:
    await seat.until(lambda: not seat.app.run_controller.at_work)
    await seat.rest()


async def press(seat: Seat, *keys: str) -> None:
    """Presses keys, each when the panel listens."""
    for key in keys:
        panel = seat.app.screen
        if isinstance(panel, DebouncedPanel):
            await seat.until(partial(getattr, panel, "listening"))
        await seat.press(key)


def test_a_build_shows_what_its_command_says_and_what_became_of_each_operation(
    stage: Stage,
) -> None:
    plan = approved(stage, "echo first; echo second")

    async def act(seat: Seat) -> None:
        await built(seat, plan)
        for words in ("Build: done", "│ first", "│ second", "done         create", "Ctrl+Z undo"):
            await seat.shows(words)
        await press(seat, "ctrl+z")
        await seat.until(lambda: isinstance(seat.app.screen, UndoPanel))
        await press(seat, "escape")

    stage.show(act)
    assert (stage.root / "a.txt").read_bytes() == b"a\n"


def test_a_panel_that_hears_of_its_run_before_it_is_drawn_shows_it_then(stage: Stage) -> None:
    plan = approved(stage, "echo first")

    async def act(seat: Seat) -> None:
        await built(seat, plan)
        await press(seat, "escape")
        await seat.until(lambda: not isinstance(seat.app.screen, RunPanel))
        seat.app.push_screen(panel := RunPanel())
        for letter in (
            RunBegan("build"),
            RunActivity(LiveCommandOutput(0, b"x")),
            RunOver("build"),
        ):
            panel.hear(letter)
        await seat.shows("Build: done")

    stage.show(act)


@pytest.mark.parametrize(
    ("key", "title", "there"),
    [
        ("3", "Recover: done", True),
        ("2", "Recover: rolled back", False),
        ("1", "Recover: needs your decision", True),
    ],
)
def test_a_halt_offers_three_ways_and_each_takes_two_keys(
    stage: Stage, key: str, title: str, there: bool
) -> None:
    plan = approved(stage, "exit 3")

    async def act(seat: Seat) -> None:
        await built(seat, plan)
        for words in (
            "Build: needs your decision",
            "1 resume",
            "2 roll back",
            "3 accept",
            "exit 3",
        ):
            await seat.shows(words)
        await press(seat, key, key)
        await seat.shows("Ctrl+Y yes · any other key: no")
        await press(seat, "y")
        assert "Ctrl+Y yes" not in seat.text()
        assert not seat.app.run_controller.at_work
        await press(seat, key, "ctrl+y")
        await rested(seat)
        await seat.shows(title)

    stage.show(act)
    assert (stage.root / "a.txt").exists() is there


def test_a_command_can_be_stopped_and_the_run_halts_in_good_order(stage: Stage) -> None:
    plan = approved(stage, "echo begun; sleep 300")

    async def act(seat: Seat) -> None:
        seat.app.build_plan(plan)
        await seat.shows("│ begun")
        await press(seat, "x", "ctrl+y")
        await rested(seat)
        await seat.shows("needs your decision")
        await press(seat, "2", "ctrl+y")
        await rested(seat)

    stage.show(act)
    assert not (stage.root / "a.txt").exists()


def test_esc_closes_the_view_and_the_run_goes_on(stage: Stage) -> None:
    plan = approved(stage, "echo begun; while [ ! -e go ]; do sleep 0.05; done")

    async def act(seat: Seat) -> None:
        seat.app.build_plan(plan)
        await seat.shows("│ begun")
        await press(seat, "escape")
        assert len(seat.app.screen_stack) == 1
        await seat.shows("Run in progress")
        await press(seat, "escape", "escape", "escape")  # shows it, closes it, and shows it
        await seat.shows("x stop the command")
        assert seat.app.run_controller.at_work
        (stage.root / "go").touch()
        await rested(seat)
        await seat.shows("│ begun")
        await seat.shows("Build: ")

    stage.show(act)


def test_a_run_that_another_process_left_is_shown_with_its_ways(stage: Stage) -> None:
    approved(stage, "exit 3")
    assert stage.run("build").code == 6

    async def act(seat: Seat) -> None:
        seat.app.show_run()
        await seat.shows("needs your decision")
        await rested(seat)
        await press(seat, "2", "ctrl+y")
        await rested(seat)
        await seat.shows("rolled back")

    stage.show(act)
    assert not (stage.root / "a.txt").exists()


def test_a_way_on_is_for_the_run_that_was_shown_and_for_no_other(stage: Stage) -> None:
    approved(stage, "exit 3")
    assert stage.run("build").code == 6

    async def act(seat: Seat) -> None:
        seat.app.show_run()
        await rested(seat)
        await press(seat, "2")
        stage.ok("recover", "--accept")
        approved(stage, "exit 4", name="b")
        assert stage.run("build").code == 6
        await press(seat, "ctrl+y")
        await seat.shows("is waiting now.")
        await rested(seat)
        await seat.shows("exit 4")
        await seat.shows("Recover: needs your decision")
        await press(seat, "escape")
        stage.ok("recover", "--accept")
        seat.app.show_run()
        await seat.shows("Recover: nothing to do")

    stage.show(act)
    assert (stage.root / "b.txt").exists()


def test_each_operation_says_where_it_is() -> None:
    state = FileState("0" * 64, 1, 0o644)
    files = [WriteFile(b"%d" % n, None, state) for n in range(3)]
    command = RunCommand((b"true",))
    watched = RunProgressView("build", (*files[:2], command, files[2]))

    def states() -> list[str]:
        return [line.text[2:9].rstrip() for line in watched.lines() if ". " in line.text[:14]]

    assert states() == ["running", "running", "pending", "pending"]
    watched.take(CommandProgress("command", 2, 4, command))
    assert states() == ["done", "done", "running", "pending"]
    watched.take(StepProgress(RunStep.FINISH, 0, 1))
    assert states() == ["done", "done", "done", "running"]
    watched.end([Line("plain", "Done.")])
    assert states() == []


def test_very_much_output_is_kept_at_its_end_and_says_so() -> None:
    watched = RunProgressView("build")
    for number in range(MAX_OUTPUT_LINES + 10):
        watched.take(LiveCommandOutput(0, b"%d\n" % number))
    watched.take(StepProgress(RunStep.FINISH, 5, 10))
    first, *rest = watched.lines()
    assert first == Line("dim", "(10 earlier lines not shown)")
    assert rest[0] == Line("plain", "│ 10")
    assert rest[-1].text.startswith("███████████████···············")
    assert "5 of 10" in rest[-1].text
