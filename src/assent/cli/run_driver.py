"""Drives a run to its end for a command, shows its progress, and prints how it ended."""

from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from typing import TypeVar

from assent.cli.invocation import Invocation
from assent.cli.output import STATUS_COMMAND, as_assent_error, build_interrupted, run_interrupted
from assent.cli.terminal import INTERRUPTED, interruptible
from assent.core.errors import RUN_WAITS, Interrupted, UsageError
from assent.core.plan.operation import RunCommand
from assent.core.plan.record import PlanRecord, PlanRun
from assent.core.run.journal import (
    DONE,
    CommandProgress,
    ReportedOutcome,
    RunUpdate,
)
from assent.core.text.hidden_chars import visible_line
from assent.core.text.secrets import redact
from assent.core.undo import NOT_APPLIED
from assent.render.command_output import progress_brief
from assent.render.lines import Line
from assent.render.rows import Row
from assent.render.status import (
    NO_LEFTOVERS,
    RemovedLeftovers,
    removed_leftovers_lines,
    replace_next_command,
    run_lines,
    stopped_run_lines,
    with_removed_leftovers,
)
from assent.render.undo import undo_end_lines
from assent.runs.run_rows import report_row, undo_outcome, undo_report_row
from assent.runs.run_status import RunReport
from assent.runs.undo.service import UndoPlan

# What `build`, `recover`, `undo` and `redo` print when a run is over.


EXIT_CODES: dict[ReportedOutcome, int] = {
    "done": 0, "nothing": 0, "partial": 1, "rolled_back": 1, "needs_you": 6,
}  # fmt: skip


def answer_run(
    call: Invocation, report: RunReport, removed: RemovedLeftovers = NO_LEFTOVERS
) -> int:
    """Says how a run went, and returns the exit code that says it."""
    notes, row = tuple(map(redact, report.notes)), report_row(report)
    results = [
        (result, op) for (_, result), op in zip(report.operations, report.about, strict=True)
    ]
    lines = run_lines(
        report.run,
        report.outcome,
        results,
        notes,
        report.exits,
        permitted=report.permitted,
    )
    if report.onward:
        lines = stopped_run_lines(lines, report.onward)
    if report.outcome == "rolled_back" and not report.permitted:
        lines = replace_next_command(lines, call.of_plan("assent review"))
    if report.outcome == "done" and all(isinstance(op, RunCommand) for op in report.about):
        with call.engine.runs.housekeeping("Could not determine how to undo this run"):
            lines = replace_next_command(lines, call.engine.undo.status(report.run)[1])
    call.output.answer(*with_removed_leftovers(row, lines, removed))
    return EXIT_CODES[report.outcome]


def answer_undo(call: Invocation, preview: UndoPlan, report: RunReport) -> int:
    """Says what was restored, what was left alone, and what is not covered."""
    row, lines, code = undo_answer(call, preview, report)
    call.output.answer(row, lines)
    return code


def undo_answer(
    call: Invocation, preview: UndoPlan, report: RunReport
) -> tuple[Row, Iterable[Line], int]:
    """Returns how an undo ended, as JSON and as lines, and the exit code that says it."""
    notes = tuple(map(redact, report.notes))
    results = [
        (result, op) for (_, result), op in zip(report.operations, report.about, strict=True)
    ]
    found, row = [result for result, _ in results], undo_report_row(preview, report)
    lines = run_lines(report.run, report.outcome, results, notes, report.exits)
    if report.outcome in DONE:
        lines = undo_end_lines(lines, found, notes, preview.extent)
        lines = replace_next_command(lines, _way_back(call, preview, report))
    elif report.outcome == "rolled_back":
        lines = _not_done(lines, preview, _way_back(call, preview, report))
    elif report.onward:
        lines = stopped_run_lines(lines, report.onward)
    return row, lines, EXIT_CODES[undo_outcome(preview, report)]


def _way_back(call: Invocation, preview: UndoPlan, report: RunReport) -> str:
    """Returns what to type next; where the log cannot be read, what shows where things stand."""
    with call.engine.runs.housekeeping("Could not determine the next command"):
        return call.engine.undo.next_command(preview, report)
    return STATUS_COMMAND


def _not_done(lines: Iterable[Line], undo: UndoPlan, onward: str) -> Iterator[Line]:
    """Passes lines on, and says what stands: every file is as it was, but before the undo."""
    *before, _ = lines
    yield from before
    verb = "redone" if undo.extent.again else "undone"
    yield Line("plain", f"Not {verb}: run {visible_line(undo.run)}")
    yield Line("plain", f"Next: {visible_line(onward)}")


def restore_todos_after_undo(call: Invocation, undo: UndoPlan, report: RunReport) -> None:
    """Sets the todos of a session back with an undo that was taken up, if all of it was done."""
    missed = not NOT_APPLIED.isdisjoint(result for _, result in report.operations)
    restore_todos(call, undo, whole=report.outcome in DONE and not missed)


