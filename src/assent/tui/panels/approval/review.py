"""A review in the approval panel: loads a plan, renders it, and records decisions.

Everything that the user decides about is rendered.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

import msgspec

from assent.core.errors import AssentError, DigestMismatch
from assent.core.paths import display_path
from assent.core.plan.comment import CommentAnchor, CommentTarget, Feedback, PlacedComment
from assent.core.plan.operation import STRUCTURE_RISKS, RunCommand
from assent.core.plan.record import PlanRecord, PlanState
from assent.core.text.hidden_chars import (
    CONTINUATION_MARK,
    source_line_count,
    visible_line,
    visible_path,
)
from assent.core.text.secrets import redact
from assent.render.approval import approval_note_lines, excluded_lines, missing_note_lines
from assent.render.comments import (
    MARK,
    comment_name,
    is_suggested,
    outdated_comment_lines,
    suggested_text,
    with_comments,
)
from assent.render.diff_view import NumberedDiff, numbered_lines
from assent.render.estimate import estimate_text
from assent.render.file_tree import file_tree_lines
from assent.render.lines import BLANK, GUTTER, Line, Span, wrapped_lines
from assent.render.options import compare_options, comparison_lines
from assent.render.plan_source import plan_source_lines
from assent.render.rehearsal import rehearsal_text
from assent.render.rendered_markdown import MarkdownRenderer
from assent.render.review import (
    OperationReview,
    Review,
    build_blocked_lines,
    declared_lines,
    operation_counts_text,
    operation_header_lines,
    operation_lines,
    operation_part,
    progress_lines,
    rehearsed_lines,
    reviewed_mark,
    risk_lines,
    text_part,
)
from assent.render.review_changes import (
    FIRST_REVIEW,
    ReviewChanges,
    changes_text,
    review_changes_lines,
)
from assent.render.review_warnings import DriftedFile, drift_lines, warning_lines
from assent.render.rows import operation_brief, operation_verb
from assent.render.status import critique_texts, state_text
from assent.tui.hints import error_text, with_screen_commands
from assent.tui.line_view import NO_ROW, LinePosition, Section
from assent.tui.panels.approval.state import ApprovalStage, ApprovalState
from assent.tui.result_messages import UNDONE, decision_text, undone_text
from assent.tui.status import undone_amount

if TYPE_CHECKING:
    from assent.app.engine import Engine
    from assent.planning.partial_approval import PartialApproval
    from assent.runs.undo.targets import UndoneAmount

# The sections of a review: everything that a person decides about, with its title and context.


RISKS, TEXT, END, LIVE, GONE, OPTIONS = "risks", "text", "end", "live", "gone", "options"
OPERATION: Final = "operation "  # before the number, in the key of its sheet
SHORT: Final = 12
EXCLUDED: Final = "[excluded] "
PREVIEW: Final = "Rendered text. You approve the source; any key goes back to it."
ALL_OF_IT: Final = "End of plan. Its digest covers everything above."
SINCE: Final = "Since your last review"
NO_DIGEST: Final = "no digest (draft)"


def option_section(reviews: Sequence[Review]) -> Section:
    """Returns the plans to choose from side by side, above the one that is shown."""
    lines = comparison_lines(compare_options(reviews), commands=False)
    return Section(OPTIONS, (*lines, BLANK))


def review_sections(
    review: Review, marked: Collection[str] = (), live: str = ""
) -> Iterator[Section]:
    """Yields everything that the digest covers, risks first; `live` means the file differs."""
    yield from _filled(
        LIVE, wrapped_lines("risk", visible_line(with_screen_commands(live))) if live else ()
    )
    yield from _filled("denied", build_blocked_lines(review))
    yield from _filled("warnings", warning_lines(review.warnings))
    yield Section(RISKS, tuple(risk_lines(review, [*enumerate(review.operations, 1)])))
    yield from _filled("rehearsal", rehearsed_lines(review) if review.rehearsal else ())
    yield from _filled("drifted", drift_lines(tuple(map(_drifted, review.drifted))))
    yield from _filled("since", _since(review.since) if review.since else ())
    yield from _filled("declined", excluded_lines(review.declined, unsure=review.unsure))
    yield from _filled("missing", missing_note_lines(review.missing))
    yield from _filled(GONE, outdated_comment_lines(review.comments))
    yield from _filled("steps", progress_lines(review, brief=True))
    yield from _filled("declared", declared_lines(review, digests=False))
    files = file_tree_lines([*review.operations])
    yield from _filled("files", [*files, BLANK] if files else ())
    yield text_section(review)
    for number in range(1, len(review.operations) + 1):
        yield operation_section(review, number, marked)
    yield from _filled("notes", approval_note_lines(review.notes))
    yield Section(END, tuple(_end(review)))


def _drifted(one: DriftedFile) -> DriftedFile:
    return msgspec.structs.replace(one, change=with_screen_commands(one.change))


def text_section(review: Review) -> Section:
    """Returns the plan's complete text, with comments below their lines."""
    lines = with_comments(plan_source_lines(display_path(review.text)), review.comments)
    return Section(TEXT, (Line("heading", "Text"), *lines, BLANK))


