"""`assent shell` from outside: judging by text, running confined, codes and streams."""

import json
import shlex

import msgspec
import pytest
from tests.cli.harness import PROGRAM, World, unsandboxed
from tests.cli.terminal import Terminal
from tests.sandbox.profiles import needs_bubblewrap

from assent.core.shell.process import SandboxState, SandboxStatus
from assent.sandbox.status import cache_key, find_bwrap, install_command


def test_check_answers_with_one_object_and_0(world: World) -> None:
    world.on_a_fresh_machine()
    good = world.process("shell", "check", "git log --oneline | head -5")
    assert (good.code, good.json["read_only"]) == (0, True)
    bad = world.process("shell", "check", "ls > f")
    assert (bad.code, bad.json["read_only"]) == (0, False)
    assert "`>`" in bad.json["reason"]
    assert good.json.keys() == bad.json.keys() == {"read_only", "reason"}
    assert not world.state.exists()


def test_check_answers_line_by_line_in_order(world: World) -> None:
    lines = [b'{"cmd": "ls"}', b'{"cmd": 5}', b"not json", b"", b'{"cmd": "rm x"}', b'{"c": "ls"}']
    answer = world.process("shell", "check", "--stdin", stdin=b"\n".join(lines))
    rows = [json.loads(line) for line in answer.out.splitlines()]
    assert [row.get("read_only") for row in rows] == [True, None, None, None, False, None]
    assert [row.keys() for row in rows] == [
        {"error"} if row.get("read_only") is None else {"read_only", "reason"} for row in rows
    ]
    assert (answer.code, answer.err) == (0, b"")


def test_check_survives_any_line(world: World) -> None:
    deep = b'{"x": ' + b"[" * 100_000 + b"]" * 100_000 + b', "cmd": "ls"}'
    lines = [b"\xff", b'{"cmd": "\\ud800"}', deep, b'{"cmd": "ls"}']
    answer = world.process("shell", "check", "--stdin", stdin=b"\n".join(lines))
    rows = [json.loads(line) for line in answer.out.splitlines()]
    assert (answer.code, len(rows), rows[-1]["read_only"]) == (0, 4, True)
    assert not any(row.get("read_only") for row in rows[:-1])


def test_check_says_that_stdin_is_closed(world: World) -> None:
    answer = world.start(["bash", "-c", f"{shlex.join(PROGRAM)} shell check --stdin <&-"])
    assert (answer.code, answer.out) == (2, b"")
    assert b"Cannot read stdin: it is closed." in answer.err


def test_check_is_the_same_where_nothing_is_installed(world: World) -> None:
    there = world.process("shell", "check", "rg -n x | jq .")
    nowhere = world.process("shell", "check", "rg -n x | jq .", env={"PATH": "/nowhere"})
    assert there == nowhere
    assert there.json["read_only"] is True


def test_check_knows_the_narrower_class(world: World) -> None:
    for line, narrow in (("git status", False), ("ls -la", True), ("python3 --version", False)):
        assert world.ok("shell", "check", line)["read_only"] is True
        assert world.ok("shell", "check", "--no-sandbox", line)["read_only"] is narrow


def test_check_wants_one_line_or_stdin(world: World) -> None:
    assert world.run("shell", "check").code == 2
    assert world.run("shell", "check", "ls", "--stdin").code == 2


def test_check_on_a_terminal_speaks_to_a_person(world: World) -> None:
    terminal = Terminal(world, "shell", "check", "tee x", shared=("stdout",))
    assert terminal.end().code == 0
    assert b"Not read-only." in terminal.screen
    assert b"`tee`" in terminal.screen


def test_run_passes_output_and_exit_code_on(world: World) -> None:
    world.put("a.txt", b"one\ntwo\n")
    assert world.process("shell", "run", "cat a.txt | wc -l") == (0, b"2\n", b"")
    assert world.process("shell", "run", "grep three a.txt").code == 1
    assert world.process("shell", "run", "cat a.txt; ls missing 2>/dev/null").code == 2
    both = world.process("shell", "run", "ls missing || echo gone")
    assert (both.code, both.out) == (0, b"gone\n")
    assert b"missing" in both.err


