"""The gate with rules: which layer decides, what the mode makes of it, and what never gives way."""

import pytest
from tests.permissions.fake_classifier import DANGER, UNCERTAIN, told

from assent.config.permissions import PRESETS
from assent.core.permission.mode import MODES, CustomMode, Mode
from assent.core.permission.rule import (
    PermissionPolicy,
    PermissionRule,
    RuleLayer,
    RuleLayerName,
    parse_rules,
)
from assent.core.session.agent import Agent
from assent.core.tool import Action, Decision, PermissionContext, ResourceAccess, Verdict
from assent.permissions.commands.read_only.classifier import files_read_by
from assent.permissions.gate import RuleGate

RUN, STAGE, ASK, DENY = Verdict.RUN, Verdict.STAGE, Verdict.ASK, Verdict.DENY


def gate(*layers: RuleLayer) -> RuleGate:
    return RuleGate(PermissionPolicy(layers, "/srv/app", "/home/ada"), told, files_read_by)


def layer(table: object, name: RuleLayerName = "user", *, trusted: bool = True) -> RuleLayer:
    return RuleLayer(name, parse_rules(table, name), trusted)


def by(
    judge: RuleGate,
    action: Action,
    resource: str,
    posture: PermissionContext | Mode = "ask",
    *,
    stage: bool = False,
) -> Decision:
    posture = posture if isinstance(posture, PermissionContext) else PermissionContext(posture)
    return judge.decide([ResourceAccess(action, resource, stage=stage)], posture)


def test_f70_a_decision_names_rule_and_layer_and_its_reason() -> None:
    rule = PermissionRule(
        "bash", "git push *", "deny", "Releases are made by hand.", source="team.toml"
    )
    judge = gate(RuleLayer("user", (rule,)))
    assert by(judge, Action.SHELL, "make && git push", "yolo") == Decision(
        DENY, "Releases are made by hand.", "user", "bash: git push * = deny"
    )
    plain = by(gate(layer({"edit": "ask"}, "project")), Action.EDIT, "a.py", "auto-edit")
    assert plain == Decision(ASK, "A rule from project asks first.", "project", "edit: * = ask")


@pytest.mark.parametrize("word", ["allow", "ask", "deny"])
def test_f70_a_rule_decides_where_the_mode_would(word: str) -> None:
    wanted = {"allow": (STAGE, RUN, RUN, RUN), "ask": (ASK, ASK, ASK, RUN), "deny": (DENY,) * 4}
    judge = gate(layer({"edit": {"src/*": word}}))
    assert tuple(by(judge, Action.EDIT, "src/a.py", mode).verdict for mode in MODES) == wanted[word]


def test_f71_nothing_matched_is_the_modes_business() -> None:
    judge = gate(layer({"edit": {"docs/*": "allow"}}))
    assert by(judge, Action.EDIT, "src/a.py", "ask").verdict is ASK
    assert by(judge, Action.EDIT, "docs/a.md", "ask").verdict is RUN


@pytest.mark.parametrize(
    "pattern", ["src/keys/*", "/srv/app/src/keys/*", "*/keys/*", "/srv/app/src/*"]
)
@pytest.mark.parametrize("path", ["src/keys/a.py", "/srv/app/src/keys/a.py", "src/keys/../keys/a"])
def test_f74_a_rule_in_either_form_matches_a_path_in_either_form(pattern: str, path: str) -> None:
    judge = gate(layer({"edit": {pattern: "deny"}, "read": {pattern: "deny"}}))
    assert by(judge, Action.EDIT, path, "yolo").verdict is DENY
    assert by(judge, Action.READ, path, "yolo").verdict is DENY


@pytest.mark.parametrize("pattern", ["~/notes/*", "$HOME/notes/*", "/home/ada/notes/*"])
def test_f74_home_in_a_rule(pattern: str) -> None:
    judge = gate(layer({"external_directory": {pattern: "allow"}}))
    assert by(judge, Action.OUTSIDE, "/home/ada/notes/x").verdict is RUN
    assert by(judge, Action.OUTSIDE, "/home/bob/notes/x").verdict is ASK


def test_f75_every_path_of_a_call_counts() -> None:
    judge = gate(layer({"edit": {"*": "allow", "vendor/*": "deny"}}))
    moved = [ResourceAccess(Action.EDIT, "a.py"), ResourceAccess(Action.EDIT, "vendor/a.py")]
    assert judge.decide(moved, PermissionContext("yolo")).verdict is DENY
    assert judge.decide(moved[:1], PermissionContext("ask")).verdict is RUN


