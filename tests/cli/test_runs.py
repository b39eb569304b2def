"""`assent runs`: what was done here, what is kept of it, and giving that up (F146)."""

import os
import re
import sqlite3
import time
from pathlib import Path

import pytest
from tests.cli.harness import TRUSTING, World
from tests.cli.terminal import Terminal

from assent.render.lines import more_lines

KB = 1000


def build(world: World, name: str, files: dict[str, bytes]) -> str:
    world.plan(name)
    for path, content in files.items():
        world.write(path, content)
    return str(world.build()["run"])


def listed(world: World) -> list[tuple[str, int, int]]:
    """Newest first: the run, what only it needs, and what others need, too."""
    return [(row["run"], row["own"], row["shared"]) for row in world.ok("runs", "list")["runs"]]


def blobs(world: World) -> int:
    """The bytes of all kept contents."""
    folder = world.state / "assent" / "blobs"
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def age(world: World, hours: float = 2) -> None:
    then = time.time() - hours * 3600
    for path in (world.state / "assent" / "blobs").rglob("*"):
        if path.is_file():
            os.utime(path, (then, then))


def test_f146_runs_are_listed_with_what_they_keep(world: World) -> None:
    first = build(world, "one", {"a": b"1" * 100})
    second = build(world, "two", {"a": b"2" * 50})
    assert world.undo().code == 0
    (undo, *rows) = world.ok("runs", "list")["runs"]
    assert (undo["kind"], undo["plan"], undo["outcome"]) == ("undo", "two", "done")
    assert [row["run"] for row in rows] == [second, first]
    assert [row["kind"] for row in rows] == ["run", "run"]
    assert [row["undone"] for row in rows] == [True, False]
    assert [row["operations"] for row in rows] == [1, 1]
    # Both contents stand on two sides each: of the runs, and of the undo.
    assert [(row["own"], row["shared"]) for row in rows] == [(0, 150), (0, 100)]
    shown = world.run("runs", "list").out.decode()
    assert shown.startswith("RUN ")
    assert f"{first[:12]}  run   " in shown
    assert shown.splitlines()[2].split()[2:] == ["just", "now", "undone", "1", "0", "B", "two"]
    assert re.search(
        r"began +20\d\d-\d\d-\d\d \d\d:\d\d \(", world.run("runs", "show", first).out.decode()
    )


def test_f146_the_list_fits_a_terminal(world: World) -> None:
    name = "a_plan_whose_name_is_far_too_long_for_any_table_of_eighty_columns"
    build(world, name, {"a": b"1" * 1_234_567})
    title, row, *_ = world.run("runs", "list").out.decode().splitlines()
    assert max(len(title), len(row)) == 80
    assert row.partition("MB")[2].startswith("  a_plan_whose")
    assert row.endswith("…")


def test_f146_a_run_is_shown_with_every_operation(world: World) -> None:
    world.put("b", b"old")
    world.plan("one")
    world.write("a", b"1")
    world.ok("stage", "delete", "b")
    run = world.build()["run"]
    row = world.ok("runs", "show", run[:24])
    assert [(o["number"], o["kind"], o["about"], o["result"]) for o in row["operations"]] == [
        (1, "write", "a", "done"),
        (2, "delete", "b", "done"),
    ]
    assert (row["own"], row["shared"], row["given_up"]) == (4, 0, None)
    shown = world.run("runs", "show", run).out.decode()
    assert "  1  " in shown
    assert "done         write   a\n" in shown
    assert world.no(1, "runs", "show", "zz")["error"] == "not_found"


def test_f146_what_a_run_keeps_is_given_up_and_removed(world: World) -> None:
    first = build(world, "one", {"a": b"1" * 100 * KB})
    second = build(world, "two", {"a": b"2" * 50 * KB})
    third = build(world, "three", {"a": b"3" * 10 * KB})
    age(world)
    answer = world.ok("runs", "delete", first, "--force")
    assert answer["runs"] == [first]
    assert answer["freed"] < 100 * KB  # run two brings it back
    assert world.ok("runs", "delete", second, "--force")["freed"] >= 100 * KB
    assert blobs(world) < 100 * KB
    assert [row[1:] for row in listed(world)] == [(60 * KB, 0), (0, 0), (0, 0)]
    assert world.undo().code == 0
    assert world.files() == {b"a": ("file", 0o644, b"2" * 50 * KB)}
    refused = world.no(1, "undo", first)
    assert refused["error"] == "not_found"
    assert "pruned" in refused["message"]
    assert refused["next"] == "assent runs list"
    assert world.no(1, "undo", "--dry-run")["error"] == "not_found"
    assert world.no(1, "runs", "delete", first, "--force")["error"] == "not_found"
    assert third == listed(world)[1][0]


