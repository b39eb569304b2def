"""`assent config`, and what a configuration that cannot be used says."""

import re
import signal
import sys
import tomllib
from shutil import which

import pytest
from tests.cli.harness import World
from tests.cli.terminal import Terminal

COMMENTED = "# mine\n\nmodel = 'openai/x' # why\n\n# plans\n[plan]\nexport = 'PLAN.md'\n"
# Ends itself at the moment when the new file is complete and the old one still there.
KILLED = """
import os, signal
os.replace = lambda *names: os.kill(os.getpid(), signal.SIGKILL)
from assent.cli import main
main()
"""


def text(world: World) -> str:
    return world.config.read_text("utf-8")


def values(world: World, *words: str) -> dict[str, tuple[object, str]]:
    rows = world.ok("config", *words)["settings"]
    return {row["key"]: (row["value"], row["source"]) for row in rows}


def test_a_setting_is_set_and_every_comment_stays(world: World) -> None:
    world.config.write_text(COMMENTED, encoding="utf-8")
    world.ok("config", "set", "mode", "ask")
    world.ok("config", "set", "plan.export", "NEXT.md")
    world.ok("config", "set", "budget.dollars", "2.5")
    world.ok("config", "set", "verify.commands", '["make test"]')
    assert tomllib.loads(text(world)) == {
        "model": "openai/x",
        "mode": "ask",
        "plan": {"export": "NEXT.md"},
        "budget": {"dollars": 2.5},
        "verify": {"commands": ["make test"]},
    }
    for line in ("# mine", "model = 'openai/x' # why", "# plans"):
        assert line in text(world).splitlines()
    assert values(world, "get", "mode") == {"mode": ("ask", "user")}
    world.ok("config", "unset", "mode")
    assert values(world, "get", "mode") == {"mode": ("plan", "default")}


def test_the_list_says_which_file_a_value_is_from(world: World) -> None:
    world.config.write_text(COMMENTED, encoding="utf-8")
    world.put(".opencode/assent.toml", b"[plan]\nexport = 'OURS.md'\n")
    assert values(world, "list") == {
        "model": ("openai/x", "user"),
        "plan.export": ("OURS.md", "project"),
    }
    everything = values(world, "list", "--all")
    assert everything["mode"] == ("plan", "default")
    assert everything["undo.files"] == (100_000, "default")


WRONG = {
    "an unknown key": ("plan.stagging", "true", "plan.staging"),
    "an unknown table": ("plam.staging", "true", "plan"),
    "a wrong type": ("plan.staging", "maybe", "true or false"),
    "a wrong word": ("mode", "nope", "auto-edit"),
    "a wrong preset": ("preset", "wild", "one of dev, full, safe"),
    "a number that is too small": ("scratch.max_mb", "0", "at least 1"),
    "a negative limit": ("budget.dollars", "-5", "at least 0"),
    "no time at all": ("shell.timeout_s", "0", "greater than 0"),
    "endless time": ("shell.timeout_s", "inf", "at most 1,000,000,000"),
    "no number": ("notify.after_s", "nan", "at least 0"),
    "more days than there are": ("undo.keep_days", "999999999", "at most 36,500"),
    "a rule without an action": ("rules", '[{permission = "bash"}]', "action"),
    "a mode without a base": ("modes.own.label", "Own", "base"),
    "no key at all": ("..", "x", "plan.export"),
}


@pytest.mark.parametrize("why", WRONG)
def test_what_is_not_valid_is_not_written_and_says_what_is(world: World, why: str) -> None:
    world.config.write_text(COMMENTED, encoding="utf-8")
    key, value, named = WRONG[why]
    error = world.no(2, "config", "set", key, value)
    assert named in error["message"]
    assert text(world) == COMMENTED


BROKEN = {
    "an unknown key": ("\n[plan]\nstagging = true\n", "line 3: plan.stagging", "plan.staging"),
    "an unknown table": ("[plam]\nstaging = true\n", "line 1: plam", "plan"),
    "a wrong type": ("[plan]\n\nstaging = 'x'\n", "line 3: plan.staging", "true or false"),
    "a wrong value": ("mode = 'nope'\n", "line 1: mode", "ask, auto-edit, plan, yolo"),
    "of a list": (
        "[[rules]]\npermission = 'x'\naction = 'no'\n",
        "line 3: rules[0].action",
        "deny",
    ),
    "of a named table": ("[mcp.one]\ncommand = 'x'\n", "line 2: mcp.one.command", "a list"),
    "something missing": ("[mcp.one]\ntimeout_s = 3\n", "line 1: mcp.one", "command"),
    "no TOML": ("mode = \n", "line 1: mode", "Invalid value"),
    "no quotes": ("\nmode = ask\n", "line 2: mode: Invalid value", "a text needs quotes"),
    "twice": ("mode = 'ask'\nmode = 'plan'\n", "line 2: mode", "overwrite"),
    "a negative number": ("[budget]\ndollars = -5\n", "line 2: budget.dollars", "at least 0"),
}


