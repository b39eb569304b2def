"""Signals: the first Ctrl-C ends a turn cleanly, the second ends the program.

SIGTERM, and the SIGHUP of a terminal that was closed, end a turn in the same way.
"""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Final

SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
INTERRUPTED: Final = 130


@contextmanager
def interruptible() -> Iterator[None]:
    """Turns the first signal into KeyboardInterrupt, and leaves at once with the second.

    It holds the signal's name, unless it came from the keyboard.
    """
    pressed = False

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal pressed
        if pressed and number == signal.SIGHUP:
            return  # the kernel and a shell both say that the terminal is gone
        if pressed:
            _exit_interrupted()
        pressed = True
        raise KeyboardInterrupt(*_other_than_keys(number))

    # Whoever started us may have said that a signal does not concern us.
    wanted = [number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, stop) for number in wanted}
    try:
        yield
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)


def _other_than_keys(number: int) -> tuple[str, ...]:
    return () if number == signal.SIGINT else (signal.Signals(number).name,)


def _exit_interrupted() -> None:
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):  # it may be in the middle of a write
            stream.flush()
    os._exit(INTERRUPTED)