def preview_section(review: Review) -> Section:
    """Returns the plan's text as rendered Markdown, which is not what is decided about."""
    text = display_path(review.text)
    lines = MarkdownRenderer().lines(text)
    return Section("preview", (Line("heading", PREVIEW), BLANK, *lines))


def operation_section(review: Review, number: int, marked: Collection[str] = ()) -> Section:
    """Returns one operation in full, with a mark if it is excluded."""
    operation = review.operations[number - 1]
    mark = reviewed_mark(review, operation)
    if operation.diff:
        section = _diff_section(review, number, mark)
    else:
        lines = operation_lines(number, operation, mark, review.comments, about="")
        section = Section(f"{OPERATION}{number}", tuple(lines))
    if operation.id in marked:
        first, *others = section.lines
        marked_lines = (Line("risk", EXCLUDED + first.text), *others)
        return msgspec.structs.replace(section, lines=marked_lines)
    return section


def _diff_section(review: Review, number: int, mark: str) -> Section:
    """Returns an operation with its diff, whose spans are worked out when they are drawn."""
    operation = review.operations[number - 1]
    diff = NumberedDiff(operation.diff or "")
    about = "; ".join(filter(None, diff.summaries))
    head = operation_header_lines(number, operation, mark, about)
    return _numbered_section(
        f"{OPERATION}{number}",
        head,
        diff,
        lambda rows, numbers: with_comments(rows, review.comments, operation.id, numbers),
    )


def diff_section(key: str, head: Sequence[Line], patch: str) -> Section:
    """Returns a patch below what is said of it."""
    return _numbered_section(key, head, NumberedDiff(patch), lambda rows, numbers: rows)


def _numbered_section(
    key: str,
    head: Sequence[Line],
    diff: NumberedDiff,
    commented: Callable[[Sequence[Line], Sequence[int]], Iterable[Line]],
) -> Section:
    rows, numbers = diff.lines(), diff.numbers()
    place_of = {id(line): at for at, line in enumerate(rows)}
    body = [*commented(rows, numbers)]
    places = [place_of.get(id(line), NO_ROW) for line in body]
    counted: list[int] = []
    for place in places:
        above = counted[-1] if counted else 0
        counted.append(numbers[place] if place >= 0 else above)
    return Section(
        key,
        (*head, *body, BLANK),
        (*[0] * len(head), *counted, 0),
        diff,
        (*[NO_ROW] * len(head), *places, NO_ROW),
        diff,
    )


def commented_section(review: Review, key: str, marked: Collection[str]) -> Section:
    """Renders a section again after its comments changed."""
    number = number_of(key)
    return operation_section(review, number, marked) if number else text_section(review)


def number_of(key: str) -> int:
    """Returns the number of the operation that a section shows; 0 if it shows none."""
    return int(key.removeprefix(OPERATION)) if key.startswith(OPERATION) else 0


def anchor_at(review: Review, sheet: Section, spot: LinePosition) -> CommentAnchor | None:
    """Returns the anchor of a comment at a position: a line, an operation, or nothing."""
    number = number_of(sheet.key)
    if sheet.key != TEXT and not number:
        return None
    part = text_part(review.text)
    above = 1
    if number:
        operation = review.operations[number - 1]
        part = operation_part(number, operation)
        mark = reviewed_mark(review, operation)
        above = len(operation_header_lines(number, operation, mark, ""))
    at = sheet.numbers[spot.line] if sheet.numbers else _line_of(sheet, above, spot.line)
    return _anchored(part, at if at <= len(part.lines) else 0)


