"""Agents: a prompt with model, tools and limits, and the facts each gets about its workspace."""

from collections.abc import Iterable
from typing import Any, Literal

import msgspec

from assent.core.errors import UsageError, meant
from assent.core.permission.rule import PermissionRule


class Agent(msgspec.Struct, frozen=True):
    """An agent of a session; what it leaves empty is decided by the settings."""

    name: str
    description: str = ""
    kind: Literal["primary", "subagent", "all"] = "all"
    prompt: str = ""
    model: str = ""
    temperature: float | None = None
    steps: int = 0  # most steps of a turn; 0: no limit
    tools: dict[str, bool] = {}  # false removes a tool; `*` means all others
    permission: dict[str, Any] = {}  # as written; what it denies altogether is not offered
    source: str = "builtin"  # builtin, user or project
    wish: str = ""  # the model that a project's file names; whether it counts is decided elsewhere
    rules: tuple[PermissionRule, ...] = ()  # its permission table; a project's allows nothing
    narrowing: tuple[
        tuple[PermissionRule, ...], ...
    ] = ()  # tables over it that only make it stricter
    seconds: float = 0  # most seconds of a task as a child; 0: as the settings say

    def denies(self, tool: str) -> bool:
        """Tells whether the agent may not use a tool."""
        if self.tools.get(tool, self.tools.get("*", True)) is False:
            return True
        return self.permission.get(tool, self.permission.get("*")) == "deny"

    def narrowed(self, over: "Agent") -> "Agent":
        """Returns this agent with another's fields on top; tools that it lacks stay unavailable."""
        names = {*self.tools, *over.tools}
        tools = {name: _has(self.tools, name) and _has(over.tools, name) for name in names}
        return msgspec.structs.replace(
            over,
            description=over.description or self.description,
            prompt=over.prompt or self.prompt,
            model=self.model,
            wish=over.wish or self.wish,
            temperature=self.temperature if over.temperature is None else over.temperature,
            steps=min((most for most in (self.steps, over.steps) if most), default=0),
            tools=dict(sorted(tools.items())),
            permission=_stricter(self.permission, over.permission),
            rules=self.rules,
            narrowing=(*self.narrowing, *([over.rules] if over.rules else [])),
            seconds=min((most for most in (self.seconds, over.seconds) if most), default=0),
        )


def unknown_agent(name: str, known: Iterable[str]) -> UsageError:
    """Returns the error about an agent that a person named and that does not exist."""
    names = sorted(known)
    return UsageError(
        f"Agent {name!a} not found.{meant(name, names)} Available: {', '.join(names)}.",
        "assent agents list",
    )


def may_widen(agent: Agent, than: Agent) -> bool:
    """Tells whether an agent could do, or do without asking, something that another could not.

    It errs on the side of yes: tables of rules are not compared row by row.
    """
    names = {*agent.tools, *than.tools, "*"}
    if any(_has(agent.tools, name) and not _has(than.tools, name) for name in names):
        return True
    limits = ((agent.steps, than.steps), (agent.seconds, than.seconds))
    if any(most and (not own or own > most) for own, most in limits):
        return True
    if _tables(agent) == _tables(than):
        return False
    # An ask may replace a stricter one, so it counts as well.
    opens = any(rule.action != "deny" for rule in _rules(agent))
    closed = any(rule.action != "allow" for rule in _rules(than))
    return opens or closed


def _tables(agent: Agent) -> tuple[object, ...]:
    """Returns what decides about an agent's calls; what a project's own table allows is nothing."""
    rules = [(one.permission, one.pattern, one.action) for one in agent.rules]
    over = [[(one.permission, one.pattern, one.action) for one in row] for row in agent.narrowing]
    return agent.permission, rules, over, agent.source == "project"


def _rules(agent: Agent) -> tuple[PermissionRule, ...]:
    return (*agent.rules, *(rule for row in agent.narrowing for rule in row))


def _has(tools: dict[str, bool], name: str) -> bool:
    return tools.get(name, tools.get("*", True))


def _stricter(under: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    """Returns rules that deny whatever either of two tables denies, by name or by `*` (law 9)."""
    names = {*under, *over}
    found = {name: over.get(name, under.get(name)) for name in names}
    denied = [name for name in names if _denies(under, name) or _denies(over, name)]
    return {**found, **dict.fromkeys(sorted(denied), "deny")}


def _denies(permission: dict[str, Any], name: str) -> bool:
    return bool(permission.get(name, permission.get("*")) == "deny")


# Prompt context: the facts an agent gets about its workspace, gathered once when work begins.


class InstructionFile(msgspec.Struct, frozen=True):
    """A file with instructions for agents that work here."""

    path: str
    text: str


class PromptContext(msgspec.Struct, frozen=True):
    """The surroundings of a session; instructions are ordered from the farthest to the nearest."""

    environment: tuple[str, ...] = ()  # one line each: workspace, platform, date, branch
    instructions: tuple[InstructionFile, ...] = ()
    facts: tuple[str, ...] = ()  # remembered about this workspace
