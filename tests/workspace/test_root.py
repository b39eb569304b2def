"""Which folder is the workspace."""

import os
from pathlib import Path

import pytest

from assent.core.errors import UsageError
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
