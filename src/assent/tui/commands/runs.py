"""Slash commands about runs: build, undo, redo and recover."""

from typing import TYPE_CHECKING, Final

from assent.core.errors import IllegalState
from assent.core.plan.record import PlanRecord
from assent.tui.commands.plan import session_plan

if TYPE_CHECKING:
    from assent.app.engine import Engine
    from assent.tui.app import TerminalApp

NONE_YET: Final = "Nothing was run from this screen yet: /runs lists what was done before."


def build(app: "TerminalApp", rest: str) -> None:
    """Builds a plan that is approved: by the executor, or by a model if it is prose."""
    engine, session = app.engine, app.session_controller.session
    reference = rest or app.session_controller.plan_id

    def begin(found: tuple[PlanRecord, bool]) -> None:
        app.build_plan(found[0].plan_id, prose=found[1])

    def found() -> tuple[PlanRecord, bool]:
        return _buildable(engine, reference or session_plan(engine, session, "/build"))

    app.deferred.lead("Looking for the plan", found, begin)


def undo(app: "TerminalApp", rest: str) -> None:
    """Opens the preview of what takes a run back."""
    from assent.tui.panels.undo import UndoPanel

    app.open_panel(UndoPanel(rest))


def redo(app: "TerminalApp", rest: str) -> None:
    """Opens the preview of what takes an undo back."""
    from assent.tui.panels.undo import UndoPanel

    app.open_panel(UndoPanel(rest, again=True))


def run(app: "TerminalApp", rest: str) -> None:
    """Opens the view of the run that is at work, or of the last one of this screen."""
    if app.run_controller.watched is not None:
        app.show_run()
    else:
        _show_unfinished(app, NONE_YET)


def runs(app: "TerminalApp", rest: str) -> None:
    """Opens the list of what was run here."""
    from assent.tui.panels.runs import RunsPanel

    app.open_panel(RunsPanel(), lambda name: undo(app, name) if name else None)


def recover(app: "TerminalApp", rest: str) -> None:
    """Opens the view of an interrupted run, or says that there is none."""
    _show_unfinished(app, "No run is unfinished.")


def _show_unfinished(app: "TerminalApp", none: str) -> None:
    engine = app.engine

    def found(unfinished: object) -> None:
        if unfinished is None:
            app.add_note(none)
        else:
            app.show_run()

    app.tasks.run("Looking for the run", engine.runs.unfinished, found)


def _buildable(engine: "Engine", reference: str) -> tuple[PlanRecord, bool]:
    record = engine.plans.find(reference)
    if not engine.approvals.is_approved(record) and not record.building:
        raise IllegalState(
            f"Plan {record.name} is not approved; nothing was built.",
            f"/review {engine.plans.reference(record)}",
        )
    return record, engine.runs.is_text_plan(record)
