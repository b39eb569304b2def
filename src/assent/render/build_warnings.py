"""Build warnings: a git operation in progress, another branch, a moved workspace."""

from collections.abc import Iterator
from typing import Final

from assent.core.paths import display_path
from assent.core.text.hidden_chars import visible_line
from assent.ports import DETACHED_HEAD, GitState
from assent.render.lines import BLANK, Line, wrapped_lines

NO_BRANCH: Final = "no branch (detached HEAD)"
GIT: Final = "(`git status` shows it)"


def git_in_progress_warnings(repository: GitState) -> Iterator[str]:
    """Says what git is in the middle of."""
    for word in repository.under_way:
        article = "An" if word == "am" else "A"
        name = f"`git {word}`" if word == "am" else word
        yield f"{article} {name} is in progress here {GIT}: ending it may change files again."


def branch_warnings(approved_on: str, now: str) -> Iterator[str]:
    """Says that a plan was approved on another branch; nothing where either is not known."""
    if approved_on and now and approved_on != now:
        yield f"The plan was approved on {_named(approved_on)}; now {_named(now)} is checked out."


def workspace_moved_warnings(was: bytes, now: bytes) -> Iterator[str]:
    """Says that the workspace's folder has another path by now."""
    if was and was != now:
        yield (
            f"The workspace was moved: the plan was made in {visible_line(display_path(was))}, "
            f"and it is now {visible_line(display_path(now))}. "
            "Paths in its commands may lead elsewhere."
        )


def warning_lines(warnings: tuple[str, ...]) -> Iterator[Line]:
    """Renders warnings, each on lines of its own."""
    for warning in warnings:
        yield from wrapped_lines("risk", visible_line(warning))
    if warnings:
        yield BLANK


def _named(branch: str) -> str:
    return NO_BRANCH if branch == DETACHED_HEAD else f"branch {visible_line(branch)}"
