"""What commands of a plan changed is taken back as far as it was recorded; the rest is named."""

from pathlib import Path

import pytest
from tests.cli.harness import TRUSTING, Answer, World
from tests.cli.terminal import SEQUENCE, Terminal

from assent.core.undo import OWN_UNDO, STILL_DIFFERENT


def text(content: bytes, mode: int = 0o644) -> tuple[str, int, bytes]:
    return "file", mode, content


def run_of(world: World) -> str:
    return str(world.ok("runs", "list")["runs"][0]["run"])


def script(world: World, lines: str, *options: str) -> None:
    world.ok("stage", "run", *options, "--script", lines)


def redo(world: World) -> Answer:
    digest = world.ok("redo", "--dry-run")["digest"]
    return world.run("redo", "--digest", digest, "--json")


BEFORE = {b"a": text(b"one\n"), b"b": text(b"b\n", 0o755), b"mine": text(b"mine\n")}
AFTER = {
    b"a": text(b"two\nthree\n"),
    b"c": text(b"c\n"),
    b"d": ("folder", 0, b""),
    b"d/n": text(b"\x00\xff\n"),
    b"mine": text(b"mine\n"),
}


@pytest.fixture
def built(world: World) -> World:
    """A plan that writes, runs a command that changes, makes and removes, and writes again."""
    world.put("a", b"one\n")
    world.put("b", b"b\n", 0o755)
    world.put("mine", b"mine\n")
    world.plan()
    world.write("a", b"two\n")
    script(world, r"echo three >> a; rm b; mkdir d; printf '\000\377\n' > d/n")
    world.write("c", b"c\n")
    world.build()
    assert world.files() == AFTER
    return world


def test_f139_what_a_command_did_is_taken_back_without_git(built: World) -> None:
    answer = built.undo()
    assert answer.code == 0
    assert sorted(row["path"] for row in answer.json["restored"]) == ["a", "b", "c", "d/n"]
    assert (answer.json["conflicts"], answer.json["not_covered"]) == ([], [])
    assert built.files() == BEFORE


def test_f141_a_command_is_not_run_again_by_a_redo(built: World) -> None:
    built.undo()
    built.put("b", b"b\n", 0o755)
    preview = built.ok("redo", "--dry-run")
    (gap,) = preview["not_covered"]
    assert gap["why"] == "it is not run again; the files it changed are restored"
    assert gap["command"].startswith("echo three >> a")
    assert redo(built).code == 0
    assert built.files() == AFTER
    assert built.undo().code == 0
    assert built.files() == BEFORE


def test_f142_a_file_that_changed_after_the_command_is_left_alone(built: World) -> None:
    built.put("d/n", b"mine now\n")
    answer = built.undo()
    (left,) = answer.json["conflicts"]
    assert (left["path"], left["reason"]) == ("d/n", "d/n changed after the run")
    assert built.files() == {
        **BEFORE,
        b"d": ("folder", 0, b""),
        b"d/n": text(b"mine now\n"),
    }


def test_g6_the_command_alone_is_taken_back(built: World) -> None:
    answer = built.undo(run_of(built), "--operation", "2")
    assert answer.code == 0
    assert built.files() == {
        b"a": text(b"two\n"),
        b"b": text(b"b\n", 0o755),
        b"c": text(b"c\n"),
        b"mine": text(b"mine\n"),
    }
    assert built.undo().code == 0
    assert built.files() == BEFORE


def test_f142_what_a_command_changed_again_does_not_go_alone(built: World) -> None:
    answer = built.run("undo", "--operation", "1", "--json")
    assert (answer.code, answer.json["outcome"]) == (5, "nothing")
    (left,) = answer.json["conflicts"]
    assert left["reason"] == "a was changed again by a command"
    assert built.files() == AFTER


def test_f144_what_is_ignored_is_named_before_the_yes_and_after(world: World) -> None:
    world.git("init", "-q")
    world.put(".gitignore", b"*.log\n")
    world.put("kept", b"1\n")
    world.put("build.log", b"old\n")
    world.plan()
    script(world, "echo 2 > kept; echo new > build.log; echo new > other.log")
    world.build()
    preview = world.ok("undo", "--dry-run")
    why = "git ignores it, so its old content was not kept"
    assert [(gap["path"], gap["why"]) for gap in preview["not_covered"]] == [
        ("build.log", f"{why} (changed)"),
        ("other.log", f"{why} (new)"),
    ]
    assert "not covered: build.log: git ignores it" in world.run("undo", "--dry-run").out.decode()
    answer = world.undo()
    assert answer.json["not_covered"] == preview["not_covered"]
    assert [row["path"] for row in answer.json["restored"]] == ["kept"]
    files = world.files()
    assert (files[b"kept"], files[b"build.log"]) == (text(b"1\n"), text(b"new\n"))


