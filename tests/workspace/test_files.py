"""Reading the person's files: contents, lists, and what replacing one would cost."""

import errno
import os
import stat
from pathlib import Path

import pytest
from tests.executor.disk_doubles import WatchedDisk, failing, open_descriptors, put

from assent.core.errors import Refused, WorkspaceError
from assent.executor.file_states import OwnershipRights, lost_attributes
from assent.ports import ReplacementLoss
from assent.workspace.files import LocalWorkspaceFiles


@pytest.fixture
def files(tmp_path: Path) -> LocalWorkspaceFiles:
    return LocalWorkspaceFiles(os.fsencode(tmp_path), os.fsencode(tmp_path))


def test_content_streams_through_the_disk(tmp_path: Path) -> None:
    content = os.urandom((2 << 20) + 5)
    put(tmp_path, b"a/big", content)
    disk = WatchedDisk()
    files = LocalWorkspaceFiles(os.fsencode(tmp_path), b"/", disk)
    files.names(b"a")
    before = open_descriptors()
    with files.open(b"a/big") as stream:
        assert stream.read(3) == content[:3]
        assert stream.read() == content[3:]
    assert disk.calls["read"] >= 3
    assert open_descriptors() == before


def test_of_a_symlink_the_target_is_read(tmp_path: Path, files: LocalWorkspaceFiles) -> None:
    os.symlink(b"to \xff", os.fsencode(tmp_path / "link"))
    assert files.open(b"link").read() == b"to \xff"


def test_what_has_no_content_is_refused(tmp_path: Path, files: LocalWorkspaceFiles) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("folder")
    put(tmp_path, b"folder/file")
    for path, words in ((b"pipe", "is a pipe"), (b"folder", "is a folder")):
        with pytest.raises(Refused, match=words):
            files.open(path)
    with pytest.raises(Refused, match="link is a symlink"):
        files.open(b"link/file")
    with pytest.raises(WorkspaceError, match=r"no: No such file or directory\."):
        files.open(b"no")


def test_below_lists_files_and_symlinks_of_every_name(
    tmp_path: Path, files: LocalWorkspaceFiles
) -> None:
    for path in (b"a/z", b"a/b/\xff", b"a/b/new\nline", b"a/.git/config", b"other"):
        put(tmp_path, path)
    (tmp_path / "a" / "empty").mkdir()
    (tmp_path / "a" / "loop").symlink_to("..")
    os.mkfifo(tmp_path / "a" / "pipe")
    found = [b"a/.git/config", b"a/b/new\nline", b"a/b/\xff", b"a/loop", b"a/z"]
    assert files.below(b"a") == found
    assert files.below(b"") == [*found, b"other"]
    assert [files.below(path) for path in (b"a/z", b"a/loop", b"no", b"other/x")] == [[]] * 4
    with pytest.raises(Refused, match="a/loop is a symlink"):
        files.below(b"a/loop/a")


def test_names_lists_one_folder(tmp_path: Path, files: LocalWorkspaceFiles) -> None:
    put(tmp_path, b"a/\xff")
    put(tmp_path, b"a/b/c")
    assert files.names(b"a") == [b"b", b"\xff"]
    assert files.names(b"") == [b"a"]
    assert files.names(b"a/b/c") == files.names(b"no") == []


def test_is_file_reads_nothing(tmp_path: Path) -> None:
    put(tmp_path, b"a/file")
    (tmp_path / "link").symlink_to("a")
    disk = WatchedDisk()
    files = LocalWorkspaceFiles(os.fsencode(tmp_path), b"/", disk)
    paths = (b"a/file", b"link", b"a", b"no", b"a/file/x")
    assert [files.is_file(path) for path in paths] == [True, True, False, False, False]
    assert disk.calls["read"] == 0
    with pytest.raises(Refused, match="link is a symlink"):
        files.is_file(b"link/x")


def test_facts_count_the_names_of_a_file(tmp_path: Path, files: LocalWorkspaceFiles) -> None:
    put(tmp_path, b"a", b"text")
    assert files.replacement_losses([b"a"]) == {}
    os.link(tmp_path / "a", tmp_path / "b")
    os.symlink("a", tmp_path / "link")
    assert files.replacement_losses([b"a", b"link", b"no", b"a/no"]) == {b"a": ReplacementLoss(2)}


def test_facts_tell_nothing_of_what_lies_behind_a_symlink(
    tmp_path: Path, files: LocalWorkspaceFiles
) -> None:
    os.link(put(tmp_path, b"a/one"), tmp_path / "a" / "two")
    os.link(put(tmp_path, b"b/one"), tmp_path / "b" / "two")
    (tmp_path / "way").symlink_to("a")
    paths = (b"a/one", b"a/no", b"a/two", b"way/one", b"b/one")
    assert files.replacement_losses(paths) == {
        path: ReplacementLoss(2) for path in (b"a/one", b"a/two", b"b/one")
    }


def test_facts_see_a_folder_that_took_the_place_of_another(
    tmp_path: Path, files: LocalWorkspaceFiles
) -> None:
    put(tmp_path, b"a/one")
    assert files.replacement_losses([b"a/one"]) == {}
    os.link(put(tmp_path, b"b/one"), tmp_path / "b" / "two")
    (tmp_path / "a").rename(tmp_path / "c")
    (tmp_path / "b").rename(tmp_path / "a")
    assert files.replacement_losses([b"a/one", b"c/one"]) == {b"a/one": ReplacementLoss(2)}


def test_user_attributes_are_not_lost(tmp_path: Path, files: LocalWorkspaceFiles) -> None:
    os.setxattr(put(tmp_path, b"a"), "user.note", b"value")
    assert files.replacement_losses([b"a"]) == {}


def test_a_file_system_without_attributes_loses_none(tmp_path: Path) -> None:
    put(tmp_path, b"a")
    disk = failing("list_xattrs", errno.ENOTSUP)
    assert LocalWorkspaceFiles(os.fsencode(tmp_path), b"/", disk).replacement_losses([b"a"]) == {}


def test_what_only_another_user_could_give_is_lost(tmp_path: Path) -> None:
    put(tmp_path, b"a")
    (tmp_path / "link").symlink_to("a")
    mine = (tmp_path / "a").stat()
    stranger = OwnershipRights(mine.st_uid + 1, frozenset([mine.st_gid + 1]))
    files = LocalWorkspaceFiles(os.fsencode(tmp_path), b"/", None, stranger)
    lost = ReplacementLoss(1, ("owner", "group"))
    assert files.replacement_losses([b"a", b"link"]) == {b"a": lost, b"link": lost}


@pytest.mark.parametrize(
    ("rights", "lost"),
    [
        (OwnershipRights(0, frozenset([0])), ("system.nfs4_acl",)),
        (
            OwnershipRights(5, frozenset([7])),
            ("security.capability", "trusted.x", "system.nfs4_acl"),
        ),
        (
            OwnershipRights(5, frozenset([8])),
            ("group", "security.capability", "trusted.x", "system.nfs4_acl"),
        ),
    ],
)
def test_losses_follow_from_rights(rights: OwnershipRights, lost: tuple[str, ...]) -> None:
    attributes = ["user.a", "system.posix_acl_access", "security.selinux", "security.capability",
                  "trusted.x", "system.nfs4_acl"]  # fmt: skip
    found = os.stat_result((stat.S_IFREG | 0o644, 1, 1, 1, 5, 7, 0, 0, 0, 0))
    assert lost_attributes(found, attributes, rights) == lost
