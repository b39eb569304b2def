"""Held: to what the rules of person and project hold every command of a plan, at build time.

The rules of agents and of the session that planned it are not among them: who builds it may be
somebody else. A question is answered by the approval, so only what they deny counts here.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Final

import msgspec

from assent.core.command_line import CommandLine
from assent.core.fence import Fence
from assent.core.held import Held
from assent.core.rule_tables import rule_text
from assent.core.rules import Policy, Rule
from assent.core.ruling import opinions
from assent.core.tool import Action, Posture, Request
from assent.gate.fences import Fences, Sieve
from assent.gate.stacks import Stacks

LAYERS: Final = ("user", "project")
_POSTURE: Final = Posture("ask")  # nobody's: no agent, no remembered answer
_KEPT: Final = 256  # command lines that were looked at


class HeldByRules:
    """Implements ports.Rules with a policy; `read_line` tells what a command line is made of."""

    def __init__(self, policy: Policy, read_line: Callable[[str], CommandLine]) -> None:
        layers = tuple(layer for layer in policy.layers if layer.name in LAYERS)
        self._policy = msgspec.structs.replace(policy, layers=layers)
        self._stacks = Stacks(self._policy)
        self._line = lru_cache(_KEPT)(read_line)

    def fence(self) -> Fence | None:
        """Returns what rules keep from every confined command; None if they keep nothing."""
        fences = Fences(self._policy, self._stacks)
        return fences.of(_POSTURE, free=True, reads=lambda path: False)

    def held(self, line: str) -> Held:
        """Returns to what rules hold a command, given as a line for a shell."""
        return Held(self._walls(Action.READ), self._walls(Action.EDIT), self._denial(line))

    def _walls(self, action: Action) -> tuple[str, ...]:
        sieve = Sieve(self._stacks.of(()), Request(action, ""), self._policy.root)
        return tuple(dict.fromkeys(rule.pattern for rule in reversed(sieve.walls())))

    def _denial(self, line: str) -> str:
        for text in dict.fromkeys((*self._line(line).commands, line)):
            for rule in self._denying(text):
                said = rule.reason or f"A rule of {rule.source} denies it."
                return f"{said.removesuffix('.')} (`{rule_text(rule)}`)."
        return ""

    def _denying(self, text: str) -> list[Rule]:
        request = Request(Action.SHELL, text)
        said = [each for s in self._stacks.of(()) for each in opinions(s, request, lambda: (text,))]
        return [each.rule for each in said if each.rule.action == "deny"]
