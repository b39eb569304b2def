"""Which folder is the workspace."""

import os
from pathlib import Path

import pytest

from assent.core.errors import UsageError
from assent.executor.disk import Disk
from assent.workspace.root import find_root


def found(start: Path, tmp_path: Path) -> str:
    return os.path.relpath(os.fsdecode(find_root(os.fsencode(start))), tmp_path)


def test_nothing_around_means_here(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    assert found(tmp_path / "a" / "b", tmp_path) == "a/b"


@pytest.mark.parametrize("mark", [".opencode/plans", ".opencode/assent", ".git"])
def test_the_nearest_mark_wins(tmp_path: Path, mark: str) -> None:
    (tmp_path / "a" / "b" / "c").mkdir(parents=True)
    (tmp_path / mark).mkdir(parents=True)
    assert found(tmp_path / "a" / "b" / "c", tmp_path) == "."
    (tmp_path / "a" / mark).mkdir(parents=True)
    assert found(tmp_path / "a" / "b" / "c", tmp_path) == "a"


def test_a_tree_of_ours_beats_a_nearer_repository(tmp_path: Path) -> None:
    (tmp_path / ".opencode" / "plans").mkdir(parents=True)
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / ".git").write_bytes(b"gitdir: elsewhere\n")
    assert found(tmp_path / "a" / "b", tmp_path) == "."
    (tmp_path / ".opencode" / "plans").rmdir()
    assert found(tmp_path / "a" / "b", tmp_path) == "a"


def test_the_home_folder_is_the_workspace_of_nothing_but_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".opencode" / "plans").mkdir(parents=True)
    (tmp_path / "a" / "b").mkdir(parents=True)
    assert found(tmp_path / "a" / "b", tmp_path) == "a/b"
    (tmp_path / "a" / ".git").mkdir()
    assert found(tmp_path / "a" / "b", tmp_path) == "a"
    assert found(tmp_path, tmp_path) == "."


class Foreign(Disk):
    """A disk on which everything that is ours belongs to another user."""

    def lstat(self, path: bytes, at: int | None = None) -> os.stat_result:
        seen = super().lstat(path, at)
        values = [*seen]
        if b"/.opencode/" in path:
            values[4] = os.geteuid() + 1
        return os.stat_result(values)


def test_a_tree_that_another_user_put_above_a_repository_or_a_folder_does_not_count(
    tmp_path: Path,
) -> None:
    (tmp_path / ".opencode" / "plans").mkdir(parents=True)
    (tmp_path / "a" / "b").mkdir(parents=True)
    inner, disk = os.fsencode(tmp_path / "a" / "b"), Foreign()
    assert find_root(inner, disk) == inner
    (tmp_path / "a" / ".git").mkdir()
    assert find_root(inner, disk) == os.fsencode(tmp_path / "a")
    (tmp_path / ".git").mkdir()  # and a colleague's, in the repository itself, does
    assert find_root(os.fsencode(tmp_path), disk) == os.fsencode(tmp_path)


def test_the_real_path_is_returned(tmp_path: Path) -> None:
    (tmp_path / "real" / ".git").mkdir(parents=True)
    (tmp_path / "real" / "sub").mkdir()
    (tmp_path / "link").symlink_to("real/sub")
    assert found(tmp_path / "link", tmp_path) == "real"


@pytest.mark.parametrize("start", ["file", "missing"])
def test_a_workspace_begins_at_a_folder(tmp_path: Path, start: str) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(UsageError, match="is not a folder"):
        find_root(os.fsencode(tmp_path / start))
