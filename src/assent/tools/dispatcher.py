"""The tool dispatcher: the only module where calls are parsed, judged, run and answered.

It also decides which tools a model is offered.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Final, TypeAlias

import msgspec

from assent.core.errors import AssentError, UsageError
from assent.core.llm import ToolCall, ToolDefinition
from assent.core.paths import display_path, typed_line
from assent.core.permission.mode import Mode
from assent.core.plan.operation import footprint
from assent.core.session.agent import Agent
from assent.core.session.event import PlannedCall
from assent.core.session.question import PermissionAnswer
from assent.core.session.transcript import BUILD_TOOLS, DRAFT_TOOLS, PLAN_TOOLS, mode_tools
from assent.core.tool import (
    MISSING_CAPABILITY,
    Action,
    CommandEffect,
    Decision,
    EditEffect,
    Effect,
    GuardedCall,
    PermissionContext,
    PresentPlanEffect,
    RehearseEffect,
    ResourceAccess,
    ScratchCommandEffect,
    TaskEffect,
    ToolOutcome,
    Verdict,
    missing_tools,
    strictest_decision,
    without_missing_tools,
)
from assent.ports.session import CallGuard, PermissionGate
from assent.tools.aliases import aliases_of, normalized_name, resolve_alias
from assent.tools.files import outside_accesses
from assent.tools.outcome import JoinedOutcome, access_line, failed_outcome, refused_outcome, titled
from assent.tools.session_tools import MORE_TOOLS_ACCESS
from assent.tools.tool import (
    SELF_EXPLAINING,
    Tool,
    ToolContext,
    ToolOffers,
    ToolSets,
    decode_arguments,
    tool_definition,
)

# Tool availability: why a tool is not offered in a mode, to an agent, or in a child session.


ENTER = "enter_plan"
MORE = "more_tools"
REHEARSE = "rehearse"
OPTIONS = "options"  # once it is offered, other tools take the label of an option
NOTHING_MORE = "Every available tool is offered at once here."
# A child's words and wishes belong to its parent's plan, which the parent writes.
ROOT_ONLY = (ENTER, "write_plan", "todo", "remember", OPTIONS, *DRAFT_TOOLS)
# A mode whose tools a name stands for; all modes but plan mode have the same.
_MODE_OF: Final[dict[str, Mode]] = {PLAN_TOOLS: "plan", BUILD_TOOLS: "ask"}
# What agents' files of other programs call the family of a tool.
FAMILIES = {Action.EDIT: ("edit",), Action.SHELL: ("bash",), Action.FETCH: ("webfetch",)}


def unavailable_reason(
    tool: Tool, permissions: PermissionContext, agent: Agent, *, suggest: bool
) -> str:
    """Returns why a tool is not offered, or nothing if it is."""
    if _denied_by_agent(tool, agent):
        return f"The agent {agent.name} may not use it."
    if permissions.child and (tool.action is Action.PRESENT or tool.name in ROOT_ONLY):
        return "Only the main session can do this."
    if tool.action is Action.TASK and not permissions.deeper:
        return "A sub-agent cannot start sub-agents here (`tasks.depth`)."
    for mode in permissions.custom:
        if mode.tools is not None and tool.name not in mode.tools:
            return f"It is not available in mode {mode.id}."
    if tool.name == ENTER and not suggest and permissions.mode != "plan":
        return "The setting `plan.suggest` is off; only the user can switch to plan mode."
    return _by_mode(tool, permissions)


def _by_mode(tool: Tool, permissions: PermissionContext) -> str:
    if permissions.mode == "plan":
        return _while_planning(tool, permissions)
    if tool.only == "plan":
        return f"It works only in plan mode; this session is in {permissions.mode} mode."
    return ""


def _while_planning(tool: Tool, permissions: PermissionContext) -> str:
    if tool.only == "build":
        return "It works only outside plan mode; this session is already in plan mode."
    if tool.action is Action.EDIT and permissions.child:
        return "In plan mode, only the main session can stage changes."
    if (tool.action is Action.EDIT or tool.name in DRAFT_TOOLS) and not permissions.staging:
        return (
            "Staging is off (`plan.staging`), so only the plan's text can be written; use "
            "`write_plan`."
        )
    if tool.name == REHEARSE and permissions.shell == "read-only":
        return "Only commands that read run while planning (`plan.shell`)."
    if tool.action is Action.TOOL:
        return "Its effects are unknown, so it cannot be staged; it works only outside plan mode."
    if tool.action is Action.FETCH and not permissions.hosts:
        return "No host is allowed in plan mode (`fetch.hosts` is empty)."
    return ""


def _denied_by_agent(tool: Tool, agent: Agent) -> bool:
    """Tells whether an agent's file excludes a tool, under its own name or an alias."""
    if agent.denies(tool.name):
        return True
    off = [name for name, on in agent.tools.items() if on is False]
    off += [name for name, rule in agent.permission.items() if rule == "deny"]
    if not off:
        return False
    others = {*FAMILIES.get(tool.action, ()), *aliases_of(tool.name)}
    return any(normalized_name(name) in others for name in off)


