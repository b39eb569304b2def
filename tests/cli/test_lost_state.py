"""State that is lost in the middle of a run: its slots are named, and nothing builds over them."""

import os
import shutil
from typing import Any

import msgspec
import pytest
from tests.cli.harness import World
from tests.cli.killed_build import kill_build
from tests.cli.scripts import Talker, turn, write

from assent.core.digest import sha256

STAGE = ".opencode/assent/stage"
LOST = ".opencode/assent/lost+found"
RUN = "01m7jyc2k8nx06xxefq8gqv5yp"  # of nobody

OLD = {"a.txt": b"old a\n", "b.txt": b"old b\n", "gone.txt": b"gone\n", "from.txt": b"moved\n"}


def lose_all(world: World) -> None:
    shutil.rmtree(world.state / "assent")


def lose_log(world: World) -> None:
    for file in (world.state / "assent").glob("log.db*"):
        file.unlink()


@pytest.fixture(params=[lose_all, lose_log])
def lost(world: World, request: pytest.FixtureRequest) -> World:
    """A build died after it took two files away and replaced one; then its state was lost."""
    for path, content in OLD.items():
        world.put(path, content)
    world.plan()
    world.write("a.txt", b"new a\n")
    world.write("b.txt", b"new b\n")
    world.write("new/c.txt", b"new c\n")
    world.ok("stage", "delete", "gone.txt")
    world.ok("stage", "move", "from.txt", "to.txt")
    world.approve()
    kill_build(world, "rename", 3)
    request.param(world)
    return world


def contents(world: World) -> dict[bytes, bytes]:
    return {path: found[2] for path, found in world.files().items() if found[0] == "file"}


def kept(world: World) -> set[bytes]:
    """Every content below Assent's own folder that was moved aside."""
    return {file.read_bytes() for file in (world.root / LOST).rglob("*") if file.is_file()}


def approved_plan(world: World) -> str:
    world.plan("two")
    world.write("x.txt", b"x\n")
    return world.propose()


def test_status_and_recover_list_every_slot_with_its_file_and_size(lost: World) -> None:
    before = contents(lost)
    assert before == {b"a.txt": b"new a\n", b"b.txt": b"old b\n"}
    answer = lost.run("recover", "--json")
    assert answer.code == 6
    rows = answer.json["slots"]
    assert lost.ok("status")["slots"] == rows
    assert answer.json["outcome"] == "needs_you"
    assert answer.json["next"] == ["assent recover --roll-back", "assent recover --accept"]
    assert {(row["path"], row["holds"], row["size"]) for row in rows} == {
        ("a.txt", "old", 6),
        ("b.txt", "new", 6),
        ("new/c.txt", "new", 6),
        ("gone.txt", "old", 5),
        ("from.txt", "old", 6),
    }
    assert all((lost.root / row["slot"]).is_file() for row in rows)
    for line in ("status", "recover"):
        told = lost.run(line).out.decode()
        assert all(row["slot"] in told for row in rows)
        assert "5 slots of a run missing from the log" in told
        assert "assent recover" in told.splitlines()[-1]
    assert contents(lost) == before


def test_a_build_names_them_also_where_no_plan_is_left(lost: World) -> None:
    error = lost.no(6, "build")
    assert error["next"] == "assent recover"
    assert "5 slots of a run missing from the log" in error["message"]


def test_nothing_is_changed_over_them(lost: World) -> None:
    digest = approved_plan(lost)
    before = contents(lost)
    error = lost.no(6, "approve", "--build", "--digest", digest)
    assert error["error"] == "needs_you"
    assert error["next"] == "assent recover"
    assert "5 slots of a run missing from the log" in error["message"]
    assert lost.ok("status")["plan"]["approved"] is False
    lost.ok("approve", "--digest", digest)
    for line in (["build"], ["undo"], ["redo"], ["recover", "--resume"]):
        assert lost.no(6, *line)["next"] == "assent recover"
    assert lost.ok("status")["plan"]["approved"] is True
    assert contents(lost) == before


def test_a_session_does_not_begin_over_them(lost: World) -> None:
    talker = Talker(lost)
    talker.script(turn("Done.", write("hello.txt", "hello\n")))
    before = contents(lost)
    answer = talker.say("Write a file", "--mode", "yolo")
    assert answer.code == 6
    assert b"5 slots of a run missing from the log" in answer.err
    assert contents(lost) == before
    assert lost.ok("sessions", "list")["sessions"] == []
    plans = lost.ok("plan", "list", "--all")["plans"]
    assert [plan["name"] for plan in plans] == ["work"]  # by its file; no draft was made


