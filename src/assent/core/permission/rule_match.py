"""How rules match: the layers of a policy with each agent's own between them, compiled once.

In a layer the last match wins. A deny in any layer stays; else the last layer that matched decides.
What an untrusted layer allows does not count, and its ask only makes things stricter (law 9).
"""

from collections.abc import Callable, Sequence
from typing import TypeAlias

import msgspec

from assent.core.permission.mode import CustomMode
from assent.core.permission.rule import (
    PermissionPolicy,
    PermissionRule,
    RuleLayer,
    WildcardMatcher,
    expand_home,
    fixed_prefix,
    matches_everything,
    wildcard_matcher,
    wildcard_matches,
)
from assent.core.session.agent import Agent
from assent.core.tool import PERMISSIONS, Action, Decision, ResourceAccess

# Other words for a permission. Some name single tools, or wider ones: those only make it stricter.
PERMISSION_ALIASES: dict[str, tuple[str, ...]] = {
    "bash": ("shell",),
    "webfetch": ("fetch",),
    "edit": ("write", "patch", "multiedit", "multi_edit", "apply_patch", "delete", "move"),
    "search": ("codesearch", "grep"),
    "todowrite": ("todo", "todoread"),
    "plan_enter": ("enter_plan",),
}
RESTRICTING_PERMISSIONS = ("edit", "search", "todowrite", "plan_enter")
# What OpenCode calls some of our tools.
OPENCODE_NAMES: dict[str, tuple[str, ...]] = {
    "todo": ("todowrite",),
    "search": ("codesearch",),
    "enter_plan": ("plan_enter",),
}
# Tools that rules know by what they do; all others go by their names.
ACTIONS_AS_PERMISSIONS = (Action.EDIT, Action.SHELL, Action.FETCH, Action.PRESENT, Action.TASK)
OWN_ACTIONS = (
    Action.PLAN,
    Action.PRESENT,
)  # Assent's own: a bare `*` does not mean to be asked about them

ResourceForms: TypeAlias = Callable[[], tuple[str, ...]]
RuleRows: TypeAlias = tuple[
    tuple[PermissionRule, str, WildcardMatcher], ...
]  # with how every match begins


class RuleMatch(msgspec.Struct, frozen=True):
    """What one layer says: its last rule that matched."""

    layer: RuleLayer
    rule: PermissionRule

    @property
    def counts(self) -> bool:
        """Whether it changes anything: an untrusted layer allows nothing."""
        return self.layer.trusted or self.rule.action != "allow"


class ExplainedDecision(msgspec.Struct, frozen=True):
    """One thing that was decided about, and what every layer said to it, agent by agent."""

    request: ResourceAccess
    decision: Decision
    opinions: tuple[RuleMatch, ...]


class CompiledRuleLayer:
    """One layer, compiled for many lookups."""

    def __init__(self, layer: RuleLayer, home: str) -> None:
        self.layer = layer
        self._home = home
        self._rows: dict[tuple[str, Action], RuleRows] = {}

    def rows(self, request: ResourceAccess) -> RuleRows:
        """Returns the rules that concern such a request, the last first."""
        key = (request.permission, request.action)
        if key not in self._rows:
            rules = [rule for rule in reversed(self.layer.rules) if rule_covers(rule, request)]
            patterns = [(rule, expand_home(rule.pattern, self._home)) for rule in rules]
            self._rows[key] = tuple(
                (rule, fixed_prefix(p), wildcard_matcher(p)) for rule, p in patterns
            )
        return self._rows[key]

    def last(self, request: ResourceAccess, forms: ResourceForms) -> PermissionRule | None:
        """Returns the last rule that matches a request in any of its forms."""
        rows = self.rows(request)
        if not rows:
            return None
        texts = forms()
        for rule, start, match in rows:
            for text in texts:
                if text.startswith(start) and match(text):
                    return rule
        return None


def rule_matches(
    tables: Sequence[CompiledRuleLayer], request: ResourceAccess, forms: ResourceForms
) -> tuple[RuleMatch, ...]:
    """Returns the matches of the layers, in order; a layer without a match is left out."""
    found = [(table.layer, table.last(request, forms)) for table in tables]
    return tuple(RuleMatch(layer, rule) for layer, rule in found if rule)


def deciding_match(said: Sequence[RuleMatch]) -> RuleMatch | None:
    """Returns the match that decides; None if the mode decides."""
    chosen = None
    for opinion in said:
        if opinion.rule.action == "deny":
            return opinion
        stricter = chosen is None or chosen.rule.action == "allow"
        if opinion.counts and (opinion.layer.trusted or stricter):
            chosen = opinion
    return chosen


