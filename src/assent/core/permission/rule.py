"""Rules: what may run, be asked or never happen, by permission and pattern, in layers."""

from typing import Literal, TypeAlias

import msgspec

RuleAction: TypeAlias = Literal["allow", "ask", "deny"]
RuleLayerName: TypeAlias = Literal["defaults", "user", "project", "agent", "command line"]


class PermissionRule(msgspec.Struct, frozen=True):
    """One row of a table. `matches` and `misses` are examples that are checked when it is read."""

    permission: str
    pattern: str
    action: RuleAction
    reason: str = ""
    matches: tuple[str, ...] = ()
    misses: tuple[str, ...] = ()
    source: str = ""  # the file that it stands in, or the preset or agent that it belongs to


class RuleLayer(msgspec.Struct, frozen=True):
    """One table: in it the last match wins. What an untrusted one allows does not count."""

    name: RuleLayerName
    rules: tuple[PermissionRule, ...]
    trusted: bool = True


class PermissionPolicy(msgspec.Struct, frozen=True):
    """Every layer but the agent's, in order, and where the workspace and home are.

    The layer of the command line comes after the agent's, which a posture brings along.
    """

    layers: tuple[RuleLayer, ...] = ()
    root: str = ""
    home: str = ""