def test_f146_the_copies_of_a_run_that_was_given_up_go_too(world: World) -> None:
    run = build(world, "one", {"a": b"1"})
    copies = list(world.root.glob(f".opencode/assent/plans/*/backups/{run}.json"))
    assert len(copies) == 1
    world.ok("runs", "delete", run, "--force")
    assert not copies[0].exists()
    assert world.ok("log")["events"][-1]["kind"] == "runs_deleted"


def test_f146_without_a_yes_nothing_is_given_up(world: World) -> None:
    run = build(world, "one", {"a": b"1"})
    refused = world.no(4, "runs", "delete", run)
    assert refused["next"] == f"assent runs delete {run} --force"
    assert world.undo().code == 0


@pytest.mark.parametrize(("typed", "code"), [(b"yes\n", 0), (b"y\n", 4), (b"\n", 4)])
def test_f146_on_a_terminal_a_person_is_asked(world: World, typed: bytes, code: int) -> None:
    run = build(world, "one", {"a": b"1"})
    terminal = Terminal(world, "runs", "delete", run)
    terminal.wait_for(b"Type yes: ")
    terminal.type(typed)
    assert terminal.end().code == code
    assert bool(world.ok("runs", "list")["runs"][0]["given_up"]) == (code == 0)


def test_f146_a_long_list_says_how_many_runs_it_does_not_show(world: World) -> None:
    build(world, "one", {"a": b"1"})
    build(world, "two", {"b": b"22"})
    every = world.ok("runs", "list")
    assert (len(every["runs"]), every["more"], every["kept"]) == (2, 0, 3)
    part = world.ok("runs", "list", "--limit", "1")
    assert part == {**every, "runs": every["runs"][:1], "more": 1}  # what is kept is of all runs
    text = world.run("runs", "list", "--limit", "1").out.decode()
    (told,) = more_lines(1, "run", "assent runs list")
    assert f"{told.text}\n" in text
    assert world.ok("runs", "list", "--limit", "1", "--all") == every


def test_f146_runs_that_nobody_knows_and_no_runs_at_all(world: World) -> None:
    assert world.ok("runs", "list") == {"runs": [], "more": 0, "kept": 0, "limit": 2048 << 20}
    assert world.no(2, "runs", "delete")["error"] == "usage"
    run = build(world, "one", {"a": b"1"})
    assert world.no(2, "runs", "delete", run, "--unused")["error"] == "usage"
    assert world.no(1, "runs", "delete", "zz", "--force")["error"] == "not_found"


def test_f146_what_nothing_needs_goes_without_giving_up_a_run(world: World) -> None:
    world.plan("one")
    world.write("a", b"1" * 100 * KB)
    world.write("a", b"2" * 10 * KB)
    run = world.build()["run"]
    assert world.ok("runs", "delete", "--unused")["freed"] == 0  # it is too young
    age(world)
    assert world.ok("runs", "delete", "--unused")["freed"] >= 100 * KB
    assert listed(world) == [(run, 10 * KB, 0)]
    assert world.undo().code == 0


def test_f146_a_plan_that_waits_keeps_everything_it_needs(world: World) -> None:
    world.put("b", b"old\n")
    world.plan("waiting")
    world.write("b", b"new\n")
    world.approve()
    build(world, "other", {"a": b"1"})
    age(world)
    world.ok("runs", "delete", listed(world)[0][0], "--force")
    world.ok("plan", "use", "waiting")
    assert world.ok("build")["outcome"] == "done"
    assert world.undo().code == 0
    assert world.files()[b"b"] == ("file", 0o644, b"old\n")


def test_f146_another_workspace_with_the_same_contents_loses_nothing(world: World) -> None:
    other = World.__new__(World)
    other.__dict__ |= {**world.__dict__, "root": world.base / "other"}
    other.root.mkdir()
    for each in (world, other):
        each.put("a", b"old\n")
        each.plan()
        each.write("a", b"new\n")
        each.build()
    age(world)
    world.ok("runs", "delete", listed(world)[0][0], "--force")
    age(world)
    world.ok("runs", "delete", "--unused")
    assert other.undo().code == 0
    assert other.files() == {b"a": ("file", 0o644, b"old\n")}


