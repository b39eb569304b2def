"""What git has checked out and is in the middle of, read from the files that git itself leaves."""

import os
import subprocess
from pathlib import Path

import pytest

from assent.ports import DETACHED_HEAD, GitState
from assent.workspace.git_state import current_branch, git_state

AUTHOR = {
    "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@b", "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_EDITOR": "true",
}  # fmt: skip


class Clone:
    """A repository with two branches that do not fit together."""

    def __init__(self, root: Path) -> None:
        self.root = root
        root.mkdir()
        self.git("init", "-q", "-b", "main")
        self.commit("one")
        self.git("switch", "-q", "-c", "other")
        self.commit("two")
        self.git("switch", "-q", "main")
        self.commit("three")

    def git(self, *words: str, fails: bool = False, folder: Path | None = None) -> None:
        done = subprocess.run(
            ["git", *words], cwd=folder or self.root, env={**os.environ, **AUTHOR},
            capture_output=True, check=False,
        )  # fmt: skip
        assert bool(done.returncode) == fails, done

    def commit(self, content: str) -> None:
        (self.root / "file").write_text(content, encoding="utf-8")
        self.git("add", "file")
        self.git("commit", "-q", "-m", content)

    @property
    def found(self) -> GitState:
        return git_state(os.fsencode(self.root))


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    return Clone(tmp_path / "clone")


def test_the_branch_is_read(clone: Clone) -> None:
    assert clone.found == GitState("main")
    clone.git("switch", "-q", "-c", "fix/größe")
    assert clone.found == GitState("fix/größe")
    assert current_branch(os.fsencode(clone.root)) == ""  # a model is told of plain names alone
    clone.git("checkout", "-q", "--detach")
    assert clone.found == GitState(DETACHED_HEAD)
    assert current_branch(os.fsencode(clone.root)) == ""


@pytest.mark.parametrize(
    ("begin", "word", "on"),
    [
        (("merge", "other"), "merge", "main"),
        (("rebase", "other"), "rebase", DETACHED_HEAD),
        (("rebase", "--apply", "other"), "rebase", DETACHED_HEAD),
        (("cherry-pick", "other"), "cherry-pick", "main"),
        (("revert", "--no-edit", "main~1"), "revert", "main"),
    ],
)
def test_what_git_is_in_the_middle_of_is_seen(
    clone: Clone, begin: tuple[str, ...], word: str, on: str
) -> None:
    clone.git(*begin, fails=True)
    assert clone.found == GitState(on, (word,))
    clone.git(begin[0], "--abort")
    assert clone.found == GitState("main")


def test_a_bisection_is_seen(clone: Clone) -> None:
    clone.git("bisect", "start")
    assert clone.found == GitState("main", ("bisect",))
    clone.git("bisect", "reset")
    assert clone.found == GitState("main")


def test_patches_that_are_applied_one_by_one_are_seen(clone: Clone) -> None:
    clone.git("format-patch", "-q", "-1", "other", "-o", "..")
    [patch] = clone.root.parent.glob("*.patch")
    clone.git("am", str(patch), fails=True)
    assert clone.found == GitState("main", ("am",))


def test_a_linked_worktree_has_its_own_branch_and_state(clone: Clone) -> None:
    tree = clone.root.parent / "tree"
    clone.git("worktree", "add", "-q", str(tree), "other")
    clone.git("merge", "main", fails=True, folder=tree)
    assert (tree / ".git").is_file()
    assert git_state(os.fsencode(tree)) == GitState("other", ("merge",))
    assert clone.found == GitState("main")


def test_whatever_else_is_called_git_tells_nothing(tmp_path: Path) -> None:
    root = os.fsencode(tmp_path)
    assert git_state(root) == GitState()
    git = tmp_path / ".git"
    for content in (b"", b"gitdir: ", b"gitdir: /nowhere\n", b"\0" * 5000):
        git.write_bytes(content)
        assert git_state(root) == GitState()
    git.unlink()
    os.mkfifo(git)
    assert git_state(root) == GitState()
    git.unlink()
    git.symlink_to(tmp_path / "elsewhere")
    assert git_state(root) == GitState()
