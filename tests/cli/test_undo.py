"""Undo is a plan: previewed, agreed to by its own digest, and never touching anybody's work."""

import os

import pytest
from tests.cli.harness import Answer, World


@pytest.fixture
def built(world: World) -> World:
    """A run that created, changed, deleted and moved a file each."""
    world.put("changed", b"before\n", 0o755)
    world.put("deleted", b"deleted\n")
    world.put("moved", b"moved\n")
    world.put("bystander", b"mine\n")
    world.plan()
    world.write("created/new", b"created\n")
    world.ok("stage", "edit", "changed", "--find", "before", "--put", "after")
    world.ok("stage", "delete", "deleted")
    world.ok("stage", "move", "moved", "there")
    world.build()
    return world


def text(content: bytes, mode: int = 0o644) -> tuple[str, int, bytes]:
    return "file", mode, content


BEFORE = {
    b"changed": text(b"before\n", 0o755),
    b"deleted": text(b"deleted\n"),
    b"moved": text(b"moved\n"),
    b"bystander": text(b"mine\n"),
}
AFTER = {
    b"created": ("folder", 0, b""),
    b"created/new": text(b"created\n"),
    b"changed": text(b"after\n", 0o755),
    b"there": text(b"moved\n"),
    b"bystander": text(b"mine\n"),
}


def results(answer: Answer) -> list[str]:
    return [row["result"] for row in answer.json["operations"]]


def test_g6_undo_restores_everything_without_git(built: World) -> None:
    assert built.files() == AFTER
    assert not (built.root / ".git").exists()
    assert results(built.undo()) == ["undone"] * 4
    assert built.files() == BEFORE


def test_g6_a_preview_has_a_digest_and_changes_nothing(built: World) -> None:
    events = len(built.ok("log")["events"])
    preview = built.ok("undo", "--dry-run")
    assert built.ok("undo", "--dry-run") == preview
    assert preview["digest"] != built.ok("plan", "show")["digest"]
    rows = [{name: row[name] for name in row if name != "diff"} for row in preview["operations"]]
    assert rows[::-1] == built.ok("stage", "list")["operations"]
    assert built.files() == AFTER
    assert len(built.ok("log")["events"]) == events
    shown = built.run("undo", "--dry-run").out.decode()
    assert preview["digest"] in shown
    assert f"Next: assent undo {preview['run']} --digest {preview['digest']}" in shown


def test_g6_undo_of_an_undo_is_redo(built: World) -> None:
    first = built.ok("status")["run"]["run"]
    undone = built.undo()
    run = undone.json["run"]
    assert run != first
    redone = built.undo(run)
    assert results(redone) == ["undone"] * 4
    assert built.files() == AFTER
    again = built.ok("undo", "--dry-run")
    assert again["run"] == first
    assert built.undo().code == 0
    assert built.files() == BEFORE


def test_an_undo_plan_is_not_in_the_list(built: World) -> None:
    before = built.ok("plan", "list", "--all")
    built.undo()
    assert built.ok("plan", "list", "--all") == before
    assert built.ok("plan", "show")["name"] == "work"


def test_undo_twice_leaves_everything_alone(built: World) -> None:
    run = built.ok("status")["run"]["run"]
    built.undo(run)
    refused = built.no(1, "undo")
    assert refused["error"] == "not_found"
    second = built.run("undo", run, "--json")
    assert (second.code, second.json["outcome"]) == (5, "nothing")
    assert results(second) == ["conflict"] * 4
    assert built.files() == BEFORE


def test_undo_goes_back_run_by_run(world: World) -> None:
    runs = []
    for number in (b"1", b"2", b"3"):
        world.plan(f"plan{number.decode()}")
        world.write("a.txt", number)
        runs.append(world.build()["run"])
    for run, left in zip(runs[::-1], (b"2", b"1", None), strict=True):
        assert world.ok("undo", "--dry-run")["run"] == run
        assert world.undo().code == 0
        assert world.files() == ({} if left is None else {b"a.txt": text(left)})


def test_undo_of_a_named_run(world: World) -> None:
    runs = []
    for name in ("one", "two"):
        world.plan(name)
        world.write(f"{name}.txt", b"x\n")
        runs.append(world.build()["run"])
    assert world.undo(runs[0][:24]).code == 0
    assert world.files() == {b"two.txt": text(b"x\n")}
    assert world.no(1, "undo", "0", "--dry-run")["error"] == "not_found"
    assert world.no(1, "undo", "zz", "--dry-run")["error"] == "not_found"