def test_f146_a_damaged_log_lets_nothing_go(world: World) -> None:
    build(world, "one", {"a": b"1"})
    with sqlite3.connect(world.state / "assent" / "log.db") as connection:
        connection.execute("UPDATE events SET at = 'then' WHERE position = 3")
    connection.close()
    age(world)
    before = blobs(world)
    refused = world.no(1, "runs", "delete", "--unused")
    assert refused["next"] == "assent log --verify"
    assert blobs(world) == before


KEEP = TRUSTING + "[undo]\nkeep_mb = 1\n"


def test_f146_every_build_gives_up_what_is_over_the_limit(tmp_path: Path) -> None:
    world = World(tmp_path, KEEP)
    runs = [build(world, "one", {"f1": os.urandom(700 * KB)})]
    assert listed(world) == [(runs[0], 700 * KB, 0)]
    for name in ("two", "three"):
        runs.append(build(world, name, {f"f-{name}": os.urandom(700 * KB)}))
        # Only the newest has room beside no other: it stays, and none of those before it.
        assert [row[1] for row in listed(world)] == [700 * KB] + [0] * (len(runs) - 1)
    answer = world.ok("runs", "list")
    assert (answer["kept"], answer["limit"]) == (700 * KB, 1 << 20)
    assert "700.0 kB kept for undo, limit 1.0 MB (undo.keep_mb)." in listing(world)


def test_f146_what_many_runs_share_is_weighed_once(tmp_path: Path) -> None:
    world = World(tmp_path, KEEP)
    large = [os.urandom(400 * KB) for _ in range(2)]
    runs = [build(world, f"p{n}", {"f": large[n % 2]}) for n in range(10)]
    answer = world.ok("runs", "list")
    assert [row["given_up"] for row in answer["runs"]] == [None] * len(runs)
    assert answer["kept"] == 800 * KB
    assert "runs_weighed" in [event["kind"] for event in world.ok("log")["events"]]


def test_f146_the_newest_run_stays_however_large_it_is(tmp_path: Path) -> None:
    world = World(tmp_path, KEEP)
    run = build(world, "one", {"a": os.urandom(1500 * KB)})
    assert listed(world) == [(run, 1500 * KB, 0)]
    assert world.undo().code == 0


def listing(world: World) -> str:
    return world.run("runs", "list").out.decode()


def test_f146_the_oldest_runs_are_given_up_when_all_are_too_large(tmp_path: Path) -> None:
    world = World(tmp_path, KEEP)
    runs = [build(world, f"p{n}", {f"f{n}": os.urandom(400 * KB)}) for n in range(8)]
    rows = {row["run"]: row["given_up"] for row in world.ok("runs", "list")["runs"]}
    assert [bool(rows[run]) for run in runs] == [True] * 6 + [False] * 2
    age(world, 30)
    build(world, "last", {"last": b"x"})
    assert blobs(world) < 1100 * KB
    assert world.undo(runs[-1]).code == 0
    assert "pruned" in world.no(1, "undo", runs[0])["message"]


def test_f146_without_a_limit_everything_stays(tmp_path: Path) -> None:
    world = World(tmp_path, TRUSTING + "[undo]\nkeep_mb = 0\n")
    for n in range(9):
        build(world, f"p{n}", {f"f{n}": b"%d" % n})
    assert not any(row["given_up"] for row in world.ok("runs", "list")["runs"])


def test_f146_what_a_command_did_not_change_is_kept_only_while_it_runs(world: World) -> None:
    world.put("large", os.urandom(300 * KB))
    world.put("small", b"1\n")
    world.plan("one")
    world.ok("stage", "run", "--script", "echo 2 > small")
    run = world.build()["run"]
    assert blobs(world) > 300 * KB
    age(world)
    assert world.ok("runs", "delete", "--unused")["freed"] >= 300 * KB
    assert listed(world) == [(run, 4, 0)]
    assert world.undo().code == 0
    assert world.files()[b"small"] == ("file", 0o644, b"1\n")


def test_f146_a_pruned_run_leaves_none_of_its_content_and_the_others_all_of_theirs(
    world: World,
) -> None:
    """Small contents of many runs share a file, from which each goes with its run."""
    world.put("a", b"a secret\n")
    run = build(world, "one", {"a": b"1"})
    for n in range(2, 5):
        build(world, f"p{n}", {"b": b"%d of b\n" % n})
    state = world.state / "assent"

    def everything() -> bytes:
        return b"".join(path.read_bytes() for path in state.rglob("*") if path.is_file())

    assert b"a secret\n" in everything()
    age(world)
    world.ok("runs", "delete", run, "--force")
    assert b"a secret\n" not in everything()
    for n in (3, 2):
        assert world.undo().code == 0
        assert world.files()[b"b"] == ("file", 0o644, b"%d of b\n" % n)
