"""Paths below more than 200 folders are refused at staging, whoever names them."""

import os

import pytest
from tests.cli.harness import World

MOST = "a/" * 200 + "f"
DEEP = "a/" * 201 + "f"
DEEPER = "a/" * 2000 + "f"


@pytest.fixture
def world(world: World) -> World:
    world.plan()
    world.put("here.txt", b"here\n")
    return world


@pytest.mark.parametrize("path", [DEEP, DEEPER, f"x/../{DEEPER}", f"./{DEEP}"])
def test_every_verb_that_stages_refuses_them(world: World, path: str) -> None:
    lines = [
        ("stage", "write", path, "--from", "here.txt"),
        ("stage", "write", path, "--link-to", "x"),
        ("stage", "delete", path),
        ("stage", "edit", path, "--find", "a", "--put", "b"),
        ("stage", "move", "here.txt", path),
        ("stage", "move", path, "there.txt"),
        ("stage", "run", "--cwd", path, "ls"),
    ]
    for line in lines:
        error = world.no(7, *line)
        assert "is nested more than 200 folders deep" in error["message"]
        assert len(error["message"]) < 200
    assert world.ok("stage", "list")["operations"] == []


def test_as_many_as_are_allowed_are_built(world: World) -> None:
    world.write(MOST, b"deep\n")
    assert world.build()["outcome"] == "done"
    assert os.path.exists(world.at(MOST))


def test_a_folder_that_would_move_too_deep_is_refused(world: World) -> None:
    world.put("b/" * 150 + "f", b"deep\n")
    assert "200 folders" in world.no(7, "stage", "move", "b", "a/" * 100 + "b")["message"]


@pytest.mark.parametrize("folders", [201, 2500, 50_000])
def test_patches_refuse_them(world: World, folders: int) -> None:
    path = "a/" * folders + "f"
    new = f"diff --git a/{path} b/{path}\nnew file mode 100644\n--- /dev/null\n+++ b/{path}\n"
    moved = f"diff --git a/here.txt b/{path}\nsimilarity index 100%\nrename from here.txt\n"
    for patch in (f"{new}@@ -0,0 +1 @@\n+x\n", f"{moved}rename to {path}\n"):
        error = world.no(7, "stage", "patch", "-", stdin=patch.encode())
        assert "is nested more than 200 folders deep" in error["message"]


def test_a_copy_of_the_workspace_leaves_them_out_and_says_so(world: World) -> None:
    copy = world.base / "copy"
    os.makedirs(copy / ("a/" * 201))
    (copy / ("a/" * 201) / "f").write_bytes(b"deep\n")
    answer = world.ok("stage", "from", str(copy))
    assert answer["operations"] == []
    assert {row["why"] for row in answer["skipped"]} == {"deep"}
    told = world.run("stage", "from", str(copy)).out.decode()
    assert "Skipped 1: nested more than 200 folders deep." in told
