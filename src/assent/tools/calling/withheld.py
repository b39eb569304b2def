"""Withheld: why a tool is not offered in a mode, to an agent, or in a child."""

from assent.core.agent import Agent
from assent.core.tool import Action, Posture
from assent.tools.calling.aliases import other_names
from assent.tools.calling.foreign import key
from assent.tools.tool import Tool

ENTER = "enter_plan"
# What agents' files of other programs call the family of a tool.
FAMILIES = {Action.EDIT: ("edit",), Action.SHELL: ("bash",), Action.FETCH: ("webfetch",)}


def withheld(tool: Tool, posture: Posture, agent: Agent, *, suggest: bool) -> str:
    """Returns the reason, or nothing if the tool is offered."""
    if _denied(tool, agent):
        return f"The agent {agent.name} may not use it."
    if posture.child and (tool.action is Action.PRESENT or tool.name == ENTER):
        return "Only the session that the person talks to can do this."
    if tool.name == ENTER and not suggest and posture.mode != "plan":
        return "The setting `plan.suggest` is off; only the person goes back to planning."
    return _by_mode(tool, posture)


def _by_mode(tool: Tool, posture: Posture) -> str:
    planning = posture.mode == "plan"
    if tool.only == "plan" and not planning:
        return f"It works only in plan mode, and this session is in {posture.mode} mode."
    if tool.only == "build" and planning:
        return "It works only outside plan mode; this session is planning already."
    if planning and tool.action is Action.EDIT and not posture.staging:
        return "Staging is off (`plan.staging`): only the plan is written now, with `write_plan`."
    if planning and tool.action is Action.FETCH and not posture.hosts:
        return "No host may be fetched from while planning (`fetch.hosts` is empty)."
    return ""


def _denied(tool: Tool, agent: Agent) -> bool:
    """Tells whether an agent's file takes a tool away, under its own or another name."""
    if agent.denies(tool.name):
        return True
    others = {*FAMILIES.get(tool.action, ()), *other_names(tool.name)}
    off = [name for name, on in agent.tools.items() if on is False]
    off += [name for name, rule in agent.permission.items() if rule == "deny"]
    return any(key(name) in others for name in off)
