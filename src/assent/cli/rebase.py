"""`assent rebase`: adapts a plan to files that changed, and shows each operation's outcome."""

import click

from assent.cli.invocation import Invocation, with_invocation
from assent.cli.options import examples
from assent.render.rebase import rebase_lines, rebase_row
from assent.render.rows import plan_row


@click.command(epilog=examples("assent rebase --dry-run\nassent rebase"))
@click.option("--dry-run", is_flag=True, help="Only show how the plan would change.")
@with_invocation
def rebase(call: Invocation, dry_run: bool) -> None:
    """Adapt a plan to files that changed. The result needs a new review and approval.

    Changes are kept where the lines around them are the same. If one does not fit, nothing is
    changed and all conflicts are listed. It also says if the files already contain everything.
    """
    record = call.record()
    found = call.engine.rebaser.preview(record)
    if not dry_run:
        record = call.engine.rebaser.apply(found)
    shown = call.engine.rebaser.summary(found, record)
    row = plan_row(record, approved=call.engine.approvals.is_approved(record))
    answer = {**row, **rebase_row(shown), "dry_run": dry_run}
    call.output.answer(answer, rebase_lines(shown, dry_run=dry_run))