def placed_at(comments: Iterable[PlacedComment], anchor: CommentAnchor) -> PlacedComment | None:
    """Returns the pending comment at an anchor; a critic's is not the user's to edit."""
    place = (anchor.operation, anchor.first, anchor.last)
    for placed in comments:
        there = placed.anchor
        if is_suggested(placed) or placed.standing == "gone":
            continue
        if (there.operation, there.first, there.last) == place:
            return placed
    return None


def suggestion_at(review: Review, sheet: Section, spot: LinePosition) -> PlacedComment | None:
    """Returns the critic's comment under the cursor, or the first one below its line."""
    for line in reversed(sheet.lines[: spot.line + 1]):
        if sheet.key != GONE and not _is_comment_line(line):
            break
        if named := _named_comment(review.comments, sheet, line):
            return named if is_suggested(named) else None
    anchor = anchor_at(review, sheet, spot)
    if anchor is None:
        return None
    place = (anchor.operation, anchor.last)
    there = [one for one in review.comments if one.standing != "gone" and is_suggested(one)]
    return next((one for one in there if (one.anchor.operation, one.anchor.last) == place), None)


def next_suggestion(
    review: Review, sheets: Sequence[Section], spot: LinePosition | None
) -> LinePosition | None:
    """Returns where the next comment of the critic begins, from the top again after the last."""
    found = [
        LinePosition(sheet.key, at)
        for sheet in sheets
        for at, line in enumerate(sheet.lines)
        if (named := _named_comment(review.comments, sheet, line)) and is_suggested(named)
    ]
    order = {sheet.key: at for at, sheet in enumerate(sheets)}
    here = (order.get(spot.key, 0), spot.line) if spot else (-1, -1)
    ahead = [one for one in found if (order[one.key], one.line) > here]
    return next(iter([*ahead, *found]), None)


def _is_comment_line(line: Line) -> bool:
    return line.style == "said" and line.text.startswith(MARK)


def _named_comment(
    comments: Sequence[PlacedComment], sheet: Section, line: Line
) -> PlacedComment | None:
    """Returns the comment that begins on a line, between those of a plan or in a list."""
    text = line.text
    if sheet.key == GONE:
        text = MARK + text[:1].lower() + text[1:] if line.style == "heading" else ""
    elif not _is_comment_line(line):
        return None
    names = {f"{MARK}{comment_name(n, one.comment)}": one for n, one in enumerate(comments, 1)}
    fitting = [name for name in names if text.startswith(name)]
    return names[max(fitting, key=len)] if fitting else None


def title_line(review: Review) -> Line:
    """Renders the title, with the beginning of the digest."""
    state = state_text(review.state, approved=review.approved)
    option = f" · option {visible_line(review.option)}" if review.option else ""
    named = f"Plan {visible_line(review.name)}{option} · {state}"
    return with_short_digest(named, review.digest, NO_DIGEST)


def with_short_digest(words: str, digest: str, otherwise: str = "") -> Line:
    """Returns a title with the beginning of a digest, dimmed; the question shows all of it."""
    short = digest[:SHORT] or otherwise
    told = f" · {short}" if short else ""
    return Line("heading", words + told, (Span(words), Span(told, "gutter")))


class ReviewContext(msgspec.Struct, frozen=True):
    """What is shown next to a plan during its review."""

    undo: tuple[str, ...] = ()  # what of it an undo reverts with limits, or not at all
    note: str = ""  # sent along with an approval
    marked: tuple[str, ...] = ()  # ids of operations to be left out


def context_lines(review: Review, context: ReviewContext, width: int) -> list[Line]:
    """Renders the plan's location, what cannot be undone, and what changed: a line for each."""
    rows = [
        ("file", visible_path(review.path) or "none (created from a run)"),
        *_context_rows(review, context),
    ]
    return [Line("plain", _cropped(f"{name:<9}  {words}", width)) for name, words in rows]


def brief_context_lines(review: Review, context: ReviewContext, width: int) -> list[Line]:
    """Renders the same on two lines, the user's own part first."""
    rows = _context_rows(review, context)
    own = [f"{name}: {words}" for name, words in rows if name in _OWN]
    rest = [words for name, words in rows if name not in _OWN]
    told, more = " · ".join(own), " · ".join(rest)
    return [Line("plain", _cropped(words, width)) for words in (told, more) if words]


