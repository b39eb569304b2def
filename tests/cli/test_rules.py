"""`assent rules`: what the layers say, why a call may happen, and taking answers back."""

import json
from pathlib import Path

import pytest
from tests.cli.harness import World

from assent.app.composition import open_engine_at
from assent.config.paths import AppPaths
from assent.core.permission.rule import Grant, PermissionPattern, PermissionRule, failed_examples

LOCKED = PermissionRule("edit", "*.lock", "deny", misses=("a.lock",))


TABLE = """\
[permission]
edit = "allow"

[permission.bash]
"*" = "ask"
"git push *" = "deny"

[[rules]]
permission = "edit"
pattern = "*.lock"
action = "deny"
reason = "Lock files are made by tools."
matches = ["uv.lock"]
misses = ["lock.py"]
"""
FIELDS = {"permission", "pattern", "action", "reason", "source"}


def configured(world: World, text: str = TABLE) -> World:
    world.config.write_text(text, encoding="utf-8")
    return world


def put(world: World, name: str, content: str) -> Path:
    path = world.root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, encoding="utf-8")
    return path


def explained(world: World, *arguments: str) -> tuple[str, str, str | None]:
    row = world.ok("rules", "explain", *arguments)
    parts = [(part["verdict"], part["layer"]) for part in row["parts"]]
    assert (row["verdict"], row["layer"]) in parts
    return row["verdict"], row["layer"], row["rule"]


def remember(world: World, identity: str, *patterns: PermissionPattern) -> Grant:
    """Remembers a yes as the engine does after a question."""
    here = AppPaths(world.state / "assent", world.config.parent)
    engine, _ = open_engine_at(str(world.root), here)
    grant = Grant(identity, "project", "s", "build", "ask", patterns, "2026-01-01T00:00:00Z")
    engine.grants.give(grant)
    engine.close()
    return grant


def test_f70_rules_are_listed_by_layer_with_source_and_reason(world: World) -> None:
    configured(world)
    put(world, "opencode.json", '{"permission": {"bash": "allow"}} // ours')
    row = world.ok("rules", "list")
    assert row.keys() == {"layers", "grants"}
    [user, project] = row["layers"]
    assert (user["layer"], user["trusted"]) == ("user", True)
    assert (project["layer"], project["trusted"]) == ("project", False)
    assert user["rules"][-1] == {
        "permission": "edit",
        "pattern": "*.lock",
        "action": "deny",
        "reason": "Lock files are made by tools.",
        "source": str(world.config),
    }
    assert {*project["rules"][0]} == FIELDS
    text = world.run("rules", "list").out.decode()
    for words in (
        "edit: *.lock = deny",
        "Lock files are made by tools.",
        "untrusted",
        "Remembered answers\n  None.",
    ):
        assert words in text


def test_without_rules_the_list_says_so(world: World) -> None:
    assert world.ok("rules", "list") == {"layers": [], "grants": []}
    assert b"only the mode decides" in world.run("rules", "list").out


def test_f10_an_agents_own_rules_are_listed_on_demand(world: World) -> None:
    put(world, ".opencode/agents/poet.md", "---\npermission: {edit: deny}\n---\nRhyme.\n")
    [layer] = world.ok("rules", "list", "--agent", "poet")["layers"]
    assert (layer["layer"], layer["rules"][0]["source"]) == ("agent", "the agent poet")
    assert world.no(2, "rules", "list", "--agent", "nobody")["error"] == "usage"


CALLS = [
    (("edit", "src/a.py", "--mode", "ask"), ("run", "user", "edit: * = allow")),
    (("edit", "src/a.py"), ("stage", "mode", None)),
    (("edit", "uv.lock", "--mode", "yolo"), ("deny", "user", "edit: *.lock = deny")),
    (("bash", "git push origin", "--mode", "ask"), ("deny", "user", "bash: git push * = deny")),
    (("shell", "make", "--mode", "auto-edit"), ("ask", "user", "bash: * = ask")),
    (("--tool", "write", "uv.lock", "--mode", "ask"), ("deny", "user", "edit: *.lock = deny")),
    (("--tool", "grep", ".env"), ("run", "mode", None)),  # that is a text to look for
    (("--tool", "read", ".env"), ("ask", "defaults", None)),
    (("webfetch", "https://example.org", "--mode", "ask"), ("ask", "mode", None)),
    (("mcp_tracker_close", "close", "--mode", "ask"), ("ask", "mode", None)),
]