NEAR = {
    "a mode": ("mode = 'pln'\n", "line 1: mode must be one of", "did you mean plan?"),
    "a way": ("\n[notify]\nway = 'belll'\n", "line 3: notify.way must", "did you mean bell?"),
    "a preset": ("preset = 'sfe'\n", "line 1: preset must", "did you mean safe?"),
    "a wire": ("[providers.x]\nwire = 'chta'\n", "line 2: providers.x.wire", "did you mean chat?"),
    "an event": (
        "[[hooks]]\non = 'promt'\nrun = ['x']\n",
        "line 2: hooks[0].on",
        "did you mean prompt?",
    ),
    "an action": (
        "[permission]\nedit = 'alow'\n",
        "line 2: permission.edit must be one of allow, ask, deny or a table",
        "(did you mean allow?). ",
    ),
    "an action of a pattern": (
        "[permission.bash]\n'*' = 'ask'\n'git *' = 'dney'\n",
        'line 3: permission.bash."git *" must be one of allow, ask, deny',
        "(did you mean deny?). ",
    ),
    "an action of everything": (
        "\npermission = 'aks'\n",
        "line 2: permission must be one of allow, ask, deny or a table",
        "(did you mean ask?). ",
    ),
    "an address": (
        "[serve]\npublic_url = 'https://a.example/path'\n",
        "line 2: serve.public_url",
        "an address such as https://assent.example, without a path",
    ),
}


@pytest.mark.parametrize("why", NEAR)
def test_a_wrong_value_is_told_with_the_nearest_valid_one(world: World, why: str) -> None:
    content, where, near = NEAR[why]
    world.config.write_text(content, encoding="utf-8")
    for command in (("rules", "list"), ("status",), ("config", "list")):
        message = world.no(2, *command)["message"]
        for part in (str(world.config), where, near):
            assert part in message


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("model", "antropic/foo", "Did you mean anthropic/foo?"),
        ("model", "xyzzy/foo", "Known: anthropic, openai"),
        ("model", "nonsense", "nonsense is not a known model. Use PROVIDER/MODEL with one of"),
        ("model", "anthropic/", "anthropic/ is not a known model."),
        ("model", "gpt5", "Did you mean gpt-5?"),
        ("plan.critic", "opnai/o3", "Did you mean openai/o3?"),
        ("plan.critic", "nonsense", "nonsense is not a known model."),
        ("serve.public_url", "assent.example", "an address such as https://assent.example"),
        ("serve.public_url", "https://a.example:70000", "an address such as"),
        ("mode", "pln", "did you mean plan?"),
        ("permission.edit", "alow", "permission.edit must be one of allow, ask, deny or a table"),
        ("permission.edit", "alow", "(did you mean allow?). "),
        ('permission.bash."git *"', "maybe", 'permission.bash."git *" must be one of allow'),
    ],
)
def test_a_value_that_nothing_could_use_is_not_stored(
    world: World, key: str, value: str, told: str
) -> None:
    before = text(world)
    error = world.no(2, "config", "set", key, value)
    assert told in error["message"]
    assert text(world) == before


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("model", "mine/any"),
        ("model", "scripted:a/b.json"),
        ("model", "gpt-5"),
        ("model", "anthropic"),
        ("model", "mine"),
        ("model", "meta/large"),
        ("serve.public_url", "https://assent.example:8443/"),
        ("serve.public_url", "http://[::1]:80"),
        ("serve.public_url", ""),
    ],
)
def test_what_settings_add_can_be_chosen(world: World, key: str, value: str) -> None:
    added = "[providers.mine]\nbase_url = 'http://127.0.0.1:9/v1'\n"
    world.config.write_text(f"{added}[models.'openrouter/meta/large']\n", encoding="utf-8")
    assert world.ok("config", "set", key, value)["value"] == value


