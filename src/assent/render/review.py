"""The review: everything that a user decides about, risks first, as lines and as JSON.

It also defines the parts that comments can be attached to.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING, Final

import msgspec

from assent.core.errors import InvalidPlan
from assent.core.paths import ancestors, display_path
from assent.core.plan.comment import (
    Comment,
    CommentTarget,
    Critique,
    PlacedComment,
    place_comment,
)
from assent.core.plan.operation import (
    MODEL_RISKS,
    REHEARSAL_FAILED,
    RISK_CODES,
    STRUCTURE_RISKS,
    DeleteFile,
    FileState,
    MoveFile,
    Operation,
    Reversibility,
    RunCommand,
    footprint,
)
from assent.core.plan.plan import ReliedOnFile, Scope, misspelled_keys
from assent.core.plan.record import PlanState
from assent.core.plan.rehearsal import Rehearsal
from assent.core.session.estimate import WorkEstimate
from assent.core.session.event import RiskLevel
from assent.core.text import counted
from assent.core.text.hidden_chars import visible_line, visible_path
from assent.render.approval import (
    ApprovalNote,
    ExcludedOperation,
    approval_note_lines,
    approval_note_rows,
    excluded_lines,
    excluded_rows,
    missing_note_lines,
)
from assent.render.comments import (
    comment_count_lines,
    comment_rows,
    commentable_part,
    outdated_comment_lines,
    with_comments,
)
from assent.render.diff import NOT_SHOWN, NOT_SHOWN_BUT, diff_lines, diff_text
from assent.render.diff_view import numbered_lines
from assent.render.estimate import estimate_text
from assent.render.lines import (
    BLANK,
    Line,
    Style,
    local_time,
    table_lines,
    untrusted_lines,
    wrapped_lines,
)
from assent.render.rehearsal import rehearsal_lines, rehearsal_row
from assent.render.review_changes import (
    FIRST_REVIEW,
    ReviewChanges,
    review_changes_lines,
    review_changes_row,
)
from assent.render.review_warnings import DriftedFile, drift_lines, drift_rows, warning_lines
from assent.render.rows import (
    Row,
    command_lines,
    estimate_row,
    operation_brief,
    operation_kind,
    operation_kinds_text,
    operation_row,
    operation_subject,
    operation_verb,
    path_fields,
    warning_rows,
)
from assent.render.status import (
    critique_lines,
    critique_row,
    next_command,
    of_plan,
    state_text,
)
from assent.render.steps import PlanOutline, outline_rows, step_lines

if TYPE_CHECKING:
    from assent.render.highlighter import Highlighter


class OperationReview(msgspec.Struct, frozen=True):
    """An operation with everything that a reviewer should know about it."""

    id: str
    op: Operation
    reversible: Reversibility
    risks: tuple[str, ...] = ()  # codes
    diff: str | None = None
    seen: bool = False  # by the reviewing user, in this form
    changed: bool = False  # since then: it replaces one on the same path, or of the same line
    remarks: tuple[str, ...] = ()  # of a command: what an undo does, what may fail
    unclear: bool = False  # a command whose text does not show what it does
    unheld: str = ""  # of a command that needs a sandbox: why none holds on this machine
    denied: str = ""  # the rule that keeps the plan from being built, with the path
    not_covered: tuple[str, ...] = ()  # of a command: what an undo does not put back
    risk: RiskLevel = "low"  # the level that the log and a question have, or a higher one
    reasons: tuple[str, ...] = ()  # of a command: why it has that level

    @property
    def is_risky(self) -> bool:
        """Whether a reviewer should look at it first."""
        return bool(self.risks) or self.risk != "low"


class Review(msgspec.Struct, frozen=True):
    """A plan with everything that a reviewer should know; a draft's digest is empty."""

    plan_id: str
    session: str
    name: str
    path: bytes
    state: PlanState
    digest: str
    approved: bool
    text: bytes
    content_hash: str
    operations_hash: str
    scope: Scope = Scope()
    relied_on: tuple[ReliedOnFile, ...] = ()
    operations: tuple[OperationReview, ...] = ()
    risks: tuple[str, ...] = ()  # of the text, and of a model that carries it out
    prose: bool = False  # a model carries it out
    next: str = ""  # what to type, where the state does not say it
    expires_at: str = ""  # when the approval that a build would spend becomes void
    declined: tuple[ExcludedOperation, ...] = ()
    unsure: bool = False  # something may rest on a command that was declined
    notes: tuple[ApprovalNote, ...] = ()  # of those who approved it
    missing: tuple[ApprovalNote, ...] = ()  # of earlier approvals, which its text had as items
    since: ReviewChanges | None = None  # the user last read it; None: they never did
    drifted: tuple[DriftedFile, ...] = ()  # files that are not as it saw them
    comments: tuple[PlacedComment, ...] = ()  # of the reviewing user, not sent yet
    critique: Critique | None = None  # by a second model; None: it was not asked
    denied: tuple[str, ...] = ()  # why it cannot be built: what rules deny, as things stand
    warnings: tuple[str, ...] = ()  # about the place where it would be built
    of: str = ""  # what names it in a command; nothing for the current plan
    outline: PlanOutline | None = None  # None for an undo: its text is generated
    estimate: WorkEstimate | None = None  # of a text plan: what a model is expected to use
    option: str = ""  # its label, if it is one of several plans to choose from,
    others: tuple[str, ...] = ()  # and the labels of those that its approval discards
    rehearsable: bool = False  # it has operations, and can still be tried in a scratch copy
    rehearsal: Rehearsal | None = None  # of exactly these operations; None: there was none


