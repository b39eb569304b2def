"""Reads content from a file or stdin, relative to the folder of `-C`."""

import os
import re
import sys
from collections.abc import Iterator
from errno import EAGAIN, EBADF, EISDIR
from shlex import quote
from stat import S_ISDIR, S_ISFIFO, S_ISREG, S_ISSOCK
from typing import BinaryIO

from click import get_current_context

from assent.cli.stdin import argument_text
from assent.core.errors import AssentError, Refused, UsageError
from assent.core.paths import display_path

CHUNK = 1 << 20
_STDIN = ("/dev/stdin", "/dev/fd/0", "/proc/self/fd/0")
_PASSED = re.compile(r"/(?:dev|proc/self)/fd/([0-9]{1,6})")


def read_chunks(folder: str, source: str, most: int = 0) -> Iterator[bytes]:
    """Streams a file, or stdin for `-`; a file is looked for in the folder.

    Of more than `most` bytes it raises Refused, also where they come only while it is read.
    """
    size = 0
    try:
        with _opened(folder, source) as stream:
            if most and _length(stream) > most:
                raise _too_large(source, most)
            while chunk := _read(stream):
                size += len(chunk)
                if most and size > most:
                    raise _too_large(source, most)
                yield chunk
    except OSError as error:
        what = _name(source)
        told = f"{what}: {error.strerror or error}. Nothing was changed."
        raise AssentError(told, _look(folder, source)) from error


def read_all(folder: str, source: str, limit: int) -> bytes:
    """Reads a file, or stdin for `-`, until it is over or longer than the limit."""
    content = bytearray()
    for chunk in read_chunks(folder, source):
        content += chunk
        if len(content) > limit:
            break
    return bytes(content)


def _look(folder: str, source: str) -> str:
    """Returns the command that shows what is there: the folder, or its nearest existing parent.

    For stdin there is nothing to show but what else the command can read.
    """
    if source == "-":
        return _help()
    place = os.path.join(folder, source)
    while place and not os.path.isdir(place):
        place = os.path.dirname(place)
    return f"ls -l {quote(argument_text(place or '.'))}"


def _help() -> str:
    """Returns the command that shows what the one that was typed can read."""
    context = get_current_context(silent=True)
    return f"{context.command_path if context else 'assent'} --help"


def _read(stream: BinaryIO) -> bytes:
    """Reads a chunk; raises if a non-blocking stream has no data yet, which is not its end."""
    chunk: bytes | None = stream.read(CHUNK)
    if chunk is None:
        raise BlockingIOError(EAGAIN, "no data is available yet, and the stream is non-blocking")
    return chunk


def _opened(folder: str, source: str) -> BinaryIO:
    """Opens stdin, a regular file, or a descriptor that a shell passed on as `/dev/fd/N`."""
    path = os.path.join(folder, source)
    if source == "-" or path in _STDIN:
        return stdin()
    if passed := _PASSED.fullmatch(path):
        return _descriptor(int(passed[1]), source)
    _check_kind(os.stat(path).st_mode, source)
    return open(path, "rb")


def _descriptor(number: int, source: str) -> BinaryIO:
    """Returns a descriptor that was passed on to this program, not one that it opened itself."""
    if not os.get_inheritable(number):
        raise OSError(EBADF, os.strerror(EBADF))
    mode = os.fstat(number).st_mode
    if not S_ISFIFO(mode) and not S_ISSOCK(mode):
        _check_kind(mode, source)
    return open(os.dup(number), "rb")


def _check_kind(mode: int, source: str) -> None:
    """Refuses what may never end, or has no content at all."""
    if S_ISREG(mode):
        return
    if S_ISDIR(mode):
        raise IsADirectoryError(EISDIR, os.strerror(EISDIR))
    what = "a named pipe" if S_ISFIFO(mode) else "a socket" if S_ISSOCK(mode) else "a device"
    raise Refused(
        f"{_name(source)} is {what}; only regular files, stdin (-) and /dev/fd/N can be read. "
        "Nothing was changed.",
        _help(),
    )


def _length(stream: BinaryIO) -> int:
    """Returns how long a regular file is; 0 where that can only be told by reading it."""
    try:
        found = os.fstat(stream.fileno())
    except (OSError, ValueError):
        return 0
    return found.st_size if S_ISREG(found.st_mode) else 0


def _too_large(source: str, most: int) -> Refused:
    return Refused(
        f"{_name(source)} is larger than {most >> 20} MB. Nothing was changed. To allow it, raise "
        "stage.max_file_mb in your user configuration.",
        _help(),
    )


def _name(source: str) -> str:
    return "stdin" if source == "-" else display_path(os.fsencode(source))


def stdin() -> BinaryIO:
    """Returns stdin as bytes; raises UsageError if it is closed."""
    if sys.stdin is None:
        raise UsageError("Cannot read stdin: it is closed. Nothing was changed.", _help())
    return sys.stdin.buffer