# Checks that the gate has judged everything that a call's effect touches.


# What must have been judged for an effect that names no file; all others are Assent's own.
_NEEDED: Final[dict[type, Action]] = {
    PresentPlanEffect: Action.PRESENT,
    CommandEffect: Action.SHELL,
    TaskEffect: Action.TASK,
}


def check_effect_covered(effect: Effect | None, requests: Sequence[ResourceAccess]) -> None:
    """Raises unless the requests that were judged cover an effect."""
    judged = {(request.action, request.resource) for request in requests}
    if isinstance(effect, EditEffect):
        paths = [path for op in effect.operations for path, *_ in footprint(op)]
        unseen = [p for p in paths if (Action.EDIT, display_path(p)) not in judged]
        if unseen:
            raise AssentError(f"{display_path(unseen[0])} was not checked for permission.")
    elif isinstance(effect, CommandEffect | ScratchCommandEffect):
        if not any(a is Action.SHELL and line.endswith(effect.line) for a, line in judged):
            raise AssentError("Its command was not checked for permission.")
    elif (
        isinstance(effect, RehearseEffect)
        and not {(Action.SHELL, line) for line in effect.commands} <= judged
    ):
        raise AssentError("Its commands were not checked for permission.")
    elif effect is not None:
        needed = _NEEDED.get(type(effect), Action.PLAN)
        if needed not in {action for action, _ in judged}:
            raise AssentError("Its effect was not checked for permission.")


# Infers what a call is about from its arguments, where it was refused before it was read.
#
# Nothing is judged by this; people see it in execution plans and in the record of decisions.


SUBJECTS = ("path", "to", "command", "url")


def inferred_access(call: ToolCall, tool: Tool | None) -> tuple[ResourceAccess, ...]:
    """Returns the requests that a call seems to make; an unknown tool could do anything."""
    args = call.args or {}
    listed = args.get("edits")
    each = [args, *filter(_is_object, listed)] if isinstance(listed, list) else [args]
    found = [one.get(name) for one in each for name in SUBJECTS]
    named = list(dict.fromkeys(value for value in found if isinstance(value, str) and value))
    if tool is None:
        return (ResourceAccess(Action.TOOL, " ".join([call.tool, *named])),)
    return tuple(ResourceAccess(tool.action, value) for value in named or (tool.name,))


def _is_object(value: object) -> bool:
    return isinstance(value, dict)


READ_ACTIONS = (Action.READ, Action.SHELL, Action.FETCH, Action.SKILL)
SHELL = "shell"
LOOP = "loop"  # the layer of a guard that noticed one
MAX_QUOTED_CHARS = 120  # characters of what is repeated, in a question
COMMAND_TOOLS = ("git", "grep")  # tools that are programs of the shell, too
NOT_ALLOWED = "The user did not allow it: "  # with what they said
IMPOSSIBLE = "This cannot be done here. Nothing was done."
FAILED_VERDICT = "fail"  # of a call that failed before it was judged, or before it was staged
UNJUDGED = Decision(Verdict.RUN)  # of a call that failed before it was judged


class ToolPermissionRequest(msgspec.Struct, frozen=True):
    """What a user is asked about: some requests of a call, and what allowing them would do."""

    call: ToolCall
    tool: str
    requests: tuple[ResourceAccess, ...]
    decision: Decision
    edit: EditEffect | None = None


