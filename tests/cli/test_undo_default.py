"""Which run `assent undo` is about if nobody names one, and what a build says about that."""

import pytest
from tests.cli.harness import World


def run_command(world: World, *words: str) -> str:
    """Builds a plan that only runs a command."""
    world.plan("command")
    world.ok("stage", "run", *words)
    return str(world.build()["run"])


@pytest.fixture
def written(world: World) -> str:
    """A run that wrote a file."""
    world.plan("write")
    world.write("a", b"1\n")
    return str(world.build()["run"])


def last(world: World, *arguments: str) -> str:
    return world.run(*arguments).out.decode().splitlines()[-1]


def test_f139_a_command_that_changed_nothing_is_passed_over(world: World, written: str) -> None:
    run_command(world, "--", "true")
    preview = world.ok("undo", "--dry-run")
    assert (preview["run"], [row["path"] for row in preview["operations"]]) == (written, ["a"])
    assert world.undo().code == 0
    assert world.files() == {}
    assert world.no(1, "undo")["message"] == "No run to undo."


def test_a_build_that_leaves_nothing_to_undo_does_not_advise_it(world: World, written: str) -> None:
    world.plan("command")
    world.ok("stage", "run", "--", "true")
    world.approve()
    said = world.run("build").out.decode().splitlines()
    run = world.ok("runs", "list")["runs"][0]["run"]
    assert run != written
    assert said[-1] == f"Next: assent runs show {run}"
    assert last(world, "status") == f"Next: assent runs show {run}"
    assert f"Next: assent runs show {run}" in world.run("plan", "show").out.decode()
    assert world.ok("runs", "show", run)["operations"][0]["command"]["code"] == 0


@pytest.mark.parametrize("words", [("--", "touch", "b"), ("--undo", "true", "--", "true")])
def test_a_command_that_can_be_taken_back_is_not_passed_over(
    world: World, written: str, words: tuple[str, ...]
) -> None:
    world.plan("command")
    world.ok("stage", "run", *words)
    world.approve()
    assert last(world, "build") == last(world, "status") == "Next: assent undo"
    preview = world.ok("undo", "--dry-run")
    assert preview["run"] != written
    assert len(preview["operations"]) == 1
    assert world.undo().code == 0
    assert world.ok("undo", "--dry-run")["run"] == written


def test_what_no_undo_covers_is_named_and_after_it_the_run_before(
    world: World, written: str
) -> None:
    world.git("init", "-q")
    world.put(".gitignore", b"*.log\n")
    run = run_command(world, "--script", "echo new > build.log")
    preview = world.ok("undo", "--dry-run")
    assert (preview["run"], preview["outcome"]) == (run, "nothing")
    assert [gap["path"] for gap in preview["not_covered"]] == ["build.log"]
    assert preview["next"] == world.ok("undo")["next"] == [f"assent undo {written}"]
    told = world.run("undo").out.decode().splitlines()
    assert told[1].startswith("not covered: build.log: git ignores it")
    assert told[-2:] == ["Nothing to undo.", f"Next: assent undo {written}"]
    assert "next" not in world.ok("undo", run)
    assert world.undo(written).code == 0
    assert b"a" not in world.files()
    assert "next" not in world.ok("undo")


def test_what_somebody_put_back_already_leads_to_the_run_before(world: World, written: str) -> None:
    run = run_command(world, "--", "touch", "b")
    (world.root / "b").unlink()
    preview = world.ok("undo", "--dry-run")
    assert (preview["run"], preview["operations"]) == (run, [])
    assert preview["next"] == [f"assent undo {written}"]


def test_of_a_named_plan_no_other_run_is_named(world: World, written: str) -> None:
    run_command(world, "--no-sandbox", "--", "true")
    plan = str(world.ok("plan", "show")["plan_id"])
    assert world.ok("undo")["next"] == [f"assent undo {written}"]
    assert "next" not in world.ok("undo", "--plan", plan)
