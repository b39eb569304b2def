"""The gate only gets stricter by what is added: a deny, a project's file, a parent, plan mode."""

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.permissions.fake_classifier import DANGER, UNCERTAIN, told
from tests.support.properties import examples

from assent.core.permission.mode import MODES, CustomMode, stricter_mode
from assent.core.permission.rule import (
    Grant,
    PermissionPattern,
    PermissionPolicy,
    PermissionRule,
    RuleLayer,
)
from assent.core.session.agent import Agent
from assent.core.tool import (
    VERDICTS_BY_STRICTNESS,
    Action,
    PermissionContext,
    ResourceAccess,
    Verdict,
)
from assent.permissions.commands.read_only.classifier import files_read_by
from assent.permissions.gate import RuleGate

WORDS = st.sampled_from(["*", "read", "edit", "bash", "webfetch", "tool", "task", "mcp_*", "e*"])
PATTERNS = st.sampled_from(
    ["*", "src/*", "*.env", "/srv/app/*", "make *", "ls", "https://*", "a?c"]
)
RULES = st.builds(PermissionRule, WORDS, PATTERNS, st.sampled_from(["allow", "ask", "deny"]))
TABLES = st.lists(RULES, max_size=4).map(tuple)
LAYERS = st.builds(
    RuleLayer, st.sampled_from(["user", "project", "command line"]), TABLES, st.booleans()
)
POLICIES = st.lists(LAYERS, max_size=3).map(tuple)
RESOURCES = st.sampled_from(
    ["src/a.py", ".env", "abc", "ls", "make all", "make > src/x", "cat .env", UNCERTAIN, DANGER,
     "https://example.org/x", "http://localhost", ".github/workflows/ci.yml", ""]
)  # fmt: skip
REQUESTS = st.builds(
    ResourceAccess, st.sampled_from(Action), RESOURCES, st.sampled_from(["", "mcp_a", "edit"])
)
AGENTS = st.builds(
    Agent,
    st.sampled_from(["build", "explore"]),
    rules=TABLES,
    narrowing=st.lists(TABLES, max_size=1).map(tuple),
    source=st.sampled_from(["user", "project"]),
)
CUSTOM = st.builds(
    CustomMode,
    st.just("own"),
    st.just("ask"),
    tools=st.sampled_from([None, ("read",), ("mcp_a",)]),
    edit=st.sampled_from([None, ("src/*",), ()]),
)
GRANTED = st.builds(
    PermissionPattern,
    st.sampled_from(["edit", "bash", "read"]),
    st.sampled_from(["*", "make all", ".env"]),
    st.booleans(),
)
GRANTS = st.builds(
    Grant,
    st.just("g"),
    st.just("project"),
    st.just("s"),
    st.sampled_from(["build", "explore"]),
    st.sampled_from(MODES),
    st.lists(GRANTED, max_size=2).map(tuple),
    st.just("2026-01-01T00:00:00Z"),
    plan=st.sampled_from(["", "d"]),
)
POSTURES = st.builds(
    PermissionContext,
    st.sampled_from(MODES),
    hosts=st.sampled_from([(), ("example.org",)]),
    building=st.booleans(),
    scope=st.sampled_from([(), ("src/*",)]),
    staging=st.booleans(),
    agents=st.lists(AGENTS, min_size=1, max_size=2).map(tuple),
    custom=st.lists(CUSTOM, max_size=1).map(tuple),
    auto=st.booleans(),
    grants=st.lists(GRANTS, max_size=2).map(tuple),
)
MANY = settings(max_examples=examples(400))


def verdict(
    layers: tuple[RuleLayer, ...], request: ResourceAccess, posture: PermissionContext
) -> Verdict:
    gate = RuleGate(PermissionPolicy(layers, "/srv/app", "/home/ada"), told, files_read_by)
    return gate.decide([request], posture).verdict


def is_looser(one: Verdict, other: Verdict) -> bool:
    return VERDICTS_BY_STRICTNESS.index(one) < VERDICTS_BY_STRICTNESS.index(other)


