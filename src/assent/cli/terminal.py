"""The user's terminal: whether there is one, replies read from it, and its signals.

Opened as /dev/tty by Assent itself, never another program's stdin. Output is held back while a
question is on it.
"""

import os
import select
import signal
import sys
import termios
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from threading import RLock
from types import FrameType
from typing import Final, TextIO

QUESTION = "Type the first 8 characters of the digest to approve: "
DIGEST_PREFIX_CHARS = 8
POLL_INTERVAL_S = 0.3  # seconds between two checks for a signal, or for an answer given elsewhere
ROWS = 24  # of a terminal that does not say


def ask_for_digest(texts: Iterable[str], digest: str, question: str = QUESTION) -> bool:
    """Shows the review on /dev/tty and asks; anything but the right characters denies (law 9)."""
    try:
        terminal = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        for text in texts:
            _write(terminal, text + "\n")
        # What was typed before the review was on screen does not answer it.
        termios.tcflush(terminal, termios.TCIFLUSH)
        _write(terminal, question)
        return _line(terminal) == digest[:DIGEST_PREFIX_CHARS]
    except (OSError, termios.error):
        return False
    except KeyboardInterrupt:
        with suppress(OSError):
            _write(terminal, "\n")
        return False
    finally:
        _leave(terminal)


@contextmanager
def restored_terminal() -> Iterator[None]:
    """Has the user's terminal be as it was, whatever a program that ended did to it."""
    try:
        terminal = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        yield
        return
    before = None
    try:
        with suppress(termios.error):
            before = termios.tcgetattr(terminal)
        yield
    finally:
        if before is not None:
            with suppress(OSError, termios.error):
                termios.tcsetattr(terminal, termios.TCSADRAIN, before)
        os.close(terminal)


def has_terminal() -> bool:
    """Tells whether the user's terminal can be opened."""
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC))
    except OSError:
        return False
    return True


def terminal_height() -> int:
    """Returns how many lines the user's terminal has."""
    try:
        terminal = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        return ROWS
    try:
        return os.get_terminal_size(terminal).lines or ROWS
    except OSError:
        return ROWS
    finally:
        os.close(terminal)


def write_line(text: str) -> None:
    """Shows a line on /dev/tty, if it is there."""
    with suppress(OSError):
        terminal = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
        try:
            _write(terminal, f"{text}\n")
        finally:
            os.close(terminal)


def _never() -> str:
    return ""


def read_reply(text: str, over: Callable[[], str] = _never) -> str | None:
    """Shows a text on /dev/tty and returns the line typed after it; None if none was typed.

    Once `over` says why the line is no longer needed, that is shown instead.
    """
    try:
        terminal = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        # What was typed before the question was on screen does not answer it.
        termios.tcflush(terminal, termios.TCIFLUSH)
        _write(terminal, text)
        while not select.select([terminal], [], [], POLL_INTERVAL_S)[0]:
            if farewell := over():
                _write(terminal, f"\n{farewell}\n")
                return None
        typed = _line(terminal)
        if typed is None:  # Ctrl-D
            _write(terminal, "\n")
        return typed or ""
    except (OSError, termios.error):
        return None
    except KeyboardInterrupt:
        with suppress(OSError):
            _write(terminal, "\n")
        raise
    finally:
        _leave(terminal)


def read_secret(text: str) -> str | None:
    """Shows a text on /dev/tty and returns the line typed after it, which the screen does not show.

    None if there is no terminal or nothing was typed.
    """
    try:
        terminal = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        before = termios.tcgetattr(terminal)
    except termios.error:
        os.close(terminal)
        return None
    hidden = [*before]
    hidden[3] &= ~termios.ECHO
    try:
        # What was typed before is dropped: it was not meant for this.
        termios.tcsetattr(terminal, termios.TCSAFLUSH, hidden)
        _write(terminal, text)
        typed = _line(terminal)
        _write(terminal, "\n")
        return typed
    except (OSError, termios.error):
        return None
    finally:
        with suppress(OSError, termios.error):
            termios.tcsetattr(terminal, termios.TCSAFLUSH, before)
        _leave(terminal)


def silence_stdout() -> None:
    """Prevents an error at exit about what remains in the buffer of a stdout that is gone."""
    silence(sys.stdout)


