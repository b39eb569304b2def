"""The Textual driver: reads the terminal, and separates pasted text from typed keys.

The two stay separate whatever the paste contains.
"""

import os
import signal
from codecs import getincrementaldecoder
from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from select import select
from time import monotonic
from typing import TYPE_CHECKING, Final

import msgspec
from textual._parser import ParseError
from textual._xterm_parser import XTermParser
from textual.drivers.linux_driver import LinuxDriver
from textual.events import Paste
from textual.message import Message

if TYPE_CHECKING:
    from textual.app import App

# Separates pasted text from typed keys, whatever the paste contains.
#
# Textual's own parser reads an escape sequence inside of a paste as the paste's end, and hands the
# rest on as keys: a log with a colour in it could then send, approve or run something. So pastes
# are cut out of what is read before that parser sees them.


START: Final = "\x1b[200~"
END: Final = "\x1b[201~"
MAX_PASTE_CHARS: Final = 4_000_000  # characters of one paste that are kept
PASTE_TIMEOUT_S: Final = 5.0  # after which a paste is over that nobody ended

# A control character would do something on the screen that shows it; its sign only stands there.
CONTROL_PICTURES: Final = {
    **{code: 0x2400 + code for code in range(1, 32) if chr(code) not in "\t\n\r"},
    **dict.fromkeys(range(0x80, 0xA0), 0xFFFD),
    0: None,
    0x7F: 0x2421,
}


class TypedText(msgspec.Struct, frozen=True):
    """What was typed, or sent by the terminal itself."""

    text: str


class PastedText(msgspec.Struct, frozen=True):
    """One paste in full, or its beginning."""

    text: str
    cut: bool = False  # whether there was more than is kept


TerminalInput = TypedText | PastedText


class BracketedPasteParser:
    """Takes what is read, in whatever portions it comes. `now` counts seconds."""

    def __init__(self, most: int = MAX_PASTE_CHARS) -> None:
        self._most = most
        self._last = ""  # the end of what was read, in which a mark may have begun
        self._parts: list[str] | None = None  # of the paste that is under way
        self._size = 0
        self._heard = 0.0

    def take(self, text: str, now: float) -> list[TerminalInput]:
        """Returns what is complete now; what was typed is never held back."""
        self._heard = now
        pieces: list[TerminalInput] = []
        while text:
            text = self._type(text, pieces) if self._parts is None else self._paste(text, pieces)
        return pieces

    def tick(self, now: float) -> list[TerminalInput]:
        """Ends a paste of which nothing was heard for long, so that keys count again."""
        if self._parts is None or now - self._heard < PASTE_TIMEOUT_S:
            return []
        self._keep(self._last)
        return [self._over()]

    def _type(self, text: str, pieces: list[TerminalInput]) -> str:
        """Takes what comes before a paste; returns the rest."""
        before = len(self._last)
        known = self._last + text
        at = known.find(START)
        end = len(known) if at < 0 else at + len(START)
        # The mark goes to the parser, too: it may have its beginning already.
        pieces.append(TypedText(known[before:end]))
        self._last = known[max(end - len(START) + 1, 0) : end] if at < 0 else ""
        if at >= 0:
            self._parts, self._size = [], 0
        return known[end:]

    def _paste(self, text: str, pieces: list[TerminalInput]) -> str:
        """Takes what belongs to a paste; returns the rest."""
        known = self._last + text
        at = known.find(END)
        end = max(len(known) - len(END) + 1, 0) if at < 0 else at
        self._keep(known[:end])
        if at < 0:
            self._last = known[end:]
            return ""
        pieces.append(self._over())
        return known[at + len(END) :]

    def _keep(self, text: str) -> None:
        assert self._parts is not None, "only what is pasted is kept"
        self._parts.append(text[: max(self._most - self._size, 0)])
        self._size += len(text)

    def _over(self) -> PastedText:
        text, cut = "".join(self._parts or ()), self._size > self._most
        self._parts, self._last = None, ""
        return PastedText(text.translate(CONTROL_PICTURES), cut)


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
