"""The structure and the steps of a plan on the command line: shown, flagged, followed."""

from pathlib import Path
from typing import Any

import pytest
from tests.cli.harness import World
from tests.cli.machines import Machines
from tests.cli.scripts import MODEL, PRESENT, Talker, turn, write

TEXT = """\
# Greet people

## Goal

A file that greets.

## Files

- `hello.txt` is new
- `old.txt` is removed

## Write

- [ ] 1.1 Write `hello.txt`
- [ ] 1.2 Remove `old.txt` (after 1.1)

## Check

- [ ] 2.1 Look at it (op 3)
- [ ] 2.2 Tell people (after 2.1)

## Rollback

`assent undo`

## Verification

- [ ] `hello.txt` says hello
"""
CYCLE = TEXT.replace("(op 3)", "(after 2.2) (op 9)")


def drafted(world: World, text: str = TEXT, command: str = "true") -> None:
    """Makes a plan with this text, two operations on files, and a command."""
    world.put("old.txt", b"old\n")
    world.plan("greet")
    world.ok("plan", "write", "-", stdin=text.encode())
    world.write("hello.txt", b"hello\n")
    world.ok("stage", "delete", "old.txt")
    world.ok("stage", "run", "--", command)


def states(world: World) -> dict[str, str]:
    rows = world.ok("plan", "show")["steps"]
    assert rows == world.ok("review")["steps"]
    return {row["id"]: row["state"] for row in rows}


def steps_line(world: World, *command: str) -> str:
    """Returns how a command tells the progress to a person."""
    lines = world.run(*command).out.decode().splitlines()
    (line,) = [line for line in lines if line.startswith("steps ")]
    return line.removeprefix("steps").strip()


def test_f24_the_structure_of_a_plan_is_in_its_json(world: World) -> None:
    drafted(world)
    wanted = {
        "title": "Greet people",
        "overview": "A file that greets.",
        "steps": ["1.1", "1.2", "2.1", "2.2"],
        "files": ["hello.txt", "old.txt"],
        "risks": None,
        "tests": "- [ ] `hello.txt` says hello",
        "rollback": "`assent undo`",
        "open_questions": None,
        "success_criteria": None,
        "references": None,
        "missing": [],
    }
    assert world.ok("plan", "show")["structure"] == wanted
    assert world.ok("propose")["structure"] == wanted
    assert world.ok("review")["structure"] == wanted
    assert world.ok("plan", "use", "greet")["structure"] == wanted


def test_f24_what_is_missing_is_flagged_and_not_refused(world: World) -> None:
    world.plan("bare")
    world.ok("plan", "write", "-", stdin=b"Just do it.\n")
    shown = world.ok("plan", "show")
    assert shown["structure"]["missing"] == ["title", "steps", "files", "verification"]
    assert (shown["steps"], shown["progress"]) == ([], None)
    world.write("a.txt", b"a\n")
    digest = world.propose()
    review = world.ok("review")
    assert review["risks"] == ["no_verification", "no_steps"]
    assert review["structure"]["missing"] == ["title", "steps", "verification"]
    lines = world.run("review").out.decode().splitlines()
    assert "The text lists no steps." in lines
    assert "Risks: none found in 1 operation" in lines
    assert world.ok("waiting")["waiting"][0]["risks"] == 0  # hints are not counted
    world.ok("approve", "--digest", digest)
    assert world.ok("build")["outcome"] == "done"


def test_f27_verification_or_acceptance_criteria_are_asked_for(world: World) -> None:
    drafted(world)
    world.propose()
    assert world.ok("review")["risks"] == []
    for without in (TEXT.partition("## Verification")[0], TEXT.replace("Verification", "Remarks")):
        world.ok("plan", "write", "-", stdin=without.encode())
        world.propose()
        assert world.ok("review")["risks"] == ["no_verification"]
    accepted = TEXT.replace("Verification", "Acceptance criteria")
    world.ok("plan", "write", "-", stdin=accepted.encode())
    world.propose()
    assert world.ok("review")["risks"] == []


