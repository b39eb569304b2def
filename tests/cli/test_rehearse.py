"""`assent rehearse`: what a person approves has already been tried, and nothing real changed."""

import os
import signal
import subprocess
import time
from typing import Any

import pytest
from tests.cli.harness import PROGRAM, TRUSTING, World
from tests.cli.terminal import Terminal
from tests.disks.possible import PRIVILEGE
from tests.sandbox.profiles import needs_bubblewrap

pytestmark = needs_bubblewrap

CHECK = b"test:\n\tgrep -q new a.txt\n"
VERIFY = '[verify]\ncommands = ["grep -q new a.txt"]\n'


@pytest.fixture
def drafted(repo: World) -> World:
    """A draft that changes one file, in a repository whose Makefile checks that file."""
    repo.put("Makefile", CHECK)
    repo.put("a.txt", b"old\n")
    repo.git("add", "-A")
    repo.git("commit", "-q", "-m", "Start")
    repo.plan()
    repo.write("a.txt", b"new\n")
    return repo


def configure(world: World, text: str) -> None:
    world.config.write_text(text)


def started(world: World, *arguments: str) -> subprocess.Popen[bytes]:
    """Starts the real program, and waits until its command says that it has begun."""
    process = subprocess.Popen(
        [*PROGRAM, *arguments], cwd=world.root, env=world.env, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    assert process.stderr is not None
    while process.stderr.readline() != b"begun\n":
        assert process.poll() is None
    return process


def answered(world: World, question: bytes, *arguments: str) -> dict[str, Any]:
    """Says yes to a question on the terminal, and returns the answer."""
    terminal = Terminal(world, arguments[0], "--json", *arguments[1:])
    terminal.wait_for(question)
    terminal.type(b"y\n")
    return terminal.end().json


def copies(world: World) -> list[str]:
    return [one["name"] for one in world.ok("scratch", "list")["copies"]]


def test_g12_a_draft_is_tried_by_a_given_command_and_nothing_real_changes(drafted: World) -> None:
    before = drafted.files()
    found = drafted.ok("rehearse", "--", "make", "test")
    assert (found["passed"], found["digest"], found["by"]) == (True, None, "person")
    assert found["copy"] in ("overlay", "copy")
    (command,) = found["commands"]
    assert (command["line"], command["source"], command["exit"]) == ("make test", "argument", 0)
    assert (found["commit"], found["other_changed_files"]) == (
        drafted.git("rev-parse", "HEAD").decode().strip(), 0)  # fmt: skip
    assert drafted.files() == before
    assert copies(drafted) == []
    assert drafted.no(3, "build")["error"] == "not_approved"


@pytest.mark.skipif(os.geteuid() != 0, reason=f"{PRIVILEGE} give files away: it takes root.")
def test_g12_the_commit_is_named_in_a_workspace_of_another_user(drafted: World) -> None:
    for folder, folders, files in os.walk(drafted.root):
        for name in (".", *folders, *files):
            os.chown(os.path.join(folder, name), 65534, 65534)
    found = drafted.ok("rehearse", "--", "true")
    head = drafted.git("-c", f"safe.directory={drafted.root}", "rev-parse", "HEAD")
    assert found["commit"] == head.decode().strip()


def test_g12_it_counts_for_the_proposed_plan_with_the_same_operations(drafted: World) -> None:
    assert drafted.ok("review")["rehearsal"] is None
    assert b"Not rehearsed" in drafted.run("review").out
    drafted.ok("rehearse", "--", "make test")
    digest = drafted.propose()
    review = drafted.ok("review")
    assert (review["digest"], review["rehearsal"]["passed"]) == (digest, True)
    assert b"Rehearsed: make test passed" in drafted.run("review").out
    drafted.ok("reject", "--note", "another word")
    drafted.write("a.txt", b"new word\n")
    assert drafted.ok("review")["rehearsal"] is None


def test_g12_what_fails_is_a_risk_at_the_top(drafted: World) -> None:
    drafted.write("a.txt", b"other\n")
    drafted.propose()
    found = drafted.run("rehearse", "--json", "--", "make test")
    assert (found.code, found.json["passed"]) == (1, False)
    assert found.json["digest"] == drafted.ok("plan", "show")["digest"]
    review = drafted.ok("review")
    assert review["risks"][0] == "rehearsal_failed"
    lines = drafted.run("review").out.decode().splitlines()
    at = lines.index("Risks: rehearsal failed; none found in 1 operation")
    assert lines[at + 1].startswith("rehearsal_failed: ")
    assert b"Rehearsal failed: make test ended with exit code 2" in drafted.run("review").out
    assert drafted.ok("log")["events"][-1]["kind"] == "plan_rehearsed"


def test_g12_commands_of_the_plan_run_in_their_places(repo: World) -> None:
    repo.put("list.txt", b"a\n")
    repo.plan()
    repo.write("list.txt", b"b\n")
    repo.ok("stage", "run", "--", "sh", "-c", "cp list.txt made.txt")
    repo.write("list.txt", b"c\n")
    repo.ok("stage", "run", "--", "sh", "-c", "cat list.txt >> made.txt")
    before = repo.files()
    found = repo.ok("rehearse", "--", "cat made.txt list.txt")
    assert [one["exit"] for one in found["commands"]] == [0, 0, 0]
    assert [one["source"] for one in found["commands"]] == ["operation", "operation", "argument"]
    assert [one["changed"] for one in found["commands"]] == [
        [{"path": "made.txt"}], [{"path": "made.txt"}], []]  # fmt: skip
    assert found["commands"][2]["output"] == "b\nc\nc\n"
    assert repo.files() == before


def test_g12_a_file_that_the_draft_only_moves_is_in_the_copy(drafted: World) -> None:
    drafted.put("b.txt", b"moved\n")
    drafted.ok("stage", "move", "b.txt", "c.txt")
    assert drafted.ok("rehearse", "--", "grep -q moved c.txt && ! test -e b.txt")["passed"] is True
    shown = drafted.run("shell", "run", "--scratch", "cat c.txt")
    assert shown.out.startswith(b"moved\n")


def test_g12_files_that_a_command_leaves_otherwise_than_expected_fail(repo: World) -> None:
    repo.put("list.txt", b"a\n")
    repo.plan()
    repo.ok("stage", "run", "--", "sh", "-c", "echo other > list.txt")
    repo.write("list.txt", b"b\n")
    found = repo.run("rehearse", "--json", "--", "true")
    assert (found.code, found.json["passed"]) == (1, False)
    assert [one["exit"] for one in found.json["commands"]] == [0, 1, None]
    assert "list.txt" in found.json["commands"][1]["line"]


def test_g12_a_command_whose_changes_cannot_all_be_read_ends_it(repo: World) -> None:
    """What follows would be tried on something else than a build makes."""
    repo.plan()
    repo.ok("stage", "run", "--", "sh", "-c", "truncate -s 1T huge; echo > made.txt")
    found = repo.run("rehearse", "--json", "--", "true")
    assert (found.code, found.out, b'"error":"refused"' in found.err) == (7, b"", True)
    assert b"Not rehearsed" in repo.run("review").out


def test_g12_what_cannot_be_tried_is_said_and_nothing_after_it_runs(drafted: World) -> None:
    drafted.ok("stage", "run", "--network", "--", "touch", "fetched")
    found = drafted.run("rehearse", "--json", "--", "true")
    assert (found.code, found.json["passed"]) == (1, None)
    assert [one["exit"] for one in found.json["commands"]] == [None, None]
    assert found.json["commands"][0]["not_run"] == "it needs the network"
    review = drafted.run("review").out
    assert b"Partly rehearsed: 2 commands were not run" in review
    assert "rehearsal_failed" not in drafted.ok("review")["risks"]


def test_g12_the_network_takes_a_persons_yes(drafted: World) -> None:
    given = ("--", "grep new a.txt")
    refused = drafted.no(4, "rehearse", "--network", *given)
    assert refused["error"] == "declined"
    assert copies(drafted) == []
    found = answered(
        drafted, b"  grep new a.txt\r\nRun them? [y/N] ", "rehearse", "--network", *given
    )
    assert (found["passed"], found["network"]) == (True, True)


def test_g12_without_a_known_verification_the_operations_are_only_applied(drafted: World) -> None:
    found = drafted.run("rehearse", "--json")
    assert (found.json["passed"], found.json["commands"]) == (None, [])
    assert b"No command verifies plans here" in found.err
    assert b"`assent rehearse -- make test`" in found.err  # what the project's files suggest


def test_g12_a_suggested_command_is_asked_about_once_and_remembered(drafted: World) -> None:
    question = b"Verify plans in this workspace with `make test`? [y/N] "
    (command,) = answered(drafted, question, "rehearse")["commands"]
    assert (command["line"], command["source"]) == ("make test", "confirmed")
    (command,) = drafted.ok("rehearse")["commands"]
    assert (command["line"], command["source"]) == ("make test", "confirmed")


def test_g12_the_first_source_that_names_commands_decides(drafted: World) -> None:
    drafted.put(".opencode/assent.toml", b'[verify]\ncommands = ["echo project"]\n')
    assert drafted.ok("rehearse")["commands"][0]["source"] == "project"
    configure(drafted, TRUSTING + VERIFY)
    assert drafted.ok("rehearse")["commands"][0]["source"] == "user"
    text = drafted.text().read_bytes()
    drafted.text().write_bytes(b"---\nverify: [echo one, echo two]\n---\n" + text)
    found = drafted.ok("rehearse")["commands"]
    assert [(one["line"], one["source"]) for one in found] == [
        ("echo one", "plan"), ("echo two", "plan")]  # fmt: skip


def test_g12_files_that_changed_are_drift(drafted: World) -> None:
    drafted.put("a.txt", b"theirs\n")
    assert drafted.no(5, "rehearse", "--", "true")["error"] == "drift"
    assert copies(drafted) == []


def test_g12_a_file_that_changes_meanwhile_is_drift(drafted: World) -> None:
    process = started(drafted, "rehearse", "--json", "--", "echo begun; sleep 2")
    drafted.put("a.txt", b"theirs\n")
    out, err = process.communicate()
    assert (process.returncode, b'"drift"' in out + err) == (5, True)
    assert copies(drafted) == []


def test_g12_a_rule_denies_it_here_too(drafted: World) -> None:
    configure(drafted, TRUSTING + '[permission.bash]\n"make *" = "deny"\n')
    assert drafted.no(7, "rehearse", "--", "make test")["error"] == "refused"


def test_g12_an_approval_can_require_a_rehearsal_that_no_model_chose(drafted: World) -> None:
    configure(drafted, f"{TRUSTING}require_rehearsal = true\n")
    text = drafted.text().read_bytes()
    drafted.text().write_bytes(b"---\nverify: ['true']\n---\n" + text)
    digest = drafted.propose()
    refused = drafted.no(7, "approve", "--digest", digest)
    assert (refused["error"], refused["next"]) == ("not_rehearsed", "assent rehearse -- CMD")
    assert drafted.ok("rehearse")["passed"] is True  # by what the plan's text names
    assert drafted.no(7, "approve", "--digest", digest)["error"] == "not_rehearsed"
    assert (
        drafted.ok("rehearse", "--", "true")["passed"] is True
    )  # who has no terminal is no person
    assert drafted.no(7, "approve", "--digest", digest)["error"] == "not_rehearsed"
    typed = Terminal(drafted, "rehearse", "--json", "--", "grep -q new a.txt").end()
    assert typed.json["passed"] is True
    drafted.ok("approve", "--digest", digest)
    assert drafted.ok("build")["outcome"] == "done"


def test_g12_the_users_own_commands_run_beside_those_of_the_text_if_they_are_required(
    drafted: World,
) -> None:
    """Otherwise the command that the refusal names would never lead to an approval."""
    configure(drafted, f"{TRUSTING}require_rehearsal = true\n{VERIFY}")
    text = drafted.text().read_bytes()
    drafted.text().write_bytes(b"---\nverify: ['true']\n---\n" + text)
    digest = drafted.propose()
    refused = drafted.no(7, "approve", "--digest", digest)
    assert refused["next"] == "assent rehearse"
    found = drafted.ok("rehearse")
    assert [(one["line"], one["source"]) for one in found["commands"]] == [
        ("grep -q new a.txt", "user"), ("true", "plan")]  # fmt: skip
    assert drafted.ok("review")["rehearsal"]["passed"] is True
    drafted.ok("approve", "--digest", digest)


def test_g12_what_a_text_names_cannot_change_the_tools_of_the_users_own_commands(
    drafted: World,
) -> None:
    """A plan that fails the user's own check stays one that failed, whatever its text runs."""
    drafted.put(".gitignore", b"tools/\n")
    drafted.put("tools/check", b"#!/bin/sh\ngrep -q other a.txt\n", 0o755)
    own = '[verify]\ncommands = ["tools/check"]\n'
    configure(drafted, f"{TRUSTING}require_rehearsal = true\n{own}")
    text = drafted.text().read_bytes()
    forged = b"verify: [\"printf '#!/bin/sh' > tools/check\", tools/check]"
    drafted.text().write_bytes(b"---\n%s\n---\n" % forged + text)
    digest = drafted.propose()
    failed = drafted.run("rehearse", "--json")
    assert (failed.code, failed.json["passed"]) == (1, False)
    assert [(one["source"], one["exit"]) for one in failed.json["commands"]] == [
        ("user", 1), ("plan", None)]  # fmt: skip
    assert drafted.no(7, "approve", "--digest", digest)["error"] == "not_rehearsed"


def test_g12_all_of_the_users_own_commands_run_however_many(drafted: World) -> None:
    lines = [f"true {number}" for number in range(40)]
    own = f"[verify]\ncommands = {[*lines, 'grep -q other a.txt']}\n"
    configure(drafted, f"{TRUSTING}require_rehearsal = true\n{own}")
    digest = drafted.propose()
    failed = drafted.run("rehearse", "--json")
    assert (failed.code, [one["exit"] for one in failed.json["commands"]]) == (1, [0] * 40 + [1])
    assert drafted.no(7, "approve", "--digest", digest)["error"] == "not_rehearsed"
    configure(drafted, f"{TRUSTING}require_rehearsal = true\n{own.replace('other', 'new')}")
    assert drafted.ok("rehearse")["passed"] is True
    drafted.ok("approve", "--digest", digest)


def test_g12_a_text_that_names_too_many_commands_is_neither_tried_nor_proposed(
    drafted: World,
) -> None:
    lines = ", ".join(f"true {number}" for number in range(17))
    text = f"---\nverify: [{lines}]\n---\n".encode() + drafted.text().read_bytes()
    drafted.text().write_bytes(text)
    for command in ("rehearse", "propose"):
        assert "names 17 commands" in drafted.no(1, command)["message"]


def test_g12_what_a_text_names_covers_up_no_failure_of_the_users_own_commands(
    drafted: World,
) -> None:
    own = VERIFY.replace("new", "other")
    configure(drafted, f"{TRUSTING}require_rehearsal = true\n{own}")
    text = drafted.text().read_bytes()
    drafted.text().write_bytes(b"---\nverify: ['true']\n---\n" + text)
    digest = drafted.propose()
    failed = drafted.run("rehearse", "--json")
    assert (failed.code, [one["exit"] for one in failed.json["commands"]]) == (1, [1, None])
    assert drafted.no(7, "approve", "--digest", digest)["error"] == "not_rehearsed"


def test_g12_the_users_own_commands_meet_the_requirement(drafted: World) -> None:
    configure(drafted, f"{TRUSTING}require_rehearsal = true\n{VERIFY}")
    digest = drafted.propose()
    assert drafted.ok("rehearse")["commands"][0]["source"] == "user"
    drafted.ok("approve", "--digest", digest)


def test_g12_a_smaller_plan_needs_a_rehearsal_of_its_own(drafted: World) -> None:
    configure(drafted, f"{TRUSTING}require_rehearsal = true\n{VERIFY}")
    drafted.write("b.txt", b"b\n")
    drafted.propose()
    drafted.ok("rehearse")
    less = drafted.ok("approve", "--without", "2", "--dry-run")["digest"]
    refused = drafted.no(7, "approve", "--without", "2", "--digest", less)
    assert refused["error"] == "not_rehearsed"


def test_g12_killed_in_the_middle_it_leaves_no_copy_behind(drafted: World) -> None:
    process = started(drafted, "rehearse", "--", "echo begun; sleep 30")
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    while drafted.ok("scratch", "list")["copies"][0]["in_use"]:  # its command ends with it
        time.sleep(0.05)
    before = drafted.files()
    assert drafted.ok("rehearse", "--", "make test")["passed"] is True
    assert copies(drafted) == []
    assert drafted.files() == before


def test_g12_a_command_that_takes_too_long_is_ended(drafted: World) -> None:
    drafted.ok("stage", "run", "--timeout", "60", "--", "true")
    found = drafted.run("rehearse", "--json", "--timeout", "1", "--", "sleep 30")
    assert (found.code, found.json["passed"]) == (1, False)
    assert [one.get("cut", "") for one in found.json["commands"]] == ["", "time"]
    assert b"Rehearsal failed: sleep 30 timed out" in drafted.run("review").out
    assert drafted.no(2, "rehearse", "--timeout", "0", "--", "true")["error"] == "usage"
    told = b" ".join(drafted.run("rehearse", "--help").out.split())
    assert b"Time limit for each command, in seconds; at most 86400. [default: 1800]" in told


def test_g12_an_interrupted_rehearsal_leaves_no_copy_behind(drafted: World) -> None:
    process = started(drafted, "rehearse", "--", "echo begun; sleep 30")
    process.send_signal(signal.SIGINT)
    process.communicate()
    assert process.returncode == 130
    assert copies(drafted) == []
    assert drafted.ok("review")["rehearsal"] is None


def test_g12_secrets_in_the_output_are_masked(drafted: World) -> None:
    key = "sk-ant-" + "a1B2c3D4" * 5
    found = drafted.ok("rehearse", "--", f"echo {key}")
    assert key not in found["commands"][0]["output"]
    assert key not in found["commands"][0]["line"]
