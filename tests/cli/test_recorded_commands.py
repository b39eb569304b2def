"""F139, F145: what a plan's command did to files is put back by undo, without any repository."""

import os
from pathlib import Path

import pytest
from tests.cli.world import TRUSTING, World
from tests.sandbox.cell import needs_bubblewrap

pytestmark = needs_bubblewrap

BINARY = bytes(range(256)) * 40
DOES = """
echo changed > a.txt
printf '\\0\\1' > data.bin
rm -r old
mkdir -p made/deep && echo new > made/deep/file
ln -sf nowhere link
chmod +x script
mv moved renamed
echo words > "$(printf 'two\\nlines')"
"""


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(tmp_path, f"{TRUSTING}[undo]\nfile_mb = 1\n")
    world.put("a.txt", b"a\n")
    world.put("data.bin", BINARY)
    world.put("old/one", b"1")
    world.put("old/two", b"2", 0o600)
    world.put("script", b"#!/bin/sh\n")
    world.put("moved", b"m\n")
    world.put(b"not-\xff-text", b"x")
    world.link("link", "a.txt")
    return world


def test_f139_undo_restores_what_a_command_did_without_git(world: World) -> None:
    before = world.files()
    world.plan()
    world.ok("stage", "run", "--script", DOES)
    assert world.build()["outcome"] == "done"
    after = world.files()
    assert after[b"made/deep/file"][2] == b"new\n"
    assert after != before
    assert world.undo().code == 0
    assert world.files() == before


def test_f145_what_was_too_large_to_keep_is_named(world: World) -> None:
    world.put("large", b"x" * ((1 << 20) + 1))
    before = world.files()
    world.plan()
    world.ok("stage", "run", "--script", "echo small > large; echo b > a.txt")
    world.build()
    told = world.undo().json["not_covered"]
    assert [(each["path"], "undo.file_mb" in each["why"]) for each in told] == [("large", True)]
    after = world.files()
    assert after[b"a.txt"] == before[b"a.txt"]
    assert after[b"large"][2] == b"small\n"


def test_a_command_runs_where_and_with_what_its_plan_says(world: World) -> None:
    world.plan()
    line = (
        "--cwd",
        "old",
        "--env",
        "GREETING=hello",
        "--script",
        "pwd > seen; echo $GREETING >> seen",
    )
    world.ok("stage", "run", *line)
    world.build()
    seen = (world.root / "old/seen").read_text(encoding="utf-8").splitlines()
    assert seen == [os.path.realpath(world.root / "old"), "hello"]


def test_a_command_that_is_too_slow_is_ended_and_halts(world: World) -> None:
    world.plan()
    world.ok("stage", "run", "--timeout", "1", "--script", "echo begun > a.txt; sleep 600")
    world.approve()
    answer = world.run("build", "--json")
    assert (answer.code, answer.json["outcome"]) == (6, "needs_you")
    assert (world.root / "a.txt").read_bytes() == b"begun\n"
    world.run("recover", "--roll-back", "--json")
    assert (world.root / "a.txt").read_bytes() == b"a\n"