@pytest.mark.parametrize(("arguments", "wanted"), CALLS, ids=lambda each: " ".join(map(str, each)))
def test_explain_names_verdict_layer_and_rule_of_any_call(
    world: World, arguments: tuple[str, ...], wanted: tuple[str, str, str | None]
) -> None:
    assert explained(configured(world), *arguments) == wanted


def test_explain_shows_every_part_of_a_line_and_every_layers_opinion(world: World) -> None:
    configured(world)
    put(world, "opencode.json", '{"permission": {"bash": "allow"}}')
    line = "make && git push"
    row = world.ok("rules", "explain", "bash", line, "--mode", "ask")
    assert (row["verdict"], row["agent"], row["mode"]) == ("deny", "build", "ask")
    assert [(part["resource"], part["verdict"]) for part in row["parts"]] == [
        ("make", "ask"),
        ("git push", "deny"),
    ]
    said = row["parts"][1]["opinions"]
    assert [(one["layer"], one["counts"]) for one in said] == [("user", True), ("project", False)]
    text = world.run("rules", "explain", "bash", line, "--mode", "ask").out.decode()
    asked = "As agent build in ask mode, tool shell."
    for words in (
        "deny: ",
        asked,
        "decided by user, bash: git push * = deny",
        "(ignored: untrusted)",
    ):
        assert words in text


@pytest.mark.parametrize("words", [("edit",), ("edit", "a", "b"), ("--tool", "edit", "a", "b")])
def test_explain_wants_a_permission_and_a_resource(world: World, words: tuple[str, ...]) -> None:
    assert world.no(2, "rules", "explain", *words)["error"] == "usage"
    assert world.no(2, "rules", "explain", "--tool", "fly", "a")["error"] == "usage"


def test_examples_of_rules_are_tested_and_a_failure_is_exit_1(world: World, tmp_path: Path) -> None:
    configured(world)
    assert world.ok("rules", "test") == {"rules": 4, "examples": 2, "failed": []}
    broken = tmp_path / "team.toml"
    broken.write_text(TABLE.replace('"lock.py"', '"a.lock"'), encoding="utf-8")
    answer = world.run("rules", "test", str(broken), "--json")
    assert (answer.code, json.loads(answer.out)["failed"]) == (
        1,
        [
            {
                "rule": "edit: *.lock = deny",
                "source": str(broken),
                "why": failed_examples(LOCKED, "")[0],
            }
        ],
    )
    text = world.run("rules", "test", str(broken)).out.decode()
    assert failed_examples(LOCKED, "")[0] in text
    assert "1 of 2 examples pass, in 4 rules." in text
    assert world.no(2, "rules", "test", "missing.toml")["error"] == "usage"


def test_rules_that_fail_their_examples_can_be_tested_and_count_nowhere_else(world: World) -> None:
    configured(world, TABLE.replace('"lock.py"', '"a.lock"'))
    assert world.run("rules", "test", "--json").code == 1
    error = world.no(2, "rules", "list")
    assert "line 8: rules[0] (`edit: *.lock = deny`) fails: " in error["message"]


def test_f83_answers_are_listed_and_revoked_at_once(world: World) -> None:
    grant = remember(world, "01grant", PermissionPattern("bash", "make *"))
    row = world.ok("rules", "list")
    assert [one["id"] for one in row["grants"]] == [grant.id]
    assert explained(world, "bash", "make test", "--mode", "ask") == ("run", "grant", "01grant")
    assert "bash: make *" in world.run("rules", "list").out.decode()
    assert world.ok("rules", "revoke", "01g")["revoked"][0]["id"] == grant.id
    assert explained(world, "bash", "make test", "--mode", "ask") == ("ask", "mode", None)
    assert world.no(1, "rules", "revoke", "01g")["error"] == "not_found"


def test_f83_all_answers_are_revoked_together(world: World) -> None:
    for identity in ("01a", "01b"):
        remember(world, identity, PermissionPattern("edit", "a", exact=True))
    assert world.no(2, "rules", "revoke")["error"] == "usage"
    assert world.no(2, "rules", "revoke", "01a", "--all")["error"] == "usage"
    assert [one["id"] for one in world.ok("rules", "revoke", "--all")["revoked"]] == ["01a", "01b"]
    assert world.ok("rules", "list")["grants"] == []


def test_f72_a_denial_of_the_user_outlives_trust_and_answers(world: World) -> None:
    configured(world)
    remember(world, "01grant", PermissionPattern("bash", "git push *"))
    assert explained(world, "bash", "git push", "--mode", "ask")[0] == "deny"
