"""Remembered answers at the gate: what they answer, what they never do, and what is offered."""

import msgspec
import pytest
from tests.permissions.fake_classifier import DANGER, UNCERTAIN, told

from assent.core.permission.mode import MODES, CustomMode, Mode
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
GATE = RuleGate(PermissionPolicy(root="/srv/app", home="/home/ada"), told, files_read_by)


def yes(
    *patterns: PermissionPattern, mode: Mode = "ask", agent: str = "build", plan: str = ""
) -> Grant:
    return Grant("g1", "session", "s1", agent, mode, patterns, "2026-01-01T00:00:00Z", plan=plan)


def judged(
    action: Action, resource: str, grant: Grant, mode: Mode = "ask", gate: RuleGate = GATE
) -> Decision:
    posture = PermissionContext(mode, agents=BUILD, grants=(grant,))
    return gate.decide([ResourceAccess(action, resource)], posture)


STATUS = yes(PermissionPattern("bash", "make *"))


def test_f82_a_remembered_yes_answers_what_would_be_asked() -> None:
    assert judged(Action.SHELL, "make test", STATUS) == Decision(
        RUN, "You allowed this before.", "grant", "g1"
    )
    assert judged(Action.SHELL, "npm test", STATUS).verdict is ASK
    assert judged(Action.SHELL, "make; npm test", STATUS).verdict is ASK


def test_f82_it_counts_for_its_agent_and_mode_alone() -> None:
    for grant in (yes(*STATUS.patterns, mode="auto-edit"), yes(*STATUS.patterns, agent="poet")):
        assert judged(Action.SHELL, "make", grant).verdict is ASK
    other = yes(PermissionPattern("edit", "make"))
    assert judged(Action.SHELL, "make", other).verdict is ASK


def test_f82_a_yes_in_a_mode_of_ones_own_counts_there_alone() -> None:
    careful, other = CustomMode("careful", "ask"), CustomMode("other", "ask")
    own = msgspec.structs.replace(STATUS, custom="careful")
    request = [ResourceAccess(Action.SHELL, "make test")]
    found = {
        (grant.custom, *[each.id for each in modes]): GATE.decide(
            request, PermissionContext("ask", agents=BUILD, custom=modes, grants=(grant,))
        ).verdict
        for grant in (STATUS, own)
        for modes in ((), (careful,), (other,), (careful, other))
    }
    counts = [key for key, verdict in found.items() if verdict is RUN]
    assert counts == [("",), ("careful", "careful")]
    narrowed = PermissionContext(
        "ask", agents=BUILD, custom=(CustomMode("ask", "ask"),), grants=(STATUS,)
    )
    assert GATE.decide(request, narrowed).verdict is RUN


def test_f72_a_remembered_yes_beats_no_denial_and_no_plan_mode() -> None:
    denies = PermissionPolicy((RuleLayer("user", parse_rules({"bash": {"make deploy": "deny"}})),))
    gate = RuleGate(denies, told, files_read_by)
    assert judged(Action.SHELL, "make deploy", STATUS, gate=gate).verdict is DENY
    planned = yes(
        PermissionPattern("bash", "*"),
        PermissionPattern("edit", "*"),
        PermissionPattern("read", "*"),
        mode="plan",
    )
    assert judged(Action.SHELL, "make", planned, "plan").verdict is DENY
    plan = PermissionContext("plan", agents=BUILD, grants=(planned,))
    staged = GATE.decide([ResourceAccess(Action.SHELL, "make", stage=True)], plan)
    assert staged.verdict is Verdict.STAGE
    exact = yes(PermissionPattern("read", ".env", exact=True), mode="plan")
    for grant in (planned, exact):
        assert judged(Action.READ, ".env", grant, "plan").verdict is ASK
    assert (
        judged(Action.SHELL, DANGER, yes(PermissionPattern("bash", DANGER, exact=True))).verdict
        is DENY
    )


def test_an_exact_pattern_means_its_very_text() -> None:
    grant = yes(PermissionPattern("edit", "a*.py", exact=True))
    assert judged(Action.EDIT, "a*.py", grant).verdict is RUN
    assert judged(Action.EDIT, "ab.py", grant).verdict is ASK
    assert judged(Action.EDIT, "/srv/app/a*.py", grant).verdict is RUN