def test_a_model_that_is_refused_says_what_using_it_would(world: World) -> None:
    refused = world.no(2, "config", "set", "model", "nonsense")
    used = world.no(2, "-p", "--model", "nonsense", "Hello", "--json")
    assert refused["message"] == f"{used['message']} Nothing was changed."
    assert refused["next"] == used["next"]


def test_a_model_of_no_provider_is_told_with_file_line_and_key(world: World) -> None:
    world.config.write_text("# mine\nmodel = 'antropic/foo'\n", encoding="utf-8")
    told = world.run("config", "list").err.decode()
    assert f"{world.config}: line 2: model is 'antropic/foo'" in told
    assert "Did you mean anthropic/foo?" in told
    error = world.no(2, "-p", "Hello", "--json")
    assert "Did you mean anthropic/foo?" in error["message"]


def test_a_table_goes_with_its_last_setting(world: World) -> None:
    before, listed = text(world), values(world, "list")
    for key, value in {
        "verify.after_build": "false",
        "providers.my.base_url": "http://h/v1",
    }.items():
        world.ok("config", "set", key, value)
        world.ok("config", "unset", key)
        assert world.no(1, "config", "unset", key)["error"] == "not_found"
        assert (text(world), values(world, "list")) == (before, listed)


def test_a_table_with_comments_stays_and_is_no_setting(world: World) -> None:
    before, listed = text(world), values(world, "list")
    kept = f"{before}\n# how\n[verify]\n# commands = ['make test']\n"
    world.config.write_text(f"{kept}after_build = false\n", encoding="utf-8")
    world.ok("config", "unset", "verify.after_build")
    assert (text(world), values(world, "list")) == (kept, listed)


def test_a_line_that_is_not_toml_is_told_without_its_value(world: World) -> None:
    world.config.write_text("[providers.own.headers]\nkey = sk-secret-of-mine\n", "utf-8")
    message = world.no(2, "plan", "list")["message"]
    assert "line 2: key: " in message
    assert "sk-secret" not in message


def test_a_wrong_setting_can_be_set_right(world: World) -> None:
    world.config.write_text("# mine\nmode = 'nope'\n", encoding="utf-8")
    world.ok("config", "set", "mode", "ask")
    assert text(world) == '# mine\nmode = "ask"\n'


TWO_WRONG = """mode = 'nope'
model = 'openai/x'
[shell]
unconfined = 3
[modes.own]
base = 'plam'
"""


def test_wrong_settings_do_not_block_each_other(world: World) -> None:
    world.config.write_text(TWO_WRONG, encoding="utf-8")
    steps = {
        ("set", "model", "openai/y"): ("line 1: mode ", "line 4: shell.unconfined", "modes.own.b"),
        ("set", "mode", "ask"): ("line 4: shell.unconfined must be true or false", "modes.own.b"),
        ("set", "modes.own.base", "plan"): ("line 4: shell.unconfined",),
        ("unset", "shell.unconfined"): (),
    }
    for words, left in steps.items():
        answer = world.run("config", *words)
        told = answer.err.decode().splitlines()
        assert (answer.code, len(told)) == (0, len(left)), answer
        for line, part in zip(told, left, strict=True):
            assert f"{world.config} still has an error: " in line
            assert part in line
    assert tomllib.loads(text(world)) == {
        "mode": "ask",
        "model": "openai/y",
        "modes": {"own": {"base": "plan"}},
    }


def test_a_typo_in_what_is_unset_names_what_the_file_sets(world: World) -> None:
    world.config.write_text("[budget]\ndollars = 2.0\n", encoding="utf-8")
    answer = world.no(1, "config", "unset", "budget.dolars")
    assert (answer["error"], "Did you mean budget.dollars?" in answer["message"]) == (
        "not_found",
        True,
    )


def test_a_typo_in_what_is_unset_names_a_setting_that_the_file_lacks_too(world: World) -> None:
    def told(key: str) -> str:
        return str(world.no(1, "config", "unset", key)["message"])

    assert told("modle").endswith("Nothing was changed. Did you mean model?")
    assert told("budgte.dollars").endswith("Did you mean budget.dollars?")
    assert told("plan.critic").endswith("Nothing was changed.")
    assert told("xyzzy").endswith("Nothing was changed.")


