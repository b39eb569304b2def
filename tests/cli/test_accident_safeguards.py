"""What must not happen by accident: a workspace, a lost copy, a forgotten run."""

import os
import subprocess
from pathlib import Path

import pytest
from tests.cli.harness import PROGRAM, World
from tests.cli.killed_build import kill_build
from tests.cli.test_recovery import halted, two_files
from tests.support import forked_python

from assent.core.run.rollback import CHANGED_AFTER_RUN


@pytest.mark.parametrize(
    "line", [["undo", "--dry-run"], ["undo"], ["recover"], ["status"], ["log"]]
)
def test_looking_around_makes_no_workspace(world: World, line: list[str]) -> None:
    world.run(*line)
    assert list(world.root.iterdir()) == []


def test_state_and_configuration_in_the_workspace_are_refused(world: World) -> None:
    world.env["XDG_STATE_HOME"] = str(world.root / ".local" / "state")
    world.env["HOME"] = str(world.root)
    world.plan()
    for path in (".local/state/assent/key", ".local/STATE/assent/log.db"):
        assert world.no(7, "stage", "write", path, "--from", "-", stdin=b"x")["error"] == "refused"
    assert world.no(7, "stage", "delete", ".local/state/assent")["error"] == "refused"


@pytest.mark.parametrize("path", [".git./config", ".git /x", "sub/git~1/config", ".GIT. ./x"])
def test_other_spellings_of_git_are_refused(world: World, path: str) -> None:
    world.plan()
    assert world.no(7, "stage", "write", path, "--from", "-", stdin=b"x")["error"] == "refused"


def test_g17_what_hides_in_the_text_is_a_risk_of_the_plan(world: World) -> None:
    world.plan(goal="left \u202e right")
    world.write("a", b"x\n")
    assert world.ok("review")["risks"] == ["hidden_text"]
    assert b"the plan text" in world.run("review").out


def test_contradictory_ways_are_a_usage_error(world: World) -> None:
    assert world.no(2, "recover", "--roll-back", "--accept")["error"] == "usage"


def test_everybody_may_stage_at_once(world: World) -> None:
    world.plan()
    lines = [[*PROGRAM, "stage", "write", f"f{n}", "--from", "-", "--json"] for n in range(8)]
    runs = [
        forked_python.Popen(
            line, cwd=world.root, env=world.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        for line in lines
    ]
    assert [run.communicate(b"x\n", 60) and run.returncode for run in runs] == [0] * 8
    staged = world.ok("stage", "list")["operations"]
    assert sorted(op["path"] for op in staged) == [f"f{n}" for n in range(8)]


def test_a_damaged_copy_stops_a_deletion(world: World) -> None:
    world.put("precious", b"only here\n")
    world.plan()
    world.ok("stage", "delete", "precious")
    world.approve()
    for folder, _, names in os.walk(world.state / "assent" / "blobs"):
        for name in names:
            blob = Path(folder, name)
            blob.write_bytes(blob.read_bytes().replace(b"only here\n", b"only her!\n"))
    assert world.no(1, "build")["error"] == "store"
    assert world.files() == {b"precious": ("file", 0o644, b"only here\n")}
    assert world.ok("plan", "show")["approved"] is True


def test_what_waits_is_named_every_time(world: World) -> None:
    halted(world)
    first, second = world.run("recover").out, world.run("recover").out
    assert CHANGED_AFTER_RUN.encode() in second
    assert first == second


def test_a_plan_that_is_completed_is_not_approved(world: World) -> None:
    two_files(world)
    digest = world.ok("plan", "show")["digest"]
    world.ok("approve", "--digest", digest)  # a second yes to the same digest
    world.build()
    assert world.ok("status")["plan"]["approved"] is False
    assert world.no(4, "build")["error"] == "spent"  # the second yes took the place of the first


def test_an_accepted_run_is_undone_as_far_as_it_was_done(world: World) -> None:
    halted(world)
    world.ok("recover", "--accept")
    answer = world.run("undo", "--dry-run", "--json").json
    assert {row["path"] for row in answer["conflicts"]} <= {"one", "two"}
    assert answer["operations"] == []


def test_a_build_says_what_became_of_an_interrupted_run(world: World) -> None:
    two_files(world)
    kill_build(world, "write", 1)
    answer = world.run("build", "--json")
    assert (answer.code, answer.json["outcome"]) == (1, "rolled_back")
    assert world.no(4, "build")["error"] == "spent"