EMPTY_SCOPE: Final = (
    "A model carries out this plan, and it declares no `scope.files`: every change needs your "
    "permission, and is denied without a terminal."
)
CANNOT_BE_BUILT: Final = "Cannot be built"
SHORT: Final = 12  # characters of an operation's id, enough to name it by
_WHOLE: Final = (REHEARSAL_FAILED, *STRUCTURE_RISKS)  # of a plan, not of a place in it
_WIDEST: Final = max(len(code) for code in RISK_CODES if code not in _WHOLE)
_text = attrgetter("text")


def review_lines(
    review: Review, *, asking: bool = False, colors: "Highlighter | None" = None
) -> Iterator[Line]:
    """Renders a review: risks, text, every operation in full, then digest and next command.

    With `colors` the same lines have parts with syntax roles.
    """
    yield from _before(review, colors)
    for number, operation in enumerate(review.operations, 1):
        yield from operation_lines(
            number, operation, reviewed_mark(review, operation), review.comments, colors
        )
    yield from _after(review, asking=asking)


def review_end_lines(review: Review) -> Iterator[Line]:
    """Renders what a question needs that follows a review on another screen: the plan, its end."""
    yield from _title(review)
    yield from _end(review, asking=True)


def review_texts(review: Review) -> Iterator[str]:
    """Renders the same lines without color, a whole operation at once, which is faster."""
    if review.comments:
        yield from map(_text, review_lines(review))
        return
    yield from map(_text, _before(review))
    for number, operation in enumerate(review.operations, 1):
        yield _operation_text(number, operation, reviewed_mark(review, operation))
    yield from map(_text, _after(review, asking=False))


def _before(review: Review, colors: "Highlighter | None" = None) -> Iterator[Line]:
    """Renders the part before the operations."""
    yield from _title(review)
    yield from build_blocked_lines(review)
    yield from warning_lines(review.warnings)
    yield from drift_lines(review.drifted)
    if review.since is not None:
        yield from review_changes_lines(review.since)
    yield from risk_lines(review, [*enumerate(review.operations, 1)])
    yield from rehearsed_lines(review)
    yield from progress_lines(review)
    yield from excluded_lines(review.declined, unsure=review.unsure)
    yield from missing_note_lines(review.missing)
    yield from outdated_comment_lines(review.comments)
    yield Line("heading", "Text")
    text = display_path(review.text)
    shown = colors.text_lines(text) if colors else untrusted_lines(text)
    yield from with_comments(shown, review.comments)
    yield BLANK
    yield from declared_lines(review)


def _after(review: Review, *, asking: bool) -> Iterator[Line]:
    said = chain(
        approval_note_lines(review.notes),
        comment_count_lines(review.comments),
        critique_lines(review.critique),
    )
    return chain(said, _end(review, asking=asking))


