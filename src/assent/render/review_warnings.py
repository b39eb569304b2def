"""Warnings of a review: what changed since the plan, and what an undo will not restore.

They name changed files, a git operation in progress, another branch, and a moved workspace.
"""

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from assent.core.paths import display_path
from assent.core.plan.operation import RunCommand
from assent.core.run.workspace_changes import SnapshotGaps, SnapshotLimits
from assent.core.text.hidden_chars import visible_line, visible_path
from assent.ports import DETACHED_HEAD, GitState
from assent.render.lines import BLANK, Line, counted, wrapped_lines
from assent.render.rows import Row, path_fields

# Build warnings: a git operation in progress, another branch, a moved workspace.


NO_BRANCH: Final = "no branch (detached HEAD)"
GIT: Final = "(see `git status`)"


def git_in_progress_warnings(repository: GitState) -> Iterator[str]:
    """Yields a warning about a git operation in progress."""
    for word in repository.under_way:
        article = "An" if word == "am" else "A"
        name = f"`git {word}`" if word == "am" else word
        yield f"{article} {name} is in progress here {GIT}; finishing it may change files again."


def branch_warnings(approved_on: str, now: str) -> Iterator[str]:
    """Yields a warning if a plan was approved on another branch; nothing if one is unknown."""
    if approved_on and now and approved_on != now:
        yield (
            f"The plan was approved on {_named(approved_on)}, but {_named(now)} is checked out now."
        )


def workspace_moved_warnings(was: bytes, now: bytes) -> Iterator[str]:
    """Yields a warning if the workspace's folder has moved."""
    if was and was != now:
        yield (
            f"The workspace moved from {visible_line(display_path(was))} to "
            f"{visible_line(display_path(now))} since the plan was created. Paths in its commands "
            "may point elsewhere."
        )


def warning_lines(warnings: tuple[str, ...]) -> Iterator[Line]:
    """Renders warnings, each on its own lines."""
    for warning in warnings:
        yield from wrapped_lines("risk", visible_line(warning))
    if warnings:
        yield BLANK


def _named(branch: str) -> str:
    return NO_BRANCH if branch == DETACHED_HEAD else f"branch {visible_line(branch)}"


# Drifted files: those that changed since a plan was proposed, as lines and JSON.


REBASE = "assent rebase"


DRIFTED = "Files changed since the plan was proposed"


class DriftedFile(msgspec.Struct, frozen=True):
    """A path, and how it changed; without a path, it is about all files."""

    path: bytes
    now: str  # with its digest
    change: str  # the same for people


def drift_lines(found: Sequence[DriftedFile]) -> Iterator[Line]:
    """Renders which files changed; the plan shows them as they were when it was made."""
    if not found:
        return
    yield Line("heading", DRIFTED)
    for one in found:
        yield from wrapped_lines("risk", drift_text(one))
    yield Line("plain", "The plan is shown as proposed and cannot be built on the current files.")
    yield BLANK


def drift_text(one: DriftedFile) -> str:
    """Returns one line that says how a file changed."""
    change = visible_line(one.change)
    return f"{visible_path(one.path)}: {change}" if one.path else change


def drift_rows(found: Sequence[DriftedFile]) -> list[Row]:
    """Returns which files changed as rows."""
    return [{**path_fields("path", one.path), "now": one.now} for one in found]


# Snapshot gaps: warnings about what an undo of a command will not restore.


def snapshot_gap_warnings(
    op: RunCommand, bounds: SnapshotLimits, coverage: SnapshotGaps
) -> Iterator[str]:
    """Yields warnings about files that would not be recorded before the command."""
    if op.undo or op.profile == "commit":
        return
    if not coverage.whole:
        yield (
            f"The workspace has more files than undo.files records ({bounds.files}). Undo does not "
            "restore what the command does to the others."
        )
    if coverage.beyond:
        exceed, are, them = ("exceed", "are", "them")
        if coverage.beyond == 1:
            exceed, are, them = ("exceeds", "is", "it")
        files = counted(coverage.kept + coverage.beyond, "file")
        yield (
            f"{coverage.beyond} of {files} {exceed} undo.total_mb ({bounds.total >> 20} MB) and "
            f"{are} not recorded. Undo does not restore what the command does to {them}."
        )
    if coverage.closed:
        yield (
            f"Unreadable folders are not recorded ({_first(coverage.closed)}). Undo does not "
            "restore what the command does in them."
        )
    if coverage.unread:
        yield (
            f"Unreadable files are not recorded ({_first(coverage.unread)}). Undo does not restore "
            "what the command does to them."
        )


def _first(paths: Sequence[bytes]) -> str:
    more = len(paths) - 1
    return f"{visible_path(paths[0])}{f' and {more} more' if more else ''}"