_OWN: Final = ("excluded", "comments", "note")


def _context_rows(review: Review, context: ReviewContext) -> list[tuple[str, str]]:
    rows = [
        *[("undo", words) for words in context.undo],
        ("changed", _changed(review.since)),
    ]
    if excluded := _names(review, context.marked):
        rows.append(("excluded", excluded))
    if review.rehearsable:
        rows.append(("rehearsal", rehearsal_text(review.rehearsal)))
    if review.estimate:
        rows.append(("expected", estimate_text(review.estimate)))
    found = sum(map(is_suggested, review.comments))
    if waiting := len(review.comments) - found:
        rows.append(("comments", f"{waiting} pending, sent with feedback (2)"))
    if found:
        rows.append(("critic", f"{suggested_text(found)}, sent only if you keep them (f, +, -)"))
    rows += [("critic", text) for text in _critique_texts(review)]
    if context.note:
        rows.append(("note", visible_line(context.note)))
    return rows


def _critique_texts(review: Review) -> list[str]:
    """Says what to know of a critique apart from its findings, for one line each."""
    if review.critique is None:
        return []
    if review.critique.state == "unfinished":
        return ["The critic did not finish. Continue the session to ask it again."]
    return [visible_line(text) for text in critique_texts(review.critique)]


def unseen_text(sheets: Sequence[Section], spot: LinePosition | None) -> str:
    """Returns what is below a position: how many lines, and which operations."""
    at = next((n for n, each in enumerate(sheets) if spot and each.key == spot.key), 0)
    below = sheets[at:]
    seen = spot.line + 1 if spot and below else 0
    lines = sum(len(sheet.lines) for sheet in below) - seen
    numbers = [number for number in (number_of(sheet.key) for sheet in below) if number]
    if not numbers:
        return _lines(lines)
    first, last = numbers[0], numbers[-1]
    which = f"operations {first} to {last}" if last > first else f"operation {first}"
    return f"{_lines(lines)}, including {which}"


def _lines(count: int) -> str:
    return f"{count} line{'' if count == 1 else 's'}"


def _filled(key: str, lines: Iterable[Line]) -> Iterator[Section]:
    found = tuple(lines)
    if found:
        yield Section(key, found)


def _end(review: Review) -> Iterator[Line]:
    yield Line("plain", operation_counts_text(operation.op for operation in review.operations))
    if review.digest:
        yield Line("dim", ALL_OF_IT)


def _since(since: ReviewChanges) -> Iterator[Line]:
    """Renders what changed since the last review, without the digest of that."""
    _, *lines = review_changes_lines(since, numbered_lines)
    yield Line("heading", SINCE)
    yield from lines


def _line_of(sheet: Section, above: int, line: int) -> int:
    """Returns the line number for comments of a line of a section; 0 if it has none."""
    number = 0
    for each in sheet.lines[above : line + 1]:
        text = each.text.removeprefix(GUTTER)
        if not _is_comment_line(each) and not (number and text.startswith(CONTINUATION_MARK)):
            number += source_line_count(text)
    return number


def _anchored(part: CommentTarget, at: int) -> CommentAnchor:
    quote = part.lines[at - 1 : at] if at else ()
    return CommentAnchor(part.operation, at, at, quote, part.about, part.seen)


_HARD: Final = {
    "irreversible": "cannot be undone",
    "compensated": "undone by its own command",
    "reversible": "undone with limits",
}


def undo_limits(operations: Sequence[OperationReview]) -> Iterator[str]:
    """Yields what an undo cannot undo, and what it can undo only in part."""
    for how, words in _HARD.items():
        found = [
            f"{number}. {operation_verb(each.op)} {operation_brief(each.op)}"
            for number, each in enumerate(operations, 1)
            if each.reversible == how and isinstance(each.op, RunCommand)
        ]
        if found:
            yield f"{len(found)} {words}: {'; '.join(found)}"
    if not any(isinstance(each.op, RunCommand) for each in operations):
        yield "everything can be undone" if operations else "no operations"


def _changed(since: ReviewChanges | None) -> str:
    if since is None:
        return FIRST_REVIEW
    if since.nothing:
        return "Nothing since your last review"
    return f"Since your last review: {changes_text(since)}"


