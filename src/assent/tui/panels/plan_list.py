"""The plan list: all plans by session, the newest first, with the state of each."""

from collections.abc import Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, ClassVar, Final, cast

from assent.core.errors import AssentError
from assent.core.paths import display_path
from assent.core.plan.record import PlanRecord, PlanState
from assent.core.text.hidden_chars import visible_line, visible_path
from assent.render.lines import BLANK, Line, local_time, untrusted_lines
from assent.render.rows import plan_row
from assent.render.status import plan_lines
from assent.tui.hints import lines_with_screen_commands
from assent.tui.panels.confirm import ConfirmPanel
from assent.tui.panels.picker import Picker, PickerRow

if TYPE_CHECKING:
    from assent.app.engine import Engine

CURRENT: Final = "* "
OTHER: Final = "  "
DISCARDED: Final = "discarded"
PLAN_DISCARDED: Final = (
    "This plan was discarded. Ctrl+Y shows its texts; say what should be done instead."
)
NO_SESSION: Final = "no session"
PLAN_FILE_REMOVED: Final = "Its file is removed. What its runs did stays, and can still be undone."


class PlanList(Picker):
    """Enter makes a plan the current one; the model is told of it (F30)."""

    heading = "Plans"
    keys = (
        "Enter choose · Ctrl+T review · Ctrl+Y history · Ctrl+G editor · Del delete · "
        "PgUp PgDn page · Esc close"
    )
    nothing = "There are no plans here yet. Say what should be done."
    previews = True
    follows = True
    does: ClassVar[dict[str, str]] = {
        "ctrl+t": "review",
        "ctrl+y": "history",
        "ctrl+g": "edit",
        "delete": "delete",
        "ctrl+d": "delete",
    }

    def rows(self) -> Sequence[PickerRow]:
        return plan_picker_rows(self.terminal.engine)

    def preview(self, row: PickerRow) -> Sequence[Line]:
        engine = self.terminal.engine
        record = engine.plans.find(row.key)
        about = plan_row(record, approved=engine.approvals.is_approved(record))
        named, step = engine.plans.reference(record), engine.reviews.next_step(record)
        lines = lines_with_screen_commands(plan_lines(about, step, named))
        return [*lines, BLANK, *untrusted_lines(display_path(engine.reviews.text(record)))]

    def chosen(self, row: PickerRow) -> None:
        """Makes a plan the current one, and opens its session where none is open."""
        app, engine = self.terminal, self.terminal.engine
        if row.cells[1] == DISCARDED:
            self.show_note(PLAN_DISCARDED)
            return

        def use() -> object:
            record = engine.plans.use(row.key)
            return record, engine.sessions.of_plan(record)

        def used(found: object) -> None:
            self.dismiss(row.key)
            app.plan_chosen(*cast("tuple[PlanRecord, None]", found))

        self.in_thread("Choosing the plan", use, used)

    def review(self) -> None:
        """Opens the approval panel over the list."""
        if self.row is not None:
            self.terminal.review_plan(self.row.key)

    def history(self) -> None:
        """Opens the revisions of a plan over the list."""
        if self.row is not None:
            self.terminal.run_slash(f"/history {self.row.key}")

    def edit(self) -> None:
        """Opens a plan's text in the person's editor, and has it reviewed anew after."""
        if self.row is not None:
            self.terminal.run_slash(f"/edit {self.row.key}")

    def delete(self) -> None:
        """Asks once more, and discards a plan then."""
        row = self.row
        if row is None:
            return
        name = row.cells[0].removeprefix(CURRENT).strip()
        about = [Line("plain", f"Plan {name} is discarded."), Line("plain", PLAN_FILE_REMOVED)]
        panel = ConfirmPanel(f"Delete plan {name}?", about, "delete it")
        self.terminal.open_panel(panel, lambda yes: self._deleted(row, name) if yes else None)

    def _deleted(self, row: PickerRow, name: str) -> None:
        plans = self.terminal.engine.plans

        def done(_: object) -> None:
            self.terminal.refresh_status()
            self.load(f"Plan {name} is deleted.")

        self.in_thread("Deleting", lambda: plans.delete([plans.find(row.key)]), done)


def plan_picker_rows(engine: "Engine") -> list[PickerRow]:
    """Returns the plans of a workspace: by session, the newest first, sessions likewise (F29).

    Those that were discarded stand there, too, and say so, as long as their files are there.
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
    current = _current(engine)
    return [_row(engine, each, current) for group in by_session.values() for each in group]


def _row(engine: "Engine", record: PlanRecord, current: str) -> PickerRow:
    state = "approved" if engine.approvals.is_approved(record) else str(record.state)
    sign = CURRENT if record.plan_id == current else OTHER
    cells = (
        sign + visible_line(record.name),
        state.replace("_", " ").lower(),
        local_time(record.changed_at),
        visible_path(record.path) if record.path else "",
    )
    session = visible_line(record.session) or NO_SESSION
    return PickerRow(record.plan_id, cells, session, visible_line(record.goal))


def _current(engine: "Engine") -> str:
    try:
        return engine.plans.find().plan_id
    except AssentError:  # there is none
        return ""
