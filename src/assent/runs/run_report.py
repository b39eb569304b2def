"""Run reports: how a run ended, and what an error says about the last edit of this process."""

from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from assent.core.errors import STORED, RunUnfinished, StoreError
from assent.core.paths import display_path
from assent.core.plan.operation import Operation, footprint
from assent.core.run.journal import OperationResult, ReportedOutcome
from assent.runs.run_status import RunStatus

NAMED = 5  # operations that an error lists


class RunReport(msgspec.Struct, frozen=True):
    """How a run ended, operation by operation."""

    run: str
    outcome: ReportedOutcome
    operations: tuple[tuple[str, OperationResult], ...] = ()
    notes: tuple[str, ...] = ()
    about: tuple[Operation, ...] = ()  # the operations that the ids name
    left: tuple[str, ...] = ()  # of a model's build: steps that are not marked as done
    exits: tuple[int | None, ...] = ()  # of commands that ran; empty if none was involved
    running: tuple[tuple[str, str], ...] = ()  # commands, and what each left running at its end
    onward: str = ""  # of one that needs you: the one command to type, where there is no choice
    warnings: tuple[str, ...] = ()  # about the place where it was built
    permitted: bool = False  # an edit of a session: it has no plan, and no approval


NO_RUN = RunReport("", "nothing")


class LastEdit:
    """What this process changed last outside plans, for errors that come after it."""

    def __init__(self) -> None:
        self.report: RunReport | None = None

    @contextmanager
    def telling(self) -> Iterator[None]:
        """Adds what happened to the last edit to an error of the log in what follows."""
        self.report = None
        try:
            yield
        except StoreError as error:
            last = self.report
            if last is None:
                raise
            if last.outcome == "needs_you":
                raise unfinished_error(last) from error
            words = f"{error.message.replace(STORED, '').strip()} {_over(last)}"
            raise StoreError(words, error.next) from error

    def check_over(self, runs: RunStatus) -> None:
        """Raises if the last edit is not finished, because the log or the disk failed."""
        if self.report and self.report.onward and runs.unfinished():
            raise unfinished_error(self.report)


def unfinished_error(report: RunReport) -> RunUnfinished:
    """Returns the error for a run that needs the user's decision."""
    told = " ".join(report.notes)
    if not report.onward:
        told = f"Run {report.run} could not be rolled back and needs the user's decision. {told}"
    return RunUnfinished(f"{told} {_rows(report)}", "assent recover")


def _over(report: RunReport) -> str:
    """Says how a run ended that is over."""
    if report.outcome == "rolled_back":
        return f"Run {report.run} was rolled back: all its files are as they were before."
    return f"Run {report.run} is finished. {_rows(report)}"


def _rows(report: RunReport) -> str:
    """Names the operations of a run, each with what is known of it."""
    rows = zip(report.about, report.operations, strict=True)
    told = [f"{_paths(op)} ({result.replace('_', ' ')})" for op, (_, result) in rows]
    more = f", and {len(told) - NAMED} more" if len(told) > NAMED else ""
    return f"Files: {', '.join(told[:NAMED])}{more}."


def _paths(op: Operation) -> str:
    return " to ".join(display_path(path) for path, *_ in footprint(op))