def restore_todos(call: Invocation, undo: UndoPlan, *, whole: bool) -> None:
    """Sets the todos of a session back with a whole run of its plan (F128)."""
    if whole and undo.restores_todos:
        call.engine.sessions.restore_todos(undo.source, undo.target.runs[0])


R = TypeVar("R")


def build_and_answer(call: Invocation, record: PlanRecord, model: str = "", agent: str = "") -> int:
    """Builds a plan, says how it went, and lets go what is kept of runs beyond the limits."""
    call.is_about(record)
    with interruptible():
        if call.engine.runs.is_text_plan(record):
            recover_first(call)  # the builder has its own engine, whose messages are not the call's
        code = _built(call, record, model, agent)
        if not code:
            call.engine.retention.retain()
    return code


def recover_first(call: Invocation) -> RunReport | None:
    """Takes up what was interrupted, before something else is done; returns how that ended."""
    runs = call.engine.runs
    try:
        with interruptible():
            return show_progress(call, runs.recover_unfinished())
    except KeyboardInterrupt as interrupt:
        if not runs.waits_for_person():
            raise
        show_progress(call, runs.recover())  # which only says that it waits
        words = f"{as_assent_error(interrupt).message} {RUN_WAITS}"
        raise Interrupted(words, "assent recover") from None


def _built(call: Invocation, record: PlanRecord, model: str, agent: str) -> int:
    if call.engine.runs.is_text_plan(record):
        from assent.cli.text_plan_build import build_text_plan

        return build_text_plan(call, record, model, agent)
    if model or agent:
        raise UsageError(
            "A plan with operations is built without a model; drop --model and --agent.",
            "assent build",
        )
    try:
        return run_and_answer(call, call.engine.runs.build(record.plan_id))
    except KeyboardInterrupt as interrupt:
        now = call.engine.runs.repository().load(record.plan_id)
        if not call.engine.approvals.is_approved(now):
            raise
        raise build_interrupted(interrupt, f"assent build --plan {record.plan_id}") from None


def show_progress(call: Invocation, work: Generator[RunUpdate, None, R]) -> R:
    """Shows progress until the work ends, and returns what it ends with."""
    call.seen = None
    left = call.engine.runs.unfinished()
    try:
        with closing(work):  # an interrupt may come while something is shown; then it ends here
            while True:
                call.seen = next(work)
                call.output.live(call.seen)
    except StopIteration as end:
        result: R = end.value
        return result
    except KeyboardInterrupt as interrupt:
        raise _cut_short(call, interrupt) or interrupt from None
    finally:
        call.output.progress_over()
        if left is not None and left[0]:
            _end_undo(call, *left)


def _end_undo(call: Invocation, plan_id: str, note: PlanRun) -> None:
    """Completes an undo that was interrupted, if the current command has just resumed it.

    It does not matter which command that was, or how it continued: the undo is finished, and
    nothing returns to it. A failure here does not suppress the answer.
    """
    runs = call.engine.runs
    with runs.housekeeping("The todos were not restored"):
        repository = runs.repository()
        record = repository.load(plan_id)
        if not record.undoes or record.unfinished:
            return
        found = call.engine.undo.recorded(runs.report(repository, note.run, repository.plan(note)))
        if found is not None:
            restore_todos_after_undo(call, *found)


def _cut_short(call: Invocation, interrupt: KeyboardInterrupt) -> Interrupted | None:
    """Returns what to say of a run that is not over and that no person has to decide about."""
    runs = call.engine.runs
    left = runs.unfinished()
    if left is None or left[1].halted or runs.waits_for_person():
        return None
    # After any update that follows the recording of files, a command may have begun and ended.
    due = (
        call.seen if isinstance(call.seen, CommandProgress) and call.seen.what == "before" else None
    )
    return run_interrupted(interrupt, left[1].run, progress_brief(due) if due else "")


def answer_recovered(
    call: Invocation, report: RunReport, removed: RemovedLeftovers = NO_LEFTOVERS
) -> int:
    """Says how a run went that was taken up again; of an undo, as the undo itself would have."""
    found = None
    with call.engine.runs.housekeeping("Could not read what the run undoes"):
        found = call.engine.undo.recorded(report)
    if found is None:
        return answer_run(call, report, removed)
    for line in removed_leftovers_lines(removed):
        call.engine.warn(line.text)
    return answer_undo(call, *found)


def run_and_answer(
    call: Invocation,
    work: Generator[RunUpdate, None, RunReport],
    tell: Callable[[Invocation, RunReport], int] = answer_run,
) -> int:
    """Follows a run and reports how it went, also if the user interrupted its command."""
    try:
        with interruptible():
            return tell(call, show_progress(call, work))
    except KeyboardInterrupt:
        if not call.engine.runs.waits_for_person():
            raise
    waiting = show_progress(call, call.engine.runs.recover())  # which only says that it waits
    answer_recovered(call, waiting)
    return INTERRUPTED
