"""Output formats of a turn: streaming text, one JSON object, or a JSON line per event.

The notification when a turn waits for the user is here too.
"""

import os
import sys
from collections.abc import Callable, Iterable
from typing import Protocol

import msgspec

from assent.cli.goal.result import TurnResult, is_of_session, turn_result_lines, turn_result_row
from assent.cli.output import (
    CliOutput,
    OutputFormat,
    ansi,
    colored,
    current_time,
    ignore_closed_stdout,
)
from assent.cli.terminal import ScreenLock
from assent.core.event import Event, EventBody, StoredEvent
from assent.core.llm import StreamDelta, TextPart
from assent.core.session.event import (
    BatchPlanned,
    CritiqueEnded,
    CritiqueStarted,
    MessageAdded,
    PartSaid,
    StepEnded,
    StepRetried,
    TurnEnded,
)
from assent.core.session.record import SessionRecord
from assent.core.text.hidden_chars import VisibleStream, visible_line, visible_text
from assent.core.text.secrets import redact
from assent.render.command_output import visible_output
from assent.render.lines import Line
from assent.render.log import (
    ChildNames,
    DeltaRedactor,
    RepeatedCallFilter,
    activity_lines,
    child_lines,
    stream_result_row,
    stream_row,
    times_suffix,
    without_question_details,
)
from assent.render.questions import NotificationFilter, NotificationMethod, notification_sequence
from assent.render.rows import Row, StreamRedactor, encoded

DISCARDED_NOTE = "(The answer above was cut off and is discarded.)"


class TurnOutput(Protocol):
    """One output format of a turn."""

    def begin(self, record: SessionRecord, *, fresh: bool) -> None: ...

    def hear(self, heard: StoredEvent | StreamDelta) -> None: ...

    def end(self, ending: TurnResult) -> None:
        """Shows how things ended; an error is printed where all errors are printed."""


def turn_output(form: OutputFormat, output: CliOutput, *, asks: bool = False) -> TurnOutput:
    """Returns the form that was asked for; `asks`: a person is there who will be asked."""
    match form:
        case "json":
            return JsonTurnOutput(output)
        case "stream-json":
            return StreamJsonTurnOutput()
        case "text":
            return TextTurnOutput(output, asks=asks)


class DeferredTurnOutput:
    """Holds output back while a person is asked something, and prints it afterwards."""

    def __init__(self, inner: TurnOutput, screen: ScreenLock) -> None:
        self._inner = inner
        self._screen = screen

    def begin(self, record: SessionRecord, *, fresh: bool) -> None:
        self._inner.begin(record, fresh=fresh)

    def hear(self, heard: StoredEvent | StreamDelta) -> None:
        self._screen.show(lambda: self._inner.hear(heard))

    def end(self, ending: TurnResult) -> None:
        self._screen.flush_held()
        self._inner.end(ending)


class JsonTurnOutput:
    """`json`: nothing but the result."""

    def __init__(self, output: CliOutput) -> None:
        self._output = output

    def begin(self, record: SessionRecord, *, fresh: bool) -> None:
        pass

    def hear(self, heard: StoredEvent | StreamDelta) -> None:
        pass

    def end(self, ending: TurnResult) -> None:
        self._output.answer(turn_result_row(ending))


class StreamJsonTurnOutput:
    """`stream-json`: everything that happens, and the result as the last line."""

    def __init__(self, write: Callable[[Row], None] | None = None) -> None:
        self._session = ""
        self._write = write or _written
        self._pieces = DeltaRedactor()

    def begin(self, record: SessionRecord, *, fresh: bool) -> None:
        self._session = record.session

    def hear(self, heard: StoredEvent | StreamDelta) -> None:
        self._tell(self._pieces.take(heard))
        if isinstance(heard, StoredEvent):
            self._write(stream_row(heard, self._session, current_time()))

    def _tell(self, pieces: Iterable[StreamDelta]) -> None:
        for piece in pieces:
            self._write(stream_row(piece, self._session, current_time()))

    def end(self, ending: TurnResult) -> None:
        self._tell(self._pieces.rest())
        self._write(
            stream_result_row(turn_result_row(ending), ending.session.session, current_time())
        )


