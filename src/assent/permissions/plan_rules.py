"""Plan rules: what the rules of user and project deny to a plan's files and commands.

The rules of agents and of the session that planned it are not included: another agent may build it.
An approval answers every ask rule, so only denials count here.
"""

from collections.abc import Callable, Iterable
from functools import lru_cache, partial
from typing import Final

import msgspec

from assent.core.paths import display_path
from assent.core.permission.command_analysis import CommandAnalysis
from assent.core.permission.rule import (
    CommandLimits,
    PathLimits,
    PermissionPolicy,
    PermissionRule,
    rule_text,
)
from assent.core.permission.rule_match import AgentRuleLayers, ResourceForms, rule_matches
from assent.core.tool import Action, PermissionContext, ResourceAccess
from assent.permissions.path_limits import PathLimitsCache, PathRuleFilter
from assent.permissions.resource_names import resource_names

PLAN_RULE_LAYERS: Final = ("user", "project")
_POSTURE: Final = PermissionContext("ask")  # neutral: no agent, no remembered answer
_KEPT: Final = 256  # command lines that were looked at


class PolicyPlanRules:
    """Implements PlanRules with a policy; `read_line` analyses a command line."""

    def __init__(
        self, policy: PermissionPolicy, read_line: Callable[[str], CommandAnalysis]
    ) -> None:
        layers = tuple(layer for layer in policy.layers if layer.name in PLAN_RULE_LAYERS)
        self._policy = msgspec.structs.replace(policy, layers=layers)
        self._stacks = AgentRuleLayers(self._policy)
        self._line = lru_cache(_KEPT)(read_line)

    def path_limits(self) -> PathLimits | None:
        """Returns what rules forbid to every confined command; None if they forbid nothing."""
        fences = PathLimitsCache(self._policy, self._stacks)
        return fences.of(_POSTURE, free=True, reads=lambda path: False)

    def command_limits(self, line: str) -> CommandLimits:
        """Returns what rules forbid to a command, given as a line for a shell."""
        return CommandLimits(self._walls(Action.READ), self._walls(Action.EDIT), self._denial(line))

    def denials(self, paths: Iterable[bytes]) -> dict[bytes, str]:
        """Returns the paths that no plan may change, each with the rule that denies it."""
        if not self._walls(Action.EDIT):
            return {}
        found: dict[bytes, str] = {}
        for path in paths:
            request = ResourceAccess(Action.EDIT, display_path(path))
            rules = self._denying(request, partial(resource_names, request, self._policy.root))
            if rules:
                found[path] = _reason(rules[0])
        return found

    def _walls(self, action: Action) -> tuple[str, ...]:
        sieve = PathRuleFilter(self._stacks.of(()), ResourceAccess(action, ""), self._policy.root)
        return tuple(dict.fromkeys(rule.pattern for rule in reversed(sieve.path_limits())))

    def _denial(self, line: str) -> str:
        for text in dict.fromkeys((*self._line(line).commands, line)):
            request = ResourceAccess(Action.SHELL, text)
            for rule in self._denying(request, partial(resource_names, request, "")):
                return _reason(rule)
        return ""

    def _denying(self, request: ResourceAccess, texts: ResourceForms) -> list[PermissionRule]:
        said = [
            each for stack in self._stacks.of(()) for each in rule_matches(stack, request, texts)
        ]
        return [each.rule for each in said if each.rule.action == "deny"]


def _reason(rule: PermissionRule) -> str:
    said = rule.reason or f"A rule from {rule.source} denies it."
    return f"{said.removesuffix('.')} (`{rule_text(rule)}`)."
