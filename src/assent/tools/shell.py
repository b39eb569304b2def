"""shell: a command line that only reads; everything else is refused before anything runs."""

from collections.abc import Sequence

import msgspec

from assent.core.errors import Refused
from assent.core.tool import Action, Outcome, Request
from assent.tools.commands import gathered
from assent.tools.tool import Around, Tool


class Args(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    command: str


def touches(args: Args, around: Around) -> Sequence[Request]:
    return (Request(Action.SHELL, args.command),)


def run(args: Args, around: Around) -> Outcome:
    try:
        return gathered(around.shell.run(args.command, around.root), args.command)
    except Refused as refused:
        message = f"{refused.message} Only commands that read run here; nothing was run."
        raise Refused(f"{message} Change files with the editing tools.", refused.next) from None


SHELL = Tool("shell", Args, touches, run, action=Action.SHELL)