def test_f142_what_changed_since_is_left_alone_and_listed(built: World) -> None:
    built.put("changed", b"and then by me\n", 0o755)
    built.put("created/mine", b"beside it\n")
    preview = built.ok("undo", "--dry-run")
    (conflict,) = preview["conflicts"]
    assert (conflict["path"], conflict["reason"]) == ("changed", "changed changed after the run")
    assert len(preview["operations"]) == 3
    answer = built.run("undo", "--digest", preview["digest"])
    assert answer.code == 1
    assert answer.out.startswith(b"Partly undone; the items below were skipped.\n")
    assert b"conflict     write   changed" in answer.out
    assert b"Skipped: changed changed after the run." in answer.out
    assert answer.out.endswith(f"Next: assent runs show {preview['run']}\n".encode())
    assert built.run("runs", "show", preview["run"]).code == 0
    assert built.files() == {
        **BEFORE,
        b"changed": text(b"and then by me\n", 0o755),
        b"created": ("folder", 0, b""),
        b"created/mine": text(b"beside it\n"),
    }


CONFLICTS = {
    "a created file was edited": ("created/new", b"created/new", b"mine\n"),
    "a moved file was edited": ("there", b"there", b"mine\n"),
    "a deleted file came back": ("deleted", b"deleted", b"mine\n"),
    "the old name is taken": ("moved", b"moved", b"mine\n"),
}


@pytest.mark.parametrize(("path", "kept", "content"), CONFLICTS.values(), ids=CONFLICTS)
def test_f142_nobody_elses_bytes_are_overwritten(
    built: World, path: str, kept: bytes, content: bytes
) -> None:
    built.put(path, content)
    answer = built.undo()
    assert (answer.code, answer.json["outcome"]) == (1, "partial")
    assert sorted(results(answer)) == ["conflict", "undone", "undone", "undone"]
    listed = built.ok("runs", "list")["runs"][0]
    assert (listed["kind"], listed["outcome"]) == ("undo", "partial")
    assert b"partial" in built.run("runs", "show", listed["run"]).out
    assert built.files()[kept] == text(content)
    assert built.files()[b"changed"] == BEFORE[b"changed"]


def test_f142_a_file_in_place_of_a_folder_that_must_come_back(world: World) -> None:
    world.put("folder/a", b"a\n")
    world.plan()
    world.ok("stage", "delete", "folder")
    world.build()
    world.put("folder", b"mine\n")
    answer = world.run("undo", "--json")
    assert (answer.code, answer.json["outcome"]) == (5, "nothing")
    assert world.files() == {b"folder": text(b"mine\n")}


def test_f142_a_folder_that_became_a_symlink_or_a_pipe_is_left_alone(world: World) -> None:
    for path in ("linked/a", "piped", "plain"):
        world.put(path, b"before\n")
    world.plan()
    for path in ("linked/a", "piped", "plain"):
        world.ok("stage", "edit", path, "--find", "before", "--put", "after")
    world.build()
    outside = world.base / "outside"
    os.rename(world.at("linked"), outside)
    world.link("linked", str(outside))
    os.unlink(world.at("piped"))
    os.mkfifo(world.at("piped"))
    answer = world.undo()
    assert (answer.code, answer.json["outcome"]) == (1, "partial")
    assert results(answer) == ["conflict", "conflict", "undone"]
    assert (outside / "a").read_bytes() == b"after\n"
    assert (world.root / "plain").read_bytes() == b"before\n"


def test_all_conflicting_is_nothing_and_5(built: World) -> None:
    for path in ("changed", "created/new", "deleted", "there"):
        built.put(path, b"mine\n")
    before = built.files()
    events = len(built.ok("log")["events"])
    preview = built.run("undo", "--dry-run", "--json")
    assert preview.code == 5
    assert preview.json["outcome"] == "nothing"
    assert (preview.json["digest"], preview.json["operations"]) == (None, [])
    assert len(preview.json["conflicts"]) == 4
    answer = built.run("undo", "--json")
    assert (answer.code, answer.json["outcome"], answer.err) == (5, "nothing", b"")
    assert results(answer) == ["conflict"] * 4
    assert built.files() == before
    assert len(built.ok("log")["events"]) == events


