"""The forms in which a turn is shown: text as it comes, one object, or a line for each event."""

import sys
import time
from typing import Protocol

import msgspec

from assent.cli.goal import Form
from assent.cli.output import Output, colored, reader
from assent.core.event import Event, Recorded
from assent.core.message import Text
from assent.core.model import Delta
from assent.core.session import SessionRecord
from assent.core.session_event import PartSaid, StepEnded, StepRetried, TurnEnded
from assent.views.ansi import ansi
from assent.views.lines import Line
from assent.views.rows import Row
from assent.views.stream import activity_lines, result_line, stream_row
from assent.views.talk import Ending, ending_lines, of_session, result_row
from assent.views.visible import visible_line, visible_speech

VOID = "(This was cut off and does not count.)"


class Shown(Protocol):
    """One way to show a turn."""

    def begin(self, record: SessionRecord, *, fresh: bool) -> None: ...

    def hear(self, heard: Recorded | Delta) -> None: ...

    def end(self, ending: Ending) -> None:
        """Shows where things stand; an error is told by whoever prints all errors."""


def shown_as(form: Form, output: Output) -> Shown:
    """Returns the form that was asked for."""
    match form:
        case "json":
            return OneObject(output)
        case "stream-json":
            return Lines()
        case "text":
            return Words(output)


class OneObject:
    """`json`: nothing but the result."""

    def __init__(self, output: Output) -> None:
        self._output = output

    def begin(self, record: SessionRecord, *, fresh: bool) -> None:
        pass

    def hear(self, heard: Recorded | Delta) -> None:
        pass

    def end(self, ending: Ending) -> None:
        self._output.answer(result_row(ending))


class Lines:
    """`stream-json`: everything that happens, and the result as the last line."""

    def __init__(self) -> None:
        self._session = ""

    def begin(self, record: SessionRecord, *, fresh: bool) -> None:
        self._session = record.session

    def hear(self, heard: Recorded | Delta) -> None:
        self._write(stream_row(heard, self._session, _now()))

    def end(self, ending: Ending) -> None:
        self._write(result_line(result_row(ending), ending.session.session, _now()))

    def _write(self, row: Row) -> None:
        with reader():
            sys.stdout.buffer.write(msgspec.json.encode(row) + b"\n")


class Words:
    """`text`: what the model says on stdout, what it does on stderr, the latter for people only."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._live = sys.stdout.isatty()
        self._watched = sys.stderr.isatty()
        self._parts: list[str] = []  # said by the step, and not shown yet
        self._shown = False  # whether pieces of the step were shown already
        self._open = False  # whether the last line still lacks its end
        self._session = ""

    def begin(self, record: SessionRecord, *, fresh: bool) -> None:
        self._session = record.session
        if fresh:
            mode = record.custom or record.mode
            self._note(Line("dim", f"session {visible_line(record.slug)}, mode {mode}"))

    def hear(self, heard: Recorded | Delta) -> None:
        match heard:
            case Delta("text", text) if self._live:
                self._say(text)
                self._shown = True
            case Delta("output", text):
                for row in text.splitlines():
                    self._note(Line("dim", f"  | {visible_line(row)}"))
            case Recorded(event=event) if of_session(heard, self._session):
                self._take(event)
            case Recorded(event=event):  # a child's
                for line in activity_lines(event):
                    self._note(Line(line.style, f"  {line.text}"))
            case _:
                pass

    def end(self, ending: Ending) -> None:
        self._flush()
        if ending.error is None:
            self._output.lines(ending_lines(ending))

    def _take(self, event: Event) -> None:
        match event:
            case PartSaid(part=Text(text)):
                self._parts.append(text)
            case StepRetried():
                self._void()
            case StepEnded() | TurnEnded():
                self._flush()
            case _:
                pass
        for line in activity_lines(event):
            self._note(line)

    def _flush(self) -> None:
        """Shows the parts of an answer that has ended, unless they were shown as they came."""
        if not self._shown:
            self._say("".join(self._parts))
        self._close()
        self._parts, self._shown = [], False

    def _void(self) -> None:
        if self._shown:
            self._close()
            self._say(f"{VOID}\n")
        self._parts, self._shown = [], False

    def _say(self, text: str) -> None:
        if text:
            with reader():
                sys.stdout.write(visible_speech(text))
            self._open = not text.endswith("\n")

    def _close(self) -> None:
        if self._open:
            self._say("\n")

    def _note(self, line: Line) -> None:
        if self._watched:
            self._close()
            for text in ansi([line], color=colored(sys.stderr)):
                sys.stderr.write(f"{text}\n")
            sys.stderr.flush()


def _now() -> str:
    """Returns the time of what is shown and never stored."""
    seconds = time.time()
    moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))
    return f"{moment}.{int(seconds % 1 * 1000):03d}Z"
