"""Sources: where a command reads content from, a file or stdin, in the folder of `-C`."""

import os
import sys
from collections.abc import Iterator
from errno import EAGAIN
from shlex import quote
from typing import BinaryIO

from assent.core.errors import AssentError, UsageError
from assent.core.paths import shown

CHUNK = 1 << 20
WITHOUT_STDIN = "assent -p 'TEXT' < /dev/null"


def chunks(folder: str, source: str) -> Iterator[bytes]:
    """Streams a file, or stdin for `-`; a file is looked for in the folder."""
    try:
        with _opened(folder, source) as stream:
            while chunk := _read(stream):
                yield chunk
    except OSError as error:
        what = "stdin" if source == "-" else shown(os.fsencode(source))
        told = f"{what}: {error.strerror or error}. Nothing was changed."
        raise AssentError(told, _look(folder, source)) from error


def whole(folder: str, source: str, limit: int) -> bytes:
    """Reads a file, or stdin for `-`, until it is over or longer than the limit."""
    content = b""
    for chunk in chunks(folder, source):
        content += chunk
        if len(content) > limit:
            break
    return content


def text(argument: str) -> str:
    """Returns an argument as text; bytes that are not UTF-8 become visible escapes."""
    return shown(os.fsencode(argument))


def piped(limit: int) -> tuple[str, bool]:
    """Returns what is piped in as text, and whether there was more than the limit."""
    if sys.stdin is None or sys.stdin.closed or sys.stdin.isatty():
        return "", False
    try:
        content = sys.stdin.buffer.read(limit + 1) or b""
    except OSError as error:
        told = f"stdin: {error.strerror or error}. Nothing was sent to a model."
        raise AssentError(told, WITHOUT_STDIN) from error
    return content[:limit].decode("utf-8", "backslashreplace"), len(content) > limit


def silent(seconds: float) -> bool:
    """Tells whether stdin is a pipe that nobody writes to and nobody closes for that long."""
    from select import select

    if sys.stdin is None or sys.stdin.closed or sys.stdin.isatty():
        return False
    try:
        return not select([sys.stdin.fileno()], [], [], seconds)[0]
    except (OSError, ValueError):
        return False  # it is no file of the system's, and is just read


def _look(folder: str, source: str) -> str:
    """Returns the command that shows what is there: the folder, or the nearest that there is.

    Of stdin nothing can be shown but what the command reads besides.
    """
    if source == "-":
        return _help()
    place = os.path.join(folder, source)
    while place and not os.path.isdir(place):
        place = os.path.dirname(place)
    return f"ls -l {quote(text(place or '.'))}"


def _help() -> str:
    """Returns the command that shows what the one that was typed can read."""
    from click import get_current_context

    context = get_current_context(silent=True)
    return f"{context.command_path if context else 'assent'} --help"


def _read(stream: BinaryIO) -> bytes:
    """Reads a piece; where nothing is there yet and nobody waits, that is no end."""
    chunk: bytes | None = stream.read(CHUNK)
    if chunk is None:
        raise BlockingIOError(EAGAIN, "it holds nothing yet, and does not wait for more")
    return chunk


def _opened(folder: str, source: str) -> BinaryIO:
    return stdin() if source == "-" else open(os.path.join(folder, source), "rb")


def stdin() -> BinaryIO:
    """Returns stdin as bytes; whoever closed it is told so."""
    if sys.stdin is None:
        raise UsageError("There is nothing to read: stdin is closed. Nothing was changed.", _help())
    return sys.stdin.buffer