def test_f27_a_plan_by_goal_and_operations_alone_is_not_flagged(world: World) -> None:
    world.plan("work")
    world.write("a.txt", b"a\n")
    digest = world.propose()
    assert world.ok("review")["risks"] == []
    world.ok("approve", "--digest", digest)
    world.ok("build")
    undo = world.ok("undo", "--dry-run")
    assert not {"structure", "steps"} & undo.keys()  # its text is generated
    assert b"no_verification" not in world.run("undo", "--dry-run").out


def test_f25_steps_follow_a_run_and_its_undo(world: World) -> None:
    drafted(world)
    digest = world.propose()
    assert set(states(world).values()) == {"pending"}
    assert steps_line(world, "status") == "0 of 4 completed; next: 1.1"
    world.ok("approve", "--digest", digest)
    assert world.ok("build")["outcome"] == "done"
    done = {"1.1": "completed", "1.2": "completed", "2.1": "completed", "2.2": "pending"}
    assert states(world) == done
    assert steps_line(world, "status") == "3 of 4 completed; next: 2.2"
    assert steps_line(world, "plan", "show") == "3 of 4 completed; next: 2.2"
    progress = world.ok("status")["plan"]["progress"]
    assert progress == world.ok("review")["progress"]
    assert (progress["total"], progress["completed"], progress["ids"]["next"]) == (4, 3, ["2.2"])
    assert world.text().read_text("utf-8") == TEXT  # what was approved stays as it is
    assert world.ok("review")["digest"] == digest
    assert world.undo().code == 0
    assert states(world)["1.1"] == states(world)["1.2"] == "pending"


def test_f25_a_step_that_failed_says_so_until_it_is_rolled_back_or_accepted(world: World) -> None:
    drafted(world, command="false")
    world.approve()
    assert world.run("build", "--json").code == 6
    stopped = {"1.1": "completed", "1.2": "completed", "2.1": "failed", "2.2": "pending"}
    assert states(world) == stopped
    assert steps_line(world, "status") == "2 of 4 completed; failed: 2.1"
    world.run("recover", "--roll-back")
    back = {"1.1": "pending", "1.2": "pending", "2.1": "failed", "2.2": "pending"}
    assert states(world) == back
    world.ok("plan", "write", "-", stdin=TEXT.encode() + b"\nOnce more.\n")
    assert set(states(world).values()) == {"pending"}  # another plan


def test_f25_an_excluded_operation_skips_its_step_and_numbers_stay(world: World) -> None:
    drafted(world)
    world.propose()
    digest = world.ok("approve", "--without", "2", "--dry-run")["digest"]
    world.ok("approve", "--without", "2", "--digest", digest)
    assert states(world)["1.2"] == "skipped"
    world.ok("build")
    skipped = {"1.1": "completed", "1.2": "skipped", "2.1": "completed", "2.2": "pending"}
    assert states(world) == skipped
    assert steps_line(world, "status") == "2 of 4 completed; 1 skipped; next: 2.2"
    assert [row["operations"] for row in world.ok("review")["steps"]] == [[1], [], [2], []]


def test_f25_a_cycle_and_unknown_references_are_flagged(world: World) -> None:
    drafted(world, CYCLE)
    world.propose()
    review = world.ok("review")
    assert review["risks"] == ["step_order"]
    stuck = "can never start: the steps it waits for wait for each other"
    assert [row["problems"] for row in review["steps"]] == [
        [], [], [stuck, "op 9: unknown operation"], [stuck],
    ]  # fmt: skip
    assert f"    {stuck}" in world.run("review").out.decode().splitlines()


def test_f25_a_checked_box_completes_no_step_whose_operations_have_not_run(world: World) -> None:
    text = TEXT.replace("- [ ] 1.1", "- [x] 1.1").replace("- [ ] 2.2", "- [x] 2.2")
    drafted(world, text.replace("(op 3)", "(after 02.2) (op 3)"))
    world.propose()
    review = world.ok("review")
    assert [(row["state"], row["problems"]) for row in review["steps"]] == [
        ("pending", ["its box is checked, but its operations have not run"]),
        ("pending", []),
        ("pending", []),
        ("completed", []),
    ]
    assert review["risks"] == ["step_order"]
    assert review["progress"]["ids"]["next"] == ["1.1"]
    world.approve()
    world.ok("build")
    review = world.ok("review")
    assert [(row["state"], row["problems"]) for row in review["steps"]] == [("completed", [])] * 4
    assert review["risks"] == []


