"""Deeds: what was done comes to one change of each path, and what an undo leaves out is named."""

import pytest
from tests.core.states import TOOL, A, B, C

from assent.core.plan.operation import DeleteFile, FileOperation, MoveFile, RunCommand, WriteFile
from assent.core.run.workspace_changes import SkippedFile, WorkspaceChanges
from assent.core.undo import (
    CHANGED_BETWEEN_STEPS,
    AppliedChange,
    AppliedCommand,
    UndoGap,
    combined_operations,
    composed_operations,
    merged_changes,
    undo_blockers,
    undo_gaps,
)

UNDO = RunCommand((b"up",), undo=(b"down", b"all"), cwd=b"db", timeout=7, network=True)


def wrote(index: int, op: FileOperation, run: str = "r") -> AppliedChange:
    return AppliedChange(run, index, f"{index}" * 64, (op,))


def ran(index: int, *operations: FileOperation, command: RunCommand | None = None) -> AppliedChange:
    return AppliedChange(
        "r", index, f"{index}" * 64, operations, AppliedCommand("make all", command)
    )


FIRST = wrote(0, WriteFile(b"a", A, B))
MADE = ran(1, WriteFile(b"a", B, C), WriteFile(b"new", None, A))
MIGRATED = ran(1, WriteFile(b"a", B, C), command=UNDO)
LAST = wrote(2, WriteFile(b"b", A, B))


def test_one_segment_is_taken_back_as_it_was_approved() -> None:
    operations: tuple[FileOperation, ...] = (
        DeleteFile(b"x", A),
        MoveFile(b"y", b"z", B),
        WriteFile(b"a", A, B),
    )
    deeds = [wrote(number, op) for number, op in enumerate(operations)]
    assert combined_operations(deeds) == operations


def test_several_segments_come_to_one_change_of_each_path() -> None:
    assert combined_operations([FIRST, MADE, LAST]) == (
        WriteFile(b"a", A, C),
        WriteFile(b"new", None, A),
        WriteFile(b"b", A, B),
    )
    back = ran(3, WriteFile(b"a", C, A), DeleteFile(b"new", A))
    assert combined_operations([FIRST, MADE, back]) == ()


def test_attempts_of_one_command_come_to_one_change_of_each_path() -> None:
    twice = ran(0, WriteFile(b"a", A, B), WriteFile(b"a", B, TOOL))
    assert combined_operations([twice]) == (WriteFile(b"a", A, TOOL),)


def test_f142_what_somebody_changed_in_between_goes_back_as_far_as_that() -> None:
    later = wrote(1, WriteFile(b"a", C, TOOL), "s")
    assert composed_operations([FIRST.operations, later.operations]) == later.operations


def test_f144_what_was_done_before_somebody_changed_a_file_is_named_as_staying() -> None:
    deeds = [ran(0, WriteFile(b"a", A, B)), ran(1, WriteFile(b"a", C, A)), LAST]
    assert undo_gaps(deeds) == (UndoGap("", CHANGED_BETWEEN_STEPS, b"a"),)
    assert undo_gaps([FIRST, MADE, LAST]) == ()


def test_g7_the_undo_of_a_command_runs_as_the_command_did() -> None:
    assert MIGRATED.undo == RunCommand((b"down", b"all"), cwd=b"db", timeout=7, network=True)
    assert (FIRST.undo, MADE.undo, ran(0, command=RunCommand((b"up",))).undo) == (None, None, None)


@pytest.mark.parametrize(
    ("taken", "operations", "found"),
    [
        ([FIRST, MADE, LAST], combined_operations([FIRST, MADE, LAST]), {}),
        ([FIRST], FIRST.operations, {0: "a was changed again by a command"}),
        ([MADE], MADE.operations, {}),
        ([LAST], LAST.operations, {}),
    ],
)
def test_f142_what_was_changed_again_does_not_go_alone(
    taken: list[AppliedChange], operations: tuple[FileOperation, ...], found: dict[int, str]
) -> None:
    assert undo_blockers(operations, [FIRST, MADE, LAST], taken) == found


def test_f142_a_later_operation_is_named() -> None:
    again = wrote(2, MoveFile(b"a", b"z", B))
    found = undo_blockers(FIRST.operations, [FIRST, again], [FIRST])
    assert found == {0: "a was changed again by operation 222222222222"}


def test_g7_what_a_commands_own_undo_takes_care_of_is_left_to_it() -> None:
    deeds = [FIRST, MIGRATED, LAST]
    found = undo_blockers(combined_operations([FIRST, LAST]), deeds, deeds)
    assert found == {0: "a is handled by a command's own undo"}


def ordered(**fields: object) -> AppliedChange:
    return AppliedChange("r", 0, "0", (), AppliedCommand("make", **fields))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("deed", "found"),
    [
        (FIRST, []),
        (ordered(), []),
        (ordered(known=False), ["some of its changes are unknown or were not kept"]),
        (
            ordered(confined=False),
            ["it ran without the sandbox: changes outside the workspace remain"],
        ),
        (
            ordered(command=RunCommand((b"x",), network=True)),
            ["it had network access: its effects elsewhere remain"],
        ),
        (
            ordered(command=RunCommand((b"git",), profile="commit")),
            ["its commit remains"],
        ),
    ],
)
def test_f144_what_a_command_may_have_done_elsewhere(deed: AppliedChange, found: list[str]) -> None:
    twice = [deed, deed] if deed.ordered else [deed]
    assert undo_gaps(twice) == tuple(UndoGap("make", why) for why in found)


def test_f144_files_that_were_not_kept_are_named_with_the_reason() -> None:
    skipped = SkippedFile(b"x\n", "changed", "large"), SkippedFile(b".git", "new", "git")
    found = undo_gaps([ordered(skipped=skipped)])
    assert [gap.line for gap in found] == [
        "x\\n: it is larger than undo.file_mb, so its old content was not kept (changed) ($ make)",
        ".git: it belongs to Git (new) ($ make)",
    ]


def test_attempts_are_merged() -> None:
    left = SkippedFile(b"x", "new", "ignored")
    one = WorkspaceChanges((WriteFile(b"a", A, B),), (left,), made=(b"d",))
    two = WorkspaceChanges((WriteFile(b"a", B, C),), (left,), known=False, made=(b"d", b"e"))
    assert merged_changes([one, two]) == WorkspaceChanges(
        (*one.operations, *two.operations), (left,), known=False, made=(b"d", b"e")
    )
    assert merged_changes([]) == WorkspaceChanges()
