"""Pending decisions: runs, questions, plans and builds that wait for the user."""

from collections.abc import Sequence
from itertools import islice
from typing import Final, Literal, TypeAlias

import msgspec

from assent.core.paths import display_path
from assent.core.plan.operation import STRUCTURE_RISKS
from assent.core.plan.record import PlanRecord, PlanRun
from assent.core.session.event import Question
from assent.core.session.question import PendingQuestion
from assent.core.text.secrets import redact
from assent.render.lines import GUTTER, untrusted_lines
from assent.render.questions import seconds_since
from assent.render.review import Review
from assent.render.rows import (
    RECOVER_WAYS,
    Row,
    operation_brief,
    operation_verb,
    redacted_row,
)

DecisionKind: TypeAlias = Literal["run", "question", "plan", "build"]

MAX_PREVIEW_LINES: Final = 3  # lines of a text, and operations, that a preview shows
MAX_PREVIEW_CHARS: Final = 160  # characters of a line of a preview


class PendingDecision(msgspec.Struct, frozen=True):
    """Something that needs a user's decision to continue."""

    kind: DecisionKind
    id: str  # of the question, the plan or the run
    title: str
    at: str  # since when
    commands: tuple[str, ...]  # any of which decides it
    session: str = ""  # the slug of the one that a person talks to
    plan_id: str = ""
    name: str = ""  # of the plan
    digest: str = ""
    depth: int = 0  # of the session that asks
    operations: int | None = None
    risks: int | None = None  # operations with risks, and the text if it has any
    preview: tuple[str, ...] = ()
    look: str = ""  # what shows all of it


def question_decision(pending: PendingQuestion) -> PendingDecision:
    """Returns the pending decision for an open question."""
    asked, root = pending.inquiry.asked, pending.root
    first = asked.questions[0] if asked.questions else Question("", "")
    more = f" ({len(asked.questions)} parts)" if len(asked.questions) > 1 else ""
    return PendingDecision(
        "question",
        pending.id,
        f"{_asked(first)}{more}",
        pending.inquiry.at,
        (f"assent questions answer {pending.id}",),
        session=root.slug,
        digest=asked.digest,
        depth=pending.session.depth,
        preview=_preview("\n".join((first.question, first.command or "\n".join(first.things)))),
        look=f"assent questions show {pending.id}",
    )


def _asked(first: Question) -> str:
    """Returns one line that says who asks about what; for a permission, what would happen."""
    if first.by == "gate":
        what = first.command or "\n".join(first.things) or first.question
        return f"Permission: {' · '.join(_preview(what))}"
    return f"The model asks about {first.header}" if first.header else "The model asks"


def plan_decision(record: PlanRecord, review: Review, at: str) -> PendingDecision:
    """Returns the pending decision for a plan that is proposed, or approved and not built."""
    of = f"--plan {record.plan_id}"
    undecided = (f"assent approve {of}", f"assent reject {of} --note 'WHY'")
    text = bool(set(review.risks).difference(STRUCTURE_RISKS))
    return PendingDecision(
        "plan",
        record.plan_id,
        f"{_named(record)} is {'approved, not built' if review.approved else 'ready for review'}",
        at,
        (f"assent build {of}",) if review.approved else undecided,
        session=record.session,
        plan_id=record.plan_id,
        name=record.name,
        digest=record.digest,
        operations=len(review.operations),
        risks=sum(1 for operation in review.operations if operation.is_risky) + text,
        preview=(*_preview(_without_front_matter(display_path(review.text))), *_operations(review)),
        look=f"assent review {of}",
    )


def _named(record: PlanRecord) -> str:
    return (
        f"Option {record.option}, plan {record.name}," if record.option else f"Plan {record.name}"
    )


def run_decision(record: PlanRecord | None, run: PlanRun, at: str) -> PendingDecision:
    """Returns the pending decision for a run that stopped halfway; a permit's has no plan."""
    of = f" of plan {record.name}" if record else ""
    how = "stopped and needs your decision" if run.halted else "was interrupted"
    return PendingDecision(
        "run",
        run.run,
        f"A run{of} {how}",
        at,
        RECOVER_WAYS if run.halted else ("assent recover",),
        session=record.session if record else "",
        plan_id=record.plan_id if record else "",
        name=record.name if record else "",
        digest=run.digest,
        look="assent status",
    )


def build_decision(record: PlanRecord, run: PlanRun, at: str) -> PendingDecision:
    """Returns the pending decision for a text plan whose build was started and is not running."""
    return PendingDecision(
        "build",
        run.run,
        f"The model's build of plan {record.name} is unfinished and not running",
        at,
        (f"assent build --plan {record.plan_id}", *RECOVER_WAYS[1:]),
        session=record.session,
        plan_id=record.plan_id,
        name=record.name,
        digest=run.digest,
        look=f"assent review --plan {record.plan_id}",
    )


def _preview(text: str) -> tuple[str, ...]:
    """Returns the first nonempty lines of a text, safe and not too wide."""
    lines = (line.text.removeprefix(GUTTER) for line in untrusted_lines(redact(text)))
    return tuple([_cut(line) for line in islice(filter(str.strip, lines), MAX_PREVIEW_LINES)])


def _operations(review: Review) -> tuple[str, ...]:
    some = [
        redact(_cut(f"{number}. {operation_verb(one.op)} {operation_brief(one.op)}"))
        for number, one in enumerate(review.operations[:MAX_PREVIEW_LINES], 1)
    ]
    left = len(review.operations) - MAX_PREVIEW_LINES
    return (*some, f"and {left} more") if left > 0 else tuple(some)


def _without_front_matter(text: str) -> str:
    first, _, rest = text.partition("\n")
    _, end, after = rest.partition("\n---\n")
    return after if first.rstrip() == "---" and end else text


def _cut(line: str) -> str:
    return line if len(line) <= MAX_PREVIEW_CHARS else f"{line[:MAX_PREVIEW_CHARS]}…"


def pending_decision_rows(waits: Sequence[PendingDecision], now: str) -> list[Row]:
    """Returns everything that waits as the objects that `--json` prints."""
    return [
        {
            "kind": one.kind,
            "id": one.id,
            "title": one.title,
            "session": one.session or None,
            "plan_id": one.plan_id or None,
            "name": one.name or None,
            "digest": one.digest or None,
            "depth": one.depth,
            "operations": one.operations,
            "risks": one.risks,
            "at": one.at,
            "age_s": seconds_since(one.at, now),
            "preview": list(one.preview),
            "look": one.look or None,
            "commands": list(one.commands),
        }
        for one in redacted_row(tuple(waits))
    ]
