"""`stream-json` output: one JSON line per step of a run, and the result as the last line.

Each piece of the output of its commands is a line too.
"""

import sys
from collections.abc import Iterable, Mapping

from assent.cli.output import (
    CliOutput,
    current_time,
    flush_run_output,
    ignore_closed_stdout,
)
from assent.core.errors import AssentError
from assent.core.run.journal import RunUpdate
from assent.render.lines import Line
from assent.render.log import live_row, stream_result_row
from assent.render.rows import Row, encoded, error_row
from assent.render.run_stream import RunStream, StreamItem


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