# Who is offered tools, and which of those on demand the session came to need.
_Asker: TypeAlias = tuple[PermissionContext, Agent, tuple[str, ...]]
AskPermission: TypeAlias = Callable[[ToolPermissionRequest], PermissionAnswer]


class PreparedCall(msgspec.Struct, frozen=True):
    """A call that was parsed and judged, and has not run; with `failure`, it never will."""

    call: ToolCall
    tool: Tool | None = None
    args: msgspec.Struct | None = None
    requests: tuple[ResourceAccess, ...] = ()
    decision: Decision | None = None
    failure: ToolOutcome | None = None
    absent: frozenset[str] = frozenset()  # tools that no advice about it may name
    on_demand: tuple[str, ...] = ()  # tools that it can ask for, if that is what it does
    pieces: "tuple[PreparedCall, ...]" = ()  # the calls that it stands for, in order
    number: int = 0  # which piece of another call it is, from 1; 0: it is a call of its own
    planning: bool = False  # in plan mode, where edits are staged
    in_copy: bool = False  # its command runs in the session's scratch copy


class ToolCallResult(msgspec.Struct, frozen=True):
    """A call's outcome, its decision if there is one, the tool's own name, and the answer."""

    outcome: ToolOutcome
    decision: Decision | None
    tool: str
    consent: PermissionAnswer | None = None
    attempt: GuardedCall | None = None  # as guards saw it
    pieces: "tuple[ToolCallResult, ...]" = ()  # of a call that stands for several; guards saw these


