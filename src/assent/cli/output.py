"""Command output: one JSON object or coloured lines on stdout, errors and progress on stderr.

Lines are coloured with ANSI codes. Colour never carries meaning alone.
"""

import codecs
import os
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import islice
from operator import attrgetter
from typing import Literal, TextIO, TypeAlias, get_args

from assent.cli.terminal import silence, silence_stdout
from assent.core.errors import RUN_WAITS, AssentError, Interrupted, RunUnfinished
from assent.core.run.journal import CommandProgress, LiveCommandOutput, RunUpdate, StepProgress
from assent.core.text.hidden_chars import VisibleStream, fold_long, visible_line
from assent.render.command_output import CommandOutputLines, progress_line
from assent.render.lines import Line, Role, Style
from assent.render.rows import encoded, error_row, error_words

# Turns every expected failure into an error with a message and a next command.


EXPECTED = (AssentError, OSError, KeyboardInterrupt)
STATUS_COMMAND = "assent status"
RECOVER_COMMAND = "assent recover"


def as_assent_error(error: BaseException) -> AssentError:
    """Returns an expected failure as an error that can be told."""
    match error:
        case AssentError():
            return error
        case OSError():
            named = error.filename if isinstance(error.filename, str | bytes) else ""
            words = (error.strerror or str(error), os.fsdecode(named))
            return AssentError(": ".join(filter(None, words)), STATUS_COMMAND)
        case _:
            return Interrupted(
                f"{_stopped(error)}; `{STATUS_COMMAND}` shows the current state.", STATUS_COMMAND
            )


def run_interrupted(error: KeyboardInterrupt, run: str, due: str = "") -> Interrupted:
    """Returns that a run was interrupted where no command ran, and what ends it.

    `due` is the command that was to begin next, if it is known.
    """
    begins = (
        f"$ {due} was not started this time; everything before it"
        if due
        else "everything it did so far"
    )
    return Interrupted(
        f"{_stopped(error)}. Run {run} is not finished: {begins} is kept and recorded. "
        f"`{RECOVER_COMMAND}` finishes it or rolls it back.",
        RECOVER_COMMAND,
    )


def build_interrupted(error: KeyboardInterrupt, command: str) -> Interrupted:
    """Returns that a build was interrupted before its run began, and what begins it."""
    return Interrupted(
        f"{_stopped(error)} before the run started. The approval is kept; nothing was changed.",
        command,
    )


def _stopped(error: BaseException) -> str:
    return f"Interrupted by {error.args[0]}" if error.args else "Interrupted"  # see interrupts.py


def output_failed(why: str, content: Mapping[str, object]) -> AssentError:
    """Returns the error that an answer was not printed; what the command did stays in effect."""
    message, run = f"The result could not be printed: {why}.", content.get("run")
    match content.get("outcome"):
        case "done":
            return AssentError(f"{message} Run {run} is finished.", f"assent runs show {run}")
        case "partial":
            return AssentError(f"{message} Run {run} is partly done.", f"assent runs show {run}")
        case "rolled_back":
            return AssentError(f"{message} Run {run} was rolled back.", f"assent runs show {run}")
        case "needs_you":
            return RunUnfinished(f"{message} {RUN_WAITS}", RECOVER_COMMAND)
        case _:
            return AssentError(f"{message} Any changes the command made are kept.", STATUS_COMMAND)


# Renders lines as terminal text with ANSI colours; colour never carries meaning alone.

OutputFormat: TypeAlias = Literal["text", "json", "stream-json"]
OUTPUT_FORMATS: tuple[OutputFormat, ...] = get_args(OutputFormat)


_CODES: dict[Style, str] = {
    "heading": "\x1b[1m",
    "risk": "\x1b[1;31m",
    "added": "\x1b[32m",
    "removed": "\x1b[31m",
    "hunk": "\x1b[36m",
    "dim": "\x1b[2m",
    "plain": "",
    "prose": "",
    "digest": "\x1b[1;33m",
    "said": "\x1b[1;34m",
    "code": "\x1b[35m",
}
# Of a part of a line; what is not listed looks as its line does. The sixteen colours are those of
# the person's terminal, which is dark or light. Green and red say what is added and removed.
_ROLE_CODES: dict[Role, str] = {
    "keyword": "\x1b[35m",
    "type": "\x1b[36m",
    "function": "\x1b[34m",
    "constant": "\x1b[33m",
    "string": "\x1b[33m",
    "comment": "\x1b[2m",
    "tag": "\x1b[36m",
    "heading": "\x1b[1m",
    "strong": "\x1b[1m",
    "emphasis": "\x1b[3m",
    "struck": "\x1b[9m",
    "code": "\x1b[33m",
    "link": "\x1b[34m",
    "target": "\x1b[36m",
    "quote": "\x1b[2m",
    "marker": "\x1b[2m",
    "gutter": "\x1b[2m",
    "hidden": "\x1b[1;31m",
}
_CHANGED = "\x1b[4m"  # within a line of a diff
_RESET = "\x1b[0m"
_text = attrgetter("text")


