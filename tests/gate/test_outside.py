"""Looking outside the workspace, through rules and remembered answers: by folder, and by file."""

import pytest

from assent.core.command_line import CommandLine
from assent.core.grant import Grant
from assent.core.mode import MODES
from assent.core.rules import Answer, Layer, LayerName, Policy, Rule
from assent.core.tool import Action, Decision, Posture, Request, Verdict
from assent.gate.gate import RuleGate

A = (Request(Action.OUTSIDE, "/near/*"), Request(Action.READ, "/near/a.txt"))
DEEP = (Request(Action.OUTSIDE, "/near/deep/*"), Request(Action.READ, "/near/deep/b.txt"))
ELSE = (Request(Action.OUTSIDE, "/else/*"), Request(Action.READ, "/else/a.txt"))
BESIDE = (Request(Action.OUTSIDE, "/nearby/*"), Request(Action.READ, "/nearby/a.txt"))
SECRET = (Request(Action.OUTSIDE, "/near/*"), Request(Action.READ, "/near/.env"))
ASKING = Posture("ask")


def no_line(text: str) -> CommandLine:
    raise AssertionError("no command line is judged here")


def layer(*rows: tuple[str, str, Answer], name: LayerName = "user", trusted: bool = True) -> Layer:
    return Layer(name, tuple(Rule(*row) for row in rows), trusted)


def decided(requests: tuple[Request, ...], *layers: Layer, posture: Posture = ASKING) -> Decision:
    return RuleGate(Policy(layers, "/ws", "/home/me"), no_line).decide(requests, posture)


@pytest.mark.parametrize("mode", [mode for mode in MODES if mode != "yolo"])
def test_f77_a_folder_outside_asks_unless_a_rule_speaks(mode: str) -> None:
    posture = Posture(mode)  # type: ignore[arg-type]
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
        (Request(Action.OUTSIDE, "/home/me/notes/*"), Request(Action.READ, "/home/me/notes/a")),
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
    requests: tuple[Request, ...], layers: tuple[Layer, ...], verdict: Verdict
) -> None:
    assert decided(requests, *layers).verdict is verdict


def test_f77_a_remembered_answer_covers_the_folder_and_no_other() -> None:
    gate = RuleGate(Policy((), "/ws", "/home/me"), no_line)
    doubts = [one for one in A if gate.decide((one,), ASKING).verdict is Verdict.ASK]
    patterns = gate.grant_patterns(doubts, ASKING)
    grant = Grant("g", "session", "s", "build", "ask", patterns, "now")
    posture = Posture("ask", grants=(grant,))
    sibling = (A[0], Request(Action.READ, "/near/sibling.txt"))
    asked = [gate.decide(each, posture).verdict for each in (A, sibling, DEEP, ELSE, SECRET)]
    assert asked == [Verdict.RUN] * 3 + [Verdict.ASK] * 2
    planning = Posture("plan", grants=(grant,))
    assert gate.decide(A, planning).verdict is Verdict.ASK
