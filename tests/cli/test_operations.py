"""Every kind of operation: staged without effect, built exactly, and taken back to the byte."""

import os
from typing import NamedTuple

import pytest
from tests.cli.harness import PROGRAM, Found, World

from assent.render.diff import NOT_SHOWN_BUT

Files = dict[bytes, Found]
ANY = bytes(range(256)) * 9


def text(content: bytes, mode: int = 0o644) -> Found:
    return "file", mode, content


def link(target: bytes) -> Found:
    return "link", 0o777, target


FOLDER: Found = ("folder", 0, b"")


class Story(NamedTuple):
    """Files to start with, what is staged, and the files afterwards."""

    start: Files
    steps: list[tuple[str, ...]]
    finish: Files
    stdin: bytes = b""


STORIES = {
    "create": Story({}, [("write", "a.txt", "--from", "-")], {b"a.txt": text(b"a\n")}, b"a\n"),
    "create below new folders": Story(
        {},
        [("write", "x/y/z.txt", "--from", "-")],
        {b"x": FOLDER, b"x/y": FOLDER, b"x/y/z.txt": text(b"z")},
        b"z",
    ),
    "create an empty file": Story({}, [("write", "e", "--from", "-")], {b"e": text(b"")}),
    "empty a file": Story(
        {b"e": text(b"full")}, [("write", "e", "--from", "-")], {b"e": text(b"")}
    ),
    "create a program": Story(
        {}, [("write", "p", "--from", "-", "--mode", "755")], {b"p": text(b"#!", 0o755)}, b"#!"
    ),
    "replace keeps the mode": Story(
        {b"p": text(b"old", 0o750)},
        [("write", "p", "--from", "-")],
        {b"p": text(b"new", 0o750)},
        b"new",
    ),
    "replace and change the mode": Story(
        {b"p": text(b"old")},
        [("write", "p", "--from", "-", "--mode", "0o600")],
        {b"p": text(b"new", 0o600)},
        b"new",
    ),
    "mode alone": Story(
        {b"p": text(b"x")}, [("write", "p", "--mode", "0755")], {b"p": text(b"x", 0o755)}
    ),
    "take the executable bit": Story(
        {b"p": text(b"x", 0o755)}, [("write", "p", "--mode", "644")], {b"p": text(b"x")}
    ),
    "no permissions for others": Story(
        {b"p": text(b"x", 0o400)}, [("write", "p", "--mode", "200")], {b"p": text(b"x", 0o200)}
    ),
    "binary": Story(
        {b"b": text(ANY)}, [("write", "b", "--from", "-")], {b"b": text(ANY[::-1])}, ANY[::-1]
    ),
    "edit with other line endings": Story(
        {b"crlf": text(b"one\r\ntwo\r\nthree\r\n")},
        [("edit", "crlf", "--find", "two\r\n", "--put", "2\r\n")],
        {b"crlf": text(b"one\r\n2\r\nthree\r\n")},
    ),
    "edit after a byte order mark": Story(
        {b"bom": text(b"\xef\xbb\xbfone\n")},
        [("edit", "bom", "--find", "one", "--put", "two")],
        {b"bom": text(b"\xef\xbb\xbftwo\n")},
    ),
    "edit without a final newline": Story(
        {b"n": text(b"a\nb")}, [("edit", "n", "--find", "b", "--put", "c")], {b"n": text(b"a\nc")}
    ),
    "edit that adds a final newline": Story(
        {b"n": text(b"a\nb")},
        [("edit", "n", "--find", "b", "--put", "b\n")],
        {b"n": text(b"a\nb\n")},
    ),
    "edit to nothing": Story(
        {b"n": text(b"a")}, [("edit", "n", "--find", "a", "--put", "")], {b"n": text(b"")}
    ),
    "edit of bytes that are no text": Story(
        {b"n": text(b"\xff\xfe\0x\n")},
        [("edit", "n", "--find", os.fsdecode(b"\xff\xfe"), "--put", os.fsdecode(b"\xfd"))],
        {b"n": text(b"\xfd\0x\n")},
    ),
    "delete": Story({b"a": text(b"a"), b"b": text(b"b")}, [("delete", "a")], {b"b": text(b"b")}),
    "delete one of a folder": Story(
        {b"d": FOLDER, b"d/a": text(b"a"), b"d/b": text(b"b")},
        [("delete", "d/a")],
        {b"d": FOLDER, b"d/b": text(b"b")},
    ),
    "delete the last of a folder keeps the folder": Story(
        {b"d": FOLDER, b"d/a": text(b"a")}, [("delete", "d/a")], {b"d": FOLDER}
    ),
    "delete a folder": Story(
        {b"d": FOLDER, b"d/e": FOLDER, b"d/a": text(b"a", 0o600), b"d/e/l": link(b"nowhere")},
        [("delete", "d")],
        {},
    ),
    "move": Story({b"a": text(b"a", 0o755)}, [("move", "a", "b")], {b"b": text(b"a", 0o755)}),
    "move into a new folder": Story(
        {b"a": text(b"a")}, [("move", "a", "n/b")], {b"n": FOLDER, b"n/b": text(b"a")}
    ),
    "move into a folder that is there": Story(
        {b"a": text(b"a"), b"d": FOLDER, b"d/x": text(b"x")},
        [("move", "a", "d")],
        {b"d": FOLDER, b"d/x": text(b"x"), b"d/a": text(b"a")},
    ),
    "move that changes only case": Story(
        {b"README": text(b"r")}, [("move", "README", "readme")], {b"readme": text(b"r")}
    ),
    "move a folder": Story(
        {b"d": FOLDER, b"d/a": text(b"a"), b"d/e": FOLDER, b"d/e/b": text(b"b")},
        [("move", "d", "n")],
        {b"n": FOLDER, b"n/a": text(b"a"), b"n/e": FOLDER, b"n/e/b": text(b"b")},
    ),
    "move a folder that changes only case": Story(
        {b"D": FOLDER, b"D/a": text(b"a")}, [("move", "D", "d")], {b"d": FOLDER, b"d/a": text(b"a")}
    ),
    "make a symlink": Story({}, [("write", "l", "--link-to", "a/b")], {b"l": link(b"a/b")}),
    "make a symlink in a folder": Story(
        {b"d": FOLDER, b"d/x": text(b"x")},
        [("write", "d/l", "--link-to", "x")],
        {b"d": FOLDER, b"d/x": text(b"x"), b"d/l": link(b"x")},
    ),
    "replace a symlink by a file": Story(
        {b"t": text(b"target"), b"l": link(b"t")},
        [("delete", "l"), ("write", "l", "--from", "-")],
        {b"t": text(b"target"), b"l": text(b"new")},
        b"new",
    ),
    "replace a file by a symlink": Story(
        {b"f": text(b"file", 0o700)}, [("write", "f", "--link-to", "/etc")], {b"f": link(b"/etc")}
    ),
    "replace a symlink to a folder by a file": Story(
        {b"d": FOLDER, b"d/x": text(b"x"), b"l": link(b"d")},
        [("delete", "l"), ("write", "l", "--from", "-")],
        {b"d": FOLDER, b"d/x": text(b"x"), b"l": text(b"new")},
        b"new",
    ),
    "redirect a symlink": Story(
        {b"l": link(b"one")}, [("write", "l", "--link-to", "two")], {b"l": link(b"two")}
    ),
    "delete a dangling symlink": Story({b"l": link(b"nowhere")}, [("delete", "l")], {}),
    "delete a symlink to a folder, not the folder": Story(
        {b"d": FOLDER, b"d/x": text(b"x"), b"l": link(b"d")},
        [("delete", "l")],
        {b"d": FOLDER, b"d/x": text(b"x")},
    ),
    "move a dangling symlink": Story(
        {b"l": link(b"nowhere")}, [("move", "l", "m")], {b"m": link(b"nowhere")}
    ),
    "file becomes folder": Story(
        {b"a": text(b"was a file")},
        [("delete", "a"), ("write", "a/b", "--from", "-")],
        {b"a": FOLDER, b"a/b": text(b"in it")},
        b"in it",
    ),
    "folder becomes file": Story(
        {b"a": FOLDER, b"a/b": FOLDER, b"a/b/c": text(b"deep")},
        [("delete", "a"), ("write", "a", "--from", "-")],
        {b"a": text(b"a file now")},
        b"a file now",
    ),
    "file moves into a folder of its own name": Story(
        {b"a": text(b"x")},
        [("move", "a", "tmp"), ("move", "tmp", "a/b")],
        {b"a": FOLDER, b"a/b": text(b"x")},
    ),
    "two files swap names": Story(
        {b"a": text(b"was a"), b"b": text(b"was b", 0o755)},
        [("move", "a", "t"), ("move", "b", "a"), ("move", "t", "b")],
        {b"a": text(b"was b", 0o755), b"b": text(b"was a")},
    ),
    "a file and a folder swap names": Story(
        {b"a": text(b"file"), b"d": FOLDER, b"d/x": text(b"inside")},
        [("move", "a", "t"), ("move", "d", "a"), ("move", "t", "d")],
        {b"a": FOLDER, b"a/x": text(b"inside"), b"d": text(b"file")},
    ),
}


