"""Refuses invalid environment variables, and those that decide which programs run."""

import re
from collections.abc import Iterable
from typing import Final

from assent.core.errors import Refused
from assent.core.paths import one_line

_HELP: Final = "assent stage run --help"
_VARIABLE_NAME: Final = re.compile(rb"[A-Za-z_][A-Za-z0-9_]*")

# The sandbox sets these itself, a loader or a shell would run what they name before the command,
# or they are ours. A script that really needs one can set it where a reviewer reads it.
_REFUSED_VARIABLES: Final = re.compile(
    rb"PATH|HOME|TMPDIR|USER|LOGNAME|LD_\w*|DYLD_\w*|GLIBC_TUNABLES|GCONV_PATH|BASH_ENV|ENV"
    rb"|SHELLOPTS|BASHOPTS|BASH_FUNC_\w*|IFS|PS4|PROMPT_COMMAND|ASSENT_\w*"
)


def refuse_variables(variables: Iterable[tuple[bytes, bytes]]) -> None:
    """Refuses variables that no command is given, with what to do instead."""
    known: set[bytes] = set()
    for name, value in variables:
        if not _VARIABLE_NAME.fullmatch(name):
            raise Refused(f"{one_line(name)!a} is no name of a variable.", _HELP)
        if b"\0" in value:
            told = f"The value of {one_line(name)} has a zero byte, which no program takes."
            raise Refused(told, _HELP)
        if _REFUSED_VARIABLES.fullmatch(name):
            raise Refused(
                f"{one_line(name)} decides which programs run, so no command is given it. A script "
                "can set it for one program, where a reviewer reads it.",
                "assent stage run --script 'NAME=VALUE PROGRAM'",
            )
        if name in known:
            raise Refused(f"{one_line(name)} is given twice.", _HELP)
        known.add(name)
