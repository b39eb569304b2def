"""F145: before anybody agrees to a command, a review says what no undo will put back here."""

import pytest

from assent.core.plan.operation import RunCommand
from assent.core.run.workspace_changes import SnapshotGaps, SnapshotLimits
from assent.render.review_warnings import snapshot_gap_warnings

MAKE = RunCommand((b"make",))
BOUNDS = SnapshotLimits(total=4 << 20, files=100)


@pytest.mark.parametrize(
    ("coverage", "words"),
    [
        (SnapshotGaps(7), []),
        (
            SnapshotGaps(100, whole=False),
            [
                "The workspace has more files than undo.files records (100). Undo does not "
                "restore what the command does to the others."
            ],
        ),
        (
            SnapshotGaps(7, beyond=3),
            [
                "3 of 10 files exceed undo.total_mb (4 MB) and are not recorded. Undo does not "
                "restore what the command does to them."
            ],
        ),
        (
            SnapshotGaps(7, closed=(b"a\n", b"b")),
            [
                "Unreadable folders are not recorded (a<U+000A> and 1 more). Undo does not "
                "restore what the command does in them."
            ],
        ),
        (
            SnapshotGaps(7, unread=(b"a\n", b"b")),
            [
                "Unreadable files are not recorded (a<U+000A> and 1 more). Undo does not restore "
                "what the command does to them."
            ],
        ),
    ],
)
def test_f145_what_would_not_be_recorded_is_said(coverage: SnapshotGaps, words: list[str]) -> None:
    assert [*snapshot_gap_warnings(MAKE, BOUNDS, coverage)] == words


@pytest.mark.parametrize(
    "op", [RunCommand((b"x",), undo=(b"y",)), RunCommand((b"git",), profile="commit")]
)
def test_where_files_are_not_put_back_anyway_nothing_is_said(op: RunCommand) -> None:
    assert [
        *snapshot_gap_warnings(
            op, BOUNDS, SnapshotGaps(1, 1, whole=False, closed=(b"a",), unread=(b"b",))
        )
    ] == []
