"""Slash commands: each of the table does what it says, and an unknown one names the nearest."""

from typing import Any

import pytest
from tests.cli.scripts import PLANS
from tests.tui.harness import Seat, Stage
from tests.tui.panel_actions import Reader

from assent.tui.commands.command import GROUPS
from assent.tui.commands.registry import COMMANDS
from assent.tui.panels.approval.panel import ApprovalPanel
from assent.tui.panels.help import CommandPalette, HelpPanel
from assent.tui.panels.key_input import KeyInputPanel
from assent.tui.panels.panel import ConfirmPanel, Panel
from assent.tui.panels.plan_list import HistoryPanel, PlanList
from assent.tui.panels.session_list import RewindPanel, SessionList
from assent.tui.panels.setting_list import (
    AgentList,
    ConfigList,
    ModelList,
    ProviderList,
    ThemeList,
)
from assent.tui.panels.transcript import TranscriptPanel
from assent.tui.panels.undo import RunsPanel
from assent.tui.panels.waiting_list import WaitingList

# What each command of the table shows: a panel, or words on the screen.
PANELS: dict[str, type[Panel[Any]]] = {
    "/review": ApprovalPanel,
    "/approve": ApprovalPanel,
    "/plans": PlanList,
    "/history": HistoryPanel,
    "/runs": RunsPanel,
    "/sessions": SessionList,
    "/resume": SessionList,
    "/rewind": RewindPanel,
    "/model": ModelList,
    "/agent": AgentList,
    "/theme": ThemeList,
    "/transcript": TranscriptPanel,
    "/config": ConfigList,
    "/login": ProviderList,
    "/login openai": KeyInputPanel,
    "/waiting": WaitingList,
    "/help": HelpPanel,
    "/palette": CommandPalette,
    "/mode yolo": ConfirmPanel,
}
WORDS = {
    "/run": "No runs from this screen yet; /runs",
    "/undo": "No run to undo.",
    "/redo": "Nothing to redo: the latest change is not an undo.",
    "/plan off": " ask ",
    "/mode auto-edit": " auto-edit ",
    "/diff": "hello.txt",
    "/diff turns": "No turn in this session",
    "/build": "is not approved; nothing was built.",
    "/recover": "No unfinished runs.",
    "/fork": "no plan or approval.",
    "/rename A better title": "Session renamed: A better title",
    "/compact": "Conversation summarized",
    "/export": "# Greet somebody",
    "/rules": "Remembered answers",
    "/theme light": "",
    "/status": "hello",
    "/questions": "No pending questions",
    "/cost": "tokens in",
    "/context": "tokens",
    "/memory": "",
    "/remember Tests run with make test": "Saved for later sessions: Tests run with make test",
    "/init": "Workspace ready.",
    "/agent build": "Agent set to build.",
    "/new": "",
    "/clear": "",
}
ELSEWHERE = {"/edit", "/doctor", "/demo", "/exit", "/web", "/mcp"}  # have tests of their own


async def greeted(seat: Seat, goal: str = "Greet somebody") -> None:
    """Has a model present a plan, and closes the review of it."""
    await seat.say(goal)
    await seat.opened(ApprovalPanel)
    await closed(seat)


async def closed(seat: Seat) -> None:
    """Closes the panel on top with Escape."""
    depth = len(seat.app.screen_stack)
    await Reader(seat).press("escape")
    await seat.until(lambda: len(seat.app.screen_stack) < depth)


def test_every_command_of_the_table_is_run_by_a_test() -> None:
    run = {line.split()[0] for line in (*PANELS, *WORDS, *ELSEWHERE)}
    assert {one.name for one in COMMANDS} == run


def test_f3_a_command_opens_its_panel_and_escape_closes_it(stage: Stage) -> None:
    stage.script(*PLANS)

    async def act(seat: Seat) -> None:
        await greeted(seat)
        for line, panel in PANELS.items():
            assert len(seat.app.screen_stack) == 1, line
            seat.app.run_slash(line)
            await seat.opened(panel)
            await closed(seat)
            assert seat.app.messages.mishaps == [], line

    stage.show(act)


@pytest.mark.parametrize("line", WORDS)
def test_f3_a_command_says_what_it_did(stage: Stage, line: str) -> None:
    stage.script(*PLANS)

    async def act(seat: Seat) -> None:
        # A conversation that a summary would not shorten is not compacted.
        await greeted(seat, "Greet somebody" + " politely" * (200 if line == "/compact" else 0))
        seat.app.run_slash(line)
        await seat.until(lambda: seat.app.quiet)
        await seat.shows(WORDS[line])
        assert seat.app.messages.mishaps == []

    stage.show(act)


def test_what_the_table_says_is_whole() -> None:
    names = [name for one in COMMANDS for name in (one.name, *one.aliases)]
    assert len(names) == len(set(names))
    assert all(name.startswith("/") and one.about for one in COMMANDS for name in one.aliases)
    assert {one.group for one in COMMANDS} == set(GROUPS)