def lay_out(world: World, files: Files) -> None:
    for path, (kind, mode, content) in files.items():
        if kind == "folder":
            os.makedirs(world.at(path), exist_ok=True)
        elif kind == "link":
            world.link(path, content)
        else:
            world.put(path, content, mode)


@pytest.mark.parametrize("story", STORIES.values(), ids=STORIES)
def test_staged_built_and_undone(world: World, story: Story) -> None:
    lay_out(world, story.start)
    assert world.files() == story.start
    world.plan()
    for step in story.steps:
        world.ok("stage", *step, stdin=story.stdin)
    world.approve()
    assert world.files() == story.start
    built = world.ok("build")
    assert {row["result"] for row in built["operations"]} == {"done"}
    assert world.files() == story.finish
    undone = world.undo()
    assert undone.code == 0
    assert {row["result"] for row in undone.json["operations"]} == {"undone"}
    assert world.files() == story.start


NAMES = [
    b"caf\xe9",
    b"\xff\xfe\x01",
    b"new\nline",
    b"tab\there",
    b" spaces ",
    b"-dash",
    b"--from",
    b"$(x)",
    b"quote'\"",
    b"back\\slash",
    b"*",
    b"\xe2\x80\xaetxt.exe",
    "ünï".encode(),
    b"a" * 255,
    b"\x1b[31m",
]


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_any_name(world: World, name: bytes) -> None:
    """Names are bytes: what the kernel takes, a plan takes."""
    path = os.fsdecode(name)
    other = os.fsdecode(name[:250] + b".new")
    world.put(name, b"old\n")
    world.plan()
    world.ok("stage", "edit", "--find", "old", "--put", "new", "--", path)
    world.ok("stage", "move", "--", path, f"sub/{other}")
    world.write(path, b"again\n")
    world.build()
    after = {
        name: text(b"again\n"),
        b"sub": FOLDER,
        b"sub/" + os.fsencode(other): text(b"new\n"),
    }
    assert world.files() == after
    assert world.undo().code == 0
    assert world.files() == {name: text(b"old\n")}
    world.plan("second")
    world.ok("stage", "delete", "--", path)
    world.build()
    assert world.files() == {}


