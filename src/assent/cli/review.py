"""`assent review`, `diff`, `status`, `log`: read-only commands about plans and history."""

from collections.abc import Iterable, Sequence

import click

from assent.cli.invocation import Invocation, examples, or_bundle_file, with_invocation
from assent.cli.log import decision_lines, decision_rows
from assent.cli.orphan_slots import orphan_lines, orphan_rows
from assent.cli.output import NOT_SHOWN, text_diff_lines
from assent.cli.shell_output import sandbox_status_lines
from assent.core.digest import sha256
from assent.core.errors import UsageError
from assent.core.permission.mode import unknown_mode_text
from assent.core.plan.operation import RunCommand
from assent.core.plan.record import PlanRecord, PlanRun
from assent.render.approval import (
    approval_note_rows,
    excluded_count_lines,
    excluded_ids,
    pending_note_lines,
)
from assent.render.diff import diff_lines, text_diff
from assent.render.lines import Line
from assent.render.log import event_row, log_check_lines, log_check_row, log_lines
from assent.render.operation_text import command_lines, operation_brief, operation_subject
from assent.render.review import (
    OperationReview,
    review_diff_json,
    review_diff_lines,
    review_json,
    review_lines,
    review_texts,
)
from assent.render.review_warnings import REBASE, DriftedFile, drift_lines, drift_rows
from assent.render.rows import Row, plan_row, session_row
from assent.render.status import open_item_lines, open_item_row, status_lines

LAST = (1 << 63) - 1  # the greatest number that an event can have


@click.command(
    epilog=examples(
        "assent review\nassent review --changes\nassent review --seen\nassent review --json\n"
        "assent review plan.json"
    )
)
@click.option("--changes", is_flag=True, help="Only what is other than when you last read it.")
@click.option("--seen", is_flag=True, help="Count this as read.")
@with_invocation
@or_bundle_file("review_file")
def review(call: Invocation, changes: bool, seen: bool) -> None:
    """Show risks first, then the plan's text and every diff in full, then the digest.

    FILE is a plan from elsewhere, made by `assent propose --portable`.

    What is on your terminal in full counts as read, and the next review says what changed since.
    What goes through a pager does not, as nobody knows how far you came: say --seen.
    """
    if changes and seen:
        raise UsageError("--changes does not show all that --seen stands for.", "assent review")
    record = call.record()
    call.report_live(record)
    found = call.engine.review_history.review(record)
    whole = False
    if call.output.as_json:
        call.output.answer(review_diff_json(found) if changes else review_json(found))
    elif changes:
        call.output.paged(review_diff_lines(found))
    else:
        whole = call.output.paged(review_lines(found), review_texts(found))
    if seen or whole:
        call.engine.review_history.record(record)


@click.command(epilog=examples("assent diff\nassent diff --live"))
@click.option(
    "--live", is_flag=True, help="The live text against the approved, proposed or recorded."
)
@with_invocation
def diff(call: Invocation, live: bool) -> None:
    """Show the staged diffs, or how the live text differs from the plan's."""
    record = call.record()
    if not live:
        found = call.engine.reviews.review(record)
        rows = [{"id": op.id, "diff": op.diff} for op in found.operations]
        patch = "".join(op.diff or "" for op in found.operations)
        lines = [line for op in found.operations for line in _staged(op)]
        call.output.answer({"operations": rows, "diff": patch}, lines)
        return
    now = call.engine.plans.live_text(record)
    against, then = call.engine.reviews.basis(record)
    change = text_diff(then, now or b"", against, "live")
    same = now is not None and sha256(now) == sha256(then)
    row = {"differs": not same, "against": against, "diff": change}
    call.output.answer(row, text_diff_lines(change))


@click.command(epilog=examples("assent status\nassent status --json"))
@with_invocation
def status(call: Invocation) -> None:
    """Show where the current plan and the last run stand."""
    record, run = call.engine.status(call.plan)
    worker = call.engine.runs.holder() if run and _is_open(run[1]) else ""
    if not worker:  # a run may have ended between two looks
        record, run = call.engine.status(call.plan)
    plan = None
    if record is not None:
        call.report_live(record)
        plan = plan_row(record, approved=call.engine.approvals.is_approved(record))
    row = None if run is None else _run(call, *run)
    if row is not None and worker:
        row["running"] = worker
    changed = () if record is None else call.engine.reviews.drifted(record)
    command = "" if record is None else _command(call, record, changed)
    shell = _shell()
    left, holder = call.engine.session_commands.running()
    questions = [question.id for question in call.engine.pending_questions.pending()]
    notes = call.engine.plans.waiting_notes()
    declined = excluded_ids(record)
    waits = {
        **open_item_row(left, holder, questions),
        "notes": approval_note_rows(notes),
        "declined": declined,
    }
    lost = call.engine.orphan_slots.find()
    of = "" if record is None else call.engine.plans.reference(record, current=False)
    about = {"asked": bool(questions), "lost": bool(lost)}
    stands = status_lines(plan, row, command=command, of=of, **about)
    waiting = [
        *orphan_lines(lost),
        *open_item_lines(left, holder, questions),
        *pending_note_lines(notes),
    ]
    waits |= {"slots": orphan_rows(lost)} if lost else {}
    waits |= {"drifted": drift_rows(changed)} if changed else {}
    waiting += [*excluded_count_lines(declined), *drift_lines(changed)]
    lines = [*sandbox_status_lines(shell), *waiting, *stands]
    waits |= {"session": _session(call)}
    call.output.answer({"plan": plan, "run": row, "shell": shell, **waits}, lines)