def test_a_roll_back_puts_old_contents_back_and_deletes_nothing(lost: World) -> None:
    digest = approved_plan(lost)
    row = lost.ok("recover", "--roll-back")
    assert (row["outcome"], row["taken"], row["failed"]) == ("done", [], [])
    assert {one["path"] for one in row["put_back"]} == {"a.txt", "gone.txt", "from.txt"}
    assert contents(lost) == {path.encode(): content for path, content in OLD.items()}
    assert kept(lost) == {b"new a\n", b"new b\n", b"new c\n"}
    assert "slots" not in lost.ok("status")
    lost.ok("approve", "--digest", digest)
    assert lost.ok("build")["outcome"] == "done"
    assert [e["kind"] for e in lost.ok("log")["events"]].count("slots_decided") == 1


def test_accepting_keeps_every_file_and_moves_the_slots_aside(lost: World) -> None:
    before = contents(lost)
    row = lost.ok("recover", "--accept")
    assert (row["outcome"], row["put_back"]) == ("done", [])
    assert contents(lost) == before
    assert kept(lost) == {b"old a\n", b"new b\n", b"new c\n", b"gone\n", b"moved\n"}
    assert lost.ok("recover")["outcome"] == "nothing"
    approved_plan(lost)
    lost.build()


def test_a_name_that_is_taken_is_left_alone_and_named(lost: World) -> None:
    lost.put("gone.txt", b"somebody's\n")
    lost.put("a.txt", b"edited since\n")
    answer = lost.run("recover", "--roll-back", "--json")
    assert answer.code == 1
    assert answer.json["outcome"] == "partial"
    assert {one["path"] for one in answer.json["taken"]} == {"a.txt", "gone.txt"}
    found = contents(lost)
    assert (found[b"gone.txt"], found[b"a.txt"]) == (b"somebody's\n", b"edited since\n")
    assert {b"gone\n", b"old a\n"} <= kept(lost)
    told = lost.run("status").out.decode()
    assert "slot" not in told


def plant(world: World, slot: str, content: bytes, rows: list[dict[str, Any]]) -> None:
    """Leaves a slot of a run that nobody knows, and a readable copy of a plan beside it."""
    world.put(slot, content)
    copy = {"plan_id": "x", "operations": rows}
    path = ".opencode/assent/plans/01m7jyc2k8nx06xxefq8gqv5ya/operations.json"
    world.put(path, msgspec.json.encode(copy))


@pytest.mark.parametrize(
    "path", [".git/hooks/pre-commit", "../outside.txt", "/etc/x", ".opencode/plans/PLAN_a.md", ""]
)
def test_a_copy_of_a_plan_cannot_send_a_slot_where_no_plan_goes(world: World, path: str) -> None:
    row = {"kind": "delete", "path": path, "before": sha256(b"evil\n"), "after": None}
    plant(world, f"{STAGE}/{RUN}/0.old", b"evil\n", [row])
    (found,) = world.ok("status")["slots"]
    assert (found["path"], found["holds"]) == (None, None)
    world.ok("recover", "--roll-back")
    assert contents(world) == {}
    assert kept(world) == {b"evil\n"}
    assert not (world.base / "outside.txt").exists()


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"operations": 3}', bytes(range(256))])
def test_a_damaged_copy_of_a_plan_is_no_obstacle(world: World, damage: bytes) -> None:
    plant(world, f"{STAGE}/{RUN}/0.old", b"old\n", [])
    (copy,) = world.root.glob(".opencode/assent/plans/*/operations.json")
    copy.write_bytes(damage)
    (found,) = world.ok("status")["slots"]
    assert (found["path"], found["size"]) == (None, 4)


def test_slots_beside_files_are_found_where_the_log_is_new_and_by_recover(world: World) -> None:
    plant(world, f"deep/er/.assent-{RUN}-3.old", b"old\n", [])
    (found,) = world.ok("status")["slots"]
    assert found["slot"] == f"deep/er/.assent-{RUN}-3.old"
    assert "next to the files of deep/er" in world.run("status").out.decode()
    row = world.ok("recover", "--accept")
    assert row["kept"] == [{"slot": found["slot"], "to": f"{found['slot']}.kept"}]
    assert contents(world) == {f"{found['slot']}.kept".encode(): b"old\n"}
    assert world.ok("recover")["outcome"] == "nothing"