def test_undo_removes_only_folders_that_the_run_made(world: World) -> None:
    os.makedirs(world.at("mine/empty"))
    world.plan()
    for path in ("mine/empty/a", "made/b", "made/deep/c"):
        world.write(path, b"x")
    world.build()
    world.put("made/guest", b"somebody else's")
    assert world.undo().code == 0
    assert world.files() == {
        b"mine": FOLDER,
        b"mine/empty": FOLDER,
        b"made": FOLDER,
        b"made/guest": text(b"somebody else's"),
    }


def test_f145_a_large_binary_file_goes_through_and_comes_back(world: World) -> None:
    block = os.urandom(1 << 20)
    large = b"".join(block[number:] + block[:number] for number in range(24))
    world.put("large.bin", large)
    world.plan()
    source = world.base / "new.bin"
    source.write_bytes(large[::-1])
    world.ok("stage", "write", "large.bin", "--from", str(source))
    world.approve()
    (operation,) = world.ok("review")["operations"]
    assert (operation["diff"], operation["risks"]) == (None, ["unshown"])
    shown = world.run("review").out
    assert NOT_SHOWN_BUT.encode() in shown
    assert f"{len(large)} bytes".encode() in shown
    world.ok("build")
    assert world.files() == {b"large.bin": text(large[::-1])}
    assert world.undo().code == 0
    assert world.files() == {b"large.bin": text(large)}


