"""Every call that blobs make on the disk fails once, or is the last one that the process makes."""

import errno
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from itertools import count, islice
from pathlib import Path

import pytest
from tests.store.disks import DyingDisk, FailingDisk

from assent.core.digest import sha256
from assent.core.errors import StoreError
from assent.store.blobs import MAX_PACKED_BLOB_BYTES, FileBlobStore
from assent.store.files import NO_SPACE
from assent.store.packs import SYNCFS_THRESHOLD, BlobDisk
from assent.testing.memory_workspace import SimulatedCrash

# What is tidied up may stay untidy, and a store where no time can be set is not collected either;
# the rest must not fail in silence.
COURTESIES = {"unlink", "listdir", "stat", "utime"}
WORDS = {
    errno.ENOSPC: f"{NO_SPACE} (No space left on device)",
    errno.EIO: "the disk reports an error (Input/output error)",
    errno.EMFILE: "too many files are open (Too many open files)",
}


@cache
def contents(amount: int) -> dict[bytes, str]:
    """Returns contents, one of them too large to share a file, with their digests."""
    long = b"long " * (MAX_PACKED_BLOB_BYTES // 5 + 1)
    all_ = [b"", b"old", long, *[b"small %d" % n for n in range(amount)]]
    return {content: sha256(content) for content in all_}


def pieces(content: bytes) -> Iterator[bytes]:
    yield content[:3]
    yield content[3:]


def work(root: Path, disk: BlobDisk, amount: int) -> None:
    """Keeps contents whole and in pieces, some of them stored before, and reads them."""
    blobs = FileBlobStore(root, disk)
    for content in contents(amount):
        blobs.keep(pieces(content) if len(content) > 100 else [content])
    blobs.flush()
    for content, digest in islice(contents(amount).items(), 4):
        assert blobs.has(digest)
        assert blobs.read(digest) == b"".join(blobs.chunks(digest)) == content


def said_at_work(root: Path, disk: BlobDisk, amount: int) -> str:
    try:
        work(root, disk, amount)
    except StoreError as error:
        return error.message
    return ""


def prepared(root: Path) -> Path:
    """A store that holds something, and something that a dead process left behind."""
    blobs = FileBlobStore(root)
    blobs.keep([b"old"])
    blobs.flush()
    (root / "tmp").mkdir()
    (root / "tmp" / "left-over").write_bytes(b"half")
    return root


def expect_whole(root: Path, amount: int) -> int:
    """Checks that each content is there as a whole or not at all; returns how many are."""
    blobs = FileBlobStore(root)
    there = {content: digest for content, digest in contents(amount).items() if blobs.has(digest)}
    assert [blobs.read(digest) for digest in there.values()] == [*there]
    return len(there)


@pytest.mark.parametrize("amount", [2, SYNCFS_THRESHOLD + 2])
@pytest.mark.parametrize("number", WORDS)
def test_any_call_may_fail(tmp_path: Path, amount: int, number: int) -> None:
    silent = set()
    for at in count(1):
        root = prepared(tmp_path / str(at))
        disk = FailingDisk(at, number)
        said = said_at_work(root, disk, amount)
        assert not said or WORDS[number] in said
        there = expect_whole(root, amount)
        if not said:
            assert there == len(contents(amount))
            silent.add(disk.failed)
        work(root, BlobDisk(), amount)
        if not disk.failed:
            break
    assert at > 20
    assert silent <= COURTESIES | {""}


@pytest.mark.parametrize("amount", [2, SYNCFS_THRESHOLD + 2])
def test_any_call_may_be_the_last(tmp_path: Path, amount: int) -> None:
    for at in count(1):
        root = prepared(tmp_path / str(at))
        disk = DyingDisk(at)
        with suppress(SimulatedCrash):
            work(root, disk, amount)
            break
        expect_whole(root, amount)
        work(root, BlobDisk(), amount)
        assert expect_whole(root, amount) == len(contents(amount))
    assert at > 20


def test_failed_flush_forgets_what_was_pending(tmp_path: Path) -> None:
    dry = FailingDisk(0, 0)
    work(tmp_path / "dry", dry, 0)
    first_sync = [name for name, _ in dry.calls].index("fsync") + 1
    blobs = FileBlobStore(tmp_path / "wet", FailingDisk(first_sync, errno.EIO))
    for content in contents(0):
        blobs.keep(pieces(content) if len(content) > 100 else [content])
    with pytest.raises(StoreError):
        blobs.flush()
    assert [blobs.has(digest) for digest in contents(0).values()] == [False] * 3
    assert list((tmp_path / "wet" / "tmp").iterdir()) == []
    for content in contents(0):
        blobs.keep([content])
    blobs.flush()
    assert expect_whole(tmp_path / "wet", 0) == 3
