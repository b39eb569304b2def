"""What `build`, `recover`, `undo` and `redo` print when a run is over."""

from collections.abc import Iterable, Iterator, Sequence

from assent.cli.errors import STATUS_COMMAND
from assent.cli.invocation import Invocation
from assent.core.plan.operation import RunCommand
from assent.core.run.journal import DONE, ReportedOutcome
from assent.core.text.hidden_chars import visible_line
from assent.core.text.secrets import redact
from assent.core.undo import NOT_APPLIED
from assent.render.lines import Line
from assent.render.rows import operation_row, run_row, still_running_row, warning_rows
from assent.render.status import (
    NO_LEFTOVERS,
    RemovedLeftovers,
    replace_next_command,
    run_lines,
    stopped_run_lines,
    with_removed_leftovers,
)
from assent.render.undo import undo_end_lines, undo_preview_row
from assent.runs.runs import RunReport
from assent.runs.undo.service import UndoPlan

EXIT_CODES: dict[ReportedOutcome, int] = {
    "done": 0, "nothing": 0, "partial": 1, "rolled_back": 1, "needs_you": 6,
}  # fmt: skip


def answer_run(
    call: Invocation, report: RunReport, removed: RemovedLeftovers = NO_LEFTOVERS
) -> int:
    """Says how a run went, and returns the exit code that says it."""
    notes = tuple(map(redact, report.notes))
    row = run_row(report.run, report.outcome, report.operations, report.exits, notes)
    row |= still_running_row(report.running) | warning_rows(report.warnings)
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
        row, lines = {**row, "next": [report.onward]}, stopped_run_lines(lines, report.onward)
    if report.outcome == "rolled_back" and not report.permitted:
        lines = replace_next_command(lines, call.of_plan("assent review"))
    if report.outcome == "done" and all(isinstance(op, RunCommand) for op in report.about):
        with call.engine.runs.housekeeping("How to go back from here could not be read"):
            lines = replace_next_command(lines, call.engine.undo.status(report.run)[1])
    call.output.answer(*with_removed_leftovers(row, lines, removed))
    return EXIT_CODES[report.outcome]


def answer_undo(call: Invocation, preview: UndoPlan, report: RunReport) -> int:
    """Says what was restored, what was left alone, and what is not covered."""
    notes = tuple(map(redact, report.notes))
    results = [
        (result, op) for (_, result), op in zip(report.operations, report.about, strict=True)
    ]
    good = "done" if preview.extent.again else "undone"
    found = [result for result, _ in results]
    some = report.outcome not in DONE or good in found
    outcome: ReportedOutcome = report.outcome if some else "nothing"
    row = run_row(report.run, outcome, report.operations, report.exits, notes)
    row |= still_running_row(report.running)
    names = [name for name, _ in report.operations]
    told = undo_row(preview)
    more = {
        "restored": [
            operation_row(name, op)
            for name, (result, op) in zip(names, results, strict=True)
            if result == good
        ],
        "conflicts": told["conflicts"],
        "denied": told["denied"],
        "not_covered": told["not_covered"],
        "notes": row.get("notes", []),
    }
    lines = run_lines(report.run, report.outcome, results, notes, report.exits)
    if report.outcome in DONE:
        lines = undo_end_lines(lines, found, notes, preview.extent)
        lines = replace_next_command(lines, _way_back(call, preview, report))
    elif report.outcome == "rolled_back":
        lines = _not_done(lines, preview, _way_back(call, preview, report))
    elif report.onward:
        row, lines = {**row, "next": [report.onward]}, stopped_run_lines(lines, report.onward)
    call.output.answer({**row, **more}, lines)
    return EXIT_CODES[outcome]


def _way_back(call: Invocation, preview: UndoPlan, report: RunReport) -> str:
    """Returns what to type next; where the log cannot be read, what shows where things stand."""
    with call.engine.runs.housekeeping("How to go on from here could not be read"):
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
    if whole and undo.source.plan_id and not undo.target.only and not undo.extent.again:
        call.engine.sessions.restore_todos(undo.source, undo.target.runs[0])


def undo_row(preview: UndoPlan, diffs: Sequence[str | None] = ()) -> dict[str, object]:
    """Returns what an undo would do, or did, as JSON."""
    undone = (preview.ids, preview.originals)
    return undo_preview_row(
        preview.run, preview.plan, undone, preview.inversion, preview.extent, diffs
    )