# Prints the most memory that the program ever had, in KiB, when it is over.
MEASURED = """
import atexit, sys
status = "/proc/self/status"
peak = lambda: open(status, encoding="utf-8").read().partition("VmHWM:")[2].split()[0]
atexit.register(lambda: print(peak(), file=sys.stderr))
from assent.cli import main
main()
"""


def test_f145_a_large_file_is_never_in_memory_as_a_whole(world: World) -> None:
    size = 64 << 20
    for path in ("old.bin", "moved.bin"):
        world.put(path)
        os.truncate(world.at(path), size)
    source = world.base / "new.bin"
    source.write_bytes(b"x")
    os.truncate(source, size)
    world.plan()
    digest = ""
    peaks = {}
    for line in (
        ["status"], ["stage", "write", "old.bin", "--from", str(source)],
        ["stage", "move", "moved.bin", "there.bin"], ["propose"], ["review"],
        ["approve", "--digest", "DIGEST"], ["build"], ["undo", "--dry-run"],
    ):  # fmt: skip
        words = [digest if word == "DIGEST" else word for word in line]
        answer = world.start([PROGRAM[0], "-c", MEASURED, *words, "--json"])
        assert answer.code == 0, answer
        digest = answer.json.get("digest") or digest
        peaks[" ".join(line[:2])] = int(answer.err)
    assert os.stat(world.at("old.bin")).st_size == size
    too_much = peaks.pop("status") + size // 4 // 1024
    assert {line: peak for line, peak in peaks.items() if peak > too_much} == {}


def test_an_edit_says_how_often_the_text_occurs(world: World) -> None:
    world.put("a.txt", b"one two one\n")
    world.plan()
    for find, count in (("one", 2), ("three", 0), ("o", 3)):
        refused = world.no(1, "stage", "edit", "a.txt", "--find", find, "--put", "x")
        assert refused["error"] == "no_match"
        assert f"occurs {count} times" in refused["message"]
    assert world.ok("stage", "list") == {"operations": []}


def test_an_edit_across_the_pieces_of_a_large_file(world: World) -> None:
    piece = 1 << 20
    content = b"x" * (piece - 3) + b"needle" + b"y" * piece
    world.put("large", content)
    world.plan()
    world.ok("stage", "edit", "large", "--find", "needle", "--put", "pin")
    world.build()
    assert world.files() == {b"large": text(content.replace(b"needle", b"pin"))}


def test_paths_are_relative_to_the_current_folder(world: World) -> None:
    world.put("sub/a.txt", b"a\n")
    (world.root / "sub" / "source").write_bytes(b"from here\n")
    world.plan()
    sub = world.root / "sub"
    edit = ("stage", "edit", "a.txt", "--find", "a", "--put", "b")
    write = ("stage", "write", "../top.txt", "--from", "source")
    assert [world.run(*line, folder=sub).code for line in (edit, write)] == [0, 0]
    rows = world.ok("stage", "list")["operations"]
    assert [row["path"] for row in rows] == ["sub/a.txt", "top.txt"]
    world.build()
    assert world.files()[b"top.txt"] == text(b"from here\n")
