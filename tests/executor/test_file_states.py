"""Looking at names: what is seen, when content is read again, and what is refused."""

import errno
import os
import socket
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.executor.disk_doubles import (
    WatchedDisk,
    an_hour_later,
    edit_unseen,
    failing,
    file_state,
    link_state,
    put,
)

from assent.core.errors import Refused, WorkspaceError
from assent.core.plan.operation import FileState
from assent.core.run.slot_move import PathState, SlotContent
from assent.executor.file_states import CHUNK, DigestCache
from assent.executor.file_writer import LocalFileWriter
from assent.ports import PathStateReader, WorkspaceFiles
from assent.ports.file_writer import FileWriter
from assent.workspace.files import LocalWorkspaceFiles

SLOT = b".opencode/assent/stage/run/0.new"


def hands_on(root: Path, disk: WatchedDisk | None = None) -> FileWriter:
    return LocalFileWriter(os.fsencode(root), disk)


def files_on(root: Path, disk: WatchedDisk | None = None) -> WorkspaceFiles:
    return LocalWorkspaceFiles(os.fsencode(root), os.fsencode(root), disk)


@pytest.mark.parametrize("looking", [hands_on, files_on])
def test_each_kind_is_told(tmp_path: Path, looking: Callable[[Path], PathStateReader]) -> None:
    put(tmp_path, b"empty")
    put(tmp_path, b"src/a.py", b"text\n", 0o640)
    put(tmp_path, b"tool", b"#!", 0o4755)
    put(tmp_path, b"new\nline \xff\xfe/\xc3\xa9", b"odd")
    (tmp_path / "link").symlink_to("src/a.py")
    (tmp_path / "dangling").symlink_to("no where")
    assert looking(tmp_path).read_states(
        [b"", b"empty", b"src", b"src/a.py", b"tool", b"new\nline \xff\xfe/\xc3\xa9", b"link",
         b"dangling", b"no", b"no/such/folder", b"empty/x"]
    ) == {
        b"": "folder",
        b"empty": file_state(b""),
        b"src": "folder",
        b"src/a.py": file_state(b"text\n", 0o640),
        b"tool": file_state(b"#!", 0o4755),
        b"new\nline \xff\xfe/\xc3\xa9": file_state(b"odd"),
        b"link": link_state(b"src/a.py"),
        b"dangling": link_state(b"no where"),
        b"no": None,
        b"no/such/folder": None,
        b"empty/x": None,
    }  # fmt: skip


def test_odd_files_are_refused_by_name(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "socket"))
    for name, word in ((b"pipe", "pipe is a pipe"), (b"socket", "socket is a socket")):
        with pytest.raises(Refused, match=word):
            files_on(tmp_path).read_states([name])
        with pytest.raises(OSError, match=r"a (pipe|socket)") as odd:
            hands_on(tmp_path).read_states([name])
        assert odd.value.errno == errno.ENOTSUP


def test_among_many_the_odd_one_is_named(tmp_path: Path) -> None:
    for number in range(100):
        put(tmp_path, b"in/%d" % number, b"%d" % number)
    names = [b"in/%d" % number for number in range(100)]
    seen = {name: file_state(name[3:]) for name in names}
    changed = seen | {b"in/70": file_state(b"other")}
    assert files_on(tmp_path).read_states(names) == seen
    assert files_on(tmp_path).read_states(changed) == seen  # what is hoped for is no answer
    os.remove(tmp_path / "in/80")
    os.mkfifo(tmp_path / "in/80")
    with pytest.raises(Refused, match="in/80 is a pipe"):
        files_on(tmp_path).read_states(changed)


def test_in_a_missing_folder_nothing_is_looked_up(tmp_path: Path) -> None:
    disk = WatchedDisk()
    names = [b"no/%d" % number for number in range(50)]
    assert files_on(tmp_path, disk).read_states(dict.fromkeys(names)) == dict.fromkeys(names)
    assert disk.calls["open"] <= 5  # the folders on the way, once


def test_a_symlinked_parent_is_refused_by_name(tmp_path: Path) -> None:
    put(tmp_path, b"real/file")
    (tmp_path / "link").symlink_to("real")
    with pytest.raises(Refused, match=r"^link is a symlink.* to link/file\.$"):
        files_on(tmp_path).read_states([b"link/file"])


