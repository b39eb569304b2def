"""The index that git gets to see: masked files are unchanged in it, everything else as it was."""

import subprocess
from pathlib import Path

import pytest

from assent.sandbox.profile.git_index import mark_unchanged, masked_indexes
from assent.sandbox.profile.profile import SandboxProfile

FILES = (".env", "a", "config/prod/.env", "config/prod/app.toml", "config/.env.local", "z" * 200)
HIDDEN = frozenset([b".env", b"config/prod/.env", b"config/.env.local"])
WHO = ("-c", "user.name=a", "-c", "user.email=a@b.c")


def _git(folder: Path, *arguments: str) -> str:
    line = ["git", *WHO, *arguments]
    done = subprocess.run(line, cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout


def _repository(folder: Path, *options: str, version: str = "2") -> Path:
    folder.mkdir()
    _git(folder, "init", "-q", *options)
    for name in FILES:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("x", encoding="utf-8")
    _git(folder, "add", "-A")
    _git(folder, "update-index", "--index-version", version)
    return folder / ".git" / "index"


def _marked(folder: Path) -> list[str]:
    rows = [row for row in _git(folder, "ls-files", "-v").splitlines() if row[0] in "hs"]
    return [row[2:] for row in rows]


@pytest.mark.parametrize("version", ["2", "3", "4"])
@pytest.mark.parametrize("kind", ["sha1", "sha256"])
def test_git_reads_the_changed_index(tmp_path: Path, version: str, kind: str) -> None:
    index = _repository(tmp_path / "repo", f"--object-format={kind}", version=version)
    if version == "3":  # only an entry with more flags makes it one
        (tmp_path / "repo" / "later").write_text("x", encoding="utf-8")
        _git(tmp_path / "repo", "add", "-N", "later")
    entries = _git(tmp_path / "repo", "ls-files", "--stage", "--debug")
    index.write_bytes(mark_unchanged(index.read_bytes(), HIDDEN))
    assert _marked(tmp_path / "repo") == [".env", "config/.env.local", "config/prod/.env"]
    assert _without_flags(_git(tmp_path / "repo", "ls-files", "--stage", "--debug")) == (
        _without_flags(entries)
    )


def _without_flags(listed: str) -> list[str]:
    return [line.partition("flags:")[0] for line in listed.splitlines()]


def test_what_lies_below_a_hidden_folder_is_hidden(tmp_path: Path) -> None:
    index = _repository(tmp_path / "repo")
    index.write_bytes(mark_unchanged(index.read_bytes(), frozenset([b"config/prod"])))
    assert _marked(tmp_path / "repo") == ["config/prod/.env", "config/prod/app.toml"]


def test_nothing_tracked_is_hidden(tmp_path: Path) -> None:
    index = _repository(tmp_path / "repo").read_bytes()
    assert mark_unchanged(index, frozenset([b".en", b"config/prod/.env2", b"prod/.env"])) == b""


@pytest.mark.parametrize("cut", [0, 3, 11, 40, 100, -1, -30])
def test_a_damaged_index_is_left_alone(tmp_path: Path, cut: int) -> None:
    index = _repository(tmp_path / "repo").read_bytes()
    assert mark_unchanged(index[:cut], HIDDEN) == b""
    assert mark_unchanged(index[:-1] + bytes([index[-1] ^ 1]), HIDDEN) == b""


def test_only_a_read_only_view_gets_one(tmp_path: Path) -> None:
    index = _repository(tmp_path / "repo")
    root = bytes(tmp_path / "repo")
    profile = SandboxProfile(root, b"/root", masks=(root + b"/.env",))
    assert list(masked_indexes(profile)) == [bytes(index)]
    assert (
        masked_indexes(SandboxProfile(root, b"/root", masks=(root + b"/.env",), writable=True))
        == {}
    )
    assert masked_indexes(SandboxProfile(root, b"/root", masks=(b"/elsewhere/.env",))) == {}


def test_a_worktree_has_an_index_of_its_own(tmp_path: Path) -> None:
    _repository(tmp_path / "repo")
    _git(tmp_path / "repo", "commit", "-qm", "first")
    _git(tmp_path / "repo", "worktree", "add", "-q", str(tmp_path / "other"))
    root, common = bytes(tmp_path / "other"), bytes(tmp_path / "repo" / ".git")
    profile = SandboxProfile(root, b"/root", shown=(common,), masks=(root + b"/.env",))
    assert list(masked_indexes(profile)) == [common + b"/worktrees/other/index"]
    assert masked_indexes(SandboxProfile(root, b"/root", masks=(root + b"/.env",))) == {}


@pytest.mark.parametrize("version", ["2", "4"])
@pytest.mark.parametrize("kind", ["sha1", "sha256"])
def test_f72_git_does_not_search_what_was_added_of_a_hidden_file(
    tmp_path: Path, version: str, kind: str
) -> None:
    index = _repository(tmp_path / "repo", f"--object-format={kind}", version=version)
    _git(tmp_path / "repo", "commit", "-qm", "first")
    index.write_bytes(mark_unchanged(index.read_bytes(), HIDDEN))
    (tmp_path / "repo" / ".env").unlink()
    found = _git(tmp_path / "repo", "grep", "-l", "x").splitlines()
    assert found == ["a", "config/prod/app.toml", "z" * 200]
    assert _git(tmp_path / "repo", "status", "--short") == ""
