"""`assent stage result`: what a command changes in a scratch copy becomes operations, exactly."""

import os
import signal
import subprocess
import time
from typing import Any

import pytest
from tests.cli.harness import PROGRAM, TRUSTING, Answer, World
from tests.cli.terminal import Terminal
from tests.sandbox.profiles import needs_bubblewrap
from tests.scratch.copies import settle

from assent.cli.scratch_command import DEFAULT_S

pytestmark = needs_bubblewrap


@pytest.fixture
def ready(repo: World) -> World:
    """A plan in a repository with a source file, a folder, a script, and ignored files."""
    repo.put("names.txt", b"b\na\n")
    repo.put("old/one.txt", b"one\n")
    repo.put("old/two.txt", b"two\n")
    repo.put("run.sh", b"#!/bin/sh\n")
    repo.put(".gitignore", b"build/\n*.log\n")
    repo.git("add", "-A")
    repo.git("commit", "-q", "-m", "Start")
    repo.plan()
    settle()
    return repo


def result(world: World, line: str, *options: str) -> dict[str, Any]:
    return world.ok("stage", "result", *options, "--", line)


def tried(world: World, line: str, *options: str) -> Answer:
    return world.run("stage", "result", "--json", *options, "--", line)


def kinds(found: dict[str, Any]) -> list[tuple[str, str]]:
    return [(one["kind"], one["path"]) for one in found["operations"]]


def staged(world: World) -> list[dict[str, Any]]:
    return list(world.ok("stage", "list")["operations"])


def copies(world: World) -> list[str]:
    return [one["name"] for one in world.ok("scratch", "list")["copies"]]


def why(found: dict[str, Any]) -> dict[str, str]:
    return {one["path"]: one["why"] for one in found["not_staged"]}


