"""The approval panel: shows a plan with everything its digest covers, and takes a decision."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

import msgspec
from textual.events import Key

from assent.core.errors import AssentError, DigestMismatch, StaleError
from assent.core.plan.comment import CommentAnchor, Feedback, PlacedComment
from assent.core.plan.record import PlanRecord, PlanState
from assent.core.text.hidden_chars import visible_line
from assent.render.lines import Line, Span
from assent.render.review import CANNOT_BE_BUILT, Review
from assent.tui.line_view import LinePosition, LineView, Section
from assent.tui.panels.approval import review as verbs
from assent.tui.panels.approval.review import (
    ReviewContext,
    anchor_at,
    brief_context_lines,
    commented_section,
    context_lines,
    next_suggestion,
    number_of,
    operation_section,
    placed_at,
    preview_section,
    review_sections,
    suggestion_at,
    title_line,
)
from assent.tui.panels.approval.state import MOVING, ApprovalAction, ApprovalStage
from assent.tui.panels.decision import DecisionPanel
from assent.tui.panels.feedback import FeedbackPanel, comment_panel, note_panel
from assent.tui.result_messages import approved_lines

if TYPE_CHECKING:
    from assent.app.engine import Engine
    from assent.tui.panels.approval.review import DisplayedPlan

FEEDBACK_KEPT = "Feedback not sent; 2 reopens it."
NOTHING_HERE = "This line takes no comment; choose a line of the text or of an operation."
NO_FINDING = "No comment by the critic here; f goes to the next one."
NO_FINDINGS = "No comment by the critic waits for your decision."
KEPT = "Kept: it is sent with your feedback (2)."
DISMISSED = "Dismissed."
NO_OPERATION = "Put the cursor on an operation first ([ and ] jump to one)."
FILE_DIFFERS = "The plan file differs from this view; t proposes it as a new plan."
DRIFTED = "Files changed since; b rebases the plan under a new digest."
DRAFT = "This is a draft without a digest; t proposes it."
SMALLER = "without excluded"
STILL_DRAFT = "This is a draft: close this and describe the changes at the prompt."
DECIDED = "Nothing to decide about this plan."


class ApprovalPanel(DecisionPanel):
    """Reviews a plan; its result is approved, built, rejected, discarded, or None."""

    def __init__(self, plan_id: str = "") -> None:
        super().__init__()
        self.plan_id = plan_id
        self._reading: DisplayedPlan | None = None
        self._marked: dict[str, None] = {}
        self._note = ""
        self._words = Feedback()  # that were written and not sent
        self._refused = False  # they were for another plan
        self._previewing = False  # what is shown is the rendered text
        self._source: tuple[tuple[Section, ...], LinePosition | None] = ((), None)

    @property
    def _engine(self) -> "Engine":
        return self.terminal.engine

    @property
    def _shown(self) -> "DisplayedPlan":
        assert self._reading is not None, "nothing is decided before it is shown"
        return self._reading

    def is_about(self, subject: str) -> bool:
        return self.plan_id == subject

    def load(self, told: str = "") -> None:
        """Reads the current plan, and drops marks that no longer apply."""
        engine, plan_id = self.terminal.engine, self.plan_id
        self.work(
            lambda: verbs.load_plan(engine, plan_id),
            lambda r: self._show(r, told),
            ApprovalStage.LOADING,
        )

    def titles(self, width: int) -> Sequence[Line]:
        if self._reading is None:
            return [Line("heading", "Plan")]
        head = title_line(self._reading.review)
        if self._reading.partial is not None:
            less = f" · {SMALLER}"
            head = Line(head.style, head.text + less, (*head.spans, Span(less)))
        return [head]

    def context(self, width: int) -> Sequence[Line]:
        if self._reading is None:
            return []
        return context_lines(self._reading.review, self._beside, width)

    def brief_context(self, width: int) -> Sequence[Line]:
        if self._reading is None:
            return []
        return brief_context_lines(self._reading.review, self._beside, width)

    @property
    def _beside(self) -> ReviewContext:
        return ReviewContext(self._shown.undo, self._note, tuple(self._marked))

    def digest(self) -> str:
        return self._reading.review.digest if self._reading else ""

    def reached(self) -> None:
        """Records that the user was shown all of the plan."""
        reading, engine = self._shown, self._engine
        if reading.partial is None and reading.review.digest:
            act = partial(engine.review_history.record, reading.record)
            self.terminal.tasks.run("", act, lambda _: None)

    def do(self, act: ApprovalAction) -> None:
        """Runs the action of a key."""
        if act in _ACTS:
            _ACTS[act](self)

    def failed(self, error: AssentError) -> None:
        """Shows an error; if plan or files changed, shows them from the beginning."""
        decided = self.standing.stage is ApprovalStage.RECORDING
        if decided and isinstance(error, StaleError) and self.is_attached:
            self.load(_why(error))
            return
        super().failed(error)

    def decided_elsewhere(self) -> Callable[[], str] | None:
        reading = self._reading
        return partial(verbs.decision_since, self._engine, reading) if reading else None

    def close_decided(self) -> None:
        self._end("elsewhere")

    # What is shown.

    def on_key(self, event: Key) -> None:
        """Leaves the preview with any key but those that move: all others are for the source."""
        moves = MOVING.get(event.key) in _IN_PREVIEW
        if not self._previewing or self.is_over or (moves and not self.line_view.searching):
            super().on_key(event)
            return
        event.stop()
        event.prevent_default()
        self._end_preview()
        self.paint(asked=True)

    def on_line_view_end_reached(self, event: LineView.EndReached) -> None:
        """Counts as read only where the end of the source was on the screen."""
        if self._previewing:
            event.stop()
            event.prevent_default()  # else Textual calls the base class, too

    def _preview(self) -> None:
        self._previewing = True
        self._source = (tuple(self.line_view.sections), self.line_view.position)
        self.line_view.show([preview_section(self._shown.review)])

    def _end_preview(self) -> None:
        self._previewing = False
        sheets, spot = self._source
        self.line_view.show(sheets)
        if spot is not None:
            self.line_view.reveal(spot)

    def _show(self, reading: "DisplayedPlan", told: str = "") -> None:
        self._reading, self.plan_id = reading, reading.record.plan_id
        self._previewing = False
        if reading.partial is None:
            self._marked = verbs.valid_marks(reading.review, self._marked)
        marked = bool(self._marked)
        sheets = reading.sheets
        if marked and reading.partial is None:
            sheets = tuple(self._with_mark(reading.review, sheet) for sheet in sheets)
        self.show(sheets, reading.state(read=False, marked=marked), told)

    def _with_mark(self, review: Review, sheet: Section) -> Section:
        number = number_of(sheet.key)
        if number and review.operations[number - 1].id in self._marked:
            return operation_section(review, number, self._marked)
        return sheet

    def _read_part(self) -> None:
        engine, plan_id, without = self._engine, self.plan_id, tuple(self._marked)
        self.work(
            lambda: verbs.load_plan(engine, plan_id, without), self._show, ApprovalStage.LOADING
        )

    def _mark(self) -> None:
        """Toggles whether the operation under the cursor is excluded."""
        review, spot = self._shown.review, self.line_view.position
        number = number_of(spot.key) if spot else 0
        if not number:
            self.told = NO_OPERATION
            return
        name = review.operations[number - 1].id
        self._marked = verbs.valid_marks(review, {name} ^ self._marked.keys())
        self.line_view.put(operation_section(review, number, self._marked))
        self.standing = msgspec.structs.replace(self.standing, marked=bool(self._marked))

    def _say_why_closed(self) -> None:
        """Shows why approving is not possible now, and what would make it possible."""
        reading = self._shown
        why = FILE_DIFFERS if reading.live else DRIFTED if reading.review.drifted else DRAFT
        self.told = why if self.standing.open else DECIDED

    def _next_option(self) -> None:
        """Shows the next of several plans to choose from; marks are for one plan only."""
        self.plan_id, self._marked = self._shown.next_option, {}
        self.load()

    # What is decided.

    def _agree(self, *, build: bool) -> None:
        reading, engine, note = self._shown, self._engine, self._note
        was_read = self.standing.read

        def act() -> tuple[PlanRecord, str]:
            record = verbs.approve_plan(engine, reading, note)
            if reading.partial is not None and was_read:
                engine.review_history.record(record)
            return record, engine.plans.reference(record)

        def agreed(found: tuple[PlanRecord, str]) -> None:
            record, named = found
            without = [one.op for one in reading.review.declined] if reading.partial else []
            self.terminal.add_note(*approved_lines(without, note))
            if others := ", ".join(map(visible_line, reading.review.others)):
                self.terminal.add_note(f"The other options were discarded: {others}.")
            if build:
                self._start(record)
            else:
                self._approved(record, named)

        self.work(act, agreed, ApprovalStage.RECORDING)

    def _approved(self, record: PlanRecord, named: str) -> None:
        self.terminal.add_note(f"Plan {record.name} approved, not built yet: /build {named}")
        for reason in self._shown.review.denied:
            self.terminal.add_note(
                Line("risk", f"{CANNOT_BE_BUILT} under the current rules: {reason}")
            )
        self._end("approved")

    def _start(self, record: PlanRecord) -> None:
        """Builds an approved plan: by the executor, or by a model in its session."""
        app = self.terminal
        prose, digest = self._shown.prose, self.digest()
        self._end("built")
        app.build_plan(record.plan_id, digest, prose=prose)

    def _exit(self) -> None:
        engine, reading = self._engine, self._shown

        def over(discarded: PlanRecord) -> None:
            self.terminal.add_note(f"Planning ended; plan {discarded.name} discarded.")
            self._end("discarded")

        self.work(lambda: verbs.discard_plan(engine, reading), over, ApprovalStage.RECORDING)

    def _renew(self, verb: "Callable[[Engine, DisplayedPlan], PlanRecord]") -> None:
        """Proposes the current draft or file, or rebases the plan onto the files."""
        engine, reading = self._engine, self._shown
        self.work(lambda: verb(engine, reading), lambda _: self.load(), ApprovalStage.RECORDING)

    def _end(self, what: str) -> None:
        self._hand_back()
        self.terminal.refresh_status()
        self.dismiss(what)

    def action_leave(self) -> None:
        self._hand_back()
        super().action_leave()

    def _hand_back(self) -> None:
        """Puts text into the prompt that could not be sent, because the plan had changed."""
        if self._refused and (words := self._words.text().strip()):
            self.terminal.restore_input(words)
        self._refused = False

    # What is said.

    def _comment(self) -> None:
        reading, spot = self._shown, self.line_view.position
        sheet = next(
            (each for each in self.line_view.sections if spot and each.key == spot.key), None
        )
        anchor = anchor_at(reading.review, sheet, spot) if sheet and spot else None
        if anchor is None or sheet is None or reading.partial is not None:
            self.told = NOTHING_HERE
            return
        was, key = placed_at(reading.review.comments, anchor), sheet.key
        panel = comment_panel(anchor, was)
        self.terminal.open_panel(panel, lambda words: self._commented(anchor, words, was, key))

    def _commented(
        self, anchor: CommentAnchor, words: str | None, was: PlacedComment | None, key: str
    ) -> None:
        if words is None:
            return
        if self.is_over:  # the plan was decided elsewhere while it was written
            self.terminal.restore_input(words)
            return
        reading, engine = self._shown, self._engine

        def noted(review: Review) -> None:
            self._reading = msgspec.structs.replace(reading, review=review)
            self.line_view.put(commented_section(review, key, self._marked))
            self.standing = msgspec.structs.replace(self.standing, stage=ApprovalStage.READING)
            self.paint(asked=True)

        self.work(
            lambda: verbs.save_comment(engine, reading, anchor, words, was),
            noted,
            ApprovalStage.RECORDING,
        )

    def _to_finding(self) -> None:
        """Goes to the next comment of the critic that is not decided, with the line above it."""
        view = self.line_view
        spot = next_suggestion(self._shown.review, view.sections, view.position)
        if spot is None:
            self.told = NO_FINDINGS
            return
        view.reveal(LinePosition(spot.key, max(spot.line - 1, 0)))
        view.point(view.row_of(spot))

    def _decide_finding(self, *, keep: bool) -> None:
        """Keeps or dismisses the comment of the critic under the cursor."""
        reading, engine, spot = self._shown, self._engine, self.line_view.position
        sheets = [each for each in self.line_view.sections if spot and each.key == spot.key]
        placed = suggestion_at(reading.review, sheets[0], spot) if sheets and spot else None
        if placed is None:
            self.told = NO_FINDING
            return

        def decided(review: Review) -> None:
            sheets = tuple(review_sections(review, self._marked, reading.live))
            self._reading = msgspec.structs.replace(reading, review=review, sheets=sheets)
            self.line_view.renew(sheets)
            now = self._reading.state(read=self.standing.read, marked=self.standing.marked)
            self.standing, self.told = now, KEPT if keep else DISMISSED
            self.paint(asked=True)

        self.work(
            lambda: verbs.decide_suggestion(engine, reading, placed, keep=keep),
            decided,
            ApprovalStage.RECORDING,
        )

    def _open_note(self) -> None:
        self.asks_again = True
        self.terminal.open_panel(note_panel(self._note), self._noted)

    def _noted(self, words: str | None) -> None:
        self._note = self._note if words is None else words.strip()
        self.paint(asked=True)

    def _open_feedback(self) -> None:
        reading = self._shown
        if reading.record.state is PlanState.DRAFTING:
            self.told = STILL_DRAFT
            return
        panel = FeedbackPanel(reading, self._words)
        self.terminal.open_panel(panel, lambda what: self._sent(what, panel))

    def _sent(self, what: str | None, panel: FeedbackPanel) -> None:
        self._words = panel.feedback
        if self.is_over:  # the plan was decided elsewhere while it was written
            self._refused = what is None
            self._hand_back()
        elif panel.refusal is not None:
            self._refused = True
            self.load(f"{_why(panel.refusal)} {FEEDBACK_KEPT}")
        elif what:
            self._refused = False
            self._end("rejected")

    def _open_history(self) -> None:
        self.terminal.open("history", self._shown.record)

    def _edit(self) -> None:
        """Opens the plan's file in the user's editor; the edited text is a new plan to review."""
        reading, engine = self._shown, self._engine
        if not reading.record.path or reading.record.imported:
            self.told = "This plan has no file to edit."
            return
        try:
            self.terminal.edit_file(reading.record.path)
        except AssentError as error:
            self.told = verbs.error_line(error)
            return
        self.work(
            lambda: verbs.propose_if_changed(engine, reading.record),
            self._edited,
            ApprovalStage.LOADING,
        )

    def _edited(self, record: PlanRecord) -> None:
        same = record.digest == self.digest()
        self.load("" if same else "You edited the text: this is a new plan and needs approval.")


def _why(error: AssentError) -> str:
    return verbs.CHANGED if isinstance(error, DigestMismatch) else verbs.error_line(error)


_IN_PREVIEW: Final = frozenset(
    {
        ApprovalAction.UP,
        ApprovalAction.DOWN,
        ApprovalAction.PAGE_UP,
        ApprovalAction.PAGE_DOWN,
        ApprovalAction.TOP,
        ApprovalAction.END,
    }
)
_ACTS: Final[dict[ApprovalAction, Callable[[ApprovalPanel], None]]] = {
    ApprovalAction.BUILD: lambda panel: panel._agree(build=True),
    ApprovalAction.APPROVE: lambda panel: panel._agree(build=False),
    ApprovalAction.START: lambda panel: panel._start(panel._shown.record),
    ApprovalAction.CLOSED: ApprovalPanel._say_why_closed,
    ApprovalAction.MARK: ApprovalPanel._mark,
    ApprovalAction.PART: ApprovalPanel._read_part,
    ApprovalAction.WHOLE: lambda panel: panel.load(),
    ApprovalAction.COMMENT: ApprovalPanel._comment,
    ApprovalAction.FINDING: ApprovalPanel._to_finding,
    ApprovalAction.KEEP: lambda panel: panel._decide_finding(keep=True),
    ApprovalAction.DISMISS: lambda panel: panel._decide_finding(keep=False),
    ApprovalAction.NOTE: ApprovalPanel._open_note,
    ApprovalAction.EDIT: ApprovalPanel._edit,
    ApprovalAction.PROPOSE: lambda panel: panel._renew(verbs.propose_plan),
    ApprovalAction.REBASE: lambda panel: panel._renew(verbs.rebase_plan),
    ApprovalAction.EXIT: ApprovalPanel._exit,
    ApprovalAction.FEEDBACK: ApprovalPanel._open_feedback,
    ApprovalAction.HISTORY: ApprovalPanel._open_history,
    ApprovalAction.PREVIEW: ApprovalPanel._preview,
    ApprovalAction.OPTION: ApprovalPanel._next_option,
}