def silence(stream: TextIO) -> None:
    """Discards what remains in the buffer of a stream, and everything written to it later."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def open_closed_streams() -> None:
    """Opens /dev/null where stdin, stdout or stderr is closed.

    Else the next file that is opened would get its number, and what is printed would go there.
    """
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # it gets the lowest number


def _write(terminal: int, text: str) -> None:
    content = text.encode("utf-8", "backslashreplace")
    while content:
        content = content[os.write(terminal, content) :]


def _leave(terminal: int) -> None:
    """Closes the terminal; what was typed but not read must not reach the shell afterwards."""
    with suppress(OSError, termios.error):
        termios.tcflush(terminal, termios.TCIFLUSH)
    os.close(terminal)


def _line(terminal: int) -> str | None:
    """Returns the line that is typed; None if the user ends it while it is empty (Ctrl-D)."""
    typed = b""
    while not typed.endswith(b"\n"):
        # A signal that comes right before a read does not end it: who waits has to look up.
        while not select.select([terminal], [], [], POLL_INTERVAL_S)[0]:
            pass
        more = os.read(terminal, 1024)
        if not more:
            return None
        typed += more
    return typed.rstrip(b"\r\n").decode("utf-8", "replace")


# Whether the standard streams are a terminal that the terminal UI can open on.


STREAMS = ("stdin", "stdout", "stderr")  # keys come from the first, the last one is painted on


def why_no_screen() -> str:
    """Says why no screen opens here; nothing where a person sits at a terminal that paints."""
    others = [name for number, name in enumerate(STREAMS) if not os.isatty(number)]
    if others:
        why = f"{' and '.join(others)} {'is' if len(others) == 1 else 'are'} not a terminal"
    elif os.environ.get("TERM", "dumb") in ("", "dumb"):
        why = "TERM is dumb or not set"
    else:
        return ""
    return f'The terminal UI cannot open: {why}. Use assent "GOAL" or assent -p "TEXT" instead.'


# Signals: the first Ctrl-C ends a turn cleanly, the second ends the program.
#
# SIGTERM, and the SIGHUP of a terminal that was closed, end a turn in the same way.


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

    # The process that started us may have set a signal to be ignored.
    wanted = [number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, stop) for number in wanted}
    try:
        yield
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)


class HeldSignals:
    """Holds back the signals that would end the program, while something is made or removed.

    Python loses an exception where no code can have it, as in what it calls when an object is
    freed. So a KeyboardInterrupt alone might end nothing, and the screen gets the signal, too.
    """

    def __init__(self) -> None:
        self._heard = 0  # the signal that became a KeyboardInterrupt
        self._on_signal: Callable[[int], None] | None = None
        # The process that started us may have set a signal to be ignored.
        wanted = [number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
        self._before = {number: signal.getsignal(number) for number in wanted}
        self._came: list[int] = []

    def __enter__(self) -> "HeldSignals":
        self.hold()
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        for number, earlier in self._before.items():
            signal.signal(number, earlier)
        if error is None:
            self._raise()

    def tell(self, on_signal: Callable[[int], None]) -> None:
        """Passes on the signal that ends the program, also one that came before."""
        self._on_signal = on_signal
        if self._heard:
            on_signal(self._heard)

    def hold(self) -> None:
        """From now on a signal is only noted, until they are heard or all is over."""
        for number in self._before:
            signal.signal(number, self._note)

    @contextmanager
    def heard(self) -> Iterator[None]:
        """Has a signal be a KeyboardInterrupt, also one that came before; then holds them again."""
        try:
            for number, earlier in self._before.items():
                # Who waits for keys has a way of its own with theirs.
                signal.signal(number, earlier if number == signal.SIGINT else self._stop)
            self._raise()
            yield
        finally:
            self.hold()

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._came.append(number)

    def _stop(self, number: int, frame: FrameType | None) -> None:
        self.hold()
        self._heard = number
        if self._on_signal is not None:
            self._on_signal(number)
        raise KeyboardInterrupt(*_other_than_keys(number))

    def _raise(self) -> None:
        if self._came:
            raise KeyboardInterrupt(*_other_than_keys(self._came[0]))


def _other_than_keys(number: int) -> tuple[str, ...]:
    return () if number == signal.SIGINT else (signal.Signals(number).name,)


def _exit_interrupted() -> None:
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):  # it may be in the middle of a write
            stream.flush()
    os._exit(INTERRUPTED)


# Keeps a turn's output back while a person is asked something on the same terminal.


def _nothing() -> None:
    pass


class ScreenLock:
    """Keeps a question the last thing on screen until it is answered."""

    def __init__(self) -> None:
        self._lock = RLock()
        self._asking = 0
        self._held: list[Callable[[], None]] = []
        self.before_asking: Callable[[], None] = _nothing  # takes away what is in the way

    def show_now(self, write: Callable[[], None]) -> None:
        """Writes now, or never if the user is being asked."""
        with self._lock:
            if not self._asking:
                write()

    def show(self, write: Callable[[], None]) -> None:
        """Writes now, or after the answer if the user is being asked."""
        with self._lock:
            if self._asking:
                self._held.append(write)
            else:
                write()

    @contextmanager
    def asking(self) -> Iterator[None]:
        """Holds back what others write until the user has answered."""
        with self._lock:
            self.before_asking()
            self._asking += 1
        try:
            yield
        finally:
            with self._lock:
                self._asking -= 1
            if not self._asking:
                self.flush_held()

    def flush_held(self) -> None:
        """Writes what was held back."""
        with self._lock:
            held, self._held = self._held, []
            for write in held:
                write()
