"""The permission gate: decides every request by rule layers, else the mode, limits and grants."""

from collections.abc import Callable, Iterable, Sequence
from functools import cache, lru_cache, partial
from itertools import chain
from typing import TypeAlias

import msgspec

from assent.core.errors import Refused
from assent.core.permission.command_analysis import CommandAnalysis, SpecialFileRefused
from assent.core.permission.rule import (
    Grant,
    PathLimits,
    PermissionPattern,
    PermissionPolicy,
    PermissionRule,
    matches_everything,
    rule_text,
)
from assent.core.permission.rule_match import (
    AgentRuleLayers,
    ExplainedDecision,
    ResourceForms,
    RuleMatch,
    deciding_match,
    mode_without_tool,
    rule_matches,
)
from assent.core.session.event import RiskLevel
from assent.core.tool import (
    Action,
    Decision,
    PermissionContext,
    ResourceAccess,
    Verdict,
    strictest_decision,
)
from assent.permissions.check import (
    MODE_NAMES,
    NOTHING_STAGED,
    PermissionCheck,
    agent_config_writes,
    check_for,
    command_line_checks,
    copy_checks,
    names_path,
    outside_check,
    outside_path,
    planning_checks,
    require_read_only,
    staged_checks,
    why_not_staged,
)
from assent.permissions.grants import grant_patterns, matching_grant
from assent.permissions.path_limits import PathLimitsCache, with_agent_config_limits
from assent.permissions.resource_names import resource_names
from assent.permissions.risk_rating import RiskRating, highest_risk, rate_risk

FilesReadBy: TypeAlias = Callable[[str], Sequence[str]]
RuleMatches: TypeAlias = Sequence[RuleMatch]

ANY_EDIT = ResourceAccess(Action.EDIT, "")
NO_COPIES = "There is no scratch copy here."
RULE_LAYERS = (
    "user",
    "project",
    "agent",
    "command line",
)  # layers whose questions yolo mode answers
VERDICTS = {"allow": Verdict.RUN, "ask": Verdict.ASK, "deny": Verdict.DENY}
ANSWER_TEXT = {"allow": "allows it", "ask": "asks first", "deny": "denies it"}
_KEPT = 256  # command lines that were looked at
_FENCES = 16  # that are remembered


