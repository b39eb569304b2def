"""What a person sees after a crash: done, rolled back or needs you, and the way out of each."""

from tests.cli.harness import World, files_below
from tests.cli.killed_build import kill_build

BEFORE = {
    b"one": ("file", 0o644, b"old one\n"),
    b"two": ("file", 0o644, b"old two\n"),
}
AFTER = {
    b"one": ("file", 0o644, b"new one\n"),
    b"two": ("file", 0o644, b"new two\n"),
}


def two_files(world: World) -> None:
    """Approves a plan that replaces two files."""
    for name in ("one", "two"):
        world.put(name, f"old {name}\n".encode())
    world.plan()
    for name in ("one", "two"):
        world.write(name, f"new {name}\n".encode())
    world.approve()


def halted(world: World) -> dict[str, object]:
    """Leaves a run that only a person can decide about: both files changed in the crash."""
    two_files(world)
    kill_build(world, "rename", 1)
    world.put("one", b"mine one\n")
    world.put("two", b"mine two\n")
    answer = world.run("recover", "--json")
    assert answer.code == 6
    return answer.json


def results(answer: dict[str, object]) -> list[str]:
    operations = answer["operations"]
    assert isinstance(operations, list)
    return [operation["result"] for operation in operations]


def test_g5_killed_before_the_commit_is_rolled_back(world: World) -> None:
    two_files(world)
    kill_build(world, "write", 1)
    answer = world.run("recover", "--json")
    assert answer.code == 1
    assert answer.json["outcome"] == "rolled_back"
    assert results(answer.json) == ["not_started", "not_started"]
    assert world.files() == BEFORE
    shown = world.ok("plan", "show")
    assert (shown["state"], shown["approved"]) == ("AWAITING_APPROVAL", False)
    assert world.no(4, "build")["error"] == "spent"
    world.ok("approve", "--digest", shown["digest"])
    assert world.ok("build")["outcome"] == "done"
    assert world.files() == AFTER


def test_g5_killed_after_the_commit_is_done(world: World) -> None:
    for at in (0, 1):
        one = World(world.base / str(at))
        two_files(one)
        kill_build(one, "rename", at)
        answer = one.ok("recover")
        assert (answer["outcome"], results(answer)) == ("done", ["done", "done"])
        assert one.files() == AFTER
        assert one.ok("plan", "show")["state"] == "COMPLETED"
        assert one.ok("recover") == {"run": None, "outcome": "nothing", "operations": []}


def test_g5_a_run_that_needs_somebody_says_so_and_keeps_every_byte(world: World) -> None:
    answer = halted(world)
    assert answer["outcome"] == "needs_you"
    assert set(results(answer)) == {"conflict"}
    kept = [content for _, _, content in files_below(world.root).values()]
    assert {b"mine one\n", b"mine two\n", b"old one\n"} <= set(kept)
    assert world.ok("status")["run"]["outcome"] == "needs_you"
    assert world.ok("plan", "show")["state"] == "HALTED"


def test_reading_only_reports_an_unfinished_run(world: World) -> None:
    two_files(world)
    kill_build(world, "rename", 1)
    half = world.files()
    events = len(world.ok("log")["events"])
    status = world.ok("status")
    assert status["run"]["outcome"] is None
    assert status["plan"]["state"] == "EXECUTING"
    assert b"interrupted" in world.run("status").out
    assert b"Next: assent recover" in world.run("status").out
    for line in (["review"], ["diff"], ["log"], ["plan", "list"], ["plan", "show"]):
        assert world.run(*line).code == 0
    assert world.files() == half
    assert len(world.ok("log")["events"]) == events


def test_build_and_undo_settle_an_unfinished_run_first(world: World) -> None:
    two_files(world)
    kill_build(world, "rename", 1)
    interrupted = world.ok("status")["run"]
    answer = world.ok("build")  # takes the interrupted run up; that needs no second yes
    assert (answer["run"], answer["outcome"]) == (interrupted["run"], "done")
    assert world.files() == AFTER
    assert world.no(4, "build")["error"] == "spent"

    other = World(world.base / "other")
    two_files(other)
    kill_build(other, "rename", 1)
    assert other.run("undo", "--no-input").code == 4
    assert other.files() == AFTER


def test_build_and_undo_wait_for_the_person(world: World) -> None:
    halted(world)
    for line in (["build"], ["undo"]):
        refused = world.no(6, *line)
        assert (refused["error"], refused["next"]) == ("needs_you", "assent recover")
    answer = world.run("recover")
    assert answer.code == 6
    assert b"--resume, or --roll-back, or --accept" in answer.out


def test_the_person_accepts_what_is_there(world: World) -> None:
    halted(world)
    answer = world.ok("recover", "--accept")
    assert answer["outcome"] == "done"
    assert world.files()[b"one"] == ("file", 0o644, b"mine one\n")
    assert world.files()[b"two"] == ("file", 0o644, b"mine two\n")
    assert world.ok("plan", "show")["state"] == "COMPLETED"


def test_the_person_makes_room_and_rolls_back(world: World) -> None:
    halted(world)
    world.put("one", b"new one\n")
    answer = world.run("recover", "--roll-back", "--json")
    assert (answer.code, answer.json["outcome"]) == (1, "rolled_back")
    assert world.files()[b"one"] == ("file", 0o644, b"old one\n")
    assert world.files()[b"two"] == ("file", 0o644, b"mine two\n")


def test_the_person_makes_room_and_resumes(world: World) -> None:
    halted(world)
    world.put("one", b"new one\n")
    world.put("two", b"old two\n")
    assert world.ok("recover", "--resume")["outcome"] == "done"
    assert world.files() == AFTER


def test_a_way_out_needs_a_run_that_waits(world: World) -> None:
    for way in ("--resume", "--roll-back", "--accept"):
        assert world.ok("recover", way)["outcome"] == "nothing"