class ToolDispatcher:
    """The tools of a session; nothing runs that is unavailable, or that the gate did not pass."""

    def __init__(
        self,
        tools: Sequence[Tool],
        gate: PermissionGate,
        *,
        suggest: bool = False,
        more: Callable[[str], Sequence[Tool]] = lambda mode: (),
        notes: Mapping[str, str] = {},
        at_once: Collection[str] = (),
        offers: ToolOffers | None = None,
    ) -> None:
        """`more` returns the MCP tools that are available in a mode, and starts their servers.

        `notes` are additions to descriptions, by tool. Tools `at_once` need not be asked for.
        `offers` are kept from other dispatchers with all of that, and with the same rules. They
        say what is offered; what may run is judged for each call.
        """
        self._tools = {tool.name: tool for tool in tools}
        self._gate = gate
        self._suggest = suggest
        self._more = more
        self._notes = notes
        self._at_once = at_once
        self._offers = offers or ToolOffers()
        self._asked: tuple[_Asker, tuple[ToolDefinition, ...]] | None = None

    def available_tools(
        self, permissions: PermissionContext, agent: Agent, requested: tuple[str, ...] = ()
    ) -> tuple[ToolDefinition, ...]:
        """Returns the tools that a request offers; an unchanged set is the same object.

        Those on demand come last, in the order in which the session came to need them. `requested`
        names modes, too: the list begins with the tools of the first, and what a later mode brings
        comes behind. No mode takes a tool away or changes what is said about it, as providers cache
        from the beginning of a request; a call that the mode does not allow is refused.
        """
        asked = self._asked  # children ask, too, each in a separate thread
        if asked is None or asked[0] != (permissions, agent, requested):
            self._learn(permissions)
            now = mode_tools(permissions.mode)
            modes = tuple(each for each in (*requested, now) if each in _MODE_OF)
            sets = {each: self._mode_sets(each, permissions, agent) for each in modes}
            names: dict[str, None] = {}
            # Of a later mode, what its instructions name and `more_tools` does not list, too.
            named = {REHEARSE} - {*sets[modes[0]].on_demand}
            for each in (modes[0], *requested, now):
                if each in sets:
                    hidden = {*sets[each].unavailable, *({*sets[each].on_demand} - named)}
                    names |= {name: None for name in self._tools if name not in hidden}
                elif any(each in one.on_demand for one in sets.values()):
                    names[each] = None
            first = sets[modes[0]]
            absent = frozenset.intersection(*[frozenset(one.unavailable) for one in sets.values()])
            planning = modes[0] == PLAN_TOOLS and permissions.staging
            key = (tuple(names), absent, first.on_demand, planning)
            offered = self._offers.offered
            if key not in offered:
                said = ToolSets(dict.fromkeys(absent, ""), first.on_demand)
                options = OPTIONS in names
                made = [
                    self._definition(name, said, options=options, planning=planning)
                    for name in names
                ]
                offered[key] = tuple(made)
            asked = self._asked = ((permissions, agent, requested), offered[key])
        return asked[1]

    def _mode_sets(self, mode: str, permissions: PermissionContext, agent: Agent) -> ToolSets:
        """Returns the tools of the mode in effect, or of one that was in effect before."""
        if mode != mode_tools(permissions.mode):
            before = msgspec.structs.replace(permissions, mode=_MODE_OF[mode])
            return self._divided(before, agent)
        return self.tool_sets(permissions, agent)

    def on_demand_tools(
        self, permissions: PermissionContext, agent: Agent
    ) -> tuple[ToolDefinition, ...]:
        """Returns the tools that a model has to ask for."""
        sets = self.tool_sets(permissions, agent)
        return tuple(self._definition(name, sets) for name in sets.on_demand)

    def tool_sets(self, permissions: PermissionContext, agent: Agent) -> ToolSets:
        """Returns which tools are unavailable, and which are offered on demand.

        None are on demand where asking for them would not simply run: then all are offered.
        """
        return self._found(permissions, agent)[0]

    def _found(
        self, permissions: PermissionContext, agent: Agent
    ) -> tuple[ToolSets, frozenset[str]]:
        self._learn(permissions)
        count = len(self._tools)
        known = self._offers.find(permissions, agent, count)
        if known is None:
            sets = self._divided(permissions, agent)
            had = [name for name in self._tools if name not in sets.unavailable]
            known = sets, missing_tools(had)
            self._offers.keep(permissions, agent, count, known)
        return known

    def _divided(self, permissions: PermissionContext, agent: Agent) -> ToolSets:
        why = {n: self._withheld(tool, permissions, agent) for n, tool in self._tools.items()}
        why = {name: reason for name, reason in why.items() if reason}
        rare = [
            name
            for name, tool in self._tools.items()
            if tool.on_demand and name not in why and not self._is_at_once(name, permissions, agent)
        ]
        if MORE not in self._tools or MORE in why or not self._may_ask(permissions):
            rare = []
        if not rare and MORE in self._tools:
            why.setdefault(MORE, NOTHING_MORE)
        return ToolSets(why, tuple(rare))

    def unavailable_tools(self, permissions: PermissionContext, agent: Agent) -> dict[str, str]:
        """Returns which tools a model cannot have, and why."""
        return self.tool_sets(permissions, agent).unavailable

    def absent(self, permissions: PermissionContext, agent: Agent) -> frozenset[str]:
        """Returns the built-in tools that a model cannot have, so that no advice names them."""
        return self._found(permissions, agent)[1]

    def _definition(
        self, name: str, sets: ToolSets, *, options: bool = False, planning: bool = True
    ) -> ToolDefinition:
        """Returns a tool as a model sees it; the same object as long as it is the same."""
        note = self._notes.get(name, "")
        if name == MORE:
            # Those of the draft come with it, and only one is named before: instructions name it.
            rare = [
                (each, self._tools[each].on_demand)
                for each in sets.on_demand
                if each not in DRAFT_TOOLS or each == REHEARSE
            ]
            note = ", ".join(_listed(each, purpose) for each, purpose in rare) + "."
        key = (name, frozenset(sets.unavailable), note, options, planning)
        made = self._offers.made
        if key not in made:
            made[key] = tool_definition(
                self._tools[name], sets.unavailable, note, options=options, planning=planning
            )
        return made[key]

    def _is_at_once(self, name: str, permissions: PermissionContext, agent: Agent) -> bool:
        """Tells whether settings, an agent's file or a mode name a tool to be offered at once."""
        names = {normalized_name(name), *aliases_of(name)}
        on = [each for each, wanted in agent.tools.items() if wanted]
        on += [each for mode in permissions.custom for each in mode.tools or ()]
        return name in self._at_once or any(normalized_name(each) in names for each in on)

    def _may_ask(self, permissions: PermissionContext) -> bool:
        """Tells whether a model may ask for tools without anyone being asked."""
        try:
            return self._gate.decide((MORE_TOOLS_ACCESS,), permissions).verdict is Verdict.RUN
        except Exception:  # law 9: then it does not run; nothing is lost, as all are offered
            return False

    def name(self, call: ToolCall) -> str:
        """Returns the name of the tool that a call means."""
        try:
            return resolve_alias(call, self._tools).tool
        except UsageError:
            return call.tool

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all tools, offered or not."""
        return tuple(self._tools)

    def tool(self, name: str) -> Tool | None:
        """Returns a tool by its own name, offered or not."""
        return self._tools.get(name)

    def concurrency_group(self, call: ToolCall, permissions: PermissionContext) -> str:
        """Returns the group that a call may run in parallel with: `reads`, `tasks` or none."""
        tool = self._tools.get(self.name(call))
        if tool is None:
            return ""
        if tool.name == SHELL and permissions.mode != "plan":  # there it may write
            return ""
        if tool.action is Action.TASK:
            return "tasks"
        return "reads" if tool.action in READ_ACTIONS else ""

    def prepare(self, call: ToolCall, context: ToolContext, agent: Agent) -> PreparedCall:
        """Parses and judges a call: known, offered, well formed, and its access allowed."""
        prepared = self._prepare(call, context, agent)
        return msgspec.structs.replace(prepared, planning=context.posture.mode == "plan")

    def _prepare(self, call: ToolCall, context: ToolContext, agent: Agent) -> PreparedCall:
        absent = frozenset[str]()
        try:
            self._learn(context.posture)
            absent = self.absent(context.posture, agent) - {call.tool}
            call = resolve_alias(call, self._tools)
            absent -= {call.tool, *(COMMAND_TOOLS if call.tool == SHELL else ())}
            tool = self._known(call, context.posture, agent)
            args = decode_arguments(tool, call)
            named = context.of_call(args)
            pieces = tool.pieces(args)
        except Exception as error:
            return PreparedCall(call, failure=_advised(failed_outcome(call.tool, error), absent))
        if pieces:
            return self._prepare_pieces(
                PreparedCall(call, tool, args, absent=absent),
                [
                    self.prepare(msgspec.structs.replace(call, args=piece), context, agent)
                    for piece in pieces
                ],
            )
        try:
            requests = tuple(tool.touches(args, named)) or (ResourceAccess(tool.action, tool.name),)
            requests += self._outside(named, tool, requests)
            decision = self._gate.decide(requests, context.posture)
        except Exception as error:  # law 9: what cannot be judged is not done
            outcome = _advised(failed_outcome(tool.name, error), absent)
            decision = Decision(Verdict.DENY, outcome.text)
            return PreparedCall(call, tool, decision=decision, failure=outcome)
        rare = self.tool_sets(context.posture, agent).on_demand if tool.name == MORE else ()
        return PreparedCall(
            call,
            tool,
            args,
            requests,
            decision,
            absent=absent,
            on_demand=rare,
            in_copy=tool.name == SHELL and self._gate.runs_in_copy(requests, context.posture),
        )

    def _outside(
        self, context: ToolContext, tool: Tool, requests: tuple[ResourceAccess, ...]
    ) -> tuple[ResourceAccess, ...]:
        """Returns the outside files that a command names, if that has to be judged.

        In plan mode commands see nothing there but what the user chose to show; a rule that denies
        it counts all the same.
        """
        if context.posture.mode != "plan":
            return outside_accesses(context, self._gate.operands(requests))
        if tool.name != SHELL or not context.process.chosen():
            return ()
        found = outside_accesses(context, self._gate.operands(requests))
        decisions = [self._gate.decide((each,), context.posture) for each in found]
        denied = zip(found, decisions, strict=True)
        return tuple(each for each, decision in denied if decision.verdict is Verdict.DENY)

    @staticmethod
    def _prepare_pieces(whole: PreparedCall, pieces: Sequence[PreparedCall]) -> PreparedCall:
        """Returns a call that stands for several; each keeps its own verdict."""
        numbered = [
            msgspec.structs.replace(each, number=number) for number, each in enumerate(pieces, 1)
        ]
        decisions = [each.decision or _unread(each) for each in numbered]
        return msgspec.structs.replace(
            whole,
            requests=tuple(request for each in numbered for request in each.requests),
            decision=strictest_decision(decisions),
            pieces=tuple(numbered),
        )

    def planned(self, prepared: PreparedCall) -> PlannedCall:
        """Returns what a call is going to do, as users see it before it runs."""
        call, decision = prepared.call, prepared.decision
        requests = self._requests(prepared)
        is_staged = decision is not None and decision.verdict in (Verdict.STAGE, Verdict.ASK)
        level, reasons = self._gate.risk(requests, planning=prepared.planning and is_staged)
        if prepared.in_copy or any(one.tries for one in requests):  # nothing real is at stake
            level, reasons = "low", ()
        if decision is None:
            verdict, why = FAILED_VERDICT, prepared.failure.text if prepared.failure else ""
        else:
            verdict, why = str(decision.verdict), decision.reason
        if why and verdict in (FAILED_VERDICT, Verdict.DENY):
            reasons = (why,)  # what it would have done does not matter
        title = prepared.tool.title(prepared.args) if prepared.tool and prepared.args else ""
        about = f": {title}" if title else ""
        touches = [access_line(one) for one in (*requests, *self._gate.files(requests))]
        touches = [f"{each}{about}" for each in touches]
        once = tuple(dict.fromkeys(touches))
        return PlannedCall(call.id, call.tool, once, verdict, level, reasons)

    def _requests(self, prepared: PreparedCall) -> tuple[ResourceAccess, ...]:
        """Returns what a call accesses, or seems to request if it was refused before that."""
        return prepared.requests or inferred_access(
            prepared.call, self._tools.get(prepared.call.tool)
        )

    def run_call(
        self,
        prepared: PreparedCall,
        context: ToolContext,
        ask: AskPermission,
        guards: Sequence[CallGuard] = (),
    ) -> ToolCallResult:
        """Runs a call to its outcome; only KeyboardInterrupt is raised."""
        if prepared.pieces:
            return self._run_pieces(prepared, context, ask, guards)
        tool, decision = prepared.tool, prepared.decision
        if prepared.failure is not None or tool is None or decision is None:
            outcome = prepared.failure or refused_outcome(
                prepared.call.tool, "It could not be read."
            )
            attempt = _attempt(prepared, decision or UNJUDGED, context)
            return ToolCallResult(
                titled(outcome, self._requests(prepared)),
                decision,
                prepared.call.tool,
                attempt=attempt,
            )
        attempt = _attempt(prepared, decision, context)
        try:
            context = context.of_call(prepared.args)
        except Exception as error:
            outcome = _advised(failed_outcome(tool.name, error), prepared.absent)
            return ToolCallResult(outcome, decision, tool.name, attempt=attempt)
        objections = _objections(guards, attempt)
        decision = _joined(decision, objections)
        attempt = msgspec.structs.replace(attempt, decision=decision)
        shut = msgspec.structs.replace(
            context,
            readable=partial(self._readable, context),
            judged=prepared.requests,
            absent=prepared.absent,
            on_demand=prepared.on_demand,
            in_copy=prepared.in_copy,
        )
        loop = " ".join(each.reason for each in objections if each.layer == LOOP)
        asked = _CallQuestions(ask, prepared, decision, loop)
        try:
            doubts = self._doubts(prepared, decision, context.posture)
            asked.about([request for request in doubts if request.action is not Action.EDIT])
            if tool.action is Action.FETCH or tool.schema is not None:
                # It waits for a server, and can be left to itself.
                outcome = shut.attend(lambda: tool.run(prepared.args, shut))
            else:
                outcome = tool.run(prepared.args, shut)
            check_effect_covered(outcome.effect, prepared.requests)
            outcome = _diagnosed(outcome, shut)
            if not outcome.failed:  # nothing happens by running it: whether it may is asked now
                edit = outcome.effect if isinstance(outcome.effect, EditEffect) else None
                asked.about([request for request in doubts if request.action is Action.EDIT], edit)
        except _CallDenied as refused:
            help = context.process.sandbox_status().next if decision.lacks else ""
            answer = refused_outcome(tool.name, refused.why, decision.lacks, help)
            outcome = titled(_advised(answer, prepared.absent), self._requests(prepared))
            denied = msgspec.structs.replace(attempt.decision, verdict=Verdict.DENY)
            attempt = msgspec.structs.replace(attempt, decision=denied)
        except Exception as error:
            outcome = _advised(failed_outcome(tool.name, error), prepared.absent)
            if MISSING_CAPABILITY in outcome.metadata:
                outcome = titled(outcome, self._requests(prepared))
        return ToolCallResult(outcome, decision, tool.name, asked.consent, attempt)

    def _run_pieces(
        self,
        prepared: PreparedCall,
        context: ToolContext,
        ask: AskPermission,
        guards: Sequence[CallGuard],
    ) -> ToolCallResult:
        """Runs the pieces of a call in order, each as a call of its own, while there is room."""
        results: list[ToolCallResult] = []
        joined = JoinedOutcome()
        context = msgspec.structs.replace(context, is_piece=True)
        for each in prepared.pieces:
            if joined.is_full:
                lines = str((each.call.args or {}).get("lines", ""))
                joined.omit(f"{_piece_name(each)}:{lines}" if lines else _piece_name(each))
                continue
            result = self.run_call(each, context, ask, guards)
            results.append(result)
            if not result.outcome.failed:
                seen = {**context.seen, **result.outcome.metadata.get("seen", {})}
                context = msgspec.structs.replace(context, seen=seen)
            joined.add(_piece_name(each), result.outcome)
        decisions = [each.decision for each in results if each.decision is not None]
        answers = [each.consent for each in results if each.consent is not None]
        # One that is not there yet makes the whole call wait; else a denial says most.
        answers.sort(key=lambda answer: (not answer.later, answer.yes))
        return ToolCallResult(
            joined.outcome(),
            strictest_decision(decisions) if decisions else prepared.decision,
            prepared.call.tool,
            answers[0] if answers else None,
            pieces=tuple(results),
        )

    def _learn(self, permissions: PermissionContext) -> None:
        """Adds MCP tools; none may take the name of another tool."""
        self._tools |= {
            t.name: t for t in self._more(permissions.mode) if t.name not in self._tools
        }

    def _known(self, call: ToolCall, permissions: PermissionContext, agent: Agent) -> Tool:
        tool = self._tools.get(call.tool)
        if tool is None:
            absent = self.unavailable_tools(permissions, agent)
            names = ", ".join(name for name in self._tools if name not in absent)
            raise AssentError(f"Unknown tool `{call.tool}`. Available: {names}.")
        if why := self._withheld(tool, permissions, agent):
            raise AssentError(f"`{tool.name}` is not available, so nothing was done. {why}")
        return tool

    def _withheld(self, tool: Tool, permissions: PermissionContext, agent: Agent) -> str:
        why = unavailable_reason(tool, permissions, agent, suggest=self._suggest)
        return why or self._gate.never_allowed_reason(tool.name, tool.action, permissions)

    def _readable(self, context: ToolContext, path: bytes) -> bool:
        """Tells whether a tool that reads many files may open one of them without asking."""
        requests = (ResourceAccess(Action.READ, display_path(path)),)
        decision = self._gate.decide(requests, context.posture)
        return decision.verdict is Verdict.RUN and context.readable(path)

    def _doubts(
        self, prepared: PreparedCall, decision: Decision, permissions: PermissionContext
    ) -> Sequence[ResourceAccess]:
        """Returns the requests that the user is asked about; raises if they cannot be allowed."""
        if decision.verdict in (Verdict.RUN, Verdict.STAGE):
            return ()
        if decision.verdict is not Verdict.ASK:
            raise _CallDenied(decision.reason or "Permission denied.")
        found = [
            request
            for request in prepared.requests
            if self._gate.decide((request,), permissions).verdict is Verdict.ASK
        ]
        if decision.layer == LOOP and not found:  # a guard asks, whatever the gate said
            return (ResourceAccess(Action.LOOP, _subject(prepared)),)
        return found or prepared.requests


class _CallQuestions:
    """The questions of one call; the user's last answer is kept."""

    def __init__(
        self, ask: AskPermission, prepared: PreparedCall, decision: Decision, loop: str
    ) -> None:
        self.decision = decision
        self._loop = loop  # what the model has to know about itself after any denial
        self.consent: PermissionAnswer | None = None
        self._ask = ask
        self._prepared = prepared

    def about(self, requests: Sequence[ResourceAccess], edit: EditEffect | None = None) -> None:
        """Asks about some requests, if there are any; raises unless the user allows them."""
        if not requests:
            return
        call = self._prepared.call
        doubt = ToolPermissionRequest(call, call.tool, tuple(requests), self.decision, edit)
        self.consent = self._ask(doubt)
        if not self.consent.yes:
            refused = f"{NOT_ALLOWED}{self.consent.why}"
            raise _CallDenied(f"{self._loop} {refused}" if self._loop else refused)


