"""Renders a run as lines: its progress, the output of its commands, and the outcome."""

from collections import deque
from collections.abc import Sequence
from threading import Lock
from typing import Final

from assent.core.errors import AssentError
from assent.core.plan.operation import Operation, RunCommand
from assent.core.run.journal import (
    CommandProgress,
    LiveCommandOutput,
    RunStep,
    RunUpdate,
    StepProgress,
)
from assent.core.text.hidden_chars import visible_line
from assent.core.text.secrets import redact
from assent.render.command_output import CommandOutputLines, progress_line
from assent.render.lines import GUTTER, Line
from assent.render.operation_text import operation_brief
from assent.render.rows import operation_kind

MAX_OUTPUT_LINES: Final = 5000  # lines of output that are kept to be looked at
BAR: Final = 30
SURROUNDING_OPERATIONS: Final = 6  # operations before and after the present one that are listed
STATE_MARKS: Final = {"done": "✓", "at work": "▶", "waits": "·"}
_WORDS: Final[dict[RunStep, str]] = {
    RunStep.PREPARE: "writing new contents beside the files",
    RunStep.FINISH: "putting files in place",
    RunStep.CONTINUE: "putting files in place",
    RunStep.REVERSE: "putting files back",
    RunStep.ABANDON: "cleaning up what was prepared",
    RunStep.SWEEP: "removing what is no longer needed",
    RunStep.ENTER: "checking files",
    RunStep.TURN: "working out how to go back",
}


class RunProgressView:
    """Takes a run's reports, from any thread, and renders them at any time."""

    def __init__(self, verb: str, operations: Sequence[Operation] = ()) -> None:
        self.verb = verb
        self._operations = operations
        self._first = 0  # of the operations that are at work
        self._lock = Lock()
        self._spoken = CommandOutputLines()
        self._lines: deque[Line] = deque(maxlen=MAX_OUTPUT_LINES)
        self._left_out = 0
        self._progress: StepProgress | None = None
        self._end: tuple[Line, ...] = ()

    def take(self, live: RunUpdate) -> None:
        """Takes in one report."""
        with self._lock:
            match live:
                case StepProgress():
                    if self._progress is None and self._is_command(self._first):
                        self._first += 1  # files come after it
                    self._progress = live
                case CommandProgress():
                    self._progress = None
                    self._first = live.index
                    self._add([Line("heading", progress_line(live))])
                case LiveCommandOutput():
                    self._add([_output(text) for text in self._spoken.take(live)])

    def end(self, lines: Sequence[Line]) -> None:
        """Takes in how it ended."""
        with self._lock:
            self._add([_output(text) for text in self._spoken.rest()])
            self._progress = None
            self._end = tuple(lines)

    def fail(self, error: AssentError) -> None:
        """Takes in why it could not go on."""
        told = [Line("risk", visible_line(redact(error.message)))]
        if error.next:
            told.append(Line("plain", f"Next: {visible_line(redact(error.next))}"))
        self.end(told)

    def lines(self) -> tuple[Line, ...]:
        """Returns everything so far; of very much output, the end."""
        with self._lock:
            cut = [Line("dim", f"({self._left_out:,} lines before are not shown here.)")]
            before = cut if self._left_out else []
            now = [_progress_line(self._progress)] if self._progress else []
            listed = [] if self._end else self._listed()
            return (*before, *self._lines, *listed, *now, *self._end)

    def _listed(self) -> list[Line]:
        """Renders each operation with where it is; of very many, those around the present ones."""
        last = self._first
        while last + 1 < len(self._operations) and not self._is_command(last + 1):
            last += 1
        last = self._first if self._is_command(self._first) else last
        start = max(
            0,
            min(
                self._first - SURROUNDING_OPERATIONS,
                len(self._operations) - 2 * SURROUNDING_OPERATIONS,
            ),
        )
        shown = list(enumerate(self._operations))[start : start + 2 * SURROUNDING_OPERATIONS]
        lines = [Line("plain", self._row(at, op, last)) for at, op in shown]
        more = len(self._operations) - start - len(shown)
        before = [Line("dim", f"… {start:,} before")] if start else []
        return [*before, *lines, *([Line("dim", f"… {more:,} more")] if more > 0 else [])]

    def _row(self, at: int, op: Operation, last: int) -> str:
        state = "done" if at < self._first else "at work" if at <= last else "waits"
        return (
            f"{STATE_MARKS[state]} {state:<7}  {at + 1}. {operation_kind(op)} "
            f"{redact(operation_brief(op))}"
        )

    def _is_command(self, at: int) -> bool:
        return at < len(self._operations) and isinstance(self._operations[at], RunCommand)

    def _add(self, lines: Sequence[Line]) -> None:
        room = MAX_OUTPUT_LINES - len(self._lines)
        self._left_out += max(0, len(lines) - room)
        self._lines.extend(lines)


def _output(text: str) -> Line:
    return Line("plain", GUTTER + text)


def _progress_line(progress: StepProgress) -> Line:
    """Renders how far a step is, as a bar of characters and in numbers."""
    words = _WORDS.get(progress.step, progress.step.value)
    if not progress.total:
        return Line("plain", words)
    full = BAR * progress.done // progress.total
    bar = "█" * full + "·" * (BAR - full)
    return Line("plain", f"{bar} {progress.done:,} of {progress.total:,}  {words}")
