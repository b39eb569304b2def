"""move: renames a file or a folder."""

import msgspec

from assent.core.errors import ImpossibleOperations
from assent.core.paths import base_name, casefolded, display_path, is_inside, one_line, parent
from assent.core.plan.operation import MoveFile
from assent.core.tool import Action, EditEffect, ResourceAccess, ToolOutcome
from assent.tools.changing.editing import check_ours, edits, entry, reads
from assent.tools.delete import files, stated
from assent.tools.tool import Around, Tool


class Args(msgspec.Struct, frozen=True):
    path: str
    to: str


def touches(args: Args, around: Around) -> tuple[ResourceAccess, ...]:
    """Names both ends; what moves could be read under its new name, so that is asked as well."""
    pairs = _pairs(args, around)
    named = [request for old, new in pairs for request in (edits(old), edits(new))]
    return (*named, *[reads(old) for old, _ in pairs])


def run(args: Args, around: Around) -> ToolOutcome:
    """Returns the renaming of all that lies there."""
    goals = dict(_pairs(args, around))
    depth = entry(args.path, around).count(b"/")
    operations = tuple(
        MoveFile(old, goals[old], state, old.count(b"/") - depth)
        for old, state in stated(list(goals), around)
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


def _pairs(args: Args, around: Around) -> list[tuple[bytes, bytes]]:
    path, to = entry(args.path, around), entry(args.to, around)
    if around.overlay.state(to) == "folder" and casefolded(to) != casefolded(path):
        to = to + b"/" + base_name(path)
    check_ours(to, around)
    if is_inside(to, path):
        raise ImpossibleOperations(f"{one_line(path)} cannot move to itself or into itself.")
    return [(file, to + file[len(path) :]) for file in files(path, around)]


def _check_free(operations: tuple[MoveFile, ...], around: Around) -> None:
    for op in operations:
        taken = around.overlay.state(op.to) is not None
        listed = base_name(op.to) in around.overlay.names(parent(op.to))
        if taken and (listed or casefolded(op.to) != casefolded(op.path)):
            raise ImpossibleOperations(f"{one_line(op.to)} exists. Nothing was changed.")


MOVE = Tool("move", Args, touches, run, Action.EDIT)
