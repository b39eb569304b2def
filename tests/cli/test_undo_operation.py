"""One operation of a run is taken back by itself; the rest stays, and can go later."""

import re

import pytest
from tests.cli.harness import World
from tests.support.stored_contents import store_alone


def text(content: bytes, mode: int = 0o644) -> tuple[str, int, bytes]:
    return "file", mode, content


@pytest.fixture
def built(world: World) -> World:
    world.put("b", b"old\n")
    world.put("from", b"moved\n")
    world.put("gone", b"gone\n")
    world.plan()
    world.write("made/a", b"new\n")
    world.write("b", b"other\n")
    world.ok("stage", "move", "from", "to")
    world.ok("stage", "delete", "gone")
    world.build()
    return world


BEFORE = {b"b": text(b"old\n"), b"from": text(b"moved\n"), b"gone": text(b"gone\n")}
AFTER = {
    b"made": ("folder", 0, b""),
    b"made/a": text(b"new\n"),
    b"b": text(b"other\n"),
    b"to": text(b"moved\n"),
}
ALONE = {
    "1": {b: f for b, f in AFTER.items() if not b.startswith(b"made")},
    "2": {**AFTER, b"b": text(b"old\n")},
    "3": {**{b: f for b, f in AFTER.items() if b != b"to"}, b"from": text(b"moved\n")},
    "4": {**AFTER, b"gone": text(b"gone\n")},
}


@pytest.mark.parametrize("number", ALONE)
def test_g6_one_operation_goes_and_the_others_stay(built: World, number: str) -> None:
    run = built.ok("runs", "list")["runs"][0]["run"]
    rows = built.ok("runs", "show", run)["operations"]
    answer = built.undo(run, "--operation", number)
    assert (answer.code, len(answer.json["operations"])) == (0, 1)
    assert answer.json["operations"][0] == {"id": rows[int(number) - 1]["id"], "result": "undone"}
    assert built.files() == ALONE[number]
    whole = built.ok("undo", run, "--dry-run")
    assert (len(whole["operations"]), whole["conflicts"]) == (3, [])
    assert built.undo(run).code == 0
    assert built.files() == BEFORE


def test_g6_an_operation_has_a_plan_and_a_digest_of_its_own(built: World) -> None:
    one = built.ok("undo", "--operation", "1", "--dry-run")
    two = built.ok("undo", "--operation", "2", "--dry-run")
    assert len({one["digest"], two["digest"], built.ok("undo", "--dry-run")["digest"]}) == 3
    by_id = built.ok("undo", "--operation", one["operations"][0]["id"][:20], "--dry-run")
    assert by_id == one


def test_g6_what_was_undone_is_not_undone_again(built: World) -> None:
    run = built.ok("runs", "list")["runs"][0]["run"]
    built.undo(run, "--operation", "2")
    again = built.ok("undo", run, "--operation", "2")
    assert (again["outcome"], again["conflicts"]) == ("nothing", [])
    for number in ("1", "3", "4"):
        assert built.undo(run, "--operation", number).code == 0
    assert built.files() == BEFORE
    assert built.no(1, "undo")["error"] == "not_found"


def test_f141_an_operation_that_was_undone_is_redone(built: World) -> None:
    run = built.ok("runs", "list")["runs"][0]["run"]
    built.undo(run, "--operation", "2")
    digest = built.ok("redo", "--dry-run")["digest"]
    assert built.run("redo", "--digest", digest).code == 0
    assert built.files() == AFTER
    assert len(built.ok("undo", "--dry-run")["operations"]) == 4


def test_f142_an_operation_whose_file_changed_since_is_left_alone(built: World) -> None:
    built.put("b", b"mine\n")
    answer = built.run("undo", "--operation", "2", "--json")
    assert (answer.code, answer.json["outcome"]) == (5, "nothing")
    assert answer.json["conflicts"][0]["reason"] == "b changed after the run"
    assert built.files()[b"b"] == text(b"mine\n")


def test_f142_a_folder_that_is_in_use_by_now_stays(built: World) -> None:
    built.put("made/mine", b"mine\n")
    assert built.undo("--operation", "1").code == 0
    assert built.files() == {
        **ALONE["1"],
        b"made": ("folder", 0, b""),
        b"made/mine": text(b"mine\n"),
    }