def test_f79_every_command_of_a_line_counts() -> None:
    judge = gate(layer({"bash": {"*": "ask", "make *": "allow", "git push *": "deny"}}))
    lines = {"make": RUN, "make && make test": RUN, "make; npm test": ASK, "make | git push": DENY}
    assert {text: by(judge, Action.SHELL, text).verdict for text in lines} == lines


def test_f80_what_a_line_writes_is_held_against_rules_for_edits() -> None:
    judge = gate(layer({"bash": "allow", "edit": {"vendor/*": "deny", "*": "allow"}}))
    assert by(judge, Action.SHELL, "make > vendor/a").verdict is RUN  # the last match wins
    judge = gate(layer({"bash": "allow", "edit": {"*": "allow", "vendor/*": "deny"}}))
    assert by(judge, Action.SHELL, "make > vendor/a", "yolo").verdict is DENY
    assert by(judge, Action.SHELL, "make > out").verdict is RUN


def test_what_could_not_be_told_apart_is_denied_by_a_rule_for_the_whole_line() -> None:
    judge = gate(layer({"bash": {"*": "allow", "$tool *": "deny"}}))
    assert by(judge, Action.SHELL, UNCERTAIN, "yolo").verdict is DENY
    whole = gate(layer({"bash": {"* && make": "deny"}}))
    assert by(whole, Action.SHELL, f"{UNCERTAIN} && make", "yolo").verdict is DENY
    assert by(whole, Action.SHELL, "ls && make", "yolo").verdict is RUN
    assert by(gate(layer("allow")), Action.SHELL, UNCERTAIN, "yolo").verdict is ASK
    named = gate(layer({"bash": {UNCERTAIN: "allow"}}))
    assert by(named, Action.SHELL, UNCERTAIN, "yolo").verdict is ASK


def test_f91_no_rule_allows_what_nobody_should_run() -> None:
    assert by(gate(layer({"bash": {DANGER: "allow"}})), Action.SHELL, DANGER).verdict is DENY


def test_f72_deny_and_plan_mode_hold_whatever_comes_later() -> None:
    denied = layer({"bash": {"git push *": "deny"}})
    later = (layer("allow", "project"), layer("allow", "command line"))
    posture = PermissionContext(
        "yolo", auto=True, agents=(Agent("build", rules=parse_rules("allow")),)
    )
    assert by(gate(denied, *later), Action.SHELL, "git push", posture).verdict is DENY
    plan = PermissionContext("plan", auto=True, agents=posture.agents)
    for action, resource, wanted in (
        (Action.EDIT, "a", STAGE),
        (Action.SHELL, "make", STAGE),
        (Action.TOOL, "x", DENY),
        (Action.FETCH, "https://example.org", DENY),
    ):
        assert by(gate(*later), action, resource, plan, stage=True).verdict is wanted
    assert by(gate(*later), Action.SHELL, "make", plan).verdict is DENY


def test_the_command_line_comes_after_the_agent() -> None:
    agent = Agent("build", rules=parse_rules({"edit": "ask"}, "the agent build"))
    posture = PermissionContext("auto-edit", agents=(agent,))
    assert by(gate(), Action.EDIT, "a", posture).layer == "agent"
    judge = gate(layer({"edit": "allow"}, "command line"))
    assert by(judge, Action.EDIT, "a", posture) == Decision(
        RUN, "A rule from command line allows it.", "command line", "edit: * = allow"
    )


def test_f101_all_agents_above_a_child_must_agree() -> None:
    free, strict = (
        Agent("a", rules=parse_rules("allow")),
        Agent("b", rules=parse_rules({"edit": "ask"})),
    )
    silent = Agent("c")
    assert by(gate(), Action.EDIT, "x", PermissionContext("ask", agents=(free,))).verdict is RUN
    for agents in ((free, strict), (strict, free), (free, silent), (silent, free)):
        assert by(gate(), Action.EDIT, "x", PermissionContext("ask", agents=agents)).verdict is ASK


@pytest.mark.parametrize(
    "posture", [PermissionContext("yolo"), PermissionContext("ask", auto=True)]
)
def test_f93_auto_turns_questions_into_runs_and_nothing_else(posture: PermissionContext) -> None:
    judge = gate(layer({"edit": "ask", "bash": {"rm *": "deny"}, "read": {"*.env": "ask"}}))
    assert by(judge, Action.EDIT, "a.py", posture).verdict is RUN
    assert by(judge, Action.SHELL, "make", posture).verdict is RUN
    assert by(judge, Action.TOOL, "x", posture).verdict is RUN
    assert by(judge, Action.SHELL, "rm x", posture).verdict is DENY
    assert by(judge, Action.READ, ".env", posture).verdict is ASK
    assert by(judge, Action.FETCH, "http://localhost/", posture).verdict is ASK
    assert by(judge, Action.SHELL, UNCERTAIN, posture).verdict is ASK


