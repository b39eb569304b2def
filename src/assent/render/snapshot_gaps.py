"""Snapshot gaps: warnings about what an undo of a command will not restore."""

from collections.abc import Iterator, Sequence

from assent.core.plan.operation import RunCommand
from assent.core.run.workspace_changes import SnapshotGaps, SnapshotLimits
from assent.core.text.hidden_chars import visible_path


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
