"""Commands of plans are held to the rules of person and project, whoever agreed to them (law 9)."""

from pathlib import Path

import pytest
from tests.cli.harness import TRUSTING, World

from assent.core.permission.command_analysis import SETS_VARIABLES, UNPARSED
from assent.sandbox.runner.bubblewrap import sandbox_unavailable

RULES = """
[permission]
edit = { "f" = "deny", "locked/**" = "deny" }
read = { "priv" = "deny" }
bash = { "npm publish *" = "deny" }
"""
SECRET = b"needle in priv\n"


def fenced(base: Path, rules: str = RULES) -> World:
    lack = sandbox_unavailable()
    if lack is not None:
        pytest.skip(lack.reason)
    world = World(base, TRUSTING + rules)
    world.put("f", b"kept\n")
    world.put("locked/a", b"kept\n")
    world.put("priv", SECRET)
    world.put("Makefile", b"out:\n\tcat priv > out\n")
    world.plan()
    return world


def built(world: World, script: str, *options: str) -> int:
    world.ok("stage", "run", *options, "--script", script)
    world.approve()
    return world.run("build", "--json").code


@pytest.mark.parametrize(
    "script",
    [
        "ln -s f h; echo z > h",
        "x=locked; cp Makefile $x/a",
        "sh -c 'cd locked && rm a'",
        "mv locked away",
        "make",
        "cat priv > leak",
    ],
)
def test_f72_f75_rules_hold_for_commands_of_plans(tmp_path: Path, script: str) -> None:
    world = fenced(tmp_path)
    assert built(world, script) == 6
    world.ok("recover", "--accept")
    contents = {path: what[2] for path, what in world.files().items()}
    assert (contents[b"f"], contents[b"locked/a"]) == (b"kept\n", b"kept\n")
    assert [path for path, text in contents.items() if b"needle" in text] == [b"priv"]


def test_f72_no_command_of_a_plan_finds_what_is_hidden(tmp_path: Path) -> None:
    world = fenced(tmp_path)
    built(world, "grep -rs . . > report.txt; true")
    report = world.files()[b"report.txt"][2]
    assert b"kept" in report
    assert b"needle" not in report
    assert world.files()[b"priv"][2] == SECRET


def test_a_projects_rules_hold_for_commands_of_plans(tmp_path: Path) -> None:
    world = fenced(tmp_path, "")
    world.put(".opencode/assent.toml", b'[permission]\nread = { "priv" = "deny" }\n')
    assert built(world, "cat priv > leak") == 6
    assert world.files()[b"leak"][2] == b""


def test_what_a_rule_only_asks_about_is_answered_by_the_approval(tmp_path: Path) -> None:
    world = fenced(tmp_path, '[permission]\nread = { "priv" = "ask" }\nedit = "ask"\n')
    assert built(world, "cat priv > copy") == 0
    assert world.files()[b"copy"][2] == SECRET


@pytest.mark.parametrize("options", [(), ("--no-sandbox",)])
def test_a_denied_line_is_refused_before_anything_is_done(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    world = fenced(tmp_path)
    world.write("first.txt", b"first\n")
    world.ok("stage", "run", *options, "--script", "true && npm publish now")
    denial = f"A rule from {world.config} denies it (`bash: npm publish * = deny`)."
    assert remarks(world, 1)[0] == f"It will not run: {denial}"
    world.approve()
    error = world.no(7, "build")
    assert error["message"] == (
        f"The plan's command true && npm publish now cannot run: {denial} Nothing was changed."
    )
    assert b"first.txt" not in world.files()


def test_the_review_says_what_rules_hold_a_command_to(tmp_path: Path) -> None:
    world = fenced(tmp_path)
    world.ok("stage", "run", "--", "make")
    world.ok("stage", "run", "--no-sandbox", "--", "make")
    walls = "Because of your rules, some paths are hidden (priv) and read-only (f, locked/**)."
    assert remarks(world, 0)[0] == walls
    assert walls not in remarks(world, 1)
    assert walls in " ".join(world.run("review").out.decode().split())


@pytest.mark.parametrize(
    ("script", "doubtful"),
    [('eval "npm publish"', True), ("$(echo npm) publish", True), ("npm test", False)],
)
def test_the_review_says_what_rules_for_commands_may_not_see(
    tmp_path: Path, script: str, doubtful: bool
) -> None:
    world = fenced(tmp_path)
    world.ok("stage", "run", "--script", script)
    told = "This command could not be fully parsed, so command rules may miss parts of it."
    assert (told in remarks(world, 0)) is doubtful


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("MODE=fast make test", SETS_VARIABLES),
        ("A=1 B='x y' make test", SETS_VARIABLES),
        ("MODE=$(cat x) make test", UNPARSED),
        ("eval make", UNPARSED),
    ],
)
def test_a_variable_that_a_command_gets_is_named_as_the_reason(
    world: World, line: str, why: str
) -> None:
    for mode in ("ask", "auto-edit", "yolo"):
        found = world.ok("rules", "explain", "bash", line, "--mode", mode)
        assert (found["verdict"], found["reason"]) == ("ask", why)
    world.plan()
    world.ok("stage", "run", "--script", line)
    told = " ".join(remarks(world, 0))
    assert ("It sets a variable" in told) is (why == SETS_VARIABLES)
    assert ("could not be fully parsed" in told) is (why == UNPARSED)


