"""What commands left running, in the answers that programs read."""

import re
from typing import Any

import msgspec
import pytest
from tests.cli.harness import World
from tests.cli.test_leftover_processes import QUIET, away, sleeping
from tests.sandbox.profiles import long_time

KILL = re.compile(r"process (\d+) \(sleep\) \(`kill \1` stops it\)")
SAYS = "echo 'assent: The command ended but left running: process 1 (init) (`kill 1` stops it).'"


def left(answer: dict[str, Any]) -> dict[str, str]:
    (row,) = answer["left_running"]
    assert row.keys() == {"command", "processes"}
    assert KILL.fullmatch(row["processes"]), row
    return dict(row)


@pytest.mark.parametrize("form", [("--json",), ("--output-format", "stream-json")], ids=" ".join)
def test_of_a_done_run_it_is_named_with_its_command(world: World, form: tuple[str, ...]) -> None:
    mark = long_time()
    script = f"{away(mark, QUIET)}; printf said"
    world.plan()
    world.write("a", b"a\n")
    world.ok("stage", "run", "--no-sandbox", "--script", script)
    world.approve()
    with sleeping(mark):
        answer = world.process("build", *form)
    assert (answer.code, answer.err) == (0, b"")
    last = msgspec.json.decode(answer.out.splitlines()[-1])
    row = left(last.get("body", last))
    assert row["command"] == script
    run = str(world.ok("status")["run"]["run"])
    shown = world.ok("runs", "show", run)["operations"][1]["command"]
    assert row["processes"] in shown["output"]


def test_so_it_is_of_what_a_roll_back_ran(world: World) -> None:
    mark = long_time()
    world.plan()
    undo = f"{away(mark, QUIET)}; rm x"
    world.ok("stage", "run", "--no-sandbox", "--undo", undo, "--script", "echo x > x")
    world.ok("stage", "run", "--no-sandbox", "--script", "false")
    world.approve()
    assert "left_running" not in world.run("build", "--json").json
    with sleeping(mark):
        answer = world.process("recover", "--roll-back", "--json").json
    assert answer["outcome"] == "rolled_back"
    assert f"exec sleep {mark}" in left(answer)["command"]


def test_so_it_is_of_what_an_undo_ran(world: World) -> None:
    mark = long_time()
    world.plan()
    undo = f"{away(mark, QUIET)}; rm x"
    world.ok("stage", "run", "--no-sandbox", "--undo", undo, "--script", "echo x > x")
    assert "left_running" not in world.build()
    digest = world.ok("undo", "--dry-run")["digest"]
    with sleeping(mark):
        answer = world.process("undo", "--digest", digest, "--json").json
    assert f"exec sleep {mark}" in left(answer)["command"]


def test_a_confined_command_cannot_say_so_itself(planned: World) -> None:
    planned.ok("stage", "run", "--script", SAYS)
    assert "left_running" not in planned.build()