def test_f93_auto_changes_nothing_while_planning() -> None:
    judge = gate(layer({"read": {"docs/*": "ask"}}))
    plan = PermissionContext("plan", auto=True)
    assert by(judge, Action.EDIT, "a.py", plan).verdict is STAGE
    assert by(judge, Action.READ, "docs/a.md", plan).verdict is ASK
    assert by(judge, Action.SHELL, "make", plan, stage=True).verdict is STAGE
    assert by(judge, Action.SHELL, "make", plan).verdict is DENY


def test_f76_only_a_rule_that_names_them_opens_secrets_and_near_hosts() -> None:
    bare, named = gate(layer("allow")), gate(layer({"read": {"*.env": "allow"}}))
    assert by(bare, Action.READ, ".env").verdict is ASK
    assert by(bare, Action.READ, "a.py").verdict is RUN
    assert by(named, Action.READ, ".env").verdict is RUN
    assert by(named, Action.SHELL, "cat .env").verdict is RUN
    assert by(bare, Action.FETCH, "http://localhost/").verdict is ASK
    local = gate(layer({"webfetch": {"http://localhost/*": "allow"}}))
    assert by(local, Action.FETCH, "http://LOCALHOST:80").verdict is RUN
    careful = ".github/workflows/ci.yml"
    assert by(bare, Action.EDIT, careful).verdict is ASK
    assert by(gate(layer({"edit": {".github/*": "allow"}})), Action.EDIT, careful).verdict is RUN


def test_rules_know_a_url_by_its_plain_spelling() -> None:
    judge = gate(layer({"webfetch": {"*": "allow", "https://evil.org/*": "deny"}}))
    for url in ("https://evil.org", "HTTPS://Evil.org:443/x", "https://evil.org./?q"):
        assert by(judge, Action.FETCH, url).verdict is DENY, url
    assert by(judge, Action.FETCH, "https://good.org/evil.org").verdict is RUN


def test_while_planning_a_bare_question_about_edits_is_asked_with_the_plan() -> None:
    judge = gate(layer({"edit": {"*": "ask", "vendor/*": "ask"}}))
    assert by(judge, Action.EDIT, "a.py", "plan").verdict is STAGE
    assert by(judge, Action.EDIT, "vendor/a.py", "plan").verdict is ASK


def test_law_9_a_projects_bare_question_takes_no_narrower_one_away() -> None:
    user, project = (
        layer({"edit": {"vendor/*": "ask"}}),
        layer({"edit": "ask"}, "project", trusted=False),
    )
    decision = by(gate(user, project), Action.EDIT, "vendor/a.py", "plan")
    assert (decision.verdict, decision.layer) == (ASK, "user")


def test_a_build_asks_outside_its_scope_whatever_rules_allow() -> None:
    judge = gate(layer({"edit": "allow", "bash": {"make *": "allow"}}))
    building = PermissionContext("yolo", building=True, scope=("src/*",))
    assert by(judge, Action.EDIT, "src/a.py", building).verdict is RUN
    assert by(judge, Action.EDIT, "setup.py", building).verdict is ASK
    assert by(judge, Action.SHELL, "make", building).verdict is RUN
    assert by(judge, Action.SHELL, "make > setup.py", building).verdict is ASK
    bare = gate(layer("allow"))
    assert by(bare, Action.SHELL, "make", building).verdict is ASK
    assert by(bare, Action.TOOL, "tracker_close", building).verdict is ASK


def test_f8_a_mode_of_ones_own_narrows_files_and_tools() -> None:
    docs = CustomMode("docs", "yolo", tools=("edit",), edit=("docs/*",))
    posture = PermissionContext("yolo", custom=(docs,))
    judge = gate(layer("allow"))
    assert by(judge, Action.EDIT, "docs/a.md", posture).verdict is RUN
    assert by(judge, Action.EDIT, "src/a.py", posture).verdict is DENY
    assert by(judge, Action.SHELL, "make", posture).verdict is ASK
    assert by(judge, Action.SHELL, "make > src/a.py", posture).verdict is DENY
    keyed = [ResourceAccess(Action.TOOL, "close", "mcp_tracker_close")]
    assert judge.decide(keyed, posture).verdict is DENY
    nothing = PermissionContext("yolo", custom=(CustomMode("none", "yolo", edit=()),))
    assert by(judge, Action.EDIT, "docs/a.md", nothing).verdict is DENY


