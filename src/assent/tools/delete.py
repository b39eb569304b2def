"""delete: removes a file, or every file of a folder."""

import msgspec

from assent.core.errors import NotFound, Refused
from assent.core.paths import one_line
from assent.core.plan.operation import DeleteFile, FileState
from assent.core.tool import Action, EditEffect, ResourceAccess, ToolOutcome
from assent.tools.changing.editing import MOST_FILES, check_ours, edits, entry, standing
from assent.tools.tool import Around, Tool


class Args(msgspec.Struct, frozen=True):
    path: str


def touches(args: Args, around: Around) -> tuple[ResourceAccess, ...]:
    return tuple(edits(file) for file in files(entry(args.path, around), around))


def run(args: Args, around: Around) -> ToolOutcome:
    """Returns the removal of all that lies there."""
    path = entry(args.path, around)
    depth = path.count(b"/")
    operations = tuple(
        DeleteFile(file, state, file.count(b"/") - depth)
        for file, state in stated(files(path, around), around)
    )
    what = "1 file" if len(operations) == 1 else f"{len(operations)} files"
    return ToolOutcome(
        f"{one_line(path)}: {what} to delete.", one_line(path), effect=EditEffect(operations)
    )


def files(path: bytes, around: Around) -> list[bytes]:
    """Returns the files under a name: the file itself, or all of a folder."""
    state = around.overlay.state(path)
    if isinstance(state, FileState):
        return [path]
    found = around.overlay.below(path) if state == "folder" else []
    if not found:
        what = "is an empty folder" if state == "folder" else "does not exist"
        raise NotFound(f"{one_line(path)} {what}. Nothing was changed.")
    if len(found) > MOST_FILES:
        raise Refused(f"{one_line(path)} has {len(found)} files; {MOST_FILES} are the most.")
    for file in found:
        check_ours(file, around)
    return found


def stated(paths: list[bytes], around: Around) -> list[tuple[bytes, FileState]]:
    """Returns files with their states; raises where the model saw another content."""
    states = [(path, standing(path, around)) for path in paths]
    return [(path, state) for path, state in states if state is not None]


DELETE = Tool("delete", Args, touches, run, Action.EDIT)
