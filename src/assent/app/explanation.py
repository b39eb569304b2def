"""Explains what would happen to a call, judged as in a session, without running it."""

from contextlib import suppress

import msgspec

from assent.app.session import SessionRuntime
from assent.core.decoding import convert
from assent.core.llm import ToolCall
from assent.core.permission.mode import default_agent, resolve_mode
from assent.core.permission.rule_match import ExplainedDecision
from assent.core.session.agent import Agent, unknown_agent
from assent.core.session.record import SessionRecord, with_current_mode
from assent.core.tool import Action, Decision, ResourceAccess, Verdict, mcp_tool_name
from assent.permissions.commands.read_only.classifier import classify_read_only
from assent.permissions.gate import RuleGate
from assent.tools.hypothetical_call import (
    ARGUMENT_BUILDERS,
    hypothetical_call,
    tool_named,
    unsupported_reason,
)
from assent.tools.tool import ToolContext

# Permissions that need no tool: most are about how a call is made, whatever it calls.
DIRECT = {
    "external_directory": Action.OUTSIDE,
    "doom_loop": Action.LOOP,
    "skill": Action.SKILL,  # its tool exists only where there are skills
}
NOT_OFFERED_NOTE = "offer"  # the layer that decides where a tool is not even there
STARTED = "Server {} is not started for this check; its tool is judged by name only."
STAGE_ONLY = "Plan mode does not run it. A call with `stage: true` adds it to the plan."
UNKNOWN_TOOL = "Tool not found; it is judged like a tool of a plugin or server."


class ExplainContext(msgspec.Struct, frozen=True):
    """The context of a call: agent, mode and session."""

    work: SessionRuntime
    record: SessionRecord
    agent: Agent
    context: ToolContext

    @property
    def mode(self) -> str:
        """The mode's display name."""
        modes = self.work.engine.sessions.modes
        return with_current_mode(self.record, modes).custom or self.context.posture.mode


class CallExplanation(msgspec.Struct, frozen=True):
    """The decision about a call, and what each layer decides about each part of it."""

    decision: Decision
    parts: tuple[ExplainedDecision, ...] = ()
    tool: str = ""
    note: str = ""


def explain_context(
    work: SessionRuntime, mode: str = "", agent: str = "", session: str = ""
) -> ExplainContext:
    """Returns the context of a session, or of a new one, in a mode, with an agent."""
    engine, tools = work.engine, work.tools
    if agent and agent not in tools.agents:
        raise unknown_agent(agent, tools.agents)
    if session:
        record = engine.sessions.find(session)
    else:
        record = SessionRecord("", engine.workspace, "", work.mode, "", "", 0)
    if mode or not session:
        base, custom = resolve_mode(mode or work.mode, tools.modes)
        record = msgspec.structs.replace(record, mode=base, custom=custom)
    who = agent or record.agent or default_agent(record.mode)
    record = msgspec.structs.replace(record, agent=who)
    context = engine.session_context(tools)
    plan = engine.plans.find(record.plan_id) if record.plan_id else None
    return ExplainContext(
        work, record, context.agent(record), context.tool_context(record, plan, {})
    )


def explain(seat: ExplainContext, word: str, resource: str) -> CallExplanation:
    """Explains a call that a permission, a tool or an alias names."""
    if word in DIRECT:
        return _judged(seat, ResourceAccess(DIRECT[word], resource))
    if why := unsupported_reason(word):
        return CallExplanation(Decision(Verdict.DENY, why, NOT_OFFERED_NOTE))
    name = resource if word == str(Action.TOOL) else tool_named(word)
    tool = seat.work.tools.dispatcher.tool(name)
    if name in ARGUMENT_BUILDERS:
        return _called(seat, hypothetical_call(name, resource))
    if tool is None:
        return _unknown(seat, name, resource)
    about = resource if tool.action is Action.READ else name
    return _offered(seat, name) or _judged(
        seat, ResourceAccess(tool.action, about, name), tool=name
    )


def is_known(seat: ExplainContext, word: str) -> bool:
    """Tells whether a word names a tool that exists, or might once MCP servers run."""
    name = tool_named(word)
    tool = seat.work.tools.dispatcher.tool(name)
    return tool is not None or bool(unsupported_reason(word)) or bool(_server(seat, name))


def _called(seat: ExplainContext, call: ToolCall) -> CallExplanation:
    toolbox = seat.work.tools.dispatcher
    if missing := _offered(seat, call.tool):
        return _ruled_out(seat, call, missing)
    prepared = toolbox.prepare(call, seat.context, seat.agent)
    if prepared.failure is not None:
        no = Decision(Verdict.DENY, prepared.failure.text, "defaults")
        return CallExplanation(no, tool=call.tool)
    writing = [one for one in prepared.requests if _may_write(one)]
    if seat.context.posture.mode != "plan" or not writing:
        return _judged(seat, *prepared.requests, tool=call.tool)
    # What plan mode does not run is of interest as a call that stages it.
    wanted = [
        msgspec.structs.replace(one, stage=one in writing or one.stage) for one in prepared.requests
    ]
    found = _judged(seat, *wanted, tool=call.tool)
    denied = found.decision.verdict is Verdict.DENY
    return found if denied else msgspec.structs.replace(found, note=STAGE_ONLY)


def _may_write(request: ResourceAccess) -> bool:
    return request.action is Action.SHELL and not classify_read_only(request.resource).read_only


def _offered(seat: ExplainContext, name: str) -> CallExplanation | None:
    """Returns why a tool is not available; None if it is."""
    why = seat.work.tools.dispatcher.unavailable_tools(seat.context.posture, seat.agent).get(name)
    if why is None:
        return None
    return CallExplanation(
        Decision(Verdict.DENY, f"not offered: {why}", NOT_OFFERED_NOTE), tool=name
    )


def _ruled_out(seat: ExplainContext, call: ToolCall, missing: CallExplanation) -> CallExplanation:
    """Adds the rule that excludes a tool, if there is one."""
    tool = seat.work.tools.dispatcher.tool(call.tool)
    found = None
    with suppress(Exception):  # what it touches is only of interest if it can be told
        assert tool is not None
        args = convert(call.args, tool.args)
        found = _judged(seat, *tool.touches(args, seat.context), tool=call.tool)
    if found is None or not found.decision.rule or found.decision.verdict is not Verdict.DENY:
        return missing
    decision = msgspec.structs.replace(found.decision, reason=missing.decision.reason)
    return msgspec.structs.replace(found, decision=decision)


def _unknown(seat: ExplainContext, name: str, resource: str) -> CallExplanation:
    server = _server(seat, name)
    note = STARTED.format(server) if server else UNKNOWN_TOOL
    return _judged(seat, ResourceAccess(Action.TOOL, resource, name), note=note)


def _server(seat: ExplainContext, name: str) -> str:
    """Returns the server whose tool has such a name."""
    servers = seat.work.servers
    return next((each for each in servers if name.startswith(mcp_tool_name(each, ""))), "")


def _judged(
    seat: ExplainContext, *requests: ResourceAccess, tool: str = "", note: str = ""
) -> CallExplanation:
    gate, permissions = seat.work.tools.gate, seat.context.posture
    assert isinstance(gate, RuleGate), "it is the one that explains itself"
    decision = gate.decide(requests, permissions)
    return CallExplanation(decision, gate.explain(requests, permissions), tool, note)
