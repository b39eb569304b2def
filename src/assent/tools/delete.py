"""delete: removes a file, or every file of a folder."""

import msgspec

from assent.core.errors import NotFound, Refused
from assent.core.paths import one_line
from assent.core.plan.operation import DeleteFile, FileState
from assent.core.tool import Action, EditEffect, ResourceAccess, ToolOutcome
from assent.tools.file_edit import (
    MAX_FILES,
    check_editable,
    edit_access,
    entry_path,
    expected_state,
)
from assent.tools.tool import Tool, ToolContext


class DeleteArgs(msgspec.Struct, frozen=True):
    path: str


def touches(args: DeleteArgs, around: ToolContext) -> tuple[ResourceAccess, ...]:
    return tuple(edit_access(file) for file in files_under(entry_path(args.path, around), around))


def run(args: DeleteArgs, around: ToolContext) -> ToolOutcome:
    """Returns the removal of all files at a path."""
    path = entry_path(args.path, around)
    depth = path.count(b"/")
    operations = tuple(
        DeleteFile(file, state, file.count(b"/") - depth)
        for file, state in with_states(files_under(path, around), around)
    )
    what = "1 file" if len(operations) == 1 else f"{len(operations)} files"
    return ToolOutcome(
        f"{one_line(path)}: {what} to delete.", one_line(path), effect=EditEffect(operations)
    )


def files_under(path: bytes, around: ToolContext) -> list[bytes]:
    """Returns the files at a path: the file itself, or all files of a folder."""
    state = around.overlay.state(path)
    if isinstance(state, FileState):
        return [path]
    found = around.overlay.below(path) if state == "folder" else []
    if not found:
        what = "is an empty folder" if state == "folder" else "does not exist"
        raise NotFound(f"{one_line(path)} {what}. Nothing was changed.")
    if len(found) > MAX_FILES:
        raise Refused(f"{one_line(path)} has {len(found)} files; the limit is {MAX_FILES}.")
    for file in found:
        check_editable(file, around)
    return found


def with_states(paths: list[bytes], around: ToolContext) -> list[tuple[bytes, FileState]]:
    """Returns files with their states; raises if the model saw another content."""
    states = [(path, expected_state(path, around)) for path in paths]
    return [(path, state) for path, state in states if state is not None]


DELETE = Tool("delete", DeleteArgs, touches, run, Action.EDIT)
