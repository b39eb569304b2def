"""What rules of person and project hold a plan's files to, layer by layer (law 9)."""

import pytest

from assent.core.permission.command_analysis import CommandAnalysis
from assent.core.permission.rule import PermissionPolicy, PermissionRule, RuleLayer, RuleLayerName
from assent.permissions.plan_rules import PolicyPlanRules

ROOT = "/w/p"


def held(*layers: tuple[RuleLayerName, str, tuple[tuple[str, str], ...]]) -> PolicyPlanRules:
    made = [
        RuleLayer(name, tuple(PermissionRule(word, p, a, source="f") for p, a in rows))  # type: ignore[arg-type]
        for name, word, rows in layers
    ]
    return PolicyPlanRules(
        PermissionPolicy(tuple(made), ROOT, "/home/u"), lambda text: CommandAnalysis((text,))
    )


LOCKED = (("locked/*", "deny"),)


@pytest.mark.parametrize(
    ("layers", "denied"),
    [
        ((("user", "edit", LOCKED),), True),
        ((("project", "edit", LOCKED),), True),
        ((("user", "write", LOCKED),), True),
        ((("user", "*", (("*", "deny"),)),), True),
        ((("user", "edit", ((f"{ROOT}/locked/*", "deny"),)),), True),
        ((("user", "edit", LOCKED), ("project", "edit", (("*", "allow"),))), True),
        ((("project", "edit", LOCKED), ("user", "edit", (("*", "allow"),))), True),
        ((("user", "edit", (*LOCKED, ("locked/a", "allow"))),), False),
        ((("user", "edit", (("locked/*", "ask"),)),), False),
        ((("user", "read", LOCKED),), False),
        ((("agent", "edit", LOCKED),), False),
        ((("command line", "edit", LOCKED),), False),
        ((("defaults", "edit", LOCKED),), False),
    ],
)
def test_f72_only_a_deny_of_user_or_project_binds_a_plan(
    layers: tuple[tuple[RuleLayerName, str, tuple[tuple[str, str], ...]], ...], denied: bool
) -> None:
    found = held(*layers).denials([b"locked/a", b"locked/b/c"])
    assert (b"locked/a" in found) is denied


def test_a_denial_names_the_rule_and_paths_are_judged_one_by_one() -> None:
    found = held(("user", "edit", LOCKED)).denials([b"free", b"locked/a", b"locked/\xff"])
    why = "A rule from f denies it (`edit: locked/* = deny`)."
    assert found == {b"locked/a": why, b"locked/\xff": why}
