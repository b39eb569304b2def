"""What a person changed since a command, and its own undo may overwrite, is named."""

from tests.core.states import A, B, Z

from assent.core.deeds import Deed, Ordered
from assent.core.motion import Seen
from assent.core.operation import DeleteFile, FileOperation, RunCommand, WriteFile
from assent.core.undo import Extent, Inversion, may_overwrite, undo_text


def test_f142_what_changed_since_and_a_commands_undo_may_overwrite_is_named() -> None:
    command = RunCommand((b"make", b"all"), undo=(b"make", b"old"))
    done: list[FileOperation] = [
        WriteFile(b"a", A, B),
        WriteFile(b"b", None, A),
        DeleteFile(b"c", A),
    ]
    deed = Deed("r", 0, "id0", tuple(done), Ordered("make all", command))
    later = Deed("r", 1, "id1", (WriteFile(b"b", A, B),))
    as_left: dict[bytes, Seen] = {b"a": B, b"b": B, b"c": None}
    assert may_overwrite([deed], [deed, later], as_left) == ()
    assert may_overwrite([deed], [deed, later], {**as_left, b"c": "folder"}) == ()
    assert may_overwrite([deed], [deed], as_left) == may_overwrite(
        [deed], [deed, later], {**as_left, b"b": Z}
    )
    found = may_overwrite([deed], [deed, later], {b"a": None, b"b": A, b"c": Z})
    told = "Changed since $ make all, and its undo may overwrite that: a, b, c ($ make old)."
    assert found == (told,)
    extent = Extent((command,), overwrites=found)
    text = undo_text("run1", "x", Inversion((), ()), (), extent)
    assert text.decode().endswith(f"\n## May be overwritten\n\n- {told}\n")
