"""Kinds of sub-agents: who may be started, and how far each goes."""

import pytest

from assent.agent.services import TaskLimits
from assent.agent.subagents.ancestry import (
    is_read_only,
    max_seconds,
    max_steps,
    subagent,
    subagents,
    subagents_line,
)
from assent.core.errors import UsageError
from assent.core.permission.rule import PermissionRule
from assent.core.session.agent import Agent

AGENTS = {
    "plan": Agent("plan", kind="primary"),
    "general": Agent("general", "Works.", kind="subagent"),
    "explore": Agent("explore", "Looks."),
}
LIMITS = TaskLimits(seconds=600, steps=60)


def test_f100_agents_that_a_person_talks_to_are_no_kind() -> None:
    assert [agent.name for agent in subagents(AGENTS)] == ["explore", "general"]
    assert subagents_line(AGENTS) == "Agents: explore (Looks.), general (Works.)"
    assert (subagents_line({}), subagent(AGENTS, "explore")) == ("", AGENTS["explore"])
    with pytest.raises(UsageError, match=r"Available: explore, general\."):
        subagent(AGENTS, "plan")


@pytest.mark.parametrize(
    ("agent", "looks"),
    [
        (Agent("a"), False),
        (Agent("a", tools={"edit": False}), True),
        (Agent("a", permission={"edit": "deny"}), True),
        (Agent("a", tools={"edit": False, "bash": True}), False),
        (Agent("a", permission={"edit": "deny", "bash": {"git *": "allow"}}), False),
        (Agent("a", tools={"edit": False}, rules=(PermissionRule("bash", "make", "ask"),)), False),
    ],
)
def test_who_may_neither_edit_nor_run_commands_only_looks(agent: Agent, looks: bool) -> None:
    assert is_read_only(agent) is looks


@pytest.mark.parametrize(
    ("agent", "steps", "seconds"),
    [
        (Agent("a"), 60, 600),
        (Agent("a", steps=90, seconds=900, source="user"), 90, 900),
        (Agent("a", steps=90, seconds=900, source="project"), 60, 600),
        (Agent("a", steps=9, seconds=9, source="project"), 9, 9),
    ],
)
def test_f100_a_project_only_lowers_limits(agent: Agent, steps: int, seconds: float) -> None:
    assert (max_steps(agent, LIMITS), max_seconds(agent, LIMITS)) == (steps, seconds)
