"""Collecting removes contents that nothing needs, and never one that somebody just kept."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest
from tests.store.disks import WatchedDisk

from assent.ports import CollectionResult
from assent.store.blobs import MAX_PACKED_BLOB_BYTES, REFRESH_AFTER_S, FileBlobStore
from assent.store.garbage_collector import EVERY, GRACE, SMALL_PACK_BYTES, BlobGarbageCollector
from assent.store.packs import SYNCFS_THRESHOLD
from assent.testing.memory_workspace import SimulatedCrash

HOUR = 3600.0


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "blobs"


def keep(root: Path, *contents: bytes) -> list[str]:
    blobs = FileBlobStore(root)
    digests = [blobs.keep([content])[0] for content in contents]
    blobs.flush()
    return digests


def stored(root: Path) -> set[str]:
    """The names of all contents, as another process finds them."""
    names = {sha256(content).hexdigest() for content in CONTENTS}
    return {name for name in names if FileBlobStore(root).has(name)}


def age(root: Path, seconds: float = 2 * HOUR) -> None:
    """Makes everything look as if it was kept some time ago."""
    then = time.time() - seconds
    for path in root.rglob("*"):
        if path.is_file():
            os.utime(path, (then, then))


CONTENTS = [b"%d" % n for n in range(3 * SYNCFS_THRESHOLD)]
LARGE = b"x" * MAX_PACKED_BLOB_BYTES  # with one byte more, it has a file of its own


def nothing(digest: str) -> bool:
    return False


def test_f146_what_nobody_needs_goes_and_the_rest_stays(root: Path) -> None:
    wanted, unwanted, other = keep(root, b"1", b"22", b"3")
    age(root)
    assert BlobGarbageCollector(root).collect({wanted, other}.__contains__) == CollectionResult(
        1, 2, 0
    )
    assert not FileBlobStore(root).has(unwanted)
    assert FileBlobStore(root).read(wanted) == b"1"
    assert FileBlobStore(root).read(other) == b"3"


def test_f146_what_is_young_stays_whoever_needs_it(root: Path) -> None:
    digests = keep(root, b"1", b"22")
    assert BlobGarbageCollector(root).collect(nothing) == CollectionResult(0, 0, 3)
    age(root, GRACE - REFRESH_AFTER_S)
    assert BlobGarbageCollector(root).collect(nothing) == CollectionResult(0, 0, 3)
    assert stored(root) == set(digests)


def again(root: Path, content: bytes) -> None:
    keep(root, content)


def found(root: Path, content: bytes) -> None:
    assert FileBlobStore(root).has(sha256(content).hexdigest())


@pytest.mark.parametrize("use", [again, found])
def test_f146_what_is_kept_again_or_found_is_young(
    root: Path, use: Callable[[Path, bytes], None]
) -> None:
    (digest,) = keep(root, b"old")
    age(root)
    use(root, b"old")
    assert BlobGarbageCollector(root).collect(nothing).contents == 0
    assert FileBlobStore(root).read(digest) == b"old"


def test_f146_a_pack_goes_with_the_last_content_that_is_needed(root: Path) -> None:
    digests = keep(root, *CONTENTS)
    packs = list((root / "packs").iterdir())
    assert len(packs) == 1
    age(root)
    few = set(digests[-2:])
    freed = BlobGarbageCollector(root).collect(few.__contains__)
    assert freed.size == sum(map(len, CONTENTS[:-2]))
    assert stored(root) == few
    assert list((root / "packs").iterdir()) != packs
    age(root)
    BlobGarbageCollector(root).collect(nothing)
    assert (stored(root), list((root / "packs").iterdir())) == (set(), [])


def test_f146_a_large_pack_that_is_mostly_needed_stays_as_it_is(root: Path) -> None:
    contents = [b"%d" % n * (SMALL_PACK_BYTES // len(CONTENTS)) for n in range(len(CONTENTS))]
    digests = keep(root, *contents)
    packs = list((root / "packs").iterdir())
    assert len(packs) == 1
    age(root)
    BlobGarbageCollector(root).collect(set(digests[: -SYNCFS_THRESHOLD // 2]).__contains__)
    assert list((root / "packs").iterdir()) == packs
    assert all(FileBlobStore(root).has(digest) for digest in digests)


def test_f146_a_small_pack_loses_even_one_content_that_nothing_needs(root: Path) -> None:
    """It may have been the file of small contents of many runs; one of them was pruned."""
    digests = keep(root, *CONTENTS)
    age(root)
    freed = BlobGarbageCollector(root).collect(set(digests[1:]).__contains__)
    assert (freed.contents, freed.size) == (1, len(CONTENTS[0]))
    assert stored(root) == set(digests[1:])
    (pack,) = (root / "packs").iterdir()
    assert pack.read_bytes().startswith(b"".join(CONTENTS[1:]))


def test_f146_who_knew_the_old_pack_finds_the_new_one(root: Path) -> None:
    digests = keep(root, *CONTENTS)
    reader = FileBlobStore(root)
    assert all(reader.has(digest) for digest in digests)
    age(root)
    BlobGarbageCollector(root).collect({digests[-1]}.__contains__)
    assert reader.read(digests[-1]) == CONTENTS[-1]
    assert reader.keep([CONTENTS[-2]])[0] == digests[-2]
    reader.flush()
    assert FileBlobStore(root).read(digests[-2]) == CONTENTS[-2]


def test_f146_a_damaged_pack_is_nobodys_to_judge(root: Path) -> None:
    keep(root, *CONTENTS)
    (pack,) = (root / "packs").iterdir()
    pack.write_bytes(pack.read_bytes()[:-3])
    age(root)
    BlobGarbageCollector(root).collect(nothing)
    assert pack.exists()


class Meddling(WatchedDisk):
    """Lets somebody keep the content again at the moment when it is set aside."""

    def __init__(self, root: Path, content: bytes) -> None:
        super().__init__()
        self._root, self._content = root, content

    def before(self, name: str) -> None:
        if name == "rename":
            self._root, root = Path(), self._root
            if root != Path():
                keep(root, self._content)


def test_f146_what_is_kept_while_it_is_taken_comes_back(root: Path) -> None:
    old = LARGE + b"."
    (digest,) = keep(root, old)
    age(root)
    freed = BlobGarbageCollector(root, disk=Meddling(root, old)).collect(nothing)
    assert freed == CollectionResult(0, 0, len(old))
    assert FileBlobStore(root).read(digest) == old


class Dying(WatchedDisk):
    """Is gone from one call on that changes something."""

    def __init__(self, at: int) -> None:
        super().__init__()
        self.at, self.changes = at, 0

    def before(self, name: str) -> None:
        if name in ("rename", "unlink", "mkdir", "utime"):
            self.changes += 1
            if self.changes > self.at:
                raise SimulatedCrash


def test_f146_a_collection_that_dies_loses_nothing_that_is_needed(root: Path) -> None:
    at, over = 0, False
    while not over:
        large = [LARGE + b"%d" % n for n in range(SYNCFS_THRESHOLD)]
        wanted, *_ = keep(root, b"wanted", b"1", b"22", *large)
        keep(root, *CONTENTS)
        age(root)
        disk = Dying(at)
        try:
            BlobGarbageCollector(root, disk=disk).collect({wanted}.__contains__)
            over = True
        except SimulatedCrash:
            BlobGarbageCollector(root).collect({wanted}.__contains__)
        assert FileBlobStore(root).read(wanted) == b"wanted"
        at += 1
    assert at > SYNCFS_THRESHOLD
    assert stored(root) == set()
    assert list((root / "aside").iterdir()) == []


KEEPER = """
import sys
from assent.store.blobs import FileBlobStore
for line in sys.stdin:
    blobs = FileBlobStore(sys.argv[1])
    digest, _ = blobs.keep([line.strip().encode()])
    blobs.flush()
    print(digest, FileBlobStore(sys.argv[1]).has(digest), flush=True)
