"""The list of plans by session with their states, and the history of a plan's text."""

from collections.abc import Mapping, Sequence
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, ClassVar, Final, cast

from textual.events import Key
from textual.widget import Widget

from assent.core.errors import AssentError
from assent.core.paths import display_path
from assent.core.plan.record import PlanRecord, PlanState, TextRevision
from assent.core.text.hidden_chars import visible_line, visible_path
from assent.render.diff import NOT_SHOWN, text_diff
from assent.render.diff_view import numbered_lines
from assent.render.lines import BLANK, Line, untrusted_lines
from assent.render.rows import plan_row
from assent.render.status import plan_lines, state_text
from assent.tui.hints import lines_with_screen_commands
from assent.tui.line_view import LinePosition, LineView, Section
from assent.tui.panels.panel import ConfirmPanel, Panel
from assent.tui.panels.picker import Picker, PickerRow, ago_cell, session_titles

if TYPE_CHECKING:
    from assent.app.engine import Engine

CURRENT: Final = "* "
OTHER: Final = "  "
PLAN_DISCARDED: Final = (
    "This plan was discarded. Ctrl+L shows its history; describe a new task instead."
)
NO_SESSION: Final = "no session"
PLAN_FILE_REMOVED: Final = "Its file is removed. Changes from its runs stay and can be undone."


class PlanList(Picker):
    """Lists plans; Enter selects the current one, and the model is notified of it (F30)."""

    heading = "Plans"
    keys = "Enter use · Ctrl+T review · Ctrl+L history · Ctrl+G edit · Del delete · Esc"
    nothing = "No plans yet. Describe a task."
    previews = True
    follows = True
    does: ClassVar[dict[str, str]] = {
        "ctrl+t": "review",
        "ctrl+l": "history",
        "ctrl+g": "edit",
        "delete": "delete",
        "ctrl+x": "delete",
    }

    def rows(self) -> Sequence[PickerRow]:
        return plan_picker_rows(self.terminal.engine)

    def preview(self, row: PickerRow) -> Sequence[Line]:
        engine = self.terminal.engine
        record = engine.plans.find(row.key)
        about = plan_row(record, approved=engine.approvals.is_approved(record))
        named, step = engine.plans.reference(record), engine.reviews.next_command(record)
        lines = lines_with_screen_commands(plan_lines(about, step, named, ids=False))
        return [*lines, BLANK, *untrusted_lines(display_path(engine.reviews.text(record)))]

    def chosen(self, row: PickerRow) -> None:
        """Selects a plan as the current one, and opens its session if none is open."""
        app, engine = self.terminal, self.terminal.engine
        if row.cells[1] == PlanState.DISCARDED.label:
            self.show_note(PLAN_DISCARDED)
            return

        def use() -> object:
            record = engine.plans.use(row.key)
            return record, engine.sessions.of_plan(record)

        def used(found: object) -> None:
            self.dismiss(row.key)
            app.plan_chosen(*cast("tuple[PlanRecord, None]", found))

        self.in_thread("Selecting the plan", use, used)

    def review(self) -> None:
        """Opens the approval panel over the list."""
        if self.row is not None:
            self.terminal.review_plan(self.row.key)

    def history(self) -> None:
        """Opens the revisions of a plan over the list."""
        if self.row is not None:
            self.terminal.run_slash(f"/history {self.row.key}")

    def edit(self) -> None:
        """Opens a plan's text in the user's editor, and then its review."""
        if self.row is not None:
            self.terminal.run_slash(f"/edit {self.row.key}")

    def delete(self) -> None:
        """Asks for confirmation, and discards a plan."""
        row = self.row
        if row is None:
            return
        name = row.cells[0].removeprefix(CURRENT).strip()
        about = [Line("plain", f"Plan {name} will be discarded."), Line("plain", PLAN_FILE_REMOVED)]
        panel = ConfirmPanel(f"Delete plan {name}?", about, "delete it")
        self.terminal.open_panel(panel, lambda yes: self._deleted(row, name) if yes else None)

    def _deleted(self, row: PickerRow, name: str) -> None:
        plans = self.terminal.engine.plans

        def done(_: object) -> None:
            self.terminal.refresh_status()
            self.load(f"Plan {name} deleted.")

        self.in_thread("Deleting", lambda: plans.delete([plans.find(row.key)]), done)


def plan_picker_rows(engine: "Engine") -> list[PickerRow]:
    """Returns the plans of a workspace by session, newest first, as are the sessions (F29).

    Discarded plans are listed too, and marked, as long as their files exist.
    """
    here = engine.plans.all()
    shown = {each.plan_id for each in here}
    gone = [each for each in engine.plans.all(everything=True) if each.plan_id not in shown]
    given_up = [each for each in gone if each.state is PlanState.DISCARDED and each.path]
    discarded = [each for each in given_up if engine.plans.live_text(each) is not None]
    newest_first = sorted((*here, *discarded), key=attrgetter("changed_at"), reverse=True)
    by_session: dict[str, list[PlanRecord]] = {}
    for record in newest_first:
        by_session.setdefault(record.session, []).append(record)
    current, titles = _current(engine), session_titles(engine)
    return [_row(engine, each, current, titles) for group in by_session.values() for each in group]