def rule_covers(rule: PermissionRule, request: ResourceAccess) -> bool:
    """Tells whether a rule's permission covers a request's, by its own name or a wider one."""
    if (
        matches_everything(rule.permission)
        and rule.action == "ask"
        and request.action in OWN_ACTIONS
    ):
        return False
    if wildcard_matches(request.permission, rule.permission):
        return True
    general = PERMISSIONS[request.action]
    if rule.action != "allow" and wildcard_matches(general, rule.permission):
        return True
    for word in (general, request.permission):
        if any(
            wildcard_matches(other, rule.permission) for other in PERMISSION_ALIASES.get(word, ())
        ):
            return rule.action != "allow" or word not in RESTRICTING_PERMISSIONS
    return False


def agent_layers(agent: Agent) -> tuple[RuleLayer, ...]:
    """Returns an agent's tables as layers: its own, and a project's over it."""
    own = RuleLayer("agent", agent.rules, agent.source != "project")
    over = [RuleLayer("agent", rules, False) for rules in agent.narrowing]
    return tuple(layer for layer in (own, *over) if layer.rules)


def hiding_rule(layers: Sequence[RuleLayer], tool: str, action: Action) -> PermissionRule | None:
    """Returns the rule that denies every call of a tool (F97).

    Such a tool need not be offered. A bare `*` matches the permission, not the tool's name.
    """
    word = PERMISSIONS[action] if action in ACTIONS_AS_PERMISSIONS else tool
    for layer in layers:
        named = [rule for rule in layer.rules if not matches_everything(rule.permission)]
        others = [(name, named) for name in (tool, *OPENCODE_NAMES.get(tool, ()))]
        for name, rules in [(word, layer.rules), *others]:
            rows = [rule for rule in rules if wildcard_matches(name, rule.permission)]
            if rows and rows[-1].action == "deny" and matches_everything(rows[-1].pattern):
                return rows[-1]
    return None


def tool_names(key: str) -> tuple[str, ...]:
    """Returns the tools whose requests have this key: the key itself, and OpenCode's names."""
    return (key, *[tool for tool, words in OPENCODE_NAMES.items() if key in words])


def mode_without_tool(modes: Sequence[CustomMode], names: Sequence[str]) -> str:
    """Returns the id of a mode whose tool list has none of a tool's names; else an empty string."""
    found = (mode.id for mode in modes if mode.tools is not None and not {*mode.tools} & {*names})
    return next(found, "")


# Rule layers: those of a policy with each agent's own between them, compiled once.


RuleLayers = tuple[CompiledRuleLayer, ...]


class AgentRuleLayers:
    """Rule layers for each agent that works for the user; all of them must agree."""

    def __init__(self, policy: PermissionPolicy) -> None:
        last = [layer for layer in policy.layers if layer.name == "command line"]
        self._home = policy.home
        self._before = tuple(self._table(each) for each in policy.layers if each not in last)
        self._after = tuple(self._table(each) for each in last)
        self._none: RuleLayers = (*self._before, *self._after)
        self._of: dict[int, tuple[Agent, RuleLayers]] = {}  # by identity: agents cannot be hashed
        self._hidden: dict[tuple[int, str, Action], PermissionRule | None] = {}

    def of(self, agents: Sequence[Agent]) -> tuple[RuleLayers, ...]:
        """Returns the layers in order, for each agent; without agents, those of no agent."""
        stacks = tuple(self._stack(agent) for agent in agents if agent.rules or agent.narrowing)
        return stacks if len(stacks) == len(agents) > 0 else (*stacks, self._none)

    def has_rules_for(self, request: ResourceAccess, agents: Sequence[Agent]) -> bool:
        """Tells whether any rule is about such a request."""
        return any(table.rows(request) for stack in self.of(agents) for table in stack)

    def hiding(self, tool: str, action: Action, agents: Sequence[Agent]) -> PermissionRule | None:
        """Returns the rule that denies every call of a tool."""
        for stack in self.of(agents):
            key = (id(stack), tool, action)  # a stack, once made, stays
            if key not in self._hidden:
                layers = [table.layer for table in stack]
                self._hidden[key] = hiding_rule(layers, tool, action)
            if rule := self._hidden[key]:
                return rule
        return None

    def _stack(self, agent: Agent) -> RuleLayers:
        """Returns an agent's stack, made once; it keeps the agent, so its id is not reused."""
        if id(agent) not in self._of:
            own = tuple(self._table(layer) for layer in agent_layers(agent))
            stack = (*self._before, *own, *self._after)
            self._of.setdefault(id(agent), (agent, stack))  # another thread may be faster
        return self._of[id(agent)][1]

    def _table(self, layer: RuleLayer) -> CompiledRuleLayer:
        return CompiledRuleLayer(layer, self._home)