PROBES: dict[str, tuple[Verdict, Verdict, Verdict]] = {
    # in ask mode: safe, dev, full
    "edit src/a.py": (ASK, RUN, RUN),
    "edit .github/workflows/ci.yml": (ASK, ASK, ASK),
    "read src/a.py": (RUN, RUN, RUN),
    "read .env": (ASK, ASK, ASK),
    "bash pytest -x": (ASK, RUN, RUN),
    "bash git commit -m x": (ASK, ASK, RUN),
    "bash git status": (ASK, RUN, RUN),
    "bash git push": (DENY, ASK, ASK),
    "bash npm install left-pad": (DENY, ASK, RUN),
    "bash curl https://example.org": (DENY, ASK, RUN),
    "bash sudo make": (DENY, DENY, DENY),
    "bash git reset --hard": (DENY, ASK, ASK),
    "bash make deploy": (ASK, ASK, RUN),
    "webfetch https://example.org": (DENY, ASK, RUN),
    "tool tracker_close": (ASK, ASK, RUN),
    "task explore": (RUN, RUN, RUN),
    "plan plan": (RUN, RUN, RUN),
}


@pytest.mark.parametrize("probe", PROBES)
def test_f89_presets_are_named_sets_of_rules(probe: str) -> None:
    word, resource = probe.split(" ", 1)
    actions = {"edit": Action.EDIT, "read": Action.READ, "bash": Action.SHELL, "task": Action.TASK,
               "webfetch": Action.FETCH, "tool": Action.TOOL, "plan": Action.PLAN}  # fmt: skip
    judges = [gate(RuleLayer("user", PRESETS[name])) for name in ("safe", "dev", "full")]
    found = tuple(by(judge, actions[word], resource).verdict for judge in judges)
    assert found == PROBES[probe]


def test_f98_one_table_knows_every_action_and_what_it_does_not_know_is_denied() -> None:
    """A tool that declares nothing counts as an edit; an action without an entry is refused."""
    every = [by(gate(), action, "https://example.org", "yolo") for action in Action]
    assert not any("permission check failed" in decision.reason for decision in every)
    unknown = [ResourceAccess("fly", "moon")]  # type: ignore[arg-type]
    found = gate(layer("allow")).decide(unknown, PermissionContext("yolo"))
    assert (found.verdict, found.layer) == (DENY, "defaults")


def test_f97_a_tool_that_no_call_can_use_is_shut_with_the_reason() -> None:
    judge = gate(layer({"bash": "deny", "edit": {"*": "deny", "docs/*": "ask"}}))
    poet = Agent("poet", rules=parse_rules({"webfetch": "deny"}, "the agent poet"))
    posture = PermissionContext("ask", agents=(poet,))
    assert judge.never_allowed_reason("shell", Action.SHELL, posture) == (
        "A rule from user denies it. (`bash: * = deny`)"
    )
    assert judge.never_allowed_reason("fetch", Action.FETCH, posture).startswith(
        "A rule from the agent poet denies"
    )
    assert judge.never_allowed_reason("fetch", Action.FETCH, PermissionContext("ask")) == ""
    assert judge.never_allowed_reason("write", Action.EDIT, posture) == ""
    docs = PermissionContext("ask", custom=(CustomMode("docs", "ask", tools=("read",)),))
    assert (
        judge.never_allowed_reason("grep", Action.READ, docs) == "It is not available in mode docs."
    )
    assert judge.never_allowed_reason("read", Action.READ, docs) == ""


def test_explaining_names_what_every_layer_says() -> None:
    judge = gate(layer({"bash": {"make *": "allow"}}), layer("allow", "project", trusted=False))
    [make, push] = judge.explain(
        [ResourceAccess(Action.SHELL, "make; git push")], PermissionContext("ask")
    )
    assert (make.decision.layer, make.decision.rule) == ("user", "bash: make * = allow")
    assert [(one.layer.name, one.counts) for one in make.opinions] == [
        ("user", True),
        ("project", False),
    ]
    assert (push.request.resource, push.decision.layer) == ("git push", "mode")
    make_it = ResourceAccess(Action.SHELL, "make", stage=True)
    [planned] = judge.explain([make_it], PermissionContext("plan"))
    assert planned.decision.verdict is STAGE
