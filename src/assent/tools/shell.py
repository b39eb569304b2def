"""shell: runs a command line that only reads; any other is an effect, staged in plan mode."""

from collections.abc import Sequence
from typing import Annotated

import msgspec

from assent.core.errors import NotFound, NotReadOnly, Refused
from assent.core.paths import display_path, one_line
from assent.core.text.tool_mentions import without_missing_tools
from assent.core.tool import Action, CommandEffect, ResourceAccess, ToolOutcome
from assent.tools.outcome import collect_output, quote_argument, with_draft_note
from assent.tools.path_access import resolve_path
from assent.tools.schema import HIDDEN_FIELD
from assent.tools.tool import Tool, ToolContext


class ShellArgs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    command: str
    network: bool = False
    folder: Annotated[str, HIDDEN_FIELD] = ""
    seconds: Annotated[float, HIDDEN_FIELD] = 0  # 0: as many as the person's settings allow
    subject: Annotated[str, HIDDEN_FIELD] = ""


def touches(args: ShellArgs, around: ToolContext) -> Sequence[ResourceAccess]:
    folder = _folder(args, around)
    if not folder:
        return (ResourceAccess(Action.SHELL, args.command),)
    line = f"cd {quote_argument('./' + display_path(folder))} && {args.command}"
    return (ResourceAccess(Action.SHELL, line), ResourceAccess(Action.READ, display_path(folder)))


def run(args: ShellArgs, around: ToolContext) -> ToolOutcome:
    folder = _folder(args, around)
    place = around.root + b"/" + folder if folder else around.root
    if around.posture.mode != "plan" and any(o.action is Action.OUTSIDE for o in around.judged):
        return _wish(args, folder)  # it was allowed; the shell that only reads sees nothing there
    try:
        parts = around.shell.run(args.command, place)
        return with_draft_note(collect_output(parts, args.command, args.command), around)
    except NotReadOnly as refused:
        if around.posture.mode == "plan" and not around.posture.staging:
            message = f"{refused.message} Only read-only commands run here; nothing was run."
            raise Refused(message, refused.next) from None
        why = refused.message if around.posture.mode == "plan" else ""
        return _wish(args, folder, without_missing_tools(why, around.absent))
    except Refused as refused:
        told = Refused(f"{refused.message} Nothing was run.", refused.next)
        told.lacks = refused.lacks
        raise told from None


def _wish(args: ShellArgs, folder: bytes, text: str = "") -> ToolOutcome:
    seconds = max(0, args.seconds)
    command = CommandEffect(args.command, folder, seconds, args.subject, args.network)
    return ToolOutcome(text, args.command, effect=command)


def _folder(args: ShellArgs, around: ToolContext) -> bytes:
    """Returns where the command runs; it must be a folder of the workspace on disk."""
    folder = resolve_path(around, args.folder) if args.folder else b""
    if folder and around.overlay.on_disk(folder) != "folder":
        raise NotFound(f"{one_line(folder)} is not a folder on disk. Nothing was run.")
    return folder


SHELL = Tool("shell", ShellArgs, touches, run, action=Action.SHELL)
