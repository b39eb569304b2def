"""Words in rules that nobody knows are told, and what is remembered is listed with its origin."""

import pytest
from tests.cli.harness import World
from tests.cli.scripts import Talker, turn

from assent.app.composition import open_engine_at
from assent.config.paths import AppPaths
from assent.core.permission.rule import Grant, GrantScope, PermissionPattern

MINE = '[permission]\nbahs = "deny"\nbash = {"make *" = "allow"}\n'


def configured(world: World, text: str) -> World:
    world.config.write_text(text, encoding="utf-8")
    return world


@pytest.mark.parametrize(
    "command",
    [("rules", "list"), ("rules", "explain", "bash", "ls"), ("debug", "tools")],
)
def test_a_misspelt_permission_is_told_once_with_the_nearest_word(
    world: World, command: tuple[str, ...]
) -> None:
    told = configured(world, MINE).run(*command).err.decode()
    words = f"{world.config}: line 2 has a rule for 'bahs', which is not a permission or tool here"
    assert told.count(words) == 1
    assert "Did you mean bash?" in told


def test_every_warning_is_told_once(world: World) -> None:
    configured(world, "")
    world.put(".opencode/assent.toml", b"[approve]\nwithout_terminal = true\n")
    for command in (("rules", "list"), ("rules", "explain", "bash", "ls")):
        told = world.run(*command).err.decode().splitlines()
        assert len(told) == len(set(told)) > 0


def test_a_misspelt_rule_of_an_agent_or_of_opencode_is_told(world: World) -> None:
    world.put(".opencode/agents/poet.md", b"---\npermission: {edti: deny}\n---\nRhyme.\n")
    world.put("opencode.json", b'{"permission": {"webftch": "deny"}}')
    told = world.run("rules", "list").err.decode()
    assert "the agent poet has a rule for 'edti'" in told
    assert "opencode.json has a rule for 'webftch'" in told


KNOWN = ["bash", "shell", "todowrite", "todoread", "skill", "lsp", "grep", "codesearch",
         "plan_exit", "multiedit", "read_file", "external_directory", "ba*", "mcp_*"]  # fmt: skip


@pytest.mark.parametrize("word", KNOWN)
def test_words_of_ours_of_opencode_and_wildcards_are_known(world: World, word: str) -> None:
    configured(world, f'[permission]\n"{word}" = "ask"\n')
    assert world.run("rules", "list").err == b""


@pytest.mark.parametrize(
    ("more", "told"),
    [("", True), ('[mcp.jira]\ncommand = ["x"]\n', False), ('[mcp.git]\ncommand = ["x"]\n', True),
     ('[plugins]\nenabled = ["jira"]\n', False)],
)  # fmt: skip
def test_what_could_be_a_servers_or_plugins_tool_is_not_told(
    world: World, more: str, told: bool
) -> None:
    configured(world, f'{more}[permission]\njira_close = "deny"\n')
    assert (b"jira_close" in world.run("rules", "list").err) is told


@pytest.mark.parametrize("rule", ["bahs:*", "nonsense"])
@pytest.mark.parametrize("option", ["--allow", "--ask", "--deny"])
def test_a_misspelt_rule_on_the_command_line_is_refused(
    talker: Talker, option: str, rule: str
) -> None:
    talker.script(turn("Done."))
    answer = talker.say("Hi", option, rule)
    assert (answer.code, b"is not a permission or tool here" in answer.err) == (2, True)
    assert talker.say("Hi", option, "bash:make *").code == 0
    assert talker.world.no(2, "rules", "explain", "bash", "ls", option, rule)["error"] == "usage"


def remembered(world: World, *, session: bool) -> tuple[str, str]:
    """Remembers a yes of a session, and returns the session's slug and id."""
    here = AppPaths(world.state / "assent", world.config.parent)
    engine, _ = open_engine_at(str(world.root), here)
    record = engine.sessions.start("Make it", "ask")
    reach: GrantScope = "session" if session else "project"
    make, at = (PermissionPattern("bash", "make *"),), "2026-01-01T00:00:00.000Z"
    engine.grants.give(
        Grant("01g", reach, record.session, "build", "ask", make, at, "01question", user="ada")
    )
    engine.close()
    return record.slug, record.session


@pytest.mark.parametrize("session", [True, False])
def test_f83_an_answer_is_listed_with_age_origin_and_session(world: World, session: bool) -> None:
    slug, identity = remembered(world, session=session)
    [row] = world.ok("rules", "list")["grants"]
    assert (row["slug"], row["session"], row["question"]) == (slug, identity, "01question")
    assert row["age_s"] > 0
    text = world.run("rules", "list").out.decode()
    assert (f"only in session {slug}" in text, "in this project" in text) == (session, not session)
    given = f"ago (2026-01-01T00:00:00.000Z) by ada in session {slug}, to the question 01question"
    assert given in text
    assert "only the mode decides" not in text


def test_f83_what_is_revoked_is_said(world: World) -> None:
    remembered(world, session=False)
    text = world.run("rules", "revoke", "01g").out.decode()
    assert text.startswith("Revoked: 01g  build in ask mode, in this project\n")
    assert "bash: make *" in text
    assert world.run("rules", "revoke", "--all").out == b"Nothing to revoke.\n"


def test_rules_are_listed_with_the_preset_or_file_and_the_reason(world: World) -> None:
    configured(world, 'preset = "dev"\n[permission]\nedit = "ask"\n')
    lines = world.run("rules", "list").out.decode().splitlines()
    [preset] = [line.split("  ") for line in lines if line.startswith("  edit: * = allow")]
    assert [cell.strip() for cell in preset if cell.strip()] == [
        "edit: * = allow",
        "the preset dev",
        "Workspace files may be changed.",
    ]
    [own] = [line.split("  ") for line in lines if line.startswith("  edit: * = ask")]
    assert [cell.strip() for cell in own if cell.strip()] == ["edit: * = ask", str(world.config)]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--agent", "buidl"), "Agent 'buidl' not found. Did you mean build? Available: build, "),
        (("--mode", "plann"), "Mode 'plann' not found. Did you mean plan? Available modes: plan, "),
        (("--model", "antropic/x"), "antropic/x is not a known model. Did you mean anthropic/x?"),
        (("-r", "fix-tehm"), "Session 'fix-tehm' not found. Did you mean fix-them?"),
    ],
)
def test_a_misspelt_name_on_the_command_line_is_an_error_with_the_nearest(
    talker: Talker, options: tuple[str, str], told: str
) -> None:
    talker.script(turn("Done."), turn("Done."))
    assert talker.say("Fix them").code == 0
    before = talker.world.ok("sessions", "list")["sessions"]
    answer = talker.say("More", *options)
    assert (answer.code, answer.err.decode().startswith(f"assent: {told}")) == (
        1 if options[0] == "-r" else 2,
        True,
    )
    assert talker.world.ok("sessions", "list")["sessions"] == before
    error = talker.world.no(1, "sessions", "show", "fix-tehm")
    assert error["message"] == "Session 'fix-tehm' not found. Did you mean fix-them?"


def test_an_agent_that_explains_rules_is_suggested_too(world: World) -> None:
    for command in (("explain", "bash", "ls"), ("list",)):
        error = world.no(2, "rules", *command, "--agent", "exlpore")
        assert error["message"].startswith("Agent 'exlpore' not found. Did you mean explore?")
