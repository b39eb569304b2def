"""Checks the mode and the agent that a command line names before the terminal UI opens."""

from assent.cli.goal.options import Goal
from assent.core.errors import UsageError


def check_tui_options(goal: Goal) -> None:
    """Raises UsageError for a mode or an agent that nobody knows, while it can still be read."""
    if goal.mode:
        _check_mode(goal)
    if goal.agent:
        _check_agent(goal)


def _check_mode(goal: Goal) -> None:
    from assent.app.modes import ModeManager
    from assent.core.permission.mode import resolve_mode

    resolve_mode(goal.mode, ModeManager(goal.folder).modes)


def _check_agent(goal: Goal) -> None:
    from assent.app.session import list_agents

    known = [each.name for each in list_agents(goal.folder) if each.kind != "subagent"]
    if goal.agent not in known:
        raise UsageError(
            f"There is no agent {goal.agent!a}. There are: {', '.join(known)}.",
            f"assent --agent {known[0]}" if known else "assent",
        )
