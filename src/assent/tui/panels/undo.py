"""The undo panel: a list of past runs, and the plan that undoes or redoes the chosen one.

That plan has its own digest.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

import msgspec
from textual.events import Key
from textual.widget import Widget

from assent.core.errors import AssentError
from assent.core.text.hidden_chars import visible_line
from assent.render.lines import BLANK, Line, wrapped_lines
from assent.render.undo import gap_lines
from assent.tui.line_view import LineView, Section
from assent.tui.panels.approval.review import (
    TERMINAL,
    TEXT,
    is_high_risk,
    number_of,
    review_sections,
    with_short_digest,
)
from assent.tui.panels.approval.state import ApprovalAction, ApprovalStage, ApprovalState
from assent.tui.panels.decision import DecisionPanel
from assent.tui.panels.panel import Panel
from assent.tui.panels.picker import ago_cell
from assent.tui.result_messages import UNDONE, undone_text

if TYPE_CHECKING:
    from assent.app.engine import Engine
    from assent.render.review import Review
    from assent.runs.history import PastRun
    from assent.runs.undo.service import UndoPlan

# The list of past runs, to choose one to undo.


NONE: Final = "No runs yet."


class RunsPanel(Panel[str]):
    """Lists past runs; its result is the name of a run or a turn, or None."""

    DEFAULT_CSS = """
    RunsPanel #runs { height: 1fr; margin: 1 0 0 0; }
    """
    AUTO_FOCUS = None
    heading = "Runs, newest first"
    keys = "↑↓ choose · Enter preview undo · Esc close"

    def __init__(self) -> None:
        super().__init__()
        self._names: list[str] = []
        self._reads = 0  # of the list; only the last of them counts

    def body(self) -> list[Widget]:
        paper = LineView(pointing=True, id="runs")
        paper.can_focus = False
        return [paper]

    def on_mount(self) -> None:
        self._read(self._failed)

    def follow(self) -> None:
        """Reloads the list without a note, and keeps the cursor where it is."""
        if not self.is_over:
            self._read(lambda _: None)

    def on_key(self, event: Key) -> None:
        paper = self.query_one(LineView)
        if event.key in _STEPS:
            event.stop()
            paper.point(paper.cursor + _STEPS[event.key])
        elif event.key == "enter" and paper.position and paper.position.key in self._names:
            event.stop()
            self.dismiss(paper.position.key)

    def _read(self, failed: Callable[[AssentError], object]) -> None:
        """Loads the list in a thread; only the result of the last request is shown."""
        past = self.terminal.engine.history
        self._reads += 1
        read = self._reads

        def kept() -> "list[PastRun]":
            return [one for one in reversed(past.all()) if not one.given_up]

        def show(rows: "list[PastRun]") -> None:
            if read == self._reads:
                self._show(rows)

        self.terminal.tasks.run("", kept, show, failed)

    def _show(self, rows: "list[PastRun]") -> None:
        self._names = [kept.unit.name for kept in rows]
        none = Section("none", (Line("plain", NONE),))
        self._lay([Section(kept.unit.name, (_row(kept),)) for kept in rows] or [none])

    def _failed(self, error: AssentError) -> None:
        self._lay([Section("failed", (Line("risk", visible_line(error.message)),))])

    def _lay(self, sheets: list[Section]) -> None:
        if self.is_attached:
            self.query_one(LineView).renew(sheets)


_STEPS: Final = {"up": -1, "k": -1, "down": 1, "j": 1, "pageup": -10, "pagedown": 10}


def _row(kept: "PastRun") -> Line:
    undone = {"": "", "some": ", partly undone", "all": ", undone"}[kept.undone]
    outcome = f"{kept.outcome or 'unfinished'}{undone}"
    count = f"{kept.operations} operation{'' if kept.operations == 1 else 's'}"
    plan = visible_line(kept.unit.record.name)
    return Line("plain", f"{ago_cell(kept.at)}  {kept.how:<7}  {outcome:<20}  {count:<13}  {plan}")


FILES_CHANGED: Final = "Files changed during review; nothing was applied. This is the new preview."
ONLY_ONE: Final = "one operation only"
ONE_ONLY: Final = "Put the cursor on an operation first ([ and ] jump to one)."
NOT_ONE: Final = "A command can only be undone or redone with its whole run."


class DisplayedUndo(msgspec.Struct, frozen=True):
    """An undo as it is shown; an approval covers exactly this."""

    undo: "UndoPlan"
    review: "Review"
    sheets: tuple[Section, ...]
    takers: frozenset[str] = frozenset()  # runs that had undone any of it by then


def undone_since_text(engine: "Engine", shown: DisplayedUndo) -> str:
    """Returns who undid or redid elsewhere what is shown; empty if no one did."""
    undo = shown.undo
    new = [one for one in engine.history.undos_of(undo.target) if one[1].run not in shown.takers]
    if not new:
        return ""
    taken = engine.history.undone(undo.target.runs[0])
    what = UNDONE["" if undo.extent.again else taken]
    return undone_text(undo.source.name, what, new[-1])


def load_undo(engine: "Engine", reference: str, operation: str, *, again: bool) -> DisplayedUndo:
    """Computes the undo of a run, a turn or one operation, or the redo; records nothing."""
    engine.runs.record_lost_command()
    undoing = engine.undo
    undo = undoing.redo(reference) if again else undoing.preview(reference, operation=operation)
    return displayed_undo(engine, undo)


def displayed_undo(engine: "Engine", undo: "UndoPlan") -> DisplayedUndo:
    """Returns an undo with everything that is shown of it."""
    review = engine.reviews.undo_review(undo.source, undo.plan, again=undo.extent.again)
    takers = frozenset(note.run for _, note in engine.history.undos_of(undo.target))
    return DisplayedUndo(undo, review, (*_left_alone(undo), *_files_first(review)), takers)


def _files_first(review: "Review") -> Sequence[Section]:
    """Returns an undo's sections with its text, which is generated, after its operations."""
    *sections, end = review_sections(review)
    return [*sorted(sections, key=lambda one: one.key == TEXT), end]


