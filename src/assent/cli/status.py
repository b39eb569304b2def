"""`assent status`: where the current plan, the last run and the newest session stand."""

from collections.abc import Iterator, Mapping, Sequence

import click

from assent.app.ports import known_sandbox_status, known_scratch_backend
from assent.cli.options import StatusCall, examples, with_status
from assent.cli.orphan_slots import orphan_lines, orphan_rows
from assent.core.errors import AssentError
from assent.core.permission.mode import unknown_mode_text
from assent.core.plan.comment import Critique
from assent.core.plan.record import PlanRecord, PlanRun
from assent.core.shell.process import SandboxState
from assent.core.text.hidden_chars import visible_line
from assent.render.approval import (
    approval_note_rows,
    excluded_count_lines,
    excluded_ids,
    pending_note_lines,
)
from assent.render.lines import Line, wrapped_lines
from assent.render.review_warnings import REBASE, DriftedFile, drift_lines, drift_rows
from assent.render.rows import Row, estimate_row, plan_row, session_row
from assent.render.status import (
    critique_lines,
    critique_row,
    open_item_lines,
    open_item_row,
    option_lines,
    option_rows,
    status_lines,
)
from assent.render.steps import progress_row

REVIEW = "assent review"
OVERLAY_WORKS = "An overlay can be mounted over the workspace."


@click.command(epilog=examples("assent status\nassent status --json"))
@with_status
def status(call: StatusCall) -> None:
    """Show the status of the current plan and the last run."""
    record, run = call.workspace.status(call.plan)
    worker = call.workspace.run_status.holder() if run and _is_open(run[1]) else ""
    if not worker:  # a run may have ended between two looks
        record, run = call.workspace.status(call.plan)
    plan = None
    if record is not None:
        call.report_live(record)
        plan = plan_row(record, approved=call.workspace.plan_status.is_approved(record))
        plan |= _progress(call, record)
    row = None if run is None else _run(call, *run)
    if row is not None and worker:
        row["running"] = worker
    changed = () if record is None else call.workspace.plan_status.drifted(record)
    command = "" if record is None else _command(call, record, changed)
    shell = _shell()
    left, holder = call.workspace.run_status.running_command()
    questions = [question.id for question in call.workspace.question_list.pending()]
    notes = call.workspace.plans.waiting_notes()
    declined = excluded_ids(record)
    waits = {
        **open_item_row(left, holder, questions),
        "notes": approval_note_rows(notes),
        "declined": declined,
    }
    lost = call.workspace.orphan_slots.find()
    of = "" if record is None else call.workspace.plans.reference(record, current=False)
    choices = [] if record is None or call.plan else call.workspace.plans.presented_options(record)
    options = option_rows(choices)
    if options:
        command, of = REVIEW, ""
        waits |= {"options": options}
    critiques = _critiques(call, choices or ([] if record is None else [record]))
    waits |= {"critiques": _critique_rows(critiques)} if critiques else {}
    ids = not call.output.is_captured
    about = {"asked": bool(questions), "lost": bool(lost)}
    stands = status_lines(plan, row, command=command, of=of, ids=ids, **about)
    waiting = [
        *orphan_lines(lost),
        *open_item_lines(left, holder, questions),
        *pending_note_lines(notes),
        *option_lines(options, ids=ids),
        *[line for one, found in critiques for line in critique_lines(found, one.option)],
    ]
    waits |= {"slots": orphan_rows(lost)} if lost else {}
    waits |= {"drifted": drift_rows(changed)} if changed else {}
    waiting += [*excluded_count_lines(declined), *drift_lines(changed)]
    scratch = _scratch(call)
    lines = [*sandbox_status_lines(shell), *scratch_status_lines(scratch), *waiting, *stands]
    waits |= {"session": _session(call), "scratch": scratch}
    call.output.answer({"plan": plan, "run": row, "shell": shell, **waits}, lines)