def without_answers(posture: PermissionContext) -> PermissionContext:
    return PermissionContext(
        posture.mode, posture.hosts, posture.building, posture.scope, posture.child,
        posture.staging, posture.agents, posture.custom, posture.auto,
    )  # fmt: skip


@MANY
@given(POLICIES, REQUESTS, POSTURES, st.data())
def test_f72_one_more_deny_never_loosens(
    layers: tuple[RuleLayer, ...],
    request: ResourceAccess,
    posture: PermissionContext,
    data: st.DataObject,
) -> None:
    """Wherever it is put: between the rules of a layer, or into a layer of its own."""
    deny = data.draw(st.builds(PermissionRule, WORDS, PATTERNS, st.just("deny")))
    at = data.draw(st.integers(0, len(layers)))
    if at == len(layers):
        more = (*layers, RuleLayer("user", (deny,), data.draw(st.booleans())))
    else:
        old = layers[at]
        here = data.draw(st.integers(0, len(old.rules)))
        rules = (*old.rules[:here], deny, *old.rules[here:])
        more = (*layers[:at], RuleLayer(old.name, rules, old.trusted), *layers[at + 1 :])
    assert not is_looser(verdict(more, request, posture), verdict(layers, request, posture))


@MANY
@given(POLICIES, TABLES, REQUESTS, POSTURES, st.integers(0, 3))
def test_law_9_an_untrusted_project_never_widens(
    layers: tuple[RuleLayer, ...],
    rules: tuple[PermissionRule, ...],
    request: ResourceAccess,
    posture: PermissionContext,
    at: int,
) -> None:
    project = RuleLayer("project", rules, trusted=False)
    more = (*layers[:at], project, *layers[at:])
    assert not is_looser(verdict(more, request, posture), verdict(layers, request, posture))


@MANY
@given(POLICIES, REQUESTS, POSTURES, POSTURES)
def test_f101_a_child_is_never_wider_than_its_parent(
    layers: tuple[RuleLayer, ...],
    request: ResourceAccess,
    parent: PermissionContext,
    own: PermissionContext,
) -> None:
    child = PermissionContext(
        stricter_mode(own.mode, parent.mode),
        parent.hosts,
        parent.building,
        parent.scope,
        child=True,
        staging=parent.staging,
        agents=(*own.agents, *parent.agents),
        custom=(*own.custom, *parent.custom),
        auto=own.auto and parent.auto,
    )
    parent = without_answers(parent)
    found = verdict(layers, request, child)
    if request.action is Action.PRESENT:
        assert found is Verdict.DENY
        return
    assert not is_looser(found, verdict(layers, request, parent))


@MANY
@given(POLICIES, REQUESTS, POSTURES)
def test_f72_answers_beat_no_deny_and_no_plan_mode(
    layers: tuple[RuleLayer, ...], request: ResourceAccess, posture: PermissionContext
) -> None:
    plain = verdict(layers, request, without_answers(posture))
    answered = verdict(layers, request, posture)
    if plain is not Verdict.ASK or posture.mode == "plan":
        assert answered is plain
    else:
        assert answered in (Verdict.ASK, Verdict.RUN)


@MANY
@given(POLICIES, st.lists(REQUESTS, min_size=1, max_size=3), POSTURES)
def test_plan_mode_runs_no_edit_and_no_tool_whatever_is_allowed(
    layers: tuple[RuleLayer, ...], requests: list[ResourceAccess], posture: PermissionContext
) -> None:
    planning = PermissionContext("plan", agents=posture.agents, auto=True, grants=posture.grants)
    gate = RuleGate(PermissionPolicy(layers, "/srv/app", "/home/ada"), told, files_read_by)
    for effect in (ResourceAccess(Action.EDIT, "a.py"), ResourceAccess(Action.TOOL, "x", "mcp_a")):
        found = gate.decide([*requests, effect], planning)
        assert found.verdict is not Verdict.RUN
