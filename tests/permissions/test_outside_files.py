"""Looking outside the workspace, through rules and remembered answers: by folder, and by file."""

import pytest

from assent.core.permission.command_analysis import CommandAnalysis
from assent.core.permission.mode import MODES
from assent.core.permission.rule import (
    Grant,
    PermissionPolicy,
    PermissionRule,
    RuleAction,
    RuleLayer,
    RuleLayerName,
)
from assent.core.tool import Action, Decision, PermissionContext, ResourceAccess, Verdict
from assent.permissions.gate import RuleGate

A = (ResourceAccess(Action.OUTSIDE, "/near/*"), ResourceAccess(Action.READ, "/near/a.txt"))
DEEP = (
    ResourceAccess(Action.OUTSIDE, "/near/deep/*"),
    ResourceAccess(Action.READ, "/near/deep/b.txt"),
)
ELSE = (ResourceAccess(Action.OUTSIDE, "/else/*"), ResourceAccess(Action.READ, "/else/a.txt"))
BESIDE = (ResourceAccess(Action.OUTSIDE, "/nearby/*"), ResourceAccess(Action.READ, "/nearby/a.txt"))
SECRET = (ResourceAccess(Action.OUTSIDE, "/near/*"), ResourceAccess(Action.READ, "/near/.env"))
ASKING = PermissionContext("ask")


def no_line(text: str) -> CommandAnalysis:
    raise AssertionError("no command line is judged here")


def layer(
    *rows: tuple[str, str, RuleAction], name: RuleLayerName = "user", trusted: bool = True
) -> RuleLayer:
    return RuleLayer(name, tuple(PermissionRule(*row) for row in rows), trusted)


def decided(
    requests: tuple[ResourceAccess, ...], *layers: RuleLayer, posture: PermissionContext = ASKING
) -> Decision:
    return RuleGate(PermissionPolicy(layers, "/ws", "/home/me"), no_line).decide(requests, posture)


@pytest.mark.parametrize("mode", [mode for mode in MODES if mode != "yolo"])
def test_f77_a_folder_outside_asks_unless_a_rule_speaks(mode: str) -> None:
    posture = PermissionContext(mode)  # type: ignore[arg-type]
    assert decided(A, posture=posture).verdict is Verdict.ASK


ALLOWED = layer(("external_directory", "/near/*", "allow"))
RULES = {
    "a folder is allowed": (A, (ALLOWED,), Verdict.RUN),
    "and all below it": (DEEP, (ALLOWED,), Verdict.RUN),
    "another is not": (ELSE, (ALLOWED,), Verdict.ASK),
    "nor one that begins alike": (BESIDE, (ALLOWED,), Verdict.ASK),
    "a secret in it still asks": (SECRET, (ALLOWED,), Verdict.ASK),
    "the last match wins": (
        DEEP,
        (layer(("external_directory", "*", "allow"), ("external_directory", "/near/*", "deny")),),
        Verdict.DENY,
    ),
    "home is expanded": (
        (
            ResourceAccess(Action.OUTSIDE, "/home/me/notes/*"),
            ResourceAccess(Action.READ, "/home/me/notes/a"),
        ),
        (layer(("external_directory", "~/notes/*", "allow")),),
        Verdict.RUN,
    ),
    "a deny of the file sticks": (
        A,
        (ALLOWED, layer(("read", "/near/*", "deny"), name="project")),
        Verdict.DENY,
    ),
    "a deny of the folder sticks": (
        A,
        (layer(("external_directory", "*", "deny")), layer(("read", "*", "allow"))),
        Verdict.DENY,
    ),
    "an untrusted project allows nothing": (
        A,
        (layer(("external_directory", "*", "allow"), name="project", trusted=False),),
        Verdict.ASK,
    ),
}


@pytest.mark.parametrize(("requests", "layers", "verdict"), RULES.values(), ids=RULES)
def test_f77_rules_speak_of_external_directory(
    requests: tuple[ResourceAccess, ...], layers: tuple[RuleLayer, ...], verdict: Verdict
) -> None:
    assert decided(requests, *layers).verdict is verdict


def test_f77_a_remembered_answer_covers_the_folder_and_no_other() -> None:
    gate = RuleGate(PermissionPolicy((), "/ws", "/home/me"), no_line)
    doubts = [one for one in A if gate.decide((one,), ASKING).verdict is Verdict.ASK]
    patterns = gate.grant_patterns(doubts, ASKING)
    grant = Grant("g", "session", "s", "build", "ask", patterns, "now")
    posture = PermissionContext("ask", grants=(grant,))
    sibling = (A[0], ResourceAccess(Action.READ, "/near/sibling.txt"))
    asked = [gate.decide(each, posture).verdict for each in (A, sibling, DEEP, ELSE, SECRET)]
    assert asked == [Verdict.RUN] * 3 + [Verdict.ASK] * 2
    planning = PermissionContext("plan", grants=(grant,))
    assert gate.decide(A, planning).verdict is Verdict.ASK
