"""What one process found in folders saves the next one work, and never hides a secret from it.

Every test compares with a search that remembers nothing.
"""

import os
import shutil
import time
from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.disks.power import unshare_mounts
from tests.support.properties import examples

from assent.core.file_times import MTIME_GRANULARITY_NS
from assent.core.permission.rule import PathLimits
from assent.sandbox.profile.scan_memory import (
    FileStamp,
    ScanMemory,
    ScannedFolder,
    decode_memory,
    encode_memory,
    scan_rules,
)
from assent.sandbox.profile.scanner import HiddenPathScanner, LimitedPathFinder
from assent.store.cache_file import LocalCacheFile

KEY = b"-----BEGIN OPENSSH PRIVATE KEY-----\n"
PLAIN = b"-----BEGIN CERTIFICATE, NO SECRET--\n"
FILES = ("a/readme", "a/b/readme", "a/b/c/readme", "d/server.key", "d/readme", "e/f/readme")
FOLDERS = 7  # with the workspace itself
ABOUT = scan_rules(b"secrets")
MEMORY = "/dev/shm"  # where nothing waits for a disk


def later() -> int:
    return time.time_ns() + 10_000_000_000  # everything has long been left alone


class Place:
    """A workspace and a cache on disk; each search is by another process."""

    def __init__(self, base: Path) -> None:
        self.root = base / "work"
        self.cache = base / "state" / "scans" / "work"
        for name in FILES:
            self.put(name)

    def put(self, name: str, content: bytes = PLAIN) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return path

    def scanner(
        self,
        clock: Callable[[], int] = later,
        about: bytes = ABOUT,
        of: Callable[[], bytes] = lambda: b"work",
    ) -> HiddenPathScanner:
        cache = LocalCacheFile(os.fspath(self.cache), of)
        return HiddenPathScanner(clock, cache=lambda: cache, about=about)

    def search(
        self,
        clock: Callable[[], int] = later,
        about: bytes = ABOUT,
        of: Callable[[], bytes] = lambda: b"work",
    ) -> tuple[list[str], int]:
        """Returns what a new process hides, and how many folders it had to read for that."""
        self.tick()
        scanner = self.scanner(clock, about, of)
        scanner.recall(self.devices())
        found = scanner.below(os.fsencode(self.root))
        scanner.keep()
        fresh = HiddenPathScanner().below(os.fsencode(self.root))
        assert sorted(found) == sorted(fresh)
        return sorted(os.path.relpath(os.fsdecode(path), self.root) for path in found), scanner.read

    def devices(self) -> frozenset[int]:
        return frozenset({self.root.stat().st_dev})

    def tick(self) -> None:
        """Waits until the clock of the file system has gone on, as it does between commands."""
        probe = self.root.parent / "probe"
        probe.touch()
        first = probe.stat().st_ctime_ns
        while probe.stat().st_ctime_ns == first:
            probe.touch()


@pytest.fixture
def place(tmp_path: Path) -> Place:
    place = Place(tmp_path)
    assert place.search() == ([], FOLDERS)
    assert place.search() == ([], 0)
    return place


def test_a_secret_created_between_two_commands_is_hidden(place: Place) -> None:
    place.put("a/b/.env")
    assert place.search() == (["a/b/.env"], 1)
    assert place.search()[0] == ["a/b/.env"]


def test_a_secret_moved_in_is_hidden(place: Place, tmp_path: Path) -> None:
    outside = tmp_path / "prod.env"
    outside.write_bytes(b"PASSWORD=1\n")
    os.utime(outside, ns=(0, 0))
    outside.rename(place.root / "a/b/prod.env")
    assert place.search()[0] == ["a/b/prod.env"]
    (place.root / "e/f/readme").rename(place.root / "e/f/.netrc")
    assert place.search()[0] == ["a/b/prod.env", "e/f/.netrc"]