class RuleGate:
    """Implements PermissionGate from the request, the permission context and the policy alone.

    `read_line` analyses a command line. `operands` returns the files that one opens, or raises
    Refused, with the reason for a model, if it is not read-only; it decides in plan mode. Both are
    passed in because their tables are large and few sessions need them. `why_no_copy` says why no
    command can run in a scratch copy here, and nothing if one can.
    """

    def __init__(
        self,
        policy: PermissionPolicy,
        read_line: Callable[[str], CommandAnalysis],
        operands: FilesReadBy | None = None,
        why_no_copy: Callable[[], str] = lambda: NO_COPIES,
    ) -> None:
        self._policy = policy
        self._stacks = AgentRuleLayers(policy)
        self._fences = PathLimitsCache(policy, self._stacks)
        self._line = lru_cache(_KEPT)(read_line)
        self._kept: dict[object, PathLimits] = {}
        self._operands = operands
        self._why_no_copy = why_no_copy

    def decide(
        self, requests: Sequence[ResourceAccess], permissions: PermissionContext
    ) -> Decision:
        """Returns the strictest verdict that any of the requests gets."""
        try:
            matters = [
                each for one in requests for each in self._matters(one, permissions, requests)
            ]
            return strictest_decision([self._decide(matter, permissions)[0] for matter in matters])
        except Exception as error:  # law 9: a gate that fails denies
            return _failed(error, permissions)

    def path_limits(self, permissions: PermissionContext) -> PathLimits | None:
        """Returns what rules forbid to every program of a model; None if they forbid nothing."""

        def is_readable(path: str) -> bool:
            return (
                self.decide((ResourceAccess(Action.READ, path),), permissions).verdict
                is Verdict.RUN
            )

        found = self._fences.of(permissions, free=_is_free(permissions), reads=is_readable)
        return found if permissions.mode == "plan" else self._with_orders(found, permissions)

    def _with_orders(self, fence: PathLimits | None, permissions: PermissionContext) -> PathLimits:
        """Returns a fence that also keeps what configures agents, unless it may change unasked."""
        ruled = bool(permissions.opened) or self._stacks.has_rules_for(ANY_EDIT, permissions.agents)
        stacks = tuple(map(id, self._stacks.of(permissions.agents)))  # a stack, once made, stays
        modes = (
            permissions.mode,
            permissions.building,
            permissions.scope,
            *(one.id for one in permissions.custom),
        )
        key = (fence, stacks, modes, permissions.opened)
        if key not in self._kept:
            if len(self._kept) >= _FENCES:
                self._kept.clear()
            is_open = partial(self._is_open, permissions) if ruled else None
            self._kept[key] = with_agent_config_limits(fence, is_open)
        return self._kept[key]

    def _is_open(self, permissions: PermissionContext, path: str, folder: bool) -> bool:
        """Tells whether programs may change what configures agents; of a folder, anything in it."""
        if any(_touch(path, each) for each in permissions.opened):
            return True
        unasked = msgspec.structs.replace(permissions, grants=())
        wanted = ResourceAccess(Action.EDIT, f"{path}/*" if folder else path)
        return self.decide((wanted,), unasked).verdict is Verdict.RUN

    def never_allowed_reason(
        self, tool: str, action: Action, permissions: PermissionContext
    ) -> str:
        """Says why no call of a tool can be allowed here; empty if one might be."""
        if mode := mode_without_tool(permissions.custom, (tool,)):
            return f"It is not available in mode {mode}."
        rule = self._stacks.hiding(tool, action, permissions.agents)
        return f"{_reason(rule)} (`{rule_text(rule)}`)" if rule else ""

    def risk(
        self, requests: Sequence[ResourceAccess], *, planning: bool = False, asking: bool = False
    ) -> tuple[RiskLevel, tuple[str, ...]]:
        """Returns the risk level, and why; what cannot be checked is high."""
        try:
            own = rate_risk(requests, self._line, planning=planning)
            return highest_risk([own, *(self._looks_outside(requests) if asking else ())])
        except Exception as error:
            return "high", (_why(error),)

    def _looks_outside(self, requests: Sequence[ResourceAccess]) -> list[RiskRating]:
        """Rates command lines by the files outside the workspace that they open."""
        lines = [self._line(one.resource) for one in requests if one.action is Action.SHELL]
        names = [path for line in lines for path in (*(line.reads or ()), *line.opens)]
        away = filter(None, (outside_path(name, self._policy) for name in names))
        return [("high", (f"{path} is outside the workspace.",)) for path in dict.fromkeys(away)]

    def grant_patterns(
        self, requests: Sequence[ResourceAccess], permissions: PermissionContext
    ) -> tuple[PermissionPattern, ...]:
        """Returns what a remembered permission would cover; empty if it cannot be remembered."""
        try:
            return grant_patterns(
                requests, permissions, self._line, partial(outside_path, policy=self._policy)
            )
        except Exception:
            return ()

    def parts(self, requests: Sequence[ResourceAccess]) -> tuple[str, ...]:
        """Returns every command in command lines, if there is more than one."""
        lines = [one.resource for one in requests if one.action is Action.SHELL]
        try:
            found = tuple(text for line in lines for text in self._commands(line))
        except Exception:  # for display only: it neither denies nor allows anything
            return ()
        return found if found != tuple(lines) else ()

    def files(self, requests: Sequence[ResourceAccess]) -> tuple[ResourceAccess, ...]:
        """Returns the files that command lines open or write, as far as their text shows."""
        lines = [one.resource for one in requests if one.action is Action.SHELL]
        try:
            found = [each for line in lines for each in self._files(self._line(line))]
        except Exception:  # as above: only shown
            return ()
        return tuple(dict.fromkeys(found))

    def operands(self, requests: Sequence[ResourceAccess]) -> tuple[str, ...]:
        """Returns every name in command lines that could be a file that they read."""
        read = [self._line(one.resource) for one in requests if one.action is Action.SHELL]
        names = [path for line in read for path in (*(line.reads or ()), *line.opens)]
        found = [outside_path(path, self._policy) or path for path in names]
        return tuple(dict.fromkeys(found))

    def is_mandatory_ask(
        self, requests: Sequence[ResourceAccess], permissions: PermissionContext
    ) -> bool:
        """Tells whether permission for one of these lasts for one session at most."""
        try:
            matters = [
                each for one in requests for each in self._matters(one, permissions, requests)
            ]
        except Exception:  # law 9
            return True
        return any(matter.fixed for matter in matters)

    def explain(
        self, requests: Sequence[ResourceAccess], permissions: PermissionContext
    ) -> tuple[ExplainedDecision, ...]:
        """Returns everything that is decided, with what each layer says about it."""
        found = []
        for request in requests:
            try:
                matters = list(self._matters(request, permissions, requests))
            except Exception as error:
                no = _failed(error, permissions)
                found.append(ExplainedDecision(request, no, self._opinions(request, permissions)))
                continue
            found += [self._explained(matter, permissions) for matter in matters]
        return tuple(found)

    def _opinions(
        self, request: ResourceAccess, permissions: PermissionContext
    ) -> tuple[RuleMatch, ...]:
        """Returns what layers say about a command line that is refused whatever they say."""
        stacks, root = self._stacks.of(permissions.agents), self._policy.root
        found = list[RuleMatch]()
        try:
            texts = self._commands(request.resource) or (request.resource,)
        except Exception:  # for display only: it neither denies nor allows anything
            texts = (request.resource,)
        for one in [ResourceAccess(request.action, text, request.key) for text in texts]:
            for stack in stacks:
                found += rule_matches(stack, one, cache(partial(resource_names, one, root)))
        return tuple(dict.fromkeys(found))

    def _explained(
        self, matter: PermissionCheck, permissions: PermissionContext
    ) -> ExplainedDecision:
        decision, said = self._decide(matter, permissions)
        return ExplainedDecision(matter.request, decision, tuple(dict.fromkeys(chain(*said))))

    def _matters(
        self,
        request: ResourceAccess,
        permissions: PermissionContext,
        together: Sequence[ResourceAccess],
    ) -> Iterable[PermissionCheck]:
        if request.action is not Action.SHELL:
            return (check_for(request, permissions), *self._around(request, permissions, together))
        if permissions.mode != "plan":
            line, away = self._line(request.resource), partial(outside_path, policy=self._policy)
            return command_line_checks(request, permissions, line, away)
        return self._planning_matters(request, permissions)

    def _planning_matters(
        self, request: ResourceAccess, permissions: PermissionContext
    ) -> Iterable[PermissionCheck]:
        """Returns the checks for a command line in plan mode.

        It only reads, or runs in the scratch copy, or may be staged.
        """
        text, why_not = request.resource, why_not_staged(permissions)
        try:
            files = self._read_by(text)
        except SpecialFileRefused:
            raise
        except Refused as refused:
            if self._takes_copy(request, permissions):
                return copy_checks(request, permissions, self._line(text))
            if why_not is not None or not text.strip():
                message = " ".join(filter(None, [refused.message, why_not]))
                raise Refused(message, refused.next) from refused
            no_copy = self._why_no_copy() if permissions.shell == "rehearse" else ""
            return staged_checks(request, permissions, self._line(text), refused.message, no_copy)
        if request.stage:
            if why_not is not None:
                raise Refused(" ".join(filter(None, [NOTHING_STAGED, why_not])))
            return staged_checks(request, permissions, self._line(text))
        is_ruled = self._stacks.has_rules_for(request, permissions.agents)
        return planning_checks(
            request, permissions, self._commands(text) if is_ruled else (), files
        )

    def runs_in_copy(
        self, requests: Sequence[ResourceAccess], permissions: PermissionContext
    ) -> bool:
        """Tells whether a command line, if it is allowed, runs in the session's scratch copy."""
        lines = [one for one in requests if one.action is Action.SHELL]
        if permissions.mode != "plan" or len(lines) != 1:
            return False
        try:
            self._read_by(lines[0].resource)
        except SpecialFileRefused:
            return False
        except Refused:
            return self._takes_copy(lines[0], permissions)
        return False

    def _takes_copy(self, request: ResourceAccess, permissions: PermissionContext) -> bool:
        """Tells whether a line that may write runs in a copy; one is tried last."""
        wanted = permissions.shell == "rehearse" and not request.stage
        return wanted and bool(request.resource.strip()) and not self._why_no_copy()

    def _read_by(self, text: str) -> Sequence[str]:
        """Returns the files that a line opens; raises Refused if it is not read-only."""
        return self._operands(text) if self._operands else require_read_only(self._line(text))

    def _around(
        self,
        request: ResourceAccess,
        permissions: PermissionContext,
        together: Sequence[ResourceAccess],
    ) -> Iterable[PermissionCheck]:
        """Yields the look outside that reading a file is, where no other request says so."""
        away = outside_path(request.resource, self._policy) if request.action is Action.READ else ""
        asked = [one.resource.removesuffix("*") for one in together if one.action is Action.OUTSIDE]
        if away and not any(f"{away}/".startswith(folder) for folder in asked):
            yield outside_check(away, permissions)

    def _files(self, line: CommandAnalysis) -> Iterable[ResourceAccess]:
        away = [path for path in line.opens if outside_path(path, self._policy)]
        reads = [ResourceAccess(Action.READ, path) for path in (*(line.reads or ()), *away)]
        writes = [
            ResourceAccess(Action.EDIT, path) for path in (*line.writes, *agent_config_writes(line))
        ]
        return (*reads, *writes)

    def _commands(self, text: str) -> tuple[str, ...]:
        return self._line(text).commands

    def _decide(
        self, matter: PermissionCheck, permissions: PermissionContext
    ) -> tuple[Decision, Sequence[RuleMatches]]:
        """Rules, the mode where none spoke, the floor, and an answer where it would be asked."""
        texts: ResourceForms = cache(partial(_forms, matter, self._policy.root))
        stacks = self._stacks.of(permissions.agents)
        said = [rule_matches(stack, matter.request, texts) for stack in stacks]
        decision = strictest_decision([self._ruled(matter, each, permissions) for each in said])
        if matter.floor is not None:
            decision = strictest_decision((decision, matter.floor))
        if decision.verdict is Verdict.ASK and permissions.grants:
            decision = self._answered(matter, decision, permissions, texts)
        return decision, said

    def _ruled(
        self, matter: PermissionCheck, said: RuleMatches, permissions: PermissionContext
    ) -> Decision:
        """Returns what rules, or else the mode, make of a matter."""
        if matter.fixed:  # only a rule of the user's own that names it allows it
            policy = self._policy
            said = [
                one
                for one in said
                if one.rule.action != "allow" or names_path(one, matter.fixed, policy)
            ]
        return _ruled(matter, said, permissions)

    def _answered(
        self,
        matter: PermissionCheck,
        decision: Decision,
        permissions: PermissionContext,
        texts: ResourceForms,
    ) -> Decision:
        grant = matching_grant(matter, decision, permissions, texts(), self._policy.home)
        if grant is None or self._is_worse(matter.request, grant):
            return decision
        return Decision(Verdict.RUN, "You allowed this before.", "grant", grant.id)

    def _is_worse(self, request: ResourceAccess, grant: Grant) -> bool:
        """Tells whether a command is of high risk and an answer only covers its beginning."""
        own = [one for one in grant.patterns if one.permission == request.permission]
        if request.action is not Action.SHELL or any(one.exact for one in own):
            return False
        return self.risk((request,))[0] == "high"


