"""What a person changed since a command, and its own undo may overwrite, is named."""

from tests.core.states import A, B, Z

from assent.core.plan.operation import DeleteFile, FileOperation, RunCommand, WriteFile
from assent.core.run.slot_move import PathState
from assent.core.undo import (
    AppliedChange,
    AppliedCommand,
    Inversion,
    UndoExtent,
    overwrite_warnings,
    undo_text,
)


def test_f142_what_changed_since_and_a_commands_undo_may_overwrite_is_named() -> None:
    command = RunCommand((b"make", b"all"), undo=(b"make", b"old"))
    done: list[FileOperation] = [
        WriteFile(b"a", A, B),
        WriteFile(b"b", None, A),
        DeleteFile(b"c", A),
    ]
    deed = AppliedChange("r", 0, "id0", tuple(done), AppliedCommand("make all", command))
    later = AppliedChange("r", 1, "id1", (WriteFile(b"b", A, B),))
    as_left: dict[bytes, PathState] = {b"a": B, b"b": B, b"c": None}
    assert overwrite_warnings([deed], [deed, later], as_left) == ()
    assert overwrite_warnings([deed], [deed, later], {**as_left, b"c": "folder"}) == ()
    assert overwrite_warnings([deed], [deed], as_left) == overwrite_warnings(
        [deed], [deed, later], {**as_left, b"b": Z}
    )
    found = overwrite_warnings([deed], [deed, later], {b"a": None, b"b": A, b"c": Z})
    told = "Changed since $ make all; its undo command may overwrite this: a, b, c ($ make old)."
    assert found == (told,)
    extent = UndoExtent((command,), overwrites=found)
    text = undo_text("x", Inversion((), ()), (), extent)
    assert text.decode().endswith(f"\n## May be overwritten\n\n- {told}\n")
