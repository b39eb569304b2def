"""The overlay: the draft over the disk, and where a path that a model types really leads."""

import os
import socket
from pathlib import Path

import pytest
from tests.tools.read_harness import Place

from assent.core.errors import AssentError, NotFound, Refused
from assent.tools.overlay import CHUNK, FIRST_CHUNK


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_without_a_draft_it_is_the_disk(place: Place) -> None:
    place.put("a/b.txt", "two")
    place.put("c", "three")
    assert place.overlay.names(b"") == {b"a": True, b"c": False}
    assert place.overlay.names(b"a") == {b"b.txt": False}
    assert place.overlay.names(b"c") == place.overlay.names(b"missing") == {}
    assert place.overlay.below(b"") == [b"a/b.txt", b"c"]
    assert place.overlay.content(b"a/b.txt") == b"two"
    assert [place.overlay.state(p) for p in (b"", b"a", b"none")] == ["folder", "folder", None]


def test_a_staged_file_stands_over_the_one_on_disk(place: Place) -> None:
    place.put("a", "old")
    place.stage("a", "new")
    place.stage("deep/er/b", "made")
    overlay = place.overlay
    assert overlay.content(b"a") == b"new"
    assert overlay.names(b"") == {b"a": False, b"deep": True}
    assert overlay.names(b"deep") == {b"er": True}
    assert overlay.state(b"deep/er") == "folder"
    assert overlay.below(b"deep") == [b"deep/er/b"]
    assert (place.root / "a").read_text(encoding="utf-8") == "old"


def test_many_states_are_those_of_each_path(place: Place) -> None:
    for path in ("a/x", "a/y", "gone/x", "file", "old"):
        place.put(path, path)
    place.stage("a/x", "new")
    place.stage("made/here", "new")
    place.drop("gone/x", prune=1)
    place.drop("old")
    place.stage("old/in/it", "new")
    overlay = place.overlay
    paths = [
        b"", b"a", b"a/x", b"a/y", b"gone", b"gone/x", b"file", b"file/in", b"old", b"old/in",
        b"old/other", b"made", b"made/here", b"made/none", b"none", b"none/x",
    ]  # fmt: skip
    assert overlay.states(paths) == {path: overlay.state(path) for path in paths}
    assert overlay.states(paths[:1]) == {b"": "folder"}
    assert overlay.states(()) == {}


def test_a_staged_deletion_hides_the_file(place: Place) -> None:
    place.put("a/x", "1")
    place.put("a/y", "2")
    place.drop("a/x")
    assert place.overlay.state(b"a/x") is None
    assert place.overlay.names(b"a") == {b"y": False}
    assert place.overlay.below(b"") == [b"a/y"]
    with pytest.raises(NotFound):
        place.overlay.content(b"a/x")


def test_a_folder_that_the_draft_empties_goes_if_it_is_pruned(place: Place) -> None:
    place.put("gone/x", "1")
    place.put("kept/x", "1")
    place.drop("gone/x", prune=1)
    place.drop("kept/x")
    assert place.overlay.names(b"") == {b"kept": True}
    assert (place.overlay.state(b"gone"), place.overlay.state(b"kept")) == (None, "folder")


def test_a_moved_file_keeps_its_content_though_no_blob_has_it(place: Place) -> None:
    place.put("a", "content")
    place.move("a", "sub/b")
    place.move("sub/b", "sub/c")
    assert place.overlay.content(b"sub/c") == b"content"
    assert place.overlay.names(b"") == {b"sub": True}
    assert place.overlay.below(b"") == [b"sub/c"]


def test_a_file_in_the_place_of_a_folder_hides_what_was_below(place: Place) -> None:
    place.put("d/x", "1")
    place.drop("d/x", prune=1)
    place.stage("d", "a file now")
    assert place.overlay.content(b"d") == b"a file now"
    assert place.overlay.state(b"d/x") is None
    assert place.overlay.names(b"d") == {}
    assert place.overlay.below(b"d") == []


