"""Reads the beginning of a file, without blocking and without following a symlink."""

import os
from stat import S_ISREG

SMALL = 64 << 10


def read_beginning(path: bytes, size: int = SMALL) -> bytes:
    """Returns how a regular file begins; raises OSError if it is none or cannot be read."""
    # Without O_NONBLOCK, opening a pipe would wait until somebody writes into it.
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(f"{os.fsdecode(path)} is no regular file.")
        return os.read(descriptor, size)
    finally:
        os.close(descriptor)


def read_small_text(path: bytes) -> bytes:
    """Returns a small settings file; nothing if it is missing, unreadable or too long."""
    try:
        content = read_beginning(path, SMALL + 1)
    except OSError:
        return b""
    return content if len(content) <= SMALL else b""
