"""`assent review` and `assent diff`: a plan as it will be approved, and its differences."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from assent.cli.invocation import Invocation, or_bundle_file, with_invocation
from assent.cli.options import examples
from assent.cli.pager import colored_text_diff_lines, highlighter, print_paged
from assent.core.digest import sha256
from assent.core.errors import UsageError
from assent.core.plan.operation import RunCommand
from assent.core.plan.record import PlanRecord
from assent.render.diff import IS_NOT_SHOWN, diff_lines, text_diff
from assent.render.lines import Line
from assent.render.options import compare_options, comparison_json, comparison_lines
from assent.render.review import (
    OperationReview,
    review_diff_json,
    review_diff_lines,
    review_json,
    review_lines,
    review_texts,
)
from assent.render.rows import command_lines, operation_brief, operation_subject

if TYPE_CHECKING:
    from assent.render.highlighter import Highlighter


def _review_file(call: Invocation, file: str) -> None:
    """Shows a bundle; a plan of this workspace is reviewed without what reads and signs those."""
    from assent.cli.bundle import review_file

    review_file(call, file)


@click.command(
    epilog=examples(
        "assent review\nassent review --changes\nassent review --seen\nassent review --json\n"
        "assent review plan.json"
    )
)
@click.option("--changes", is_flag=True, help="Only show what changed since your last review.")
@click.option("--seen", is_flag=True, help="Mark the plan as reviewed.")
@with_invocation
@or_bundle_file(_review_file)
def review(call: Invocation, changes: bool, seen: bool) -> None:
    """Show a plan's risks, text and diffs in full, then its digest.

    FILE is a bundle created by `assent propose --portable`. Of several options to choose from,
    shows them side by side; --plan shows one in full.

    A plan shown in full on your terminal counts as reviewed, and the next review shows what changed
    since. A plan shown in a pager does not; use --seen to mark it.
    """
    if changes and seen:
        raise UsageError(
            "--changes does not show the whole plan, so it cannot be used with --seen.",
            "assent review",
        )
    record = call.record() if changes or seen else _reviewed_record(call)
    if record is None:
        return
    call.report_live(record)
    found = call.engine.review_history.review(record)
    whole = False
    colors = highlighter(in_color=call.output.in_color)
    if call.output.as_json:
        call.output.answer(review_diff_json(found) if changes else review_json(found))
    elif changes:
        print_paged(call.output, review_diff_lines(found, colors), folder=call.folder)
    else:
        lines = review_lines(found, colors=colors)
        whole = print_paged(call.output, lines, review_texts(found), folder=call.folder)
    if seen or whole:
        call.engine.review_history.record(record)


def _reviewed_record(call: Invocation) -> PlanRecord | None:
    """Returns the plan to review; shows options side by side where there are several."""
    options = call.options()
    if not options:
        return call.record()
    for one in options:
        call.report_live(one)
    found = compare_options([call.engine.review_history.review(one) for one in options])
    if call.output.as_json:
        call.output.answer(comparison_json(found))
    else:
        print_paged(call.output, comparison_lines(found), folder=call.folder)
    return None


@click.command(epilog=examples("assent diff\nassent diff --live"))
@click.option(
    "--live",
    is_flag=True,
    help="Compare the plan file with its approved, proposed or recorded text.",
)
@with_invocation
def diff(call: Invocation, live: bool) -> None:
    """Show staged changes, or edits to the plan text."""
    record = call.record()
    colors = highlighter(in_color=call.output.in_color)
    if not live:
        found = call.engine.reviews.review(record)
        rows = [{"id": op.id, "diff": op.diff} for op in found.operations]
        patch = "".join(op.diff or "" for op in found.operations)
        lines = [line for op in found.operations for line in _staged(op, colors)]
        call.output.answer({"operations": rows, "diff": patch}, lines)
        return
    now = call.engine.plans.live_text(record)
    against, then = call.engine.reviews.basis(record)
    change = text_diff(then, now or b"", against, "live")
    same = now is not None and sha256(now) == sha256(then)
    row = {"differs": not same, "against": against, "diff": change}
    call.output.answer(row, colored_text_diff_lines(change, colors))


def _staged(operation: OperationReview, colors: "Highlighter | None") -> Iterable[Line]:
    if isinstance(operation.op, RunCommand):
        return [
            Line("heading", f"run {operation_brief(operation.op)}"),
            *command_lines(operation.op, operation.unheld),
        ]
    if operation.diff is not None:
        return colors.diff_lines(operation.diff) if colors else diff_lines(operation.diff)
    return [Line("plain", f"{operation_subject(operation.op)}: contents {IS_NOT_SHOWN}")]
