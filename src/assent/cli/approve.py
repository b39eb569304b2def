"""`assent propose`, `approve`, `reject`: freeze a plan and decide about it."""

from collections.abc import Iterable, Sequence
from shlex import quote
from typing import Any

import click
import msgspec

from assent.cli.approval_prompt import TERMINAL, ApprovalPromptOptions, prompt_for_approval
from assent.cli.bundle import approve_file, propose_portable
from assent.cli.invocation import (
    Invocation,
    or_bundle_file,
    parse_duration,
    split_values,
    with_invocation,
    with_output_format,
)
from assent.cli.options import examples
from assent.cli.run_driver import build_and_answer
from assent.cli.stdin import argument_text
from assent.cli.terminal import read_reply
from assent.core.errors import Declined, UsageError
from assent.core.plan.comment import Feedback
from assent.core.plan.record import PlanAction, PlanRecord, next_state
from assent.core.text.hidden_chars import visible_line
from assent.planning.partial_approval import PartialApproval
from assent.planning.plans import check_note
from assent.render.approval import approved_fields, excluded_lines, excluded_rows
from assent.render.comments import comments_sent_lines
from assent.render.lines import Line, counted, wrapped_lines
from assent.render.review import review_json, review_lines
from assent.render.rows import Row, plan_row
from assent.render.status import of_plan, plan_lines
from assent.render.steps import outline_rows

NO_MORE: Row = {}
APPROVED_ONLY = "The plan is approved, but the current rules do not allow building it:"
ONLY_SUGGESTED = "Say what to change, or keep comments by the critic first."
NOT_REJECTED = "The plan was not rejected and is unchanged."
REJECT_FORM = {
    "scope": "What should the plan cover, and what not? (Enter to skip) ",
    "constraints": "What must it respect? (Enter to skip) ",
    "priorities": "What matters most? (Enter to skip) ",
    "notes": "What else should change? (Enter to skip) ",
}


class PartialApprovalOptions(msgspec.Struct, frozen=True):
    """Which operations to exclude, and how to approve the rest."""

    without: tuple[str, ...]
    digest: str
    note: str
    expires: int | None = None
    dry_run: bool = False
    then_build: bool = False


@click.command(
    epilog=examples(
        "assent propose\nassent propose --json\nassent propose --portable --out plan.json"
    )
)
@click.option(
    "--portable",
    is_flag=True,
    help="Create a bundle for another machine, not bound to this workspace.",
)
@click.option("--out", metavar="FILE", default="", help="Write the bundle to FILE; - is stdout.")
@with_invocation
def propose(call: Invocation, portable: bool, out: str) -> None:
    """Freeze the plan text and staged operations, and give the plan a digest."""
    if portable != bool(out):
        raise UsageError(
            "--portable and --out FILE must be used together.", "assent propose --help"
        )
    if portable:
        propose_portable(call, call.record(), out)
        return
    record = call.engine.approvals.propose(call.record())
    _answer(call, record, extra=outline_rows(call.engine.reviews.outline(record)))


@click.command(
    epilog=examples(
        "assent approve\nassent approve --digest 3f2a... --note 'Checked with Ada' --build\n"
        "assent approve --without 2 --dry-run\nassent approve --without 2,77d0\n"
        "assent approve --build --output-format stream-json\n"
        "assent approve --expires 2h\nassent approve plan.json\n"
        "assent approve plan.json --out yes.json --expires 3d"
    )
)
@click.option("--digest", default="", help="Digest to approve; must match the plan's.")
@click.option("--note", default="", help="Note to store with the approval.")
@click.option(
    "--build", "then_build", is_flag=True, help="Build the plan right after approving it."
)
@click.option("--model", metavar="NAME", default="", help="Model that builds a text plan.")
@click.option(
    "--agent", metavar="NAME", default="", help="Agent that builds a text plan (default: build)."
)
@click.option(
    "--expires",
    metavar="TIME",
    callback=parse_duration,
    help="Expire the approval after 15m, 2h, 3d ...",
)
@click.option(
    "--out", metavar="FILE2", default="", help="Write the approval of FILE to FILE2; - is stdout."
)
@click.option(
    "--without", metavar="OP[,OP]...", multiple=True, callback=split_values,
    help="Exclude operations, by number or id, separated by commas.",
)  # fmt: skip
@click.option("--dry-run", is_flag=True, help="With --without: only show the remaining plan.")
@with_invocation
@with_output_format
@or_bundle_file(approve_file, "digest", "note", "expires", "out")
def approve(
    call: Invocation, digest: str, note: str, then_build: bool, expires: int | None, **rest: Any
) -> int | None:
    """Approve a plan by its digest. Shows the whole plan, then asks on the terminal.

    FILE is a bundle created by `assent propose --portable`; the approval is written into it.
    """
    builder = {key: rest[key] for key in ("model", "agent")}
    if rest["out"]:
        raise UsageError("--out requires FILE.", "assent approve --help")
    record, words = call.record(), check_note(argument_text(note))
    call.is_about(record)
    if then_build:
        call.engine.runs.check_decided()  # otherwise the plan is approved, but not built
    if rest["without"] or rest["dry_run"]:
        wanted = PartialApprovalOptions(
            rest["without"], digest, words, expires, rest["dry_run"], then_build
        )
        return _approve_partially(call, record, wanted, builder)
    if any(builder.values()):
        _check_builder(call, record, then_build=then_build)
    call.engine.approvals.check_approvable(record)
    call.engine.approvals.check_live(record)
    call.engine.approvals.check_independent(record)
    call.engine.approvals.check_rehearsed(record)
    call.engine.approvals.check_files(record)
    readings = call.engine.review_history
    readings.estimated = lambda plan, review: call.engine.estimate_of_build(
        plan, review.text, **builder
    )
    manner = ApprovalPromptOptions(
        shown=lambda: readings.record(record),
        declined=lambda: call.engine.approvals.decline(record, record.digest, TERMINAL),
    )
    channel = prompt_for_approval(
        call, record.digest, digest, lambda: readings.review(record), manner
    )
    if channel == TERMINAL:  # reading takes time: what was shown must still be what is there
        call.engine.approvals.check_files(record)
    record = call.engine.approvals.approve(record, record.digest, words, channel, expires_s=expires)
    if then_build:
        return build_and_answer(call, record, **builder)
    answer_approved(call, record)
    return None