def started(
    world: World, line: str, *options: str, form: tuple[str, ...] = ("--json",)
) -> subprocess.Popen[bytes]:
    """Starts the real program, and waits until its command says that it has begun."""
    process = subprocess.Popen(
        [*PROGRAM, "stage", "result", *form, *options, "--", f"echo begun; {line}"],
        cwd=world.root, env=world.env, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    assert process.stderr is not None
    while process.stderr.readline() != b"begun\n":
        assert process.poll() is None
    return process


def test_f61_what_a_generator_makes_is_staged_and_built(ready: World) -> None:
    before = ready.files()
    made = "mkdir -p gen && sort names.txt > gen/names.py && echo done"
    found = result(ready, made)
    assert kinds(found) == [("write", "gen/names.py")]
    assert (found["exit_code"], found["staged"], found["changed"]) == (0, True, 1)
    assert ready.files() == before
    assert copies(ready) == []
    assert ready.no(3, "build")["error"] == "not_approved"
    assert ready.build()["outcome"] == "done"
    assert ready.files()[b"gen/names.py"][2] == b"a\nb\n"


def test_f61_a_formatter_replaces_files_and_the_output_goes_to_stderr(ready: World) -> None:
    answer = tried(ready, "sort -o names.txt names.txt; echo formatted")
    assert (answer.code, kinds(answer.json)) == (0, [("write", "names.txt")])
    assert b"formatted\n" in answer.err
    shown = ready.run("stage", "result", "--", "echo more >> names.txt")
    assert b"write" in shown.out
    assert b"names.txt" in shown.out
    ready.build()
    assert ready.files()[b"names.txt"][2] == b"a\nb\nmore\n"


def test_f61_deletions_take_the_folders_that_the_command_removed(ready: World) -> None:
    found = result(ready, "rm -r old")
    assert kinds(found) == [("delete", "old/one.txt"), ("delete", "old/two.txt")]
    ready.build()
    assert not os.path.exists(ready.at("old"))


def test_f61_a_folder_that_the_command_left_empty_stays(ready: World) -> None:
    result(ready, "rm old/*")
    ready.build()
    assert os.listdir(ready.at("old")) == []


def test_f61_a_rename_is_a_move(ready: World) -> None:
    found = result(ready, "mkdir new && mv old/one.txt new/first.txt")
    assert kinds(found) == [("move", "old/one.txt")]
    ready.build()
    assert ready.files()[b"new/first.txt"][2] == b"one\n"
    assert b"old/one.txt" not in ready.files()


def test_f61_symlinks_and_modes_are_staged(ready: World) -> None:
    found = result(ready, "ln -s names.txt current; chmod 755 run.sh; ln -sfn old names.txt")
    assert [path for _, path in kinds(found)] == ["current", "names.txt", "run.sh"]
    ready.build()
    files = ready.files()
    assert files[b"current"][::2] == ("link", b"names.txt")
    assert files[b"names.txt"][::2] == ("link", b"old")
    assert files[b"run.sh"][1:] == (0o755, b"#!/bin/sh\n")


def test_f61_a_file_can_become_a_folder_and_a_folder_a_file(ready: World) -> None:
    result(ready, "rm names.txt && mkdir names.txt && echo x > names.txt/x; rm -r old; echo > old")
    ready.build()
    assert ready.files()[b"names.txt/x"][2] == b"x\n"
    assert ready.files()[b"old"][2] == b"\n"


def test_f61_odd_names_are_staged_byte_by_byte(ready: World) -> None:
    found = result(ready, "touch 'a\nb' && printf x > \"$(printf 'b\\377')\" && echo > ' -x'")
    assert found["changed"] == 3
    ready.build()
    assert {b"a\nb", b"b\xff", b" -x"} <= ready.files().keys()


def test_f61_ignored_files_git_and_plans_are_never_staged_and_told(ready: World) -> None:
    line = (
        "mkdir -p build && echo o > build/out.o; echo l > x.log; echo > .git/evil; "
        "mkdir -p .opencode/assent .opencode/plans; echo > .opencode/assent/x; "
        "echo > .opencode/plans/PLAN_x.md; mkfifo pipe; mkdir bare; echo > kept.txt"
    )
    found = result(ready, line)
    assert kinds(found) == [("write", "kept.txt")]
    told = why(found)
    assert {told[path] for path in ("build", "x.log")} == {"ignored"}
    assert {one for path, one in told.items() if path.startswith(".git")} == {"git"}
    assert {one for path, one in told.items() if path.startswith(".opencode")} == {"assent"}
    assert (told["pipe"], told["bare"]) == ("special", "folder")
    assert not os.path.exists(ready.at(".git/evil"))
    shown = ready.run("stage", "result", "--", "echo > x.log").out
    assert b"Nothing staged" in shown
    assert b"Not staged: x.log (ignored" in shown


def test_f61_ignored_files_are_staged_if_they_are_named(ready: World) -> None:
    ready.put("build/old.o", b"old\n")
    ready.put("build/deep/a.js", b"a\n")
    settle()
    line = "mkdir -p build/new; for f in old.o new/b.js deep/a.js c.txt; do date > build/$f; done"
    found = result(ready, f"{line}; echo > x.log", "--include", "build/**/*.js")
    assert kinds(found) == [("write", "build/deep/a.js"), ("write", "build/new/b.js")]
    assert why(found) == {"build": "ignored", "x.log": "ignored"}
    more = result(ready, "rm -r build; echo > x.log", "--include", "build")
    assert "build/old.o" in [path for kind, path in kinds(more) if kind == "delete"]
    assert why(more) == {"x.log": "ignored"}
    never = result(ready, "echo > .git/evil", "--include", "**")
    assert (never["operations"], why(never)) == ([], {".git": "git"})


def test_f61_of_a_command_that_fails_nothing_is_staged(ready: World) -> None:
    answer = tried(ready, "echo half > half.txt; exit 3")
    assert (answer.code, answer.json["exit_code"], answer.json["staged"]) == (1, 3, False)
    assert answer.json["changed"] == 1
    assert staged(ready) == []
    told = ready.run("stage", "result", "--", "echo half > half.txt; exit 3").out
    assert b"ended with exit code 3." in told
    assert b"Nothing was staged (1 changed file). --keep-failed stages it anyway." in told
    assert b"--keep-failed" not in ready.run("stage", "result", "--", "exit 3").out
    kept = tried(ready, "echo half > half.txt; exit 3", "--keep-failed")
    assert (kept.code, kinds(kept.json)) == (1, [("write", "half.txt")])
    assert len(staged(ready)) == 1


def test_f61_the_command_finds_the_draft_and_adds_to_it(ready: World) -> None:
    ready.write("names.txt", b"z\ny\n")
    ready.ok("stage", "move", "old/one.txt", "old/first.txt")
    ready.ok("stage", "delete", "old/two.txt")
    found = result(ready, "sort names.txt > sorted.txt; cat old/first.txt >> sorted.txt; ls old")
    assert kinds(found) == [("write", "sorted.txt")]
    assert len(staged(ready)) == 4
    ready.build()
    assert ready.files()[b"sorted.txt"][2] == b"y\nz\none\n"


def test_f61_a_second_run_folds_into_the_first_operation(ready: World) -> None:
    first = result(ready, "echo one >> names.txt")["operations"][0]
    second = result(ready, "echo two >> names.txt")["operations"][0]
    assert (len(staged(ready)), first["id"] == second["id"]) == (1, False)
    (shown,) = ready.ok("review")["operations"]
    assert "+one\n+two\n" in shown["diff"]
    again = result(ready, "true")
    assert (again["operations"], again["staged"], len(staged(ready))) == ([], True, 1)
    undone = result(ready, "printf 'b\\na\\n' > names.txt")
    assert [one["path"] for one in undone["removed"]] == ["names.txt"]
    assert staged(ready) == []


def test_f61_everything_is_staged_in_one_event(ready: World) -> None:
    count = len(ready.ok("log")["events"])
    result(ready, "for n in 1 2 3 4 5; do echo $n > f$n; done; rm -r old")
    assert len(ready.ok("log")["events"]) == count + 1


def test_f61_a_file_that_was_edited_meanwhile_is_a_conflict(ready: World) -> None:
    process = started(ready, "sleep 0.9; echo theirs > names.txt; echo new > old/new.txt")
    ready.put("names.txt", b"mine\n")
    out, err = process.communicate()
    answer = Answer(process.returncode, out, err)
    assert answer.code == 5, answer
    (conflict,) = answer.json["conflicts"]
    assert conflict["path"] == "names.txt"
    assert "-mine\n+theirs\n" in conflict["diff"]
    assert (answer.json["staged"], staged(ready), copies(ready)) == (False, [], [])
    assert ready.files()[b"names.txt"][2] == b"mine\n"


def test_f61_a_folder_that_was_replaced_by_a_symlink_meanwhile_is_a_conflict(ready: World) -> None:
    """No write goes through it; the person sees both versions and decides."""
    line = "echo theirs > old/one.txt; echo x > run.sh; echo written >&2; sleep 0.9"
    process = started(ready, line)
    assert process.stderr is not None
    assert process.stderr.readline() == b"written\n"
    os.rename(ready.root / "old", ready.root / "moved")
    (ready.root / "old").symlink_to("moved")
    out, err = process.communicate()
    answer = Answer(process.returncode, out, err)
    assert answer.code == 5, answer
    shown = {one["path"]: one["diff"] for one in answer.json["conflicts"]}
    assert "+theirs\n" in shown["old/one.txt"]
    assert shown.keys() <= {"old", "old/one.txt"}
    assert (answer.json["staged"], staged(ready), copies(ready)) == (False, [], [])


@pytest.mark.parametrize(
    ("option", "expected"),
    [("--mine", ["old/new.txt"]), ("--theirs", ["names.txt", "old/new.txt"])],
)
def test_f61_a_conflict_is_settled_by_a_choice(
    ready: World, option: str, expected: list[str]
) -> None:
    line = "sleep 0.9; echo theirs > names.txt; echo new > old/new.txt"
    process = started(ready, line, option, "names.txt")
    ready.put("names.txt", b"mine\n")
    out, err = process.communicate()
    answer = Answer(process.returncode, out, err)
    assert answer.code == 0, answer
    assert sorted(path for _, path in kinds(answer.json)) == expected
    assert why(answer.json) == ({"names.txt": "mine"} if option == "--mine" else {})
    ready.build()
    assert ready.files()[b"names.txt"][2] == (b"mine\n" if option == "--mine" else b"theirs\n")


def test_f61_a_draft_that_changed_meanwhile_is_a_conflict(ready: World) -> None:
    process = started(ready, "sleep 0.9; echo theirs > names.txt")
    ready.write("names.txt", b"drafted\n")
    out, err = process.communicate()
    answer = Answer(process.returncode, out, err)
    assert (answer.code, [one["path"] for one in answer.json["conflicts"]]) == (5, ["names.txt"])
    assert "-drafted\n+theirs\n" in answer.json["conflicts"][0]["diff"]
    assert len(staged(ready)) == 1


@pytest.mark.parametrize("form", [(), ("--json",)], ids=["text", "json"])
def test_f61_secrets_in_the_versions_of_a_conflict_are_masked(
    ready: World, form: tuple[str, ...]
) -> None:
    mine, theirs = "sk-ant-" + "a1B2c3D4" * 5, "ghp_" + "a1B2c3D4e5" * 4
    process = started(ready, f"sleep 0.9; echo key={theirs} > names.txt", form=form)
    ready.put("names.txt", f"key={mine}\n".encode())
    out, _ = process.communicate()
    assert (process.returncode, b"-key=" in out, b"+key=" in out) == (5, True, True)
    assert mine.encode() not in out
    assert theirs.encode() not in out


def test_f61_a_command_that_takes_too_long_is_ended_and_nothing_is_staged(ready: World) -> None:
    found = tried(ready, "echo x > new.txt; sleep 30", "--timeout", "1")
    assert (found.code, found.json["cut"], found.json["staged"]) == (1, "time", False)
    assert (staged(ready), copies(ready)) == ([], [])
    assert ready.no(2, "stage", "result", "--timeout", "0", "--", "true")["error"] == "usage"
    told = b" ".join(ready.run("stage", "result", "--help").out.split())
    assert f"[default: {DEFAULT_S}]".encode() in told


def test_f61_a_choice_about_a_path_that_did_not_change_is_told(ready: World) -> None:
    words = ("--mine", "nope", "--theirs", "old", "--mine", "names.txt")
    found = result(ready, "echo x > old/one.txt; echo x > names.txt", *words)
    assert found["unmatched"] == [{"path": "nope"}]
    told = ready.run("stage", "result", *words[:2], "--", "touch y").out
    assert b"did not change: nope" in told


def test_f61_a_path_cannot_be_both_mine_and_theirs(ready: World) -> None:
    twice = ("--mine", "names.txt", "--theirs", "names.txt")
    assert ready.no(2, "stage", "result", *twice, "--", "touch ran")["error"] == "usage"
    assert ready.no(2, "stage", "result")["error"] == "usage"


def test_f61_the_network_takes_a_persons_yes(ready: World) -> None:
    refused = ready.no(4, "stage", "result", "--network", "--", "echo > x.txt")
    assert (refused["error"], staged(ready), copies(ready)) == ("declined", [], [])
    terminal = Terminal(ready, "stage", "result", "--json", "--network", "--", "echo > x.txt")
    terminal.wait_for(b"  echo > x.txt\r\nRun them? [y/N] ")
    terminal.type(b"y\n")
    assert kinds(terminal.end().json) == [("write", "x.txt")]


def test_f61_a_rule_denies_the_command_or_the_path(ready: World) -> None:
    ready.config.write_text(
        TRUSTING + '[permission.bash]\n"make *" = "deny"\n[permission.edit]\n"*.lock" = "deny"\n'
    )
    assert ready.no(7, "stage", "result", "--", "make x")["error"] == "refused"
    refused = ready.run("stage", "result", "--json", "--", "echo > a.txt; echo > b.lock")
    assert (refused.code, b'"refused"' in refused.err, staged(ready)) == (7, True, [])


def test_f61_a_file_that_is_too_large_is_refused_with_all_of_it(ready: World) -> None:
    ready.config.write_text(TRUSTING + "[stage]\nmax_file_mb = 1\n")
    answer = tried(ready, "echo > a.txt; head -c 2000000 /dev/zero > b.bin")
    assert (answer.code, staged(ready), copies(ready)) == (7, [], [])
    assert b"b.bin is larger than 1 MB" in answer.err


def test_f61_a_file_without_blocks_that_would_be_read_for_hours_is_refused(ready: World) -> None:
    answer = tried(ready, "echo > a.txt; truncate -s 1T huge.bin")
    assert (answer.code, staged(ready), copies(ready)) == (7, [], [])
    assert b"scratch.max_mb" in answer.err


def test_f61_killed_in_the_middle_it_leaves_nothing(ready: World) -> None:
    process = started(ready, "echo half > half.txt; sleep 30")
    before = ready.files()
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    while ready.ok("scratch", "list")["copies"][0]["in_use"]:  # its command ends with it
        time.sleep(0.05)
    assert (staged(ready), ready.files()) == ([], before)
    assert kinds(result(ready, "echo whole > whole.txt")) == [("write", "whole.txt")]
    assert copies(ready) == []


def test_f61_a_proposed_plan_becomes_a_draft_again(ready: World) -> None:
    ready.write("a.txt", b"a\n")
    ready.propose()
    result(ready, "echo > b.txt")
    assert ready.ok("plan", "show")["state"] == "DRAFTING"
    assert len(staged(ready)) == 2


def test_f61_it_runs_in_the_folder_of_the_user(ready: World) -> None:
    answer = ready.run(
        "stage", "result", "--json", "--", "echo > here.txt", folder=ready.root / "old"
    )
    assert kinds(answer.json) == [("write", "old/here.txt")]
