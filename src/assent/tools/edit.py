"""edit: replaces a piece of text in a file."""

import msgspec

from assent.core.tool import Action, ResourceAccess, ToolOutcome
from assent.tools.multi_edit import Piece, changed, touched
from assent.tools.tool import Around, Tool


class Args(msgspec.Struct, frozen=True):
    path: str
    old: str
    new: str
    replace_all: bool = False


def touches(args: Args, around: Around) -> tuple[ResourceAccess, ...]:
    return touched(args.path, around)


def run(args: Args, around: Around) -> ToolOutcome:
    """Returns the file with one piece replaced, or all that are alike."""
    return changed(args.path, [Piece(args.old, args.new, args.replace_all)], around)


EDIT = Tool("edit", Args, touches, run, Action.EDIT)