@click.command(
    epilog=examples(
        "assent reject --note 'Keep the old name as an alias'\n"
        "assent reject --scope 'Only src/api' --priorities 'Tests first'\nassent reject --form\n"
        "assent reject\nassent reject --note 'Not yet' --without-comments\n"
        "assent reject --all --note 'None of these: keep the API'"
    )
)
@click.option("--note", help="What should change.")
@click.option("--scope", metavar="TEXT", help="What the plan should cover, and what not.")
@click.option("--constraints", metavar="TEXT", help="What the plan must respect.")
@click.option("--priorities", metavar="TEXT", help="What matters most.")
@click.option("--form", is_flag=True, help="Ask for each of these on the terminal.")
@click.option("--all", "everything", is_flag=True, help="Reject all options, not one of them.")
@click.option("--without-comments", "alone", is_flag=True, help="Don't send your pending comments.")
@with_invocation
def reject(
    call: Invocation,
    note: str | None,
    form: bool,
    alone: bool,
    everything: bool,
    **parts: str | None,
) -> None:
    """Reject a plan and say why. The plan becomes a draft again.

    Of several options, --plan rejects one and leaves the others; --all sends all of them back.

    Your pending comments (`assent comment list`) are sent with it, each under its lines.
    """
    given = {name: argument_text(words) for name, words in parts.items() if words is not None}
    given |= {"notes": argument_text(note)} if note is not None else {}
    records = _rejected(call, everything=everything)
    record = records[0]
    if form:
        next_state(record.state, PlanAction.REJECT)
    comments = not alone and any(map(call.engine.comments.waiting, records))
    feedback = _filled_in(call, given, enough=comments) if form else Feedback(**given)
    if not given and not form and not comments:
        if not alone and call.engine.comments.listed(record):
            one = f" --plan {record.name}" if len(records) > 1 else ""
            raise UsageError(ONLY_SUGGESTED, f"assent comment keep --all{one}")
        which = " --all" if len(records) > 1 else ""
        raise UsageError("Say what to change.", f"assent reject{which} --note 'TEXT'")
    if len(records) > 1:
        _answer_all(call, *call.engine.comments.reject_all(records, feedback, comments=comments))
        return
    sent = 0
    if comments:
        record, sent = call.engine.comments.reject(record, feedback)
    else:
        record = call.engine.approvals.reject(record, feedback.text())
    _answer(call, record, _to_the_model(call, record), sent)


def _rejected(call: Invocation, *, everything: bool) -> list[PlanRecord]:
    """Returns the plans that a rejection is about: one, or all options to choose from."""
    if not everything:
        return [call.record()]
    if call.plan:
        raise UsageError("Pass --all or --plan, not both. Nothing was rejected.", "assent review")
    return call.options() or [call.record()]


def _answer_all(call: Invocation, records: Sequence[PlanRecord], sent: int) -> None:
    rows = [plan_row(record, approved=False) for record in records]
    command = _to_the_model(call, records[0]) or "assent plan list"
    labels = ", ".join(visible_line(record.option) for record in records)
    lines = [
        *comments_sent_lines(sent),
        *wrapped_lines(
            "plain", f"Rejected {counted(len(records), 'option')}, now drafts again: {labels}."
        ),
        Line("plain", f"Next: {command}"),
    ]
    comments: Row = {"comments": sent} if sent else {}
    call.output.answer({"plans": rows, **comments}, lines)


