"""Rules, grants (remembered answers) and wildcards, and the limits that rules set to programs."""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final, Literal, TypeAlias, get_args

import msgspec

from assent.core.errors import UsageError, nearest
from assent.core.permission.mode import Mode
from assent.core.text.glob_pattern import GLOB_FLAGS, WILDCARD, glob_expression

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
    source: str = ""  # the file that contains it, or the preset or agent that it belongs to


class RuleLayer(msgspec.Struct, frozen=True):
    """One table: in it the last match wins. What an untrusted one allows does not count."""

    name: RuleLayerName
    rules: tuple[PermissionRule, ...]
    trusted: bool = True


class PermissionPolicy(msgspec.Struct, frozen=True):
    """Every layer except the agent's, in order, and the paths of the workspace and home.

    The command line layer comes after the agent's, which the permission context adds.
    """

    layers: tuple[RuleLayer, ...] = ()
    root: str = ""
    home: str = ""


# Wildcards of rules: `*` is any run of characters, also of `/` and newlines, `?` is one.
#
# Both ends are anchored, and a pattern that ends in ` *` also means the bare command. Nothing else
# is special: no `**`, no classes.


WildcardMatcher: TypeAlias = Callable[[str], object]

WILDCARD_CHARS: Final = "*?"
_MAX_COMPILED = 4096  # compiled patterns


def wildcard_matches(text: str, pattern: str) -> bool:
    """Tells whether a pattern matches a text."""
    return bool(wildcard_matcher(pattern)(text))


@lru_cache(_MAX_COMPILED)
def wildcard_matcher(pattern: str) -> WildcardMatcher:
    """Returns a function that tells whether the pattern matches a text.

    Most patterns have one `*`, at the end; these are not compiled, because that is slow.
    """
    head = pattern.removesuffix("*")
    if "*" in head or "?" in head:
        return _compiled_wildcard(pattern)
    if head == pattern:
        return pattern.__eq__
    if head.endswith(" "):
        return lambda text: text.startswith(head) or text == head[:-1]
    return lambda text: text.startswith(head)


def fixed_prefix(pattern: str) -> str:
    """Returns the prefix of every text that a pattern matches."""
    return before_wildcard(pattern.removesuffix(" *"))


def before_wildcard(pattern: str) -> str:
    """Returns what stands before the first wildcard; of a pattern without any, all of it."""
    return re.split(f"[{WILDCARD_CHARS}]", pattern, maxsplit=1)[0]


def matches_everything(pattern: str) -> bool:
    """Tells whether a pattern matches everything."""
    return not pattern.strip("*?/ ")


def expand_home(pattern: str, home: str) -> str:
    """Returns a pattern with `~` and `$HOME` at its beginning spelled out."""
    if not home:
        return pattern
    for sign in ("~", "$HOME"):
        if pattern == sign or pattern.startswith(f"{sign}/"):
            return home + pattern.removeprefix(sign)
    return pattern


def _compiled_wildcard(pattern: str) -> WildcardMatcher:
    ways = [pattern, pattern[:-2]] if pattern.endswith(" *") else [pattern]
    expressions = [f"(?:{glob_expression(way, WILDCARD)})" for way in ways]
    return re.compile("|".join(expressions), GLOB_FLAGS).fullmatch


# Parses permission tables, in OpenCode's or Assent's form, into rules in their original order.
#
# A table is a word, a map of permissions to words, or of permissions to maps of patterns to words.


RULE_ACTIONS: tuple[str, ...] = get_args(RuleAction)
_ONE_OF_THEM: Final = f"one of {', '.join(RULE_ACTIONS)}"
# Tools that OpenCode's older files switch off, and whose permission is `edit`.
OPENCODE_EDIT_TOOLS = ("write", "edit", "patch", "multiedit")


class InvalidRuleTable(Exception):
    """A rule table that is invalid, and why."""


def parse_rules(table: object, source: str = "") -> tuple[PermissionRule, ...]:
    """Returns the rules of a table; raises InvalidRuleTable if it is invalid."""
    written = {"*": table} if isinstance(table, str) else table
    if not isinstance(written, Mapping):
        raise InvalidRuleTable(f"permission must be {_ONE_OF_THEM} or a table, not {written!r}")
    return tuple(
        PermissionRule(permission, pattern, action, source=source)
        for permission, row in written.items()
        for pattern, action in _table_row(permission, row)
    )


def parse_tool_rules(tools: object, source: str = "") -> tuple[PermissionRule, ...]:
    """Returns the rules in OpenCode's older `tools`; only tools that are switched off count."""
    if not isinstance(tools, Mapping):
        raise InvalidRuleTable(f"tools must be a table, not {tools!r}")
    off = [
        "edit" if name in OPENCODE_EDIT_TOOLS else str(name)
        for name, on in tools.items()
        if on is False
    ]
    return tuple(PermissionRule(name, "*", "deny", source=source) for name in dict.fromkeys(off))


def rule_text(rule: PermissionRule) -> str:
    """Returns a rule in one line."""
    return f"{rule.permission}: {rule.pattern} = {rule.action}"


