"""File modes as git sees them: only whether a file is executable counts."""

MODE_FILE, MODE_LINK, MODE_TYPE = 0o100000, 0o120000, 0o170000
MODE_PLAIN, MODE_EXECUTABLE = 0o644, 0o755  # all that git knows of modes


def is_executable(mode: int) -> bool:
    """Tells whether its owner can run a file."""
    return bool(mode & 0o100)


def with_executable(mode: int, wanted: bool) -> int:
    """Returns a mode with which whoever may read a file can also run it, or nobody can."""
    if is_executable(mode) == wanted:
        return mode
    return mode | (mode & 0o444) >> 2 if wanted else mode & ~0o111


def git_mode(mode: int) -> int:
    """Returns what a mode in a patch means: a type, and of a file no more rights than git gives.

    Fewer are kept, because our own diffs name them. What its owner could not even read nobody
    means: that is one of git's two.
    """
    if mode & MODE_TYPE != MODE_FILE:
        return mode & MODE_TYPE
    full = MODE_EXECUTABLE if is_executable(mode) else MODE_PLAIN
    return MODE_FILE | (mode & full if mode & 0o400 else full)