def _touch(one: str, other: str) -> bool:
    """Tells whether one path is the other, is in it, or contains it."""
    return f"{one}/".startswith(f"{other}/") or f"{other}/".startswith(f"{one}/")


def _forms(matter: PermissionCheck, root: str) -> tuple[str, ...]:
    """Returns the texts by which rules and answers know a matter."""
    found = resource_names(matter.request, root)
    if matter.fixed and matter.request.action is Action.EDIT:
        return (*found, *(f"{form.rstrip('/')}/" for form in found))
    if not matter.fixed or matter.request.action is not Action.OUTSIDE:
        return found
    return tuple(dict.fromkeys((*found, matter.fixed, f"{matter.fixed.rstrip('/')}/*")))


def _failed(error: Exception, permissions: PermissionContext) -> Decision:
    """Returns the denial of what could not be judged, or is not a command for planning."""
    by_mode = permissions.mode == "plan" and isinstance(error, Refused)
    return Decision(Verdict.DENY, _why(error), "mode" if by_mode else "defaults")


def _why(error: Exception) -> str:
    return (
        error.message
        if isinstance(error, Refused)
        else (f"The permission check failed: {error!r}.")
    )


def _ruled(matter: PermissionCheck, said: RuleMatches, permissions: PermissionContext) -> Decision:
    """Returns what rules, or else the mode, make of a matter."""
    if matter.delicate:  # a rule that names nothing does not let it run
        said = [
            one
            for one in said
            if one.rule.action != "allow" or not matches_everything(one.rule.pattern)
        ]
    if matter.unreal:
        said = [one for one in said if one.rule.action == "deny"]
    opinion = deciding_match(said)
    if opinion is None or _stages(opinion, matter, permissions):
        decision = matter.default
    else:
        decision = _of(opinion)
    if decision.verdict is not Verdict.ASK or not _is_free(permissions):
        return decision
    softer = matter.default if decision.layer in RULE_LAYERS else decision
    if softer.verdict is Verdict.ASK and softer.layer != "mode":
        return softer
    how = f"{MODE_NAMES[permissions.mode]} mode" if permissions.mode == "yolo" else "`--auto`"
    return Decision(Verdict.RUN, f"{how} allows this without asking.", "mode", decision.rule)


def _stages(opinion: RuleMatch, matter: PermissionCheck, permissions: PermissionContext) -> bool:
    """Tells whether staging replaces the question: approval of the whole plan is asked for later.

    Only a rule that names files asks about each edit of them while planning, too.
    """
    is_staged = permissions.mode == "plan" and matter.default.verdict is Verdict.STAGE
    asks_all = bool(matter.whole) or matches_everything(opinion.rule.pattern)
    return is_staged and opinion.rule.action == "ask" and asks_all


def _is_free(permissions: PermissionContext) -> bool:
    return permissions.mode != "plan" and (permissions.auto or permissions.mode == "yolo")


def _of(opinion: RuleMatch) -> Decision:
    rule, layer = opinion.rule, opinion.layer.name
    return Decision(VERDICTS[rule.action], _reason(rule, layer), layer, rule_text(rule))


def _reason(rule: PermissionRule, layer: str = "") -> str:
    place = rule.source or f"the {layer} layer"
    return rule.reason or f"A rule from {place} {ANSWER_TEXT[rule.action]}."