def test_f145_what_is_too_large_is_named_and_the_rest_comes_back(tmp_path: Path) -> None:
    world = World(tmp_path, TRUSTING + "[undo]\nfile_mb = 1\n")
    world.put("large", b"x" * (2 << 20))
    world.put("binary", b"\x00\x01" * 1000)
    world.plan()
    script(world, "echo more >> large; rm binary")
    world.build()
    (gap,) = world.ok("undo", "--dry-run")["not_covered"]
    assert gap["path"] == "large"
    assert "undo.file_mb" in gap["why"]
    assert world.undo().code == 0
    files = world.files()
    assert files[b"binary"] == text(b"\x00\x01" * 1000)
    assert len(files[b"large"][2]) == (2 << 20) + 5


def test_g7_what_a_command_did_elsewhere_is_said_to_stay(world: World) -> None:
    world.plan()
    script(world, "echo 1 > a", "--network")
    script(world, "echo 2 > b", "--no-sandbox")
    world.build()
    whys = [gap["why"] for gap in world.ok("undo", "--dry-run")["not_covered"]]
    assert whys == [
        "it had network access: its effects elsewhere remain",
        "it ran without the sandbox: changes outside the workspace remain",
    ]
    assert world.undo().code == 0
    assert world.files() == {}


def test_f143_a_commit_of_the_plan_stays_and_that_is_said(tmp_path: Path) -> None:
    world = World(tmp_path, TRUSTING + "[plan]\ncommit = true\n")
    world.git("init", "-q")
    world.git("config", "user.email", "a@b.c")
    world.git("config", "user.name", "a")
    world.put("a", b"1\n")
    world.git("add", "a")
    world.git("commit", "-q", "-m", "first")
    world.plan()
    world.write("a", b"2\n")
    world.build()
    head = world.git("rev-parse", "HEAD")
    assert world.git("show", "HEAD:a") == b"2\n"
    (gap,) = world.ok("undo", "--dry-run")["not_covered"]
    assert gap == {"command": "git commit", "path": None, "why": "its commit remains"}
    assert world.undo().code == 0
    assert world.git("rev-parse", "HEAD") == head
    assert world.files()[b"a"] == text(b"1\n")


def test_g7_an_undo_of_its_own_takes_a_command_back(world: World) -> None:
    world.put("state", b"down\n")
    world.plan()
    world.write("migration", b"1\n")
    script(world, "cat migration; echo up > state; echo log > log", "--undo", "cp down state")
    world.write("down", b"down\n")
    world.build()
    assert world.files()[b"state"] == text(b"up\n")
    preview = world.ok("undo", "--dry-run")
    assert [row["kind"] for row in preview["operations"]] == ["run", "write", "write"]
    answer = world.undo()
    assert [row["result"] for row in answer.json["operations"]] == ["undone"] * 3
    assert answer.json["notes"] == [f"{STILL_DIFFERENT}: log."]
    assert world.files() == {b"state": text(b"down\n"), b"log": text(b"log\n")}


def test_f144_the_first_line_says_if_not_all_is_as_before(world: World) -> None:
    world.put("state", b"down\n")
    world.plan()
    world.ok("stage", "run", "--undo", "cp state 'the log'", "--", "sh", "-c", "echo up > state")
    world.build()
    preview = world.ok("undo", "--dry-run")
    assert world.run("undo", "--dry-run").out.decode().count("cp state 'the log'") == 1
    lines = world.run("undo", "--digest", preview["digest"]).out.decode().splitlines()
    assert lines[0] == "Done, but not everything was restored:"
    assert f"{STILL_DIFFERENT}: state." in lines


def test_f144_the_first_line_says_if_something_is_not_covered(world: World) -> None:
    world.plan()
    world.ok("stage", "run", "--network", "--", "sh", "-c", "echo 'v 2' > f")
    world.build()
    digest = world.ok("undo", "--dry-run")["digest"]
    lines = world.run("undo", "--digest", digest).out.decode().splitlines()
    assert lines[0] == "Done: all recorded changes were undone, except as listed below."
    (gap,) = [line for line in lines if line.startswith("Not covered: ")]
    assert gap.endswith("""($ sh -c 'echo '"'"'v 2'"'"' > f').""")


def test_law_7_what_is_not_covered_is_on_the_screen_before_the_yes(world: World) -> None:
    world.plan()
    script(world, "echo 1 > a", "--network", "--undo", "rm a")
    world.build()
    digest = world.ok("undo", "--dry-run")["digest"]
    terminal = Terminal(world, "undo")
    assert terminal.answer(digest[:8].encode() + b"\n").code == 0
    screen = SEQUENCE.sub(b"", terminal.screen).decode()
    for shown in ("## Not covered", "it had network access", "$ rm a", digest):
        assert shown in screen
    assert world.files() == {}


