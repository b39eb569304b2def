"""`assent rules explain`: it says of any call what a session would make of it, and does nothing."""

from pathlib import Path

import pytest
from tests.app.plugin_package import Site
from tests.cli.harness import World

from assent.app.composition import open_engine_at
from assent.config.paths import AppPaths
from assent.core.permission.rule import Grant, PermissionPattern

CONFIG = """\
[permission.bash]
"git push *" = "deny"

[modes.docs-only]
base = "auto-edit"
edit = ["docs/*", "*.md"]
tools = ["read", "grep", "edit"]
prompt = "You write documentation."
"""
DOCS, ASK = ("--mode", "docs-only"), ("--mode", "ask")


def configured(world: World, text: str = CONFIG) -> World:
    world.config.write_text(text, encoding="utf-8")
    return world


def verdict(world: World, *arguments: str) -> tuple[str, str]:
    """The verdict, and the permission of the part that leads to it."""
    row = world.ok("rules", "explain", *arguments)
    found = [part["permission"] for part in row["parts"] if part["verdict"] == row["verdict"]]
    return row["verdict"], found[0] if found else ""


def reason(world: World, *arguments: str) -> str:
    row = world.ok("rules", "explain", *arguments)
    assert (row["verdict"], row["parts"]) == ("deny", [])
    return str(row["reason"])


CALLS = [
    (("read", "/etc/hostname", *ASK), ("ask", "external_directory")),
    (("read", "a.py"), ("run", "read")),
    (("list", "src"), ("run", "read")),
    (("edit", "docs/a.md", *DOCS), ("run", "edit")),
    (("edit", "src/a.py", *DOCS), ("deny", "edit")),
    (("--tool", "apply_patch", "src/a.py", *ASK), ("ask", "edit")),
    (("--tool", "Bash", "git push", *ASK), ("deny", "bash")),
    (("multiedit", "a.py", "--mode", "auto-edit"), ("run", "edit")),
    (("codesearch", "main", "--deny", "grep:ma*"), ("deny", "search")),
    (("todowrite", "x", "--ask", "todowrite"), ("ask", "todowrite")),
    (("task", "explore"), ("run", "task")),
    (("plan_exit", "plan"), ("run", "plan_exit")),
    (("external_directory", "/etc/*", *ASK), ("ask", "external_directory")),
    (("doom_loop", "read"), ("ask", "doom_loop")),
    (("bash", "make x", *ASK), ("ask", "bash")),
    (("bash", "make x", *ASK, "--allow", "bash:make *"), ("run", "bash")),
    (("bash", "make x", "--mode", "yolo", "--deny", "bash:make *"), ("deny", "bash")),
]


@pytest.mark.parametrize(("arguments", "wanted"), CALLS, ids=lambda each: " ".join(each))
def test_explain_judges_a_call_as_a_session_would(
    world: World, arguments: tuple[str, ...], wanted: tuple[str, str]
) -> None:
    assert verdict(configured(world), *arguments) == wanted


NEVER = [
    (("edit", ".git/config"), "belongs to Git"),
    (("edit", "../x", *ASK), "outside the workspace"),
    (("edit", "/etc/passwd", *ASK), "outside the workspace"),
    (("edit", ".opencode/assent/x", *ASK), "belongs to Assent"),
    (("edit", ".opencode/plans/zz"), "is in the plan folder"),
    (("bash", "ls", *DOCS), "not offered: It is not available in mode docs-only."),
    (("webfetch", "https://example.org"), "not offered: No host is allowed in plan mode"),
    (("plan_exit", "plan", *ASK), "not offered: It works only in plan mode"),
    (("edit", "a.py", "--agent", "explore", *ASK), "not offered: The agent explore"),
    (("websearch", "x"), "Web search is not available."),
    (("--tool", "move", "a -> b", *ASK), "a does not exist."),
]


@pytest.mark.parametrize(("arguments", "wanted"), NEVER, ids=lambda each: " ".join(each))
def test_explain_says_why_a_call_does_not_even_get_to_the_rules(
    world: World, arguments: tuple[str, ...], wanted: str
) -> None:
    assert wanted in reason(configured(world), *arguments)


def test_f97_a_tool_that_a_rule_hides_is_explained_by_the_rule(world: World) -> None:
    configured(world, '[permission]\nbash = "deny"\n')
    row = world.ok("rules", "explain", "bash", "make", *ASK)
    assert (row["verdict"], row["layer"], row["rule"]) == ("deny", "user", "bash: * = deny")
    assert row["reason"].startswith("not offered: ")


@pytest.mark.parametrize(
    ("settings", "layer"), [("", "user"), ("[plan]\nstaging = false\n", "mode")]
)
def test_explain_in_plan_mode_shows_what_rules_say_to_a_command_that_it_does_not_stage(
    world: World, settings: str, layer: str
) -> None:
    configured(world)
    with world.config.open("a", encoding="utf-8") as config:
        config.write(settings)
    [part] = world.ok("rules", "explain", "bash", "git push")["parts"]
    assert (part["verdict"], part["layer"]) == ("deny", layer)
    assert [one["rule"] for one in part["opinions"]] == ["bash: git push * = deny"]
    [other] = world.ok("rules", "explain", "bash", "touch a")["parts"][:1]
    assert other["verdict"] == ("deny" if settings else "stage")


