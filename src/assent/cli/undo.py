"""`assent undo` and `assent redo`: undo a run by a plan that is shown and approved."""

from collections.abc import Callable
from functools import partial

import click

from assent.cli.approval_prompt import ApprovalPromptOptions, prompt_for_approval
from assent.cli.invocation import Invocation, with_invocation, with_output_format
from assent.cli.options import examples, reference_option
from assent.cli.run_driver import (
    answer_undo,
    recover_first,
    restore_todos,
    run_and_answer,
)
from assent.core.errors import Drift, Refused, UsageError
from assent.core.run.journal import DONE
from assent.core.text.hidden_chars import visible_line
from assent.render.lines import Line
from assent.render.review import Review
from assent.render.undo import undo_lines
from assent.runs.run_rows import nothing_undone_row, undo_row
from assent.runs.run_status import RunReport
from assent.runs.undo.service import UndoPlan


@click.command(
    epilog=examples(
        "assent undo --dry-run\nassent undo\nassent undo 01k9 --digest 3f2a...\n"
        "assent undo 01k9 --operation 2\nassent undo --output-format stream-json"
    )
)
@click.argument("run", required=False, callback=reference_option)
@click.option(
    "--operation",
    metavar="OP",
    callback=reference_option,
    help="Undo only this operation, by id or number.",
)
@click.option("--dry-run", is_flag=True, help="Only show what would be undone.")
@click.option("--digest", default="", help="Digest of the undo plan to approve.")
@with_invocation
@with_output_format
def undo(call: Invocation, run: str, operation: str, dry_run: bool, digest: str) -> int:
    """Undo a run. Files that changed since are skipped and listed.

    RUN is a run, a turn (SESSION.N) or a command of a session, by its id or the start of it
    (default: the newest that is not undone). Changes made by commands are undone as far as they
    were recorded. What is not covered, and what a command's own undo may overwrite, is listed
    before you approve.
    """
    taken_up = _check(call, dry_run=dry_run, digest=digest)
    if taken_up and not operation and (found := _meant(call, taken_up, run, digest)):
        return answer_undo(call, *found)
    plan_id = call.record().plan_id if call.plan else ""
    preview = call.engine.undo.preview(run, plan_id, operation)
    default = not run and not operation
    return _carried_out(call, preview, default=default, dry_run=dry_run, digest=digest)


@click.command(
    epilog=examples(
        "assent redo --dry-run\nassent redo\nassent redo 01k9 --digest 3f2a...\n"
        "assent redo --output-format stream-json"
    )
)
@click.argument("run", required=False, callback=reference_option)
@click.option("--dry-run", is_flag=True, help="Only show what would be redone.")
@click.option("--digest", default="", help="Digest of the redo plan to approve.")
@with_invocation
@with_output_format
def redo(call: Invocation, run: str, dry_run: bool, digest: str) -> int:
    """Redo an undone run: the last one, if no other run came after it, or RUN.

    RUN is the run that was undone, or the undo itself. Files that changed since are skipped.
    Commands are not run again: the files that they changed are restored.
    """
    taken_up = _check(call, dry_run=dry_run, digest=digest)
    if taken_up and (found := _meant(call, taken_up, run, digest, again=True)):
        return answer_undo(call, *found)
    return _carried_out(call, call.engine.undo.redo(run), dry_run=dry_run, digest=digest)


def _check(call: Invocation, *, dry_run: bool, digest: str) -> RunReport | None:
    """Checks the options, and takes up what was interrupted; returns how that ended."""
    if dry_run and digest:
        raise UsageError("Pass --dry-run or --digest, not both.", f"{call.command} --help")
    if not dry_run:
        return recover_first(call)
    call.engine.runs.record_lost_command()  # else an undo would later be about more than was shown
    return None


def _meant(
    call: Invocation, taken_up: RunReport, run: str, digest: str, *, again: bool = False
) -> tuple[UndoPlan, RunReport] | None:
    """Returns the undo that was interrupted and is now done, if it is the requested one.

    Its approval is used up, and undoing the run before it as well is not what the user means.
    """
    found = call.engine.undo.recorded(taken_up) if taken_up.outcome in DONE else None
    if found is None:
        return None
    undo, _ = found
    names = (undo.run, *undo.target.runs, *undo.source.undoes.split())
    fits = undo.extent.again == again and digest in ("", undo.plan.digest)
    if call.plan and not again:  # a redo is of no plan
        fits = fits and call.record().plan_id == undo.source.plan_id
    return found if fits and any(name.startswith(run) for name in names) else None


def _with_todos(call: Invocation, undo: UndoPlan, tell: Callable[[], int], *, whole: bool) -> int:
    """Restores the todos, and then answers.

    An answer that is not shown leaves nothing undone; a failure here does not suppress the answer.
    """
    try:
        with call.engine.runs.housekeeping("The todos were not restored"):
            restore_todos(call, undo, whole=whole)
    finally:
        code = tell()
    return code


def _carried_out(
    call: Invocation, preview: UndoPlan, *, default: bool = False, dry_run: bool, digest: str
) -> int:
    call.is_about(preview.source)
    if dry_run or not preview.plan.operations:
        back = not dry_run and not preview.inversion.skipped  # others took it back, all of it
        shown = partial(_answer_preview, call, preview, default=default, dry_run=dry_run)
        return _with_todos(call, preview, shown, whole=back)
    wanted = preview.plan.digest
    manner = ApprovalPromptOptions(preview.command)
    channel = prompt_for_approval(call, wanted, digest, lambda: _review(call, preview), manner)

    def tell(call: Invocation, report: RunReport) -> int:
        answer = partial(answer_undo, call, preview, report)
        code = _with_todos(call, preview, answer, whole=report.outcome in DONE)
        call.engine.retention.retain(daily=True)
        return code

    return run_and_answer(call, call.engine.undo.apply(preview, channel), tell)


def _review(call: Invocation, preview: UndoPlan) -> Review:
    reviews, again = call.engine.reviews, preview.extent.again
    return reviews.undo_review(preview.source, preview.plan, again=again)


def _answer_preview(call: Invocation, preview: UndoPlan, *, default: bool, dry_run: bool) -> int:
    """Says what an undo would do. If that is nothing, it is also the answer of the undo itself.

    If no run was named, the next step is then to undo an earlier one.
    """
    inversion = preview.inversion
    reviews, again = call.engine.reviews, preview.extent.again
    diffs = reviews.undo_diffs(preview.source, preview.plan, again=again) if dry_run else []
    content = undo_row(preview, diffs) if dry_run else nothing_undone_row(preview)
    about = (preview.ids, inversion, preview.extent, diffs)
    lines = [*undo_lines(preview.run, preview.plan, *about)]
    if not preview.plan.operations and (after := _instead(call, preview, default=default)):
        content["next"] = [after]
        lines.append(Line("plain", f"Next: {visible_line(after)}"))
    call.output.answer(content, lines)
    if preview.plan.operations or not inversion.skipped:
        return 0
    return Drift.exit if inversion.conflicts else Refused.exit


def _instead(call: Invocation, preview: UndoPlan, *, default: bool) -> str:
    """Returns what to type if nothing can be undone: to undo an earlier run, or to see why."""
    plan_id = call.record().plan_id if call.plan else ""
    earlier = call.engine.undo.earlier(preview, plan_id) if default else ""
    why = f"assent runs show {preview.target.runs[0]}" if preview.inversion.skipped else ""
    return earlier or why
