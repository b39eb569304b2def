"""Small contents share one file: appended, found by digest, cut where a process died, collected."""

import errno
import fcntl
import os
import subprocess
import sys
import time
from contextlib import suppress
from hashlib import sha256
from itertools import count
from pathlib import Path

import pytest
from tests.store.disks import DyingDisk, FailingDisk, SlowDisk, WatchedDisk

from assent.core.errors import StoreError
from assent.ports import CollectionResult
from assent.store.blobs import (
    MAX_APPENDED_BYTES,
    MAX_PACKED_BLOB_BYTES,
    STAGE_AGAIN,
    FileBlobStore,
    damaged_text,
)
from assent.store.garbage_collector import BlobGarbageCollector
from assent.store.packs import SYNCFS_THRESHOLD, BlobDisk, BlobWriter
from assent.store.small_blobs import MAX_FILE_BYTES, SmallBlobs
from assent.testing.memory_workspace import SimulatedCrash

HOUR = 3600
ONE, TWO, THREE = b"one", b"", b"the third content"


def name(content: bytes) -> str:
    return sha256(content).hexdigest()


def keep(root: Path, *contents: bytes, disk: BlobDisk | None = None) -> FileBlobStore:
    blobs = FileBlobStore(root, disk)
    for content in contents:
        blobs.keep([content])
    blobs.flush()
    return blobs


def files(root: Path) -> set[str]:
    return {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}


def has(root: Path, *contents: bytes) -> list[bool]:
    return [FileBlobStore(root).has(name(content)) for content in contents]


def collect(root: Path, *needed: bytes) -> CollectionResult:
    return BlobGarbageCollector(root).collect({name(one) for one in needed}.__contains__)


def set_back(root: Path, *contents: bytes, seconds: float = 2 * HOUR) -> None:
    """Makes records look as if they were needed for the last time a while ago."""
    whole = bytearray((root / "small").read_bytes())
    for content in contents:
        at = whole.index(bytes.fromhex(name(content))) + 36
        whole[at : at + 8] = int(time.time() - seconds).to_bytes(8)
    (root / "small").write_bytes(whole)


def test_small_contents_of_many_flushes_are_one_private_file(tmp_path: Path) -> None:
    for content in (ONE, TWO, THREE):
        keep(tmp_path, content)
    assert files(tmp_path) == {"small"}
    assert (tmp_path / "small").stat().st_mode & 0o7777 == 0o600
    fresh = FileBlobStore(tmp_path)
    assert [fresh.read(name(one)) for one in (ONE, TWO, THREE)] == [ONE, TWO, THREE]
    assert [b"".join(fresh.chunks(name(one))) for one in (ONE, TWO, THREE)] == [ONE, TWO, THREE]
    assert fresh.missing([name(ONE), name(b"none")]) == [name(b"none")]


def test_a_content_is_appended_once_and_seen_by_who_read_before(tmp_path: Path) -> None:
    reader = FileBlobStore(tmp_path)
    assert not reader.has(name(ONE))
    keep(tmp_path, ONE)
    size = (tmp_path / "small").stat().st_size
    assert reader.read(name(ONE)) == ONE
    keep(tmp_path, ONE)
    assert (tmp_path / "small").stat().st_size == size
    keep(tmp_path, TWO)
    assert reader.has(name(TWO))