def _row(
    engine: "Engine", record: PlanRecord, current: str, titles: Mapping[str, str]
) -> PickerRow:
    approved = engine.approvals.is_approved(record)
    sign = CURRENT if record.plan_id == current else OTHER
    cells = (
        sign + visible_line(f"{record.name} ({record.option})" if record.option else record.name),
        state_text(record.state, approved=approved),
        ago_cell(record.changed_at),
        visible_path(record.path) if record.path else "",
    )
    session = titles.get(record.session, visible_line(record.session)) or NO_SESSION
    goal, name = visible_line(record.goal), visible_line(record.name)
    return PickerRow(record.plan_id, cells, session, goal, name)


def _current(engine: "Engine") -> str:
    try:
        return engine.plans.find().plan_id
    except AssentError:  # there is none
        return ""


# The history panel: the revisions of a plan's text, and the diff between two of them.


LIST: Final = "list"
SAME: Final = "These revisions are identical."
NO_TEXT: Final = "The plan has no text yet."


class HistoryPanel(Panel[None]):
    """Shows two lists: revisions, of which two are compared, and their difference."""

    DEFAULT_CSS = """
    HistoryPanel #revisions { height: auto; max-height: 30%; margin: 1 0 0 0; }
    HistoryPanel #difference { height: 1fr; border-top: solid $primary; }
    """
    AUTO_FOCUS = None
    keys = "↑↓ revision · space compare with this one · PgUp PgDn scroll · Esc close"

    def __init__(self, record: PlanRecord) -> None:
        super().__init__()
        self.heading = f"Revisions of plan {visible_line(record.name)}"
        self._revisions = record.revisions
        self.with_ = max(len(record.revisions) - 2, 0)  # which the chosen one is compared with

    def body(self) -> list[Widget]:
        revisions = LineView(pointing=True, id="revisions")
        difference = LineView(id="difference")
        revisions.can_focus = difference.can_focus = False
        return [revisions, difference]

    def on_mount(self) -> None:
        self.query_one("#revisions").styles.height = max(len(self._revisions), 1)
        self._list()
        paper = self.query_one("#revisions", LineView)
        self.call_after_refresh(paper.point, len(self._revisions) - 1)
        self.call_after_refresh(self._compare)

    def on_key(self, event: Key) -> None:
        if event.key == "escape":
            return
        event.stop()
        paper = self.query_one("#revisions", LineView)
        match event.key:
            case "up" | "k" | "down" | "j":
                paper.point(paper.cursor + (1 if event.key in ("down", "j") else -1))
                self._compare()
            case "space":
                self.with_ = self._chosen()
                self._list()
                self._compare()
            case "pageup" | "pagedown":
                difference = self.query_one("#difference", LineView)
                step = max(difference.size.height - 1, 1)
                way = step if event.key == "pagedown" else -step
                difference.scroll_relative(y=way, animate=False, force=True)
            case _:
                pass

    def _list(self) -> None:
        lines = [self._row(n, each) for n, each in enumerate(self._revisions)]
        sheet = Section(LIST, tuple(lines) or (Line("plain", NO_TEXT),))
        self.query_one("#revisions", LineView).put(sheet)

    def _row(self, index: int, revision: TextRevision) -> Line:
        sign = "*" if index == self.with_ else " "
        return Line("plain", f"{sign} {revision.n:>4}  {ago_cell(revision.at)}")

    def _chosen(self) -> int:
        spot = self.query_one("#revisions", LineView).position or LinePosition(LIST, 0)
        return spot.line

    def _pair(self) -> tuple[TextRevision, TextRevision]:
        """Returns the two revisions that are compared, the older one first."""
        one, other = sorted((self.with_, self._chosen()))
        return self._revisions[one], self._revisions[other]

    def _compare(self) -> None:
        """Reads both texts in a thread and shows how they differ."""
        if not self._revisions:
            return
        pair = self._pair()
        plans = self.terminal.engine.plans

        def compared() -> list[Line]:
            try:
                was, now = (plans.text(each.content_hash) for each in pair)
            except AssentError as error:
                return [Line("risk", visible_line(error.message))]
            names = [f"revision {each.n}" for each in pair]
            return _difference(text_diff(was, now, names[0], names[1]))

        self.terminal.tasks.run("", compared, partial(self._show, pair))

    def _show(self, pair: tuple[TextRevision, TextRevision], lines: list[Line]) -> None:
        if not self.is_attached or pair != self._pair():  # another pair was chosen meanwhile
            return
        head = Line("heading", f"From revision {pair[0].n} to revision {pair[1].n}")
        difference = self.query_one("#difference", LineView)
        difference.show([Section("difference", (head, *lines, BLANK))])


def _difference(diff: str | None) -> list[Line]:
    if diff is None:
        return [Line("plain", NOT_SHOWN)]
    return numbered_lines(diff) if diff else [Line("plain", SAME)]
