"""Messages that tell the model what others did to its plan; people's words are verbatim."""

from collections.abc import Sequence

from assent.core.event import PlanApproved, PlanRejected
from assent.core.paths import one_line
from assent.core.plan.approval import Approval
from assent.core.plan.operation import Operation
from assent.core.plan.record import PlanRecord
from assent.core.run.journal import OperationResult, RunOutcome
from assent.render.operation_text import operation_subject
from assent.render.rows import operation_kind

MAX_FILES = 50  # that one message names
MAX_DIFF_CHARS = 4000  # characters

PARTLY_APPROVED = (
    "The person declined operations and approved the plan without them; that is a no to them."
)
APPROVED_WITH_NOTE = "They approved with a note, which becomes an item of the next plan."

_OUTCOMES: dict[RunOutcome, str] = {
    "done": "Everything in it was applied",
    "nothing": "There was nothing to do",
    "rolled_back": "It was rolled back: every file is as it was before, in content and mode",
    "needs_you": "It stopped halfway and waits for the person's decision",
}


def rejected_text(event: PlanRejected) -> str:
    """Passes on a person's no."""
    said = f"Their words:\n\n{event.note}" if event.note.strip() else "They gave no reason."
    return (
        "The person rejected the plan. It is a draft again: change it and present it once more. "
        + said
    )


def approved_text(event: PlanApproved) -> str:
    """Passes on a person's yes."""
    note = event.approval.note
    said = f" {APPROVED_WITH_NOTE} Their words:\n\n{note}" if note.strip() else ""
    return (
        f"The person approved the plan with the digest {event.approval.digest}. Exactly that is "
        f"carried out when they build it; until then there is nothing for you to do.{said}"
    )


def run_text(
    outcome: RunOutcome, results: Sequence[tuple[OperationResult, Operation]], yes: Approval | None
) -> str:
    """Reports a run of the plan, operation by operation, with the note of who approved it."""
    by = f", approved by {yes.approver.user} ({yes.approver.channel})" if yes else ""
    noted = (
        f"\n\n{APPROVED_WITH_NOTE} Their words:\n\n{yes.note}" if yes and yes.note.strip() else ""
    )
    return f"The plan was built{by}. {_OUTCOMES[outcome]}.{_listed(results)}{noted}"


def undone_text(
    run: str, results: Sequence[tuple[OperationResult, Operation]], left: Sequence[str] = ()
) -> str:
    """Reports that a run was taken back; `left` says what was left alone, and why."""
    back = f"The person took run {run} back; the files are as they were before{_but(left)}."
    return f"{back}{_listed(results)}{_rest(left)}"


def redone_text(
    run: str, results: Sequence[tuple[OperationResult, Operation]], left: Sequence[str] = ()
) -> str:
    """Reports that an undo was taken back; commands did not run again."""
    return (
        f"The person took the undo of run {run} back; its files are as the run left them"
        f"{_but(left)}, and no command ran again.{_listed(results)}{_rest(left)}"
    )


def _but(left: Sequence[str]) -> str:
    return ", except for what was left alone" if left else ""


def _rest(left: Sequence[str]) -> str:
    rows = "".join(f"\n- {reason}" for reason in left[:MAX_FILES])
    return f"\n\nLeft alone:{rows}{_more(left)}" if left else ""


def declined_text(gone: Sequence[Operation]) -> str:
    """Says which operations a person does not want."""
    rows = "\n".join(f"- {operation_kind(op)} {operation_subject(op)}" for op in gone[:MAX_FILES])
    return (
        "The person took these operations out of the plan; that is a no to them. Do not stage "
        f"them again unless they ask for it.\n{rows}{_more(gone)}"
    )


def partly_approved_text(gone: Sequence[Operation], followed: Sequence[Operation]) -> str:
    """Says which operations a person left out when they approved the rest of the plan."""
    rows = "\n".join(f"- {operation_kind(op)} {operation_subject(op)}" for op in gone[:MAX_FILES])
    told = (
        f"{PARTLY_APPROVED} Do not stage these again unless they ask for it.\n{rows}{_more(gone)}"
    )
    if not followed:
        return told
    rest = "\n".join(
        f"- {operation_kind(op)} {operation_subject(op)}" for op in followed[:MAX_FILES]
    )
    return f"{told}\n\nThese could not stay without them and went too:\n{rest}{_more(followed)}"


def staged_text(added: Sequence[Operation]) -> str:
    """Says which operations joined the draft without a result that the model has seen."""
    rows = "\n".join(f"- {operation_kind(op)} {operation_subject(op)}" for op in added[:MAX_FILES])
    return f"These operations were staged in the plan meanwhile:\n{rows}{_more(added)}"


def rebased_text(paths: Sequence[bytes]) -> str:
    """Says that files changed under the plan, which fits them again."""
    rows = "\n".join(f"- {one_line(path)}" for path in paths[:MAX_FILES])
    return (
        "These files changed meanwhile, and the plan was made to fit them as they are now; what "
        f"they hold already left it. Read them again before you change them.\n{rows}{_more(paths)}"
    )


def edited_text(plan: PlanRecord, diff: str | None) -> str:
    """Shows how a person changed the plan's text."""
    shown = diff or "The difference is too large to be shown."
    cut = shown[:MAX_DIFF_CHARS] + ("\n…" if len(shown) > MAX_DIFF_CHARS else "")
    return f"The person edited the plan's text in {one_line(plan.path)}; keep to it.\n\n{cut}"


def selected_text(plan: PlanRecord, text: bytes) -> str:
    """Says that a person chose another plan to work on."""
    return (
        f"The person chose another plan to work on: {plan_title(plan, text)!r} in "
        f"{one_line(plan.path)}, {plan.state.lower().replace('_', ' ')}. Plan text and staged "
        "operations go there from now on."
    )


def deleted_text(plan: PlanRecord) -> str:
    """Says that a plan is gone."""
    return f"The plan {plan.name} was deleted, with everything that was staged in it."


def discarded_text(plan: PlanRecord) -> str:
    """Says that the person wants no plan any more."""
    return (
        f"The person ended planning: the plan {plan.name} was given up, with everything that was "
        "staged in it. Do not present it again unless they ask for a plan."
    )


def plan_title(plan: PlanRecord, text: bytes) -> str:
    """Returns the first heading of a plan's text, or its name."""
    lines = text.decode("utf-8", "replace").splitlines()
    heads = [line.lstrip("#").strip() for line in lines if line.startswith("# ")]
    return heads[0] if heads and heads[0] else plan.name


def _listed(results: Sequence[tuple[OperationResult, Operation]]) -> str:
    if not results:
        return ""
    rows = [
        f"- {result}: {operation_kind(op)} {operation_subject(op)}"
        for result, op in results[:MAX_FILES]
    ]
    return "\n" + "\n".join(rows) + _more(results)


def _more(things: Sequence[object]) -> str:
    left = len(things) - MAX_FILES
    return f"\n- and {left} more" if left > 0 else ""
