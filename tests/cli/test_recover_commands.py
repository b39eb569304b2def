"""What a person sees where a command of a plan failed, and the three ways on, in the sandbox."""

from tests.cli.harness import World

START = {b"in.txt": ("file", 0o644, b"in\n"), b"log.txt": ("file", 0o644, b"first\n")}
FAILS = "echo more >> log.txt && mkdir made && echo x > made/out && test -e wanted"


def halted(world: World) -> list[str]:
    """Builds a write, a command that fails, and a write; returns what became of each."""
    world.put("in.txt", b"in\n")
    world.put("log.txt", b"first\n")
    world.plan()
    world.write("in.txt", b"new\n")
    world.ok("stage", "run", "--script", FAILS)
    world.write("last.txt", b"last\n")
    world.approve()
    answer = world.run("build", "--json")
    assert (answer.code, answer.json["outcome"]) == (6, "needs_you")
    return results(answer.json)


def results(answer: dict[str, object]) -> list[str]:
    operations = answer["operations"]
    assert isinstance(operations, list)
    return [operation["result"] for operation in operations]


def test_g5_a_failed_command_is_told_with_three_ways_on(world: World) -> None:
    assert halted(world) == ["done", "failed", "not_started"]
    told = world.run("recover").out.decode()
    for way in ("--resume", "--roll-back", "--accept"):
        assert f"assent recover {way}: " in told
    assert "exit code 1" in told
    assert world.no(6, "build")["next"] == "assent recover"


def test_g5_a_failed_command_can_be_taken_back_with_everything_before_it(world: World) -> None:
    halted(world)
    answer = world.run("recover", "--roll-back", "--json")
    assert (answer.code, answer.json["outcome"]) == (1, "rolled_back")
    assert results(answer.json) == ["undone", "failed", "not_started"]
    assert world.files() == START
    shown = world.ok("plan", "show")
    assert (shown["state"], shown["approved"]) == ("AWAITING_APPROVAL", False)
    assert world.no(4, "build")["error"] == "spent"


def test_g5_a_failed_command_runs_again_when_the_person_says_so(world: World) -> None:
    halted(world)
    world.put("wanted", b"")
    (world.root / "made" / "out").unlink()
    (world.root / "made").rmdir()
    assert world.ok("recover", "--resume")["outcome"] == "done"
    assert world.files()[b"log.txt"][2] == b"first\nmore\nmore\n"
    assert world.files()[b"last.txt"][2] == b"last\n"


def test_g5_a_failed_command_can_be_accepted_as_it_is(world: World) -> None:
    halted(world)
    left = world.files()
    answer = world.ok("recover", "--accept")
    assert (answer["outcome"], results(answer)) == ("done", ["done", "failed", "not_started"])
    assert world.files() == left
    assert world.ok("plan", "show")["state"] == "COMPLETED"
    (row,) = world.ok("runs", "list")["runs"]
    assert (row["outcome"], row["accepted"]) == ("done", True)
    assert " accepted " in world.run("runs", "list").out.decode()
