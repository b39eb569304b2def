"""The gate with the real reader of command lines: rules, answers and modes over whole lines."""

import pytest

from assent.core.permission.rule import (
    Grant,
    PermissionPattern,
    PermissionPolicy,
    RuleLayer,
    parse_rules,
)
from assent.core.session.agent import Agent
from assent.core.tool import Action, Decision, PermissionContext, ResourceAccess, Verdict
from assent.permissions.commands.classifier import classify_command_line
from assent.permissions.commands.read_only.classifier import files_read_by
from assent.permissions.gate import RuleGate

RUN, ASK, DENY = Verdict.RUN, Verdict.ASK, Verdict.DENY
BUILD = (Agent("build"),)
TABLE = {
    "bash": {"*": "ask", "git *": "allow", "git push *": "deny", "npm test *": "allow"},
    "edit": {"vendor/*": "deny"},
}
GATE = RuleGate(
    PermissionPolicy((RuleLayer("user", parse_rules(TABLE)),), "/srv/app", "/home/ada"),
    classify_command_line,
    files_read_by,
)
PLAIN = RuleGate(
    PermissionPolicy((), "/srv/app", "/home/ada"), classify_command_line, files_read_by
)


def decided(
    gate: RuleGate, text: str, *grants: Grant, posture: PermissionContext | None = None
) -> Decision:
    how = posture or PermissionContext("ask", agents=BUILD, grants=grants)
    return gate.decide([ResourceAccess(Action.SHELL, text)], how)


def remembered(*patterns: PermissionPattern) -> Grant:
    return Grant("g", "session", "s", "build", "ask", patterns, "2026-01-01T00:00:00Z")


LINES = [
    ("git commit -m 'a; git push'", RUN),
    ("git status && git push", DENY),
    ("git status; (git push)", DENY),
    ("echo $(git push)", DENY),
    ("git log | git push", DENY),
    ("git\tpush", DENY),
    ("'git' push", DENY),
    ("git status\ngit push", DENY),
    ("npm test && git add a", RUN),
    ("npm test && make", ASK),
    ("npm test > vendor/log", DENY),
    ("npm test > log", ASK),
    ("$git push", ASK),
    ("", ASK),
]


@pytest.mark.parametrize(("text", "wanted"), LINES)
def test_f79_rules_see_every_command_of_a_real_line(text: str, wanted: Verdict) -> None:
    assert decided(GATE, text).verdict is wanted


@pytest.mark.parametrize("text", ["npm test", "make lint", "cargo build --release", "pytest -x"])
def test_f81_the_offered_pattern_answers_the_same_line_and_pushes_nothing(text: str) -> None:
    offered = PLAIN.grant_patterns([ResourceAccess(Action.SHELL, text)], PermissionContext("ask"))
    assert offered
    grant = remembered(*offered)
    assert decided(PLAIN, text, grant).layer == "grant"
    for other in ("git push", f"{text} && git push", f"{text} > out", f"{text}; $x"):
        assert decided(PLAIN, other, grant).verdict is ASK, other


@pytest.mark.parametrize("text", ["python -c 1", "bash -c ls", "node -e 1", "sh run.sh"])
def test_f84_of_an_interpreter_only_the_very_line_is_remembered(text: str) -> None:
    offered = PLAIN.grant_patterns([ResourceAccess(Action.SHELL, text)], PermissionContext("ask"))
    program = text.split()[0]
    wide = [each for each in offered if each.pattern.startswith(program) and not each.exact]
    assert wide == []
    grant = remembered(*offered)
    assert decided(PLAIN, f"{text} x", grant).verdict in (ASK, DENY)
    if offered:
        assert decided(PLAIN, text, grant).verdict is RUN


def test_f80_what_is_written_far_from_the_workspace_is_no_everyday_edit() -> None:
    gate = RuleGate(
        PermissionPolicy((RuleLayer("user", parse_rules("allow")),), "/srv/app"),
        classify_command_line,
        files_read_by,
    )
    auto = PermissionContext("auto-edit")
    for path in ("/etc/x", "../x"):
        assert decided(gate, f"make > {path}", posture=auto).verdict in (ASK, DENY)
    assert decided(gate, "make > log", posture=auto).verdict is RUN


def test_staging_a_line_says_why_it_does_not_run_now() -> None:
    line = ResourceAccess(Action.SHELL, "npm test", stage=True)
    decision = GATE.decide([line], PermissionContext("plan"))
    assert decision.verdict is Verdict.STAGE
    assert "npm" in decision.reason
    assert decided(GATE, "git log", posture=PermissionContext("plan")).verdict is RUN


def test_a_denied_command_that_only_reads_is_denied_while_planning_too() -> None:
    gate = RuleGate(
        PermissionPolicy((RuleLayer("user", parse_rules({"bash": {"git log *": "deny"}})),)),
        classify_command_line,
        files_read_by,
    )
    for text in ("git log", "ls && git log -3", "ls | git log"):
        assert decided(gate, text, posture=PermissionContext("plan")).layer == "user"
    assert decided(gate, "git show", posture=PermissionContext("plan")).verdict is RUN
