"""What a person does while a command runs is named before a roll-back takes it, and after."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from tests.cli.harness import PROGRAM, World
from tests.support import forked_python

from assent.core.undo import attributed_text
from assent.render.status import RESTORED
from assent.sandbox.runner.bubblewrap import sandbox_unavailable

PATIENCE = 60
WAITS = "echo begun; until test -e go; do sleep 0.05; done; exit 1"


@pytest.fixture(autouse=True)
def _sandboxed() -> None:
    lack = sandbox_unavailable()
    if lack is not None:
        pytest.skip(lack.reason)


@contextmanager
def at_work(world: World) -> Iterator[list[str]]:
    """A build whose command waits until this is left; then what the build answered."""
    told: list[str] = []
    with forked_python.Popen(
        [*PROGRAM, "build"],
        cwd=world.root,
        env=world.env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert any("| begun" in line for line in iter(process.stdout.readline, ""))
        yield told
        world.put("go", b"")
        out, _ = process.communicate(timeout=PATIENCE)
        told.append(" ".join(out.split()))


def run_of(world: World) -> str:
    return str(world.ok("runs", "list")["runs"][0]["run"])


def halted(world: World, *scripts: tuple[str, ...]) -> str:
    """Builds a plan whose last command fails, and returns what is said about it."""
    for script in scripts:
        world.ok("stage", "run", *script[1:], "--script", script[0])
    world.approve()
    answer = world.run("build", "--json")
    assert answer.code == 6, answer
    return "\n".join(answer.json["notes"])


def test_g5_who_works_while_a_command_runs_reads_what_a_roll_back_would_take(world: World) -> None:
    world.put("notes", b"old\n")
    world.plan()
    world.ok("stage", "run", "--script", WAITS)
    world.approve()
    with at_work(world) as told:
        world.put("notes", b"an hour of work\n")
        world.put("mine.txt", b"mine\n")
    taken = "Changed since that command started, assumed to be its work: go, mine.txt, notes."
    aside = (
        "A rollback reverts all of these files, including changes of your own. Copy what you want "
        "to keep first."
    )
    assert taken in told[0]
    assert aside in told[0]
    notes = world.run("recover", "--json").json["notes"]
    assert taken in notes
    assert any(note.startswith(aside) for note in notes)


def test_g5_a_roll_back_names_what_it_put_back_and_where_it_went(world: World) -> None:
    world.put("notes", b"old\n")
    world.plan()
    halted(world, ("echo new > notes; echo mine > mine.txt; exit 1",))
    run = run_of(world)
    told = world.run("recover", "--roll-back").out.decode()
    assert told.startswith(RESTORED)
    assert (
        "Restored to the state before, including changes that may be your own: mine.txt, notes."
        in told
    )
    assert f"in spares/{run}.*." in told
    (folder,) = [p for p in (world.state / "assent/spares").glob(f"{run}.*") if p.is_dir()]
    assert {file.read_bytes() for file in folder.iterdir()} == {b"new\n", b"mine\n"}
    assert (world.root / "notes").read_bytes() == b"old\n"


def test_g5_of_many_files_some_are_named_and_the_run_shows_all(world: World) -> None:
    world.plan()
    told = halted(world, ("touch 1{0,1,2}{0,1,2,3,4,5,6,7,8,9}; exit 1",))
    run = run_of(world)
    rest = f"118, 119, and 10 more (`assent runs show {run}` lists all)."
    assert rest in told
    answer = world.run("recover", "--roll-back", "--json").json
    assert rest in "\n".join(answer["notes"])
    (operation,) = world.ok("runs", "show", run)["operations"]
    changed = [row["path"] for row in operation["command"]["changed"]]
    assert changed == [f"1{number:02}" for number in range(30)]


def test_g5_what_an_earlier_command_is_taken_to_have_changed_is_named_too(world: World) -> None:
    world.plan()
    told = halted(
        world, ("echo 1 > first",), ("echo 2 > own", "--undo", "rm own"), ("echo 3 > last; exit 1",)
    )
    assert attributed_text([b"first"], "$ echo 1 > first") in told
    assert attributed_text([b"last"], "that command") in told
    assert "own" not in told.replace("your own", "")


def test_f145_a_review_names_files_that_cannot_be_read(world: World) -> None:
    world.put("closed", b"precious\n")
    world.put("open", b"1\n")
    (world.root / "closed").chmod(0)
    (world.root / "open").chmod(0o600)
    world.plan()
    world.ok("stage", "run", "--", "true")
    told = " ".join(world.unprivileged("review").out.decode().split())
    assert (
        "Unreadable files are not recorded (closed). Undo does not restore what the command does "
        "to them." in told
    )
