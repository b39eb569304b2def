"""The way to a file: no symlink is followed, few descriptors are kept, changes are noticed."""

import errno
import os
import resource
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.executor.disk_doubles import failing, open_descriptors, put

from assent.executor.disk import Disk
from assent.executor.folder_handles import LIMIT, RECHECK_SECONDS, FolderHandles


@pytest.fixture
def folders(tmp_path: Path) -> FolderHandles:
    return FolderHandles(Disk(), os.fsencode(tmp_path))


def names(fd: int) -> list[str]:
    return sorted(os.listdir(fd))


def test_root_and_nested_folders_open(tmp_path: Path, folders: FolderHandles) -> None:
    put(tmp_path, b"a/b/c/file")
    assert names(folders.open(b"a/b/c")) == ["file"]
    assert names(folders.open(b"a/b")) == ["c"]
    assert names(folders.open(b"")) == ["a"]


@pytest.mark.parametrize("path", [b"..", b"../out", b"a/../../out", b"a/.."])
def test_no_component_leads_up(tmp_path: Path, path: bytes) -> None:
    (tmp_path / "work" / "a").mkdir(parents=True)
    folders = FolderHandles(Disk(), os.fsencode(tmp_path / "work"))
    for act in (folders.open, folders.make):
        with pytest.raises(OSError, match="plain path"):
            act(path)
    assert names(os.open(tmp_path, os.O_RDONLY)) == ["work"]


@pytest.mark.parametrize("link", ["a", "a/b", "a/b/c"])
def test_no_component_may_be_a_symlink(tmp_path: Path, folders: FolderHandles, link: str) -> None:
    put(tmp_path, b"elsewhere/b/c/d/file")
    (tmp_path / link).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / link).symlink_to(tmp_path / "elsewhere" / link[2:])
    with pytest.raises(OSError, match="symlink") as refused:
        folders.open(b"a/b/c")
    assert (refused.value.errno, refused.value.filename) == (errno.ELOOP, link.encode())


def test_a_file_is_no_folder_and_nothing_is_nothing(tmp_path: Path, folders: FolderHandles) -> None:
    put(tmp_path, b"a/file")
    with pytest.raises(NotADirectoryError):
        folders.open(b"a/file/x")
    with pytest.raises(FileNotFoundError) as missing:
        folders.open(b"a/b/c")
    assert missing.value.filename == b"a/b"


def test_descriptors_are_bounded(tmp_path: Path, folders: FolderHandles) -> None:
    paths = [b"%d/inner" % number for number in range(2 * LIMIT)]
    for path in paths:
        put(tmp_path, path + b"/file")
    before = open_descriptors()
    for path in paths:
        folders.open(path)
    kept = open_descriptors() - before
    assert LIMIT // 2 < kept <= LIMIT + 1
    assert names(folders.open(paths[0])) == ["file"]
    folders.forget()
    assert open_descriptors() == before


