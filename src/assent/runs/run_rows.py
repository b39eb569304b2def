"""Runs as JSON: past ones with every operation, one that just ended, and what undoes them."""

from collections.abc import Sequence

from assent.core.paths import display_path
from assent.core.plan.operation import DeleteFile, FileOperation, Operation, RunCommand, WriteFile
from assent.core.run.journal import DONE, ReportedOutcome
from assent.core.run.workspace_changes import WorkspaceChanges
from assent.core.shell.process import script_line
from assent.core.text.hidden_chars import visible_line
from assent.core.text.secrets import redact
from assent.render.rows import (
    Row,
    argv_text,
    operation_row,
    operation_subject,
    path_fields,
    redacted_row,
    run_row,
    still_running_row,
    warning_rows,
)
from assent.render.undo import undo_preview_row
from assent.runs.history import CommandReport, PastOperation, PastRun
from assent.runs.run_status import RunReport
from assent.runs.undo.service import UndoPlan


def past_run_row(kept: PastRun) -> Row:
    """Returns a past run as one row."""
    unit = kept.unit
    return redacted_row(
        {
            "run": unit.name,
            "kind": kept.how,
            "plan": unit.record.name,
            "plan_id": unit.record.plan_id or None,
            "session": unit.record.session or None,
            "runs": list(unit.runs),
            "at": kept.at,
            "outcome": kept.outcome,
            "operations": kept.operations,
            "own": kept.own,
            "shared": kept.shared,
            "undone": kept.undone == "all",
            "partly_undone": kept.undone == "some",
            "accepted": kept.accepted,
            "given_up": kept.given_up or None,
        }
    )


def past_operation_row(item: PastOperation) -> Row:
    """Returns an operation of a past run, with its result and what its command did."""
    row = item_row(item.number, item.id, item.operation, item.line)
    line = visible_line(script_line(item.line))
    about = line if item.operation is None else operation_subject(item.operation)
    row |= redacted_row({"result": item.result, "run": item.run, "about": about})
    row |= {} if item.told is None else {"command": _told(item.told)}
    if item.back is None or not isinstance(item.operation, RunCommand):
        return row
    undo = redacted_row({"line": argv_text(item.operation.undo)})
    return {**row, "roll_back": {**undo, **_told(item.back)}}


def item_row(number: int, name: str, op: Operation | None, line: str) -> Row:
    """Returns an operation of a past run as a row; a session's command has its line."""
    if op is None:
        return redacted_row({"number": number, "id": name, "kind": "run", "line": line})
    return {"number": number, **operation_row(name, op)}


def _told(told: CommandReport) -> Row:
    when: dict[str, object] = {
        "began": told.began or None,
        "ended": told.ended or None,
        "code": told.code,
        "cut": told.cut,
    }
    return command_row(when, told.changes, told.output)


def command_row(told: dict[str, object], changes: WorkspaceChanges, output: bytes) -> Row:
    """Returns what a command did as one object; secrets in what it said are masked."""
    hidden = {left.path: left.how for left in changes.skipped if left.kept}
    return redacted_row(
        {
            **told,
            "output": display_path(output),
            "changed": [
                {**path_fields("path", op.path), "how": hidden.get(op.path) or _how(op)}
                for op in changes.operations
            ],
            "skipped": [
                {**path_fields("path", left.path), "how": left.how, "why": left.why}
                for left in changes.skipped
                if not left.kept
            ],
            "known": changes.known,
        }
    )


def _how(op: FileOperation) -> str:
    match op:
        case WriteFile(before=None):
            return "new"
        case DeleteFile():
            return "gone"
        case _:
            return "changed"


def report_row(report: RunReport) -> Row:
    """Returns how a run ended, or where it stopped."""
    notes = tuple(map(redact, report.notes))
    row = run_row(report.run, report.outcome, report.operations, report.exits, notes)
    row |= still_running_row(report.running) | warning_rows(report.warnings)
    return {**row, "next": [report.onward]} if report.onward else row


def undo_outcome(undo: UndoPlan, report: RunReport) -> ReportedOutcome:
    """Returns how an undo or a redo ended: with nothing, if nothing of it was done."""
    good = _good(undo)
    some = report.outcome not in DONE or any(result == good for _, result in report.operations)
    return report.outcome if some else "nothing"


def undo_report_row(undo: UndoPlan, report: RunReport) -> Row:
    """Returns how an undo or a redo ended: what was restored, and what was left alone."""
    notes = tuple(map(redact, report.notes))
    outcome, good = undo_outcome(undo, report), _good(undo)
    row = run_row(report.run, outcome, report.operations, report.exits, notes)
    row |= still_running_row(report.running)
    row |= {"next": [report.onward]} if report.onward and report.outcome == "needs_you" else {}
    told = undo_row(undo)
    pairs = zip(report.operations, report.about, strict=True)
    return {
        **row,
        "restored": [operation_row(name, op) for (name, result), op in pairs if result == good],
        "conflicts": told["conflicts"],
        "denied": told["denied"],
        "not_covered": told["not_covered"],
        "notes": row.get("notes", []),
    }


def _good(undo: UndoPlan) -> str:
    return "done" if undo.extent.again else "undone"


def undo_row(undo: UndoPlan, diffs: Sequence[str | None] = ()) -> Row:
    """Returns what an undo would do, or did."""
    undone = (undo.ids, undo.originals)
    return undo_preview_row(undo.run, undo.plan, undone, undo.inversion, undo.extent, diffs)


def nothing_undone_row(undo: UndoPlan) -> Row:
    """Returns the end of an undo that has nothing to do, with why each operation was left."""
    left = undo.inversion.results.items()
    rows = [{"id": undo.ids[index], "result": result} for index, result in left]
    return {**undo_row(undo), "operations": rows}
