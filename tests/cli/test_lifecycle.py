"""The life of a plan as the command line sees it: every command in every state."""

import pytest
from tests.cli.harness import World
from tests.cli.killed_build import kill_build

# What each command exits with in each state. 0 and 1 are the table of the lifecycle; 3, 4 and 6
# say why a build cannot start.
COMMANDS: dict[str, tuple[str, ...]] = {
    "write": ("plan", "write", "-"),
    "stage": ("stage", "write", "b.txt", "--from", "-"),
    "clear": ("stage", "clear"),
    "propose": ("propose",),
    "approve": ("approve", "--digest", "DIGEST"),
    "reject": ("reject", "--note", "No"),
    "build": ("build",),
    "delete": ("plan", "delete", "--plan", "work"),
}
CODES: dict[str, dict[str, int]] = {
    "DRAFTING": {
        "write": 0, "stage": 0, "clear": 0, "propose": 0, "approve": 1, "reject": 1, "build": 3,
        "delete": 0,
    },
    "AWAITING_APPROVAL": {
        "write": 0, "stage": 0, "clear": 0, "propose": 0, "approve": 0, "reject": 0, "build": 3,
        "delete": 0,
    },
    "EXECUTING": {
        "write": 1, "stage": 1, "clear": 1, "propose": 1, "approve": 1, "reject": 1, "build": 0,
        "delete": 1,
    },
    "HALTED": {
        "write": 1, "stage": 1, "clear": 1, "propose": 1, "approve": 1, "reject": 1, "build": 6,
        "delete": 0,
    },
    "COMPLETED": {
        "write": 1, "stage": 1, "clear": 1, "propose": 1, "approve": 1, "reject": 1, "build": 4,
        "delete": 0,
    },
    "DISCARDED": {
        "write": 1, "stage": 1, "clear": 1, "propose": 1, "approve": 1, "reject": 1, "build": 3,
        "delete": 1,
    },
}  # fmt: skip
PAIRS = [(state, command) for state in CODES for command in COMMANDS]


def bring(world: World, state: str) -> str:
    """Makes a plan, brings it into a state, and returns its digest if it has one."""
    for path in ("one", "two"):
        world.put(path, b"old\n")
    world.plan()
    for path in ("one", "two"):
        world.write(path, b"new\n")
    if state == "DRAFTING":
        return "0" * 64
    if state == "AWAITING_APPROVAL":
        return world.propose()
    if state == "DISCARDED":
        world.ok("plan", "delete", "--session", "tests")
        return "0" * 64
    digest = world.approve()
    if state == "COMPLETED":
        world.ok("build")
        return digest
    kill_build(world, "rename", 1)
    if state == "HALTED":
        world.put("one", b"mine\n")
        world.put("two", b"mine\n")
        assert world.run("recover").code == 6
    return digest


@pytest.mark.parametrize(("state", "command"), PAIRS, ids=map(" ".join, PAIRS))
def test_f55_every_command_in_every_state(world: World, state: str, command: str) -> None:
    digest = bring(world, state)
    assert world.ok("plan", "show")["state"] == state
    line = [digest if word == "DIGEST" else word for word in COMMANDS[command]]
    wanted = CODES[state][command]
    before = world.ok("plan", "show"), world.ok("stage", "list")
    if wanted == 0:
        world.ok(*line, stdin=b"# Text\n")
        return
    refused = world.no(wanted, *line, stdin=b"# Text\n")
    assert refused["next"]
    if wanted == 1:
        assert refused["error"] in ("illegal_step", "not_found")
        assert (world.ok("plan", "show"), world.ok("stage", "list")) == before


def test_reading_works_in_every_state(world: World) -> None:
    for state in CODES:
        one = World(world.base / state)
        bring(one, state)
        for line in (
            ["plan", "show"], ["plan", "history"], ["review"], ["diff"], ["diff", "--live"],
            ["stage", "list"], ["status"], ["log"],
        ):  # fmt: skip
            assert one.run(*line).code == 0, (state, line)
            one.ok(*line)


def test_discarding_a_halted_plan_leaves_its_run_to_be_decided(world: World) -> None:
    bring(world, "HALTED")
    world.ok("plan", "delete", "--plan", "work")
    assert world.no(6, "undo")["error"] == "needs_you"
    assert world.ok("recover", "--accept")["outcome"] == "done"
    assert world.ok("recover")["outcome"] == "nothing"
