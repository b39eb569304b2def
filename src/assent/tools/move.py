"""move: renames a file or a folder."""

import msgspec

from assent.core.errors import ImpossibleOperations
from assent.core.paths import base_name, casefolded, display_path, is_inside, one_line, parent
from assent.core.plan.operation import MoveFile
from assent.core.tool import Action, EditEffect, ResourceAccess, ToolOutcome
from assent.tools.delete import files_under, with_states
from assent.tools.file_edit import check_editable, edit_access, entry_path, read_access
from assent.tools.tool import Tool, ToolContext


class MoveArgs(msgspec.Struct, frozen=True):
    path: str
    to: str


def touches(args: MoveArgs, around: ToolContext) -> tuple[ResourceAccess, ...]:
    """Returns both paths; the moved content could be read at its new path, so that is asked too."""
    pairs = _pairs(args, around)
    named = [request for old, new in pairs for request in (edit_access(old), edit_access(new))]
    return (*named, *[read_access(old) for old, _ in pairs])


def run(args: MoveArgs, around: ToolContext) -> ToolOutcome:
    """Returns the move of all files at a path."""
    goals = dict(_pairs(args, around))
    depth = entry_path(args.path, around).count(b"/")
    operations = tuple(
        MoveFile(old, goals[old], state, old.count(b"/") - depth)
        for old, state in with_states(list(goals), around)
    )
    _check_free(operations, around)
    seen = {
        display_path(op.to): op.before.digest
        for op in operations
        if display_path(op.path) in around.seen
    }
    what = "1 file" if len(operations) == 1 else f"{len(operations)} files"
    text = f"{one_line(operations[0].path)} -> {one_line(operations[0].to)}: {what} to move."
    return ToolOutcome(text, args.path, effect=EditEffect(operations), metadata={"seen": seen})


def _pairs(args: MoveArgs, around: ToolContext) -> list[tuple[bytes, bytes]]:
    path, to = entry_path(args.path, around), entry_path(args.to, around)
    if around.overlay.state(to) == "folder" and casefolded(to) != casefolded(path):
        to = to + b"/" + base_name(path)
    check_editable(to, around)
    if is_inside(to, path):
        raise ImpossibleOperations(f"{one_line(path)} cannot be moved to itself or into itself.")
    return [(file, to + file[len(path) :]) for file in files_under(path, around)]


def _check_free(operations: tuple[MoveFile, ...], around: ToolContext) -> None:
    for op in operations:
        taken = around.overlay.state(op.to) is not None
        listed = base_name(op.to) in around.overlay.names(parent(op.to))
        if taken and (listed or casefolded(op.to) != casefolded(op.path)):
            raise ImpossibleOperations(f"{one_line(op.to)} already exists. Nothing was changed.")


MOVE = Tool("move", MoveArgs, touches, run, Action.EDIT)
