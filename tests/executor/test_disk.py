"""The kernel's calls do what their names say."""

import errno
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.executor.disk_doubles import content_of, put

from assent.executor.disk import Disk


@pytest.fixture
def at(tmp_path: Path) -> Iterator[int]:
    fd = os.open(tmp_path, os.O_RDONLY)
    yield fd
    os.close(fd)


def test_noreplace_moves_and_never_replaces(tmp_path: Path, at: int) -> None:
    put(tmp_path, b"one", b"1")
    put(tmp_path, b"two", b"2")
    with pytest.raises(FileExistsError):
        Disk().rename_noreplace(b"one", at, b"two", at)
    Disk().rename_noreplace(b"one", at, b"three", at)
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == {"three": b"1", "two": b"2"}


def test_exchange_swaps_two_names(tmp_path: Path, at: int) -> None:
    put(tmp_path, b"one", b"1")
    put(tmp_path, b"two", b"2")
    Disk().rename_exchange(b"one", at, b"two", at)
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == {"one": b"2", "two": b"1"}


def test_errors_carry_their_number(at: int) -> None:
    with pytest.raises(FileNotFoundError) as missing:
        Disk().rename_exchange(b"no", at, b"neither", at)
    assert (missing.value.errno, missing.value.filename) == (errno.ENOENT, b"no")
    with pytest.raises(OSError, match="Bad file descriptor"):
        Disk().syncfs(10_000)


def test_scan_tells_kinds_and_keeps_bytes(tmp_path: Path, at: int) -> None:
    put(tmp_path, b"\xff\n", b"odd name")
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("folder")
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "socket"))
    for _ in range(2):  # reading a folder leaves its descriptor at the beginning
        assert sorted(Disk().scan(at)) == [
            (b"folder", "folder"),
            (b"link", "link"),
            (b"pipe", "other"),
            (b"socket", "other"),
            (b"\xff\n", "file"),
        ]


def test_link_takes_a_symlink_itself(tmp_path: Path, at: int) -> None:
    (tmp_path / "link").symlink_to("nowhere")
    Disk().link(b"link", at, b"other", at)
    assert os.readlink(tmp_path / "other") == "nowhere"


def test_content_goes_out_and_comes_back(tmp_path: Path, at: int) -> None:
    disk = Disk()
    fd = disk.open(b"file", os.O_WRONLY | os.O_CREAT, 0o600, at)
    assert disk.write(fd, b"content") == 7
    disk.fsync(fd)
    disk.syncfs(fd)
    disk.close(fd)
    assert content_of(tmp_path, b"file") == b"content"
