"""shell: a command line that only reads is run; any other is a wish, staged in plan mode."""

from collections.abc import Sequence
from typing import Annotated

import msgspec

from assent.core.errors import NotFound, NotReadOnly, Refused
from assent.core.paths import display_path, one_line
from assent.core.text.tool_mentions import without_missing_tools
from assent.core.tool import Action, CommandEffect, ResourceAccess, ToolOutcome
from assent.tools.calling.schema import UNOFFERED
from assent.tools.looking.commands import gathered, of_the_disk, quoted
from assent.tools.looking.places import located
from assent.tools.tool import Around, Tool


class Args(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    command: str
    network: bool = False
    folder: Annotated[str, UNOFFERED] = ""
    seconds: Annotated[float, UNOFFERED] = 0  # 0: as many as the person's settings allow
    subject: Annotated[str, UNOFFERED] = ""


def touches(args: Args, around: Around) -> Sequence[ResourceAccess]:
    folder = _folder(args, around)
    if not folder:
        return (ResourceAccess(Action.SHELL, args.command),)
    line = f"cd {quoted('./' + display_path(folder))} && {args.command}"
    return (ResourceAccess(Action.SHELL, line), ResourceAccess(Action.READ, display_path(folder)))


def run(args: Args, around: Around) -> ToolOutcome:
    folder = _folder(args, around)
    place = around.root + b"/" + folder if folder else around.root
    if around.posture.mode != "plan" and any(o.action is Action.OUTSIDE for o in around.judged):
        return _wish(args, folder)  # it was allowed; the shell that only reads sees nothing there
    try:
        parts = around.shell.run(args.command, place)
        return of_the_disk(gathered(parts, args.command, args.command), around)
    except NotReadOnly as refused:
        if around.posture.mode == "plan" and not around.posture.staging:
            message = f"{refused.message} Only commands that read run here; nothing was run."
            raise Refused(message, refused.next) from None
        why = refused.message if around.posture.mode == "plan" else ""
        return _wish(args, folder, without_missing_tools(why, around.absent))
    except Refused as refused:
        told = Refused(f"{refused.message} Nothing was run.", refused.next)
        told.lacks = refused.lacks
        raise told from None


def _wish(args: Args, folder: bytes, text: str = "") -> ToolOutcome:
    seconds = max(0, args.seconds)
    command = CommandEffect(args.command, folder, seconds, args.subject, args.network)
    return ToolOutcome(text, args.command, effect=command)


def _folder(args: Args, around: Around) -> bytes:
    """Returns where the command runs; only a folder of the workspace that is on disk will do."""
    folder = located(around, args.folder) if args.folder else b""
    if folder and around.overlay.on_disk(folder) != "folder":
        raise NotFound(f"{one_line(folder)} is no folder on disk. Nothing was run.")
    return folder


SHELL = Tool("shell", Args, touches, run, action=Action.SHELL)
