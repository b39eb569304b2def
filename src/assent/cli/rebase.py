"""`assent rebase`: makes a plan whose files changed fit them again."""

import click

from assent.cli.invocation import Invocation, examples, with_invocation
from assent.cli.render.rebase import RebaseSummary, rebase_lines, rebase_row
from assent.render.rows import plan_row


@click.command(epilog=examples("assent rebase --dry-run\nassent rebase"))
@click.option("--dry-run", is_flag=True, help="Only show what would become of the plan.")
@with_invocation
def rebase(call: Invocation, dry_run: bool) -> None:
    """Make a plan fit files that changed since it was made; it is reviewed and approved anew.

    Changes stay where the lines around them are as they were. Where one does not fit, nothing is
    changed, and every conflict is named. If the files hold all of it already, that is said.
    """
    record = call.record()
    found = call.engine.rebaser.preview(record)
    if not dry_run:
        record = call.engine.rebaser.apply(found)
    digest = found.plan.digest if found.plan else ""
    shown = RebaseSummary(
        found.outcomes,
        found.was.digest if found.was else "",
        digest,
        found.relied_on,
        found.differs,
        found.is_empty,
        call.engine.plans.reference(record),
        call.engine.plans.reference(record, current=False),
    )
    row = plan_row(record, approved=call.engine.approvals.is_approved(record))
    answer = {**row, **rebase_row(shown), "dry_run": dry_run}
    call.output.answer(answer, rebase_lines(shown, dry_run=dry_run))