def test_the_default_model_is_found_from_a_wrong_key_for_it(world: World) -> None:
    assert "Did you mean mode or model?" in world.no(1, "config", "get", "modl")["message"]
    for key in ("models.default", "models"):
        error = world.no(2, "config", "set", key, "anthropic/foo")
        assert error["message"].startswith(f"{key} must be a table. Nothing was changed. ")
        assert error["next"] == "assent config set model PROVIDER/MODEL"


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("vim = true", "line 1: vim is not a setting (did you mean tui.vim?)"),
        ("theme = 'dark'", "line 1: theme is not a setting; /theme on the screen chooses"),
        ("[tui]\ntheme = 'dark'", "line 2: tui.theme is not a setting; /theme on the screen"),
        ("[plam]\nexport = 'x'", "plam is not a setting (did you mean plan?)"),
        (
            "[plan]\nexprot = 'x'",
            "line 2: plan.exprot is not a setting (did you mean plan.export?)",
        ),
    ],
)
def test_an_unknown_key_is_told_with_the_nearest_one(world: World, content: str, told: str) -> None:
    world.config.write_text(f"{content}\n", encoding="utf-8")
    message = world.no(2, "plan", "list")["message"]
    assert told in message
    assert "valid here" not in message


def test_where_nothing_is_like_an_unknown_key_a_few_are_listed(world: World) -> None:
    world.config.write_text("xyzzy = 1\n", encoding="utf-8")
    message = world.no(2, "plan", "list")["message"]
    assert "line 1: xyzzy is not a setting; valid here: answer, " in message
    assert " more. Nothing was changed." in message
    assert len(message) < 400


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("set", "mode", "nope"), "mode must be one of"),
        (("set", "plan.staging", "3"), "plan.staging must be true or false"),
        (("set", "model", "antropic/foo"), "Did you mean anthropic/foo?"),
        (("set", "plam.staging", "true"), "plam is not a setting (did you mean plan?)"),
        (("unset", "mcp.one.command"), "mcp.one lacks command"),
    ],
)
def test_a_wrong_setting_lets_nothing_worse_in(
    world: World, words: tuple[str, ...], why: str
) -> None:
    wrong = "mode = 'nope'\nplam = {}\n[mcp.one]\ncommand = ['x']\ntimeout_s = 1\n"
    world.config.write_text(wrong, encoding="utf-8")
    assert why in world.no(2, "config", *words)["message"]
    assert text(world) == wrong


def test_a_rule_without_effect_is_told_with_its_line_when_it_is_set(world: World) -> None:
    line = text(world).count("\n") + 3
    told = world.run("config", "set", "permission.edti", "deny").err.decode()
    assert f"{world.config}: line {line} has a rule for 'edti'" in told
    assert "Did you mean edit?" in told
    assert world.run("config", "set", "permission.edit", "deny").err == b""


# A project's file: servers are unread until it is trusted, and what it may never set always is.
UNREAD = {"of a named table", "something missing", "a negative number"}


@pytest.mark.parametrize(
    ("why", "project"),
    [*((why, False) for why in BROKEN), *((why, True) for why in BROKEN if why not in UNREAD)],
)
def test_an_unusable_file_is_named_with_line_key_and_what_would_be_right(
    world: World, why: str, project: bool
) -> None:
    content, where, right = BROKEN[why]
    path = world.config
    if project:
        path = world.root / ".opencode" / "assent.toml"
        path.parent.mkdir()
    path.write_text(content, encoding="utf-8")
    error = world.no(2, "plan", "list")
    for part in (str(path), where, right):
        assert part in error["message"]
    assert error["next"] == f"$EDITOR {path}"


def test_the_system_file_is_explained_the_same_way(world: World) -> None:
    world.config.with_name("keys.toml").write_text("revokt = []\n", encoding="utf-8")
    error = world.no(2, "keys", "list")
    assert "line 1: revokt is not a setting (did you mean revoked?)" in error["message"]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("budget.dollars", "1"),
        ("plan.critic", "a/b"),
        ("shell.unconfined", "true"),
        ("verify.after_build", "false"),
        ("verify", "{ after_build = false }"),
        ("plan.commit", "true"),
    ],
)
def test_a_projects_file_gets_only_what_a_project_may_set(
    world: World, key: str, value: str
) -> None:
    error = world.no(7, "config", "set", "--project", key, value)
    assert error["error"] == "refused"
    assert error["next"].startswith(f"assent config set {key}")
    assert not (world.root / ".opencode" / "assent.toml").exists()