def _session(call: Invocation) -> Row | None:
    """Returns the newest session and its mode; says so where its own mode is gone."""
    sessions = call.engine.session_list
    own = [record for record in sessions.all() if not record.parent]
    if not own:
        return None
    record = max(own, key=lambda each: each.updated_at)
    if gone := unknown_mode_text(record.custom, sessions.modes):
        call.output.warn([f"{record.slug}: {gone}"])
    row = session_row(sessions.now(record), missing=sessions.missing_mode(record))
    names = ("session", "slug", "state", "mode", "custom_mode", "missing_mode")
    return {name: row[name] for name in names}


@click.command(epilog=examples("assent log\nassent log --after 120 --json\nassent log --verify"))
@click.option(
    "--after", type=click.IntRange(0, LAST), default=0, help="Only what came after this number."
)
@click.option("--decisions", is_flag=True, help="Only who allowed or refused what, and why.")
@click.option("--verify", is_flag=True, help="Check that nobody changed the log; exit 1 if so.")
@with_invocation
def log(call: Invocation, after: int, decisions: bool, verify: bool) -> int:
    """Show everything that happened in this workspace, oldest first."""
    if verify and (decisions or after):
        raise UsageError("--verify looks at the whole log and goes alone.", "assent log --verify")
    if verify:
        return _verify(call)
    ids = {record.slug: record.session for record in call.engine.session_list.all()}
    slugs = call.engine.plans.sessions()
    sessions = {plan: ids.get(slug, slug) for plan, slug in slugs.items()}
    if decisions:
        # A question may have been asked before the events that are wanted.
        found = decision_rows(call.engine.log(), sessions)
        rows = [row for row in found if int(str(row["seq"])) > after]
        call.output.answer({"decisions": rows}, decision_lines(rows))
        return 0
    rows = [event_row(recorded, sessions) for recorded in call.engine.log(after)]
    call.output.answer({"events": rows}, log_lines(rows))
    return 0


def _verify(call: Invocation) -> int:
    """Checks the whole log, that of other workspaces too: the chain runs through all of it."""
    from assent.app.composition import verify_log

    checked = verify_log()
    call.output.answer(log_check_row(checked), log_check_lines(checked))
    return 1 if checked.broken else 0


def _staged(operation: OperationReview) -> Iterable[Line]:
    if isinstance(operation.op, RunCommand):
        return [
            Line("heading", f"run {operation_brief(operation.op)}"),
            *command_lines(operation.op, operation.unheld),
        ]
    if operation.diff is not None:
        return diff_lines(operation.diff)
    return [Line("plain", f"{operation_subject(operation.op)}: contents {NOT_SHOWN}")]


def _shell() -> dict[str, str] | None:
    """Returns what is known about the shell's sandbox; None before its first self-test."""
    from assent.app.composition import known_sandbox_status

    standing = known_sandbox_status()
    if standing is None:
        return None
    return {"hold": standing.hold.value, "reason": standing.reason, "next": standing.next}


def _command(call: Invocation, record: PlanRecord, changed: Sequence[DriftedFile]) -> str:
    """Returns what to type next where the state alone does not say it."""
    if changed and not record.imported:
        return REBASE
    approved = call.engine.approvals.is_approved(record)
    denied = call.engine.reviews.denied(record)[1] if approved else ""
    return denied or call.engine.reviews.next_step(record)


def _is_open(note: PlanRun) -> bool:
    return note.outcome is None and not note.halted


def _run(call: Invocation, plan_id: str, note: PlanRun) -> dict[str, object]:
    outcome = "needs_you" if note.halted else note.outcome
    found: dict[str, object] = {"run": note.run, "plan_id": plan_id or None, "outcome": outcome}
    if not note.outcome:  # it is not over, and only `recover` knows what its records are worth
        return found
    taken = call.engine.history.undone(note.run)
    undone = {"": {}, "some": {"partly_undone": True}, "all": {"undone": True}}[taken]
    accepted = {"accepted": True} if call.engine.runs.was_accepted(note.run) else {}
    return {**found, **accepted, **undone}
