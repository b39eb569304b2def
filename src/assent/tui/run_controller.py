"""Drives builds, recoveries, undo and redo in a thread, and renders progress and outcome.

The output of their commands is rendered too.
"""

from collections import deque
from collections.abc import Callable, Generator, Sequence
from threading import Lock, Thread
from time import monotonic
from typing import TYPE_CHECKING, Final

from assent.core.errors import AssentError, Busy
from assent.core.plan.operation import Operation, RunCommand
from assent.core.run.journal import (
    DONE,
    CommandProgress,
    LiveCommandOutput,
    RecoveryChoice,
    RunStep,
    RunUpdate,
    StepProgress,
)
from assent.core.text.hidden_chars import visible_line
from assent.core.text.secrets import redact
from assent.render.command_output import CommandOutputLines, progress_line
from assent.render.lines import GUTTER, Line
from assent.render.rows import operation_brief, operation_verb
from assent.tui.hints import next_on_screen, with_screen_commands
from assent.tui.host import ScreenHost
from assent.tui.messages import RewoundSession, RunActivity, RunBegan, RunOver
from assent.tui.workers import Coalescer

if TYPE_CHECKING:
    from assent.agent.rewind_files import FileRewind
    from assent.app.engine import Engine
    from assent.runs.run_status import RunReport
    from assent.runs.undo.service import UndoPlan

# Renders a run as lines: its progress, the output of its commands, and the outcome.


MAX_OUTPUT_LINES: Final = 5000  # lines of output that are kept to be looked at
BAR: Final = 30
SURROUNDING_OPERATIONS: Final = 6  # operations before and after the present one that are listed
STATE_MARKS: Final = {"done": "✓", "running": "▶", "pending": "·"}
_WORDS: Final[dict[RunStep, str]] = {
    RunStep.PREPARE: "writing new file contents",
    RunStep.FINISH: "putting files in place",
    RunStep.CONTINUE: "putting files in place",
    RunStep.REVERSE: "restoring files",
    RunStep.ABANDON: "discarding prepared files",
    RunStep.SWEEP: "removing temporary files",
    RunStep.ENTER: "checking files",
    RunStep.TURN: "preparing the rollback",
}