def test_what_a_project_may_turn_off_is_set_to_off_alone(world: World) -> None:
    world.ok("config", "set", "--project", "plan.commit", "false")
    assert world.no(7, "config", "set", "--project", "plan.commit", "true")["error"] == "refused"


def test_what_a_project_says_in_vain_is_shown_as_such(world: World) -> None:
    world.put(
        ".opencode/assent.toml",
        b"[plan]\nexport = 'P.md'\n[verify]\nafter_build = false\n[budget]\nsteps = 3\n"
        b"[retry]\ntries = 2\n",
    )
    world.config.write_text("[budget]\nsteps = 3\n", encoding="utf-8")
    assert values(world, "list") == {
        "budget.steps": (3, "user"),
        "plan.export": ("P.md", "project"),
    }
    assert values(world, "get", "verify.after_build") == {"verify.after_build": (True, "default")}
    for key, why in {
        "verify.after_build": b"only your own configuration may set it",
        "budget.steps": b"only your own configuration may set it",
        "retry": b"you do not trust the file",
    }.items():
        told = world.run("config", "get", key).err
        assert b"which does not count: " + why in told
    assert not world.run("config", "get", "plan").err
    world.ok("config", "set", "--project", "plan.export", "Q.md")  # what was there stays


def test_the_projects_file_is_changed_with_project(world: World) -> None:
    before = text(world)
    world.ok("config", "set", "--project", "plan.export", "PLAN.md")
    file = world.root / ".opencode" / "assent.toml"
    assert tomllib.loads(file.read_text("utf-8")) == {"plan": {"export": "PLAN.md"}}
    assert text(world) == before
    warned = world.run("config", "set", "--project", "retry.tries", "2")
    assert b"assent trust give" in warned.err


def test_a_write_that_is_killed_leaves_the_old_file(world: World) -> None:
    world.config.write_text(COMMENTED, encoding="utf-8")
    line = [sys.executable, "-c", KILLED, "config", "set", "mode", "ask"]
    assert world.start(line).code == -signal.SIGKILL
    assert text(world) == COMMENTED
    world.ok("config", "set", "mode", "ask")
    assert tomllib.loads(text(world))["mode"] == "ask"


def test_a_folder_that_cannot_be_written_is_named(world: World) -> None:
    world.config.parent.chmod(0o555)
    answer = world.unprivileged("config", "set", "mode", "ask", "--json")
    world.config.parent.chmod(0o755)
    assert answer.error["error"] == "store"
    assert str(world.config.parent) in answer.error["next"]


def test_a_linked_file_keeps_its_place_and_its_mode(world: World) -> None:
    real = world.base / "dotfiles.toml"
    world.config.replace(real)
    world.config.symlink_to(real)
    real.chmod(0o640)
    world.ok("config", "set", "mode", "ask")
    assert world.config.is_symlink()
    assert tomllib.loads(real.read_text("utf-8"))["mode"] == "ask"
    assert real.stat().st_mode & 0o777 == 0o640


def test_values_of_keys_are_masked(world: World) -> None:
    header = '{ Authorization = "Bearer abcdefghijklmnop" }'
    world.ok("config", "set", "providers.own.base_url", "http://127.0.0.1:9/v1")
    world.ok("config", "set", "providers.own.headers", header)
    for form in ((), ("--json",)):
        answer = world.run("config", "list", *form)
        assert answer.code == 0
        assert b"abcdefghijklmnop" not in answer.out


def editing(world: World, script: str) -> Terminal:
    """Runs `config edit` with an editor that is a program."""
    editor = world.base / "editor"
    editor.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    editor.chmod(0o755)
    env = {"EDITOR": str(editor), "VISUAL": str(editor)}
    return Terminal(world, "config", "edit", shared=("stdin", "stdout", "stderr"), env=env)


def test_an_edited_file_is_saved_if_it_is_valid(world: World) -> None:
    world.config.write_text("# mine\n", encoding="utf-8")
    seat = editing(world, 'printf \'mode = "ask"\\n\' >> "$1"; touch -d tomorrow "$1"')
    assert seat.end().code == 0
    assert text(world).endswith('mode = "ask"\n')


def test_an_edited_file_that_is_not_valid_is_asked_about_and_not_saved(world: World) -> None:
    before = text(world)
    seat = editing(world, 'printf \'mode = 3\\n\' > "$1"; touch -d tomorrow "$1"')
    seat.wait_for(b"Edit again? ")
    assert b"line 1: mode must be one of" in seat.screen
    seat.type(b"n\r")
    assert seat.end().code == 4
    assert text(world) == before