def test_folders_that_are_no_slots_and_empty_ones_are_nobodys_concern(world: World) -> None:
    world.put(f"{STAGE}/mine/0.old", b"mine\n")
    os.makedirs(world.at(f"{STAGE}/{RUN}"))
    assert "slots" not in world.ok("status")
    approved_plan(world)
    world.build()


def test_slots_of_a_run_that_the_log_knows_are_recovered_as_ever(world: World) -> None:
    world.put("a.txt", b"old\n")
    world.plan()
    world.write("a.txt", b"new\n")
    world.approve()
    kill_build(world, "rename", 0)
    assert "slots" not in world.ok("status")
    assert world.run("recover", "--json").json["outcome"] in ("done", "rolled_back")


def test_files_of_a_start_that_was_killed_while_probing_are_removed(world: World) -> None:
    world.put("a.txt", b"old\n")
    world.plan()
    world.write("a.txt", b"new\n")
    world.approve()
    kill_build(world, "probe", 0)
    assert sorted(os.listdir(world.at(STAGE))) == [b"probe.one", b"probe.other"]
    assert "slots" not in world.ok("status")
    answer = world.run("recover", "--json")
    assert (answer.code, answer.json["outcome"], answer.err) == (0, "nothing", b"")
    assert answer.json["removed"] == [f"{STAGE}/probe.one", f"{STAGE}/probe.other"]
    assert os.listdir(world.at(STAGE)) == []
    again = world.run("recover", "--json")
    assert "probe" not in (again.out + again.err).decode()
    assert world.ok("build")["outcome"] == "done"


def test_recover_says_once_what_it_removed_and_not_that_there_was_nothing_to_do(
    world: World,
) -> None:
    world.put("a.txt", b"old\n")
    world.plan()
    world.write("a.txt", b"new\n")
    world.approve()
    kill_build(world, "probe", 0)
    answer = world.run("recover")
    assert (answer.code, answer.err) == (0, b"")
    said = " ".join(answer.out.decode().split())
    assert said.startswith(
        f"Removed leftovers of an interrupted start: {STAGE}/probe.one and {STAGE}/probe.other."
    )
    assert "Nothing else to do." in said
    assert "Nothing to do." not in said


def test_a_probe_that_holds_something_is_not_ours(world: World) -> None:
    world.plan()
    world.put(f"{STAGE}/probe.one", b"mine\n")
    world.ok("recover")
    assert os.listdir(world.at(STAGE)) == [b"probe.one"]


def test_a_folder_that_stays_because_somebody_wrote_into_it_is_named(world: World) -> None:
    world.put("old/only.txt", b"only\n")
    world.plan()
    world.ok("stage", "delete", "old")
    world.approve()
    world.put("old/late.txt", b"late\n")
    said = "Folder not removed: old (it contains late.txt)."
    assert world.ok("build")["notes"] == [said]


def test_a_folder_that_may_not_be_removed_is_named_and_those_above_it_are_not(world: World) -> None:
    for name in ("one", "two"):
        world.put(f"kept/up/old/{name}.txt", name.encode())
    world.plan()
    world.ok("stage", "move", "kept", "there")
    world.approve()
    os.chmod(world.at("kept/up"), 0o555)
    answer = world.unprivileged("build", "--json")
    os.chmod(world.at("kept/up"), 0o755)
    assert answer.json["outcome"] == "done"
    why = "the system refused"
    said = f"Folder not removed: kept/up/old ({why})."
    assert answer.json["notes"] == [said]


def test_a_folder_that_the_plan_fills_again_is_not_named(world: World) -> None:
    world.put("old/only.txt", b"only\n")
    world.plan()
    world.ok("stage", "delete", "old")
    world.write("old/new.txt", b"new\n")
    assert "notes" not in world.build()


def test_an_undo_names_the_folder_that_stays(world: World) -> None:
    world.plan()
    world.write("made/new.txt", b"new\n")
    world.build()
    world.put("made/late.txt", b"late\n")
    notes = world.undo().json["notes"]
    assert notes == ["Folder not removed: made (it contains late.txt)."]
