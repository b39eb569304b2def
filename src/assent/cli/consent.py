"""`assent propose`, `approve`, `reject`: the step between a draft and a run."""

import click

from assent.cli.asking import TERMINAL, consent
from assent.cli.call import Call, examples, takes_call
from assent.cli.run import build_and_answer
from assent.cli.source import text
from assent.core.errors import UsageError
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
@click.option("--model", metavar="NAME", default="", help="Who builds a plan of prose.")
@click.option("--agent", metavar="NAME", default="", help="As which agent (default: build).")
@takes_call
def approve(call: Call, digest: str, note: str, then_build: bool, **builder: str) -> int | None:
    """Say yes to one digest. Asks on the terminal, after showing everything."""
    record = call.record()
    if any(builder.values()):
        _check_builder(call, record, then_build=then_build)
    advance(record.state, Moment.APPROVE)
    call.engine.plans.check_live(record)
    channel = consent(call, record.digest, digest, lambda: call.engine.reviews.review(record))
    if channel == TERMINAL:  # reading takes time: what was shown must still be what is there
        call.engine.consents.check_files(record)
    record = call.engine.consents.approve(record, record.digest, text(note), channel)
    if then_build:
        return build_and_answer(call, record, **builder)
    _answer(call, record)
    return None


@click.command(epilog=examples("assent reject --note 'Keep the old name as an alias'"))
@click.option("--note", required=True, help="What should be different.")
@takes_call
def reject(call: Call, note: str) -> None:
    """Say no, with words. The plan goes back to drafting."""
    record = call.engine.consents.reject(call.record(), text(note))
    _answer(call, record, _to_the_model(call, record))


def _answer(call: Call, record: PlanRecord, next_command: str = "") -> None:
    row = plan_row(record, approved=call.engine.consents.is_approved(record))
    call.output.answer(row, plan_lines(row, next_command))


def _check_builder(call: Call, record: PlanRecord, *, then_build: bool) -> None:
    """Refuses a model for what no model does, before anybody says yes."""
    if not then_build:
        raise UsageError("--model and --agent go with --build.", "assent approve --help")
    if record.frozen and not call.engine.runs.is_prose(record):
        raise UsageError("A plan with operations is applied without a model.", "assent approve")


def _to_the_model(call: Call, record: PlanRecord) -> str:
    """Returns how a note reaches the model that works on a plan; nothing if none does."""
    session = call.engine.sessions.of_plan(record)
    if session is None or not session.turns:
        return ""
    last = call.engine.sessions.last().session == session.session
    return "assent -c" if last else f"assent -r {session.slug}"
