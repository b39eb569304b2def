"""The gate: what each mode makes of each action, and that nothing added makes it looser."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.permissions.fake_classifier import DANGER, UNCERTAIN, told

from assent.core.permission.command_analysis import CommandAnalysis
from assent.core.permission.mode import MODES, CustomMode, Mode
from assent.core.permission.rule import PermissionPolicy, PermissionRule, RuleLayer, parse_rules
from assent.core.session.agent import Agent
from assent.core.tool import (
    VERDICTS_BY_STRICTNESS,
    Action,
    PermissionContext,
    ResourceAccess,
    Verdict,
)
from assent.permissions.check import CODE_NOT_STAGED, NOT_STAGED, NOTHING_STAGED
from assent.permissions.commands.classifier import classify_command_line
from assent.permissions.commands.read_only.classifier import files_read_by
from assent.permissions.gate import RuleGate
from assent.permissions.resource_names import is_private_host

GATE = RuleGate(PermissionPolicy(), told, files_read_by)
RUN, STAGE, ASK, DENY = Verdict.RUN, Verdict.STAGE, Verdict.ASK, Verdict.DENY


def verdict(
    action: Action, resource: str, posture: PermissionContext | Mode, *, stage: bool = False
) -> Verdict:
    posture = posture if isinstance(posture, PermissionContext) else PermissionContext(posture)
    return GATE.decide([ResourceAccess(action, resource, stage=stage)], posture).verdict


TABLE = {
    Action.READ: ("src/a.py", (RUN, RUN, RUN, RUN)),
    Action.EDIT: ("src/a.py", (STAGE, ASK, RUN, RUN)),
    Action.SHELL: ("git status && ls -la", (RUN, RUN, RUN, RUN)),
    Action.FETCH: ("https://example.org/x", (DENY, ASK, ASK, RUN)),
    Action.PLAN: ("plan", (RUN, RUN, RUN, RUN)),
    Action.PRESENT: ("plan", (RUN, DENY, DENY, DENY)),
    Action.TASK: ("explore", (RUN, RUN, RUN, RUN)),
    Action.TOOL: ("tracker_close", (DENY, ASK, ASK, RUN)),
    Action.OUTSIDE: ("/usr/include", (ASK, ASK, ASK, ASK)),
    Action.LOOP: ("read a", (ASK, ASK, ASK, ASK)),
    Action.SEEK: (".env", (RUN, RUN, RUN, RUN)),  # a text to look for is no file
}


@pytest.mark.parametrize("action", TABLE)
def test_what_each_mode_makes_of_each_action(action: Action) -> None:
    resource, wanted = TABLE[action]
    assert tuple(verdict(action, resource, mode) for mode in MODES) == wanted


@pytest.mark.parametrize(
    "path",
    [".env", "a/.env", ".ENV", ".env.production", "prod.env", "conf/.env.local", ".netrc",
     ".aws/credentials", "x/.ssh/config", ".ssh", "deploy/id_rsa", "server.pem", "a.p12", ".npmrc",
     "..env.swp", ".env/", "credentials.json"],
)  # fmt: skip
@pytest.mark.parametrize("mode", MODES)
def test_f76_reading_secrets_asks_in_every_mode(path: str, mode: Mode) -> None:
    decision = GATE.decide([ResourceAccess(Action.READ, path)], PermissionContext(mode))
    assert decision.verdict is ASK
    assert decision.reason.startswith(f"{path} may contain secrets")


@pytest.mark.parametrize(
    "path",
    [".env.example", "a/.env.sample", "example.env", ".env.local.template", "env.py", "", ".",
     "environment.ts", "docs/credentials.md", "package.json"],
)  # fmt: skip
def test_f76_templates_and_others_run(path: str) -> None:
    assert verdict(Action.READ, path, "plan") is RUN


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("cat README.md", RUN),
        ("rg process.env src", RUN),
        ("cat .env", ASK),
        ("cat ./conf/../.env | head -1", ASK),
        ("cd conf && cat .env", ASK),
        ("cd .aws && cat credentials", ASK),
        ("git show HEAD:.env", ASK),
        ("git diff HEAD -- .env", ASK),
        ("cat .env.example", RUN),
    ],
)
@pytest.mark.parametrize("mode", MODES)
def test_a_command_line_that_only_reads_does_so_in_every_mode(
    text: str, wanted: Verdict, mode: Mode
) -> None:
    assert verdict(Action.SHELL, text, mode) is wanted


@pytest.mark.parametrize("text", ["rm -rf a", "cat > f", "python -c 1", "cat a; make"])
def test_a_command_line_that_may_write_is_staged_asked_or_run_by_mode(text: str) -> None:
    found = [verdict(Action.SHELL, text, mode, stage=True) for mode in MODES]
    assert found == [STAGE, ASK, ASK, RUN]


@pytest.mark.parametrize("text", ["rm -rf a", "cat > f", "python -c 1", "cat a; make"])
def test_without_being_asked_for_no_command_line_is_staged(text: str) -> None:
    """Outside plan mode, what a call says about staging changes nothing."""
    assert [verdict(Action.SHELL, text, mode) for mode in MODES] == [DENY, ASK, ASK, RUN]
    decision = GATE.decide([ResourceAccess(Action.SHELL, text)], PermissionContext("plan"))
    assert decision.layer == "mode"
    begin, end = NOT_STAGED.split("{why}")
    is_code = text.endswith(("-c 1", "make"))
    assert (decision.reason == CODE_NOT_STAGED) == is_code
    assert "`cat`" not in decision.reason.replace("`cat > f`", "")
    assert decision.reason.startswith(begin)
    assert decision.reason.endswith(end)


@pytest.mark.parametrize("text", ["ls", "git log -3", "cat a | head -2", "pytest --version"])
def test_a_line_that_only_reads_is_staged_too_where_a_call_asks_for_it(text: str) -> None:
    found = [verdict(Action.SHELL, text, mode, stage=True) for mode in MODES]
    assert found == [STAGE, RUN, RUN, RUN]


@pytest.mark.parametrize("stage", [True, False])
@pytest.mark.parametrize("text", ["", " ", "cat /dev/sda", "rg x /", "cd / && ls"])
def test_what_is_nothing_or_looks_at_what_is_no_file_is_not_staged(text: str, stage: bool) -> None:
    assert verdict(Action.SHELL, text, "plan", stage=stage) is DENY


EXPLORES = Agent("explore", tools={"write": False, "edit": False})
DENIES = Agent("reader", permission={"Edit": "deny"})


@pytest.mark.parametrize(
    "posture",
    [
        PermissionContext("plan", staging=False),
        PermissionContext("plan", child=True),
        PermissionContext("plan", agents=(EXPLORES,)),
        PermissionContext("plan", agents=(Agent("general"), EXPLORES)),
        PermissionContext("plan", agents=(DENIES,)),
        PermissionContext("plan", custom=(CustomMode("look", "plan", tools=("read", "shell")),)),
        PermissionContext("plan", custom=(CustomMode("docs", "plan", edit=("docs/*",)),)),
    ],
)
def test_who_stages_no_edit_stages_no_command(posture: PermissionContext) -> None:
    for stage in (True, False):
        decision = GATE.decide([ResourceAccess(Action.SHELL, "make > out", stage=stage)], posture)
        assert (decision.verdict, decision.layer) == (DENY, "mode")
        assert "`>` writes to a file" in decision.reason
        assert "`stage" not in decision.reason
    assert GATE.decide([ResourceAccess(Action.SHELL, "cat a")], posture).verdict is RUN
    asked = GATE.decide([ResourceAccess(Action.SHELL, "cat a", stage=True)], posture)
    assert (asked.verdict, asked.layer) == (DENY, "mode")
    assert asked.reason.startswith(NOTHING_STAGED)


@pytest.mark.parametrize(
    ("table", "wanted"),
    [
        ({"bash": {"make *": "deny"}}, DENY),
        ({"bash": {"git push *": "deny"}}, DENY),
        ({"edit": {"out/*": "deny"}}, DENY),
        ({"bash": "ask"}, STAGE),
        ({"bash": {"make *": "ask"}}, STAGE),
        ({"edit": {"out/*": "ask"}}, STAGE),
        ({"bash": "allow", "edit": "allow"}, STAGE),
        ({"bash": {"npm *": "deny"}}, STAGE),
    ],
)
def test_a_rule_denies_what_would_be_staged_and_none_asks_about_it(
    table: object, wanted: Verdict
) -> None:
    """The person who approves the plan reads the line, so that nobody needs to ask before."""
    gate = RuleGate(
        PermissionPolicy((RuleLayer("user", parse_rules(table)),)),
        classify_command_line,
        files_read_by,
    )
    plan = PermissionContext("plan", auto=True)
    text = "make all > out/log && git push"
    assert gate.decide([ResourceAccess(Action.SHELL, text, stage=True)], plan).verdict is wanted
    unasked = gate.decide([ResourceAccess(Action.SHELL, text)], plan)
    assert unasked.verdict is DENY  # by the rule if there is one: `stage` would not help
    assert (unasked.layer == "user") is (wanted is DENY)


@pytest.mark.parametrize(
    ("table", "wanted"),
    [
        ({"bash": {"make *": "deny"}}, DENY),
        ({"bash": {"git push *": "deny"}}, DENY),
        ({"edit": {"out/*": "deny"}}, DENY),
        ({"bash": "ask"}, ASK),
        ({"bash": {"make *": "ask"}}, ASK),
        ({"edit": {"out/*": "ask"}}, RUN),
        ({"bash": "allow", "edit": "allow"}, RUN),
        ({"bash": {"npm *": "deny"}}, RUN),
    ],
)
def test_g12_what_a_rehearsal_tries_runs_in_a_copy_unless_rules_deny_or_ask(
    table: object, wanted: Verdict
) -> None:
    policy = PermissionPolicy((RuleLayer("user", parse_rules(table)),))
    gate = RuleGate(policy, classify_command_line, files_read_by)
    text = "make all > out/log && git push"
    tried = ResourceAccess(Action.SHELL, text, stage=True, tries=True)
    assert gate.decide([tried], PermissionContext("plan", auto=True)).verdict is wanted


@pytest.mark.parametrize("text", [DANGER, "", "make > out", "cat a", UNCERTAIN])
@pytest.mark.parametrize("posture", [
    PermissionContext("plan"), PermissionContext("plan", staging=False),
    PermissionContext("plan", child=True), PermissionContext("plan", agents=(DENIES,)),
    PermissionContext("plan", custom=(CustomMode("docs", "plan", edit=("docs/*",)),)),
])  # fmt: skip
def test_g12_what_could_not_be_staged_is_not_rehearsed_either(
    text: str, posture: PermissionContext
) -> None:
    staged, tried = (
        GATE.decide([ResourceAccess(Action.SHELL, text, stage=True, tries=tries)], posture).verdict
        for tries in (False, True)
    )
    assert tried is (RUN if staged is STAGE else staged)


@pytest.mark.parametrize("mode", MODES)
def test_f91_what_nobody_should_run_is_denied_in_every_mode(mode: Mode) -> None:
    assert verdict(Action.SHELL, DANGER, PermissionContext(mode, auto=True)) is DENY


def test_what_could_not_be_told_apart_is_asked_even_in_yolo_mode() -> None:
    assert verdict(Action.SHELL, UNCERTAIN, "yolo") is ASK
    assert verdict(Action.SHELL, UNCERTAIN, PermissionContext("ask", auto=True)) is ASK


@pytest.mark.parametrize("gate", [GATE, RuleGate(PermissionPolicy(), told)])
def test_a_staged_or_refused_command_says_which_part_of_it_writes(gate: RuleGate) -> None:
    for staging, stage, wanted in (
        (True, True, STAGE), (True, False, DENY), (False, True, DENY), (False, False, DENY),
    ):  # fmt: skip
        posture = PermissionContext("plan", staging=staging)
        decision = gate.decide([ResourceAccess(Action.SHELL, "ls > out", stage=stage)], posture)
        assert decision.verdict is wanted
        assert "`>` writes to a file" in decision.reason
        assert ("`stage: true`" in decision.reason) is (staging and not stage)


def test_what_a_redirect_writes_is_an_edit() -> None:
    """A prefix that a person allowed must not become a way to write everywhere (F80)."""
    echo = PermissionPolicy((RuleLayer("user", (PermissionRule("bash", "echo *", "allow"),)),))
    gate = RuleGate(echo, told, files_read_by)
    line = [ResourceAccess(Action.SHELL, "echo a > out")]
    plain = [ResourceAccess(Action.SHELL, "echo a | make")]
    assert gate.decide(line, PermissionContext("ask")).verdict is ASK
    assert gate.decide(line, PermissionContext("auto-edit")).verdict is RUN
    assert gate.decide(plain, PermissionContext("auto-edit")).verdict is ASK


def test_f12_without_staging_nothing_is_edited_while_planning() -> None:
    assert verdict(Action.EDIT, "a", PermissionContext("plan", staging=False)) is DENY


@pytest.mark.parametrize(
    "path",
    [".env", "app/.env.production", "deploy/id_rsa", ".husky/pre-commit", ".githooks/pre-push",
     ".pre-commit-config.yaml", "tools/hooks/pre-commit", ".gitattributes",
     ".github/workflows/ci.yml", ".GitHub/Workflows/ci.yml", ".gitlab-ci.yml", "Jenkinsfile",
     ".circleci/config.yml"],
)  # fmt: skip
def test_auto_edit_asks_before_secrets_and_what_other_programs_obey(path: str) -> None:
    decision = GATE.decide([ResourceAccess(Action.EDIT, path)], PermissionContext("auto-edit"))
    assert decision.verdict is ASK
    assert decision.reason.startswith(f"Auto-edit mode asks before changing {path}: ")
    assert verdict(Action.EDIT, path, "yolo") is RUN
    assert verdict(Action.EDIT, path, "plan") is STAGE


@pytest.mark.parametrize(
    "path",
    ["src/a.py", ".env.example", "docs/opencode.md", "src/hooks/use_it.ts", ".github/README.md",
     "Makefile", "ci.yml", ".gitignore"],
)  # fmt: skip
def test_auto_edit_asks_about_nothing_else(path: str) -> None:
    assert verdict(Action.EDIT, path, "auto-edit") is RUN


@pytest.mark.parametrize("mode", ["ask", "auto-edit", "yolo"])
def test_a_build_keeps_to_its_scope_whatever_the_mode(mode: Mode) -> None:
    building = PermissionContext(mode, building=True, scope=("src/*", "README.md"))
    inside = GATE.decide([ResourceAccess(Action.EDIT, "src/deep/a.py")], building)
    assert (inside.verdict, inside.layer) == (RUN, "scope")
    outside = GATE.decide([ResourceAccess(Action.EDIT, "setup.py")], building)
    assert (outside.verdict, outside.layer) == (ASK, "scope")
    assert verdict(Action.EDIT, "src/a.py", PermissionContext(mode, building=True)) is ASK


def test_a_build_asks_before_what_may_leave_its_scope_even_in_yolo_mode() -> None:
    building = PermissionContext("yolo", building=True, scope=("*",))
    for action, resource in ((Action.SHELL, "make"), (Action.TOOL, "tracker_close")):
        decision = GATE.decide([ResourceAccess(action, resource)], building)
        assert (decision.verdict, decision.layer) == (ASK, "scope")


def test_f43_a_child_stages_nothing_in_plan_mode() -> None:
    assert verdict(Action.EDIT, "a", PermissionContext("plan", child=True)) is DENY


def test_f102_at_the_limit_of_depth_no_child_is_started() -> None:
    assert verdict(Action.TASK, "explore", PermissionContext("yolo", deeper=False)) is DENY


def test_plan_mode_stages_even_if_something_claims_to_build() -> None:
    assert (
        verdict(Action.EDIT, "a", PermissionContext("plan", building=True, scope=("*",))) is STAGE
    )


@pytest.mark.parametrize(
    ("url", "wanted"),
    [
        ("https://docs.example.org/a?b=c#d", RUN),
        ("http://DOCS.example.org.:8080/", RUN),
        ("https://example.org", DENY),
        ("https://docs.example.org.evil.net/", DENY),
        ("https://evil.net/docs.example.org", DENY),
        ("https://docs.example.org@evil.net/", DENY),
        ("https://evil.net\\@docs.example.org/", DENY),
        ("https://docs.example.org%00.evil.net/", DENY),
        ("file:///etc/passwd", DENY),
        ("https://xdocs.example.org", DENY),
        ("https://docs.example.org /", DENY),
        ("", DENY),
    ],
)
def test_while_planning_only_allowed_hosts_are_fetched_from(url: str, wanted: Verdict) -> None:
    assert (
        verdict(Action.FETCH, url, PermissionContext("plan", hosts=("docs.example.org",))) is wanted
    )


NEAR = (
    "localhost", "a.localhost", "127.0.0.1", "127.1", "2130706433", "0x7f000001", "0177.0.0.1",
    "10.1.2.3", "172.16.0.1", "172.31.9.9", "192.168.1.1", "169.254.169.254", "100.64.0.1", "[::1]",
    "[fe80::1]", "[::ffff:10.0.0.1]", "0.0.0.0", "printer", "nas.local", "wiki.corp", "224.0.0.1",
    "metadata.google.internal", "0", "255.255.255.255",
)  # fmt: skip
FAR = ("example.org", "8.8.8.8", "172.32.0.1", "100.128.0.1", "192.169.0.1", "1.1.1.1", "a.co")


def test_hosts_near_and_far() -> None:
    assert [host for host in NEAR if not is_private_host(host)] == []
    assert [host for host in FAR if is_private_host(host)] == []


@pytest.mark.parametrize("mode", ["ask", "auto-edit", "yolo"])
def test_this_machine_and_its_network_ask_unless_they_are_allowed(mode: Mode) -> None:
    assert {verdict(Action.FETCH, f"http://{host}:8080/x", mode) for host in NEAR} == {ASK}
    allowed = PermissionContext(mode, hosts=("localhost",))
    assert verdict(Action.FETCH, "http://localhost:8080/x", allowed) is RUN


def test_f35_a_child_presents_nothing() -> None:
    assert verdict(Action.PRESENT, "plan", PermissionContext("plan", child=True)) is DENY


def test_what_touches_nothing_and_what_fails_is_denied() -> None:
    def broken(text: str) -> CommandAnalysis:
        raise RuntimeError("out of order")

    assert GATE.decide([], PermissionContext("yolo")).verdict is DENY
    shell = [ResourceAccess(Action.SHELL, "ls")]
    gate = RuleGate(PermissionPolicy(), broken)
    assert gate.decide(shell, PermissionContext("yolo")).verdict is DENY
    assert gate.risk(shell) == (
        "high",
        ("The permission check failed: RuntimeError('out of order').",),
    )
    assert gate.grant_patterns(shell, PermissionContext("yolo")) == ()
    unknown = [ResourceAccess("fly", "moon")]  # type: ignore[arg-type]
    assert GATE.decide(unknown, PermissionContext("yolo")).verdict is DENY


RESOURCES = st.sampled_from(
    ["a.py", ".env", "ls", "cat .env", "rm x", "https://example.org", "http://localhost", "", "\0"]
)
REQUESTS = st.builds(ResourceAccess, st.sampled_from(Action), RESOURCES)
POSTURES = st.builds(
    PermissionContext,
    st.sampled_from(MODES),
    st.sampled_from([(), ("example.org",)]),
    st.booleans(),
    st.sampled_from([(), ("*",), ("*.md",)]),
    st.booleans(),
    st.booleans(),
)


@given(st.lists(REQUESTS, min_size=1, max_size=4), REQUESTS, POSTURES)
def test_one_more_request_never_makes_it_looser(
    requests: list[ResourceAccess], more: ResourceAccess, posture: PermissionContext
) -> None:
    before = GATE.decide(requests, posture).verdict
    after = GATE.decide([*requests, more], posture).verdict
    assert VERDICTS_BY_STRICTNESS.index(after) >= VERDICTS_BY_STRICTNESS.index(before)
    assert after is GATE.decide([more, *requests], posture).verdict


@given(st.lists(REQUESTS, max_size=3), POSTURES.filter(lambda posture: posture.mode == "plan"))
def test_plan_mode_never_runs_an_edit(
    requests: list[ResourceAccess], posture: PermissionContext
) -> None:
    wanted = [*requests, ResourceAccess(Action.EDIT, "a.py")]
    assert GATE.decide(wanted, posture).verdict is not RUN
