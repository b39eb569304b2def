"""Rules: OpenCode's semantics as vectors, and what ours add so that a deny sticks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assent.core.errors import UsageError
from assent.core.permission.mode import CustomMode
from assent.core.permission.rule import (
    InvalidRuleTable,
    PermissionRule,
    RuleLayer,
    expand_home,
    failed_examples,
    fixed_prefix,
    matches_everything,
    parse_rule_argument,
    parse_rules,
    parse_tool_rules,
    wildcard_matches,
)
from assent.core.permission.rule_match import (
    CompiledRuleLayer,
    agent_layers,
    deciding_match,
    hiding_rule,
    mode_without_tool,
    rule_matches,
)
from assent.core.session.agent import Agent
from assent.core.tool import Action, ResourceAccess

NOTHING = None


def said(
    *tables: object, action: Action = Action.SHELL, resource: str, key: str = ""
) -> str | None:
    """Returns what tables of the user, one layer each, come to."""
    layers = [RuleLayer("user", parse_rules(table)) for table in tables]
    return of(*layers, action=action, resource=resource, key=key)


def of(*layers: RuleLayer, action: Action, resource: str, key: str = "") -> str | None:
    tables = [CompiledRuleLayer(layer, "/home/ada") for layer in layers]
    found = deciding_match(
        rule_matches(tables, ResourceAccess(action, resource, key), lambda: (resource,))
    )
    return found.rule.action if found else NOTHING


WILDCARDS = [
    ("git *", "git status", True),
    ("git *", "git", True),  # a trailing ` *` also matches the bare command
    ("git *", "gitx", False),
    ("git*", "gitx", True),
    ("git status", "git status -s", False),  # anchored at the end
    ("status", "git status", False),  # and at the beginning
    ("*", "", True),
    ("*", "a\nb/c", True),  # newlines and slashes, too
    ("src/*", "src/deep/a.py", True),
    ("src/?.py", "src/a.py", True),
    ("src/?.py", "src/ab.py", False),
    ("a?c", "a\nc", True),
    ("src/**/*.rs", "src/a.rs", False),  # `**` is two `*`, so both slashes are needed
    ("src/**/*.rs", "src/x/a.rs", True),
    ("[ab].py", "a.py", False),  # no classes
    ("[ab].py", "[ab].py", True),
    ("a.py", "axpy", False),
    ("*.env", ".env", True),
    ("*.env", "a/.env.example", False),
    ("git * --force *", "git push --force", True),
    ("git * --force *", "git push --force origin", True),
    ("a*b*c", "a-c-b-c", True),
    ("a*b*c", "a-c-b", False),
    ("", "", True),
    ("", "a", False),
    ("rm -rf /", "rm -rf /tmp", False),
    ("{x,y}", "x", False),
    ("a\\*", "a\\bc", True),  # a backslash is a character
    ("Git *", "git x", False),
]


@pytest.mark.parametrize(("pattern", "text", "wanted"), WILDCARDS)
def test_f73_wildcards(pattern: str, text: str, wanted: bool) -> None:
    assert wildcard_matches(text, pattern) is wanted
    assert not wanted or text.startswith(fixed_prefix(pattern))


def test_f73_no_text_makes_a_pattern_slow() -> None:
    """Steps would grow as the 30th power of the length, if the search went back."""
    assert not wildcard_matches("a" * 5000 + "b", "*a" * 30 + "c")


@given(st.text("ab/ *?", max_size=8), st.text("ab/ \n", max_size=8))
def test_f73_a_pattern_matches_what_the_definition_says(pattern: str, text: str) -> None:
    wanted = _slow(pattern, text) or (pattern.endswith(" *") and _slow(pattern[:-2], text))
    assert wildcard_matches(text, pattern) is wanted
    assert not wanted or text.startswith(fixed_prefix(pattern))


def _slow(pattern: str, text: str) -> bool:
    if not pattern:
        return not text
    if pattern[0] == "*":
        return any(_slow(pattern[1:], text[at:]) for at in range(len(text) + 1))
    return bool(text) and pattern[0] in ("?", text[0]) and _slow(pattern[1:], text[1:])


@pytest.mark.parametrize(
    ("pattern", "wanted"),
    [
        ("~", "/home/ada"),
        ("~/x/*", "/home/ada/x/*"),
        ("$HOME", "/home/ada"),
        ("$HOME/x", "/home/ada/x"),
        ("~bob/x", "~bob/x"),
        ("$HOMER/x", "$HOMER/x"),
        ("a/~/x", "a/~/x"),
    ],
)
def test_f74_home_is_spelled_out(pattern: str, wanted: str) -> None:
    assert expand_home(pattern, "/home/ada") == wanted
    assert expand_home(pattern, "") == pattern


F = [
    # a word, a map of words, a map of maps
    ("allow", "git status", "allow"),
    ({"bash": "deny"}, "git status", "deny"),
    ({"edit": "deny"}, "git status", NOTHING),
    ({"bash": {"git *": "allow"}}, "git status", "allow"),
    ({"bash": {"git *": "allow"}}, "make", NOTHING),
    # the last match wins, and a narrower pattern is worth no more
    ({"bash": {"git *": "allow", "*": "deny"}}, "git status", "deny"),
    ({"bash": {"*": "deny", "git *": "allow"}}, "git status", "allow"),
    ({"bash": {"*": "deny", "git *": "allow"}}, "make", "deny"),
    ({"bash": {"git push *": "deny", "git *": "ask"}}, "git push", "ask"),
    ({"*": "deny", "bash": "ask"}, "make", "ask"),
    ({"bash": "ask", "*": "deny"}, "make", "deny"),
    # permissions have wildcards, too
    ({"ba*": "deny"}, "make", "deny"),
    ({"b?sh": "deny"}, "make", "deny"),
    # our own words for a permission
    ({"shell": "deny"}, "make", "deny"),
]


@pytest.mark.parametrize(("table", "resource", "wanted"), F)
def test_f70_f71_opencode_tables_mean_the_same(
    table: object, resource: str, wanted: str | None
) -> None:
    assert said(table, resource=resource) == wanted


@pytest.mark.parametrize(
    ("key", "wanted"), [("mcp_tracker_close", "deny"), ("mcpx", NOTHING), ("tool_x", NOTHING)]
)
def test_f70_tools_of_servers_go_by_their_own_words(key: str, wanted: str | None) -> None:
    table = {"mcp_*": "deny"}
    assert said(table, action=Action.TOOL, resource="x", key=key) == wanted


def test_what_is_said_of_all_tools_makes_one_only_stricter() -> None:
    words = [{"tool": word} for word in ("deny", "ask", "allow")]
    found = [said(table, action=Action.TOOL, resource="x", key="mcp_a") for table in words]
    assert found == ["deny", "ask", NOTHING]


def test_f75_a_word_for_one_editing_tool_makes_every_edit_stricter_and_none_looser() -> None:
    for word in ("write", "patch", "multiedit", "move"):
        assert said({word: "deny"}, action=Action.EDIT, resource="a") == "deny"
        assert said({word: "allow"}, action=Action.EDIT, resource="a") == NOTHING


def test_f72_a_deny_in_any_layer_stays() -> None:
    deny, allow, ask = ({"bash": {"git *": word}} for word in ("deny", "allow", "ask"))
    assert said(deny, allow, resource="git push") == "deny"
    assert said(allow, deny, ask, resource="git push") == "deny"
    assert said(ask, allow, resource="git push") == "allow"
    assert said(allow, ask, resource="git push") == "ask"


def test_law_9_what_an_untrusted_layer_allows_does_not_count() -> None:
    def layered(under: str, over: str, *, trusted: bool) -> str | None:
        user = RuleLayer("user", parse_rules({"edit": under}) if under else ())
        project = RuleLayer("project", parse_rules({"edit": over}), trusted)
        return of(user, project, action=Action.EDIT, resource="a")

    rows = [
        # user, project, untrusted, trusted
        ("", "allow", NOTHING, "allow"),
        ("", "ask", "ask", "ask"),
        ("", "deny", "deny", "deny"),
        ("ask", "allow", "ask", "allow"),
        ("allow", "ask", "ask", "ask"),
        ("deny", "allow", "deny", "deny"),
        ("deny", "ask", "deny", "deny"),
    ]
    for under, over, untrusted, trusted in rows:
        assert layered(under, over, trusted=False) == untrusted, (under, over)
        assert layered(under, over, trusted=True) == trusted, (under, over)


def test_a_bare_star_does_not_ask_about_our_own_doings() -> None:
    assert said("ask", action=Action.PLAN, resource="plan") is NOTHING
    assert said("deny", action=Action.PLAN, resource="plan") == "deny"
    assert said({"plan": "ask"}, action=Action.PLAN, resource="plan") == "ask"


@pytest.mark.parametrize(
    "table",
    [{"edit": "maybe"}, {"edit": {"*": True}}, {"edit": None}, 3, [], "yes", {"edit": ["deny"]}],
)
def test_f70_an_unknown_action_is_named(table: object) -> None:
    with pytest.raises(InvalidRuleTable):
        parse_rules(table)


def test_f70_older_switches_are_denials() -> None:
    found = parse_tool_rules({"write": False, "edit": False, "bash": False, "read": True}, "x")
    assert found == (
        PermissionRule("edit", "*", "deny", source="x"),
        PermissionRule("bash", "*", "deny", source="x"),
    )
    with pytest.raises(InvalidRuleTable):
        parse_tool_rules(["write"])


def test_a_rule_can_be_typed() -> None:
    assert parse_rule_argument("deny bash:git push *") == PermissionRule(
        "bash", "git push *", "deny", source="the command line"
    )
    assert parse_rule_argument("allow edit").pattern == "*"
    with pytest.raises(UsageError):
        parse_rule_argument("deny bash:")


def test_examples_prove_a_rule() -> None:
    rule = PermissionRule(
        "edit", "~/*.lock", "deny", "", ("~/a.lock", "b.lock"), ("~/a.lock.py", "~/c.lock")
    )
    assert failed_examples(rule, "/home/ada") == (
        "it should match 'b.lock' but does not",
        "it should not match '~/c.lock' but does",
    )


OWN_WORDS = [
    ({"grep": {"*topsecret*": "deny"}}, Action.SEEK, "a topsecret b", "grep", "deny"),
    ({"grep": {"*topsecret*": "deny"}}, Action.SEEK, "topsecret", "search", "deny"),
    ({"codesearch": "ask"}, Action.SEEK, "x", "search", "ask"),
    ({"codesearch": "ask"}, Action.SEEK, "x", "grep", NOTHING),
    ({"search": "ask", "grep": "allow"}, Action.SEEK, "x", "search", "ask"),  # a wider word
    ({"glob": {"*.txt": "deny"}}, Action.SEEK, "*.txt", "glob", "deny"),
    ({"glob": {"*.txt": "deny"}}, Action.SEEK, "*.py", "glob", NOTHING),
    ({"list": {"sec*": "deny"}}, Action.SEEK, "secret", "list", "deny"),
    ({"list": {"sec*": "deny"}, "read": "allow"}, Action.SEEK, "secret", "list", "deny"),
    ({"read": {"*secret*": "deny"}}, Action.SEEK, "secret", "grep", NOTHING),  # that is no file
    ({"*": "ask"}, Action.SEEK, "x", "grep", "ask"),
    ({"todowrite": "ask"}, Action.PLAN, "todos", "todowrite", "ask"),
    ({"todo": "ask", "todoread": "allow"}, Action.PLAN, "todos", "todowrite", "ask"),
    ({"question": "deny"}, Action.PLAN, "question", "question", "deny"),
    ({"question": "deny"}, Action.PLAN, "todos", "todowrite", NOTHING),
    ({"plan_enter": "deny"}, Action.PLAN, "mode", "plan_enter", "deny"),
    ({"enter_plan": "deny"}, Action.PLAN, "mode", "plan_enter", "deny"),
    ({"remember": "ask"}, Action.PLAN, "facts", "remember", "ask"),
    ({"task": {"explore": "deny"}}, Action.TASK, "explore", "", "deny"),
    ({"*": "ask"}, Action.PLAN, "todos", "todowrite", NOTHING),  # Assent's own
]


@pytest.mark.parametrize(("table", "action", "resource", "key", "wanted"), OWN_WORDS)
def test_f70_tools_are_ruled_by_the_words_that_opencode_has_for_them(
    table: object, action: Action, resource: str, key: str, wanted: str | None
) -> None:
    assert said(table, action=action, resource=resource, key=key) == wanted


HIDES = [
    ({"*": "deny"}, "grep", Action.READ, True),
    ({"grep": "deny"}, "grep", Action.READ, True),
    ({"grep": {"*": "deny", "a": "allow"}}, "grep", Action.READ, False),
    ({"*": "deny", "bash": "allow"}, "shell", Action.SHELL, False),
    ({"bash": "deny"}, "shell", Action.SHELL, True),
    ({"shell": "deny"}, "shell", Action.SHELL, True),
    ({"bash": {"*": "deny", "git *": "allow"}}, "shell", Action.SHELL, False),
    ({"bash": {"git *": "allow", "*": "deny"}}, "shell", Action.SHELL, True),
    ({"edit": "deny"}, "write", Action.EDIT, True),
    ({"write": "deny"}, "write", Action.EDIT, True),
    ({"write": "deny"}, "patch", Action.EDIT, False),
    ({"edit": "ask"}, "write", Action.EDIT, False),
    ({"mcp_*": "deny"}, "mcp_x_y", Action.TOOL, True),
    ({"todowrite": "deny"}, "todo", Action.PLAN, True),
]


@pytest.mark.parametrize(("table", "tool", "action", "wanted"), HIDES)
def test_f97_a_tool_that_is_denied_for_everything_need_not_be_offered(
    table: object, tool: str, action: Action, wanted: bool
) -> None:
    layers = (RuleLayer("user", ()), RuleLayer("project", parse_rules(table), trusted=False))
    assert (hiding_rule(layers, tool, action) is not None) is wanted


def test_f8_a_mode_with_a_list_of_tools_has_no_others() -> None:
    modes = (CustomMode("docs", "ask", tools=("read", "edit")), CustomMode("any", "ask"))
    assert (mode_without_tool(modes, ("edit",)), mode_without_tool(modes, ("shell", "bash"))) == (
        "",
        "docs",
    )
    assert mode_without_tool(modes[1:], ("shell",)) == ""


def test_f9_a_projects_words_over_an_agent_only_narrow_it() -> None:
    own = Agent("build", rules=parse_rules({"bash": "deny", "edit": "allow"}), source="user")
    over = Agent("build", rules=parse_rules({"bash": "ask", "edit": "ask"}), source="project")
    layers = agent_layers(own.narrowed(over))
    assert of(*layers, action=Action.SHELL, resource="make") == "deny"
    assert of(*layers, action=Action.EDIT, resource="a") == "ask"
    wide = Agent("build", rules=parse_rules("allow"), source="project")
    twice = agent_layers(own.narrowed(over).narrowed(wide))
    assert of(*twice, action=Action.EDIT, resource="a") == "ask"
    assert of(*agent_layers(wide), action=Action.EDIT, resource="a") is NOTHING


def test_a_bare_pattern_names_nothing() -> None:
    patterns = ("*", "**", "*/*", "", "? *", "*.env", "a")
    found = [matches_everything(pattern) for pattern in patterns]
    assert found == [*[True] * 5, False, False]