def _names(review: Review, ids: Collection[str]) -> str:
    if review.declined:
        return "; ".join(
            f"{operation_verb(one.op)} {operation_brief(one.op)}" for one in review.declined
        )
    found = [
        f"{number}. {operation_verb(each.op)} {operation_brief(each.op)}"
        for number, each in enumerate(review.operations, 1)
        if each.id in ids
    ]
    return "; ".join(found)


def _cropped(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: max(width - 1, 0)]}…"


def is_high_risk(review: Review) -> bool:
    """Tells whether any of it is of high risk, cannot be undone, or is not rated."""
    hard = any(one.risk == "high" or one.reversible == "irreversible" for one in review.operations)
    return hard or not review.operations or bool({*review.risks} - {*STRUCTURE_RISKS})


def is_open(review: Review) -> bool:
    """Tells whether a plan can still be commented on and decided."""
    return review.state in (PlanState.DRAFTING, PlanState.AWAITING_APPROVAL)


# The approval panel's calls to the engine: loading a plan, and recording decisions about it.
#
# All of them may be slow and belong in threads; nothing here draws.


TERMINAL: Final = "terminal"  # the channel of an approval given on this screen
PLANNING_ENDED: Final = "The user ended planning."
CHANGED: Final = "The plan changed; nothing was decided. This is the current version."


class DisplayedPlan(msgspec.Struct, frozen=True):
    """A plan as it is shown; an approval covers exactly this."""

    record: PlanRecord
    review: Review
    sheets: tuple[Section, ...]
    partial: "PartialApproval | None" = None  # what is shown is this smaller plan
    undo: tuple[str, ...] = ()  # what of it is hard to undo, in words
    live: str = ""  # how its file differs from it, in words
    prose: bool = False
    undone: "UndoneAmount" = ""  # how much of what it did last was undone
    options: tuple[PlanRecord, ...] = ()  # the plans to choose from, of which it is one

    def state(self, *, read: bool, marked: bool) -> ApprovalState:
        """Returns the state that determines which actions are possible."""
        fits = not self.review.drifted and not self.live
        awaited = self.record.state is PlanState.AWAITING_APPROVAL and bool(self.review.digest)
        return ApprovalState(
            ApprovalStage.READING,
            open=is_open(self.review),
            awaited=awaited and fits,
            approved=self.review.approved,
            read=read,
            marked=marked,
            part=self.partial is not None,
            suggested=any(map(is_suggested, self.review.comments)),
            others=", ".join(map(visible_line, self.review.others)) if self.options else "",
            high=is_high_risk(self.review),
        )

    @property
    def next_option(self) -> str:
        """The id of the plan to choose from that comes after this one."""
        ids = [one.plan_id for one in self.options]
        return ids[(ids.index(self.record.plan_id) + 1) % len(ids)]


def load_plan(engine: "Engine", plan_id: str, without: Sequence[str] = ()) -> DisplayedPlan:
    """Reads a plan, or the plan without some of its operations."""
    record = engine.plans.find(plan_id)
    if without:
        partial = engine.partial_approvals.preview(record, without)
        review = engine.review_history.partial(partial, "")
        hard = tuple(undo_limits(review.operations))
        return DisplayedPlan(record, review, tuple(review_sections(review)), partial, hard)
    live = engine.plans.difference(record)
    review = engine.review_history.review(record)
    sheets, hard = tuple(review_sections(review, (), live)), tuple(undo_limits(review.operations))
    undone, options = undone_amount(engine, record), engine.plans.presented_options(record)
    if options:
        reviews = [
            review if one.plan_id == record.plan_id else engine.review_history.review(one)
            for one in options
        ]
        sheets = (option_section(reviews), *sheets)
    return DisplayedPlan(
        record, review, sheets, None, hard, live, review.prose, undone, tuple(options)
    )


def decision_since(engine: "Engine", reading: DisplayedPlan) -> str:
    """Returns who decided about a plan since it was read, and how; nothing if no one did."""
    events = [recorded.event for recorded in engine.plans.since(reading.record)]
    now = engine.plans.find(reading.record.plan_id)
    if words := decision_text(now, events, engine.plans.reference(now)):
        return words
    undone = undone_amount(engine, now)
    if undone == reading.undone or not now.runs:
        return ""
    by = engine.history.last_undo_of(now.runs[-1].run)
    return undone_text(now.name, UNDONE[undone], by)


