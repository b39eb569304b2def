"""What a person types becomes a path in the workspace, or is refused."""

import os
from pathlib import Path

import pytest
from tests.executor.disk_doubles import put

from assent.core.errors import AssentError, Refused, UsageError
from assent.executor.disk import Disk
from assent.workspace.files import LocalWorkspaceFiles
from assent.workspace.root import real_path


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A workspace with a folder, symlinks in and out of it, and a neighbour with a longer name."""
    root = tmp_path / "work"
    put(root, b"src/deep/file")
    put(root, b"other/file")
    put(tmp_path, b"workshop/file")
    put(tmp_path, b"outside/file")
    (root / "inner").symlink_to("src/deep")
    (root / "outer").symlink_to(tmp_path / "outside")
    (root / "back").symlink_to(tmp_path / "again")
    (tmp_path / "again").symlink_to("work/src")
    (root / "around").symlink_to("around")
    return root


def locate(root: Path, cwd: str, argument: bytes) -> bytes:
    return LocalWorkspaceFiles(os.fsencode(root), os.fsencode(root / cwd)).locate(argument)


@pytest.mark.parametrize(
    ("cwd", "argument", "path"),
    [
        ("", b"src/deep/file", b"src/deep/file"),
        ("src", b"deep/file", b"src/deep/file"),
        ("src", b"../other//./file", b"other/file"),
        ("src/deep", b"../../new", b"new"),
        ("", b"src/", b"src"),
        ("src", b".", b"src"),
        ("src/deep", b"..", b"src"),
        ("", b"inner", b"inner"),
        ("", b"outer", b"outer"),
        ("", b"inner/", b"inner"),
        ("", b"inner/.", b"src/deep"),
        ("", b"inner/file", b"src/deep/file"),
        ("", b"inner/../x", b"src/x"),
        ("", b"back/x", b"src/x"),
        ("", b"no/such/folder/x", b"no/such/folder/x"),
        ("", b"no/such/../x", b"no/x"),
        ("", b"inner/no/../../x", b"src/x"),
        ("", b"src/deep/file/x", b"src/deep/file/x"),
        ("", b"new\nline/\xff", b"new\nline/\xff"),
        ("", b"around", b"around"),
    ],
)
def test_paths_inside(root: Path, cwd: str, argument: bytes, path: bytes) -> None:
    assert locate(root, cwd, argument) == path


def test_absolute_paths(root: Path, tmp_path: Path) -> None:
    assert locate(root, "", os.fsencode(root / "src" / "new")) == b"src/new"
    assert locate(root, "", os.fsencode(tmp_path / "again" / "new")) == b"src/new"


@pytest.mark.parametrize(
    ("cwd", "argument", "words"),
    [
        ("", b"..", "outside"),
        ("", b"../x", "outside"),
        ("", b"../workshop/file", "outside"),
        ("", b"/", "outside"),
        ("", b"/etc/passwd", "outside"),
        ("", b"outer/file", "outside"),
        ("", b"outer/no/such", "outside"),
        ("", b"src/../../work2", "outside"),
        ("", b".", "the workspace itself"),
        ("", b"src/..", "the workspace itself"),
        ("src", b"..", "the workspace itself"),
        ("", b"../work", "the workspace itself"),
        ("", b"around/x", "symlink"),
        ("", b"a\0b", "null byte"),
    ],
)
def test_paths_refused(root: Path, cwd: str, argument: bytes, words: str) -> None:
    with pytest.raises(Refused, match=words) as refused:
        locate(root, cwd, argument)
    assert refused.value.exit == 7


def test_an_empty_argument_is_a_mistake(root: Path) -> None:
    with pytest.raises(UsageError):
        locate(root, "", b"")


def test_a_path_too_long_for_the_kernel_is_an_error_in_words(root: Path) -> None:
    with pytest.raises(AssentError, match="File name too long"):
        locate(root, "", b"x" * 300 + b"/y")


class CarelessDisk(Disk):
    """A disk that ignores case, as some do: a name in capitals is the same file."""

    def lstat(self, name: bytes, at: int | None = None) -> os.stat_result:
        return super().lstat(self._true(name), at)

    def readlink(self, name: bytes, at: int | None = None) -> bytes:
        return super().readlink(self._true(name), at)

    def _true(self, name: bytes) -> bytes:
        return name.replace(b"/WORK", b"/work").replace(b"/SRC", b"/src")


def test_folders_are_compared_by_what_they_are(root: Path) -> None:
    files = LocalWorkspaceFiles(os.fsencode(root), os.fsencode(root), CarelessDisk())
    shouted = os.fsencode(root.parent) + b"/WORK"
    assert files.locate(shouted + b"/SRC/no/x") == b"SRC/no/x"
    assert files.locate(shouted + b"/x") == b"x"
    with pytest.raises(Refused, match="outside"):
        files.locate(os.fsencode(root.parent) + b"/WORKSHOP/x")


def test_a_root_at_the_top_holds_everything(root: Path) -> None:
    files = LocalWorkspaceFiles(b"/", b"/")
    assert files.locate(os.fsencode(root / "x")) == os.fsencode(root / "x")[1:]
    with pytest.raises(Refused, match="itself"):
        files.locate(b"/")


def test_real_path_agrees_with_the_system(root: Path) -> None:
    for path in (b"inner/../x", b"outer/y", b"back/deep", b"a/../b", b"./inner//file", b""):
        full = os.fsencode(root) + b"/" + path
        assert real_path(Disk(), full) == os.path.realpath(full)


@pytest.mark.parametrize(
    ("cwd", "argument", "path"),
    [
        ("", b"inner/file", b"inner/file"),
        ("", b"inner/../x", b"x"),
        ("", b"outer/x", b"outer/x"),
        ("src", b"../outer/x", b"outer/x"),
        ("", b"other/file", b"src/file"),
        ("", b"back/x", b"src/x"),
    ],
)
def test_paths_lead_where_symlinks_are_said_to_lead(
    root: Path, cwd: str, argument: bytes, path: bytes
) -> None:
    """By a draft, say: `inner` and `outer` are none any more, and `other` has become one."""
    files = LocalWorkspaceFiles(os.fsencode(root), os.fsencode(root / cwd))
    drafted = {b"inner": None, b"outer": None, b"other": b"src"}

    def target(path: bytes) -> bytes | None:
        return drafted[path] if path in drafted else files.link_target(path)

    assert files.locate(argument, target) == path
