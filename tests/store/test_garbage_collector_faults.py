"""A collection that fails in the middle says what it removed, and never that nothing changed."""

import errno
import re
from itertools import count
from pathlib import Path

import pytest
from tests.store.disks import FailingDisk
from tests.store.test_garbage_collector import CONTENTS, age, keep, nothing

from assent.core.errors import StoreError
from assent.store.blobs import MAX_PACKED_BLOB_BYTES, FileBlobStore
from assent.store.garbage_collector import BlobGarbageCollector

REMOVED = re.compile(r" Before that, ([\d,]+) bytes? of unused content had been removed\.$")
LARGE = b"x" * MAX_PACKED_BLOB_BYTES
NONE = "All content that is still needed is intact. Nothing was removed."


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "blobs"


def size(root: Path) -> int:
    """Returns the size of all contents that are not removed, set aside or not."""
    return sum(file.stat().st_size for file in root.rglob("*") if file.is_file())


def words(collector: BlobGarbageCollector, wanted: str) -> str:
    """Collects, and returns what is said if that fails."""
    try:
        collector.collect({wanted}.__contains__)
    except StoreError as error:
        return error.message
    return ""


def test_f146_wherever_it_fails_its_words_are_true(root: Path) -> None:
    """Every call of a collection fails once, of a store with three contents that nothing needs."""
    (wanted,) = keep(root, b"wanted")
    told, failed = set[str](), "at first"
    for at in count(1):
        if not failed:
            break
        keep(root, *[LARGE + b"4" * n for n in (1, 2, 4)])
        age(root)
        disk, before = FailingDisk(at, errno.EIO), size(root)
        message = words(BlobGarbageCollector(root, disk=disk), wanted)
        if message:
            found = REMOVED.search(message)
            assert found or message.endswith(NONE), message
            assert (int(found[1].replace(",", "")) if found else 0) == before - size(root), (
                disk.failed,
                message,
            )
            told.add(disk.failed)
        failed = disk.failed
        assert FileBlobStore(root).read(wanted) == b"wanted"
        BlobGarbageCollector(root).collect({wanted}.__contains__)
    assert {"rename", "unlink", "stat"} <= told


def test_f146_a_damaged_pack_does_not_hide_what_was_removed_before(root: Path) -> None:
    digests = keep(root, *CONTENTS)
    (alone,) = keep(root, b"alone")
    (pack,) = (root / "packs").iterdir()
    content = bytearray(pack.read_bytes())
    at = content.index(CONTENTS[-1])
    content[at] ^= 1
    pack.write_bytes(content)
    age(root)
    with pytest.raises(StoreError, match=r"is damaged\. Nothing was removed from it") as raised:
        BlobGarbageCollector(root).collect({digests[-1]}.__contains__)
    assert REMOVED.search(raised.value.message)
    assert raised.value.next == "assent log --verify"
    assert not FileBlobStore(root).has(alone)


def test_f146_of_one_that_removed_nothing_it_says_so(root: Path) -> None:
    keep(root, LARGE + b"1")
    age(root)
    (root / "aside").write_bytes(b"")
    with pytest.raises(StoreError) as raised:
        BlobGarbageCollector(root).collect(nothing)
    assert raised.value.message.endswith(NONE)