def _critiques(
    call: StatusCall, records: Sequence[PlanRecord]
) -> list[tuple[PlanRecord, Critique]]:
    """Returns what a user should know of critiques: those that did not finish, or still run."""
    return [pair for pair in call.workspace.critiques(records) if pair[1].state != "finished"]


def _critique_rows(critiques: Sequence[tuple[PlanRecord, Critique]]) -> list[Row]:
    """Returns critiques as JSON shows them, each with its plan."""
    return [{"plan_id": one.plan_id, **critique_row(found)} for one, found in critiques]


def _progress(call: StatusCall, record: PlanRecord) -> Row:
    """Returns how far the steps of a plan are; null if it has none, or its text is gone."""
    try:
        return {"progress": progress_row(call.workspace.plan_steps.current(record))}
    except AssentError:
        return {"progress": None}


def _session(call: StatusCall) -> Row | None:
    """Returns the newest session and its mode; says so where its own mode is gone."""
    sessions = call.workspace.session_list
    own = [record for record in sessions.all() if not record.parent]
    if not own:
        return None
    record = max(own, key=lambda each: each.updated_at)
    if gone := unknown_mode_text(record.custom, sessions.modes):
        call.output.warn([f"{record.slug}: {gone}"])
    row = session_row(sessions.now(record), missing=sessions.missing_mode(record))
    names = ("session", "slug", "state", "mode", "custom_mode", "missing_mode")
    estimate = estimate_row(call.workspace.estimate(record))
    return {**{name: row[name] for name in names}, "estimate": estimate}


def _shell() -> dict[str, str] | None:
    """Returns what is known about the shell's sandbox; None before its first self-test."""
    standing = known_sandbox_status()
    if standing is None:
        return None
    return {"hold": standing.hold.value, "reason": standing.reason, "next": standing.next}


def _scratch(call: StatusCall) -> dict[str, str] | None:
    """Returns how scratch copies are made here; None before the first one."""
    found = known_scratch_backend(call.workspace.root)
    return None if found is None else {"backend": found.name, "reason": found.reason}


def _command(call: StatusCall, record: PlanRecord, changed: Sequence[DriftedFile]) -> str:
    """Returns the next command where the state alone does not determine it."""
    if changed and not record.imported:
        return REBASE
    approved = call.workspace.plan_status.is_approved(record)
    denied = call.workspace.plan_status.denied(record)[1] if approved else ""
    return denied or call.workspace.plan_status.next_command(record)


def _is_open(note: PlanRun) -> bool:
    return note.outcome is None and not note.halted


def _run(call: StatusCall, plan_id: str, note: PlanRun) -> dict[str, object]:
    outcome = "needs_you" if note.halted else note.outcome
    found: dict[str, object] = {"run": note.run, "plan_id": plan_id or None, "outcome": outcome}
    if not note.outcome:  # it is not over, and only `recover` knows what its records are worth
        return found
    taken = call.workspace.run_status.undone(note.run)
    undone = {"": {}, "some": {"partly_undone": True}, "all": {"undone": True}}[taken]
    accepted = {"accepted": True} if call.workspace.run_status.was_accepted(note.run) else {}
    return {**found, **accepted, **undone}


def sandbox_status_lines(shell: Mapping[str, str] | None) -> Iterator[Line]:
    """Renders that the shell is off, or has no sandbox; nothing where all is well."""
    if shell is None or shell["hold"] == SandboxState.HELD:
        return
    what = "The shell is off" if shell["hold"] == SandboxState.OFF else "The shell has no sandbox"
    yield from wrapped_lines("risk", visible_line(f"{what}: {shell['reason']}"))
    if shell["next"]:
        yield from wrapped_lines("plain", visible_line(f"Next: {shell['next']}"))


def scratch_status_lines(scratch: Mapping[str, str] | None) -> Iterator[Line]:
    """Renders how scratch copies are made, and why; nothing before the first one."""
    if scratch is not None:
        text = f"Scratch copies: {scratch['backend']}. {scratch['reason'] or OVERLAY_WORKS}"
        yield from wrapped_lines("dim", visible_line(text))