@pytest.mark.parametrize("others", [0, 1, 3])
def test_hands_find_nothing_behind_a_symlink(tmp_path: Path, others: int) -> None:
    put(tmp_path, b"real/file")
    (tmp_path / "link").symlink_to("real")
    more = [b"real/no%d" % number for number in range(others)]
    asked = [b"link/file", b"link/deep/file", *more]
    assert hands_on(tmp_path).read_states(asked) == dict.fromkeys(asked)


def test_a_slot_behind_a_symlink_is_no_empty_one(tmp_path: Path) -> None:
    put(tmp_path, b"real/file")
    (tmp_path / "link").symlink_to("real")
    with pytest.raises(OSError, match="symlink") as refused:
        hands_on(tmp_path).read_states([b"link/file", b"link/.assent-run-0.new"])
    assert (refused.value.errno, refused.value.filename) == (errno.ELOOP, b"link")


def test_an_unreadable_file_is_an_error_not_a_guess(tmp_path: Path) -> None:
    put(tmp_path, b"a", b"text")
    with pytest.raises(WorkspaceError, match="a: Permission denied"):
        files_on(tmp_path, failing("read", errno.EACCES)).read_states([b"a"])
    with pytest.raises(PermissionError):
        hands_on(tmp_path, failing("read", errno.EACCES)).read_states([b"a"])


@pytest.mark.parametrize("size", [(1 << 20) - 1, 1 << 20, (1 << 20) + 1, 3 << 20])
def test_sizes_around_a_chunk(tmp_path: Path, size: int) -> None:
    content = os.urandom(size)
    put(tmp_path, b"big", content)
    assert hands_on(tmp_path).read_states([b"big"]) == {b"big": file_state(content)}


def test_a_large_file_needs_little_memory(tmp_path: Path) -> None:
    put(tmp_path, b"large")
    os.truncate(tmp_path / "large", 100 << 20)
    tracemalloc.start()
    try:
        seen = hands_on(tmp_path).read_states([b"large"])
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    zeros = "20492a4d0d84f8beb1767f6616229f85d44c2827b64bdbfb260ee12fa1109e0e"
    assert seen == {b"large": FileState(zeros, 100 << 20, 0o644)}
    assert peak < 4 << 20


def test_content_is_read_once_and_again_after_a_rename(tmp_path: Path) -> None:
    full = put(tmp_path, b"a", b"text")
    disk = WatchedDisk()
    hands = LocalFileWriter(os.fsencode(tmp_path), disk, digests=DigestCache(an_hour_later))
    for _ in range(2):
        assert hands.read_states([b"a"]) == {b"a": file_state(b"text")}
    assert disk.calls["read"] == 1
    made = os.stat(full).st_ctime_ns
    while os.stat(full).st_ctime_ns == made:  # until the system's clock ticks
        hands.rename_unless_taken(b"a", b"b")
        hands.rename_unless_taken(b"b", b"a")
    assert hands.read_states([b"a"]) == {b"a": file_state(b"text")}
    assert disk.calls["read"] == 2


def test_an_edit_that_hides_in_its_times_is_seen_after_the_exchange(tmp_path: Path) -> None:
    full = put(tmp_path, b"a", b"old")
    hands = LocalFileWriter(os.fsencode(tmp_path), digests=DigestCache(an_hour_later))
    hands.write_slot(SlotContent(0, SLOT, file_state(b"new"), b"a"), [b"new"])
    before = hands.read_states([b"a", SLOT])
    edit_unseen(full, b"mad")
    hands.exchange(SLOT, b"a")
    assert before == {b"a": file_state(b"old"), SLOT: file_state(b"new")}
    assert hands.read_states([b"a", SLOT]) == {b"a": file_state(b"new"), SLOT: file_state(b"mad")}


