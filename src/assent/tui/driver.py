"""The Textual driver: reads the terminal, so that pasted text is never taken as keys."""

import os
import signal
from codecs import getincrementaldecoder
from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from select import select
from time import monotonic
from typing import TYPE_CHECKING, Final

from textual._parser import ParseError
from textual._xterm_parser import XTermParser
from textual.drivers.linux_driver import LinuxDriver
from textual.events import Paste
from textual.message import Message

from assent.tui.bracketed_paste import (
    END,
    BracketedPasteParser,
    PastedText,
    TerminalInput,
    TypedText,
)

if TYPE_CHECKING:
    from textual.app import App

POLL_INTERVAL_S: Final = (
    0.1  # between two looks at what the parser waits for, such as the rest of an Esc
)
READ_BYTES: Final = 1 << 16


class PasteTruncated(Message):
    """A paste was longer than what is kept of it."""


class TerminalDriver(LinuxDriver):
    """Textual's driver with `BracketedPasteParser`; ends when the terminal is gone."""

    def start_application_mode(self) -> None:
        """Takes the terminal, once whoever ends the screen by a signal has it put back, too."""
        for number in (signal.SIGTERM, signal.SIGHUP):
            self._loop.add_signal_handler(number, self._app.exit, 128 + number)
        super().start_application_mode()  # type: ignore[no-untyped-call]

    def _sigcont_application(self, *_: object) -> None:
        """Comes back after a stop, with everything painted: others had the terminal meanwhile."""
        if not self._auto_restart or not self._app.is_running:
            return
        if not self._must_signal_resume:  # it was stopped without a word, and let go of nothing
            self.suspend_application_mode()
        self.resume_application_mode()
        self._loop.call_soon_threadsafe(partial(self._app.refresh, layout=True))

    def run_input_thread(self) -> None:
        """Reads until the screen is closed, or nobody can type any more."""
        parser, pasting = XTermParser(self._debug), BracketedPasteParser()
        decode = getincrementaldecoder("utf-8")("replace").decode
        while not self.exit_event.is_set():
            if select([self.fileno], [], [], POLL_INTERVAL_S)[0]:
                read = self._read()
                if not read:
                    # Asked again it would say so again at once, for as long as the screen is open.
                    self._app.call_later(self._app.exit, 128 + signal.SIGHUP)
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


def exit_without_terminal(app: "App[int]") -> None:
    """Ends where the terminal was taken away without a word, as by whoever owned it."""
    if not os.isatty(0):
        app.exit(128 + signal.SIGHUP)


def messages(pieces: Iterable[TerminalInput], parser: XTermParser) -> Iterable[Message]:
    """Returns what the screen gets: keys and such from the parser, and each paste as one."""
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
