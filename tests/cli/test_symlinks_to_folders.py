"""A symlink that becomes a folder: staged as the draft will have it, built, and taken back."""

from pathlib import Path

import pytest
from tests.cli.harness import World

from assent.planning.path_checks import repository_text


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(tmp_path)
    world.put("d/k", b"kept\n")
    world.put("e/k", b"kept\n")
    (world.root / "ld").symlink_to("d")
    (world.root / "out").symlink_to("/")
    world.ok("plan", "new", "links", "--goal", "links")
    return world


def staged(world: World) -> list[tuple[str, str]]:
    rows = world.ok("stage", "list")["operations"]
    return sorted((row["kind"], row.get("path") or " ".join(row["argv"])) for row in rows)


@pytest.mark.parametrize("link", ["ld", "out"])
def test_what_is_staged_below_a_link_that_goes_is_not_behind_it(world: World, link: str) -> None:
    before = world.files()
    world.ok("stage", "delete", link)
    world.write(f"{link}/f", b"new\n")
    world.write(f"./e/../{link}/deep/g", b"new\n")
    world.ok("stage", "run", "--cwd", f"{link}/deep", "--", "touch", "made")
    writes = [("write", f"{link}/deep/g"), ("write", f"{link}/f")]
    assert staged(world) == [("delete", link), ("run", "touch made"), *writes]
    world.approve()
    world.ok("build")
    after = world.files()
    assert {path for path in after if path.startswith(link.encode())} == {
        f"{link}/{name}".encode() for name in ("f", "deep", "deep/g", "deep/made")
    } | {link.encode()}
    assert {p for p in after if p.startswith(b"d/")} == {b"d/k"}
    world.undo()
    assert world.files() == before


def test_what_is_staged_through_a_link_of_the_draft_is_where_that_leads(world: World) -> None:
    world.ok("stage", "move", "ld", "lm")
    world.write("lm/f", b"new\n")
    assert staged(world) == [("move", "ld"), ("write", "d/f")]


def test_a_link_that_is_a_folder_elsewhere_comes_in_with_everything_else(world: World) -> None:
    world.put("file", b"file\n")
    before = world.files()
    other = World(world.base / "other")
    for path in ("ld/f", "ld/deep/g", "file/in", "more"):
        other.put(path, b"new\n")
    world.ok("stage", "from", str(other.root))
    writes = [("write", path) for path in ("file/in", "ld/deep/g", "ld/f", "more")]
    assert staged(world) == [("delete", "file"), ("delete", "ld"), *writes]
    world.approve()
    world.ok("build")
    found = {path: what[2] for path, what in world.files().items()}
    assert [found[path.encode()] for _, path in writes] == [b"new\n"] * 4
    world.undo()
    assert world.files() == before


def test_nothing_is_staged_into_what_would_be_a_repository_where_a_link_goes(
    world: World,
) -> None:
    world.ok("stage", "delete", "ld")
    for path in ("HEAD", "objects/x"):
        world.write(f"ld/{path}", b"new\n")
    refused = world.no(7, "stage", "write", "ld/refs/x", "--from", "-", stdin=b"new\n")
    assert refused["message"] == repository_text(b"ld/refs/x", "ld")
