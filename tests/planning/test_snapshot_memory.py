"""F139: what an earlier snapshot remembers saves reading, and never hides a change or a content."""

import os
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.planning.test_snapshot_model import STEPS, Step, act
from tests.support.snapshot import Folder, later, state
from tests.support.stored_contents import store_alone

from assent.core.digest import sha256
from assent.core.plan.operation import DeleteFile, WriteFile
from assent.core.run.workspace_changes import SnapshotLimits, WorkspaceChanges
from assent.executor.disk import Disk
from assent.planning.snapshot.recorder import SnapshotRecorder
from assent.planning.snapshot.snapshot import (
    WorkspaceSnapshot,
    decode_snapshot,
    encode_snapshot,
)
from assent.store.blobs import FileBlobStore
from assent.store.cache_file import LocalCacheFile
from assent.store.garbage_collector import BlobGarbageCollector
from assent.store.memory import MemoryBlobStore
from assent.workspace.files import folder_stamps

FILES = {"a": b"1\n", "sub/b": b"2\n", "sub/c": b"3\n", "sub/deep/d": b"4\n"}


class Counting(Disk):
    """A disk that notes which files are opened for reading."""

    def __init__(self) -> None:
        self.opened: list[bytes] = []

    def open(self, name: bytes, flags: int, mode: int = 0o666, at: int | None = None) -> int:
        if not flags & (os.O_DIRECTORY | os.O_PATH):
            self.opened.append(name)
        return super().open(name, flags, mode, at)


class Place:
    """A workspace with a store and a cache on disk; each snapshot is by another process."""

    def __init__(self, base: Path) -> None:
        self.root = base / "work"
        self.root.mkdir()
        self.state = base / "state"
        self.cache = self.state / "snapshots" / "work"
        self.folder = Folder(self.root, FileBlobStore(self.state / "blobs"))

    def recorder(
        self,
        clock: Callable[[], int] = later,
        bounds: SnapshotLimits | None = None,
        about: bytes = b"work",
    ) -> tuple[SnapshotRecorder, Counting]:
        disk = Counting()
        blobs = FileBlobStore(self.state / "blobs")
        cache = LocalCacheFile(os.fspath(self.cache), lambda: about)
        other = msgspec.structs.replace(self.folder, blobs=blobs)
        return other.recorder(bounds, clock, cache, disk), disk

    def take(
        self, clock: Callable[[], int] = later, bounds: SnapshotLimits | None = None
    ) -> tuple[str, list[bytes]]:
        """Takes and stores a snapshot; returns its name, and which files were read for it."""
        recorder, disk = self.recorder(clock, bounds)
        return recorder.store(recorder.take()), sorted(disk.opened)

    def changes(self, before: str) -> WorkspaceChanges:
        recorder, _ = self.recorder()
        return recorder.changes(recorder.load(before))

    def contents(self, before: str) -> dict[bytes, bytes]:
        """Returns what could be restored of a snapshot, by a store that was just opened."""
        recorder, _ = self.recorder()
        blobs = FileBlobStore(self.state / "blobs")
        snapshot = recorder.load(before)
        rows = [row for part in snapshot.parts for row in recorder._part(part.digest)]
        return {row.path: blobs.read(row.digest) for row in rows if row.digest}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    place = Place(tmp_path)
    place.folder.put(FILES)
    return place


ALL = sorted(os.fsencode(name).rpartition(b"/")[2] for name in FILES)
KEPT = {os.fsencode(name): content for name, content in FILES.items()}


def test_f139_a_later_process_reads_nothing_that_is_unchanged(place: Place) -> None:
    first, read = place.take()
    assert read == ALL
    again, read = place.take()
    assert (again, read) == (first, [])
    assert place.contents(again) == KEPT
    assert place.changes(again) == WorkspaceChanges()


def test_f139_only_what_changed_is_read_again(place: Place) -> None:
    place.take()
    (place.root / "sub/c").write_bytes(b"5\n")
    (place.root / "new").write_bytes(b"6\n")
    taken, read = place.take()
    assert read == [b"c", b"new"]
    assert place.contents(taken) == {**KEPT, b"sub/c": b"5\n", b"new": b"6\n"}


def test_a_file_is_read_again_until_it_is_older_than_a_tick(place: Place) -> None:
    """The same size within one tick, its times set back: nothing but the content shows it."""
    place.take(time.time_ns)
    path = place.root / "a"
    found = path.stat()
    with path.open("r+b") as file:
        file.write(b"9\n")
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))
    taken, read = place.take(time.time_ns)
    assert read == ALL
    assert place.contents(taken)[b"a"] == b"9\n"
    later_read = place.take()[1]
    assert later_read == ALL
    assert place.take()[1] == []


