"""Drives builds, recoveries, undo and redo in a thread, and reports by messages."""

from collections.abc import Callable, Generator
from threading import Thread
from typing import TYPE_CHECKING

from assent.core.errors import AssentError, Busy
from assent.core.run.journal import DONE, RecoveryChoice, RunUpdate
from assent.core.text.secrets import redact
from assent.render.lines import Line
from assent.tui.hints import next_step, with_screen_commands
from assent.tui.host import ScreenHost
from assent.tui.run_progress_view import RunProgressView
from assent.tui.workers.message_queue import MessageQueue
from assent.tui.workers.messages import RunActivity, RunBegan, RunOver

if TYPE_CHECKING:
    from assent.app.engine import Engine
    from assent.core.plan.operation import Operation
    from assent.runs.runs import RunReport
    from assent.runs.undo.service import UndoPlan

PAUSE_S = 0.05
BUSY = "A run is at work; wait for its end, or interrupt its command with Esc."


class RunController:
    """One run at a time. The files themselves change only in the executor."""

    def __init__(self, host: ScreenHost, mailbox: MessageQueue) -> None:
        self._host = host
        self._mailbox = mailbox
        self._thread: Thread | None = None
        self.at_work = False  # cleared as the end is reported, so that who hears it sees it
        self.watched: RunProgressView | None = None  # the run at work, or the last one
        self.report: RunReport | None = None  # how that one ended

    def build(self, plan_id: str, digest: str = "") -> None:
        """Applies a plan of operations that was approved; with a digest, only that one."""
        self._start("build", plan_id, lambda: self._host.engine().runs.build(plan_id, digest))

    def recover(self, way: RecoveryChoice = "auto", run: str = "") -> None:
        """Takes up the unfinished run, the way the person chose for the one that they saw."""
        self._start("recover", "", lambda: _taken_up(self._host.engine(), way, run))

    def undo(self, preview: "UndoPlan", channel: str) -> None:
        """Takes back what the person saw and agreed to."""
        verb = "redo" if preview.extent.again else "undo"
        engine = self._host.engine()
        self._start(verb, "", lambda: _taken_back(engine, preview, channel))

    def end(self) -> None:
        """Has a run at work come to rest, and waits for it: its command ends, files are finished.

        It may not have come as far as to be interrupted, so it is told until it hears.
        """
        while self._thread is not None and self._thread.is_alive():
            self.interrupt()
            self._thread.join(PAUSE_S)

    @property
    def halted(self) -> bool:
        """Whether the last run waits for a person's decision."""
        return self.report is not None and self.report.outcome == "needs_you"

    def interrupt(self) -> bool:
        """Ends the command that a run is in; files are never left halfway."""
        return self.at_work and self._host.engine().runs.interrupt()

    def _start(
        self, verb: str, plan_id: str, work: "Callable[[], Generator[RunUpdate, None, RunReport]]"
    ) -> None:
        if self.at_work:
            raise Busy(BUSY)
        self.watched, self.report = RunProgressView(verb), None
        self.at_work = True
        self._thread = Thread(target=self._drive, args=(verb, plan_id, work), name="run")
        self._thread.start()

    def _drive(
        self, verb: str, plan_id: str, work: "Callable[[], Generator[RunUpdate, None, RunReport]]"
    ) -> None:
        self._mailbox.post(RunBegan(verb, plan_id))
        error: AssentError | None = None
        try:
            self.watched = RunProgressView(verb, self._operations(plan_id))
            self.report = report = self._driven(work(), self.watched)
            self.watched.end(report_lines(report))
            self._host.engine().retention.retain()
        except AssentError as failure:
            error = failure
        except Exception as failure:
            error = self._mailbox.internal_error(failure)
        finally:
            if error is not None and self.watched is not None:
                self.watched.fail(_on_screen(error))
            self._mailbox.post(RunOver(verb, self.report, error), self._rest)

    def _rest(self) -> None:
        self.at_work = False

    def _operations(self, plan_id: str) -> "tuple[Operation, ...]":
        """Returns what a plan is about to do; an undo says it in the preview."""
        if not plan_id:
            return ()
        ledger = self._host.engine().plans.repository()
        return ledger.plan(ledger.load(plan_id)).operations

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
            self._mailbox.post(RunActivity(live))


def _taken_back(
    engine: "Engine", preview: "UndoPlan", channel: str
) -> "Generator[RunUpdate, None, RunReport]":
    """Applies an undo or redo; with a whole run, the todos of its session go back, too (F128)."""
    report = yield from engine.undo.apply(preview, channel)
    whole = preview.source.plan_id and not preview.target.only and not preview.extent.again
    if whole and report.outcome in DONE:
        with engine.runs.housekeeping("The todos were not set back"):
            engine.sessions.restore_todos(preview.source, preview.target.runs[0])
    return report


def _taken_up(
    engine: "Engine", way: RecoveryChoice, run: str
) -> "Generator[RunUpdate, None, RunReport]":
    """Takes up an unfinished run; the end of an undo is told as the undo's own."""
    report = yield from engine.runs.recover(way, run)
    _, told = engine.undo.recorded(report) or (None, report)
    return told


def _on_screen(error: AssentError) -> AssentError:
    """Returns an error whose words name what can be done on this screen."""
    return AssentError(with_screen_commands(error.message), next_step(error.next))


def report_lines(report: "RunReport") -> list[Line]:
    """Renders how a run ended, operation by operation; the panel says what can be done next."""
    from assent.render.status import run_lines

    pairs = zip(report.operations, report.about, strict=True)
    results = [(result, op) for (_, result), op in pairs]
    notes = tuple([redact(with_screen_commands(note)) for note in report.notes])
    *lines, _ = run_lines(
        report.run,
        report.outcome,
        results,
        notes,
        report.exits,
        permitted=report.permitted,
    )
    return lines