def test_what_is_large_or_much_is_not_appended(tmp_path: Path) -> None:
    large = b"x" * (MAX_PACKED_BLOB_BYTES + 1)
    much = [b"%d" % n * (MAX_APPENDED_BYTES // 3) for n in range(4)]
    keep(tmp_path / "large", large)
    keep(tmp_path / "much", *much)
    keep(tmp_path / "many", *[b"%d" % n for n in range(SYNCFS_THRESHOLD + 1)])
    for root in ("large", "much", "many"):
        assert not (tmp_path / root / "small").exists()


def test_what_comes_in_small_pieces_is_appended_too(tmp_path: Path) -> None:
    blobs = FileBlobStore(tmp_path)
    assert blobs.keep(iter([b"in ", b"", b"pieces"])) == (name(b"in pieces"), 9)
    assert blobs.keep(iter([])) == (name(b""), 0)
    blobs.flush()
    assert files(tmp_path) == {"small"}
    assert FileBlobStore(tmp_path).read(name(b"in pieces")) == b"in pieces"


def test_a_damaged_file_of_its_own_does_not_hide_a_content_that_was_stored_again(
    tmp_path: Path,
) -> None:
    alone = tmp_path / name(ONE)[:2] / name(ONE)[2:]
    alone.parent.mkdir()
    alone.write_bytes(ONE[:-1])
    with pytest.raises(StoreError, match="is damaged"):
        FileBlobStore(tmp_path).read(name(ONE))
    blobs = keep(tmp_path, ONE)
    assert blobs.read(name(ONE)) == b"".join(blobs.chunks(name(ONE))) == ONE


def test_it_is_durable_after_the_flush_with_one_sync(tmp_path: Path) -> None:
    disk = WatchedDisk()
    blobs = keep(tmp_path, ONE, disk=disk)
    disk.calls.clear()
    blobs.keep([TWO])
    blobs.flush()
    assert [call for call, _ in disk.calls if call in ("pwrite", "fsync")] == ["pwrite", "fsync"]


def test_what_another_process_left_undurable_is_synced_by_who_finds_it(tmp_path: Path) -> None:
    keep(tmp_path, ONE)
    disk = WatchedDisk()
    keep(tmp_path, ONE, disk=disk)
    assert ("fsync", f"{tmp_path}/small") in disk.calls
    assert ("fsync", f"{tmp_path}") in disk.calls


def test_a_disk_that_writes_a_little_at_a_time(tmp_path: Path) -> None:
    keep(tmp_path, ONE, THREE, disk=SlowDisk())
    assert FileBlobStore(tmp_path).read(name(THREE)) == THREE


def test_whatever_is_left_of_a_record_is_cut_off_and_nothing_else(tmp_path: Path) -> None:
    """A process died, or the power failed, at any byte of a record."""
    keep(tmp_path / "whole", ONE, THREE)
    before = (tmp_path / "whole" / "small").stat().st_size
    keep(tmp_path / "whole", b"four")
    whole = (tmp_path / "whole" / "small").read_bytes()
    for at in range(before, len(whole)):
        for rest in (b"", bytes(len(whole) - at)):  # its end may be there without its bytes
            root = tmp_path / f"{at}-{len(rest)}"
            root.mkdir()
            (root / "small").write_bytes(whole[:at] + rest)
            assert FileBlobStore(root).read(name(THREE)) == THREE
            with pytest.raises(StoreError):
                FileBlobStore(root).read(name(b"four"))
            keep(root, b"five")
            keep(root, b"four")
            fresh = FileBlobStore(root)
            assert [fresh.read(name(one)) for one in (ONE, THREE, b"five", b"four")] == [
                ONE, THREE, b"five", b"four",
            ]  # fmt: skip


@pytest.mark.parametrize("content", [b"plain", b"\xa5blob\r\n\x01" * 9])
def test_damage_is_about_one_content_and_never_handed_out(tmp_path: Path, content: bytes) -> None:
    """Each byte of a record in the middle is damaged once; those around it stay."""
    keep(tmp_path / "whole", ONE)
    start = (tmp_path / "whole" / "small").stat().st_size
    keep(tmp_path / "whole", content)
    end = (tmp_path / "whole" / "small").stat().st_size
    keep(tmp_path / "whole", THREE)
    whole = (tmp_path / "whole" / "small").read_bytes()
    used = range(start + 44, start + 52)
    for at in [at for at in range(start, end) if at not in used]:
        root = tmp_path / str(at)
        root.mkdir()
        (root / "small").write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        blobs = FileBlobStore(root)
        assert [blobs.read(name(one)) for one in (ONE, THREE)] == [ONE, THREE]
        with pytest.raises(StoreError) as caught:
            blobs.read(name(content))
        assert caught.value.message.endswith(STAGE_AGAIN)
        keep(root, content)
        fresh = FileBlobStore(root)
        assert [fresh.read(name(one)) for one in (ONE, content, THREE)] == [ONE, content, THREE]


def test_a_damaged_content_is_named_with_its_file(tmp_path: Path) -> None:
    keep(tmp_path, THREE)
    keep(tmp_path, ONE)  # after the last one, nothing would tell a damaged one from a torn one
    path = tmp_path / "small"
    path.write_bytes(path.read_bytes().replace(THREE, THREE[::-1]))
    with pytest.raises(StoreError) as caught:
        FileBlobStore(tmp_path).read(name(THREE))
    assert caught.value.message == damaged_text(name(THREE), path)


def test_a_record_whose_content_never_came_to_disk_is_not_there(tmp_path: Path) -> None:
    keep(tmp_path, THREE)
    path = tmp_path / "small"
    path.write_bytes(path.read_bytes().replace(THREE, bytes(len(THREE))))
    assert not FileBlobStore(tmp_path).has(name(THREE))
    keep(tmp_path, THREE)
    assert FileBlobStore(tmp_path).read(name(THREE)) == THREE


def test_what_another_process_may_not_have_synced_is_synced_before_it_is_relied_on(
    tmp_path: Path,
) -> None:
    keep(tmp_path, ONE)
    synced: list[int] = []

    class Counting(BlobDisk):
        def fsync(self, fd: int) -> None:
            synced.append(fd)
            super().fsync(fd)

    store = FileBlobStore(tmp_path, Counting())
    assert store.missing([name(ONE)]) == []
    store.flush()
    assert len(synced) >= 1
    synced.clear()
    assert store.missing([name(ONE)]) == []
    store.flush()
    assert synced == []


def test_the_name_of_a_file_that_another_made_is_synced_once(tmp_path: Path) -> None:
    """Its maker may have died before the name was durable, and with it all that is appended."""
    keep(tmp_path, ONE)
    disk = WatchedDisk()
    blobs = keep(tmp_path, TWO, disk=disk)
    synced = ["small", "."]
    for content in (THREE, b"four"):
        assert [
            os.path.relpath(path, tmp_path) for call, path in disk.calls if call == "fsync"
        ] == synced
        blobs.keep([content])
        blobs.flush()
        synced.append("small")


def test_what_was_seen_of_an_append_that_failed_cuts_nothing_off(tmp_path: Path) -> None:
    """One looks while another writes what then fails; a third one's content stays."""
    keep(tmp_path, ONE)
    looking = FileBlobStore(tmp_path)
    path = tmp_path / "small"
    before = path.read_bytes()
    keep(tmp_path, TWO)
    assert looking.has(name(TWO))
    path.write_bytes(before)  # the other one takes back what it could not sync
    longer = THREE * 9
    keep(tmp_path, longer)
    looking.keep([b"four"])
    looking.flush()
    assert FileBlobStore(tmp_path).read(name(longer)) == longer
    assert FileBlobStore(tmp_path).read(name(b"four")) == b"four"


def test_a_link_in_its_place_is_not_followed(tmp_path: Path) -> None:
    keep(tmp_path / "other", ONE)
    root = tmp_path / "blobs"
    root.mkdir()
    (root / "small").symlink_to(tmp_path / "other" / "small")
    with pytest.raises(StoreError, match="symlink"):
        FileBlobStore(root).read(name(ONE))
    with pytest.raises(StoreError, match="symlink"):
        keep(root, TWO)
    assert has(tmp_path / "other", TWO) == [False]


def test_a_full_file_becomes_a_pack(tmp_path: Path) -> None:
    reader = FileBlobStore(tmp_path)
    contents = [b"%d " % n * 10_000 for n in range(40)]
    for content in contents:
        keep(tmp_path, content)
        assert reader.read(name(contents[0])) == contents[0]
        assert (tmp_path / "small").stat().st_size <= MAX_FILE_BYTES
    assert {path.partition("/")[0] for path in files(tmp_path)} == {"small", "packs"}
    assert len(files(tmp_path)) == 1 + sum(map(len, contents)) // MAX_FILE_BYTES
    for blobs in (reader, FileBlobStore(tmp_path)):
        assert [blobs.read(name(content)) for content in contents] == contents


def sealing(root: Path, disk: BlobDisk) -> None:
    blobs = FileBlobStore(root, disk)
    for content in (b"new", b"newer"):
        blobs.keep([content])
    blobs.flush()


@pytest.fixture
def full(tmp_path: Path) -> tuple[Path, list[bytes]]:
    """A store whose file has no room for two more contents of the test."""
    contents = [b"%d " % n * 10_000 for n in range(100)]
    root, held = tmp_path / "full", []
    for content in contents:
        held.append(content)
        keep(root, content)
        if (root / "small").stat().st_size > MAX_FILE_BYTES - 40_000:
            break
    fill = b"x" * (MAX_FILE_BYTES - (root / "small").stat().st_size - 60)
    keep(root, fill)
    return root, [*held, fill]


def test_a_process_may_die_or_fail_at_any_call_while_it_becomes_one(
    full: tuple[Path, list[bytes]], tmp_path: Path
) -> None:
    root, held = full
    whole = (root / "small").read_bytes()
    for kind in ("dies", "fails"):
        for at in count(1):
            here = tmp_path / f"{kind}-{at}"
            here.mkdir()
            (here / "small").write_bytes(whole)
            disk = DyingDisk(at) if kind == "dies" else FailingDisk(at, errno.EIO)
            done = False
            with suppress(SimulatedCrash, StoreError):
                sealing(here, disk)
                done = True
            fresh = FileBlobStore(here)
            assert [fresh.read(name(one)) for one in held] == held
            new = [one for one in (b"new", b"newer") if fresh.has(name(one))]
            assert [fresh.read(name(one)) for one in new] == new
            sealing(here, BlobDisk())
            assert has(here, b"new", b"newer", *held) == [True] * (len(held) + 2)
            if done and at > 60:
                assert new == [b"new", b"newer"]
                break
        assert list((here / "packs").iterdir())


def test_a_failed_sync_leaves_nothing_that_could_be_taken_for_stored(tmp_path: Path) -> None:
    keep(tmp_path, ONE)
    dry = WatchedDisk()
    (tmp_path / "dry").mkdir()
    (tmp_path / "dry" / "small").write_bytes((tmp_path / "small").read_bytes())
    keep(tmp_path / "dry", TWO, THREE, disk=dry)
    sync = [call for call, _ in dry.calls].index("fsync") + 1
    with pytest.raises(StoreError):
        keep(tmp_path, TWO, THREE, disk=FailingDisk(sync, errno.EIO))
    assert has(tmp_path, ONE, TWO, THREE) == [True, False, False]


def test_f146_what_nothing_needs_is_taken_out_of_the_file(tmp_path: Path) -> None:
    keep(tmp_path, ONE, b"secret", THREE)
    reader = FileBlobStore(tmp_path)
    assert reader.has(name(b"secret"))
    set_back(tmp_path, ONE, b"secret", THREE)
    assert collect(tmp_path, ONE, THREE) == CollectionResult(1, 6, 0)
    assert b"secret" not in (tmp_path / "small").read_bytes()
    assert files(tmp_path) == {"small", "collected"}
    assert [reader.read(name(one)) for one in (ONE, THREE)] == [ONE, THREE]
    assert not reader.has(name(b"secret"))
    assert collect(tmp_path) == CollectionResult(2, len(ONE) + len(THREE), 0)
    assert files(tmp_path) == {"collected"}
    keep(tmp_path, b"secret")
    assert reader.read(name(b"secret")) == b"secret"


def test_f146_each_content_has_its_own_time(tmp_path: Path) -> None:
    """What others keep in the same file does not make an old content young."""
    keep(tmp_path, ONE, b"secret", THREE)
    set_back(tmp_path, b"secret", THREE)
    keep(tmp_path, b"new")
    assert FileBlobStore(tmp_path).has(name(THREE))  # it may be named from now on
    assert collect(tmp_path) == CollectionResult(1, 6, len(ONE) + len(THREE) + 3)
    assert has(tmp_path, ONE, THREE, b"new", b"secret") == [True, True, True, False]


def test_f146_who_collects_may_look_without_making_it_young(tmp_path: Path) -> None:
    keep(tmp_path, ONE)
    keep(tmp_path, *[b"%d" % n for n in range(SYNCFS_THRESHOLD + 1)])
    set_back(tmp_path, ONE)
    (pack,) = (tmp_path / "packs").iterdir()
    os.utime(pack, (1, 1))
    blobs = FileBlobStore(tmp_path)
    assert [blobs.is_stored(name(one)) for one in (ONE, b"1", TWO)] == [True, True, False]
    assert not blobs.is_stored("no digest")
    assert collect(tmp_path) == CollectionResult(2, 3 + 24, 0)
    assert not blobs.is_stored(name(ONE))


def test_f146_a_damaged_file_is_nobodys_to_judge(tmp_path: Path) -> None:
    keep(tmp_path, ONE, b"secret", THREE)
    set_back(tmp_path, ONE, b"secret", THREE)
    path = tmp_path / "small"
    path.write_bytes(b"x" + path.read_bytes()[1:])
    before = path.read_bytes()
    assert collect(tmp_path).contents == 0
    assert path.read_bytes() == before


def test_f146_a_collection_may_die_or_fail_at_any_call(tmp_path: Path) -> None:
    for kind in ("dies", "fails"):
        for at in count(1):
            root = tmp_path / f"{kind}-{at}"
            keep(root, b"wanted", b"useless", b"wanted, too")
            set_back(root, b"wanted", b"useless", b"wanted, too")
            disk = DyingDisk(at) if kind == "dies" else FailingDisk(at, errno.EIO)
            needed = {name(b"wanted"), name(b"wanted, too")}.__contains__
            done = False
            with suppress(SimulatedCrash, StoreError):
                BlobGarbageCollector(root, disk=disk).collect(needed)
                done = True
            assert FileBlobStore(root).read(name(b"wanted")) == b"wanted"
            keep(root, b"more")
            assert has(root, b"wanted", b"wanted, too", b"more") == [True] * 3
            if done and at > 30:
                assert has(root, b"useless") == [False]
                break


def test_who_is_kept_out_for_too_long_stores_it_elsewhere(tmp_path: Path) -> None:
    """Another process has stopped while it held the file, maybe to remove a content."""
    keep(tmp_path, ONE)
    set_back(tmp_path, ONE)
    with (tmp_path / "small").open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        blobs = FileBlobStore(tmp_path, patience=0)
        for content in (ONE, TWO):
            blobs.keep([content])
        blobs.flush()
        os.unlink(tmp_path / "small")
    fresh = FileBlobStore(tmp_path)
    assert [fresh.read(name(one)) for one in (ONE, TWO)] == [ONE, TWO]


def test_a_file_that_was_replaced_is_never_mistaken_for_another(tmp_path: Path) -> None:
    """A new file may get the inode number of one that was removed, and be longer."""
    reader = FileBlobStore(tmp_path)
    for n in range(50):
        keep(tmp_path, b"content %d" % n)
        assert reader.has(name(b"content %d" % n))
        set_back(tmp_path, b"content %d" % n)
        collect(tmp_path)
        assert not reader.has(name(b"content %d" % n))
        keep(tmp_path, b"x" * n, b"y" * 60)
        set_back(tmp_path, b"x" * n, b"y" * 60)
        assert not reader.has(name(b"content %d" % n))
        collect(tmp_path)


def test_holders_of_small_contents_are_the_contents(tmp_path: Path) -> None:
    keep(tmp_path, ONE, THREE)
    sizes = {name(one): len(one) for one in (ONE, THREE)}
    holders = FileBlobStore(tmp_path).holders(sizes)
    assert holders == {digest: f"small/{digest}:{size}" for digest, size in sizes.items()}
    keep(tmp_path, TWO)
    assert FileBlobStore(tmp_path).lost(holders.values()) == []
    set_back(tmp_path, ONE, THREE)
    collect(tmp_path, THREE)
    assert FileBlobStore(tmp_path).lost(holders.values()) == [holders[name(ONE)]]
    assert FileBlobStore(tmp_path).lost(["small/../x:1", "small/:0", "small/" + "0" * 64 + ":0"])
    wrong = f"small/{name(THREE)}:{len(THREE) + 1}"
    assert FileBlobStore(tmp_path).lost([wrong]) == [wrong]


def test_a_holder_that_is_in_a_pack_since_is_not_lost(tmp_path: Path) -> None:
    keep(tmp_path, ONE)
    holders = FileBlobStore(tmp_path).holders({name(ONE): len(ONE)})
    for n in range(14):
        keep(tmp_path, b"%2d" % n * 25_000)
    assert (tmp_path / "packs").is_dir()
    assert FileBlobStore(tmp_path).lost(holders.values()) == []


APPENDER = """
import sys
from assent.store.blobs import FileBlobStore
from assent.store.garbage_collector import BlobGarbageCollector
from hashlib import sha256
root, own = sys.argv[1:]
for n in range(60):
    blobs = FileBlobStore(root)
    for content in (f"{own} {n}" * 300, f"shared {n}" * 300):
        blobs.keep([content.encode()])
    blobs.flush()
    if n % 10 == 5:
        BlobGarbageCollector(root).collect(lambda digest: False)
    for m in range(n + 1):
        content = f"{own} {m}" * 300
        assert FileBlobStore(root).read(sha256(content.encode()).hexdigest()) == content.encode()
"""


def test_processes_append_seal_and_collect_at_once(tmp_path: Path) -> None:
    with_names = ("a", "b", "c")
    command = [sys.executable, "-c", APPENDER, str(tmp_path)]
    started = [subprocess.Popen([*command, own]) for own in with_names]
    assert [one.wait(120) for one in started] == [0, 0, 0]
    contents = [f"{own} {n}" * 300 for own in (*with_names, "shared") for n in range(60)]
    fresh = FileBlobStore(tmp_path)
    for content in map(str.encode, contents):
        assert fresh.read(name(content)) == content


def test_a_store_with_a_file_for_each_content_is_read_as_before(tmp_path: Path) -> None:
    """So they were stored by earlier versions."""
    for content in (ONE, THREE):
        path = tmp_path / name(content)[:2] / name(content)[2:]
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
    blobs = keep(tmp_path, TWO, ONE)
    assert [blobs.read(name(one)) for one in (ONE, TWO, THREE)] == [ONE, TWO, THREE]
    assert ONE not in (tmp_path / "small").read_bytes()
    sizes = {name(one): len(one) for one in (ONE, TWO, THREE)}
    assert blobs.lost(blobs.holders(sizes).values()) == []


def test_a_store_that_cannot_be_written_can_be_read(tmp_path: Path) -> None:
    keep(tmp_path, ONE)
    set_back(tmp_path, ONE)
    disk = FailingDisk(0, 0)

    def refuse(*_: object) -> int:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    disk.pwrite = refuse  # type: ignore[method-assign,assignment]
    assert FileBlobStore(tmp_path, disk).has(name(ONE))
    assert FileBlobStore(tmp_path, disk).read(name(ONE)) == ONE


def test_it_holds_no_descriptor(tmp_path: Path) -> None:
    blobs = keep(tmp_path, ONE)
    before = os.listdir("/proc/self/fd")
    assert blobs.read(name(ONE)) == ONE
    assert blobs.has(name(ONE))
    assert os.listdir("/proc/self/fd") == before


def test_it_says_what_it_has(tmp_path: Path) -> None:
    keep(tmp_path, ONE)
    disk = BlobDisk()
    small = SmallBlobs(str(tmp_path), disk, BlobWriter(str(tmp_path), disk))
    assert (small.size(name(ONE)), small.size(name(TWO)), small.size("no digest")) == (
        3,
        None,
        None,
    )