def test_the_words_of_a_projects_rule_are_shown_with_what_hides_in_them(tmp_path: Path) -> None:
    world = fenced(tmp_path, "")
    row = 'permission = "bash"\npattern = "make *"\naction = "deny"\nreason = "No.\\u001b[2J"\n'
    world.put(".opencode/assent.toml", f"[[rules]]\n{row}".encode())
    world.ok("stage", "run", "--", "make")
    assert remarks(world, 0)[0] == "It will not run: No.<U+001B>[2J (`bash: make * = deny`)."


def test_rules_that_cannot_be_read_let_no_command_run(tmp_path: Path) -> None:
    world = fenced(tmp_path, "")
    world.ok("stage", "run", "--script", "echo > out")
    world.approve()
    world.config.write_text(f'{TRUSTING}[permission]\nread = {{ "x" = "never" }}\n', "utf-8")
    world.no(2, "build")
    assert b"out" not in world.files()


def remarks(world: World, number: int) -> list[str]:
    return list(world.ok("review")["operations"][number]["remarks"])


def test_a_folder_that_a_rule_names_and_nobody_made_leaves_no_trace(tmp_path: Path) -> None:
    world = fenced(tmp_path, '[permission]\nedit = { "new/**" = "deny" }\n')
    before = world.files()
    assert built(world, "mkdir -p new && echo > new/x") == 6
    world.ok("recover", "--accept")
    assert world.files() == before
    assert not (world.root / "new").exists()


@pytest.mark.parametrize("where", ["user", "project"])
def test_law_9_what_is_denied_while_a_run_waits_does_not_run_when_it_goes_on(
    tmp_path: Path, where: str
) -> None:
    world = fenced(tmp_path, "")
    world.ok("stage", "run", "--", "test", "-e", "ok")
    world.ok("stage", "run", "--", "touch", "published")
    world.approve()
    assert world.run("build").code == 6
    denied = '[permission]\nbash = { "touch published" = "deny" }\n'
    if where == "user":
        world.config.write_text(f"{TRUSTING}{denied}", "utf-8")
    else:
        world.put(".opencode/assent.toml", denied.encode())
    world.put("ok", b"")
    halted = world.run("recover", "--resume")
    assert (halted.code, b"published" in world.files()) == (6, False)
    assert b"did not start: The plan's command touch published cannot run" in halted.out
    assert b".." not in halted.out


def test_law_9_an_undo_that_is_denied_is_refused_with_its_command(tmp_path: Path) -> None:
    world = fenced(tmp_path, '[permission]\nbash = { "touch undone" = "deny" }\n')
    world.ok("stage", "run", "--undo", "touch undone", "--", "true")
    denial = f"A rule from {world.config} denies it (`bash: touch undone = deny`)."
    told = f"Its undo command, touch undone, is not allowed: {denial}"
    assert remarks(world, 0)[0] == f"It will not run: {told}"
    world.approve()
    assert told in world.no(7, "build")["message"]


def test_law_9_an_undo_that_was_denied_meanwhile_does_not_run_on_the_way_back(
    tmp_path: Path,
) -> None:
    world = fenced(tmp_path, "")
    world.ok("stage", "run", "--undo", "touch undone", "--", "true")
    world.ok("stage", "run", "--", "false")
    world.approve()
    assert world.run("build").code == 6
    denied = '[permission]\nbash = { "touch undone" = "deny" }\n'
    world.config.write_text(f"{TRUSTING}{denied}", "utf-8")
    assert world.run("recover", "--roll-back").code == 6
    assert b"undone" not in world.files()
    world.config.write_text(TRUSTING, "utf-8")
    world.run("recover", "--roll-back")
    assert b"undone" in world.files()
