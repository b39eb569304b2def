"""Large blobs: where they lie, when they are seen, in which order things become durable."""

import os
import tracemalloc
from pathlib import Path
from threading import Thread

import pytest
from tests.store.disks import OldDisk, SlowDisk, WatchedDisk

from assent.core.digest import sha256
from assent.core.errors import StoreError
from assent.store.blobs import CHUNK, MAX_PACKED_BLOB_BYTES, FileBlobStore
from assent.store.packs import SYNCFS_THRESHOLD

TEXT = b"some content" * (MAX_PACKED_BLOB_BYTES // 12 + 1)  # too large to share a file
NAME = sha256(TEXT)


def place(root: Path, digest: str = NAME) -> Path:
    return root / digest[:2] / digest[2:]


def kept(root: Path, *contents: bytes) -> None:
    blobs = FileBlobStore(root)
    for content in contents:
        blobs.keep([content])
    blobs.flush()


def files(root: Path) -> set[str]:
    return {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}


def test_blobs_are_private_files_named_by_digest(tmp_path: Path) -> None:
    root = tmp_path / "state" / "blobs"
    kept(root, TEXT)
    modes = {
        str(path.relative_to(tmp_path)): oct(path.stat().st_mode) for path in tmp_path.rglob("*")
    }
    assert modes == {
        "state": "0o40700",
        "state/blobs": "0o40700",
        "state/blobs/tmp": "0o40700",
        f"state/blobs/{NAME[:2]}": "0o40700",
        f"state/blobs/{NAME[:2]}/{NAME[2:]}": "0o100600",
    }
    assert place(root).read_bytes() == TEXT


def test_others_see_nothing_before_the_flush(tmp_path: Path) -> None:
    blobs, others = FileBlobStore(tmp_path), FileBlobStore(tmp_path)
    blobs.keep([TEXT])
    assert (blobs.has(NAME), others.has(NAME)) == (True, False)
    assert not place(tmp_path).exists()
    blobs.flush()
    assert others.read(NAME) == TEXT


def test_few_blobs_are_synced_each_before_and_after_the_rename(tmp_path: Path) -> None:
    disk = WatchedDisk()
    blobs = FileBlobStore(tmp_path / "blobs", disk)
    blobs.keep([TEXT])
    temporary = next(path for name, path in disk.calls if name == "write")
    blobs.flush()
    effects = [(n, p) for n, p in disk.calls if n in ("write", "fsync", "syncfs", "rename")]
    folders = (place(tmp_path / "blobs").parent, tmp_path / "blobs", tmp_path)
    assert effects[:4] == [
        ("write", temporary),
        ("fsync", temporary),
        ("rename", temporary),  # finds no folder, which is then made
        ("rename", temporary),
    ]
    assert sorted(effects[4:]) == sorted(("fsync", str(folder)) for folder in folders)


def test_many_blobs_are_synced_together(tmp_path: Path) -> None:
    disk = WatchedDisk()
    blobs = FileBlobStore(tmp_path, disk)
    for n in range(SYNCFS_THRESHOLD + 1):
        blobs.keep([TEXT + b"%d" % n])
    blobs.flush()
    names = [name for name, _ in disk.calls if name in ("fsync", "syncfs", "rename")]
    assert "fsync" not in names
    assert names[0] == names[-1] == "syncfs"
    assert names.count("syncfs") == 2


def test_without_syncfs_each_of_many_is_synced(tmp_path: Path) -> None:
    disk = OldDisk()
    blobs = FileBlobStore(tmp_path, disk)
    for n in range(SYNCFS_THRESHOLD + 1):
        blobs.keep([TEXT + b"%d" % n])
    blobs.flush()
    written = {path for name, path in disk.calls if name == "write"}
    assert len(written) == SYNCFS_THRESHOLD + 1
    assert written <= {path for name, path in disk.calls if name == "fsync"}
    assert len(files(tmp_path)) == SYNCFS_THRESHOLD + 1


def test_stored_content_is_not_written_again_but_made_durable(tmp_path: Path) -> None:
    kept(tmp_path, TEXT)
    disk = WatchedDisk()
    blobs = FileBlobStore(tmp_path, disk)
    assert blobs.keep([TEXT]) == (NAME, len(TEXT))
    blobs.flush()
    names = [(name, path) for name, path in disk.calls if name in ("write", "rename", "fsync")]
    assert names == [("fsync", str(place(tmp_path).parent))]


def test_streamed_content_that_is_stored_leaves_nothing_behind(tmp_path: Path) -> None:
    kept(tmp_path, TEXT)
    blobs = FileBlobStore(tmp_path)
    assert blobs.keep([TEXT[:4], TEXT[4:]]) == (NAME, len(TEXT))
    assert files(tmp_path) == {f"{NAME[:2]}/{NAME[2:]}"}


def test_same_content_twice_before_the_flush_is_one_file(tmp_path: Path) -> None:
    blobs = FileBlobStore(tmp_path)
    blobs.keep([TEXT])
    blobs.keep([TEXT[:4], TEXT[4:]])
    blobs.keep([TEXT])
    assert len(files(tmp_path)) == 1
    blobs.flush()
    assert files(tmp_path) == {f"{NAME[:2]}/{NAME[2:]}"}


def test_short_writes_are_continued(tmp_path: Path) -> None:
    blobs = FileBlobStore(tmp_path, SlowDisk())
    blobs.keep([TEXT])
    blobs.keep([TEXT, TEXT])
    blobs.flush()
    assert FileBlobStore(tmp_path).read(NAME) == TEXT
    assert FileBlobStore(tmp_path).read(sha256(TEXT + TEXT)) == TEXT + TEXT


def test_large_content_needs_little_memory(tmp_path: Path) -> None:
    chunk = os.urandom(CHUNK)
    tracemalloc.start()
    try:
        blobs = FileBlobStore(tmp_path)
        digest, size = blobs.keep(chunk for _ in range(64))
        blobs.flush()
        read = sum(len(piece) for piece in blobs.chunks(digest))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert size == read == 64 * CHUNK
    assert peak < 4 * CHUNK


@pytest.mark.parametrize(
    "damage",
    [b"", TEXT[:-1], TEXT + b"x", bytes([TEXT[0] ^ 1]) + TEXT[1:]],
    ids=["emptied", "truncated", "longer", "one bit"],
)
def test_damaged_blob_is_never_handed_out_as_whole(tmp_path: Path, damage: bytes) -> None:
    kept(tmp_path, TEXT)
    path = place(tmp_path)
    path.write_bytes(damage)
    blobs = FileBlobStore(tmp_path)
    with pytest.raises(StoreError) as caught:
        blobs.read(NAME)
    with pytest.raises(StoreError, match="damaged"):
        list(blobs.chunks(NAME))
    assert caught.value.message == (
        f"The stored content {path} is damaged: it does not match its digest. Nothing was changed. "
        "Move it away, then stage the same content again to restore it."
    )
    assert caught.value.next == f"mv {path} {path}.damaged"


@pytest.mark.parametrize(
    "damage", [b"", TEXT[:-1], TEXT + b"x"], ids=["emptied", "truncated", "longer"]
)
def test_torn_blob_is_replaced(tmp_path: Path, damage: bytes) -> None:
    kept(tmp_path, TEXT)
    place(tmp_path).write_bytes(damage)
    kept(tmp_path, TEXT)
    assert FileBlobStore(tmp_path).read(NAME) == TEXT


def test_large_blob_with_one_wrong_bit_is_noticed_at_the_end(tmp_path: Path) -> None:
    content = os.urandom(3 * CHUNK)
    kept(tmp_path, content)
    path = place(tmp_path, sha256(content))
    with path.open("r+b") as file:
        file.seek(CHUNK)
        file.write(bytes([content[CHUNK] ^ 1]))
    stream = FileBlobStore(tmp_path).chunks(sha256(content))
    assert [len(next(stream)) for _ in range(3)] == [CHUNK] * 3
    with pytest.raises(StoreError, match="damaged"):
        next(stream)


def test_missing_blob_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError) as caught:
        FileBlobStore(tmp_path).read(NAME)
    assert str(place(tmp_path)) in caught.value.message
    assert caught.value.next == f"ls -l {place(tmp_path)}"


