"""F139, F144, F145, end to end: what is on record around a command is what a way back restores."""

from pathlib import Path

import pytest
from tests.cli.harness import TRUSTING, World

from assent.core.undo import CHANGES_UNKNOWN
from assent.render.status import RESTORED, RESTORED_EXCEPT
from assent.sandbox.runner.bubblewrap import sandbox_unavailable


@pytest.fixture(autouse=True)
def _sandboxed() -> None:
    lack = sandbox_unavailable()
    if lack is not None:
        pytest.skip(lack.reason)


def world_with(base: Path, config: str, files: dict[str, bytes]) -> World:
    world = World(base / "here", TRUSTING + config)
    for name, content in files.items():
        (world.root / name).parent.mkdir(parents=True, exist_ok=True)
        (world.root / name).write_bytes(content)
    world.plan()
    return world


def run(world: World, script: str) -> str:
    """Builds a plan with one command, and returns what people read about it."""
    world.ok("stage", "run", "--script", script)
    digest = world.ok("propose")["digest"]
    world.ok("approve", "--digest", digest)
    return world.run("build").out.decode()


def test_f139_sources_that_lie_where_plans_do_come_back(tmp_path: Path) -> None:
    world = world_with(tmp_path, '[plan]\ndir = "src"\n', {"src/main.py": b"main\n"})
    run(world, "rm src/main.py; echo evil > src/evil.py; exit 3")
    assert world.run("recover", "--roll-back").out.decode().startswith(RESTORED)
    assert (world.root / "src/main.py").read_bytes() == b"main\n"
    assert not (world.root / "src/evil.py").exists()


def test_f139_an_undo_reaches_them_too(tmp_path: Path) -> None:
    world = world_with(tmp_path, '[plan]\ndir = "src"\n', {"src/main.py": b"main\n"})
    run(world, "rm src/main.py; echo evil > src/evil.py")
    assert world.undo().code == 0
    assert (world.root / "src/main.py").read_bytes() == b"main\n"
    assert not (world.root / "src/evil.py").exists()


def test_f145_a_review_says_what_would_not_be_recorded(tmp_path: Path) -> None:
    files = {f"{number}.txt": b"1\n" for number in range(4)}
    world = world_with(tmp_path, "[undo]\nfiles = 2\n", files)
    world.ok("stage", "run", "--", "true")
    remarks = " ".join(world.ok("review")["operations"][0]["remarks"])
    assert "more files than undo.files records (2)" in remarks


def test_f145_a_review_counts_what_the_plan_makes_and_removes_before(tmp_path: Path) -> None:
    files = {f"{number}.txt": b"1\n" for number in range(3)}
    world = world_with(tmp_path, "[undo]\nfiles = 3\n", files)
    world.ok("stage", "run", "--", "true", "first")
    world.write("new.txt", b"new\n")
    world.ok("stage", "run", "--", "true", "second")
    world.ok("stage", "delete", "0.txt")
    world.ok("stage", "run", "--", "true", "third")
    digest = world.propose()
    rows = [row for row in world.ok("review")["operations"] if row["kind"] == "run"]
    told = [
        "(3). Undo does not restore what the command does to the others."
        in " ".join(row["remarks"])
        for row in rows
    ]
    assert told == [False, True, False]
    world.ok("approve", "--digest", digest)
    notes = [note for note in world.ok("build")["notes"] if "An undo will not cover" in note]
    assert len(notes) == 1
    assert "$ true second" in notes[0]


def test_f145_a_build_warns_and_what_fits_comes_back(tmp_path: Path) -> None:
    files = {f"{number}.txt": b"1\n" for number in range(4)}
    world = world_with(tmp_path, "[undo]\nfiles = 2\n", files)
    told = run(world, "rm *.txt")
    assert f"An undo will not cover this: {CHANGES_UNKNOWN}" in told
    world.undo()
    assert sorted(path.name for path in world.root.glob("*.txt")) == ["0.txt", "1.txt"]


def test_f145_what_is_ignored_does_not_count(tmp_path: Path) -> None:
    ignored = {f"out/{number}": b"1\n" for number in range(3)}
    files = {"a.txt": b"1\n", ".gitignore": b"out/\n", **ignored}
    world = world_with(tmp_path, "[undo]\nfiles = 4\n", files)
    told = run(world, "rm a.txt; exit 3")
    assert "Nothing was lost." in told
    assert world.run("recover", "--roll-back").out.decode().startswith(RESTORED)
    assert (world.root / "a.txt").exists()


def test_f145_a_command_that_makes_many_files_does_not_hide_what_it_took(tmp_path: Path) -> None:
    world = world_with(tmp_path, "[undo]\nfiles = 10\n", {"a.txt": b"1\n", "b.txt": b"1\n"})
    told = run(world, "rm a.txt; echo 2 > b.txt; mkdir n; touch n/{0,1,2,3}{0,1,2,3}; exit 3")
    assert "Nothing was lost" not in told
    told = world.run("recover", "--roll-back").out.decode()
    assert told.startswith(RESTORED_EXCEPT)
    assert (world.root / "a.txt").read_bytes() == (world.root / "b.txt").read_bytes() == b"1\n"


def test_f139_a_folder_that_was_there_stays_and_one_that_was_made_goes(tmp_path: Path) -> None:
    world = world_with(tmp_path, "", {"x": b"1\n"})
    (world.root / "logs").mkdir(0o700)
    run(world, "echo 1 > logs/a; mkdir more; echo 1 > more/a; exit 3")
    world.run("recover", "--roll-back")
    assert (world.root / "logs").stat().st_mode & 0o777 == 0o700
    assert sorted(path.name for path in world.root.iterdir()) == [".opencode", "logs", "x"]


def test_f139_an_undo_leaves_a_folder_that_was_there(tmp_path: Path) -> None:
    world = world_with(tmp_path, "", {"x": b"1\n"})
    (world.root / "logs").mkdir()
    run(world, "echo 1 > logs/a; mkdir -p more/deep; echo 1 > more/deep/a; chmod 700 logs")
    assert "logs: folder modes are not restored" in world.undo().out.decode()
    assert sorted(path.name for path in world.root.iterdir()) == [".opencode", "logs", "x"]