class TextTurnOutput:
    """`text`: what the model says on stdout, what it does on stderr.

    If stderr is not a terminal, only what is about to happen is written there.
    """

    def __init__(self, output: CliOutput, *, asks: bool = False) -> None:
        self._output = output
        self._asks = asks
        self._live = sys.stdout.isatty()
        self._watched = sys.stderr.isatty()
        self._parts: list[str] = []  # said by the step, and not shown yet
        self._shown = False  # whether pieces of the step were shown already
        self._speech = StreamRedactor()
        self._printed = StreamRedactor()  # by a command
        self._has_printed = False  # whether anything of that may still be held back
        self._flow, self._echoed = VisibleStream(visible_text), VisibleStream(visible_output)
        self._open = False  # whether the last line still lacks its end
        self._session = ""
        self._kin = ChildNames()
        self._repeats = RepeatedCallFilter()

    def begin(self, record: SessionRecord, *, fresh: bool) -> None:
        self._session = record.session
        self._kin = ChildNames(record.session, record.children)
        if fresh:
            mode = record.custom or record.mode
            self._note(Line("dim", f"session {visible_line(record.slug)}, mode {mode}"))

    def hear(self, heard: StoredEvent | StreamDelta) -> None:
        if isinstance(heard, StoredEvent):
            if self._has_printed:
                self._echo(self._printed.rest(), last=True)
                self._has_printed = False
            self._kin.add_event(heard)
            heard = _spared(heard) if self._asks else heard
        match heard:
            case StreamDelta("text", text) if self._live:
                self._say(self._speech.take(text))
                self._shown = True
            case StreamDelta("output", text):
                self._has_printed = True
                self._echo(self._printed.take(text))
            case StoredEvent(event=event):
                if is_of_session(heard, self._session):
                    self._take(event)
                for recorded, count in self._repeats.take(heard):
                    self._tell(recorded, count)
            case _:
                pass

    def end(self, ending: TurnResult) -> None:
        for recorded, count in self._repeats.rest():
            self._tell(recorded, count)
        self._flush()
        if ending.error is None:
            self._output.lines(turn_result_lines(ending))

    def _take(self, event: EventBody) -> None:
        match event:
            case PartSaid(part=TextPart(text)):
                self._parts.append(text)
            case StepRetried():
                self._void()
            case StepEnded() | TurnEnded():
                self._flush()
            case _:
                pass

    def _tell(self, recorded: StoredEvent, count: int) -> None:
        if not self._watched and not _is_for_all(recorded.event):
            return
        event, own = recorded.event, is_of_session(recorded, self._session)
        lines = activity_lines(event, self._kin) if own else child_lines(recorded, self._kin)
        for line in lines:
            more = f"{line.text}{times_suffix(count)}" if count > 1 else line.text
            self._note(Line(line.style, more), always=_is_for_all(event))

    def _flush(self) -> None:
        """Shows the parts of an answer that has ended, unless they were shown as they came."""
        if not self._shown:
            self._say(redact("".join(self._parts)))
        self._say(self._speech.rest())
        self._put(self._flow.rest())
        self._close()
        self._parts, self._shown = [], False

    def _void(self) -> None:
        self._speech.rest()  # discarded, never shown
        self._put(self._flow.rest())
        if self._shown:
            self._close()
            self._say(f"{DISCARDED_NOTE}\n")
        self._parts, self._shown = [], False

    def _say(self, text: str) -> None:
        self._put(self._flow.take(text))

    def _put(self, shown: str) -> None:
        if shown:
            with ignore_closed_stdout():
                sys.stdout.write(shown)
            self._open = not shown.endswith("\n")

    def _close(self) -> None:
        if self._open:
            self._say("\n")

    def _echo(self, output: str, *, last: bool = False) -> None:
        shown = self._echoed.take(output) + (self._echoed.rest() if last else "")
        for row in shown.removesuffix("\n").split("\n") if shown else ():
            self._note(Line("dim", f"  | {row}"))

    def _note(self, line: Line, *, always: bool = False) -> None:
        """Writes what happens to stderr: all of it to a terminal, what is planned to a log too."""
        if (self._watched or always) and not self._output.quiet:
            self._close()
            for text in ansi([line], color=colored(sys.stderr)):
                sys.stderr.write(f"{text}\n")
            sys.stderr.flush()


def _written(row: Row) -> None:
    with ignore_closed_stdout():
        sys.stdout.buffer.write(encoded(row) + b"\n")


def _spared(heard: StoredEvent) -> StoredEvent:
    """Returns what was recorded without what a question is going to tell anyway."""
    if not isinstance(heard.event, BatchPlanned):
        return heard
    return msgspec.structs.replace(heard, event=without_question_details(heard.event))


def _is_for_all(event: Event) -> bool:
    """Tells whether everybody gets to see an event: what an answer will do, a wait, a critic.

    While a critic reads the plan nothing else happens, and the plan goes to another provider. It
    also counts that another plan is the current one.
    """
    if isinstance(event, MessageAdded):
        return event.synthetic == "plan_used"
    return isinstance(event, BatchPlanned | CritiqueStarted | CritiqueEnded | StepRetried)


# Turn output that also rings or notifies when the turn waits for the user.


class NotifyingTurnOutput:
    """Implements TurnOutput around another; only where stderr is a terminal."""

    def __init__(self, inner: TurnOutput, way: NotificationMethod, after_s: float) -> None:
        self._inner = inner
        self._way = way
        self._after_s = after_s
        self._notices = NotificationFilter("", after_s)

    def begin(self, record: SessionRecord, *, fresh: bool) -> None:
        self._notices = NotificationFilter(record.session, self._after_s)
        self._inner.begin(record, fresh=fresh)

    def hear(self, heard: StoredEvent | StreamDelta) -> None:
        self._inner.hear(heard)
        words = self._notices.take(heard) if isinstance(heard, StoredEvent) else None
        if words and sys.stderr.isatty():
            sys.stderr.write(notification_sequence(self._way, words, os.environ))
            sys.stderr.flush()

    def end(self, ending: TurnResult) -> None:
        self._inner.end(ending)