def review_json(review: Review) -> Row:
    """Returns a review as the object that `--json` prints."""
    return {
        "plan_id": review.plan_id,
        "session": review.session or None,
        "name": review.name,
        **({"option": review.option, "discards": [*review.others]} if review.option else {}),
        **path_fields("path", review.path or None),
        "state": str(review.state),
        "digest": review.digest or None,
        "approved": review.approved,
        **({"expires_at": review.expires_at} if review.expires_at else {}),
        "text": display_path(review.text),
        "content_hash": review.content_hash,
        "operations_hash": review.operations_hash,
        "risks": list(review.risks),
        **outline_rows(review.outline),
        "scope": {"files": list(review.scope.files), "commands": list(review.scope.commands)},
        "relied_on": [
            {**path_fields("path", file.path), "digest": file.digest} for file in review.relied_on
        ],
        "operations": [_row(operation) for operation in review.operations],
        **({"rehearsal": rehearsal_row(review.rehearsal)} if review.rehearsable else {}),
        **excluded_rows(review.declined),
        "notes": approval_note_rows(review.notes),
        "missing_notes": approval_note_rows(review.missing),
        "since": review_changes_row(review.since, _rows_of_new(review)),
        **_denied_row(review),
        **({"drifted": drift_rows(review.drifted)} if review.drifted else {}),
        **({"comments": comment_rows(review.comments)} if review.comments else {}),
        **({"critique": critique_row(review.critique)} if review.critique else {}),
        **warning_rows(review.warnings),
        **({"estimate": estimate_row(review.estimate)} if review.estimate else {}),
    }


def _row(operation: OperationReview) -> Row:
    return {
        **operation_row(operation.id, operation.op),
        "reversible": operation.reversible,
        "risk": operation.risk,
        "risks": list(operation.risks),
        **({"reasons": list(operation.reasons)} if operation.reasons else {}),
        "diff": operation.diff,
        "seen": operation.seen,
        **({"remarks": list(operation.remarks)} if operation.remarks else {}),
        **({"denied": operation.denied} if operation.denied else {}),
        **({"not_covered": list(operation.not_covered)} if operation.not_covered else {}),
    }


def _rows_of_new(review: Review) -> dict[str, Row]:
    if review.since is None:
        return {}
    return {one.id: _row(one) for one in review.operations if not one.seen}


def review_diff_lines(review: Review, colors: "Highlighter | None" = None) -> Iterator[Line]:
    """Renders only what changed since the user's last review, all of it in full."""
    yield from _title(review)
    if review.since is None:
        yield Line("plain", FIRST_REVIEW)
        yield Line("plain", f"Next: {of_plan('assent review', review.of)}")
        return
    yield from build_blocked_lines(review)
    yield from warning_lines(review.warnings)
    yield from drift_lines(review.drifted)
    new = [pair for pair in enumerate(review.operations, 1) if not pair[1].seen]
    if new or review.since.text_diff:
        yield from risk_lines(review, new, "new ")
    yield from review_changes_lines(review.since)
    for number, operation in new:
        yield from operation_lines(
            number, operation, reviewed_mark(review, operation), review.comments, colors
        )
    yield from _end(review, asking=False)


def review_diff_json(review: Review) -> Row:
    """Returns the changes as JSON, with their plan."""
    return {
        "plan_id": review.plan_id,
        "digest": review.digest or None,
        "risks": list(review.risks),
        "since": review_changes_row(review.since, _rows_of_new(review)),
        **_denied_row(review),
        **({"drifted": drift_rows(review.drifted)} if review.drifted else {}),
        **warning_rows(review.warnings),
    }


def _title(review: Review) -> Iterator[Line]:
    yield Line("heading", f"Plan {visible_line(review.name)}")
    rows = [
        *([("option", option_text(review))] if review.option else []),
        ("session", visible_line(review.session) or "none"),
        ("file", visible_path(review.path) or "none"),
        ("state", state_text(review.state, approved=review.approved)),
        *([("expires", visible_line(local_time(review.expires_at)))] if review.expires_at else []),
    ]
    yield from table_lines("plain", rows)
    yield BLANK


def option_text(review: Review) -> str:
    """Returns the label of an option, and what its approval means for the others."""
    others = ", ".join(map(visible_line, review.others))
    label = visible_line(review.option)
    return f"{label} (approving it discards {others})" if others else label


def build_blocked_lines(review: Review) -> Iterator[Line]:
    """Renders why a plan cannot be built in its current state, even if it is approved."""
    for reason in review.denied:
        yield from wrapped_lines("risk", f"{CANNOT_BE_BUILT}: {reason}")
    if review.denied:
        yield BLANK


