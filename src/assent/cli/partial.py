"""`assent approve --without OP`: a yes to the plan that is left when operations are declined."""

from shlex import quote

import msgspec

from assent.cli.asking import Manner, consent
from assent.cli.call import Call
from assent.cli.consent import answer_approved
from assent.cli.run import build_and_answer
from assent.core.errors import UsageError
from assent.core.lifecycle import Moment, advance
from assent.core.record import PlanRecord
from assent.engine.plan.partials import Partial
from assent.views.declined import declined_lines, declined_rows
from assent.views.review import review_json, review_lines


class Part(msgspec.Struct, frozen=True):
    """What a person wants: which operations to leave out, and how to say yes to the rest."""

    without: tuple[str, ...]
    digest: str
    note: str
    expires: int | None = None
    dry_run: bool = False
    then_build: bool = False


def approve_part(call: Call, record: PlanRecord, part: Part, builder: dict[str, str]) -> int | None:
    """Shows the smaller plan, asks for a yes to it, and records both the yes and the no."""
    _check(part, builder)
    advance(record.state, Moment.APPROVE)
    call.engine.plans.check_live(record)
    preview = call.engine.partials.preview(record, part.without)
    wanted, command = preview.plan.digest, _command(call, part)
    if part.dry_run:
        found = call.engine.readings.partial(preview, f"{command} --digest {wanted}")
        call.output.answer(review_json(found), review_lines(found))
        return None
    call.engine.consents.check_independent(record)
    manner = Manner(command, f"{command} --dry-run")
    shown = call.engine.readings.partial
    channel = consent(call, wanted, part.digest, lambda: shown(preview, ""), manner)
    approved = call.engine.partials.approve(preview, part.note, channel, part.expires)
    if channel != "digest":
        call.engine.readings.record(approved)
    if part.then_build:
        return build_and_answer(call, approved)
    _answer(call, approved, preview)
    return None


def _check(part: Part, builder: dict[str, str]) -> None:
    if not part.without:
        raise UsageError("--dry-run goes with --without OP.", "assent review")
    if part.dry_run and (part.then_build or part.digest):
        raise UsageError("--dry-run only shows; leave --digest and --build out.", "assent review")
    if any(builder.values()):
        raise UsageError("A plan with operations is applied without a model.", "assent approve")


def _command(call: Call, part: Part) -> str:
    plan = f" --plan {quote(call.plan)}" if call.plan else ""
    return f"{call.command}{plan} --without {quote(','.join(part.without))}"


def _answer(call: Call, approved: PlanRecord, preview: Partial) -> None:
    lines = declined_lines(preview.left_out, unsure=bool(preview.smaller.unsure))
    answer_approved(call, approved, declined_rows(preview.left_out), lines)
