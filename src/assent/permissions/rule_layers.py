"""Rule layers: those of a policy with each agent's own between them, compiled once."""

from collections.abc import Sequence

from assent.core.permission.rule import PermissionPolicy, PermissionRule, RuleLayer
from assent.core.permission.rule_match import CompiledRuleLayer, agent_layers, hiding_rule
from assent.core.session.agent import Agent
from assent.core.tool import Action, ResourceAccess

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
        """Returns an agent's stack, made once; it keeps the agent, so nobody else gets its id."""
        if id(agent) not in self._of:
            own = tuple(self._table(layer) for layer in agent_layers(agent))
            stack = (*self._before, *own, *self._after)
            self._of.setdefault(id(agent), (agent, stack))  # another thread may be faster
        return self._of[id(agent)][1]

    def _table(self, layer: RuleLayer) -> CompiledRuleLayer:
        return CompiledRuleLayer(layer, self._home)
