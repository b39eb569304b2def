"""A `.git` file shows only what names it back; a hostile one shows nothing."""

import os
import subprocess
from pathlib import Path

import pytest

from assent.sandbox.profile.git_dirs import gitdirs

ALONE = {
    "PATH": os.environ["PATH"],
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@example.org",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@example.org",
}


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    folder = tmp_path / "home" / ".ssh"
    folder.mkdir(parents=True)
    (folder / "id_rsa").write_text("key", encoding="utf-8")
    return folder


def test_a_file_that_names_the_keys_shows_nothing(tmp_path: Path, keys: Path) -> None:
    root = _workspace(tmp_path, f"gitdir: {keys}\n")
    assert _shown(root) == []


def test_a_worktree_of_its_own_making_cannot_borrow_another_folder(
    tmp_path: Path, keys: Path
) -> None:
    root = _workspace(tmp_path, "gitdir: fake/worktrees/w\n")
    gitdir = root / "fake" / "worktrees" / "w"
    gitdir.mkdir(parents=True)
    (gitdir / "gitdir").write_text(f"{root}/.git\n", encoding="utf-8")
    for common in (str(keys), str(_repository(tmp_path / "other") / ".git")):
        (gitdir / "commondir").write_text(common + "\n", encoding="utf-8")
        assert _shown(root) == []


def test_another_repositorys_worktree_is_not_ours(tmp_path: Path) -> None:
    other = _repository(tmp_path / "other")
    _git(other, "worktree", "add", "-q", str(tmp_path / "tree"))
    root = _workspace(tmp_path, (tmp_path / "tree" / ".git").read_text(encoding="utf-8"))
    assert _shown(root) == []


def test_another_repository_is_not_ours(tmp_path: Path) -> None:
    other = _repository(tmp_path / "other")
    root = _workspace(tmp_path, f"gitdir: {other}/.git\n")
    assert _shown(root) == []


def test_a_symlink_proves_nothing(tmp_path: Path) -> None:
    other = _repository(tmp_path / "other")
    root = tmp_path / "project"
    root.mkdir()
    (root / ".git").symlink_to(other / ".git")
    assert _shown(root) == []


@pytest.mark.parametrize(
    "text",
    ["", "gitdir:", "gitdir: ", "gitdir: /a\0b\n", "gitdir: a\nb\n", "x" * 100_000],
)
def test_a_file_that_makes_no_sense_shows_nothing(tmp_path: Path, text: str) -> None:
    assert _shown(_workspace(tmp_path, text)) == []


def test_a_zero_byte_in_what_it_leads_to_does_no_harm(tmp_path: Path) -> None:
    root = _workspace(tmp_path, "gitdir: g\n")
    (root / "g").mkdir()
    for name in ("gitdir", "commondir", "config"):
        (root / "g" / name).write_bytes(b"[core]\nworktree = a\0b\n")
    assert _shown(root) == []


def test_a_pipe_named_git_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ".git")
    assert _shown(tmp_path) == []


def test_a_worktree_shows_its_repository(tmp_path: Path) -> None:
    main = _repository(tmp_path / "main")
    _git(main, "worktree", "add", "-q", str(tmp_path / "tree"))
    assert _shown(tmp_path / "tree") == [main / ".git"]


def test_a_submodule_shows_its_own_folder(tmp_path: Path) -> None:
    part, whole = _repository(tmp_path / "part"), _repository(tmp_path / "whole")
    allowed = ("-c", "protocol.file.allow=always")
    _git(whole, *allowed, "submodule", "--quiet", "add", str(part), "libs/part")
    assert _shown(whole / "libs" / "part") == [whole / ".git" / "modules" / "libs" / "part"]


def test_a_folder_of_a_repository_shows_that_repository(tmp_path: Path) -> None:
    main = _repository(tmp_path / "main")
    (main / "a" / "b").mkdir(parents=True)
    assert _shown(main / "a" / "b") == [main / ".git"]


def test_a_folder_of_a_worktree_shows_the_file_that_leads_on(tmp_path: Path) -> None:
    main = _repository(tmp_path / "main")
    _git(main, "worktree", "add", "-q", str(tmp_path / "tree"))
    (tmp_path / "tree" / "a").mkdir()
    assert _shown(tmp_path / "tree" / "a") == [tmp_path / "tree" / ".git", main / ".git"]


def test_a_folder_called_git_is_not_enough(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "a").mkdir()
    assert _shown(tmp_path / "a") == []


def test_a_workspace_without_git_shows_nothing_of_its_parents_files(tmp_path: Path) -> None:
    assert not [path for path in _shown(tmp_path) if tmp_path in path.parents]


def _workspace(folder: Path, mark: str) -> Path:
    root = folder / "project"
    root.mkdir()
    (root / ".git").write_text(mark, encoding="utf-8")
    return root


def _repository(folder: Path) -> Path:
    folder.mkdir()
    _git(folder, "init", "-q", "-b", "main")
    _git(folder, "commit", "-q", "--allow-empty", "-m", "start")
    return folder


def _git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=folder, env=ALONE, check=True, capture_output=True)


def _shown(root: Path) -> list[Path]:
    return [Path(os.fsdecode(path)) for path in gitdirs(os.fsencode(root))]
