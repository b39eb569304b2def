"""Packs: many small contents in one file, found by digest, checked like any other content."""

from pathlib import Path

import pytest
from tests.store.disks import WatchedDisk

from assent.core.digest import sha256
from assent.core.errors import StoreError
from assent.store.blobs import (
    MAX_PACKED_BLOB_BYTES,
    MAX_PENDING_BYTES,
    FileBlobStore,
    damaged_text,
)
from assent.store.packs import SYNCFS_THRESHOLD, build_pack

LARGE = b"large " * (MAX_PACKED_BLOB_BYTES // 6 + 1)
ALONE = [LARGE + b"%d" % n for n in range(3)]
TOGETHER = [b"content number %d" % n for n in range(SYNCFS_THRESHOLD + 40)]
CONTENTS = [*ALONE, *TOGETHER]


def kept(root: Path, contents: list[bytes] = CONTENTS) -> FileBlobStore:
    blobs = FileBlobStore(root)
    for content in contents:
        blobs.keep([content])
    blobs.flush()
    return blobs


def the_pack(root: Path) -> Path:
    (pack,) = (root / "packs").iterdir()
    return pack


def test_many_small_contents_share_one_file(tmp_path: Path) -> None:
    kept(tmp_path)
    name, pieces = build_pack({sha256(content): content for content in TOGETHER})
    files = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    alone = {f"{sha256(content)[:2]}/{sha256(content)[2:]}" for content in ALONE}
    assert files == {*alone, f"packs/{name}"}
    assert the_pack(tmp_path).read_bytes() == b"".join(pieces)
    assert the_pack(tmp_path).stat().st_mode & 0o777 == 0o600


def test_another_process_finds_every_content(tmp_path: Path) -> None:
    before = FileBlobStore(tmp_path)
    assert not before.has(sha256(TOGETHER[0]))
    kept(tmp_path)
    for blobs in (before, FileBlobStore(tmp_path)):
        assert [blobs.has(sha256(content)) for content in CONTENTS] == [True] * len(CONTENTS)
        assert [blobs.read(sha256(content)) for content in reversed(CONTENTS)] == CONTENTS[::-1]
        assert [b"".join(blobs.chunks(sha256(content))) for content in CONTENTS] == CONTENTS


def test_contents_in_order_are_read_with_few_calls(tmp_path: Path) -> None:
    kept(tmp_path)
    disk = WatchedDisk()
    blobs = FileBlobStore(tmp_path, disk)
    assert [blobs.read(sha256(content)) for content in TOGETHER] == TOGETHER
    reads = [name for name, path in disk.calls if name == "pread" and "packs" in path]
    assert len(reads) == 5  # the end, the index, one content, all that follow, and no more


def test_contents_against_their_order_are_read_with_few_calls(tmp_path: Path) -> None:
    kept(tmp_path)
    disk = WatchedDisk()
    blobs = FileBlobStore(tmp_path, disk)
    assert [blobs.read(sha256(content)) for content in TOGETHER[::-1]] == TOGETHER[::-1]
    reads = [name for name, path in disk.calls if name == "pread" and "packs" in path]
    assert len(reads) == 4  # the end, the index, one content, all before it


def test_two_packs_are_read_side_by_side_with_few_calls(tmp_path: Path) -> None:
    other = [b"other content %d" % n for n in range(SYNCFS_THRESHOLD + 40)]
    kept(tmp_path)
    kept(tmp_path, other)
    disk = WatchedDisk()
    blobs = FileBlobStore(tmp_path, disk)
    for content in [c for pair in zip(TOGETHER, other, strict=True) for c in pair]:
        assert blobs.read(sha256(content)) == content
    reads = [name for name, path in disk.calls if name == "pread" and "packs" in path]
    assert len(reads) == 10


def test_a_content_that_waits_for_its_pack_can_be_read(tmp_path: Path) -> None:
    blobs = FileBlobStore(tmp_path)
    for content in CONTENTS:
        blobs.keep([content])
    digest = sha256(TOGETHER[0])
    assert (blobs.has(digest), blobs.read(digest)) == (True, TOGETHER[0])
    assert b"".join(blobs.chunks(digest)) == TOGETHER[0]
    assert not FileBlobStore(tmp_path).has(digest)


def test_what_is_not_small_has_a_file_of_its_own(tmp_path: Path) -> None:
    large = b"x" * (MAX_PACKED_BLOB_BYTES + 1)
    kept(tmp_path, [*CONTENTS, large])
    assert (tmp_path / sha256(large)[:2] / sha256(large)[2:]).read_bytes() == large


def test_two_contents_of_a_medium_size_are_stored_with_two_syncs(tmp_path: Path) -> None:
    """The text and the operations of an undo of a thousand files."""
    kept(tmp_path)
    disk = WatchedDisk()
    blobs = FileBlobStore(tmp_path, disk)
    medium = [b"text of an undo " * 5_000, b"its operations " * 20_000]
    for content in medium:
        blobs.keep([content])
    blobs.flush()
    assert [call for call, _ in disk.calls].count("fsync") == 2
    assert [FileBlobStore(tmp_path).read(sha256(one)) for one in medium] == medium


def test_little_waits_in_memory(tmp_path: Path) -> None:
    blobs = FileBlobStore(tmp_path)
    contents = [
        b"%08d" % n * (MAX_PACKED_BLOB_BYTES // 8)
        for n in range(MAX_PENDING_BYTES // MAX_PACKED_BLOB_BYTES + 2)
    ]
    for content in contents:
        blobs.keep([content])
    assert len(list((tmp_path / "packs").iterdir())) == 1
    blobs.flush()
    other = FileBlobStore(tmp_path)
    assert all(other.read(sha256(content)) == content for content in contents)


def test_stored_in_a_pack_is_stored(tmp_path: Path) -> None:
    kept(tmp_path)
    before = the_pack(tmp_path).stat().st_ino
    kept(tmp_path, TOGETHER)
    assert the_pack(tmp_path).stat().st_ino == before


def test_a_damaged_content_is_never_handed_out_and_can_be_stored_anew(tmp_path: Path) -> None:
    kept(tmp_path)
    pack = the_pack(tmp_path)
    whole = pack.read_bytes()
    pack.write_bytes(bytes([whole[0] ^ 1]) + whole[1:])
    digest = sha256(TOGETHER[0])
    with pytest.raises(StoreError) as caught:
        FileBlobStore(tmp_path).read(digest)
    assert caught.value.message == damaged_text(digest, pack)
    assert caught.value.next == f"ls -l {pack}"
    assert FileBlobStore(tmp_path).read(sha256(TOGETHER[1])) == TOGETHER[1]
    kept(tmp_path, [TOGETHER[0]])
    assert FileBlobStore(tmp_path).read(digest) == TOGETHER[0]


@pytest.mark.parametrize("cut", [1, 60, 500])
def test_of_a_pack_without_its_end_nothing_is_believed(tmp_path: Path, cut: int) -> None:
    kept(tmp_path)
    pack = the_pack(tmp_path)
    pack.write_bytes(pack.read_bytes()[:-cut])
    blobs = FileBlobStore(tmp_path)
    assert [blobs.has(sha256(content)) for content in TOGETHER] == [False] * len(TOGETHER)
    with pytest.raises(StoreError, match="is missing"):
        blobs.read(sha256(TOGETHER[0]))
    kept(tmp_path, TOGETHER)
    assert FileBlobStore(tmp_path).read(sha256(TOGETHER[0])) == TOGETHER[0]


def test_an_index_that_lies_is_not_believed(tmp_path: Path) -> None:
    kept(tmp_path)
    pack = the_pack(tmp_path)
    pack.rename(pack.with_name("0" * 64))
    assert not FileBlobStore(tmp_path).has(sha256(TOGETHER[0]))


def test_a_pack_that_somebody_removed_is_noticed(tmp_path: Path) -> None:
    blobs = kept(tmp_path)
    assert blobs.read(sha256(TOGETHER[0])) == TOGETHER[0]
    the_pack(tmp_path).unlink()
    with pytest.raises(StoreError, match="is missing"):
        blobs.read(sha256(TOGETHER[5]))


def test_a_holder_holds_what_it_held_as_long_as_it_is_there(tmp_path: Path) -> None:
    kept(tmp_path)
    sizes = {sha256(content): len(content) for content in CONTENTS}
    holders = FileBlobStore(tmp_path).holders(sizes)
    assert holders.keys() == sizes.keys()
    assert len({holders[sha256(content)] for content in TOGETHER}) == 1
    assert len({*holders.values()}) == len(ALONE) + 1
    assert FileBlobStore(tmp_path).lost(holders.values()) == []
    pack, alone = the_pack(tmp_path), sha256(ALONE[0])
    pack.unlink()
    (tmp_path / alone[:2] / alone[2:]).write_bytes(b"")
    gone = {holders[sha256(TOGETHER[0])], holders[alone]}
    assert {*FileBlobStore(tmp_path).lost(holders.values())} == gone
    assert FileBlobStore(tmp_path).holders(sizes).keys() == {*map(sha256, ALONE[1:])}


def test_nothing_outside_the_store_is_a_holder(tmp_path: Path) -> None:
    (tmp_path / "other").write_bytes(b"1")
    blobs = kept(tmp_path / "blobs")
    names = ["../other:1", "packs/../../other:1", "packs/:0", "", "aa/..:1"]
    assert blobs.lost(names) == names


def test_a_holder_is_durable_after_the_next_flush(tmp_path: Path) -> None:
    """Its writer may have died between giving it a name and making that durable."""
    kept(tmp_path)
    disk = WatchedDisk()
    blobs = FileBlobStore(tmp_path, disk)
    (held,) = blobs.holders({sha256(TOGETHER[0]): len(TOGETHER[0])}).values()
    assert blobs.lost([held]) == []
    folder = ("fsync", f"{tmp_path}/packs")
    assert folder not in disk.calls
    blobs.flush()
    assert folder in disk.calls


def test_few_contents_are_found_without_noting_all(tmp_path: Path) -> None:
    kept(tmp_path)
    blobs = FileBlobStore(tmp_path)
    assert blobs.read(sha256(TOGETHER[7])) == TOGETHER[7]
    assert len(blobs._packs.places) == 1
    assert [blobs.read(sha256(content)) for content in TOGETHER] == TOGETHER
    assert blobs.missing(["0" * 64]) == ["0" * 64]
