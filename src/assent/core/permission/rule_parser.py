"""Parses permission tables, in OpenCode's or Assent's form, into rules in the order they stand in.

A table is a word, a map of permissions to words, or of permissions to maps of patterns to words.
"""

from collections.abc import Iterator, Mapping
from typing import Any, get_args

from assent.core.permission.rule import PermissionRule, RuleAction
from assent.core.permission.wildcard import expand_home, wildcard_matches

RULE_ACTIONS: tuple[str, ...] = get_args(RuleAction)
# Tools that OpenCode's older files switch off, and whose permission is `edit`.
OPENCODE_EDIT_TOOLS = ("write", "edit", "patch", "multiedit")


class InvalidRuleTable(Exception):
    """A table that cannot be used, and why."""


def parse_rules(table: object, source: str = "") -> tuple[PermissionRule, ...]:
    """Returns the rules of a table; raises BadTable where it makes no sense."""
    written = {"*": table} if isinstance(table, str) else table
    if not isinstance(written, Mapping):
        raise InvalidRuleTable(f"permission is neither a word nor a table: {written!r}")
    return tuple(
        PermissionRule(permission, pattern, action, source=source)
        for permission, row in written.items()
        for pattern, action in _table_row(permission, row)
    )


def parse_tool_rules(tools: object, source: str = "") -> tuple[PermissionRule, ...]:
    """Returns the rules behind OpenCode's older `tools`; only what is switched off counts."""
    if not isinstance(tools, Mapping):
        raise InvalidRuleTable(f"tools is no table: {tools!r}")
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
    """Returns which of a rule's own examples it does not keep, in words."""
    pattern = expand_home(rule.pattern, home)
    missed = [
        text for text in rule.matches if not wildcard_matches(expand_home(text, home), pattern)
    ]
    caught = [text for text in rule.misses if wildcard_matches(expand_home(text, home), pattern)]
    return (
        *[f"it should match {text!r} and does not" for text in missed],
        *[f"it should not match {text!r} and does" for text in caught],
    )


def _table_row(permission: object, row: Any) -> Iterator[tuple[str, RuleAction]]:
    if not isinstance(permission, str):
        raise InvalidRuleTable(f"a permission is no word: {permission!r}")
    for pattern, action in (row if isinstance(row, Mapping) else {"*": row}).items():
        if action not in RULE_ACTIONS or not isinstance(pattern, str):
            said = f"the permission of {permission} is {action!r}"
            raise InvalidRuleTable(f"{said}, and not one of {', '.join(RULE_ACTIONS)}")
        yield pattern, action