class UndoPanel(DecisionPanel):
    """Previews an undo; its result is "undone" or "redone" when the run has begun, else None."""

    def __init__(self, reference: str = "", operation: str = "", *, again: bool = False) -> None:
        super().__init__()
        self.standing = ApprovalState(undo=True, again=again)
        self._reference = reference
        self._operation = operation
        self._again = again
        self._preview: DisplayedUndo | None = None

    def load(self, told: str = "") -> None:
        """Computes what can be undone now."""
        engine, names = self.terminal.engine, (self._reference, self._operation)
        again = self._again
        self.work(
            lambda: load_undo(engine, *names, again=again),
            lambda p: self._show(p, told),
            ApprovalStage.LOADING,
        )

    def failed(self, error: AssentError) -> None:
        """Closes, and shows the reason in the conversation, if there is nothing to show."""
        if self._preview is None and self.is_current:
            self.dismiss(None)
            self.terminal.fail(error)
        else:
            super().failed(error)

    def decided_elsewhere(self) -> Callable[[], str] | None:
        shown = self._preview
        return partial(undone_since_text, self.terminal.engine, shown) if shown else None

    def titles(self, width: int) -> Sequence[Line]:
        if self._preview is None:
            return [Line("heading", "Redo" if self._again else "Undo")]
        undo = self._preview.undo
        planned = "plan " if undo.source.plan_id else ""
        named = f"{self._what.capitalize()} of {planned}{visible_line(undo.source.name)}"
        only = f", {ONLY_ONE}" if undo.extent.only else ""
        return [with_short_digest(f"{named}{only}", self.digest())]

    def context(self, width: int) -> Sequence[Line]:
        if self._preview is None:
            return []
        count = len(self._preview.undo.plan.operations)
        all_of_it = (self._what, count, "operation" if count == 1 else "operations")
        rows = [all_of_it] if count else []
        lines = [f"{name:<11}  {count} {why}" for name, count, why in [*rows, *self._left_out()]]
        return [Line("plain", line[:width]) for line in lines]

    def brief_context(self, width: int) -> Sequence[Line]:
        """Returns only what is not undone: the operations themselves are in sight."""
        told = " · ".join([f"{name} {count} {why}" for name, count, why in self._left_out()])
        return [Line("plain", told)] if told else []

    def _left_out(self) -> list[tuple[str, int, str]]:
        """Returns how much is not undone, and why."""
        if self._preview is None:
            return []
        undo = self._preview.undo
        rows = [("skipped", len(undo.inversion.conflicts), "because files changed since")]
        rows += [("denied", len(undo.inversion.denied), "by your rules, skipped")]
        rows += [("not covered", len(undo.extent.gaps), "see above")]
        return [row for row in rows if row[1]]

    def digest(self) -> str:
        return self._preview.review.digest if self._preview else ""

    def do(self, act: ApprovalAction) -> None:
        """Runs the action of a key."""
        if act in _ACTS:
            getattr(self, _ACTS[act])()

    @property
    def _what(self) -> str:
        return "redo" if self._again else "undo"

    @property
    def _nothing_text(self) -> str:
        return f"Nothing to {self._what}."

    def _show(self, found: DisplayedUndo, told: str) -> None:
        self._preview = found
        some = bool(found.undo.plan.operations)
        one = bool(self._operation)
        standing = ApprovalState(
            ApprovalStage.READING,
            open=True,
            awaited=some,
            undo=True,
            again=self._again,
            marked=one,
            part=one,
            rewind=bool(found.undo.extent.rewind),
            high=is_high_risk(found.review),
        )
        self.show(found.sheets, standing, told or ("" if some else self._nothing_text))

    def _take_back(self) -> None:
        """Computes the undo again: what was shown must still be what would happen."""
        shown, engine, again = self._preview, self.terminal.engine, self._again
        names = (self._reference or (shown.undo.run if shown else ""), self._operation)

        def act() -> DisplayedUndo | str:
            gone = undone_since_text(engine, shown) if shown else ""
            return gone or load_undo(engine, *names, again=again)

        def done(found: DisplayedUndo | str) -> None:
            if isinstance(found, str):
                self.closes(found)
                return
            if shown is None or found.undo.plan.digest != shown.undo.plan.digest:
                self._show(found, FILES_CHANGED)
                return
            app = self.terminal
            self.dismiss("redone" if again else "undone")
            with app.failing():
                app.run_controller.undo(found.undo, TERMINAL)
                app.show_run()

        self.work(act, done, ApprovalStage.RECORDING)

    def _only(self) -> None:
        """Shows the undo of only the operation under the cursor."""
        spot, found = self.line_view.position, self._preview
        number = number_of(spot.key) if spot else 0
        if found is None or not number:
            self.told = ONE_ONLY
            return
        index = number - 1 - len(found.undo.compensated)
        if self._again or index < 0:
            self.told = NOT_ONE
            return
        self._reference = found.undo.run
        self._operation = found.undo.ids[found.undo.inversion.operations[index][0]]
        self.load()

    def _whole(self) -> None:
        self._operation = ""
        self.load()

    def _choose(self) -> None:
        self.terminal.open_panel(RunsPanel(), self._chosen)

    def _chosen(self, run: str | None) -> None:
        if run and self.is_over:  # it was undone elsewhere while another one was chosen
            self.terminal.open_panel(UndoPanel(run))
        elif run:
            self._reference, self._operation, self._again = run, "", False
            self.load()

    def _nothing(self) -> None:
        self.told = self._nothing_text


_ACTS: Final[dict[ApprovalAction, str]] = {  # by name: a rewind carries out its undo otherwise
    ApprovalAction.BUILD: "_take_back",
    ApprovalAction.MARK: "_only",
    ApprovalAction.WHOLE: "_whole",
    ApprovalAction.HISTORY: "_choose",
    ApprovalAction.CLOSED: "_nothing",
}


def _left_alone(undo: "UndoPlan") -> Sequence[Section]:
    """Returns what is not undone, to be shown first."""
    lines: list[Line] = []
    for _, reason in undo.inversion.skipped:
        lines += wrapped_lines("risk", f"skipped: {visible_line(reason)}")
    lines += gap_lines(undo.extent.gaps)
    heading = Line("heading", "Not redone" if undo.extent.again else "Not undone")
    return [Section("skipped", (heading, *lines, BLANK))] if lines else []