def test_run_in_json(world: World) -> None:
    world.put("a.txt", b"one\n")
    answer = world.run("shell", "run", "cat a.txt missing", "--json")
    assert (answer.code, answer.err) == (1, b"")
    assert answer.json["stdout"] == "one\n"
    assert "missing" in answer.json["stderr"]
    assert answer.json.keys() == {"exit_code", "stdout", "stderr"}
    assert answer.json["exit_code"] == 1


def test_run_keeps_bytes_that_are_no_text(world: World) -> None:
    world.put("a.bin", b"\xff\xfe\x00")
    row = world.ok("shell", "run", "cat a.bin")
    assert (row["stdout"], row["stdout_b64"]) == ("��\x00", "//4A")
    assert world.process("shell", "run", "cat a.bin").out == b"\xff\xfe\x00"


@pytest.mark.parametrize("line", ["rm -rf a.txt", "cat a.txt > b", "ls; touch b", "git commit"])
def test_what_is_refused_is_7_and_nothing_ran(world: World, line: str) -> None:
    world.put("a.txt", b"one\n")
    before = world.files()
    told = world.no(7, "shell", "run", line)
    assert told["error"] == "refused"
    assert world.process("shell", "run", line).out == b""
    assert world.files() == before


def test_run_starts_in_the_folder_where_the_person_is(world: World) -> None:
    world.put("sub/b.txt", b"b")
    world.git("init", "-q")
    assert world.run("shell", "run", "ls", folder=world.root / "sub").out == b"b.txt\n"
    assert world.process("shell", "run", "cd sub && ls").out == b"b.txt\n"


def test_run_sees_neither_secrets_nor_state(world: World) -> None:
    world.put(".env", b"TOKEN=1")
    world.plan()
    for path in (".env", str(world.state / "assent" / "log.db"), str(world.config), "/etc/shadow"):
        answer = world.process("shell", "run", f"cat '{path}'")
        assert (answer.code, answer.out) == (1, b""), path


def test_run_ends_what_takes_too_long(world: World) -> None:
    endless = "awk 'BEGIN { while (1) x++ }'"
    answer = world.process("shell", "run", "--seconds", "0.5", endless)
    assert answer.code == 124
    assert b"The command timed out and was stopped." in answer.err


def test_run_ends_what_says_too_much(world: World) -> None:
    world.put("large", b"x" * 6_000_000)
    row = world.run("shell", "run", "cat large", "--json").json
    assert (row["cut"], len(row["stdout"])) == ("output", 4 << 20)


def test_output_cannot_steer_a_terminal(world: World) -> None:
    world.put("evil", b"\x1b]0;title\x07\x1b[2Jafter\n")
    terminal = Terminal(world, "shell", "run", "cat evil", shared=("stdout", "stderr"))
    assert terminal.end().code == 0
    assert b"after" in terminal.screen
    assert b"\x1b" not in terminal.screen


def test_a_sandbox_that_leaked_is_said_everywhere_and_nothing_runs(world: World) -> None:
    world.on_a_fresh_machine()
    tool = find_bwrap()
    assert tool is not None
    leaked = SandboxStatus(
        SandboxState.OFF, "The sandbox does not hold: a file was made.", "assent doctor"
    )
    kept = world.state / "assent" / "sandbox.json"
    kept.parent.mkdir(parents=True)
    kept.write_bytes(msgspec.json.encode({"key": cache_key(tool), "standing": leaked}))
    kept.chmod(0o600)
    told = world.no(7, "shell", "run", "ls")
    assert "a file was made" in told["message"]
    assert told["next"] == "assent doctor"
    assert world.ok("status")["shell"] == msgspec.to_builtins(leaked)
    assert b"The shell is off: The sandbox does not hold: a file was made." in (
        world.run("status").out
    )