def test_secrets_near_hosts_and_unclear_lines_need_the_exact_answer() -> None:
    rows = [
        (Action.READ, ".env", "read", "*"),
        (Action.FETCH, "http://localhost/x", "webfetch", "http://localhost/*"),
        (Action.SHELL, UNCERTAIN, "bash", "*"),
    ]
    for action, resource, word, wide in rows:
        assert judged(action, resource, yes(PermissionPattern(word, wide))).verdict is ASK
        assert (
            judged(action, resource, yes(PermissionPattern(word, resource, exact=True))).verdict
            is RUN
        )


def test_outside_the_scope_of_a_build_only_an_answer_for_that_plan_counts() -> None:
    def building(grant: Grant) -> Verdict:
        posture = PermissionContext(
            "ask", building=True, scope=("src/*",), agents=BUILD, grants=(grant,)
        )
        return GATE.decide([ResourceAccess(Action.EDIT, "setup.py")], posture).verdict

    setup = PermissionPattern("edit", "setup.py", exact=True)
    assert (building(yes(setup)), building(yes(setup, plan="d1"))) == (ASK, RUN)
    assert judged(Action.EDIT, "setup.py", yes(setup, plan="d1")).verdict is ASK


OFFERED: list[tuple[Action, str, tuple[PermissionPattern, ...]]] = [
    (Action.EDIT, "a.py", (PermissionPattern("edit", "a.py", exact=True),)),
    (Action.READ, ".env", (PermissionPattern("read", ".env", exact=True),)),
    (Action.SHELL, "make test", (PermissionPattern("bash", "make *"),)),
    (
        Action.SHELL,
        "make > out",
        (PermissionPattern("bash", "make *"), PermissionPattern("edit", "out", exact=True)),
    ),
    (Action.SHELL, DANGER, ()),
    (
        Action.FETCH,
        "https://Example.org/a",
        (
            PermissionPattern("webfetch", "https://example.org/*"),
            PermissionPattern("webfetch", "https://Example.org/a", exact=True),
        ),
    ),
    (
        Action.FETCH,
        "http://localhost:8080/a",
        (PermissionPattern("webfetch", "http://localhost:8080/a", exact=True),),
    ),
    (
        Action.OUTSIDE,
        "/usr/include",
        (
            PermissionPattern("external_directory", "/usr/include", exact=True),
            PermissionPattern("external_directory", "/usr/include/*"),
        ),
    ),
    (
        Action.OUTSIDE,
        "/usr/include/*",
        (PermissionPattern("external_directory", "/usr/include/*"),),
    ),
    (Action.OUTSIDE, "/a*b", (PermissionPattern("external_directory", "/a*b", exact=True),)),
    (Action.TOOL, "tracker_close", (PermissionPattern("tool", "tracker_close", exact=True),)),
    (Action.LOOP, "read a", ()),
    (Action.PRESENT, "plan", ()),
]


@pytest.mark.parametrize(("action", "resource", "wanted"), OFFERED)
def test_f81_what_a_remembered_yes_would_cover(
    action: Action, resource: str, wanted: tuple[PermissionPattern, ...]
) -> None:
    requests = [ResourceAccess(action, resource)]
    assert GATE.grant_patterns(requests, PermissionContext("ask")) == wanted
    assert GATE.grant_patterns(requests, PermissionContext("plan")) == ()
    if wanted:
        assert judged(action, resource, yes(*wanted)).verdict is RUN


def test_f81_nothing_is_offered_where_a_part_cannot_be_remembered() -> None:
    requests = [ResourceAccess(Action.EDIT, "a.py"), ResourceAccess(Action.LOOP, "edit a.py")]
    assert GATE.grant_patterns(requests, PermissionContext("ask")) == ()
    assert (
        GATE.grant_patterns([ResourceAccess(Action.FETCH, "ftp://x")], PermissionContext("ask"))
        == ()
    )


