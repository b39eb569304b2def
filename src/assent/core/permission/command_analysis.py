"""What the text of a command line shows outside plan mode: commands for rules, files and risks."""

import msgspec

from assent.core.permission.command_effects import CommandEffectKind
from assent.core.permission.grant import PermissionPattern
from assent.core.session.event import RiskLevel


class CommandAnalysis(msgspec.Struct, frozen=True):
    """What a look at the text of a command line found; the sandbox holds whatever it missed."""

    commands: tuple[str, ...]  # each command in it, also inside substitutions, as rules see it
    certain: bool = True  # false: not every command in it could be told
    reads: tuple[str, ...] | None = None  # the files it opens, if it only reads; None: it may write
    opens: tuple[str, ...] = ()  # names of files in a line that may write, besides what it writes
    writes: tuple[str, ...] = ()  # files that redirects write
    perhaps: tuple[str, ...] = ()  # written if a name in it is a folder; only rules speak of these
    names: tuple[str, ...] = ()  # in a line that may write: what is protected or secret
    code: bool = False  # an interpreter in it runs what stands in the line, or comes by a pipe
    danger: str = ""  # why nobody should run this; it is refused in every mode
    risk: RiskLevel = "low"
    reasons: tuple[str, ...] = ()
    effects: tuple[CommandEffectKind, ...] = ()  # what its commands do, as the review calls it
    always: tuple[
        PermissionPattern, ...
    ] = ()  # what a remembered yes would cover; none: it cannot be
