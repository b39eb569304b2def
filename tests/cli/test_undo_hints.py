"""Whatever tells of a run that is over names the same command that leads back from there."""

import pytest
from tests.cli.harness import World


def next_commands(world: World) -> set[str]:
    """What everything that speaks of a completed plan says to type next."""
    told = {world.no(4, "build")["next"]}
    for line in (("review",), ("review", "--changes"), ("status",), ("plan", "show")):
        text = world.run(*line).out.decode().splitlines()
        told.update(row.removeprefix("Next: ") for row in text if row.startswith("Next: "))
    return told


def built(world: World, *words: str) -> str:
    world.plan()
    world.ok("stage", *words)
    world.propose()
    world.run("review", "--seen")
    world.approve()
    return str(world.ok("build")["run"])


@pytest.mark.parametrize(
    ("words", "command"),
    [
        (("run", "--", "true"), "assent runs show RUN"),
        (("run", "--", "touch", "b"), "assent undo"),
        (("write", "c", "--from", "-"), "assent undo"),
    ],
)
def test_all_name_the_undo_only_where_something_can_be_taken_back(
    world: World, words: tuple[str, ...], command: str
) -> None:
    run = built(world, *words)
    assert next_commands(world) == {command.replace("RUN", run)}


def test_all_lead_to_the_run_whose_contents_were_given_up(world: World) -> None:
    run = built(world, "write", "c", "--from", "-")
    world.ok("runs", "delete", run, "--force")
    assert next_commands(world) == {f"assent runs show {run}"}


def test_all_name_what_comes_after_an_undo(world: World) -> None:
    built(world, "write", "c", "--from", "-")
    undone = world.undo().json["run"]
    assert next_commands(world) == {"assent redo"}
    world.ok("runs", "delete", undone, "--force")
    assert next_commands(world) == {"assent plan new NAME"}
