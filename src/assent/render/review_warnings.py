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
from assent.render.lines import BLANK, Line, wrapped_lines
from assent.render.rows import Row, path_fields

# Build warnings: a git operation in progress, another branch, a moved workspace.


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


# Drifted files: those that changed since a plan was proposed, as lines and JSON.


REBASE = "assent rebase"


class DriftedFile(msgspec.Struct, frozen=True):
    """A path, and what became of it in words; no path where they are about all of them."""

    path: bytes
    now: str


def drift_lines(found: Sequence[DriftedFile]) -> Iterator[Line]:
    """Renders which files changed; what the plan shows of them is what it was made on."""
    if not found:
        return
    yield Line("heading", "Changed since it was proposed")
    for one in found:
        yield from wrapped_lines("risk", drift_text(one))
    yield Line("plain", "It is shown as it was made, and cannot be built on the files as they are.")
    yield BLANK


def drift_text(one: DriftedFile) -> str:
    """Returns in one line what became of a file."""
    now = visible_line(one.now)
    return f"{visible_path(one.path)}: {now}" if one.path else now


def drift_rows(found: Sequence[DriftedFile]) -> list[Row]:
    """Returns which files changed as rows."""
    return [{**path_fields("path", one.path), "now": one.now} for one in found]


# Snapshot gaps: warnings about what an undo of a command will not restore.


def snapshot_gap_warnings(
    op: RunCommand, bounds: SnapshotLimits, coverage: SnapshotGaps
) -> Iterator[str]:
    """Says which files of the workspace would not be on record before the command."""
    if op.undo or op.profile == "commit":
        return
    if not coverage.whole:
        yield (
            "When it begins, this workspace has more files than undo.files lets be recorded "
            f"({bounds.files}): what it does to the others is not put back."
        )
    if coverage.beyond:
        yield (
            f"Not recorded, because they do not fit into undo.total_mb ({bounds.total >> 20} MB): "
            f"{coverage.beyond} of {coverage.kept + coverage.beyond} files. What it does to them "
            "is not put back."
        )
    if coverage.closed:
        yield (
            f"Folders that cannot be read are not recorded ({_first(coverage.closed)}): "
            "what it does in them is not put back."
        )
    if coverage.unread:
        yield (
            f"Files that cannot be read are not recorded ({_first(coverage.unread)}): "
            "what it does to them is not put back."
        )


def _first(paths: Sequence[bytes]) -> str:
    more = len(paths) - 1
    return f"{visible_path(paths[0])}{f' and {more} more' if more else ''}"