def test_f142_a_file_cannot_come_back_where_the_run_put_a_folder(world: World) -> None:
    world.put("x", b"file\n")
    world.plan()
    world.ok("stage", "delete", "x")
    world.write("x/y", b"below\n")
    world.build()
    answer = world.run("undo", "--operation", "1", "--json")
    assert (answer.code, answer.json["outcome"]) == (5, "nothing")
    assert answer.json["conflicts"][0]["reason"] == "x/y is in the way"


def test_an_operation_that_nobody_knows(built: World) -> None:
    for word in ("0", "5", "zz"):
        assert built.no(1, "undo", "--operation", word)["error"] == "not_found"
    assert built.no(2, "undo", "--operation", " ")["error"] == "usage"


def listed(world: World) -> list[tuple[str, str]]:
    """Each run, newest first: what it was, and how it stands."""
    lines = world.run("runs", "list").out.decode().splitlines()[1:]
    rows = [re.split(r"  +", line) for line in lines[: lines.index("")]]
    return [(what, outcome) for _, what, _, outcome, *_ in rows]


def results(world: World, run: str) -> list[str]:
    return [row["result"] for row in world.ok("runs", "show", run)["operations"]]


def test_f146_a_run_of_which_one_operation_was_undone_is_partly_undone(built: World) -> None:
    run = built.ok("runs", "list")["runs"][0]["run"]
    assert built.undo(run, "--operation", "2").code == 0
    assert results(built, run) == ["done", "undone", "done", "done"]
    assert listed(built) == [("undo", "done"), ("run", "partly undone")]
    row = built.ok("runs", "list")["runs"][1]
    assert (row["undone"], row["partly_undone"]) == (False, True)
    assert "outcome  done, partly undone" in built.run("runs", "show", run).out.decode()
    for number in ("1", "3", "4"):
        assert built.undo(run, "--operation", number).code == 0
    assert results(built, run) == ["undone"] * 4
    assert listed(built)[-1] == ("run", "undone")


def test_f146_a_run_whose_undo_left_something_alone_is_partly_undone(built: World) -> None:
    run = built.ok("runs", "list")["runs"][0]["run"]
    built.put("b", b"by me\n")
    assert built.undo(run).code == 1
    assert results(built, run) == ["undone", "done", "undone", "undone"]
    assert listed(built) == [("undo", "partial"), ("run", "partly undone")]
    digest = built.ok("redo", "--dry-run")["digest"]
    assert built.run("redo", "--digest", digest).code == 0
    assert results(built, run) == ["done"] * 4
    assert listed(built) == [("redo", "done"), ("undo", "undone"), ("run", "done")]


def undo_plan_text(world: World) -> str:
    """The text of the plan that an undo was, as it is kept."""
    events = world.ok("log")["events"]
    digest = [e["body"]["content_hash"] for e in events if e["kind"] == "text_revised"][-1]
    return store_alone(world.state / "assent" / "blobs", digest).read_text(encoding="utf-8")


def test_g6_the_plan_of_an_undo_names_operations_as_people_type_them(built: World) -> None:
    run = built.ok("runs", "list")["runs"][0]["run"]
    ids = [row["id"] for row in built.ok("runs", "show", run)["operations"]]
    built.put("b", b"by me\n")
    built.undo(run)
    text = undo_plan_text(built)
    assert "- made/a: restore to before operation 1\n" in text
    assert "- b changed after the run: operation 2\n" in text
    assert not [name for name in (run, *ids) if name[:12] in text]


def test_g6_what_several_operations_came_to_is_named_by_their_run(world: World) -> None:
    world.plan()
    world.write("a.txt", b"1\n")
    world.write("b.txt", b"1\n")
    world.ok("stage", "run", "--no-sandbox", "--script", "true")
    world.write("a.txt", b"2\n")
    world.approve()
    world.ok("build")
    world.undo()
    text = undo_plan_text(world)
    assert "- a.txt: restore to before this run\n" in text
    assert "- b.txt: restore to before operation 2\n" in text


def test_f146_odd_names_of_a_run_are_escaped_once(world: World) -> None:
    world.plan()
    world.write("odd\nname", b"1\n")
    run = world.build()["run"]
    assert "odd<U+000A>name" in world.run("runs", "show", run).out.decode()