@pytest.mark.parametrize(
    "name", ["", "..", "../" * 20 + "etc", "a" * 63, "a" * 63 + "/", NAME + "a"]
)
def test_what_is_no_digest_reaches_no_file(tmp_path: Path, name: str) -> None:
    disk = WatchedDisk()
    blobs = FileBlobStore(tmp_path, disk)
    assert not blobs.has(name)
    for ask in (blobs.read, lambda digest: list(blobs.chunks(digest))):
        with pytest.raises(StoreError, match="is not a valid name for stored content"):
            ask(name)
    assert disk.calls == []


def test_symlink_in_place_of_a_blob_is_not_followed(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(TEXT)
    place(tmp_path).parent.mkdir()
    place(tmp_path).symlink_to(secret)
    with pytest.raises(StoreError, match="symbolic links"):
        FileBlobStore(tmp_path).read(NAME)


def test_threads_may_share_blobs(tmp_path: Path) -> None:
    blobs = FileBlobStore(tmp_path)

    def work(own: bytes) -> None:
        for n in range(30):
            for content in (TEXT + own + b"%d" % n, TEXT + b"shared %d" % n):
                digest, _ = blobs.keep([content])
                assert blobs.read(digest) == content
            blobs.flush()

    threads = [Thread(target=work, args=(name,)) for name in (b"a", b"b", b"c")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(files(tmp_path)) == 120
    names = [name for name in files(tmp_path) if not name.startswith("tmp/")]
    assert all(sha256((tmp_path / name).read_bytes()) == name.replace("/", "") for name in names)
