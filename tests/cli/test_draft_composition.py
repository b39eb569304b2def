"""Staging the same path again: it composes, or it is refused and the draft stays as it was."""

import pytest
from tests.cli.harness import World

Steps = list[tuple[str, ...]]

W = ("--from", "-")
START = {"a": b"one\n", "b": b"two\n", "d/x": b"x\n", "d/y": b"y\n"}


def lay_out(world: World) -> None:
    for path, content in START.items():
        world.put(path, content)
    world.link("l", "a")
    world.plan()


def staged(world: World) -> list[tuple[str, ...]]:
    rows = world.ok("stage", "list")["operations"]
    return [(row["kind"], row["path"], *([row["to"]] if row["to"] else [])) for row in rows]


COMPOSED: dict[str, tuple[Steps, list[tuple[str, ...]]]] = {
    "write and write": (
        [("write", "n", *W), ("edit", "n", "--find", "in", "--put", "IN")],
        [("write", "n")],
    ),
    "edit and edit": (
        [("edit", "a", "--find", "one", "--put", "1"), ("edit", "a", "--find", "1", "--put", "I")],
        [("write", "a")],
    ),
    "edit and edit back": (
        [
            ("edit", "a", "--find", "one", "--put", "1"),
            ("edit", "a", "--find", "1", "--put", "one"),
        ],
        [],
    ),
    "mode and write": ([("write", "a", "--mode", "755"), ("write", "a", *W)], [("write", "a")]),
    "mode and mode back": ([("write", "a", "--mode", "755"), ("write", "a", "--mode", "644")], []),
    "create and delete": ([("write", "n", *W), ("delete", "n")], []),
    "create and move": ([("write", "n", *W), ("move", "n", "m")], [("write", "m")]),
    "delete and write": ([("delete", "a"), ("write", "a", *W)], [("write", "a")]),
    "write and delete": ([("write", "a", *W), ("delete", "a")], [("delete", "a")]),
    "move and move": ([("move", "a", "n"), ("move", "n", "m")], [("move", "a", "m")]),
    "move and move back": ([("move", "a", "n"), ("move", "n", "a")], []),
    "move and edit": (
        [("move", "a", "n"), ("edit", "n", "--find", "one", "--put", "1")],
        [("delete", "a"), ("write", "n")],
    ),
    "edit and move": (
        [("edit", "a", "--find", "one", "--put", "1"), ("move", "a", "n")],
        [("delete", "a"), ("write", "n")],
    ),
    "move and delete": ([("move", "a", "n"), ("delete", "n")], [("delete", "a")]),
    "move and write the old name": (
        [("move", "a", "n"), ("write", "a", *W)],
        [("write", "a"), ("write", "n")],
    ),
    "delete and move there": (
        [("delete", "b"), ("move", "a", "b")],
        [("delete", "a"), ("write", "b")],
    ),
    "delete a folder with a new file": (
        [("write", "d/n", *W), ("delete", "d")],
        [("delete", "d/x"), ("delete", "d/y")],
    ),
    "move a folder with a new file": (
        [("write", "d/n", *W), ("move", "d", "e")],
        [("move", "d/x", "e/x"), ("move", "d/y", "e/y"), ("write", "e/n")],
    ),
    "move into a staged folder": (
        [("write", "n/x", *W), ("move", "a", "n")],
        [("write", "n/x"), ("move", "a", "n/a")],
    ),
    "link and link": (
        [("write", "l", "--link-to", "b"), ("write", "l", "--link-to", "c")],
        [("write", "l")],
    ),
    "link and link back": (
        [("write", "l", "--link-to", "b"), ("write", "l", "--link-to", "a")],
        [],
    ),
}


@pytest.mark.parametrize(("steps", "wanted"), COMPOSED.values(), ids=COMPOSED)
def test_composes(world: World, steps: Steps, wanted: list[tuple[str, ...]]) -> None:
    lay_out(world)
    for step in steps:
        world.ok("stage", *step, stdin=b"in\n")
    assert sorted(staged(world)) == sorted(wanted)
    before = world.files()
    if wanted:
        world.build()
        assert world.undo().code == 0
        assert world.files() == before


IMPOSSIBLE: dict[str, tuple[Steps, tuple[str, ...]]] = {
    "a file below a file": ([], ("write", "a/n", *W)),
    "a file in place of a folder": ([], ("write", "d", *W)),
    "a symlink in place of a folder": ([], ("write", "d", "--link-to", "a")),
    "below a staged file": ([("write", "n", *W)], ("write", "n/m", *W)),
    "above a staged file": ([("write", "n/m", *W)], ("write", "n", *W)),
    "a folder that is not all deleted": ([("delete", "d/x")], ("write", "d", *W)),
    "a move onto a file": ([], ("move", "a", "b")),
    "a move onto a staged file": ([("write", "n", *W)], ("move", "a", "n")),
    "a move onto itself": ([], ("move", "a", "a")),
    "a folder into itself": ([], ("move", "d", "d/e")),
    "a move of what was deleted": ([("delete", "a")], ("move", "a", "n")),
    "a second delete": ([("delete", "a")], ("delete", "a")),
    "an edit of what was deleted": ([("delete", "a")], ("edit", "a", "--find", "o", "--put", "0")),
    "an edit of what was moved": ([("move", "a", "n")], ("edit", "a", "--find", "o", "--put", "0")),
    "an edit of what was edited away": (
        [("edit", "a", "--find", "one", "--put", "1")],
        ("edit", "a", "--find", "one", "--put", "2"),
    ),
    "an edit of a symlink": ([], ("edit", "l", "--find", "a", "--put", "b")),
    "an edit of a folder": ([], ("edit", "d", "--find", "a", "--put", "b")),
}