def ansi(lines: Iterable[Line], color: bool) -> Iterator[str]:
    """Turns lines into text without line feeds; without colour no escape is written."""
    return map(_colored, lines) if color else map(_text, lines)


def _colored(line: Line) -> str:
    code = _CODES[line.style] if line.text else ""
    if not line.spans:
        return _in_code(code, line.text)
    parts = [
        (_ROLE_CODES.get(span.role, code) + (_CHANGED if span.changed else ""), span.text)
        for span in line.spans
    ]
    return "".join([_in_code(code, text) for code, text in parts])


def _in_code(code: str, text: str) -> str:
    return f"{code}{text}{_RESET}" if code else text


STDIN = 0
BATCH = 500  # lines written at once
# Where another face runs a command, what it would print goes there, and to no terminal.
CAPTURED_LINES: ContextVar[list[Line] | None] = ContextVar("taken", default=None)
NOTHING: Mapping[str, object] = {}  # is known of what an answer tells


class CliOutput:
    """Writes the output of one command in the requested format."""

    def __init__(self, *, as_json: bool) -> None:
        self.as_json = as_json
        self.quiet = False  # neither progress nor notes on stderr; warnings and errors stay
        self.session = ""  # that the answer is about; only a stream tells it
        self._warned: set[str] = set()
        self._spoken: CommandOutputLines | None = None  # as long as no command says anything
        self._due = ""  # the line of the command that has not said anything yet

    def answer(self, content: Mapping[str, object], lines: Iterable[Line] = ()) -> None:
        """Prints exactly one object, or the lines."""
        if not self.as_json:
            self.lines(lines, content)
            return
        with ignore_closed_stdout(content):
            sys.stdout.buffer.write(encoded(content) + b"\n")

    def lines(self, lines: Iterable[Line], content: Mapping[str, object] = NOTHING) -> None:
        """Prints lines, in colour on a terminal; `content` is what they tell."""
        if (taken := CAPTURED_LINES.get()) is not None:
            taken.extend(lines)
            return
        self.write_texts(ansi(lines, color=colored(sys.stdout)), content)

    def write_texts(self, texts: Iterator[str], content: Mapping[str, object] = NOTHING) -> None:
        with ignore_closed_stdout(content):
            while batch := list(islice(texts, BATCH)):
                sys.stdout.write("\n".join([*batch, ""]))

    def live(self, live: RunUpdate) -> None:
        """Shows one more thing that a run does, or that its command says."""
        match live:
            case StepProgress():
                self.progress(live)
            case CommandProgress():
                self.running_command(live)
            case LiveCommandOutput():
                self.command_output(live)

    def progress(self, step: StepProgress) -> None:
        """Shows how far a run is, on a terminal only."""
        if self.shows_progress:
            sys.stderr.write(f"\r\x1b[K{step.step.value}: {step.done} of {step.total}")
            sys.stderr.flush()

    def running_command(self, doing: CommandProgress) -> None:
        """Shows which command a run is at; in a log, once it says anything."""
        self.progress_over()  # the last words of the command before
        stays = "\n" if doing.what == "command" else ""
        if stays and self.logs:
            self._due, stays = f"{progress_line(doing)}\n", ""
        if self.shows_progress:
            sys.stderr.write(progress_line(doing) + stays)
            sys.stderr.flush()

    @contextmanager
    def busy(self, words: str) -> Iterator[None]:
        """Shows what takes its time, as long as it does, on a terminal only."""
        shows = self.shows_progress
        if shows:
            sys.stderr.write(visible_line(words))
            sys.stderr.flush()
        try:
            yield
        finally:
            if shows:
                sys.stderr.write("\r\x1b[K")
                sys.stderr.flush()

    @property
    def in_color(self) -> bool:
        """Whether lines are printed in colour: on a terminal, unless the user turned it off."""
        return not self.as_json and not self.is_captured and colored(sys.stdout)

    @property
    def is_captured(self) -> bool:
        """Whether another face shows the lines, where no one types an id into a command."""
        return CAPTURED_LINES.get() is not None

    @property
    def shows_progress(self) -> bool:
        """Whether what takes its time is shown on stderr: to a person who did not turn it off."""
        return sys.stderr.isatty() and not self.as_json and not self.quiet

    @property
    def logs(self) -> bool:
        """Whether what commands say goes to stdout, as to a file or the log of a CI."""
        return not self.as_json and not self.is_captured and not sys.stdout.isatty()

    def command_output(self, said: LiveCommandOutput) -> None:
        """Shows what a command says as it comes: on a terminal, or else on stdout."""
        if self.logs or self.shows_progress:
            self._spoken = self._spoken or CommandOutputLines()
            self._echo(self._spoken.take(said))

    def progress_over(self) -> None:
        """Takes the progress away, and shows what a command said last."""
        self._echo(self._spoken.rest() if self._spoken else ())

    def _echo(self, lines: Iterable[str]) -> None:
        text = "".join([f"  | {line}\n" for line in lines])
        logs = self.logs
        if self.shows_progress:
            sys.stderr.write("\r\x1b[K" + ("" if logs else text))
            sys.stderr.flush()
        if logs and text:
            with flush_run_output():
                sys.stdout.write(self._due + text)
            self._due = ""

    def warn(self, warnings: Iterable[str]) -> None:
        """Prints each warning once, however many parts of the program report it."""
        for warning in self.unreported_warnings(warnings):
            _complain("assent: ", warning)

    def unreported_warnings(self, warnings: Iterable[str]) -> list[str]:
        """Returns the warnings that were not printed yet; the caller prints them now."""
        found = [words for words in dict.fromkeys(warnings) if words not in self._warned]
        self._warned.update(found)
        return found

    def fail(self, error: AssentError) -> int:
        """Says what happened and what to do next, and returns the exit code."""
        if self.as_json:
            _say(encoded(error_row(error)).decode())
            return error.exit
        message, next = error_words(error)
        _complain("assent: ", message)
        if next:
            _complain("  next: ", next)
        return error.exit

    def break_off(self, error: AssentError) -> None:
        """Ends what was begun on stdout because of an error; only a stream has begun anything."""