def _denied_row(review: Review) -> Row:
    return {"cannot_be_built": list(review.denied)} if review.denied else {}


def risk_lines(
    review: Review, operations: Sequence[tuple[int, OperationReview]], new: str = ""
) -> Iterator[Line]:
    """Renders the risks, with the operations that they were found in."""
    risky: dict[str, list[str]] = {code: [] for code in RISK_CODES}
    for code in [code for code in review.risks if code not in _WHOLE]:
        risky[code].append(_globs(review) if code in MODEL_RISKS else "the plan text")
    for number, operation in operations:
        for code in operation.risks:
            risky[code].append(f"{number}. {operation_brief(operation.op)}")
    count = sum(1 for _, operation in operations if operation.is_risky)
    found = f"{count} of {len(operations)}" if count else f"none found in {len(operations)}"
    hints = {*MODEL_RISKS, *_WHOLE}
    text = "; found in plan text" if set(review.risks) - hints else ""
    model = "model changes; " if set(review.risks) & set(MODEL_RISKS) else ""
    tried = "rehearsal failed; " if REHEARSAL_FAILED in review.risks else ""
    noun = "operation" if len(operations) == 1 else "operations"
    yield Line("heading", f"Risks: {tried}{model}{found} {new}{noun}{text}")
    if REHEARSAL_FAILED in review.risks:
        yield from wrapped_lines("risk", f"{REHEARSAL_FAILED}: {RISK_CODES[REHEARSAL_FAILED]}")
    for code, places in risky.items():
        for place in places:
            yield from wrapped_lines("risk", f"{code:<{_WIDEST}}  {place}: {RISK_CODES[code]}")
    for number, operation in operations:
        if operation.is_risky and not operation.risks:
            place = f"{number}. {operation_brief(operation.op)}"
            level = f"{operation.risk} risk"
            yield from wrapped_lines("risk", f"{level:<{_WIDEST}}  {place}: {_why(operation)}")
    for code in review.risks:
        if code in STRUCTURE_RISKS:
            yield from wrapped_lines("plain", RISK_CODES[code])
    yield BLANK


def _why(operation: OperationReview) -> str:
    return visible_line(" ".join(operation.reasons))


def command_risk_lines(operation: OperationReview) -> Iterator[Line]:
    """Renders the risk of a command as the log and a question have it: level and reasons."""
    if operation.reasons:
        style: Style = "risk" if operation.risk == "high" else "plain"
        yield from wrapped_lines(style, f"{operation.risk} risk: {_why(operation)}")


def rehearsed_lines(review: Review) -> Iterator[Line]:
    """Renders what a rehearsal of exactly these operations showed, or that there was none."""
    if review.rehearsable:
        yield from rehearsal_lines(review.rehearsal)
        yield BLANK


def progress_lines(review: Review, *, brief: bool = False) -> Iterator[Line]:
    """Renders the steps and how far they are, if the text has any."""
    lines = [*step_lines(review.outline.steps, brief=brief)] if review.outline else []
    yield from lines
    if lines:
        yield BLANK


def declared_lines(review: Review, *, digests: bool = True) -> Iterator[Line]:
    """Renders the remaining parts that the digest covers; digests of files only if wanted."""
    rows = [
        *(("may touch", visible_line(glob)) for glob in review.scope.files),
        *(("may run", visible_line(prefix)) for prefix in review.scope.commands),
        *(
            ("relies on", f"{visible_path(f.path)}{f'  {f.digest}' if digests else ''}")
            for f in review.relied_on
        ),
    ]
    yield from table_lines("plain", rows)
    warnings = [f"`{key}` is ignored; use `{ours}`." for key, ours in _misspelt(review.text)]
    if review.prose and not review.scope.files:
        warnings.append(EMPTY_SCOPE)
    for warning in warnings:
        yield from wrapped_lines("risk", visible_line(warning))
    if rows or warnings:
        yield BLANK


def _misspelt(text: bytes) -> list[tuple[str, str]]:
    try:
        return misspelled_keys(text)
    except InvalidPlan:  # proposing a draft like that is refused
        return []


def _globs(review: Review) -> str:
    return ", ".join(map(visible_line, review.scope.files))


