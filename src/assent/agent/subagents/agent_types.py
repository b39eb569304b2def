"""Which agents can be started as sub-agents, and their limits."""

from collections.abc import Iterable, Mapping

from assent.agent.tool_environment import TaskLimits
from assent.core.errors import UsageError
from assent.core.session.agent import Agent

_SHELL = ("shell", "bash")  # under which names an agent's table speaks of it


def subagents(agents: Mapping[str, Agent]) -> tuple[Agent, ...]:
    """Returns the agents that may be started for a task, by name."""
    found = [agent for agent in agents.values() if agent.kind != "primary"]
    return tuple(sorted(found, key=lambda agent: agent.name))


def subagents_line(agents: Mapping[str, Agent]) -> str:
    """Returns one line that lists the types of sub-agents; nothing if there are none."""
    told = [f"{each.name} ({each.description})".replace(" ()", "") for each in subagents(agents)]
    return f"Sub-agents for `task`: {', '.join(told)}" if told else ""


def subagent(agents: Mapping[str, Agent], name: str) -> Agent:
    """Returns the agent of that name if it may work as a child; else raises UsageError."""
    known = {agent.name: agent for agent in subagents(agents)}
    if name not in known:
        raise UsageError(
            f"Sub-agent type {name!a} not found. Available: {', '.join(known) or 'none'}. No "
            "sub-agent was started."
        )
    return known[name]


def is_read_only(agent: Agent) -> bool:
    """Tells whether an agent changes nothing: it may not edit, and its file grants no commands."""
    rules = [rule.permission for rule in agent.rules]
    named: Iterable[str] = {*agent.tools, *agent.permission, *rules}
    return agent.denies("edit") and not any(name in _SHELL for name in named)


def max_steps(agent: Agent, limits: TaskLimits) -> int:
    """Returns the step limit of a task; a project's agent can only lower the user's limit."""
    return int(_most(agent, agent.steps, limits.steps))


def max_seconds(agent: Agent, limits: TaskLimits) -> float:
    """Returns the time limit of a task in seconds; a project's agent can only lower it."""
    return _most(agent, agent.seconds, limits.seconds)


def _most(agent: Agent, own: float, usual: float) -> float:
    if agent.source == "project":
        return min((most for most in (own, usual) if most), default=0)
    return own or usual