@pytest.mark.parametrize(("steps", "last"), IMPOSSIBLE.values(), ids=IMPOSSIBLE)
def test_refused_and_the_draft_unchanged(world: World, steps: Steps, last: tuple[str, ...]) -> None:
    lay_out(world)
    for step in steps:
        world.ok("stage", *step, stdin=b"in\n")
    before = world.ok("stage", "list"), len(world.ok("log")["events"])
    refused = world.no(1, "stage", *last, stdin=b"in\n")
    assert refused["error"] in ("impossible", "not_found", "no_match")
    assert (world.ok("stage", "list"), len(world.ok("log")["events"])) == before


def test_taking_out_what_another_operation_needs_is_refused(world: World) -> None:
    lay_out(world)
    deleted = world.ok("stage", "delete", "a")["operation"]["id"]
    world.write("a/n", b"in a folder now\n")
    before = world.ok("stage", "list")
    assert world.no(1, "stage", "remove", deleted)["error"] == "impossible"
    assert world.ok("stage", "list") == before


def test_the_mode_of_a_folder_cannot_change_and_that_of_a_symlink_is_its_files(
    world: World,
) -> None:
    lay_out(world)
    assert world.ok("stage", "write", "l", "--mode", "600")["operation"]["path"] == "a"
    assert world.no(1, "stage", "write", "d", "--mode", "600")["error"] == "impossible"


def test_an_empty_folder_is_nothing_to_stage(world: World) -> None:
    lay_out(world)
    (world.root / "empty").mkdir()
    for line in (("delete", "empty"), ("move", "empty", "there")):
        assert "is an empty folder" in world.no(1, "stage", *line)["message"]


def test_identical_content_stages_nothing(world: World) -> None:
    lay_out(world)
    events = len(world.ok("log")["events"])
    assert world.write("a", b"one\n") == {"operation": None}
    assert world.ok("stage", "write", "a", "--mode", "644") == {"operation": None}
    assert world.ok("stage", "write", "l", "--link-to", "a") == {"operation": None}
    assert world.ok("stage", "edit", "a", "--find", "one", "--put", "one") == {"operation": None}
    assert world.run("stage", "write", "a", "--mode", "644").out == (
        b"Nothing staged: the file already matches.\n"
    )
    assert staged(world) == []
    assert len(world.ok("log")["events"]) == events


def test_the_answer_names_the_file_that_was_asked_for(world: World) -> None:
    lay_out(world)
    world.ok("stage", "move", "a", "n")
    answer = world.write("n", b"other\n")
    assert (answer["operation"]["kind"], answer["operation"]["path"]) == ("write", "n")
    assert [row["path"] for row in answer["operations"]] == ["n", "a"]


def test_f61_stage_three_remove_one_build_the_rest(world: World) -> None:
    lay_out(world)
    world.write("n", b"new\n")
    gone = world.ok("stage", "delete", "b")["operation"]
    world.ok("stage", "edit", "a", "--find", "one", "--put", "1")
    assert staged(world) == [("write", "n"), ("delete", "b"), ("write", "a")]
    assert world.ok("stage", "remove", gone["id"])["operation"] == gone
    assert staged(world) == [("write", "n"), ("write", "a")]
    before = world.files()
    world.build()
    after = {**before, b"n": ("file", 0o644, b"new\n"), b"a": ("file", 0o644, b"1\n")}
    assert world.files() == after

    world.plan("second")
    world.write("m", b"never\n")
    world.ok("stage", "delete", "d")
    assert len(world.ok("stage", "clear")["removed"]) == 3
    assert staged(world) == []
    world.ok("plan", "write", "-", stdin=b"# Second\n\nWrite m.\n")
    world.approve()
    world.no(2, "build")  # what is left is prose, and there is no model to carry it out
    assert world.files() == after


def test_f62_every_diff_in_full(world: World) -> None:
    lay_out(world)
    many = b"".join(b"line %d of many\n" % number for number in range(3000))
    world.write("many", many)
    world.ok("stage", "edit", "a", "--find", "one", "--put", "1")
    world.ok("stage", "delete", "d/x")
    world.ok("stage", "move", "b", "c")
    world.ok("stage", "write", "d/y", "--mode", "755")
    world.ok("stage", "write", "l", "--link-to", "b")
    shown = world.run("review").out.decode()
    for line in many.decode().splitlines():
        assert f"\n+{line}\n" in shown
    for line in (
        "-one",
        "+1",
        "-x",
        "rename from b",
        "rename to c",
        "old mode 100644",
        "new mode 100755",
        "-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file",
    ):
        assert f"\n{line}\n" in shown
    assert set(world.run("diff").out.decode().splitlines()) <= set(shown.splitlines())