def test_an_editor_that_cannot_be_started_or_fails_is_named(world: World) -> None:
    before = text(world)
    for editor, why in {"/nonexistent/ed": "could not be started", "false": "failed"}.items():
        env = {"EDITOR": editor, "VISUAL": editor}
        seat = Terminal(world, "config", "edit", shared=("stdin", "stdout"), env=env)
        answer = seat.end()
        assert answer.code == 2
        assert f"The editor '{editor}' {why}. Nothing was changed.".encode() in answer.err
        assert b"Traceback" not in answer.err
    assert text(world) == before


def test_servers_of_tools_are_added_and_removed(world: World) -> None:
    before = text(world)
    world.ok("mcp", "add", "files", "--env", "A=b", "--timeout", "5", "--", "npx", "files", "-y")
    assert tomllib.loads(text(world))["mcp"]["files"] == {
        "command": ["npx", "files", "-y"],
        "environment": {"A": "b"},
        "timeout_s": 5.0,
    }
    assert world.no(2, "mcp", "add", "files", "--", "x")["error"] == "usage"
    world.ok("mcp", "remove", "files")
    assert tomllib.loads(text(world)) == tomllib.loads(before)
    assert world.no(1, "mcp", "remove", "files")["error"] == "not_found"


def test_agents_are_listed_and_shown(world: World) -> None:
    folder = world.config.parent / "agents"
    folder.mkdir()
    (folder / "own.md").write_text("---\ndescription: Mine\n---\nBe brief.\n", encoding="utf-8")
    rows = {row["name"]: row for row in world.ok("agents", "list")["agents"]}
    assert rows["own"]["source"] == "user"
    assert rows["plan"]["source"] == "builtin"
    assert world.ok("agents", "show", "own")["prompt"].strip() == "Be brief."
    assert world.no(1, "agents", "show", "owm")["error"] == "not_found"


def test_help_shows_topics_documents_and_commands(world: World) -> None:
    topics = {row["topic"] for row in world.ok("help")["topics"]}
    wanted = {"configuration", "models", "errors", "security", "sandbox", "install", "permissions"}
    assert wanted <= topics
    assert world.run("help", "permissions").out == world.run("help", "rules").out
    text = world.run("help", "topics").out.decode()
    assert all(re.search(rf"^  {re.escape(topic)} +\S", text, re.MULTILINE) for topic in topics)
    about = [row["about"] for row in world.ok("help")["topics"]]
    assert not [text for text in about if "](" in text or text.endswith(":")]
    for topic in sorted(topics):
        assert world.ok("help", topic)["text"].strip()
    shown = world.run("help", "configuration").out.decode()
    assert "Unknown keys are errors" in shown
    assert "<!--" not in shown
    assert world.run("help", "approve").out == world.run("approve", "--help").out
    error = world.no(1, "help", "configration")
    assert error["next"] == "assent help configuration"