def reviewed_mark(review: Review, operation: OperationReview) -> str:
    """Returns whether the user has reviewed an operation; empty if they reviewed none so far."""
    if review.since is None:
        return ""
    if operation.seen:
        return ", reviewed"
    return ", changed" if operation.changed else ", new"


def operation_lines(
    number: int,
    operation: OperationReview,
    mark: str,
    comments: Sequence[PlacedComment] = (),
    colors: "Highlighter | None" = None,
    about: str | None = None,
) -> list[Line]:
    """Renders one operation; as a list, because there may be thousands with many lines each.

    `about` is shown instead of the operation's id.
    """
    diff = colors.diff_lines if colors else diff_lines
    shown = diff(operation.diff) if operation.diff else _without_diff(operation)
    below = with_comments(shown, comments, operation.id)
    return [*operation_header_lines(number, operation, mark, about), *below, BLANK]


def _operation_text(number: int, operation: OperationReview, mark: str) -> str:
    """Renders one operation as text, which ends with an empty line."""
    about = map(_text, operation_header_lines(number, operation, mark))
    if operation.diff:
        return "\n".join([*about, diff_text(operation.diff), ""])
    return "\n".join([*about, *map(_text, _without_diff(operation)), ""])


def operation_header_lines(
    number: int, operation: OperationReview, mark: str, about: str | None = None
) -> list[Line]:
    """Renders the lines above a diff; `about` is shown instead of the operation's id."""
    op = operation.op
    title = f"{number}. {operation_verb(op)} {operation_brief(op)}"
    lines = [*wrapped_lines("heading", f"{title} ({operation.reversible}{mark})")]
    told = f"id {operation.id[:SHORT]}" if about is None else about
    lines += [Line("dim", told)] if told else []
    if operation.risks:
        lines.append(Line("risk", f"risks: {', '.join(operation.risks)}"))
    lines += command_risk_lines(operation)
    if operation.denied:
        lines += wrapped_lines("risk", f"{CANNOT_BE_BUILT.lower()}: {operation.denied}")
    lines += undo_gap_lines(operation)
    if isinstance(op, DeleteFile | MoveFile) and op.prune:
        folders = ", ".join(map(visible_path, ancestors(op.path)[: op.prune]))
        lines += wrapped_lines("plain", f"also removes these folders if empty: {folders}")
    return lines


def undo_gap_lines(operation: OperationReview) -> Iterator[Line]:
    """Renders what an undo of a command does not restore, unless a remark says it in full."""
    listed = [words for words in operation.not_covered if words not in operation.remarks]
    if listed:
        yield from wrapped_lines(
            "plain", f"not covered by undo: {', '.join(map(visible_line, listed))}"
        )


def _without_diff(operation: OperationReview) -> Iterator[Line]:
    """Renders a command, or the known facts about contents that cannot be shown."""
    if isinstance(operation.op, RunCommand):
        yield from command_lines(operation.op, operation.unheld)
        for remark in operation.remarks:
            yield from wrapped_lines("plain", remark)
    elif operation.diff is None:
        yield from not_shown_lines(operation.op)


def not_shown_lines(op: Operation) -> Iterator[Line]:
    """Renders the known facts about contents that cannot be shown."""
    yield Line("plain", NOT_SHOWN_BUT)
    for _, before, after in footprint(op):
        yield from table_lines("plain", [("before", *_state(before)), ("after", *_state(after))])


def _state(state: FileState | None) -> tuple[str, str, str]:
    if state is None:
        return "nothing", "", ""
    size = "1 byte" if state.size == 1 else f"{state.size} bytes"
    return size, f"{state.kind} {state.mode:o}", f"sha256 {state.digest}"


def _end(review: Review, *, asking: bool) -> Iterator[Line]:
    yield Line("plain", operation_counts_text(operation.op for operation in review.operations))
    if review.estimate:
        yield Line("plain", f"Expected for the build: {estimate_text(review.estimate)}.")
    if review.digest:
        yield Line("heading", "Digest")
        yield Line("digest", review.digest)
    if asking:
        return
    command = next_command(review.state, review.digest, approved=review.approved)
    if review.digest and not review.path:  # an undo plan has no file and its own verb
        command = f"assent undo --digest {review.digest}"
    yield Line("plain", f"Next: {of_plan(review.next or command, review.of)}")


