"""Odd files, in the workspace and by commands: large, sparse, special, and with two names."""

import os
import socket
import time
from pathlib import Path

import msgspec
import pytest
from tests.sandbox.profiles import needs_bubblewrap
from tests.scratch.copies import Contents, Place, draft, furnished, kinds, line, settle

from assent.core.scratch import ScratchLimits
from assent.sandbox.scratch.copy import TREE
from assent.sandbox.scratch.scratch import LocalScratchCopy

pytestmark = needs_bubblewrap

MEBIBYTE = 1 << 20
LARGE = (1 << 31) + 4097  # more than a signed number of 32 bits holds
MARK = b"the last bytes"
SMALL = ScratchLimits(max_bytes=24 * MEBIBYTE, reserve_bytes=MEBIBYTE)


def sparse(path: Path, size: int = LARGE) -> None:
    """Makes a file that takes a few blocks only."""
    with path.open("wb") as out:
        out.truncate(size)
        out.seek(size - len(MARK))
        out.write(MARK)


def blocks(path: Path) -> int:
    return path.stat().st_blocks * 512


@pytest.fixture
def odd(place: Place, tmp_path: Path) -> Place:
    """A workspace of its own, for a test that adds files to it."""
    return furnished(tmp_path / "odd", only=place.only)


def test_a_sparse_file_of_two_gigabytes_takes_no_room_in_a_copy(odd: Place) -> None:
    sparse(odd.root / "large.bin")
    settle()
    copy = odd.open()
    ended = line(copy, odd, "stat -c %s large.bin; tail -c 14 large.bin; echo x > a.txt")
    assert ended.output == f"{LARGE}\n".encode() + MARK
    assert kinds(copy.changes()) == {"a.txt": "replaced"}
    assert sum(map(blocks, (odd.folder / "s1").rglob("*"))) < MEBIBYTE
    if odd.only == "copy":
        copied = odd.folder / "s1" / os.fsdecode(TREE) / "large.bin"
        with copied.open("rb") as stream:
            stream.seek(LARGE - len(MARK))
            assert stream.read() == MARK
    copy.clear()


def test_files_larger_than_the_copy_may_be_are_never_read_back(odd: Place) -> None:
    """To read them would take hours, and a program can make them without taking any room."""
    sparse(odd.root / "large.bin")
    settle()
    small = msgspec.structs.replace(odd, limits=SMALL)
    copy = small.open()
    began = time.process_time()
    many = "mkdir m; for i in 1 2 3 4 5 6; do truncate -s 20M m/$i; done"
    rows = {"truncate -s 1T huge": 0, "printf x >> large.bin": 0, "chmod 600 large.bin": 0, many: 1}
    for text, read in rows.items():
        ended = line(copy, small, text, file=0)
        assert (ended.code, ended.errors) == (0, b"")
        found = copy.changes()
        assert (len(found.changes), found.known) == (read, False), text
    assert line(copy, small, "tail -c 14 large.bin").output == MARK
    assert time.process_time() - began < 5
    copy.clear()


@pytest.mark.parametrize("text", ["printf x >> big", "fallocate -l 64M out", "cp big again"])
def test_what_takes_real_room_ends_the_command(odd: Place, text: str) -> None:
    if odd.only == "copy" and ">>" in text:
        text = "cat big >> big2"  # there it is copied before any command
    (odd.root / "big").write_bytes(os.urandom(MEBIBYTE) * 16)
    most = 12 if odd.only == "overlay" else 24  # without the workspace, and with it
    limits = ScratchLimits(max_bytes=most * MEBIBYTE, reserve_bytes=MEBIBYTE)
    small = msgspec.structs.replace(odd, limits=limits)
    copy = small.open()
    ended = line(copy, small, f"{text}; sleep 20; echo over", file=0)
    assert (ended.cut, b"scratch.max_mb" in ended.errors) == ("copy", True)
    copy.clear()


def test_names_that_differ_in_case_alone_are_two_files(
    copy: LocalScratchCopy, place: Place
) -> None:
    line(
        copy,
        place,
        "mv a.txt A.txt; mv docs Docs; echo 1 > RUN.SH; mkdir SRC; echo 2 > SRC/main.py",
    )
    assert kinds(copy.changes()) == {
        "a.txt": "deleted", "A.txt": "created", "docs/one.md": "deleted", "docs/two.md": "deleted",
        "Docs/one.md": "created", "Docs/two.md": "created", "RUN.SH": "created",
        "SRC/main.py": "created",
    }  # fmt: skip
    made = Contents()
    files = {b"a.txt": None, b"A.txt": made.file(b"upper\n"), b"DOCS/one.md": made.file(b"1\n")}
    copy.apply(draft(files), made.read)
    assert line(copy, place, "ls [aA].txt; cat A.txt DOCS/* docs/*").output == (
        b"A.txt\nupper\n1\none\ntwo\n"
    )
    assert kinds(copy.changes()) == {}
    line(copy, place, "mv A.txt a.txt")
    assert kinds(copy.changes()) == {"a.txt": "created", "A.txt": "deleted"}


def test_no_one_can_be_talked_to_through_a_copy(odd: Place) -> None:
    """A socket or pipe of the workspace has someone at its other end: a program of the user."""
    os.mkfifo(odd.root / "pipe")
    listener = socket.socket(socket.AF_UNIX)
    here = os.open(odd.root, os.O_RDONLY)
    listener.bind(f"/proc/self/fd/{here}/sock")  # a whole path may be too long
    os.close(here)
    listener.listen()
    listener.setblocking(False)
    pipe = os.open(odd.root / "pipe", os.O_RDWR | os.O_NONBLOCK)
    settle()
    code = "import socket; socket.socket(socket.AF_UNIX).connect('sock')"
    copy = odd.open()
    attack = f"timeout 1 sh -c 'echo x > pipe'; /usr/bin/python3 -c \"{code}\"; rm -f pipe sock"
    for text in (attack, f"{attack}; mkfifo pipe2 && rm -f pipe2"):
        ended = line(copy, odd, text)
        assert ended.errors.count(b"Permission denied") >= 1
        assert (kinds(copy.changes()), copy.changes().left_out) == ({}, ())
    with pytest.raises(BlockingIOError):
        os.read(pipe, 1)
    with pytest.raises(BlockingIOError):
        listener.accept()
    os.close(pipe)
    listener.close()
    copy.clear()


def test_hard_links_never_lead_from_one_command_or_file_to_another(odd: Place) -> None:
    os.link(odd.root / "a.txt", odd.root / "b.txt")
    os.link(odd.root / "a.txt", odd.base / "home/a.txt")
    settle()
    before = odd.seen()
    copy = odd.open()
    made = Contents()
    copy.apply(draft({b"run.sh": made.file(b"drafted\n")}), made.read)
    keeps = "mkdir -p out; ln -f a.txt out/a; ln -f run.sh out/run; ln -f docs/one.md out/one"
    line(
        copy, odd, f"{keeps}; echo more >> a.txt; ln docs/two.md three.md; ln .env e; ln -L link l"
    )
    found = copy.changes()
    assert kinds(found) == {"a.txt": "replaced", "three.md": "created", "l": "created"}
    assert found.hard_links == (b"a.txt",)
    for name in ("a", "run", "one"):  # each was the same file as another name, one command ago
        line(copy, odd, f"echo bad > out/{name}")
        assert (
            line(copy, odd, "cat a.txt b.txt run.sh docs/one.md").output == b"a\na\ndrafted\none\n"
        )
        assert kinds(copy.changes()) == {}
    copy.clear()
    assert odd.seen() == before