def test_f26_steps_have_a_score_and_a_risk(world: World) -> None:
    drafted(world)
    world.write("package.json", b"{}\n" * 300)
    world.write(".github/workflows/ci.yml", b"on: push\n")
    text = TEXT + "\n## Later\n- [ ] 3 Edit package.json and .github/workflows/ci.yml\n"
    world.ok("plan", "write", "-", stdin=text.replace("(op 3)", "(op 3, 1)").encode())
    world.propose()
    rated = ("id", "score", "complexity", "risk", "operations")
    assert [tuple(row[key] for key in rated) for row in world.ok("review")["steps"]] == [
        ("1.1", 7, "simple", "low", [1]),
        ("1.2", 17, "simple", "high", [2]),
        ("2.1", 17, "simple", "medium", [1, 3]),
        ("2.2", 0, "simple", "low", []),
        ("3", 77, "complex", "high", [4, 5]),
    ]
    lines = world.run("plan", "show").out.decode().splitlines()
    assert "  ○ 1.1 Write `hello.txt` (pending, complexity 7 of 100, low risk)" in lines


def test_f25_steps_of_a_text_plan_follow_the_todos(world: World) -> None:
    talker = Talker(world)
    config = f'model = "{MODEL}"\n' + world.config.read_text("utf-8")
    world.config.write_text(config, encoding="utf-8")
    text = "---\nscope: {files: [src/*]}\n---\n" + TEXT.replace(" (op 3)", "")
    words = ["1.1 Write `hello.txt`", "1.2 Remove `old.txt` (after 1.1)", "2.1 Look at it"]
    marks = ["completed", "cancelled", "in_progress"]
    pairs = zip(words, marks, strict=True)
    todo: dict[str, Any] = {"todos": [{"content": word, "status": mark} for word, mark in pairs]}
    talker.script(
        turn("A plan.", ("write_plan", {"text": text})),
        turn("Here.", PRESENT),
        turn("Writing.", write("src/hello.txt", "hello\n"), ("todo", todo)),
        turn("All done."),
    )
    digest = talker.json("Greet", code=3)["digest"]
    assert set(states(world).values()) == {"pending"}
    world.ok("approve", "--digest", digest, "--build")
    assert states(world) == {
        "1.1": "completed", "1.2": "skipped", "2.1": "in_progress", "2.2": "pending",
    }  # fmt: skip
    told = "1 of 4 completed; 1 skipped; in progress: 2.1"
    assert steps_line(world, "status") == told


def test_f24_a_plan_that_travels_has_its_structure_elsewhere_too(tmp_path: Path) -> None:
    machines = Machines(tmp_path)
    machines.plan()
    machines.planner.ok("plan", "write", "-", stdin=TEXT.encode())
    machines.pack()
    here = machines.planner.ok("review")
    there = machines.person.ok("review", str(machines.file))
    assert there["structure"] == here["structure"]
    assert there["structure"]["title"] == "Greet people"
    assert [row["id"] for row in there["steps"]] == ["1.1", "1.2", "2.1", "2.2"]


@pytest.mark.parametrize("command", [("plan", "show"), ("review",), ("status",)])
def test_a_plan_of_hostile_markdown_is_shown(world: World, command: tuple[str, ...]) -> None:
    world.plan("odd")
    odd = b"```\n# never closed\n- [ ] 1 x\n" + b"\xff\x00- [ ] \x1b[31m(after (after\n" * 20
    world.ok("plan", "write", "-", stdin=b"# T\n- [ ] 1 \x1b[2J\xe2\x80\xae (after 1)\n" + odd)
    assert world.ok(*command)
    told = world.run(*command).out
    assert b"\x1b" not in told
    assert "\u202e".encode() not in told
