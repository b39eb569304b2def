"""`assent stage from`: what differs in a copy of the workspace becomes exact operations."""

import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.cli.harness import World, files_below
from tests.cli.terminal import Terminal

FILES = {
    "kept": b"kept\n",
    "src/changed": b"old\n",
    "src/tool": b"#!/bin/sh\n",
    "gone/deep/file": b"gone\n",
    "old name": b"moved as it is\n",
}


@pytest.fixture
def copy(world: World) -> Path:
    """A workspace with a plan, and a copy of it beside, in which somebody worked."""
    for path, content in FILES.items():
        world.put(path, content)
    world.link("link", "kept")
    other = world.base / "copy"
    shutil.copytree(world.root, other, symlinks=True)
    world.plan()
    (other / "src" / "changed").write_bytes(b"new\n")
    (other / "src" / "tool").chmod(0o755)
    (other / "new").mkdir()
    (other / "new" / "file").write_bytes(b"fresh\n")
    (other / "link").unlink()
    (other / "link").symlink_to("src")
    shutil.rmtree(other / "gone")
    (other / "old name").rename(other / "new" / "name")
    return other


def operations(answer: dict[str, Any]) -> list[tuple[str, str, str | None]]:
    return sorted((row["kind"], row["path"], row["to"] or "") for row in answer["operations"])


def test_new_and_changed_files_are_staged_and_nothing_is_deleted(world: World, copy: Path) -> None:
    before = world.files()
    answer = world.ok("stage", "from", "../copy")
    assert operations(answer) == [
        ("write", "link", ""),
        ("write", "new/file", ""),
        ("write", "new/name", ""),
        ("write", "src/changed", ""),
        ("write", "src/tool", ""),
    ]
    assert (answer["alike"], answer["skipped"]) == (1, [])
    assert world.files() == before


def test_with_delete_the_workspace_becomes_like_the_copy(world: World, copy: Path) -> None:
    answer = world.ok("stage", "from", str(copy), "--delete")
    assert operations(answer) == [
        ("delete", "gone/deep/file", ""),
        ("move", "old name", "new/name"),
        ("write", "link", ""),
        ("write", "new/file", ""),
        ("write", "src/changed", ""),
        ("write", "src/tool", ""),
    ]
    before = world.files()
    world.build()
    assert world.files() == files_below(copy)
    assert world.undo().code == 0
    assert world.files() == before


def test_only_what_was_asked_for(world: World, copy: Path) -> None:
    answer = world.ok("stage", "from", "../copy", "--delete", "src/tool", "gone")
    assert operations(answer) == [("delete", "gone/deep/file", ""), ("write", "src/tool", "")]
    assert (
        "exists neither in the source folder nor in the workspace"
        in world.no(1, "stage", "from", "../copy", "no")["message"]
    )


def test_it_is_compared_with_the_draft_on_top(world: World, copy: Path) -> None:
    world.write("src/changed", b"new\n")
    world.ok("stage", "from", "../copy", "src/changed")
    assert world.ok("stage", "from", "../copy", "src/changed")["alike"] == 1
    world.ok("stage", "from", "../copy", "--delete")
    assert world.ok("stage", "from", "../copy", "--delete")["operations"] == []
    answer = world.run("stage", "from", "../copy", "--delete")
    assert b"the files already match" in answer.out


def test_what_is_ignored_or_not_the_persons_is_left_out(world: World, copy: Path) -> None:
    world.put(".gitignore", b"*.log\nbuild/\n")
    world.put("here.log", b"log\n")
    world.put("build/here", b"x")
    world.put("nested/.git/HEAD", b"ref: refs/heads/main\n")
    world.put("nested/file", b"x")
    for path in ("there.log", "build/there", ".git/config", "sub/.git", "sub/file", "nested/new"):
        (copy / path).parent.mkdir(exist_ok=True)
        (copy / path).write_bytes(b"x")
    (copy / ".opencode" / "plans").mkdir(parents=True)
    (copy / ".opencode" / "plans" / "p.md").write_bytes(b"x")
    (copy / ".opencode" / "own.json").write_bytes(b"{}")
    for part in ("objects", "refs"):
        (copy / "bare" / part).mkdir(parents=True)
    (copy / "bare" / "HEAD").write_bytes(b"x")
    os.mkfifo(copy / "pipe")
    answer = world.ok("stage", "from", "../copy", "--delete")
    assert {(row["path"], row["why"]) for row in answer["skipped"]} == {
        ("there.log", "ignored"), ("here.log", "ignored"), ("build", "ignored"), (".git", "git"),
        ("sub", "repository"), ("nested", "repository"), ("bare", "repository"), ("pipe", "odd"),
        (".opencode/plans", "ours"), (".opencode/assent", "ours"), (".opencode/.gitignore", "ours"),
    }  # fmt: skip
    touched = {row["path"] for row in answer["operations"]}
    assert touched == {
        ".gitignore", ".opencode/own.json", "gone/deep/file", "link", "new/file", "old name",
        "src/changed", "src/tool",
    }  # fmt: skip
    told = world.run("stage", "from", "../copy").out
    assert b"Skipped 3: a separate repository." in told


@pytest.mark.parametrize("place", [".", "src", "..", "self", "missing", "kept", ""])
def test_a_folder_that_cannot_be_compared_is_refused(world: World, copy: Path, place: str) -> None:
    (world.base / "self").symlink_to("project")
    code = {"missing": 1, "kept": 2, "": 2}.get(place, 7)
    named = "../self" if place == "self" else place
    world.no(code, "stage", "from", named)
    assert world.ok("stage", "list")["operations"] == []


def test_a_file_and_a_folder_change_places_only_with_delete(world: World, copy: Path) -> None:
    (copy / "kept").unlink()
    (copy / "kept").mkdir()
    (copy / "kept" / "inside").write_bytes(b"x")
    shutil.rmtree(copy / "src")
    (copy / "src").write_bytes(b"a file now\n")
    assert world.no(1, "stage", "from", "../copy")["error"] == "impossible"
    world.ok("stage", "from", "../copy", "--delete")
    world.build()
    assert world.files() == files_below(copy)


def test_only_whether_it_can_be_run_counts_of_a_mode(world: World, copy: Path) -> None:
    (copy / "kept").chmod(0o600)
    (copy / "new" / "file").chmod(0o700)
    world.ok("stage", "from", "../copy", "kept", "new/file")
    world.build()
    files = world.files()
    assert (files[b"kept"][1], files[b"new/file"][1]) == (0o644, 0o755)


def test_on_a_terminal_it_says_what_takes_its_time_and_only_there(world: World, copy: Path) -> None:
    terminal = Terminal(world, "stage", "from", "../copy", shared=("stderr",))
    assert terminal.end().code == 0
    line = "Comparing with the files in ../copy …"
    assert terminal.screen.decode() == f"{line}\r\x1b[K"
    world.ok("stage", "clear")
    assert world.run("stage", "from", "../copy").err == b""
    silent = Terminal(world, "stage", "from", "../copy", "--json", shared=("stderr",))
    assert (silent.end().code, silent.screen) == (0, b"")