def test_one_young_file_does_not_make_its_neighbours_read_again(place: Place) -> None:
    young = (time.time_ns() + 3_600_000_000_000,) * 2
    place.take()
    os.utime(place.root / "sub/b", ns=young)
    assert place.take()[1] == [b"b"]
    assert place.take()[1] == [b"b"]


def _set_back(path: Path) -> None:
    found = path.stat()
    path.write_bytes(b"9\n")
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))


def _replace(path: Path) -> None:
    found = path.stat()
    other = path.with_name("other")
    other.write_bytes(b"9\n")
    other.chmod(found.st_mode & 0o7777)
    os.utime(other, ns=(found.st_atime_ns, found.st_mtime_ns))
    other.replace(path)


@pytest.mark.parametrize("edit", [_set_back, _replace])
def test_an_edit_that_keeps_size_and_mtime_is_noticed(
    place: Place, edit: Callable[[Path], None]
) -> None:
    before, _ = place.take()
    edit(place.root / "sub/b")
    assert place.changes(before).operations == (WriteFile(b"sub/b", state(b"2\n"), state(b"9\n")),)
    taken, read = place.take()
    assert read == [b"b"]
    assert place.contents(taken)[b"sub/b"] == b"9\n"


def test_an_edit_through_a_hard_link_is_noticed_under_both_names(place: Place) -> None:
    (place.root / "linked").hardlink_to(place.root / "sub/b")
    before, _ = place.take()
    _set_back(place.root / "linked")
    assert place.changes(before).operations == (
        WriteFile(b"linked", state(b"2\n"), state(b"9\n")),
        WriteFile(b"sub/b", state(b"2\n"), state(b"9\n")),
    )
    assert place.take()[1] == [b"b", b"linked"]


def test_after_the_clock_was_set_back_everything_is_read_again(place: Place) -> None:
    place.take(lambda: later() + 3_600_000_000_000)
    assert place.take()[1] == ALL
    recorder, disk = place.recorder()
    recorder.take()
    recorder._clock = time.time_ns
    assert disk.opened == []
    recorder.take()
    assert sorted(disk.opened) == ALL


def test_a_device_is_part_of_what_is_remembered(place: Place) -> None:
    root = os.fsencode(place.root)
    device = os.stat(root).st_dev
    here, elsewhere = folder_stamps(root, device), folder_stamps(root, device + 1)
    assert here is not None
    assert elsewhere is not None
    assert {name: (*stamp, device) for name, stamp in here.items()} == elsewhere


def _cut(content: bytes) -> bytes:
    return content[:-1]


def _flip(content: bytes) -> bytes:
    return content[:-20] + bytes([content[-20] ^ 1]) + content[-19:]


@pytest.mark.parametrize(
    "damage",
    [
        _cut,
        _flip,
        lambda content: b"",
        lambda content: content + b"\0",
        lambda content: os.urandom(64),
    ],
)
def test_a_damaged_cache_is_ignored_and_written_anew(
    place: Place, damage: Callable[[bytes], bytes]
) -> None:
    first, _ = place.take()
    content = place.cache.read_bytes()
    place.cache.write_bytes(damage(content))
    again, read = place.take()
    assert (again, read) == (first, ALL)
    assert place.take()[1] == []


def test_a_cache_of_something_else_is_ignored(place: Place, tmp_path: Path) -> None:
    """Another folder under the same path, other limits, or another program's idea of the format."""
    place.take()
    recorder, disk = place.recorder(about=b"another disk")
    recorder.take()
    assert sorted(disk.opened) == ALL
    place.take()
    assert place.take(bounds=SnapshotLimits(file=1))[1] == []
    assert place.take()[1] == ALL


def test_a_cache_that_others_can_write_is_ignored(place: Place) -> None:
    place.take()
    place.cache.chmod(0o666)
    assert place.take()[1] == ALL
    target = place.cache.with_name("elsewhere")
    place.cache.rename(target)
    place.cache.symlink_to(target)
    assert place.take()[1] == ALL


def test_the_cache_is_private(place: Place) -> None:
    place.take()
    assert place.cache.stat().st_mode & 0o777 == 0o600
    assert place.cache.parent.stat().st_mode & 0o777 == 0o700


def test_where_the_cache_cannot_be_written_snapshots_are_taken(place: Place) -> None:
    place.state.mkdir()
    (place.state / "snapshots").write_bytes(b"")
    taken, read = place.take()
    assert read == ALL
    assert place.contents(taken) == KEPT


def test_only_so_many_workspaces_are_remembered(place: Place) -> None:
    names = [f"w{number:02}" for number in range(40)]
    for at, name in enumerate(names):
        path = place.cache.with_name(name)
        LocalCacheFile(os.fspath(path), lambda: b"").write(b"content")
        os.utime(path, (at, at))
    assert sorted(os.listdir(place.cache.parent)) == names[8:]