def test_undo_with_the_digest_of_another_moment_is_refused(built: World) -> None:
    digest = built.ok("undo", "--dry-run")["digest"]
    built.put("changed", b"mine\n")
    refused = built.no(5, "undo", "--digest", digest)
    assert (refused["error"], refused["next"]) == ("other_digest", "assent undo --dry-run")
    assert built.files()[b"created/new"] == text(b"created\n")


def git_state(world: World) -> dict[str, bytes]:
    """Everything of git's that an undo could touch."""
    return {
        " ".join(line): world.git(*line)
        for line in (
            ["status", "--porcelain", "--untracked-files=all"],
            ["rev-parse", "HEAD"],
            ["log", "--format=%H", "--all"],
            ["reflog"],
            ["stash", "list"],
            ["ls-files", "--stage"],
            ["diff"],
            ["diff", "--cached"],
        )
    }


def test_f143_commits_index_and_uncommitted_work_stay(repo: World) -> None:
    repo.put("stashed.txt", b"1\n")
    repo.git("add", "-A")
    repo.git("commit", "-q", "-m", "second")
    repo.put("stashed.txt", b"2\n")
    repo.git("stash")
    repo.plan()
    dirty = {"kept.txt": b"dirty\n", "untracked.txt": b"untracked\n", "staged.txt": b"staged\n"}
    for path, content in dirty.items():
        repo.put(path, content)
    repo.git("add", "staged.txt")
    repo.put("staged.txt", b"staged, then changed\n")
    before, files = git_state(repo), repo.files()
    repo.write("new.txt", b"new\n")
    repo.ok("stage", "edit", "untracked.txt", "--find", "untracked", "--put", "changed")
    repo.ok("stage", "delete", "stashed.txt")
    repo.build()
    assert git_state(repo) != before
    assert repo.undo().code == 0
    assert (git_state(repo), repo.files()) == (before, files)


def test_f143_commits_after_the_run_stay(repo: World) -> None:
    repo.plan()
    repo.write("new.txt", b"new\n")
    repo.build()
    repo.git("add", "new.txt")
    repo.git("commit", "-q", "-m", "keep it")
    head = repo.git("rev-parse", "HEAD")
    assert repo.undo().code == 0
    assert repo.git("rev-parse", "HEAD") == head
    assert repo.git("status", "--porcelain", "new.txt") == b" D new.txt\n"


def test_f143_undo_never_calls_git(built: World) -> None:
    trap = built.base / "bin"
    trap.mkdir()
    (trap / "git").write_text(f"#!/bin/sh\ntouch {built.base}/called\n", encoding="utf-8")
    (trap / "git").chmod(0o755)
    (built.root / ".git").mkdir()
    built.env["PATH"] = f"{trap}:{built.env['PATH']}"
    digest = built.ok("undo", "--dry-run")["digest"]
    assert built.process("undo", "--digest", digest).code == 0
    assert not (built.base / "called").exists()


def test_f144_the_report_names_what_was_restored_and_what_was_not(repo: World) -> None:
    """A file that git ignores is restored like any other; what was left is said."""
    repo.put(".gitignore", b"*.log\n")
    repo.put("ignored.log", b"before\n")
    repo.put("other.log", b"before\n")
    repo.plan()
    for path in ("ignored.log", "other.log"):
        repo.ok("stage", "edit", path, "--find", "before", "--put", "after")
    repo.build()
    repo.put("other.log", b"mine\n")
    answer = repo.undo()
    assert (answer.code, answer.json["outcome"]) == (1, "partial")
    assert results(answer) == ["undone", "conflict"]
    files = repo.files()
    assert (files[b"ignored.log"], files[b"other.log"]) == (text(b"before\n"), text(b"mine\n"))


def test_undo_of_a_discarded_plan(built: World) -> None:
    built.ok("plan", "delete", "--session", "tests")
    assert built.undo().code == 0
    assert built.files() == BEFORE


def test_a_file_that_was_only_touched_is_no_conflict(built: World) -> None:
    os.utime(built.at("changed"))
    assert results(built.undo()) == ["undone"] * 4
