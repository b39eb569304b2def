"""Permission rules and remembered answers as rows of JSON."""

from datetime import datetime

import msgspec

from assent.core.permission.rule import Grant, PermissionRule, RuleLayer
from assent.render.rows import Row


def layer_row(layer: RuleLayer) -> Row:
    """Returns a layer as JSON shows it."""
    return {
        "layer": layer.name,
        "trusted": layer.trusted,
        "rules": [rule_row(rule) for rule in layer.rules],
    }


def rule_row(rule: PermissionRule) -> Row:
    """Returns a rule as JSON shows it."""
    return {
        "permission": rule.permission,
        "pattern": rule.pattern,
        "action": rule.action,
        "reason": rule.reason,
        "source": rule.source,
    }


def grant_row(grant: Grant, slug: str, now: str) -> Row:
    """Returns a remembered answer as JSON shows it, with its session's name and its age."""
    row: Row = msgspec.to_builtins(grant)
    age = datetime.fromisoformat(now) - datetime.fromisoformat(grant.given_at)
    return {**row, "slug": slug or None, "age_s": max(0, int(age.total_seconds()))}