"""


def test_f146_another_process_that_keeps_meanwhile_loses_nothing(root: Path) -> None:
    contents = [b"c%d" % n for n in range(60)]
    digests = keep(root, *contents)
    age(root)
    with subprocess.Popen(
        [sys.executable, "-c", KEEPER, str(root)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as keeper:
        assert keeper.stdin
        assert keeper.stdout
        keeper.stdin.write(b"".join(content + b"\n" for content in contents[::-1]))
        keeper.stdin.close()
        first = keeper.stdout.readline()
        for _ in range(20):
            BlobGarbageCollector(root).collect(nothing)
        told = [first, *keeper.stdout.readlines()]
    assert [line.split()[0].decode() for line in told] == digests[::-1]
    assert {line.split()[1] for line in told} == {b"True"}
    BlobGarbageCollector(root).collect(nothing)
    blobs = FileBlobStore(root)
    assert [blobs.read(digest) for digest in digests] == contents


def test_f146_it_is_due_once_a_day(root: Path) -> None:
    keep(root, b"1")
    collector = BlobGarbageCollector(root)
    assert not collector.due()
    age(root, EVERY + 1)
    assert collector.due()
    collector.collect(nothing)
    assert not collector.due()


def test_f146_other_files_in_the_folder_stay(root: Path) -> None:
    (digest,) = keep(root, LARGE + b"1")
    damaged = root / digest[:2] / f"{digest[2:]}.damaged"
    damaged.write_bytes(b"x")
    (root / "readme").write_bytes(b"x")
    age(root)
    BlobGarbageCollector(root).collect(nothing)
    assert damaged.exists()
    assert (root / "readme").exists()
