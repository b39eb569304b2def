"""Makes path limits from rules: what a model's programs may not read or change (F72, F75)."""

import re
from collections.abc import Callable, Sequence
from functools import partial
from hashlib import sha256
from typing import Final, TypeAlias

import msgspec

from assent.core.errors import Refused
from assent.core.paths import display_path, normalize
from assent.core.permission.rule import (
    PathLimits,
    PathPredicate,
    PermissionPolicy,
    PermissionRule,
    RuleAction,
    RuleLayer,
    expand_home,
    matches_everything,
)
from assent.core.permission.rule_match import (
    AgentRuleLayers,
    RuleLayers,
    RuleMatch,
    RuleRows,
    deciding_match,
)
from assent.core.permission.sensitive_paths import RESERVED_PATHS, configures_agents
from assent.core.tool import Action, PermissionContext, ResourceAccess

IsGranted: TypeAlias = Callable[[str], bool]
IsOpen: TypeAlias = Callable[[str, bool], bool]

_ORDER: Final[tuple[RuleAction, ...]] = ("allow", "ask", "deny")
_FOLDER = r"([^*?]+)/\*+"  # a pattern for everything in one folder
_KEPT: Final = 16  # fences that are remembered
_ORDERS_KEY: Final = b"agents"


class LastRuleMatch(msgspec.Struct, frozen=True):
    """The last rule of a layer that matched a path, with the rules after it."""

    layer: RuleLayer
    rule: PermissionRule
    later: RuleRows  # of the same layer: these would win
    after: tuple[RuleRows, ...]  # of the layers after it

    def is_whole(self, texts: Sequence[str]) -> bool:
        """Tells whether the rule decides about all below a folder, which ends with `/`."""
        pattern = self.rule.pattern
        if not pattern.endswith("*") or pattern.endswith(" *"):
            return False
        others = self.later if self.rule.action == "deny" else (*self.later, *_flat(self.after))
        return not any(_softer(rule, self.rule) and _meets(s, texts) for rule, s, _ in others)


class PathRuleFilter:
    """Tells whether the rules of an agent that must agree forbid a path.

    Where a rule names files, ask forbids them to programs, too: no one can be asked while they run.
    `forgives` tells whether the user already allowed a path.
    """

    def __init__(
        self,
        stacks: Sequence[RuleLayers],
        request: ResourceAccess,
        root: str,
        *,
        asks: bool = False,
        forgives: IsGranted | None = None,
    ) -> None:
        self._stacks = [[(table.layer, table.rows(request)) for table in s] for s in stacks]
        self._root = root.rstrip("/")
        self._asks = asks
        self._forgives = forgives

    def __call__(self, path: bytes, folder: bool) -> bool:
        """Tells whether a path is forbidden; for a folder, whether everything in it would be."""
        text = display_path(path) if path else ""
        whole = f"{self._root}/{text}".rstrip("/")
        texts = [text and f"{text}/", f"{whole}/"] if folder else [text, whole]
        return any(self._keeps(stack, texts, folder=folder) for stack in self._stacks)

    def path_limits(self) -> list[PermissionRule]:
        """Returns the rules that could forbid something in the workspace."""
        below = ["", f"{self._root}/"]
        rows = [row for stack in self._stacks for _, rows in stack for row in rows]
        return [rule for rule, start, _ in rows if self._is_wall(rule) and _meets(start, below)]

    def key(self) -> bytes:
        """Identifies the rules that decide; empty if the user's answers decide, too."""
        if self._forgives:
            return b""
        stacks = [
            [(layer.name, layer.trusted, [row[:2] for row in rows]) for layer, rows in stack]
            for stack in self._stacks
        ]
        return sha256(repr((stacks, self._root, self._asks)).encode()).digest()

    def _keeps(
        self, stack: Sequence[tuple[RuleLayer, RuleRows]], texts: Sequence[str], *, folder: bool
    ) -> bool:
        found = [each for at in range(len(stack)) for each in _matched(stack, at, texts)]
        denied = [each for each in found if each.rule.action == "deny"]
        if denied:
            return not folder or any(each.is_whole(texts) for each in denied)
        chosen = deciding_match([RuleMatch(each.layer, each.rule) for each in found])
        if chosen is None or chosen.rule.action == "allow":
            return False
        named = [each for each in found if self._is_wall(each.rule)]
        if not named:
            return False
        if self._forgives:
            return not folder and not self._forgives(texts[0])
        return not folder or named[-1].is_whole(texts)

    def _is_wall(self, rule: PermissionRule) -> bool:
        return rule.action == "deny" or (
            self._asks and rule.action == "ask" and not matches_everything(rule.pattern)
        )


