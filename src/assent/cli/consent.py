"""`assent propose`, `approve`, `reject`: the step between a draft and a run."""

import click

from assent.cli.asking import TERMINAL, consent
from assent.cli.call import Call, examples, takes_call
from assent.cli.run import build_and_answer
from assent.cli.source import text
from assent.core.lifecycle import Moment, advance
from assent.core.record import PlanRecord
from assent.views.rows import plan_row
from assent.views.status import plan_lines


@click.command(epilog=examples("assent propose\nassent propose --json"))
@takes_call
def propose(call: Call) -> None:
    """Freeze text and staged operations into a plan with one digest."""
    _answer(call, call.engine.consents.propose(call.record()))


@click.command(
    epilog=examples(
        "assent approve\nassent approve --digest 3f2a... --note 'Checked with Ada' --build"
    )
)
@click.option("--digest", default="", help="The digest you mean; it must be the plan's.")
@click.option("--note", default="", help="Words that travel with the approval.")
@click.option("--build", "then_build", is_flag=True, help="Apply it right away.")
@takes_call
def approve(call: Call, digest: str, note: str, then_build: bool) -> int | None:
    """Say yes to one digest. Asks on the terminal, after showing everything."""
    record = call.record()
    advance(record.state, Moment.APPROVE)
    call.engine.plans.check_live(record)
    channel = consent(call, record.digest, digest, lambda: call.engine.reviews.review(record))
    if channel == TERMINAL:  # reading takes time: what was shown must still be what is there
        call.engine.consents.check_files(record)
    record = call.engine.consents.approve(record, record.digest, text(note), channel)
    if then_build:
        return build_and_answer(call, record)
    _answer(call, record)
    return None


@click.command(epilog=examples("assent reject --note 'Keep the old name as an alias'"))
@click.option("--note", required=True, help="What should be different.")
@takes_call
def reject(call: Call, note: str) -> None:
    """Say no, with words. The plan goes back to drafting."""
    _answer(call, call.engine.consents.reject(call.record(), text(note)))


def _answer(call: Call, record: PlanRecord) -> None:
    row = plan_row(record, approved=call.engine.consents.is_approved(record))
    call.output.answer(row, plan_lines(row))
