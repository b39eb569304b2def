"""Which folders come, or go, as a whole: only those that hold nothing else."""

import pytest

from assent.core.plan.operation import DeleteFile, FileOperation, FileState, MoveFile, WriteFile
from assent.core.run.slot_move import (
    MoveFromSlot,
    MoveToSlot,
    SlotLayout,
    added_folders,
    removed_folders,
    slot_moves,
)

ONE, OTHER = FileState("1" * 64, 1, 0o644), FileState("2" * 64, 1, 0o644)


def new(path: bytes) -> WriteFile:
    return WriteFile(path, None, ONE)


def gone(path: bytes, prune: int) -> DeleteFile:
    return DeleteFile(path, ONE, prune)


@pytest.mark.parametrize(
    ("operations", "missing", "expected"),
    [
        ([new(b"a/x"), new(b"a/y")], [b"a"], [b"a"]),
        ([new(b"a/b/x"), new(b"a/c/y")], [b"a", b"a/b", b"a/c"], [b"a"]),
        ([new(b"a/b/x"), new(b"a/c/y")], [b"a/b", b"a/c"], []),
        ([new(b"a/x")], [b"a"], []),
        ([new(b"a/x"), new(b"a/y")], [], []),
        ([new(b"a/x"), new(b"a/y"), MoveFile(b"m", b"a/m", ONE)], [b"a"], []),
        ([new(b"a/x"), new(b"a/y"), MoveFile(b"m", b"b/m", ONE)], [b"a", b"b"], [b"a"]),
        ([DeleteFile(b"a", OTHER), new(b"a/x"), new(b"a/y")], [b"a"], [b"a"]),
        ([new(b"ab/x"), new(b"ab/y"), new(b"a/x")], [b"a", b"ab"], [b"ab"]),
    ],
)
def test_a_folder_is_brought_if_all_of_it_is_new(
    operations: list[FileOperation], missing: list[bytes], expected: list[bytes]
) -> None:
    assert added_folders(operations, missing) == expected


@pytest.mark.parametrize(
    ("operations", "there", "expected"),
    [
        ([gone(b"a/x", 1), gone(b"a/y", 1)], [b"a/x", b"a/y"], [b"a"]),
        ([gone(b"a/x", 1), gone(b"a/y", 1)], [b"a/x", b"a/y", b"a/mine"], []),
        ([gone(b"a/x", 1), gone(b"a/y", 1)], [b"a/x"], []),
        ([gone(b"a/x", 0), gone(b"a/y", 0)], [b"a/x", b"a/y"], []),
        ([gone(b"a/x", 1)], [b"a/x"], []),
        ([gone(b"a/b/x", 2), gone(b"a/y", 1)], [b"a/b/x", b"a/y"], [b"a"]),
        ([gone(b"a/b/x", 1), gone(b"a/b/y", 1)], [b"a/b/x", b"a/b/y"], [b"a/b"]),
        ([gone(b"a/x", 1), gone(b"a/y", 1), new(b"a/z")], [b"a/x", b"a/y"], []),
        ([gone(b"a/x", 1), gone(b"a/y", 1), new(b"a")], [b"a/x", b"a/y"], []),
        ([gone(b"a/b/x", 1), gone(b"a/b/y", 1), new(b"a")], [b"a/b/x", b"a/b/y"], []),
        (
            [gone(b"a/x", 1), gone(b"a/y", 1), MoveFile(b"a/m", b"m", ONE, 1)],
            [b"a/x", b"a/y", b"a/m"],
            [],
        ),
    ],
)
def test_a_folder_is_taken_if_all_that_is_in_it_goes(
    operations: list[FileOperation], there: list[bytes], expected: list[bytes]
) -> None:
    def below(folder: bytes) -> list[bytes]:
        return [path for path in there if path.startswith(folder + b"/")]

    assert removed_folders(operations, below) == expected


def test_files_of_a_whole_folder_keep_motions_and_slots_of_their_own() -> None:
    operations: list[FileOperation] = [new(b"a/b/x"), gone(b"c/y", 1), new(b"z")]
    stage = b".opencode/assent/stage/run"
    layout = SlotLayout("run", whole=(b"a", b"c"))
    take, put, alone = slot_moves(operations, layout)
    assert take == MoveToSlot(1, b"c/y", stage + b"/1.whole/y", ONE, None, b"c")
    assert put == MoveFromSlot(0, b"a/b/x", stage + b"/0.whole/b/x", ONE, None, b"a")
    assert alone == MoveFromSlot(2, b"z", stage + b"/2.new", ONE)
    assert (take.folder_slot, put.folder_slot) == (stage + b"/1.whole", stage + b"/0.whole")
    assert layout.whole_folder_slots == (stage + b"/0.whole", stage + b"/1.whole")
