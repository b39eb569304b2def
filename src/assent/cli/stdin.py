"""What is piped in to a goal, and arguments of the command line as text."""

import os
import sys
from select import select

from assent.core.errors import AssentError
from assent.core.paths import display_path

MAX_STDIN_BYTES = 1 << 20  # that are sent to a model
TRUNCATED_NOTE = f"\n(Truncated: these are the first {MAX_STDIN_BYTES:,} bytes.)"
WITHOUT_STDIN = "assent -p 'TEXT' < /dev/null"


def argument_text(argument: str) -> str:
    """Returns an argument as text; bytes that are not UTF-8 become visible escapes."""
    return display_path(os.fsencode(argument))


def read_piped(limit: int) -> tuple[str, bool]:
    """Returns what is piped in as text, and whether there was more than the limit."""
    if sys.stdin is None or sys.stdin.closed or sys.stdin.isatty():
        return "", False
    try:
        content = sys.stdin.buffer.read(limit + 1) or b""
    except OSError as error:
        told = f"stdin: {error.strerror or error}. Nothing was sent to a model."
        raise AssentError(told, WITHOUT_STDIN) from error
    return content[:limit].decode("utf-8", "backslashreplace"), len(content) > limit


def is_stdin_silent(seconds: float) -> bool:
    """Tells whether stdin is a pipe that is neither written to nor closed for that long."""
    if sys.stdin is None or sys.stdin.closed or sys.stdin.isatty():
        return False
    try:
        return not select([sys.stdin.fileno()], [], [], seconds)[0]
    except (OSError, ValueError):
        return False  # not a file of the operating system; it is just read
