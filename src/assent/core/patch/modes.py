"""Modes as git sees them: all that counts is whether a file can be run."""


def is_executable(mode: int) -> bool:
    """Tells whether its owner can run a file."""
    return bool(mode & 0o100)


def executable(mode: int, wanted: bool) -> int:
    """Returns a mode with which whoever may read a file can also run it, or nobody can."""
    if is_executable(mode) == wanted:
        return mode
    return mode | (mode & 0o444) >> 2 if wanted else mode & ~0o111
