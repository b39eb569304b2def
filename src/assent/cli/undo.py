"""`assent undo` and `assent redo`: taking back, by a plan that is shown and agreed to."""

import click

from assent.cli.asking import consent
from assent.cli.call import Call, examples, named, takes_call
from assent.cli.interrupts import INTERRUPTED, interruptible
from assent.cli.run import ALL_CONFLICT, EXITS, answer, watched
from assent.core.errors import Declined, UsageError
from assent.engine.run.runs import RunReport
from assent.engine.run.undoing import Undo
from assent.views.rows import operation_row, run_row
from assent.views.status import next_instead, run_lines
from assent.views.undo import preview_row, undo_command, undo_lines


@click.command(
    epilog=examples(
        "assent undo --dry-run\nassent undo\nassent undo 01k9 --digest 3f2a...\n"
        "assent undo 01k9 --operation 2"
    )
)
@click.argument("run", required=False, callback=named)
@click.option("--operation", metavar="OP", callback=named, help="Only this: an id, or a number.")
@click.option("--dry-run", is_flag=True, help="Only show what would be taken back.")
@click.option("--digest", default="", help="The digest of the undo plan that you mean.")
@takes_call
def undo(call: Call, run: str, operation: str, dry_run: bool, digest: str) -> int:
    """Take a run back by its inverse plan. Files that changed since are left alone and listed.

    RUN is a run, a turn (SESSION.N) or a command of a session, by its id or the start of it; by
    default the newest that still counts. What commands changed is taken back as far as it was
    recorded; what is not covered is listed before you agree.
    """
    _check(call, dry_run=dry_run, digest=digest)
    plan_id = call.record().plan_id if call.plan else ""
    preview = call.engine.undoing.preview(run, plan_id, operation)
    code = _carried_out(call, preview, dry_run=dry_run, digest=digest)
    if not dry_run and not code and preview.source.plan_id and not preview.target.only:
        call.engine.sessions.restore_todos(preview.source, preview.target.runs[0])
    return code


@click.command(
    epilog=examples("assent redo --dry-run\nassent redo\nassent redo 01k9 --digest 3f2a...")
)
@click.argument("run", required=False, callback=named)
@click.option("--dry-run", is_flag=True, help="Only show what would be done again.")
@click.option("--digest", default="", help="The digest of the plan that you mean.")
@takes_call
def redo(call: Call, run: str, dry_run: bool, digest: str) -> int:
    """Take an undo back: the newest one, if no other run came after it, or the one of RUN.

    RUN is the run that was undone, or the undo itself. Files that changed since are left alone.
    Commands are not run again: the files that they had changed are restored.
    """
    _check(call, dry_run=dry_run, digest=digest)
    return _carried_out(call, call.engine.undoing.redo(run), dry_run=dry_run, digest=digest)


def _check(call: Call, *, dry_run: bool, digest: str) -> None:
    if dry_run and digest:
        raise UsageError("Give --dry-run or --digest, not both.", f"{call.command} --help")
    if dry_run:
        call.engine.runs.reckon()  # else an undo would later be about more than was shown
    else:
        watched(call, call.engine.runs.settle())


def _carried_out(call: Call, preview: Undo, *, dry_run: bool, digest: str) -> int:
    if dry_run or not preview.plan.operations:
        return _answer_preview(call, preview, dry_run=dry_run)
    wanted = preview.plan.digest
    try:
        channel = consent(call, wanted, digest, lambda: call.engine.reviews.undo_review(preview))
    except Declined as no:
        again = undo_command(preview.run, preview.extent)
        raise Declined(no.message, f"{again} --digest {wanted}") from None
    try:
        with interruptible():
            code = _answer(
                call, preview, watched(call, call.engine.undoing.apply(preview, channel))
            )
            call.engine.keeping.retain(daily=True)
            return code
    except KeyboardInterrupt:
        if not call.engine.runs.stands_still():
            raise
    waiting = watched(call, call.engine.runs.recover())  # which only says that it waits
    answer(call, waiting)
    return INTERRUPTED


def _answer(call: Call, preview: Undo, report: RunReport) -> int:
    """Says what was restored, what was left alone, and what is not covered."""
    row = run_row(report.run, report.outcome, report.operations, report.exits)
    results = [
        (result, op) for (_, result), op in zip(report.operations, report.about, strict=True)
    ]
    good = "done" if preview.extent.again else "undone"
    names = [name for name, _ in report.operations]
    told = _row(preview)
    more = {
        "restored": [
            operation_row(name, op)
            for name, (result, op) in zip(names, results, strict=True)
            if result == good
        ],
        "conflicts": told["conflicts"],
        "not_covered": told["not_covered"],
        "notes": list(report.notes),
    }
    lines = run_lines(report.run, report.outcome, results, report.notes, report.exits)
    if report.outcome == "done":
        lines = next_instead(lines, _after(call, preview, report.run))
    call.output.answer({**row, **more}, lines)
    return EXITS[report.outcome]


def _after(call: Call, preview: Undo, run: str) -> str:
    """Returns what to type next: to see what was left alone, else to go back."""
    if preview.inversion.conflicts:
        return f"assent runs show {preview.target.runs[0]}"
    return call.engine.undoing.way_back(preview, run)


def _answer_preview(call: Call, preview: Undo, *, dry_run: bool) -> int:
    """Says what an undo would do. If that is nothing, it is also the answer of the undo itself."""
    content = _row(preview)
    conflicts = preview.inversion.conflicts
    if not dry_run:
        left = [preview.ids[index] for index, _ in conflicts]
        content["operations"] = [{"id": name, "result": "conflict"} for name in left]
    lines = undo_lines(preview.run, preview.plan, preview.ids, preview.inversion, preview.extent)
    call.output.answer(content, lines)
    return ALL_CONFLICT if not preview.plan.operations and conflicts else 0


def _row(preview: Undo) -> dict[str, object]:
    undone = (preview.ids, preview.originals)
    return preview_row(preview.run, preview.plan, undone, preview.inversion, preview.extent)