def approve_plan(engine: "Engine", reading: DisplayedPlan, note: str) -> PlanRecord:
    """Records the user's approval of the digest that they were shown, or raises (law 9)."""
    if reading.partial is not None:
        return engine.partial_approvals.approve(reading.partial, note, TERMINAL)
    engine.approvals.check_files(reading.record)  # reading takes time
    return engine.approvals.approve(reading.record, reading.review.digest, note, TERMINAL)


def unchanged_plan(engine: "Engine", reading: DisplayedPlan) -> PlanRecord:
    """Returns the plan if it is what was shown; a draft by its text and staged operations."""
    now, was = engine.plans.find(reading.record.plan_id), reading.record
    same = (now.digest, now.state, now.draft) == (was.digest, was.state, was.draft)
    if not same or (not now.digest and engine.reviews.text(now) != reading.review.text):
        raise DigestMismatch(CHANGED)
    return now


def propose_plan(engine: "Engine", reading: DisplayedPlan) -> PlanRecord:
    """Freezes the draft, or the current file, under a new digest."""
    return engine.approvals.propose(unchanged_plan(engine, reading))


def propose_if_changed(engine: "Engine", record: PlanRecord) -> PlanRecord:
    """Proposes a plan again if its file changed: an earlier approval was for another text."""
    current = engine.plans.find(record.plan_id)
    return engine.approvals.propose(current) if engine.plans.difference(current) else current


def rebase_plan(engine: "Engine", reading: DisplayedPlan) -> PlanRecord:
    """Rebases a plan onto the current files, under a new digest."""
    return engine.rebaser.apply(engine.rebaser.preview(unchanged_plan(engine, reading)))


def discard_plan(engine: "Engine", reading: DisplayedPlan) -> PlanRecord:
    """Ends planning: the plan is discarded, its file stays, and its session leaves plan mode.

    So are the other options, if it is one of several: none of them is wanted then.
    """
    current = unchanged_plan(engine, reading)
    others = [one for one in engine.plans.options(current) if one.plan_id != current.plan_id]
    discarded = engine.plans.discard(current)
    for one in others:
        engine.plans.discard(one)
    session = engine.sessions.of_plan(discarded)
    if session is not None and session.mode == "plan":
        engine.sessions.set_mode(session, "ask", PLANNING_ENDED)
    return discarded


def save_comment(
    engine: "Engine",
    reading: DisplayedPlan,
    anchor: CommentAnchor,
    words: str,
    was: PlacedComment | None,
) -> Review:
    """Adds, changes or (without words) removes a comment; returns the updated review."""
    comments, record = engine.comments, reading.record
    if not words.strip():
        if was is not None:
            comments.remove(record, was.comment.id)
    elif was is not None:
        comments.change(record, was.comment.id, words)
    else:
        comments.add(record, anchor, words)
    return comments.shown(record, msgspec.structs.replace(reading.review, comments=()))


def decide_suggestion(
    engine: "Engine", reading: DisplayedPlan, placed: PlacedComment, *, keep: bool
) -> Review:
    """Keeps or dismisses a critic's comment; returns the updated review."""
    comments, record = engine.comments, reading.record
    decide = comments.keep if keep else comments.dismiss
    decide(record, [placed.comment.id])
    return comments.shown(record, msgspec.structs.replace(reading.review, comments=()))


def reject_plan(
    engine: "Engine", reading: DisplayedPlan, feedback: Feedback
) -> tuple[PlanRecord, int]:
    """Rejects a plan; feedback and comments are sent as one request."""
    return engine.comments.reject(unchanged_plan(engine, reading), feedback)


def reject_options(
    engine: "Engine", reading: DisplayedPlan, feedback: Feedback
) -> tuple[list[PlanRecord], int]:
    """Rejects all plans to choose from, each with its comments."""
    unchanged_plan(engine, reading)
    return engine.comments.reject_all(list(reading.options), feedback)


def valid_marks(review: Review, marked: Collection[str]) -> dict[str, None]:
    """Returns the marks that still match an operation, in plan order."""
    return dict.fromkeys(each.id for each in review.operations if each.id in marked)


def error_line(error: AssentError) -> str:
    """Returns an error with the next step, on one line that is safe to print."""
    return visible_line(redact(error_text(error)))
