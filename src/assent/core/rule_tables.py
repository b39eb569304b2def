"""Tables of rules as OpenCode and Assent have them, read into rules in the order they stand in.

A table is a word, a map of permissions to words, or of permissions to maps of patterns to words.
"""

from collections.abc import Iterator, Mapping
from typing import Any, get_args

from assent.core.rules import Answer, Rule
from assent.core.wildcards import expanded, matches

ANSWERS: tuple[str, ...] = get_args(Answer)
# Tools that OpenCode's older files switch off, and whose permission is `edit`.
EDITS = ("write", "edit", "patch", "multiedit")


class BadTable(Exception):
    """A table that cannot be used, and why."""


def rules_of(table: object, source: str = "") -> tuple[Rule, ...]:
    """Returns the rules of a table; raises BadTable where it makes no sense."""
    written = {"*": table} if isinstance(table, str) else table
    if not isinstance(written, Mapping):
        raise BadTable(f"permission is neither a word nor a table: {written!r}")
    return tuple(
        Rule(permission, pattern, action, source=source)
        for permission, row in written.items()
        for pattern, action in _row(permission, row)
    )


def rules_of_tools(tools: object, source: str = "") -> tuple[Rule, ...]:
    """Returns the rules behind OpenCode's older `tools`; only what is switched off counts."""
    if not isinstance(tools, Mapping):
        raise BadTable(f"tools is no table: {tools!r}")
    off = ["edit" if name in EDITS else str(name) for name, on in tools.items() if on is False]
    return tuple(Rule(name, "*", "deny", source=source) for name in dict.fromkeys(off))


def rule_text(rule: Rule) -> str:
    """Returns a rule in one line."""
    return f"{rule.permission}: {rule.pattern} = {rule.action}"


def wrong_examples(rule: Rule, home: str = "") -> tuple[str, ...]:
    """Returns which of a rule's own examples it does not keep, in words."""
    pattern = expanded(rule.pattern, home)
    missed = [text for text in rule.matches if not matches(expanded(text, home), pattern)]
    caught = [text for text in rule.misses if matches(expanded(text, home), pattern)]
    return (
        *[f"it should match {text!r} and does not" for text in missed],
        *[f"it should not match {text!r} and does" for text in caught],
    )


def _row(permission: object, row: Any) -> Iterator[tuple[str, Answer]]:
    if not isinstance(permission, str):
        raise BadTable(f"a permission is no word: {permission!r}")
    for pattern, action in (row if isinstance(row, Mapping) else {"*": row}).items():
        if action not in ANSWERS or not isinstance(pattern, str):
            said = f"the permission of {permission} is {action!r}"
            raise BadTable(f"{said}, and not one of {', '.join(ANSWERS)}")
        yield pattern, action