def colored(stream: TextIO) -> bool:
    """Colour on a terminal, unless the user turned it off."""
    return stream.isatty() and want_color()


def want_color() -> bool:
    """Colour, unless the user set NO_COLOR or the terminal has none."""
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


@contextmanager
def ignore_closed_stdout(content: Mapping[str, object] = NOTHING) -> Iterator[None]:
    """Flushes what was written; a reader that closed the pipe, as `head` does, is not a failure.

    If it cannot be written, the error says what is known about what the command did.
    """
    try:
        yield
        sys.stdout.flush()
    except OSError as error:
        silence_stdout()
        if not isinstance(error, BrokenPipeError):
            raise output_failed(error.strerror or str(error), content) from error


@contextmanager
def flush_run_output() -> Iterator[None]:
    """Flushes what was written about a run; the run does not end because the reader has gone.

    If it cannot be written for another reason, the answer cannot either, and reports that.
    """
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        silence_stdout()
    except OSError:
        pass


def _complain(sign: str, text: str) -> None:
    taken = CAPTURED_LINES.get()
    for piece in fold_long(visible_line(text)):
        if taken is not None:
            taken.append(Line("risk", piece))
            continue
        _say(f"{sign}{piece}")


def _say(line: str) -> None:
    """Writes a line to stderr; where it cannot be written, the exit code has to do."""
    try:
        sys.stderr.write(f"{line}\n")
    except OSError:
        silence(sys.stderr)


# The current time for output; it is never stored.


def current_time() -> str:
    """Returns the time as events have it, in UTC and to the millisecond."""
    seconds = time.time()
    moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))
    return f"{moment}.{int(seconds % 1 * 1000):03d}Z"


class VisibleOutput:
    """Output as a terminal may show it, piece by piece: nothing in it steers or hides."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("backslashreplace")
        self._flow = VisibleStream()

    def text(self, content: bytes, *, last: bool = False) -> str:
        """Returns the visible form of the next piece; half a character waits for the rest."""
        shown = self._flow.take(self._decoder.decode(content, last))
        return shown + self._flow.rest() if last else shown
