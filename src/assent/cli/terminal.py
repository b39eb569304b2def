"""The terminal where a person says yes: opened by Assent itself, never stdin of some program."""

import os
import select
import sys
import termios
from collections.abc import Callable, Iterable
from contextlib import suppress

QUESTION = "Type the first 8 characters of the digest to approve: "
ASKED = 8
LOOK = 0.3  # seconds between two looks whether somebody answered elsewhere


def ask(texts: Iterable[str], digest: str) -> bool:
    """Shows the review on /dev/tty and asks; anything but the right characters is no (law 9)."""
    try:
        terminal = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        for text in texts:
            _write(terminal, text + "\n")
        # What was typed before the review was on screen is no answer to it.
        termios.tcflush(terminal, termios.TCIFLUSH)
        _write(terminal, QUESTION)
        return _line(terminal) == digest[:ASKED]
    except (OSError, termios.error):
        return False
    except KeyboardInterrupt:
        with suppress(OSError):
            _write(terminal, "\n")
        return False
    finally:
        os.close(terminal)


def is_there() -> bool:
    """Tells whether a person's terminal can be opened."""
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC))
    except OSError:
        return False
    return True


def _never() -> bool:
    return False


def reply(text: str, over: Callable[[], bool] = _never, farewell: str = "") -> str | None:
    """Shows a text on /dev/tty and returns the line typed after it; None if nobody typed one.

    Once `over` says that nobody needs the line any more, a farewell is shown instead.
    """
    try:
        terminal = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        # What was typed before the question was on screen is no answer to it.
        termios.tcflush(terminal, termios.TCIFLUSH)
        _write(terminal, text)
        while not select.select([terminal], [], [], LOOK)[0]:
            if over():
                _write(terminal, f"\n{farewell}\n")
                return None
        return _line(terminal)
    except (OSError, termios.error):
        return None
    finally:
        os.close(terminal)


def silence_stdout() -> None:
    """Lets nobody complain at exit about what is left in the buffer of a stdout that is gone."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _write(terminal: int, text: str) -> None:
    content = text.encode("utf-8", "backslashreplace")
    while content:
        content = content[os.write(terminal, content) :]


def _line(terminal: int) -> str:
    typed = b""
    while not typed.endswith(b"\n"):
        more = os.read(terminal, 1024)
        if not more:
            return ""
        typed += more
    return typed.rstrip(b"\r\n").decode("utf-8", "replace")
