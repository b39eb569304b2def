"""Whether a finished run was undone, and the command to type next."""

from assent.runs.undo.targets import UndoTargets


def undo_status(back: UndoTargets, run: str) -> tuple[bool, str]:
    """Tells whether all of a run was undone, and returns what to type to go back from there.

    Where it left nothing to take back, that is what shows what it did.
    """
    if back.undone_of_run(run) == "all":
        return True, back.redo_command(run) or "assent plan new NAME"
    left = run not in back.pruned and back.applied.left_changes(run)
    return False, "assent undo" if left else f"assent runs show {run}"
