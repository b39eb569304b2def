"""edit: replaces a piece of text in a file."""

import msgspec

from assent.core.tool import Action, ResourceAccess, ToolOutcome
from assent.tools.multi_edit import TextEdit, edit_accesses, edited_file
from assent.tools.tool import Tool, ToolContext


class EditArgs(msgspec.Struct, frozen=True):
    path: str
    old: str
    new: str
    replace_all: bool = False


def touches(args: EditArgs, around: ToolContext) -> tuple[ResourceAccess, ...]:
    return edit_accesses(args.path, around)


def run(args: EditArgs, around: ToolContext) -> ToolOutcome:
    """Returns the file with one occurrence replaced, or all of them."""
    return edited_file(args.path, [TextEdit(args.old, args.new, args.replace_all)], around)


EDIT = Tool("edit", EditArgs, touches, run, Action.EDIT)
