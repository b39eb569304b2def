"""The demo: the whole story on a scratch project, with a model that is a script, and no key."""

import os
from pathlib import Path

import pytest
from tests.tui.harness import Seat, Stage
from tests.tui.panel_actions import Reader
from tests.tui.test_question import asked

from assent.app.demo import FILES, GOAL, WELCOME
from assent.cli.tui import DemoScreenHost, LocalScreenHost
from assent.core.plan.operation import DeleteFile
from assent.tui.host import StartOptions
from assent.tui.panels.approval.panel import ApprovalPanel
from assent.tui.panels.feedback import FeedbackPanel
from assent.tui.panels.run import RunPanel
from assent.tui.panels.undo import UndoPanel

BEGIN = StartOptions(draft=GOAL, told=WELCOME)
DOWNLOAD = "curl -s"


class DemoStage(Stage):
    """A world whose screen shows the demo."""

    def host(self) -> LocalScreenHost:
        self.shown = DemoScreenHost()
        return self.shown

    @property
    def menu(self) -> str:
        return Path(self.shown.folder, "shop/menu.py").read_text(encoding="utf-8")


async def answered(seat: Seat, key: str = "1") -> None:
    """Says the goal that stands in the prompt, and answers the question that follows."""
    await seat.shows("This is a demo")
    await seat.press("enter")
    block = await asked(seat)
    await seat.shows("Should the plan delete it?")
    await seat.press(key, "enter")
    await seat.until(lambda: not block.is_open)


async def reviewed(seat: Seat) -> Reader:
    """Waits until the plan is on the screen."""
    await seat.until(lambda: isinstance(seat.app.screen, ApprovalPanel))
    reader = Reader(seat)
    await reader.reads()
    return reader


def presented(seat: Seat) -> str:
    """Returns the digest of the plan on the screen; nothing, where none is."""
    panel = seat.app.screen
    return panel.digest() if isinstance(panel, ApprovalPanel) else ""


def test_the_demo_plays_the_whole_story(tmp_path: Path) -> None:
    stage = DemoStage(tmp_path)

    async def act(seat: Seat) -> None:
        await answered(seat)
        reader = await reviewed(seat)
        await seat.shows("Risks")
        first = reader.panel.digest()
        await reader.press("2")
        await seat.until(lambda: isinstance(seat.app.screen, FeedbackPanel))
        await seat.type("Download nothing")
        await seat.press("enter")
        await seat.until(lambda: presented(seat) not in ("", first))
        reader = await reviewed(seat)
        assert reader.panel.digest() not in ("", first)
        await reader.to_the_end()
        assert stage.menu == FILES["shop/menu.py"]
        await reader.press("1", "y")
        await seat.until(lambda: isinstance(seat.app.screen, RunPanel))
        await seat.rest()
        assert "SIZES" in stage.menu
        seat.app.pop_screen()
        seat.app.run_slash("/undo")
        await seat.until(lambda: isinstance(seat.app.screen, UndoPanel))
        await reader.reads()
        await reader.to_the_end()
        await reader.press("1", "y")
        await seat.until(lambda: isinstance(seat.app.screen, RunPanel))
        await seat.rest()
        assert stage.menu == FILES["shop/menu.py"]

    stage.show(act, BEGIN)
    assert not os.path.exists(stage.shown.folder)


@pytest.mark.parametrize(("key", "deletes"), [("1", True), ("2", False), ("3", True)])
def test_the_plan_of_the_demo_does_what_was_answered(
    tmp_path: Path, key: str, *, deletes: bool
) -> None:
    stage = DemoStage(tmp_path)

    def deleted(panel: ApprovalPanel) -> list[bytes]:
        found = [each.op for each in panel._reading.review.operations]
        return [each.path for each in found if isinstance(each, DeleteFile)]

    async def act(seat: Seat) -> None:
        await answered(seat, key)
        reader = await reviewed(seat)
        first = reader.panel.digest()
        assert deleted(reader.panel) == [b"shop/prices_old.txt"] * deletes
        text = reader.panel._reading.review.text
        assert (b"prices_old" in text) is deletes
        await reader.press("2")
        await seat.until(lambda: isinstance(seat.app.screen, FeedbackPanel))
        await seat.type("Download nothing")
        await seat.press("enter")
        await seat.until(lambda: presented(seat) not in ("", first))
        reader = await reviewed(seat)
        assert deleted(reader.panel) == [b"shop/prices_old.txt"] * deletes
        assert (b"prices_old" in reader.panel._reading.review.text) is deletes
        await reader.press("escape")
        await seat.until(lambda: len(seat.app.screen_stack) == 1)

    stage.show(act, BEGIN)


def test_the_demo_leaves_nothing_behind_and_touches_nothing(tmp_path: Path) -> None:
    stage = DemoStage(tmp_path)
    stage.config.write_text('mode = "ask"\n', encoding="utf-8")

    async def act(seat: Seat) -> None:
        assert os.environ["XDG_STATE_HOME"] != stage.env["XDG_STATE_HOME"]
        await answered(seat)
        reader = await reviewed(seat)
        await reader.press("escape")
        await seat.until(lambda: len(seat.app.screen_stack) == 1)

    stage.on_a_fresh_machine()
    with stage.here():
        before = dict(os.environ)
    stage.show(act, BEGIN)
    assert {name: before[name] for name in before if name.startswith("XDG")} == {
        name: stage.env[name] for name in stage.env if name.startswith("XDG")
    }
    assert not os.path.exists(stage.shown.folder)
    assert not stage.state.exists()
    assert stage.files() == {}


def test_whoever_leaves_the_demo_has_their_own_places_again(stage: Stage) -> None:
    with stage.here():
        before = dict(os.environ)
        host = DemoScreenHost()
        assert os.environ["XDG_CONFIG_HOME"].startswith(os.path.dirname(host.folder))
        assert host.defaults().model.endswith("/demo")
        host.close()
        assert dict(os.environ) == before


def test_the_demo_says_that_it_needs_a_terminal(stage: Stage) -> None:
    assert "needs an interactive terminal" in stage.no(2, "demo")["message"]


def test_a_key_and_a_command_lead_to_the_demo(stage: Stage) -> None:
    wanted: list[bool] = []

    async def act(seat: Seat) -> None:
        await seat.press("f9")
        await seat.until(lambda: seat.app.return_value == 0)
        wanted.append(seat.app.wants_demo)

    assert stage.show(act) == 0
    assert wanted == [True]
