"""A repository's configuration starts no program and nothing is written, but for clean filters.

git runs here without a sandbox, so this is the second belt alone.
"""

import shutil
from pathlib import Path

import pytest
from tests.permissions.hostile_repository import Hostile

from assent.permissions.commands.read_only.classifier import ReadOnlyCommand, read_only_stages
from assent.permissions.commands.read_only.git_environment import (
    GIT_CONFIG_ENVIRONMENT,
    GIT_ENVIRONMENT,
    SAFE_DIRECTORY,
    SETTINGS,
    VARIABLES,
)

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")

COMMANDS = """\
git status
git status -sb
git status --porcelain=v2 -uall --ignored
git diff
git diff --stat
git diff --cached
git diff HEAD~1
git diff --submodule
git diff --no-index a.txt a.named
git log -3
git log -p
git log -p -m
git log --stat --graph --all
git log --alternate-refs
git log --pretty=named
git log --format='%(trailers)%(describe)'
git log --decorate --notes
git show
git show HEAD:a.shown
git show HEAD:a.cleaned
git show v1
git show HEAD^2
git show main~1
git blame a.shown
git blame a.cleaned
git blame a.processed
git annotate a.named
git grep one
git grep --cached one
git grep --recurse-submodules one
git grep --no-index one
git ls-files -m
git ls-files -s
git ls-files --recurse-submodules
git ls-files --eol
git ls-tree -r HEAD
git branch -avv
git tag -n
git remote -v
git remote show -n origin
git rev-parse HEAD
git rev-list --all --objects
git describe
git shortlog -sn HEAD
git cat-file -p HEAD:a.shown
git cat-file -t 0123456789012345678901234567890123456789
git reflog
git reflog show -p
git stash list -p
git stash show
git stash show -p
git worktree list
git config --list
git config user.name
git for-each-ref --format='%(refname) %(contents) %(trailers)'
git show-ref
git merge-base main side
git name-rev HEAD
git diff-tree -p HEAD~1 HEAD
git diff-index -p HEAD
git diff-files -p
git cherry main side
git range-diff main~2..main main~1..side
git whatchanged -p
git show-branch
git count-objects -v
git check-ignore -v a.txt
git check-attr -a a.shown
git var -l
git notes
git notes show main~1
git submodule
git submodule status --recursive
git submodule summary
git bisect log
git version --build-options
git symbolic-ref HEAD
git sparse-checkout list
git branch --contains HEAD fresh
git branch --merged main fresh
git branch --no-merged fresh
git branch --points-at HEAD fresh
git branch --list fresh
git tag -n fresh
git tag -l fresh
git tag --contains HEAD fresh
git tag --no-merged main fresh
git tag --points-at HEAD fresh
git config list
git config get user.name
git config core.bare
git reflog fresh
git -C sub status
git -C sub diff
""".splitlines()

# git has no switch for these, and their names are the repository's: only the sandbox holds them.
STILL_RUN = {"filter.cleaned.clean", "filter.processed.process"}
# What the same commands start when git is told nothing: the test would see it.
WOULD_RUN = STILL_RUN | {
    "core.alternateRefsCommand",
    "core.fsmonitor",
    "core.pager",
    "core.sshCommand",
    "diff.external",
    "diff.named.command",
    "diff.shown.textconv",
    "gpg.openpgp.program",
    "gpg.ssh.program",
    "hook",
    "pager.diff",
    "pager.log",
    "remote.origin.url",
}


@pytest.fixture
def hostile(tmp_path: Path) -> Hostile:
    return Hostile(tmp_path)


def admitted(line: str) -> ReadOnlyCommand:
    """Returns what would really run."""
    work = read_only_stages(line)[0].work
    assert isinstance(work, tuple)
    return work[0]


def test_nothing_but_filters_is_started_and_nothing_is_written(hostile: Hostile) -> None:
    before = hostile.state()
    started = set()
    for line in COMMANDS:
        reading = admitted(line)
        hostile.run([word.text for word in reading.words], reading.spec.environment)
        started |= hostile.marks()
        assert (line, hostile.state()) == (line, before)
    assert started == STILL_RUN


TRIES = 5


def test_git_that_is_told_nothing_starts_all_of_them(hostile: Hostile) -> None:
    started: set[str] = set()
    lines = COMMANDS * TRIES  # a pager that ends at once may end git before it starts the others
    while lines and not started >= WOULD_RUN:
        line, *lines = lines
        hostile.run([word.text for word in admitted(line).command.words], {})
        started |= hostile.marks()
    assert started >= WOULD_RUN


def test_every_row_has_a_reason_and_counts_once() -> None:
    rows = (*VARIABLES, *SETTINGS, SAFE_DIRECTORY)
    assert all(row.why for row in rows)
    assert len({row.name for row in rows}) == len(rows)
    assert GIT_ENVIRONMENT["GIT_CONFIG_COUNT"] == str(len(SETTINGS) + 1)
    assert GIT_CONFIG_ENVIRONMENT["GIT_CONFIG_COUNT"] == "1"
