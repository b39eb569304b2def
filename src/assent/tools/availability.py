"""Tool availability: why a tool is not offered in a mode, to an agent, or in a child session."""

from assent.core.session.agent import Agent
from assent.core.tool import Action, PermissionContext
from assent.tools.argument_aliases import normalized_name
from assent.tools.tool import Tool
from assent.tools.tool_aliases import aliases_of

ENTER = "enter_plan"
# A child's words and wishes belong to its parent's plan, which the parent writes.
ROOT_ONLY = (ENTER, "write_plan", "todo", "remember")
# What agents' files of other programs call the family of a tool.
FAMILIES = {Action.EDIT: ("edit",), Action.SHELL: ("bash",), Action.FETCH: ("webfetch",)}


def unavailable_reason(
    tool: Tool, posture: PermissionContext, agent: Agent, *, suggest: bool
) -> str:
    """Returns the reason, or nothing if the tool is offered."""
    if _denied_by_agent(tool, agent):
        return f"The agent {agent.name} may not use it."
    if posture.child and (tool.action is Action.PRESENT or tool.name in ROOT_ONLY):
        return "Only the session that the person talks to can do this."
    if tool.action is Action.TASK and not posture.deeper:
        return "A child starts no children here (`tasks.depth`)."
    for mode in posture.custom:
        if mode.tools is not None and tool.name not in mode.tools:
            return f"The mode {mode.id} does not have it."
    if tool.name == ENTER and not suggest and posture.mode != "plan":
        return "The setting `plan.suggest` is off; only the person goes back to planning."
    return _by_mode(tool, posture)


def _by_mode(tool: Tool, posture: PermissionContext) -> str:
    if posture.mode == "plan":
        return _while_planning(tool, posture)
    if tool.only == "plan":
        return f"It works only in plan mode, and this session is in {posture.mode} mode."
    return ""


def _while_planning(tool: Tool, posture: PermissionContext) -> str:
    if tool.only == "build":
        return "It works only outside plan mode; this session is planning already."
    if tool.action is Action.EDIT and posture.child:
        return "While planning, only the session that the person talks to stages changes."
    if tool.action is Action.EDIT and not posture.staging:
        return (
            "Staging is off (`plan.staging`), so only the plan's text is written; use `write_plan`."
        )
    if tool.action is Action.TOOL:
        return "What it does is not known, so it cannot be staged; it works outside plan mode."
    if tool.action is Action.FETCH and not posture.hosts:
        return "No host may be fetched from while planning (`fetch.hosts` is empty)."
    return ""


def _denied_by_agent(tool: Tool, agent: Agent) -> bool:
    """Tells whether an agent's file takes a tool away, under its own or another name."""
    if agent.denies(tool.name):
        return True
    others = {*FAMILIES.get(tool.action, ()), *aliases_of(tool.name)}
    off = [name for name, on in agent.tools.items() if on is False]
    off += [name for name, rule in agent.permission.items() if rule == "deny"]
    return any(normalized_name(name) in others for name in off)