def failed_examples(rule: PermissionRule, home: str = "") -> tuple[str, ...]:
    """Describes which of its own examples a rule fails."""
    pattern = expand_home(rule.pattern, home)
    missed = [
        text for text in rule.matches if not wildcard_matches(expand_home(text, home), pattern)
    ]
    caught = [text for text in rule.misses if wildcard_matches(expand_home(text, home), pattern)]
    return (
        *[f"it should match {text!r} but does not" for text in missed],
        *[f"it should not match {text!r} but does" for text in caught],
    )


def _table_row(permission: object, row: Any) -> Iterator[tuple[str, RuleAction]]:
    if not isinstance(permission, str):
        raise InvalidRuleTable(f"a permission name must be a word, not {permission!r}")
    for pattern, action in (row if isinstance(row, Mapping) else {"*": row}).items():
        if action not in RULE_ACTIONS or not isinstance(pattern, str):
            key = f"permission.{permission}" + (f".{pattern!r}" if isinstance(row, Mapping) else "")
            near = nearest(action, RULE_ACTIONS) if isinstance(action, str) else ""
            hint = f" (did you mean {near}?)" if near else ""
            raise InvalidRuleTable(f"{key} must be {_ONE_OF_THEM}, not {action!r}{hint}")
        yield pattern, action


# Rules as a person types them on the command line: `allow bash:git *`.


_ACTIONS_BY_WORD: dict[str, RuleAction] = {"allow": "allow", "ask": "ask", "deny": "deny"}
_ARGUMENT_SOURCE = "the command line"
_ARGUMENT_HELP = "assent --deny 'bash:git push *' \"GOAL\""


def parse_rule_argument(text: str) -> PermissionRule:
    """Returns the rule in an action, a permission and an optional pattern; raises UsageError."""
    answer, _, about = text.partition(" ")
    permission, colon, pattern = about.strip().partition(":")
    if answer not in _ACTIONS_BY_WORD or not permission.strip() or (colon and not pattern):
        raise UsageError(
            f"{about!a} is not a permission with a pattern, such as bash:git *.", _ARGUMENT_HELP
        )
    return PermissionRule(
        permission.strip(), pattern or "*", _ACTIONS_BY_WORD[answer], source=_ARGUMENT_SOURCE
    )


# Grants: permission answers that are remembered, for whom they count, and until when.


GrantScope: TypeAlias = Literal["session", "project"]


class PermissionPattern(msgspec.Struct, frozen=True):
    """What a remembered answer would cover: a permission and a pattern, as in rules.

    `exact`: the pattern is literal text; wildcards in it mean nothing.
    """

    permission: str
    pattern: str
    exact: bool = False


class Grant(msgspec.Struct, frozen=True):
    """One remembered answer. It is never valid in plan mode, and never against a denial."""

    id: str
    reach: GrantScope
    session: str  # in which it was given; the only one where it counts, if it reaches no further
    agent: str
    mode: Mode
    patterns: tuple[PermissionPattern, ...]
    given_at: str
    question: str = ""  # to which it was the answer
    plan: str = ""  # digest of the plan of prose that was being built; it counts in no other work
    user: str = ""
    custom: str = ""  # the custom mode, whose base is `mode`


class GrantGiven(msgspec.Struct, frozen=True, tag="grant_given"):
    """A user's answer is remembered."""

    grant: Grant


class GrantRevoked(msgspec.Struct, frozen=True, tag="grant_revoked"):
    """A remembered answer was revoked."""

    grant: str
    user: str = ""


GrantEvent: TypeAlias = GrantGiven | GrantRevoked


# Path limits: which workspace paths rules hide from programs, or make read-only for them.


# Tells whether a path, relative to the workspace, is kept; for a folder (`True`), whether
# everything that could ever be in it is kept.
PathPredicate: TypeAlias = Callable[[bytes, bool], bool]


class PathLimits(msgspec.Struct, frozen=True):
    """What programs may not read, and what they may not change; None if no rule applies.

    Equal rules give equal values, so that scans of folders can be cached. In another process a
    predicate means the same if its key is the same, and none of the two is empty.
    """

    hides: PathPredicate | None = None
    keeps: PathPredicate | None = None
    named: tuple[bytes, ...] = ()  # folders kept as a whole by their name, there or not
    hides_key: bytes = b""
    keeps_key: bytes = b""

    def hides_path(self, path: bytes) -> bool:
        """Tells whether a file or folder is hidden."""
        return self.hides is not None and (self.hides(path, False) or self.hides(path, True))


# Command limits: what user and project rules forbid a command of a plan.


class CommandLimits(msgspec.Struct, frozen=True):
    """What rules forbid to one command, even if its plan is approved (law 9)."""

    hidden: tuple[str, ...] = ()  # patterns of files that no confined command reads
    kept: tuple[str, ...] = ()  # patterns of files that none changes
    denial: str = ""  # why it does not run at all


NO_COMMAND_LIMITS = CommandLimits()
