"""`assent waiting`: one list of what waits for a person, each row with the command that decides."""

import shlex
from pathlib import Path
from typing import Any

import pytest
from tests.adversarial.harness import Stage
from tests.cli.harness import TRUSTING, World
from tests.cli.scripts import MODEL, PRESENT, Talker, turn, write

WRITE: dict[str, Any] = {
    "calls": [{"tool": "write", "args": {"path": "b.txt", "content": "new\n"}}]
}
TASK: dict[str, Any] = {"calls": [{"tool": "task", "args": {"prompt": "Do", "agent": "general"}}]}
LATER = ("--mode", "ask", "--ask-later")
PROSE = "---\nscope:\n  files: [src/*]\n---\n# Greet\n\n- [ ] Write the greeting\n"
BY_HAND = b"# Rename it\n\nBy hand.\n"


def waiting(world: World) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = world.ok("waiting")["waiting"]
    return rows


def do(world: World, command: str, *more: str) -> None:
    """Types a command of the list."""
    program, *words = shlex.split(command)
    assert program == "assent"
    world.ok(*words, *more)


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path, TRUSTING)


def test_f150_where_nothing_waits_it_says_so(world: World) -> None:
    answer = world.run("waiting")
    assert (answer.code, answer.out) == (0, b"Nothing is waiting for you.\n")
    assert waiting(world) == []


def test_f150_f95_questions_of_children_and_plans_are_one_list(stage: Stage) -> None:
    children = {"general": [WRITE, {"text": "Written."}]}
    stage.play(TASK, {"text": "One."}, children=children, options=LATER)
    stage.plan("rename", goal="Rename it")
    stage.write("a.txt", b"a\n")
    digest = stage.propose()
    question, plan = waiting(stage)
    assert (question["kind"], question["depth"]) == ("question", 1)
    [asked] = stage.ok("questions", "list")["questions"]
    assert (question["id"], question["digest"]) == (asked["id"], asked["digest"])
    assert question["session"] == asked["slug"]
    assert question["commands"] == [f"assent questions answer {asked['id']}"]
    known = stage.ok("plan", "show")
    assert {key: plan[key] for key in ("kind", "session", "name", "digest", "operations")} == {
        "kind": "plan", "session": "tests", "name": "rename", "digest": digest, "operations": 1,
    }  # fmt: skip
    assert plan["preview"][-1] == "1. create a.txt"
    assert plan["commands"] == [
        f"assent approve --plan {known['plan_id']}",
        f"assent reject --plan {known['plan_id']} --note 'WHY'",
    ]
    assert plan["age_s"] >= 0


def test_f150_the_list_ends_each_row_with_what_decides_it(world: World) -> None:
    world.plan("rename")
    world.ok(
        "plan", "write", "-", stdin=b"---\nscope:\n  files: [a*]\n---\n# A\n\nB \x1b[2J.\nC\nD\n"
    )
    world.write("a.txt", b"a\n")
    world.propose()
    [row] = waiting(world)
    lines = world.run("waiting").out.decode().splitlines()
    assert lines[0].startswith("Plan rename is ready for review (")
    assert lines[0].endswith(" ago)")
    assert lines[1].split("  ")[:2] == ["session tests", "1 operation"]
    assert lines[2:6] == ["│ # A", "│ B <U+001B>[2J.", "│ C", "│ 1. create a.txt"]
    assert lines[6] == f"Show all: assent review --plan {row['plan_id']}"
    assert lines[7:9] == [f"  {command}" for command in row["commands"]]
    assert lines[-1] == "1 item waiting."


def test_f150_what_is_decided_leaves_the_list(world: World) -> None:
    world.plan("rename")
    world.write("a.txt", b"a\n")
    digest = world.propose()
    world.plan("other")
    do(world, waiting(world)[0]["commands"][0], "--digest", digest)
    [approved] = waiting(world)
    assert approved["title"] == "Plan rename is approved, not built"
    do(world, approved["commands"][0])
    assert waiting(world) == []
    assert world.files()[b"a.txt"][2] == b"a\n"


def test_f150_a_rejected_plan_waits_no_longer(world: World) -> None:
    world.plan("rename")
    world.ok("plan", "write", "-", stdin=BY_HAND)
    world.propose()
    do(world, waiting(world)[0]["commands"][1])
    assert waiting(world) == []


def test_f150_a_plan_whose_file_was_deleted_does_not_wait(world: World) -> None:
    world.plan("rename")
    world.ok("plan", "write", "-", stdin=BY_HAND)
    world.propose()
    world.text().unlink()
    assert waiting(world) == []


def test_f150_a_run_that_halted_comes_first_with_the_ways_on(world: World) -> None:
    world.plan("first")
    world.ok("plan", "write", "-", stdin=BY_HAND)
    world.propose()
    world.plan("second")
    world.ok("stage", "run", "--script", "exit 3")
    world.approve()
    assert world.run("build").code == 6
    run, plan = waiting(world)
    assert (run["kind"], run["name"], plan["name"]) == ("run", "second", "first")
    assert run["title"] == "A run of plan second stopped and needs your decision"
    assert run["commands"] == [
        "assent recover --resume", "assent recover --roll-back", "assent recover --accept",
    ]  # fmt: skip
    do(world, run["commands"][2])
    assert [row["kind"] for row in waiting(world)] == ["plan"]


def test_f150_a_build_by_a_model_that_stopped_waits(talker: Talker) -> None:
    world = talker.world
    config = f'model = "{MODEL}"\n' + world.config.read_text("utf-8")
    world.config.write_text(config, encoding="utf-8")
    planned = (turn("A plan.", ("write_plan", {"text": PROSE})), turn("Here.", PRESENT))
    first = turn("Writing.", write("src/hello.txt", "hello\n"))
    talker.script(*planned, first)
    digest = str(talker.json("Greet", code=3)["digest"])
    assert world.run("approve", "--digest", digest, "--build").code == 1  # the script is over
    [build] = waiting(world)
    assert (build["kind"], build["digest"]) == ("build", digest)
    talker.script(*planned, first, turn("The request that failed."), turn("All done."))
    do(world, build["commands"][0])
    assert waiting(world) == []


def test_f150_secrets_are_masked_in_previews(world: World) -> None:
    world.plan("rename")
    token = "ghp_" + "a1" * 18
    world.ok("plan", "write", "-", stdin=f"# Use {token}\n".encode())
    world.propose()
    assert token not in str(waiting(world))
    assert token not in world.run("waiting").out.decode()