RISKS = [
    (Action.READ, "a.py", "low", ""),
    (Action.READ, ".env", "high", ".env may contain secrets"),
    (Action.EDIT, "a.py", "medium", "It changes a.py."),
    (Action.EDIT, ".husky/pre-commit", "high", "git runs it"),
    (Action.SHELL, "ls", "low", ""),
    (Action.SHELL, "cat .env", "high", ".env may contain secrets"),
    (Action.SHELL, DANGER, "high", "It runs what it downloads."),
    (Action.SHELL, UNCERTAIN, "high", "This command could not be fully parsed"),
    (Action.FETCH, "https://example.org", "high", "example.org"),
    (Action.FETCH, "http://10.0.0.1", "high", "private network"),
    (Action.FETCH, "gopher://x", "high", "is not an http or https URL"),
    (Action.TOOL, "tracker_close", "high", "It is unknown what tracker_close changes"),
    (Action.OUTSIDE, "/usr", "high", "outside the workspace"),
    (Action.TASK, "explore", "low", ""),
    (Action.PLAN, "plan", "low", ""),
    (Action.SEEK, ".env", "low", ""),
]


@pytest.mark.parametrize(("action", "resource", "level", "reason"), RISKS)
def test_f90_risk_has_a_level_and_reasons(
    action: Action, resource: str, level: str, reason: str
) -> None:
    found, reasons = GATE.risk([ResourceAccess(action, resource)])
    assert found == level
    assert any(reason in why for why in reasons) if reason else reasons == ()


def test_f90_of_several_the_highest_counts_and_each_reason_once() -> None:
    requests = [
        ResourceAccess(Action.EDIT, "a.py"),
        ResourceAccess(Action.EDIT, "a.py"),
        ResourceAccess(Action.READ, "b"),
    ]
    assert GATE.risk(requests) == ("medium", ("It changes a.py.",))


@pytest.mark.parametrize("mode", MODES)
def test_without_an_agent_the_modes_own_is_meant(mode: Mode) -> None:
    posture = PermissionContext(mode, grants=(yes(PermissionPattern("edit", "a.py"), mode=mode),))
    wanted = Verdict.STAGE if mode == "plan" else RUN
    assert GATE.decide([ResourceAccess(Action.EDIT, "a.py")], posture).verdict is wanted


REAL = RuleGate(
    PermissionPolicy(root="/srv/app", home="/home/ada"), classify_command_line, files_read_by
)
EVERY_FILE = yes(PermissionPattern("edit", "**"))


@pytest.mark.parametrize(
    "path",
    [".env", ".git/hooks/pre-commit", ".github/workflows/ci.yml", "../x", "/etc/passwd", "~/x.py",
     "$HOME/x.py", ".opencode/assent.toml"],
)  # fmt: skip
def test_f84_a_wildcard_covers_ordinary_files_alone_also_in_a_build(path: str) -> None:
    request = [ResourceAccess(Action.EDIT, path)]
    assert judged(Action.EDIT, "src/a.py", EVERY_FILE, gate=REAL).verdict is RUN
    assert judged(Action.EDIT, path, EVERY_FILE, gate=REAL).verdict is ASK
    grant = yes(PermissionPattern("edit", "**"), mode="ask", plan="p1")
    scoped = parse_rules({"edit": {"*": "ask", "docs/**": "allow"}})
    policy = PermissionPolicy((RuleLayer("scope", scoped),), root="/srv/app", home="/home/ada")
    gate = RuleGate(policy, classify_command_line, files_read_by)
    building = PermissionContext("ask", agents=BUILD, grants=(grant,), building=True)
    assert gate.decide(request, building).verdict is ASK


@pytest.mark.parametrize(
    ("prefix", "light", "heavy"),
    [("git branch *", "git branch x", "git branch -D main"),
     ("git tag *", "git tag v1", "git tag -d v1"),
     ("make test *", "make test", "make test install"),
     ("echo *", "echo x", "echo x > .git/config")],
)  # fmt: skip
def test_f84_an_answer_to_a_light_command_covers_none_of_high_risk(
    prefix: str, light: str, heavy: str
) -> None:
    grant = yes(PermissionPattern("bash", prefix), PermissionPattern("edit", "**"))
    assert judged(Action.SHELL, light, grant, gate=REAL).verdict is RUN
    assert judged(Action.SHELL, heavy, grant, gate=REAL).verdict is ASK


@pytest.mark.parametrize(
    "line", ["cat /etc/hosts", "grep -r password /home", "ls ~", "cat ../notes.txt"]
)
def test_f90_who_is_asked_learns_that_a_command_looks_outside(line: str) -> None:
    request = [ResourceAccess(Action.SHELL, line)]
    assert REAL.risk(request, asking=True)[0] == "high"
    inside = [ResourceAccess(Action.SHELL, "cat notes.txt")]
    assert REAL.risk(inside, asking=True) == REAL.risk(inside)