def test_an_edit_that_hides_in_its_times_is_seen_by_whoever_shares_digests(tmp_path: Path) -> None:
    full = put(tmp_path, b"a", b"old")
    root, disk, digests = os.fsencode(tmp_path), WatchedDisk(), DigestCache(an_hour_later)
    files = LocalWorkspaceFiles(root, root, disk, digests=digests)
    hands = LocalFileWriter(root, disk, digests=digests)
    assert files.read_states([b"a"]) == hands.read_states([b"a"]) == {b"a": file_state(b"old")}
    assert disk.calls["read"] == 1
    edit_unseen(full, b"mad")
    assert hands.read_states([b"a"]) == files.read_states([b"a"]) == {b"a": file_state(b"mad")}
    edit_unseen(full, b"odd")
    hands.rename_unless_taken(b"a", b"b")
    assert files.read_states([b"b"]) == hands.read_states([b"b"]) == {b"b": file_state(b"odd")}


@pytest.mark.parametrize(("age", "reads"), [(1_999_999_999, 2), (2_000_000_000, 1)])
def test_a_digest_is_remembered_two_seconds_after_the_last_change(
    tmp_path: Path, age: int, reads: int
) -> None:
    changed = os.stat(put(tmp_path, b"a", b"text")).st_ctime_ns
    disk = WatchedDisk()
    hands = LocalFileWriter(os.fsencode(tmp_path), disk, digests=DigestCache(lambda: changed + age))
    for _ in range(2):
        assert hands.read_states([b"a"]) == {b"a": file_state(b"text")}
    assert disk.calls["read"] == reads


def test_a_mode_is_never_remembered(tmp_path: Path) -> None:
    put(tmp_path, b"a", b"text")
    hands = hands_on(tmp_path)
    hands.read_states([b"a"])
    (tmp_path / "a").chmod(0o755)
    assert hands.read_states([b"a"]) == {b"a": file_state(b"text", 0o755)}


def test_new_content_of_the_same_size_is_seen(tmp_path: Path) -> None:
    put(tmp_path, b"a", b"one")
    hands = hands_on(tmp_path)
    assert hands.read_states([b"a"]) == {b"a": file_state(b"one")}
    (tmp_path / "a").write_bytes(b"two")
    assert hands.read_states([b"a"]) == {b"a": file_state(b"two")}


def test_a_young_file_is_read_every_time(tmp_path: Path) -> None:
    """Its next change might get the same time, so nothing is remembered."""
    disk = WatchedDisk()
    hands = hands_on(tmp_path, disk)
    full = put(tmp_path, b"a", b"one")
    for content in (b"one", b"two"):
        with open(full, "wb") as file:
            file.write(content)
        os.utime(full, ns=(1 << 62, 1 << 62))
        assert hands.read_states([b"a"]) == {b"a": file_state(content)}
    assert disk.calls["read"] == 2


def test_a_file_that_changes_while_read_is_read_again(tmp_path: Path) -> None:
    full = put(tmp_path, b"a", b"old")
    contents = [b"newest", b"newer content"]

    def meddle(call: str) -> None:
        if call == "stat" and contents and disk.calls["read"]:
            with open(full, "wb") as file:
                file.write(contents.pop())
            os.utime(full, (2_000_000, 2_000_000))

    disk = WatchedDisk(meddle)
    assert hands_on(tmp_path, disk).read_states([b"a"]) == {b"a": file_state(b"newest")}
    assert disk.calls["read"] == 3


def test_an_edit_while_reading_is_seen_though_its_time_is_set_back(tmp_path: Path) -> None:
    full = put(tmp_path, b"a", b"old")

    def meddle(call: str) -> None:
        if call == "stat" and disk.calls["read"] == 1:
            edit_unseen(full, b"mad")

    disk = WatchedDisk(meddle)
    assert hands_on(tmp_path, disk).read_states([b"a"]) == {b"a": file_state(b"mad")}


def test_a_file_that_never_rests_is_an_error(tmp_path: Path) -> None:
    full = put(tmp_path, b"a", b"old")

    def meddle(call: str) -> None:
        if call == "read":
            with open(full, "ab") as file:
                file.write(b"more")

    with pytest.raises(OSError, match="keeps changing") as restless:
        hands_on(tmp_path, WatchedDisk(meddle)).read_states([b"a"])
    assert restless.value.filename == b"a"
    with pytest.raises(WorkspaceError, match="keeps changing"):
        files_on(tmp_path, WatchedDisk(meddle)).read_states([b"a"])