def test_f8_a_projects_narrowing_and_the_seat_are_part_of_the_explanation(world: World) -> None:
    configured(world)
    world.put(".opencode/assent.toml", b'[modes.ask]\nedit = ["src/*"]\n')
    assert verdict(world, "edit", "docs/a.md", *ASK) == ("deny", "edit")
    row = world.ok("rules", "explain", "edit", "docs/a.md", *DOCS)
    assert (row["mode"], row["base"], row["agent"], row["tool"]) == (
        "docs-only",
        "auto-edit",
        "build",
        "edit",
    )
    text = world.run("rules", "explain", "edit", "docs/a.md", *DOCS).out.decode()
    assert "As agent build in docs-only (auto-edit) mode, tool edit." in text
    assert world.no(2, "rules", "explain", "edit", "a", "--mode", "fly")["error"] == "usage"
    assert world.no(2, "rules", "explain", "edit", "a", "--agent", "fly")["error"] == "usage"


def test_f81_an_answer_for_a_session_counts_in_that_session(world: World) -> None:
    here = AppPaths(world.state / "assent", world.config.parent)
    engine, _ = open_engine_at(str(world.root), here)
    record = engine.sessions.start("Make it", "ask")
    make = (PermissionPattern("bash", "make *"),)
    given = Grant("01g", "session", record.session, "build", "ask", make, "2026-01-01T00:00:00Z")
    engine.grants.give(given)
    engine.close()
    made = ("bash", "make test", *ASK)
    assert verdict(world, *made) == ("ask", "bash")
    row = world.ok("rules", "explain", "bash", "make test", "--session", record.slug)
    assert (row["verdict"], row["layer"], row["rule"]) == ("run", "grant", "01g")
    assert (row["session"], row["mode"], row["agent"]) == (record.slug, "ask", "build")
    other = ("rules", "explain", "bash", "make test", "--session", record.slug)
    assert world.ok(*other, "--mode", "auto-edit")["verdict"] == "ask"
    assert world.no(1, "rules", "explain", "bash", "ls", "--session", "x")["error"] == "not_found"


def test_a_servers_tool_is_explained_without_starting_the_server(world: World) -> None:
    started = world.base / "started"
    configured(world, f'[mcp.tracker]\ncommand = ["touch", "{started}"]\n')
    row = world.ok("rules", "explain", "tracker_close", "x", *ASK)
    assert (row["verdict"], row["layer"]) == ("ask", "mode")
    assert row["note"].startswith("Server tracker is not started for this check")
    assert world.ok("rules", "explain", "--tool", "tracker_close", "x")["verdict"] == "deny"
    assert not started.exists()


def test_a_plugins_tool_is_explained_by_its_name(world: World, tmp_path: Path) -> None:
    source = 'SCRIBE = Tool("scribe", Args, nothing, write, Action.READ, text="Writes.")\n'
    configured(world, '[plugins]\nenabled = ["scribe"]\n[permission]\nscribe = "deny"\n')
    site = Site(tmp_path / "site")
    site.install("scribes", source, scribe="SCRIBE")
    with site.on_path():
        text = reason(world, "scribe", "x", *ASK)
        world.config.write_text('[plugins]\nenabled = ["scribe"]\n', encoding="utf-8")
        assert verdict(world, "--tool", "scribe", "x", *ASK) == ("ask", "scribe")
        assert site.ran() == ["import"]
    assert "`scribe: * = deny`" in text


@pytest.mark.parametrize("permission", [b"bash", b"read", b"grep"])
def test_bytes_that_are_no_text_are_explained_as_escapes(world: World, permission: bytes) -> None:
    answer = world.process("rules", "explain", permission, b"\xff\xfe", "--json")
    assert (answer.code, answer.err) == (0, b"")
    assert answer.json["parts"][-1]["resource"] == "\\udcff\\udcfe"
    assert world.process("rules", "explain", permission, b"\xff\xfe").code == 0


def test_what_yolo_mode_runs_although_a_rule_asks_is_said_in_words(world: World) -> None:
    configured(world, '[permission]\nbash = {"npm install *" = "ask"}\n')
    line = ("rules", "explain", "bash", "npm install x", "--mode", "yolo")
    assert world.ok(*line)["verdict"] == "run"
    said = "run, decided by the mode, which answers rule bash: npm install * = ask"
    assert said in world.run(*line).out.decode()


def test_f12_debug_takes_modes_of_ones_own(world: World) -> None:
    configured(world)
    row = world.ok("debug", "tools", *DOCS)
    assert row["mode"] == "docs-only"
    assert {tool["name"] for tool in row["tools"] if tool["offered"]} == {"read", "grep", "edit"}
    prompt = world.ok("debug", "prompt", *DOCS)
    assert any("You write documentation." in layer["text"] for layer in prompt["layers"])
    assert world.no(2, "debug", "tools", "--mode", "fly")["error"] == "usage"


@pytest.mark.parametrize("word", ["read", "list", "glob", "grep", "search"])
def test_the_preset_safe_lets_the_workspace_be_looked_at(world: World, word: str) -> None:
    configured(world, 'preset = "safe"\n')
    assert verdict(world, word, "x")[0] == "run"
