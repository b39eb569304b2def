"""The one module that uses private names of Textual, each because there is no public one.

- Its parser of what a terminal sends: pastes are cut out before it sees them, so that nothing that
  is pasted is taken for a key that approves. A driver with Textual's own loop would pass on as keys
  what follows an escape sequence in a paste.
- The file that it writes to: its writer thread ends with the first error, and then nothing ends.
- Its handling of SIGTSTP and SIGCONT, which waits forever if one comes while the screen writes, and
  leaves the screen unpainted after a stop.
- How often it paints at most: its timer sleeps for up to two of its periods after each paint, and
  with sixty a second a key waits that long while a model speaks.
- What happens to an exception in a handler: there is no hook, and what Textual prints by itself
  shows local variables, which may contain a key.

A test lists the names, so that a new version of Textual is checked where it matters.
"""

import asyncio
import os
import signal
from codecs import getincrementaldecoder
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from io import TextIOWrapper
from select import select
from time import monotonic
from typing import Final, cast

from textual import _ansi_sequences as sequences
from textual import screen as textual_screen
from textual._parser import ParseError
from textual._xterm_parser import XTermParser
from textual.app import App
from textual.drivers.linux_driver import LinuxDriver
from textual.events import Paste
from textual.keys import Keys
from textual.message import Message

from assent.tui.bracketed_paste import (
    END,
    BracketedPasteParser,
    PastedText,
    TerminalInput,
    TypedText,
)

POLL_INTERVAL_S: Final = (
    0.1  # between two looks at what the parser waits for, such as the rest of an Esc
)
READ_BYTES: Final = 1 << 16

# What streams in comes thirty times a second at most (tui.workers), so that few paints are more.
PAINT_PERIOD_S: Final = 1 / 240
textual_screen.UPDATE_PERIOD = PAINT_PERIOD_S  # type: ignore[misc]

# Terminals without a protocol for keys send Alt+Enter as an escape and a return, of which
# Textual would leave the return alone: it would send what should get another line.
_KNOWN = cast(dict[str, object], sequences.ANSI_SEQUENCES_KEYS)
_KNOWN.setdefault("\x1b\r", (Keys.ControlJ,))


class PasteTruncated(Message):
    """A paste was longer than the part that was kept."""


class DrivenApp(App[int]):
    """Knows its driver, and which exception ends it; prints nothing about that."""

    terminal_driver: "TerminalDriver | None" = None  # once it is there; without a terminal, never
    ending_signal = 0  # one that came while it started, and ends it

    def crashed(self, error: Exception) -> None:
        """Handles an unexpected exception, before the screen closes because of it."""
        raise NotImplementedError

    def _handle_exception(self, error: Exception) -> None:
        self.crashed(error)
        super()._handle_exception(error)

    def _print_error_renderables(self) -> None:
        """Prints nothing: errors are shown on the terminal after the screen has closed."""


class TerminalOutput:
    """Writes to the terminal as long as it is there.

    Textual's writer thread would end with the first error. What is written after that fills its
    queue, and the screen would wait forever for room there, without seeing any signal.
    """

    def __init__(self, file: TextIOWrapper) -> None:
        self._file = file

    def write(self, text: str) -> None:
        """Writes, or drops what cannot be written."""
        with suppress(OSError, ValueError):
            self._file.write(text)

    def flush(self) -> None:
        """Writes what was held back."""
        with suppress(OSError, ValueError):
            self._file.flush()

    def fileno(self) -> int:
        """Returns the number of the file."""
        return self._file.fileno()


class TerminalDriver(LinuxDriver):
    """Textual's driver with `BracketedPasteParser`; it exits when the terminal is gone."""

    def __init__(
        self,
        app: App[int],
        *,
        debug: bool = False,
        mouse: bool = True,
        size: tuple[int, int] | None = None,
    ) -> None:
        super().__init__(app, debug=debug, mouse=mouse, size=size)
        self._file = cast(TextIOWrapper, TerminalOutput(cast(TextIOWrapper, self._file)))
        self.owner, self.loop = app, asyncio.get_running_loop()
        if isinstance(app, DrivenApp):
            app.terminal_driver = self

    def start_application_mode(self) -> None:
        """Takes the terminal, after making sure that a signal that ends the screen restores it."""
        for number in (signal.SIGTERM, signal.SIGHUP):
            self.loop.add_signal_handler(number, self.owner.exit, 128 + number)
        super().start_application_mode()  # type: ignore[no-untyped-call]

    def _sigtstp_application(self, *_: object) -> None:
        """Lets go of the terminal and stops, as soon as the screen can."""
        self._act_later(super()._sigtstp_application)

    def _sigcont_application(self, *_: object) -> None:
        """Repaints everything after a stop, as soon as the screen can."""
        self._act_later(self._continue)

    def _act_later(self, act: Callable[[], object]) -> None:
        """Does in the event loop what a signal asks for; not if that is over.

        A signal interrupts the screen anywhere, also where it holds the lock of what it writes to:
        to write in its handler would wait forever. A terminal that goes away sends one of these.
        """
        with suppress(RuntimeError):
            self.loop.call_soon_threadsafe(act)

    def _continue(self) -> None:
        """Repaints everything: other programs used the terminal meanwhile."""
        if not self._auto_restart or not self.owner.is_running:
            return
        if not self._must_signal_resume:  # it was stopped without a word, and let go of nothing
            self.suspend_application_mode()
        self.resume_application_mode()
        self.owner.call_later(partial(self.owner.refresh, layout=True))

    def run_input_thread(self) -> None:
        """Reads until the screen is closed, or the terminal is gone."""
        parser, pasting = XTermParser(), BracketedPasteParser()
        decode = getincrementaldecoder("utf-8")("replace").decode
        while not self.exit_event.is_set():
            if select([self.fileno], [], [], POLL_INTERVAL_S)[0]:
                read = self._read()
                if not read:
                    # Asked again it would say so again at once, for as long as the screen is open.
                    self.owner.call_later(self.owner.exit, 128 + signal.SIGHUP)
                    break
                self._hand(messages(pasting.take(decode(read), monotonic()), parser))
            self._hand(messages(pasting.tick(monotonic()), parser))
            self._hand(parser.tick())
        with suppress(EOFError, ParseError):
            list(parser.feed(""))

    def _read(self) -> bytes:
        """Returns what was typed; nothing if the terminal is gone."""
        try:
            return os.read(self.fileno, READ_BYTES)
        except OSError:
            return b""

    def _hand(self, heard: Iterable[Message]) -> None:
        for message in heard:
            self.process_message(message)


def exit_if_ended(app: DrivenApp) -> None:
    """Exits when the terminal was closed without a signal, or one had no effect."""
    if app.ending_signal:
        app.exit(128 + app.ending_signal)
    elif not os.isatty(0):
        app.exit(128 + signal.SIGHUP)


def messages(pieces: Iterable[TerminalInput], parser: XTermParser) -> Iterable[Message]:
    """Returns the messages for the screen: keys from the parser, and each paste as one message."""
    for piece in pieces:
        match piece:
            case TypedText(text):
                yield from parser.feed(text)
            case PastedText(text, cut):
                for _ in parser.feed(END):
                    pass  # it knows that a paste began, and takes this for an empty one
                yield Paste(text)
                if cut:
                    yield PasteTruncated()
