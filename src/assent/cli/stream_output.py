"""`stream-json` output: one JSON line per step of a run, and the result as the last line.

Each piece of the output of its commands is a line too.
"""

import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, TypeAlias, assert_never

from assent.cli.output import (
    CliOutput,
    current_time,
    flush_run_output,
    ignore_closed_stdout,
)
from assent.core.errors import AssentError
from assent.core.run.journal import CommandProgress, LiveCommandOutput, RunUpdate, StepProgress
from assent.render.command_output import CommandOutputChunk, CommandOutputRedactor, progress_brief
from assent.render.lines import Line
from assent.render.log import live_row, stream_result_row
from assent.render.rows import Row, encoded, error_row

# JSON lines of a run in progress: its steps, and the output of its commands.


# Characters of one line. Six bytes for each, and the rest of the line, fit the buffer of a stream,
# so that an interrupt in the middle of writing leaves no partial line.
MAX_CHUNK: Final = 1200

StreamItem: TypeAlias = tuple[str, Row]  # the kind of a line, and its body


class RunStream:
    """Turns a run's live events into JSON bodies; command output is masked first."""

    def __init__(self) -> None:
        self._voices = CommandOutputRedactor()

    def take(self, live: RunUpdate) -> Iterator[StreamItem]:
        """Returns what can be told after one more thing happened, in order."""
        match live:
            case LiveCommandOutput():
                yield from _said(self._voices.take(live))
            case CommandProgress(what, index, total):
                yield from self.rest()
                where: Row = {"what": what, "index": index, "total": total}
                yield "doing", {**where, "command": progress_brief(live)}
            case StepProgress(step, done, total):
                yield from self.rest()
                yield "progress", {"step": step.name.lower(), "done": done, "total": total}
            case _:
                assert_never(live)

    def rest(self) -> Iterator[StreamItem]:
        """Returns the rest of a command's output, because no more will come."""
        return _said(self._voices.rest())


def _said(utterances: Iterable[CommandOutputChunk]) -> Iterator[StreamItem]:
    """Returns what a command said under the kind that any command's words have in a stream."""
    for one in utterances:
        whence: Row = {"index": one.index, "stream": "stderr" if one.error else "stdout"}
        for at in range(0, len(one.text), MAX_CHUNK):
            yield "delta", {"kind": "output", "text": one.text[at : at + MAX_CHUNK], **whence}


class StreamJsonOutput(CliOutput):
    """`stream-json`: prints events as they happen; all else is as with `--json`."""

    def __init__(self) -> None:
        super().__init__(as_json=True)
        self._stream = RunStream()
        self._begun = False
        self._ended = False

    def live(self, live: RunUpdate) -> None:
        self._tell(self._stream.take(live))

    def progress_over(self) -> None:
        self._tell(self._stream.rest())

    def answer(self, content: Mapping[str, object], lines: Iterable[Line] = ()) -> None:
        """Prints the last line: the same object that `--json` prints alone."""
        self._ended = True
        with ignore_closed_stdout(content):
            self._line(stream_result_row(dict(content), self.session, current_time()))

    def break_off(self, error: AssentError) -> None:
        """Ends the stream with an error; if nothing was streamed, the error is only on stderr."""
        if self._begun and not self._ended:
            self.answer(error_row(error))

    def write(self, row: Row) -> None:
        """Writes one line at once; a reader that has gone does not end anything."""
        self._begun = True
        with flush_run_output():
            self._line(row)

    def _tell(self, told: Iterable[StreamItem]) -> None:
        for kind, body in told:
            self.write(live_row(kind, self.session, current_time(), body))

    @staticmethod
    def _line(row: Row) -> None:
        sys.stdout.buffer.write(encoded(row) + b"\n")