def test_a_folder_moved_in_is_searched(place: Place, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    (outside / "deep").mkdir(parents=True)
    (outside / "deep/.env").touch()
    for folder in (outside / "deep", outside):
        os.utime(folder, ns=(0, 0))
    outside.rename(place.root / "a/b/outside")
    assert place.search()[0] == ["a/b/outside/deep/.env"]


def test_a_folder_swapped_under_its_name_is_searched(place: Place) -> None:
    """Also with the same times of change; those of its properties cannot be set."""
    other = place.put("other/.env").parent
    before = (place.root / "a/b/c").stat()
    place.search()
    (place.root / "a/b/c").rename(place.root / "old")
    other.rename(place.root / "a/b/c")
    for path in (place.root / "a/b/c", place.root / "a/b", place.root):
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert place.search()[0] == ["a/b/c/.env"]


def test_restored_times_of_a_folder_deceive_nobody(place: Place) -> None:
    folder = place.root / "a/b"
    before = folder.stat()
    place.put("a/b/.env")
    os.utime(folder, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert folder.stat().st_mtime_ns == before.st_mtime_ns
    assert place.search()[0] == ["a/b/.env"]


def test_a_key_written_in_place_is_hidden(place: Place) -> None:
    """Same inode, same size, same time of change: the content is read by each process."""
    path = place.root / "d/server.key"
    before = path.stat()
    assert len(KEY) == len(PLAIN)
    with path.open("r+b") as file:
        file.write(KEY)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert place.search() == (["d/server.key"], 0)
    path.write_bytes(PLAIN)
    assert place.search() == ([], 0)


def test_no_verdict_about_a_content_is_written(place: Place) -> None:
    place.put("d/server.key", KEY)
    place.search()
    folders = decode_memory(_content(place), ABOUT, later())
    seen = folders[os.fsencode(place.root / "d")]
    assert [name for name, _ in seen.doubtful] == [b"server.key"]
    assert seen.secrets == ()


def test_symlinks_are_followed_anew(place: Place) -> None:
    place.put("one/cfg")
    place.put("two/cfg")
    (place.root / "way").symlink_to("one")
    (place.root / "a/.env").symlink_to("../way/cfg")
    assert place.search()[0] == ["one/cfg"]
    (place.root / "way").unlink()  # the link with a secret's name and its folder stay as they are
    (place.root / "way").symlink_to("two")
    assert place.search()[0] == ["two/cfg"]
    (place.root / "a/.env").unlink()
    (place.root / "a/.env").symlink_to("../one/cfg")
    assert place.search()[0] == ["one/cfg"]
    (place.root / "a/b").rename(place.root / "a/x")
    (place.root / "a/b").symlink_to("x")  # a folder becomes a symlink, which nobody follows
    place.put("a/x/.env")
    assert place.search()[0] == ["a/x/.env", "one/cfg"]


def test_a_second_name_of_a_file_counts_like_any(place: Place) -> None:
    os.link(place.root / "a/readme", place.root / "e/.env")
    assert place.search()[0] == ["e/.env"]


def test_a_folder_that_was_closed_for_a_time_is_searched(place: Place) -> None:
    folder = place.root / "a/b"
    folder.chmod(0)
    place.search()
    folder.chmod(0o755)
    place.put("a/b/.env")
    assert place.search()[0] == ["a/b/.env"]
    place.put("a/b/c/.env")
    folder.chmod(0)
    (place.root / "a").chmod(0)
    place.search()
    (place.root / "a").chmod(0o755)
    folder.chmod(0o755)
    assert place.search()[0] == ["a/b/.env", "a/b/c/.env"]


def test_what_is_younger_than_a_tick_is_searched_each_time(tmp_path: Path) -> None:
    place = Place(tmp_path)
    assert place.search(time.time_ns) == ([], FOLDERS)
    assert place.search(time.time_ns) == ([], FOLDERS)
    assert not place.cache.exists()
    oldest = min(folder.stat().st_ctime_ns for folder in (place.root, *place.root.rglob("*")))
    assert place.search(lambda: oldest + MTIME_GRANULARITY_NS)[1] == FOLDERS
    assert not place.cache.exists()
    assert place.search(later)[1] == FOLDERS


def test_a_folder_from_the_future_is_searched_each_time(place: Place) -> None:
    ahead = later() + 3600 * 10**9
    os.utime(place.root / "a/b", ns=(ahead, ahead))
    assert place.search() == ([], 1)
    assert place.search() == ([], 1)


def test_after_the_clock_was_set_back_everything_is_searched(place: Place) -> None:
    assert place.search(lambda: later() - 3600 * 10**9) == ([], FOLDERS)
    now = [later()]
    scanner = place.scanner(lambda: now[0])
    scanner.recall(place.devices())
    assert (scanner.below(os.fsencode(place.root)), scanner.read) == ([], 0)
    now[0] -= 1
    scanner.recall(place.devices())
    assert (scanner.below(os.fsencode(place.root)), scanner.read) == ([], FOLDERS)


def _cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 1)


def _flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(bytes(content))


def _link(path: Path) -> None:
    path.rename(path.with_name("elsewhere"))
    path.symlink_to("elsewhere")


def _give(path: Path) -> None:
    if os.getuid():
        pytest.skip("Only root can give a file to another user.")
    os.chown(path, 65534, 65534)


@pytest.mark.parametrize(
    "damage",
    [
        Path.unlink, _cut, _flip, _link, _give,
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(b"assent.cache.1\n"),
        lambda path: path.chmod(0o666),
        lambda path: path.parent.chmod(0o777),
    ],
    ids=["gone", "cut", "flipped", "linked", "foreign", "empty", "short", "shared", "open"],
)  # fmt: skip
def test_a_cache_that_is_odd_is_ignored(place: Place, damage: Callable[[Path], None]) -> None:
    place.put("a/b/.env")
    damage(place.cache)
    assert place.search() == (["a/b/.env"], FOLDERS)


def _old(place: Place) -> bytes:
    return msgspec.msgpack.encode(ScanMemory(0, ABOUT, 0, {}))


def _other_rows(place: Place) -> bytes:
    stamp = _stamp(place.root / "d")
    row = ScannedFolder(stamp, 2, doubtful=((b"server.key", 99),))
    return encode_memory(ABOUT, 0, {os.fsencode(place.root / "d"): row})


@pytest.mark.parametrize(
    "content", [_old, _other_rows, lambda place: b"\x93", lambda place: b"", lambda place: b"{}"]
)
def test_content_that_means_nothing_here_is_ignored(
    place: Place, content: Callable[[Place], bytes]
) -> None:
    LocalCacheFile(os.fspath(place.cache), lambda: b"work").write(content(place))
    place.put("d/server.key", KEY)
    assert place.search() == (["d/server.key"], FOLDERS)


def test_a_cache_of_another_workspace_or_of_other_tables_is_ignored(place: Place) -> None:
    assert place.search(of=lambda: b"another")[1] == FOLDERS
    assert place.search()[1] == FOLDERS
    assert place.search(about=scan_rules(b"other"))[1] == FOLDERS
    assert place.search()[1] == FOLDERS
    assert place.search()[1] == 0


def test_a_folder_of_another_device_is_searched_each_time(place: Place) -> None:
    scanner = place.scanner()
    scanner.recall(frozenset({1}))
    assert (scanner.below(os.fsencode(place.root)), scanner.read) == ([], FOLDERS)
    before = place.cache.read_bytes()
    scanner.keep()
    assert place.cache.read_bytes() == before


def test_a_moved_workspace_is_searched_under_its_new_name(place: Place, tmp_path: Path) -> None:
    place.put("a/.env")
    place.search()
    place.root.rename(tmp_path / "moved")
    place.root = tmp_path / "moved"
    assert place.search() == (["a/.env"], FOLDERS)


def test_another_workspace_under_the_same_name_is_searched(place: Place, tmp_path: Path) -> None:
    place.root.rename(tmp_path / "moved")
    for name in FILES:
        place.put(name)
    place.put("a/.env")
    assert place.search() == (["a/.env"], FOLDERS)


def test_where_no_cache_can_be_written_everything_is_searched(place: Place) -> None:
    shutil.rmtree(place.cache.parent)
    place.cache.parent.write_bytes(b"")
    assert place.search() == ([], FOLDERS)
    place.put("a/.env")
    assert place.search() == (["a/.env"], FOLDERS)


def test_of_two_processes_the_slower_one_hides_nothing_from_a_third(tmp_path: Path) -> None:
    place = Place(tmp_path)
    slow, fast = place.scanner(), place.scanner()
    slow.recall(place.devices())
    assert slow.below(os.fsencode(place.root)) == []
    place.tick()
    place.put("a/b/.env")
    fast.recall(place.devices())
    assert fast.below(os.fsencode(place.root)) == [os.fsencode(place.root / "a/b/.env")]
    fast.keep()
    slow.keep()
    assert place.search() == (["a/b/.env"], 1)


def test_processes_at_once_leave_a_whole_cache(place: Place) -> None:
    shutil.rmtree(place.cache.parent)
    context = get_context("fork")
    workers = [context.Process(target=_search_often, args=(place,)) for _ in range(4)]
    for each in workers:
        each.start()
    for each in workers:
        each.join()
    assert [each.exitcode for each in workers] == [0] * 4
    assert place.search() == ([], 0)
    assert os.listdir(place.cache.parent) == ["work"]


def _search_often(place: Place) -> None:
    for _ in range(10):
        scanner = place.scanner()
        scanner.recall(place.devices())
        scanner.below(os.fsencode(place.root))
        scanner._new = 1 << 20  # each of them writes
        scanner.keep()


def test_a_mount_over_a_folder_is_searched(place: Place, tmp_path: Path) -> None:
    """In a process with mounts of its own, which end with it."""
    if os.getuid() or not shutil.which("mount"):
        pytest.skip("Needs root, and the program `mount`.")
    _make_twins(place.root / "a/b/twin", tmp_path / "other")
    shutil.rmtree(place.cache.parent)
    assert [place.search()[1], place.search()[1]] == [FOLDERS + 1, 0]
    context = get_context("fork")
    ours, theirs = context.Pipe()
    worker = context.Process(target=_mounted, args=(place, tmp_path / "other", theirs))
    worker.start()
    worker.join()
    assert worker.exitcode == 0
    assert ours.recv() == [["a/b/twin/.env"], ["a/b/twin/.env", "e/f/.env"]]
    assert place.search()[0] == []


def _make_twins(one: Path, other: Path) -> None:
    """Makes two folders with the same times, of which only the other has a secret."""
    while True:
        for path in (one, other):
            path.mkdir()
        (one / "readme").touch()
        (other / ".env").touch()
        if _times(one) == _times(other):
            return
        for path in (one, other):
            shutil.rmtree(path)


def _mounted(place: Place, other: Path, answer: Connection) -> None:
    unshare_mounts()
    os.system(f"mount --bind {other} {place.root}/a/b/twin")
    first = place.search()[0]
    os.system(f"mount -t tmpfs none {place.root}/e/f && touch {place.root}/e/f/.env")
    answer.send([first, place.search()[0]])


def test_little_news_is_not_written(place: Place) -> None:
    """A folder that is edited all the time is listed by each process; the cache stays."""
    before = place.cache.stat().st_ino
    place.put("e/f/more")
    assert place.search() == ([], 1)
    assert place.search() == ([], 1)
    assert place.cache.stat().st_ino == before
    for number in range(20):
        place.put(f"e/f/{number}")
    assert place.search() == ([], 1)
    assert place.search() == ([], 0)
    assert place.cache.stat().st_ino != before


def test_removed_folders_are_forgotten(place: Place) -> None:
    shutil.rmtree(place.root / "a")
    for number in range(20):
        place.put(f"e/f/{number}")
    place.search()
    folders = decode_memory(_content(place), ABOUT, later())
    assert sorted(folders) == [os.fsencode(place.root / name) for name in ("", "d", "e", "e/f")]


def test_f72_what_rules_cover_is_remembered_under_their_key_only(place: Place) -> None:
    calls: list[bytes] = []

    def finder(name: bytes, key: bytes) -> LimitedPathFinder:
        def covers(path: bytes, folder: bool) -> bool:
            calls.append(path)
            return path.endswith(name)

        def cache(kind: bytes) -> LocalCacheFile:
            return LocalCacheFile(os.fspath(place.cache.with_name(kind.hex())), lambda: b"work")

        return LimitedPathFinder(PathLimits(hides=covers, hides_key=key), root, cache, later)

    root, devices = os.fsencode(place.root), place.devices()
    place.tick()
    readme = finder(b"readme", b"1").hidden(devices)
    assert len(readme) == 5
    assert calls
    calls.clear()
    assert finder(b"readme", b"1").hidden(devices) == readme
    assert calls == []
    assert finder(b".key", b"2").hidden(devices) == [root + b"/d/server.key"]
    assert finder(b".key", b"").hidden(devices) == [root + b"/d/server.key"]
    calls.clear()
    assert finder(b".key", b"").hidden(devices) == [root + b"/d/server.key"]
    assert calls
    place.tick()
    place.put("a/new.key")
    found = finder(b".key", b"2").hidden(devices)
    assert sorted(found) == [root + b"/a/new.key", root + b"/d/server.key"]


NAMES = ("x", ".env", "server.key", "sub", ".ssh")
PATHS = st.lists(st.sampled_from(NAMES), min_size=1, max_size=3).map("/".join)
STEPS = st.tuples(
    st.sampled_from(["put", "key", "move", "link", "folder", "remove", "touch", "chmod"]),
    PATHS,
    PATHS,
)


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(st.lists(STEPS, max_size=4), max_size=6))
def test_whatever_happens_between_searches_all_is_found(
    rounds: list[list[tuple[str, str, str]]],
) -> None:
    with TemporaryDirectory(dir=MEMORY if os.path.isdir(MEMORY) else None) as folder:
        place = Place(Path(folder))
        for steps in rounds:
            for kind, path, other in steps:
                try:
                    _perform(place, kind, place.root / path, place.root / other)
                except OSError:
                    continue  # as for a person: what is impossible does not happen
            place.search()


def _perform(place: Place, kind: str, path: Path, other: Path) -> None:
    match kind:
        case "put" | "key":
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(KEY if kind == "key" else PLAIN)
        case "move":
            path.rename(other)
        case "link":
            path.symlink_to(other)
        case "folder":
            path.mkdir(parents=True)
        case "remove":
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        case "touch":
            os.utime(path, ns=(0, 0), follow_symlinks=False)
        case _:
            path.chmod(0o700)


def _times(path: Path) -> tuple[int, int]:
    return path.stat().st_mtime_ns, path.stat().st_ctime_ns


def _stamp(path: Path) -> FileStamp:
    found = path.stat()
    return FileStamp(found.st_dev, found.st_ino, found.st_mtime_ns, found.st_ctime_ns)


def _content(place: Place) -> bytes:
    return LocalCacheFile(os.fspath(place.cache), lambda: b"work").read()