class _CallDenied(Exception):
    """The gate or the user denied a call."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


def _advised(outcome: ToolOutcome, absent: frozenset[str]) -> ToolOutcome:
    """Returns the outcome of a failed call, without advice that names absent tools."""
    return msgspec.structs.replace(
        outcome, text=without_missing_tools(outcome.text, absent) or IMPOSSIBLE
    )


def _unread(prepared: PreparedCall) -> Decision:
    """Returns the decision about a piece that could not be read."""
    return Decision(Verdict.DENY, prepared.failure.text if prepared.failure else "")


def _listed(name: str, purpose: str) -> str:
    return name if purpose == SELF_EXPLAINING else f"{name} ({purpose})"


def _piece_name(prepared: PreparedCall) -> str:
    """Returns what a piece of a call is about, as the model typed it."""
    args = prepared.call.args or {}
    return typed_line(str(args.get("path", prepared.call.tool)))


def _diagnosed(outcome: ToolOutcome, context: ToolContext) -> ToolOutcome:
    """Returns the outcome of an edit with the syntax errors that it leaves behind (F132)."""
    if not isinstance(outcome.effect, EditEffect):
        return outcome
    from assent.tools.diagnostics import with_diagnostics

    return with_diagnostics(outcome, context)


def _attempt(prepared: PreparedCall, decision: Decision, context: ToolContext) -> GuardedCall:
    agents, call = context.posture.agents, prepared.call
    if prepared.number:  # guards know calls by their ids
        call = msgspec.structs.replace(call, id=f"{call.id}#{prepared.number}")
    return GuardedCall(
        context.session,
        agents[0].name if agents else "",
        context.posture.mode,
        call,
        prepared.call.tool,
        prepared.requests,
        decision,
    )


def _objections(guards: Sequence[CallGuard], attempt: GuardedCall) -> list[Decision]:
    """Asks every guard; one that fails counts as an objection (law 9); none can allow anything."""
    found = []
    for guard in guards:
        try:
            objection = guard.before(attempt)
        except Exception as error:
            objection = Decision(Verdict.DENY, f"A guard failed: {error!r}.", "hook")
        if objection is not None:
            found.append(objection)
    return found


def _joined(decision: Decision, objections: Sequence[Decision]) -> Decision:
    """Returns the strictest decision; if that is to ask, with all reasons."""
    found = strictest_decision([decision, *objections])
    if found.verdict is not Verdict.ASK:
        return found
    asking = [each.reason for each in (found, *objections) if each.verdict is Verdict.ASK]
    return msgspec.structs.replace(found, reason=" ".join(dict.fromkeys(filter(None, asking))))


def _subject(prepared: PreparedCall) -> str:
    """Names what is repeated: the tool, and the first resource that it accesses."""
    first = access_line(prepared.requests[0])
    cut = "…" if len(first) > MAX_QUOTED_CHARS else ""
    return f"`{prepared.call.tool}` ({first[:MAX_QUOTED_CHARS]}{cut})"


def notify_guards(
    guards: Sequence[CallGuard], result: ToolCallResult, outcome: ToolOutcome
) -> ToolOutcome:
    """Tells the guards the final outcome of a call; returns it with their additions."""
    for piece in result.pieces:
        told = notify_guards(guards, piece, piece.outcome)
        added = told.text.removeprefix(piece.outcome.text)
        outcome = msgspec.structs.replace(outcome, text=f"{outcome.text}{added}")
    for guard in guards if result.attempt is not None else ():
        try:
            outcome = guard.after(result.attempt, outcome)  # type: ignore[arg-type]
        except Exception as error:
            text = f"{outcome.text}\n[A guard failed after the call: {error!r}.]"
            outcome = msgspec.structs.replace(outcome, text=text)
    return outcome
