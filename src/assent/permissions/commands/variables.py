"""Shell variables that a line may set without changing what programs do."""

import re
from typing import Final

_HARMLESS: Final = re.compile(
    r"LANG|LANGUAGE|LC_[A-Z]+|TZ|TERM|NO_COLOR|FORCE_COLOR|CLICOLOR|CLICOLOR_FORCE|COLORTERM"
    r"|COLUMNS|LINES|CI|DEBUG|VERBOSE|RUST_BACKTRACE|RUST_LOG|CARGO_TERM_COLOR|NODE_ENV"
    r"|PYTHONUNBUFFERED|PYTHONDONTWRITEBYTECODE|PYTHONHASHSEED|PYTHONUTF8|SOURCE_DATE_EPOCH"
    r"|GIT_TERMINAL_PROMPT|GIT_OPTIONAL_LOCKS|DEBIAN_FRONTEND"
)
_PAGERS: Final = ("PAGER", "GIT_PAGER", "MANPAGER")
_VALUE: Final = re.compile(r"(?!/)(?!.*\.\.)[\w.:@,*+/=-]*", re.ASCII)
_OWN: Final = re.compile(r"(?!\w+_proxy$|npm_|_$)[a-z_][a-z0-9_]*")


def is_harmless_assignment(setting: str) -> bool:
    """Tells whether `NAME=VALUE` in a program's environment changes only how it prints."""
    name, _, written = setting.partition("=")
    value = written.strip("'\"")
    if name in _PAGERS:
        return value == "cat"
    return bool(_HARMLESS.fullmatch(name) and _VALUE.fullmatch(value))


def is_local_variable(name: str) -> bool:
    """Tells whether a variable of the shell is the line's own: no program or shell knows it."""
    return bool(_OWN.fullmatch(name))