class PathLimitsCache:
    """Creates path limits, and returns the same ones while the rules are the same."""

    def __init__(self, policy: PermissionPolicy, stacks: AgentRuleLayers) -> None:
        self._policy = policy
        self._stacks = stacks
        self._made: dict[tuple[tuple[int, ...], bool], PathLimits | None] = {}

    def of(
        self, permissions: PermissionContext, *, free: bool, reads: IsGranted
    ) -> PathLimits | None:
        """Returns what rules forbid to programs; None if nothing. `free`: nothing is asked.

        `reads` tells whether a file may be read; it is used only if there are grants.
        """
        stacks = self._stacks.of(permissions.agents)
        yeses = [
            p for grant in permissions.grants for p in grant.patterns if p.permission == "read"
        ]
        forgives = reads if yeses and not free else None
        if forgives:  # another yes may come at any time
            return self._fence(stacks, free=free, forgives=forgives)
        key = (tuple(map(id, stacks)), free)  # a stack, once made, stays
        if key not in self._made:
            if len(self._made) >= _KEPT:
                self._made.clear()
            self._made[key] = self._fence(stacks, free=free)
        return self._made[key]

    def _fence(
        self, stacks: Sequence[RuleLayers], *, free: bool, forgives: IsGranted | None = None
    ) -> PathLimits | None:
        root = self._policy.root
        hides = PathRuleFilter(
            stacks, ResourceAccess(Action.READ, ""), root, asks=not free, forgives=forgives
        )
        keeps = PathRuleFilter(stacks, ResourceAccess(Action.EDIT, ""), root)
        read, edit = hides.path_limits(), keeps.path_limits()
        if not read and not edit:
            return None
        named = [path for rule in edit if (path := self._folder(rule)) and keeps(path, True)]
        return PathLimits(
            hides if read else None,
            keeps if edit else None,
            tuple(named),
            hides.key() if read else b"",
            keeps.key() if edit else b"",
        )

    def _folder(self, rule: PermissionRule) -> bytes:
        """Returns the folder of the workspace that a rule names with all in it, if it does."""
        found = re.fullmatch(_FOLDER, expand_home(rule.pattern, self._policy.home))
        if not found:
            return b""
        text = found[1].removeprefix(self._policy.root.rstrip("/") + "/")
        try:
            return normalize(text.encode("utf-8", "surrogateescape"))
        except Refused:
            return b""


def with_agent_config_limits(fence: PathLimits | None, is_open: IsOpen | None = None) -> PathLimits:
    """Returns path limits that also protect agents' configuration, existing or not, unless open."""
    reserved: tuple[bytes, ...] = RESERVED_PATHS
    orders: PathPredicate = _orders
    if is_open is not None:
        reserved = tuple(path for path in RESERVED_PATHS if not is_open(display_path(path), True))
        orders = partial(_closed_orders, is_open)
    key = b"" if is_open else _ORDERS_KEY  # what is open may change with each answer
    if fence is None:
        return PathLimits(keeps=orders, named=reserved, keeps_key=key)
    keeps = orders if fence.keeps is None else partial(_either, fence.keeps, orders)
    named = tuple(dict.fromkeys((*fence.named, *reserved)))
    if fence.keeps is not None:
        key = key + fence.keeps_key if key and fence.keeps_key else b""
    return PathLimits(fence.hides, keeps, named, fence.hides_key, key)


def _orders(path: bytes, folder: bool) -> bool:
    return bool(path) and configures_agents(path)


def _closed_orders(is_open: IsOpen, path: bytes, folder: bool) -> bool:
    return _orders(path, folder) and not is_open(display_path(path), folder)


def _either(one: PathPredicate, other: PathPredicate, path: bytes, folder: bool) -> bool:
    return one(path, folder) or other(path, folder)


def _matched(
    stack: Sequence[tuple[RuleLayer, RuleRows]], at: int, texts: Sequence[str]
) -> tuple[LastRuleMatch, ...]:
    layer, rows = stack[at]
    for index, (rule, start, match) in enumerate(rows):
        if any(text.startswith(start) and match(text) for text in texts):
            return (
                LastRuleMatch(
                    layer, rule, rows[:index], tuple(more for _, more in stack[at + 1 :])
                ),
            )
    return ()


def _softer(rule: PermissionRule, than: PermissionRule) -> bool:
    return _ORDER.index(rule.action) < _ORDER.index(than.action)


def _meets(start: str, folders: Sequence[str]) -> bool:
    """Tells whether something that begins with this could be in one of these folders."""
    near = [folder for folder in folders if folder or not start.startswith("/")]
    return any(start.startswith(folder) or folder.startswith(start) for folder in near)


def _flat(tables: Sequence[RuleRows]) -> list[tuple[PermissionRule, str, Callable[[str], object]]]:
    return [row for rows in tables for row in rows]
