"""The few environment variables that every program gets; none is inherited."""

from collections.abc import Sequence

import msgspec

from assent.core.shell.process import Program

PROGRAM_FOLDERS = (
    b"/usr/local/bin",
    b"/usr/bin",
    b"/bin",
    b"/usr/local/sbin",
    b"/usr/sbin",
    b"/sbin",
)

BASE_ENVIRONMENT = {
    b"LANG": b"C.UTF-8",
    b"LC_ALL": b"C.UTF-8",
    b"TERM": b"dumb",
    b"NO_COLOR": b"1",
    b"PAGER": b"cat",
    b"GIT_PAGER": b"cat",
    b"MANPAGER": b"cat",
    b"GIT_TERMINAL_PROMPT": b"0",
    b"PYTHONDONTWRITEBYTECODE": b"1",
}


class ProgramPaths(msgspec.Struct, frozen=True):
    """Where a program finds its home, its scratch folder and other programs."""

    home: bytes
    scratch: bytes
    folders: Sequence[bytes] = PROGRAM_FOLDERS
    user: bytes = b"nobody"


def environment(place: ProgramPaths, program: Program) -> dict[bytes, bytes]:
    """Returns all variables of a program; what it is told itself wins."""
    own = {name.encode(): _encoded(value) for name, value in program.environment}
    given = {
        b"HOME": place.home,
        b"TMPDIR": place.scratch,
        b"PATH": b":".join(place.folders),
        b"USER": place.user,
        b"LOGNAME": place.user,
    }
    return {**BASE_ENVIRONMENT, **given, **own}


def _encoded(value: str) -> bytes:
    return value.encode("utf-8", "surrogateescape")