def operation_counts_text(operations: Iterable[Operation]) -> str:
    """Returns the number of operations, in all and by kind, as a sentence."""
    kinds = [operation_verb(each) for each in operations]
    if not kinds:
        return "No operations: this is a text plan."
    return f"{counted(len(kinds), 'operation')}: {operation_kinds_text(kinds)}."


# Comment anchors: what in a review comments can be tied to, and where their lines are now.


def text_part(text: bytes) -> CommentTarget:
    """Returns a plan's text, line by line."""
    return commentable_part(untrusted_lines(display_path(text)))


def operation_part(number: int, operation: OperationReview) -> CommentTarget:
    """Returns an operation as a review shows it: its diff or its command, else without lines."""
    op = operation.op
    lines = (
        command_lines(op, operation.unheld)
        if isinstance(op, RunCommand)
        else diff_lines(operation.diff or "")
    )
    return commentable_part(lines, operation.id, _about(operation), number)


def place_comments(review: Review, comments: Sequence[Comment]) -> tuple[PlacedComment, ...]:
    """Returns comments with their location in a review; comments on other parts are omitted."""
    if not comments:
        return ()
    parts = [*_parts(review, [comment.anchor.about for comment in comments])]
    return tuple([place_comment(comment, parts) for comment in comments])


def _parts(review: Review, about: Iterable[str]) -> Iterator[CommentTarget]:
    wanted = set(about)
    if "" in wanted:
        yield text_part(review.text)
    for number, operation in enumerate(review.operations, 1):
        if _about(operation) in wanted:
            yield operation_part(number, operation)


def _about(operation: OperationReview) -> str:
    """Returns the name of an operation in stored comments, which do not change."""
    return f"{operation_kind(operation.op)} {operation_brief(operation.op)}"


# Operations of a plan on a line each, with how much they change; and one of them in full.


RISKY: Final = "!"
NONE: Final = "Nothing is staged."


def diff_line_counts(diff: str | None) -> tuple[int, int]:
    """Counts the lines that a diff adds and removes."""
    plus = minus = 0
    inside = False
    for line in (diff or "").split("\n"):
        if line.startswith("diff --git "):
            inside = False  # what follows are names, not lines of a file
        elif line.startswith("@@ "):
            inside = True
        elif inside and line.startswith("+"):
            plus += 1
        elif inside and line.startswith("-"):
            minus += 1
    return plus, minus


def staged_lines(operations: Sequence[OperationReview]) -> Iterator[Line]:
    """Renders each operation as one line: number, risk, kind, subject, lines changed."""
    if not operations:
        yield Line("dim", NONE)
    width = len(str(len(operations)))
    for number, operation in enumerate(operations, 1):
        sign = RISKY if operation.is_risky else " "
        words = (
            f"{number:>{width}}{sign} {operation_verb(operation.op):<6} "
            f"{operation_subject(operation.op)}"
        )
        yield Line("risk" if operation.is_risky else "plain", f"{words}{_counts(operation)}")


def operation_title(number: int, operation: OperationReview) -> str:
    """Returns an operation as a title."""
    return (
        f"{number}. {operation_verb(operation.op)} {operation_brief(operation.op)} "
        f"({operation.reversible})"
    )


def operation_detail_lines(operation: OperationReview) -> Iterator[Line]:
    """Renders one operation in full: its risks, then its diff or its command."""
    for code in operation.risks:
        yield from wrapped_lines("risk", f"{RISKY} {code}: {RISK_CODES[code]}")
    yield from command_risk_lines(operation)
    if operation.is_risky:
        yield BLANK
    if operation.diff:
        yield from numbered_lines(operation.diff)
    elif isinstance(operation.op, RunCommand):
        yield from command_lines(operation.op, operation.unheld)
        yield from undo_gap_lines(operation)
        for remark in operation.remarks:
            yield from wrapped_lines("plain", remark)
    elif operation.diff is None:
        yield Line("plain", NOT_SHOWN)


def _counts(operation: OperationReview) -> str:
    if isinstance(operation.op, RunCommand):
        return ""
    if operation.diff is None:
        return "  not text"
    plus, minus = diff_line_counts(operation.diff)
    told = [f"+{plus}"] * bool(plus) + [f"-{minus}"] * bool(minus)
    return f"  {' '.join(told)}" if told else ""