def test_g7_files_that_such_a_command_shares_with_the_plan_are_left_to_it(world: World) -> None:
    world.plan()
    world.write("a", b"1\n")
    script(world, "echo 2 >> a", "--undo", "true")
    world.build()
    preview = world.ok("undo", "--dry-run")
    assert [row["kind"] for row in preview["operations"]] == ["run"]
    assert preview["conflicts"][0]["reason"] == f"a {OWN_UNDO}"
    world.undo()
    assert world.files() == {b"a": text(b"1\n2\n")}


def test_law_6_an_undo_command_that_fails_waits_for_the_person(world: World) -> None:
    world.plan()
    world.write("a", b"1\n")
    script(world, "echo 2 > b", "--undo", "false")
    world.build()
    answer = world.undo()
    assert (answer.code, answer.json["outcome"]) == (6, "needs_you")
    assert world.files() == {b"a": text(b"1\n"), b"b": text(b"2\n")}
    assert world.ok("recover", "--accept")["outcome"] == "nothing"


def test_f144_what_a_failed_command_changed_is_taken_back_too(world: World) -> None:
    world.put("b", b"old\n")
    world.plan()
    world.write("a", b"1\n")
    script(world, "echo 2 > b; false")
    world.write("c", b"never\n")
    world.approve()
    assert world.run("build", "--json").code == 6
    assert world.ok("recover", "--accept")["outcome"] == "done"
    assert world.files() == {b"a": text(b"1\n"), b"b": text(b"2\n")}
    assert world.undo().code == 0
    assert world.files() == {b"b": text(b"old\n")}


def test_f144_what_two_attempts_of_a_command_changed_is_taken_back(world: World) -> None:
    world.put("b", b"old\n")
    world.plan()
    script(world, "echo more >> b; test -e go")
    world.approve()
    assert world.run("build", "--json").code == 6
    world.put("go", b"")
    assert world.ok("recover", "--resume")["outcome"] == "done"
    assert world.files()[b"b"] == text(b"old\nmore\nmore\n")
    changed = world.ok("runs", "show", run_of(world))["operations"][0]["command"]["changed"]
    assert [row["path"] for row in changed] == ["b", "b"]
    assert world.undo().code == 0
    assert world.files() == {b"b": text(b"old\n"), b"go": text(b"")}


def test_a_run_that_was_rolled_back_leaves_nothing_to_undo(world: World) -> None:
    world.put("b", b"old\n")
    world.plan()
    script(world, "echo 2 > b; false")
    world.approve()
    assert world.run("build", "--json").code == 6
    assert world.run("recover", "--roll-back", "--json").code == 1
    assert world.files() == {b"b": text(b"old\n")}
    assert world.no(1, "undo")["error"] == "not_found"


def test_f144_what_a_roll_back_had_to_leave_can_be_undone_later(world: World) -> None:
    world.put("b", b"old\n")
    world.plan()
    script(world, "echo 2 > b; echo 2 > c; false")
    world.approve()
    assert world.run("build", "--json").code == 6
    world.put("b", b"mine\n")
    assert world.run("recover", "--roll-back", "--json").code == 6
    assert world.run("runs", "delete", run_of(world), "--force").code == 1  # it is not over
    assert world.ok("recover", "--accept")["outcome"] == "done"
    assert world.files() == {b"b": text(b"mine\n")}
    preview = world.run("undo", "--dry-run", "--json", run_of(world))
    assert (preview.code, [row["path"] for row in preview.json["conflicts"]]) == (5, ["b"])
    world.put("b", b"2\n")
    assert world.undo().code == 0
    assert world.files() == {b"b": text(b"old\n")}


def test_f146_a_run_is_shown_with_what_its_command_said_and_changed(built: World) -> None:
    row = built.ok("runs", "show", run_of(built))["operations"][1]
    command = row["command"]
    assert (command["code"], command["cut"], command["output"]) == (0, "", "")
    assert [(c["path"], c["how"]) for c in command["changed"]] == [
        ("b", "gone"), ("a", "changed"), ("d/n", "new"),
    ]  # fmt: skip
    assert command["began"] < command["ended"]


def test_f92_secrets_in_what_a_command_said_are_masked(world: World) -> None:
    world.plan()
    token = "ghp_" + "a1B2" * 9
    script(world, f"echo {token[:10]}$X", "--env", f"X={token[10:]}")
    world.build()
    shown = world.run("runs", "show", run_of(world))
    assert token.encode() not in shown.out
    assert token not in str(world.ok("runs", "show", run_of(world))["operations"][0]["command"])