@pytest.fixture
def _few_descriptors() -> Iterator[None]:
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (open_descriptors() + LIMIT + 8, limits[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, limits)


@pytest.mark.usefixtures("_few_descriptors")
def test_thousands_of_folders_need_few_descriptors(folders: FolderHandles) -> None:
    for number in range(4 * LIMIT):
        folders.make(b"%d" % number)
    for number in range(4 * LIMIT):
        assert names(folders.open(b"%d" % number)) == []


@pytest.mark.usefixtures("_few_descriptors")
def test_a_path_may_be_longer_than_the_kernel_takes(tmp_path: Path, folders: FolderHandles) -> None:
    deep = b"/".join([b"folder%d" % number for number in range(500)])
    assert len(deep) > os.pathconf(tmp_path, "PC_PATH_MAX")
    assert len(folders.make(deep)) == 500
    folders.forget()
    sibling = b"other" + deep[7:]
    folders.make(sibling)
    folders.forget()
    one, other = folders.open_two(deep, sibling)
    assert (names(one), names(other)) == ([], [])
    assert os.fstat(one).st_ino != os.fstat(other).st_ino
    folders.forget()
    _remove_deep(tmp_path, deep, sibling)


def _remove_deep(root: Path, *paths: bytes) -> None:
    """Removes what tools that need whole paths cannot reach."""
    folders = FolderHandles(Disk(), os.fsencode(root))
    for path in paths:
        while path:
            above, _, name = path.rpartition(b"/")
            os.rmdir(name, dir_fd=folders.open(above))
            path = above


def test_a_renamed_folder_is_looked_up_again(tmp_path: Path, folders: FolderHandles) -> None:
    put(tmp_path, b"a/b/old")
    folders.open(b"a/b")
    (tmp_path / "a").rename(tmp_path / "was_a")
    put(tmp_path, b"a/b/new")
    folders.moved(b"a")
    assert names(folders.open(b"a/b")) == ["new"]


def test_what_others_do_is_seen_in_time(tmp_path: Path) -> None:
    now = [100.0]
    folders = FolderHandles(Disk(), os.fsencode(tmp_path), lambda: now[0])
    put(tmp_path, b"a/old")
    folders.open(b"a")
    (tmp_path / "a").rename(tmp_path / "was_a")
    put(tmp_path, b"a/new")
    assert names(folders.open(b"a")) == ["old"]
    now[0] += 2 * RECHECK_SECONDS
    assert names(folders.open(b"a")) == ["new"]


def test_a_folder_that_does_not_close_well_is_no_trouble(tmp_path: Path) -> None:
    folders = FolderHandles(failing("close", errno.EIO), os.fsencode(tmp_path))
    folders.make(b"a/b")
    folders.forget()
    assert names(folders.open(b"a")) == ["b"]


def test_open_now_trusts_nothing_that_was_renamed(tmp_path: Path, folders: FolderHandles) -> None:
    put(tmp_path, b"a/b/old")
    folders.open(b"a/b")
    (tmp_path / "a").rename(tmp_path / "was_a")
    with pytest.raises(FileNotFoundError):
        folders.open_now(b"a/b")
    put(tmp_path, b"a/b/new")
    put(tmp_path, b"a/c/other")
    folders.open(b"was_a/b")
    assert names(folders.open_now(b"a/c")) == ["other"]
    assert names(folders.open_now(b"a/b")) == ["new"]
    assert names(folders.open_now(b"")) == ["a", "was_a"]


def test_make_tells_what_was_missing(tmp_path: Path, folders: FolderHandles) -> None:
    (tmp_path / "a").mkdir()
    assert folders.make(b"a/b/c") == [b"a/b", b"a/b/c"]
    assert folders.make(b"a/b/c") == []
    put(tmp_path, b"a/file")
    with pytest.raises(NotADirectoryError):
        folders.make(b"a/file/x")


def test_only_the_person_may_look_into_slots(tmp_path: Path, folders: FolderHandles) -> None:
    folders.make(b".opencode/assent/stage/run")
    modes = {
        path: stat.S_IMODE((tmp_path / path).stat().st_mode) & 0o077
        for path in (".opencode/assent", ".opencode/assent/stage", ".opencode/assent/stage/run")
    }
    assert modes.pop(".opencode/assent") != 0
    assert set(modes.values()) == {0}


def test_below_yields_folders_before_their_contents(tmp_path: Path, folders: FolderHandles) -> None:
    put(tmp_path, b"a/b/file")
    (tmp_path / "a" / "link").symlink_to("b")
    found = list(folders.below(b"a"))
    assert sorted(found) == [(b"a/b", "folder"), (b"a/b/file", "file"), (b"a/link", "link")]
    assert found.index((b"a/b", "folder")) < found.index((b"a/b/file", "file"))
    assert [*folders.below(b"a/link"), *folders.below(b"a/b/file"), *folders.below(b"no")] == []


def test_descriptors_end_with_their_owner(tmp_path: Path) -> None:
    before = open_descriptors()
    folders = FolderHandles(Disk(), os.fsencode(tmp_path))
    folders.make(b"a/b/c")
    assert open_descriptors() > before
    del folders
    assert open_descriptors() == before