def completed(world: World, *words: str) -> set[str]:
    """Completes the last word with the script, in a real bash."""
    script = world.process("completion", "bash").out.decode()
    line = " ".join(f"'{word}'" for word in words)
    ask = (
        f"{script}\nCOMP_WORDS=({line})\nCOMP_CWORD={len(words) - 1}\n_assent\n"
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    answer = world.start(["bash", "-c", ask])
    assert answer.code == 0, answer
    return set(answer.out.decode().split())


def test_bash_completes_commands_options_and_values(world: World) -> None:
    assert completed(world, "assent", "conf") == {"config"}
    assert completed(world, "assent", "config", "") >= {"get", "set", "list", "edit", "unset"}
    assert completed(world, "assent", "config", "set", "--pro") == {"--project"}
    assert completed(world, "assent", "--mod") == {"--mode", "--model"}
    assert completed(world, "assent", "-C", "/tmp", "plan", "sh") == {"show"}
    assert completed(world, "assent", "--mode", "a") == {"ask", "auto-edit"}
    assert completed(world, "assent", "serve", "token", "--role", "a") == {"author", "approver"}
    assert completed(world, "assent", "completion", "z") == {"zsh"}
    assert completed(world, "assent", "help", "confi") == {"config", "configuration"}
    assert completed(world, "assent", "config", "set", "mod") == {"mode", "model"}
    assert completed(world, "assent", "login", "an") == {"anthropic"}


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_have_every_command(world: World, shell: str) -> None:
    script = world.ok("completion", shell)["script"]
    for name in ("approve", "config", "--json"):
        assert name.removeprefix("--") in script


@pytest.mark.skipif(which("fish") is None, reason="fish is not installed")
def test_fish_completes_commands_options_and_values(world: World) -> None:
    script = world.base / "assent.fish"
    script.write_bytes(world.process("completion", "fish").out)
    lines = {
        "assent conf": {"config"},
        "assent config se": {"set"},
        "assent config set --pro": {"--project"},
        "assent --mod": {"--mode", "--model"},
        "assent --mode a": {"ask", "auto-edit"},
        "assent plan sh": {"show"},
        "assent -C /tmp plan sh": {"show"},
        "assent -C /tmp statu": {"status"},
        "assent sessions export --format j": {"json"},
        "assent help confi": {"config", "configuration"},
        "assent config get mod": {"mode", "model"},
    }
    for line, wanted in lines.items():
        ask = f"source {script}; complete -C '{line}'"
        answer = world.start(["fish", "--no-config", "-c", ask])
        assert answer.code == 0, answer
        assert {row.split("\t")[0] for row in answer.out.decode().splitlines()} == wanted


@pytest.mark.skipif(which("zsh") is None, reason="zsh is not installed")
def test_zsh_takes_the_script_and_completes_with_it(world: World) -> None:
    script = world.base / "_assent"
    script.write_bytes(world.process("completion", "zsh").out)
    keys = (
        "zmodload zsh/zpty; zpty shell zsh -fi; zpty -w shell 'PS1=; autoload -U compinit; "
        f"compinit -D -u; source {script}; print rea\"\"dy'; zpty -r -m shell seen '*ready*'; "
        "zpty -w -n shell $'assent confi\\t'; zpty -r -m shell line '*confi*g*'; "
        "print -r -- done; zpty -d shell"
    )
    answer = world.start(["timeout", "20", "zsh", "-fc", keys])
    assert answer.out.endswith(b"done\n"), answer


@pytest.mark.skipif(which("zsh") is None, reason="zsh is not installed")
def test_zsh_completes_the_first_time_where_the_script_is_a_file_of_fpath(world: World) -> None:
    folder = world.base / "functions"
    folder.mkdir()
    (folder / "_assent").write_bytes(world.process("completion", "zsh").out)
    keys = (
        "zmodload zsh/zpty; zpty shell zsh -fi; zpty -w shell 'PS1=; "
        f"fpath=({folder} $fpath); autoload -U compinit; "
        'compinit -D -u; print rea""dy\'; zpty -r -m shell seen "*ready*"; '
        "zpty -w -n shell $'assent help configura\\t'; zpty -r -m shell line '*configuration*'; "
        "print -r -- done; zpty -d shell"
    )
    answer = world.start(["timeout", "60", "zsh", "-fc", keys])
    assert answer.out.endswith(b"done\n"), answer


def test_an_unknown_option_gets_the_nearest(world: World) -> None:
    answer = world.run("--modle", "x")
    assert answer.code == 2
    assert b"--model" in answer.err or b"--mode" in answer.err


def test_new_users_mistakes_get_the_command_that_helps(world: World) -> None:
    refused = world.no(2, "mcp", "add", "bad name", "echo")
    assert refused["next"] == "assent mcp add --help"
    assert world.no(1, "mcp", "remove", "nothing")["next"] == "assent mcp list"
    assert world.no(1, "agents", "show", "bild")["next"] == "assent agents show build"
    added = world.run("mcp", "add", "later", "--", "/nonexistent/server")
    assert added.code == 0
    assert b"/nonexistent/server" in added.err
    assert world.run("config", "set", "model", "").out.startswith(b'model = "" in ')
    assert b"Did you mean --model?" in world.run("--modle", "x").err
    assert world.no(2, "mcp", "add", "later", "--", "x")["next"] == "assent mcp remove later"
    assert world.no(2, "version")["next"] == "assent --version"
    nowhere = world.no(2, "status", "-C", "/nonexistent")
    assert nowhere["message"] == "/nonexistent is not a folder."
    assert b"Usage: assent plan new" in world.run("help", "plan", "new").out
    missing = world.run("completion")
    assert missing.code == 2
    assert b"<U+" not in missing.err