def test_f139_what_a_collection_removed_is_kept_again(place: Place) -> None:
    place.take()
    collector = BlobGarbageCollector(place.state / "blobs", grace=-1)
    assert collector.collect(lambda digest: False).contents > 0
    taken, read = place.take()
    assert read == ALL
    assert place.contents(taken) == KEPT
    assert place.take()[1] == []


def test_f139_contents_that_are_missing_or_cut_off_are_kept_again(place: Place) -> None:
    place.take()
    for content, damage in ((b"1\n", Path.unlink), (b"2\n", lambda path: os.truncate(path, 1))):
        digest = sha256(content)
        damage(store_alone(place.state / "blobs", digest))
        taken, read = place.take()
        assert len(read) == 1
        assert place.contents(taken) == KEPT


@pytest.mark.parametrize("damage", [Path.unlink, lambda path: os.truncate(path, 100)])
def test_f139_contents_of_a_lost_pack_are_kept_again(
    tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    place = Place(tmp_path)
    files = {f"{number % 7}/{number}": b"%d\n" % number for number in range(200)}
    place.folder.put(files)
    place.take()
    assert place.take()[1] == []
    packs = list((place.state / "blobs/packs").iterdir())
    assert packs
    for pack in packs:
        damage(pack)
    taken, read = place.take()
    assert read
    assert place.contents(taken) == {os.fsencode(name): files[name] for name in files}
    assert place.take()[1] == []


def test_what_could_not_be_read_is_tried_again(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.folder.put(FILES)
    shut = msgspec.structs.replace(place.folder, closed=b"b")
    cache = LocalCacheFile(os.fspath(place.cache), lambda: b"work")
    shut.recorder(None, later, cache).take()
    taken, read = place.take()
    assert read == [b"b"]
    assert place.contents(taken) == KEPT


def test_f145_limits_decide_the_same_with_and_without_memory(place: Place) -> None:
    """`undo.total_mb` goes by the order of paths, `undo.files` by the way from the root."""
    for limits in (
        SnapshotLimits(total=5), SnapshotLimits(files=2), SnapshotLimits(file=1),
        SnapshotLimits(total=0, files=0, file=0),
    ):  # fmt: skip
        place.take()
        taken, _ = place.take(bounds=limits)
        shutil.rmtree(place.cache.parent)
        assert place.take(bounds=limits)[0] == taken


def test_two_processes_at_once_leave_one_whole_cache(place: Place) -> None:
    one, _ = place.recorder()
    two, _ = place.recorder()
    one.take()
    (place.root / "a").write_bytes(b"7\n")
    two.take()
    one.take()
    assert place.take()[1] == []


def test_a_snapshot_of_an_earlier_version_still_tells_what_changed(place: Place) -> None:
    """It has its files in itself, without parts."""
    recorder, _ = place.recorder()
    snapshot = recorder.take()
    old = WorkspaceSnapshot(snapshot.rows, snapshot.known, snapshot.folders)
    content = encode_snapshot(old)
    assert decode_snapshot(content) == old
    (place.root / "sub/b").unlink()
    digest, _ = place.folder.blobs.keep([content])
    place.folder.blobs.flush()
    assert place.changes(digest) == WorkspaceChanges((DeleteFile(b"sub/b", state(b"2\n")),))


def test_ignore_rules_that_change_are_applied_to_what_is_remembered(place: Place) -> None:
    place.take()
    (place.root / ".gitignore").write_bytes(b"c\n")
    taken, read = place.take()
    assert read == [b".gitignore", b".gitignore"]  # once for the rules
    assert place.contents(taken).keys() == {b".gitignore", b"a", b"sub/b", b"sub/deep/d"}


@settings(max_examples=60, deadline=None)
@given(STEPS, STEPS, st.booleans())
def test_f139_memory_changes_nothing_but_the_effort(
    before: list[Step], after: list[Step], settled: bool
) -> None:
    """Whatever happened since, a snapshot by memory is the one that a first process would take."""
    with tempfile.TemporaryDirectory() as base:
        place, clock = Place(Path(base)), later if settled else time.time_ns
        for step in before:
            act(place.root, step)
        taken, _ = place.take(clock)
        for step in after:
            act(place.root, step)
        plain = Folder(place.root, MemoryBlobStore()).recorder(None, clock)
        recorder, _ = place.recorder(clock)
        known = recorder.take()
        rows = {row.path: (row.digest, row.why) for row in plain.take().rows}
        parts = [recorder._part(part.digest) for part in known.parts]
        assert {row.path: (row.digest, row.why) for part in parts for row in part} == rows
        fresh, _ = place.recorder(clock)
        first = FileBlobStore(place.state / "blobs").read(taken)
        whole = decode_snapshot(first)
        rows_before = [row for part in whole.parts for row in recorder._part(part.digest)]
        plain_before = WorkspaceSnapshot(tuple(rows_before), whole.known, whole.folders)
        assert fresh.changes(whole) == plain.changes(plain_before)
