"""Renders permission rules by layer, and remembered answers."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, TypeAlias

import msgspec

from assent.core.permission.rule import Grant, PermissionRule, RuleLayer
from assent.core.text.hidden_chars import visible_line
from assent.render.lines import BLANK, Line, table_lines, wrapped_lines

Fields: TypeAlias = dict[str, Any]

SHORT = 12  # characters of an id in a list
AGES = ((86400, "day"), (3600, "hour"), (60, "minute"))


def layer_row(layer: RuleLayer) -> Fields:
    """Returns a layer as JSON shows it."""
    return {
        "layer": layer.name,
        "trusted": layer.trusted,
        "rules": [rule_row(rule) for rule in layer.rules],
    }


def rule_row(rule: PermissionRule) -> Fields:
    """Returns a rule as JSON shows it."""
    return {
        "permission": rule.permission,
        "pattern": rule.pattern,
        "action": rule.action,
        "reason": rule.reason,
        "source": rule.source,
    }


def grant_row(grant: Grant, slug: str, now: str) -> Fields:
    """Returns a remembered answer as JSON shows it, with its session's name and its age."""
    row: Fields = msgspec.to_builtins(grant)
    age = datetime.fromisoformat(now) - datetime.fromisoformat(grant.given_at)
    return {**row, "slug": slug or None, "age_s": max(0, int(age.total_seconds()))}


def rules_lines(layers: Sequence[Fields], grants: Sequence[Fields]) -> Iterator[Line]:
    """Renders layers in their order, and then what is remembered."""
    if not layers:
        but = "remembered answers and the mode decide" if grants else "the mode alone decides"
        yield Line("plain", f"There are no rules; {but}.")
    for layer in layers:
        untrusted = "" if layer["trusted"] else " (untrusted: what it allows does not count)"
        yield Line("heading", f"{layer['layer']}{untrusted}")
        yield from table_lines("plain", [_ruled(rule) for rule in layer["rules"]])
        yield BLANK
    yield Line("heading", "Remembered answers")
    if not grants:
        yield Line("plain", "  There are none.")
        return
    for grant in grants:
        yield from _grant("  ", grant)
    yield Line("plain", "Next: assent rules revoke ID")


def grants_revoked_lines(grants: Sequence[Fields]) -> Iterator[Line]:
    """Renders the remembered answers that were taken back."""
    if not grants:
        yield Line("plain", "There was nothing to revoke.")
    for grant in grants:
        yield from _grant("Revoked: ", grant)


def rules_tested_lines(row: Fields) -> Iterator[Line]:
    """Renders how many examples hold, and which do not."""
    for failure in row["failed"]:
        text = f"{failure['source']}: `{failure['rule']}` fails: {failure['why']}."
        yield from wrapped_lines("risk", visible_line(text))
    good = row["examples"] - len(row["failed"])
    yield Line("plain", f"{good} of {row['examples']} examples hold, in {row['rules']} rules.")


def _grant(sign: str, grant: Fields) -> Iterator[Line]:
    """Renders a remembered answer: for whom, since when, on whose word, and what it covers."""
    mode = f"{grant['custom']} ({grant['mode']})" if grant.get("custom") else grant["mode"]
    session = grant["slug"] or grant["session"][:SHORT]
    reach = f"only in session {session}" if grant["reach"] == "session" else "in this project"
    head = f"{grant['id'][:SHORT]}  {grant['agent']} in {mode} mode, {reach}"
    yield from wrapped_lines("plain", visible_line(f"{sign}{head}"))
    asked = f", to the question {grant['question'][:SHORT]}" if grant["question"] else ""
    by = f" by {grant['user']}" if grant["user"] else ""
    given = f"given {_age(grant['age_s'])} ago ({grant['given_at']}){by}"
    yield from wrapped_lines("plain", visible_line(f"    {given} in session {session}{asked}"))
    for pattern in grant["patterns"]:
        exact = " (exactly)" if pattern["exact"] else ""
        text = f"    {pattern['permission']}: {pattern['pattern']}{exact}"
        yield from wrapped_lines("plain", visible_line(text))


def _age(seconds: int) -> str:
    for size, word in AGES:
        if seconds >= size:
            count = seconds // size
            return f"{count} {word}{'s' if count != 1 else ''}"
    return "moments"


def _ruled(rule: Fields) -> Sequence[str]:
    """Returns the cells of a rule: what it says, where it stands, and its reason if it has one."""
    text = f"  {rule['permission']}: {rule['pattern']} = {rule['action']}"
    return tuple(map(visible_line, (text, rule["source"], rule["reason"])))