def _filled_in(call: Invocation, given: dict[str, str], *, enough: bool) -> Feedback:
    """Asks a person for every part; raises if they cannot be asked, or say too little."""
    if given:
        raise UsageError("--form asks for everything; drop the other options.")
    typed = {
        name: None if call.no_input else read_reply(words) for name, words in REJECT_FORM.items()
    }
    if all(line is None for line in typed.values()):
        raise Declined(f"No terminal to ask on. {NOT_REJECTED}", "assent reject --note 'TEXT'")
    feedback = Feedback(**{name: line or "" for name, line in typed.items()})
    if not feedback.text().strip() and not enough:
        raise Declined(f"No feedback given. {NOT_REJECTED}", "assent reject --note 'TEXT'")
    return feedback


def _answer(
    call: Invocation,
    record: PlanRecord,
    next_command: str = "",
    sent: int = 0,
    extra: Row = NO_MORE,
) -> None:
    row = {**plan_row(record, approved=call.engine.approvals.is_approved(record)), **extra}
    comments: Row = {"comments": sent} if sent else {}
    command = next_command or call.engine.reviews.next_command(record)
    of = call.engine.plans.reference(record, current=False)
    call.output.answer(
        {**row, **comments}, [*comments_sent_lines(sent), *plan_lines(row, command, of)]
    )


def answer_approved(
    call: Invocation, record: PlanRecord, extra: Row = NO_MORE, lines: Iterable[Line] = ()
) -> None:
    """Says what is approved; and that rules keep it from being built, where they do."""
    row = plan_row(record, approved=call.engine.approvals.is_approved(record))
    of = call.engine.plans.reference(record, current=False)
    reasons, way_out = call.engine.reviews.denied(record)
    if reasons:
        call.output.warn(f"{APPROVED_ONLY} {reason}" for reason in reasons)
    command = way_out or call.engine.reviews.next_command(record)
    gone = call.engine.approvals.options.discarded_with(record)
    denied = approved_fields(reasons, of_plan(way_out, of), [one.plan_id for one in gone])
    if gone:
        labels = ", ".join(visible_line(one.option) for one in gone)
        lines = [*lines, *wrapped_lines("plain", f"Discarded the other options: {labels}.")]
    call.output.answer({**row, **extra, **denied}, [*lines, *plan_lines(row, command, of)])


def _check_builder(call: Invocation, record: PlanRecord, *, then_build: bool) -> None:
    """Refuses a model where none is used, before the user is asked to approve."""
    if not then_build:
        raise UsageError("--model and --agent require --build.", "assent approve --help")
    if record.frozen and not call.engine.runs.is_text_plan(record):
        raise UsageError(
            "A plan with operations is built without a model; drop --model and --agent.",
            "assent approve",
        )


def _to_the_model(call: Invocation, record: PlanRecord) -> str:
    """Returns how a note reaches the model that works on a plan; nothing if none does."""
    session = call.engine.sessions.of_plan(record)
    if session is None or not session.turns:
        return ""
    last = call.engine.sessions.last().session == session.session
    return "assent -c" if last else f"assent -r {session.slug}"


def _approve_partially(
    call: Invocation, record: PlanRecord, part: PartialApprovalOptions, builder: dict[str, str]
) -> int | None:
    """Shows the smaller plan, asks for its approval, and records both approval and rejection."""
    _check_part(part, builder)
    call.engine.approvals.check_approvable(record)
    call.engine.approvals.check_live(record)
    preview = call.engine.partial_approvals.preview(record, part.without)
    wanted, command = preview.plan.digest, _command(call, part)
    if part.dry_run:
        found = call.engine.review_history.partial(preview, f"{command} --digest {wanted}")
        call.output.answer(review_json(found), review_lines(found))
        return None
    call.engine.approvals.check_independent(record)
    call.engine.approvals.check_rehearsal(record, preview.plan)
    manner = ApprovalPromptOptions(command, f"{command} --dry-run")
    shown = call.engine.review_history.partial
    channel = prompt_for_approval(call, wanted, part.digest, lambda: shown(preview, ""), manner)
    approved = call.engine.partial_approvals.approve(preview, part.note, channel, part.expires)
    if channel != "digest":
        call.engine.review_history.record(approved)
    if part.then_build:
        return build_and_answer(call, approved)
    _answer_part(call, approved, preview)
    return None


def _check_part(part: PartialApprovalOptions, builder: dict[str, str]) -> None:
    if not part.without:
        raise UsageError("--dry-run requires --without OP.", "assent review")
    if part.dry_run and (part.then_build or part.digest):
        raise UsageError(
            "--dry-run only shows the result; drop --digest and --build.", "assent review"
        )
    if any(builder.values()):
        raise UsageError(
            "A plan with operations is built without a model; drop --model and --agent.",
            "assent approve",
        )


def _command(call: Invocation, part: PartialApprovalOptions) -> str:
    plan = f" --plan {quote(call.plan)}" if call.plan else ""
    return f"{call.command}{plan} --without {quote(','.join(part.without))}"


def _answer_part(call: Invocation, approved: PlanRecord, preview: PartialApproval) -> None:
    lines = excluded_lines(preview.excluded, unsure=bool(preview.smaller.unsure))
    answer_approved(call, approved, excluded_rows(preview.excluded), lines)