def test_a_file_that_becomes_a_symlink_is_seen_as_one(tmp_path: Path) -> None:
    full = put(tmp_path, b"a", b"old")

    def meddle(call: str) -> None:
        if call == "open" and disk.calls["lstat"] == 2:  # the folder, the file
            os.unlink(full)
            os.symlink(b"target", full)

    disk = WatchedDisk(meddle)
    assert hands_on(tmp_path, disk).read_states([b"a"]) == {b"a": link_state(b"target")}


def test_files_look_at_folders_as_they_are_now(tmp_path: Path) -> None:
    put(tmp_path, b"a/file", b"old")
    files = files_on(tmp_path)
    files.read_states([b"a/file"])
    (tmp_path / "a").rename(tmp_path / "b")
    put(tmp_path, b"a/file", b"new")
    assert files.read_states([b"a/file"]) == {b"a/file": file_state(b"new")}


def test_what_is_as_it_should_be_is_told_with_fewer_calls(tmp_path: Path) -> None:
    hoped = {path: file_state(path) for path in (b"a", b"b", b"c", b"d/e")}
    for path in hoped:
        put(tmp_path, path, path)
    disk = WatchedDisk()
    assert hands_on(tmp_path, disk).read_states(hoped) == hoped
    asked = disk.calls["stat"]
    assert hands_on(tmp_path, disk).read_states([*hoped]) == hoped
    assert disk.calls["stat"] == 2 * asked + len(hoped)


def test_what_should_stand_there_never_changes_what_is_seen(tmp_path: Path) -> None:
    text = file_state(b"text")
    put(tmp_path, b"other", b"TEXT")
    put(tmp_path, b"longer", b"text, and more")
    put(tmp_path, b"mode", b"text", 0o600)
    put(tmp_path, b"comes", b"text")
    put(tmp_path, b"large", bytes(CHUNK))
    (tmp_path / "link").symlink_to("comes")
    (tmp_path / "folder").mkdir()
    (tmp_path / "way").symlink_to("folder")
    hoped: dict[bytes, PathState] = dict.fromkeys(
        (b"other", b"longer", b"mode", b"gone", b"gone/too", b"link", b"folder"), text
    )
    hoped |= {b"comes": None, b"large": file_state(bytes(CHUNK)), b"": text}
    hands = hands_on(tmp_path)
    assert hands.read_states(hoped) == hands.read_states([*hoped])
    behind = {**hoped, b"way/x": text}
    assert (
        hands.read_states(behind)
        == hands.read_states([*behind])
        == {**hands.read_states(hoped), b"way/x": None}
    )


def test_a_digest_that_is_remembered_is_compared_too(tmp_path: Path) -> None:
    paths = [put(tmp_path, name, b"text") and name for name in (b"a", b"b", b"c", b"d")]
    disk = WatchedDisk()
    hands = LocalFileWriter(os.fsencode(tmp_path), disk, digests=DigestCache(an_hour_later))
    seen = hands.read_states(paths)
    reads = disk.calls["read"]
    assert hands.read_states(seen) == seen == dict.fromkeys(paths, file_state(b"text"))
    assert hands.read_states(dict.fromkeys(paths, file_state(b"TEXT"))) == seen
    assert disk.calls["read"] == reads


DISK, MEMORY = os.makedev(8, 1), os.makedev(0, 42)
NOON = 1_700_000_000_000_000_000


@pytest.mark.parametrize(
    ("device", "part", "age", "remembered"),
    [
        (DISK, 1_234_567, 100_000_000, True),
        (DISK, 1_234_567, 99_999_999, False),
        (DISK, 0, 1_999_999_999, False),  # times in whole seconds
        (DISK, 20_000_000, 1_999_999_999, False),  # or in hundredths of one
        (MEMORY, 1_234_567, 1_999_999_999, False),  # perhaps another machine's clock
        (MEMORY, 1_234_567, 2_000_000_000, True),
    ],
)
def test_a_digest_is_remembered_sooner_where_times_are_fine_and_our_own(
    device: int, part: int, age: int, remembered: bool
) -> None:
    changed = NOON + part
    times = {"st_mtime_ns": changed, "st_ctime_ns": changed}
    found = os.stat_result((0o100644, 7, device, 1, 0, 0, 4, 0, 0, 0), times)
    digests = DigestCache()
    digests.put(found, "digest", changed + age)
    assert digests.get(found) == ("digest" if remembered else None)