@pytest.mark.parametrize(
    "size", [0, 1, FIRST_CHUNK, FIRST_CHUNK + 1, FIRST_CHUNK + CHUNK, FIRST_CHUNK + CHUNK + 1]
)
def test_a_file_of_any_size_is_read_whole_in_pieces(place: Place, size: int) -> None:
    content = bytes(range(256)) * (size // 256 + 1)
    place.put("large", content[:size])
    pieces = list(place.overlay.chunks(b"large"))
    assert b"".join(pieces) == content[:size]
    assert all(0 < len(piece) <= CHUNK for piece in pieces)


def test_content_is_bounded(place: Place) -> None:
    place.put("big", b"x" * 1001)
    with pytest.raises(Refused, match="1000 bytes"):
        place.overlay.content(b"big", 1000)
    assert len(place.overlay.content(b"big", 1001)) == 1001


@pytest.mark.parametrize(
    "typed", ["a/b", "./a//b", "a/../a/b", "a/b/", "{root}/a/b", "{root}/./a/b"]
)
def test_f78_a_path_is_found_from_the_root_or_absolutely(place: Place, typed: str) -> None:
    place.put("a/b", "1")
    assert place.overlay.locate(typed.format(root=place.root)) == b"a/b"


def test_f78_the_root_itself_is_the_empty_path(place: Place) -> None:
    for typed in (".", "", "./", str(place.root), f"{place.root}/", f"{place.root}/x/.."):
        assert place.overlay.locate(typed) == b""


@pytest.mark.parametrize(
    "typed",
    ["..", "../x", "a/../../x", "/etc/passwd", "/", "{root}/../x", "{root}x/a", "//etc/passwd",
     "{root}/../../../../../../etc/passwd"],
)  # fmt: skip
def test_f78_what_lies_outside_is_refused(place: Place, typed: str) -> None:
    place.put("a/b", "1")
    with pytest.raises(Refused, match="outside the workspace"):
        place.overlay.locate(typed.format(root=place.root))


def test_f78_a_tilde_is_a_name_like_any_other(place: Place) -> None:
    assert place.overlay.locate("~/.ssh/id_rsa") == b"~/.ssh/id_rsa"


def test_f78_a_link_to_outside_is_refused_and_its_target_named(place: Place) -> None:
    secret = place.root.parent / "secret.txt"
    secret.write_text("s", encoding="utf-8")
    (place.root / "file").symlink_to(secret)
    (place.root / "up").symlink_to("../secret.txt")
    (place.root / "folder").symlink_to("/etc")
    (place.root / "chain").symlink_to("folder")
    (place.root / "dangling").symlink_to("/nowhere/at/all")
    targets = {
        "file": str(secret),
        "up": r"\.\./secret\.txt",
        "folder/passwd": "/etc",
        "chain/passwd": "/etc",
        f"{place.root}/chain/passwd": "/etc",
        "dangling": "/nowhere/at/all",
    }
    for typed, target in targets.items():
        with pytest.raises(Refused, match=f"points to {target} outside"):
            place.overlay.locate(typed)


def test_f78_a_link_inside_is_followed_to_its_real_path(place: Place) -> None:
    place.put("real/file", "1")
    (place.root / "link").symlink_to("real")
    (place.root / "chain").symlink_to("link/file")
    (place.root / "absolute").symlink_to(place.root / "real" / "file")
    (place.root / "dangling").symlink_to("real/none")
    overlay = place.overlay
    assert overlay.locate("link/file") == overlay.locate("chain") == b"real/file"
    assert overlay.locate("absolute") == overlay.locate("real/../link/file") == b"real/file"
    assert overlay.locate("dangling") == b"real/none"
    assert overlay.state(b"real/none") is None


def test_f78_a_staged_link_is_followed_and_refused_like_any_other(place: Place) -> None:
    place.put("real", "1")
    place.stage("inside", "real", "link")
    place.stage("outside", "/etc/passwd", "link")
    assert place.overlay.locate("inside") == b"real"
    with pytest.raises(Refused, match="/etc/passwd"):
        place.overlay.locate("outside")


def test_f78_a_link_that_the_draft_replaces_leads_nowhere_any_more(place: Place) -> None:
    (place.root / "link").symlink_to("/etc/passwd")
    place.drop("link")
    place.stage("link", "a file now")
    assert place.overlay.content(place.overlay.locate("link")) == b"a file now"


def test_f78_a_loop_of_links_is_refused(place: Place) -> None:
    (place.root / "a").symlink_to("b")
    (place.root / "b").symlink_to("a")
    (place.root / "self").symlink_to("self/x")
    for typed in ("a", "self"):
        with pytest.raises(Refused, match="points to itself"):
            place.overlay.locate(typed)


def test_f78_a_link_outside_may_lead_in(place: Place) -> None:
    place.put("sub/x", "1")
    (place.root.parent / "way").symlink_to(place.root / "sub")
    (place.root.parent / "same").symlink_to(place.root)
    assert place.overlay.locate(f"{place.root.parent}/way/x") == b"sub/x"
    assert place.overlay.locate(f"{place.root.parent}/same/sub/x") == b"sub/x"


def test_f78_a_zero_byte_is_refused(place: Place) -> None:
    with pytest.raises(Refused, match="null byte"):
        place.overlay.locate("a\0b")


def test_f78_assents_own_state_is_refused_but_not_what_it_kept_for_reading(place: Place) -> None:
    place.put(".opencode/assent/output/1.txt", "rest")
    place.put(".opencode/plans/a/PLAN_a.md", "plan")
    assert place.overlay.locate(".opencode/assent/output/1.txt") == b".opencode/assent/output/1.txt"
    assert place.overlay.locate(".opencode/plans/a/PLAN_a.md") == b".opencode/plans/a/PLAN_a.md"
    with pytest.raises(Refused, match="belongs to Assent"):
        place.overlay.locate(".opencode/assent/stage/x")


def test_names_that_no_text_can_spell_are_found_by_how_they_are_shown(place: Place) -> None:
    for name in (b"caf\xe9", b"two\nlines", b"back\\slash"):
        Path(os.fsdecode(os.fsencode(place.root) + b"/" + name)).write_text("x", encoding="utf-8")
    assert place.overlay.locate("caf\\xe9") == b"caf\xe9"
    assert place.overlay.locate("two\\nlines") == place.overlay.locate("two\nlines")
    assert place.overlay.locate("back\\slash") == b"back\\slash"
    assert place.overlay.locate("lone\udce9") == b"lone\\udce9"


def test_pipes_and_sockets_never_hang(place: Place) -> None:
    os.mkfifo(place.root / "pipe")
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(str(place.root / "sock"))
    for name in (b"pipe", b"sock"):
        with pytest.raises(Refused, match="is a"):
            place.overlay.state(name)
        with pytest.raises(AssentError):
            place.overlay.content(name)
    assert place.overlay.names(b"") == {b"pipe": False, b"sock": False}