class RunProgressView:
    """Takes a run's reports, from any thread, and renders them at any time."""

    def __init__(self, verb: str, operations: Sequence[Operation] = ()) -> None:
        self.verb = verb
        self._operations = operations
        self._first = 0  # of the operations that are running
        self._lock = Lock()
        self._spoken = CommandOutputLines()
        self._lines: deque[Line] = deque(maxlen=MAX_OUTPUT_LINES)
        self._left_out = 0
        self._progress: StepProgress | None = None
        self._end: tuple[Line, ...] = ()

    def take(self, live: RunUpdate) -> None:
        """Adds one report."""
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
        """Adds how it ended."""
        with self._lock:
            self._add([_output(text) for text in self._spoken.rest()])
            self._progress = None
            self._end = tuple(lines)

    def fail(self, error: AssentError) -> None:
        """Adds why it could not continue."""
        told = [Line("risk", visible_line(redact(error.message)))]
        if error.next:
            told.append(Line("plain", f"Next: {visible_line(redact(error.next))}"))
        self.end(told)

    def lines(self) -> tuple[Line, ...]:
        """Returns everything so far; of long output, the end."""
        with self._lock:
            cut = [Line("dim", f"({self._left_out:,} earlier lines not shown)")]
            before = cut if self._left_out else []
            now = [_progress_line(self._progress)] if self._progress else []
            listed = [] if self._end else self._listed()
            return (*before, *self._lines, *listed, *now, *self._end)

    def _listed(self) -> list[Line]:
        """Renders each operation with its state; of very many, those around the current ones."""
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
        state = "done" if at < self._first else "running" if at <= last else "pending"
        return (
            f"{STATE_MARKS[state]} {state:<7}  {at + 1}. {operation_verb(op)} "
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
    """Renders the progress of a step, as a bar of characters and in numbers."""
    words = _WORDS.get(progress.step, progress.step.value)
    if not progress.total:
        return Line("plain", words)
    full = BAR * progress.done // progress.total
    bar = "█" * full + "·" * (BAR - full)
    return Line("plain", f"{bar} {progress.done:,} of {progress.total:,}  {words}")


PAUSE_S = 0.05
RESUMING: Final = ("auto", "resume")
BUSY = "A run is in progress; wait for it, or stop its command: /run shows it, and x stops it."


class RunController:
    """Drives one run at a time; only the executor changes files."""

    def __init__(
        self,
        host: ScreenHost,
        messages: Coalescer,
        report_lines: "Callable[[RunReport], Sequence[Line]]",
    ) -> None:
        self._host = host
        self._report_lines = report_lines  # renders how a run ended
        self._messages = messages
        self._thread: Thread | None = None
        self._began = monotonic()  # the run that was begun last
        self.at_work = False  # cleared as the end is reported, so that receivers see it
        self.watched: RunProgressView | None = None  # the current run, or the last one
        self.report: RunReport | None = None  # how that one ended
        self._rewinds: FileRewind | None = None  # what the last rewind was about
        self._resumes = False  # the run is continued, and not rolled back or kept as it is

    def build(self, plan_id: str, digest: str = "") -> None:
        """Applies an approved plan of operations; with a digest, only that one."""
        self._start("build", plan_id, lambda: self._host.engine().runs.build(plan_id, digest))

    def recover(self, way: RecoveryChoice = "auto", run: str = "") -> None:
        """Recovers the unfinished run that the user saw, with the option they chose."""
        self._start(
            "recover", "", lambda: _taken_up(self._host.engine(), way, run), resumes=way in RESUMING
        )

    def undo(self, preview: "UndoPlan", channel: str) -> None:
        """Applies the undo that the user saw and approved."""
        verb = "redo" if preview.extent.again else "undo"
        engine = self._host.engine()
        self._start(verb, "", lambda: _taken_back(engine, preview, channel))

    def rewind(self, shown: "FileRewind", channel: str) -> None:
        """Applies the undo that the user saw and approved, and rewinds the session with it."""
        rewinds = self._host.engine().file_rewinds
        self._rewinds = shown
        self._start("rewind", "", lambda: rewinds.apply(shown, channel))

    def end(self) -> None:
        """Stops the current run and waits for it: its command ends, its files are finished.

        The run may not be interruptible yet, so the request is repeated until it is.
        """
        while self._thread is not None and self._thread.is_alive():
            self.interrupt()
            self._thread.join(PAUSE_S)

    @property
    def took_s(self) -> float:
        """How long the run that was begun last has been running."""
        return monotonic() - self._began

    @property
    def halted(self) -> bool:
        """Whether the last run waits for a user's decision."""
        return self.report is not None and self.report.outcome == "needs_you"

    def interrupt(self) -> bool:
        """Ends the current command of a run; files are never left halfway."""
        return self.at_work and self._host.engine().runs.interrupt()

    def _start(
        self,
        verb: str,
        plan_id: str,
        work: "Callable[[], Generator[RunUpdate, None, RunReport]]",
        *,
        resumes: bool = False,
    ) -> None:
        if self.at_work:
            raise Busy(BUSY)
        self._resumes = resumes
        self.watched, self.report = RunProgressView(verb), None
        self.at_work, self._began = True, monotonic()
        self._thread = Thread(target=self._drive, args=(verb, plan_id, work), name="run")
        self._thread.start()

    def _drive(
        self, verb: str, plan_id: str, work: "Callable[[], Generator[RunUpdate, None, RunReport]]"
    ) -> None:
        self._messages.post(RunBegan(verb, plan_id))
        error: AssentError | None = None
        try:
            self.watched = RunProgressView(verb, self._operations(plan_id))
            if self._resumes and (unfinished := self._host.engine().runs.unfinished()):
                plan_id = unfinished[0]
            self.report = report = self._driven(work(), self.watched)
            self.watched.end(self._report_lines(report))
            self._host.engine().retention.retain()
        except AssentError as failure:
            error = failure
        except Exception as failure:
            error = self._messages.internal_error(failure)
        finally:
            if error is not None and self.watched is not None:
                self.watched.fail(_on_screen(error))
            builds = verb == "build" or self._resumes
            over = RunOver(verb, self.report, error, plan_id, self._rewound(verb), builds=builds)
            self._messages.post(over, self._rest)

    def _rewound(self, verb: str) -> RewoundSession | None:
        """Returns the session that was rewound with the run, if that came to its end."""
        done = self.report is not None and self.report.outcome in DONE
        if verb != "rewind" or not done or self._rewinds is None:
            return None
        record = self._host.engine().sessions.load(self._rewinds.session.session)
        return RewoundSession(record, self._rewinds.message.text)

    def _rest(self) -> None:
        self.at_work = False

    def _operations(self, plan_id: str) -> "tuple[Operation, ...]":
        """Returns the operations of a plan; an undo shows them in its preview."""
        if not plan_id:
            return ()
        repository = self._host.engine().plans.repository()
        return repository.plan(repository.load(plan_id)).operations

    def _driven(
        self, work: "Generator[RunUpdate, None, RunReport]", watched: RunProgressView
    ) -> "RunReport":
        while True:
            try:
                live = next(work)
            except StopIteration as end:
                report: RunReport = end.value
                return report
            watched.take(live)
            self._messages.post(RunActivity(live))


def _taken_back(
    engine: "Engine", preview: "UndoPlan", channel: str
) -> "Generator[RunUpdate, None, RunReport]":
    """Applies an undo or redo; for a whole run, the session's todos are restored too (F128)."""
    report = yield from engine.undo.apply(preview, channel)
    if preview.restores_todos and report.outcome in DONE:
        with engine.runs.housekeeping("The todos were not restored"):
            engine.sessions.restore_todos(preview.source, preview.target.runs[0])
    return report


def _taken_up(
    engine: "Engine", way: RecoveryChoice, run: str
) -> "Generator[RunUpdate, None, RunReport]":
    """Recovers an unfinished run; the end of an undo is reported as the undo's own."""
    report = yield from engine.runs.recover(way, run)
    _, told = engine.undo.recorded(report) or (None, report)
    return told


def _on_screen(error: AssentError) -> AssentError:
    """Returns an error that names the commands of this screen."""
    return AssentError(with_screen_commands(error.message), next_on_screen(error.next))