def test_a_missing_sandbox_is_told_with_the_command_that_helps(world: World) -> None:
    answer = unsandboxed(world, "shell", "run", "ls")
    assert answer.code == 0
    helps = install_command("bubblewrap")
    told = f"assent: No sandbox: bubblewrap is not installed. What helps: {helps}\n"
    assert answer.err.decode() == told


def test_the_first_call_tests_the_sandbox_and_status_knows(world: World) -> None:
    world.on_a_fresh_machine()
    assert world.ok("status")["shell"] is None
    assert world.run("shell", "run", "true").code == 0
    assert world.ok("status")["shell"] == {"hold": "held", "reason": "", "next": ""}


@pytest.mark.parametrize("verb", ["check", "run"])
def test_a_line_without_quotes_is_told_of_them(world: World, verb: str) -> None:
    told = world.no(2, "shell", verb, "ls", "-la", "src")
    assert told["next"] == f"assent shell {verb} 'ls -la src'"


def test_a_limit_that_is_no_number_is_refused(world: World) -> None:
    assert world.run("shell", "run", "ls", "--seconds", "nan").code == 2
    assert world.run("shell", "run", "ls", "--seconds", "inf").code == 2
    assert world.run("shell", "run", "ls", "--seconds", "0").code == 2


def test_a_reader_that_goes_away_ends_the_command(world: World) -> None:
    line = f"{shlex.join(PROGRAM)} shell run 'seq 1 99999999999' | head -2"
    answer = world.start(["bash", "-c", line])
    assert (answer.code, answer.out, answer.err) == (0, b"1\n2\n", b"")


def test_many_names_and_many_secrets(world: World) -> None:
    for number in range(1001):
        world.put(f"{number}.env")
    told = world.no(7, "shell", "run", "ls")
    assert "1001 files here would have to be hidden" in told["message"]
    world.start(["rm", "7.env"])
    assert world.run("shell", "run", "ls -d 7*.env | wc -l").out == b"110\n"


DENIES = """
[permission.bash]
"git log *" = "deny"
"pytest *" = "deny"
[permission.read]
"plans/*" = "deny"
"""


@needs_bubblewrap
def test_f70_rules_that_deny_hold_for_lines_that_a_person_runs(repo: World) -> None:
    """A deny binds everything that Assent runs, whoever typed it."""
    repo.put("plans/secret.txt", b"canary\n")
    repo.put("open.txt", b"open\n")
    repo.config.write_text(DENIES)
    for copy in ((), ("--scratch",)):
        refused = repo.no(7, "shell", "run", *copy, "cat open.txt; git log -1")
        assert (refused["error"], refused["next"]) == ("refused", "assent rules list")
        assert "`bash: git log * = deny`" in refused["message"]
        hidden = repo.process("shell", "run", *copy, "cat open.txt; cat plans/secret.txt")
        assert hidden.out.startswith(b"open\n")
        assert b"canary" not in hidden.out + hidden.err
    assert b"a rule denies reading it" in repo.process("shell", "run", "cat plans/secret.txt").err
    assert repo.no(7, "shell", "run", "--scratch", "touch x; pytest -q")["error"] == "refused"
    assert repo.ok("scratch", "clear", "--all") == {"removed": ["shell"]}


@needs_bubblewrap
def test_f70_rules_of_a_project_that_deny_hold_for_lines_that_a_person_runs(repo: World) -> None:
    repo.put("notes.txt", b"canary\n")
    repo.put(".opencode/assent.toml", b'[permission]\nread = { "notes.txt" = "deny" }\n')
    for copy in ((), ("--scratch",)):
        hidden = repo.process("shell", "run", *copy, "cat notes.txt")
        assert b"canary" not in hidden.out + hidden.err


def test_f70_without_a_sandbox_what_rules_hide_is_not_read(repo: World) -> None:
    repo.put("plans/secret.txt", b"canary\n")
    repo.config.write_text(DENIES)
    for line in ("cat plans/secret.txt", "cat plans/*", "grep -r canary ."):
        answer = unsandboxed(repo, "shell", "run", line)
        assert answer.code
        assert b"canary\n" not in answer.out
    assert unsandboxed(repo, "shell", "run", "--json", "git log -1").code == 7
