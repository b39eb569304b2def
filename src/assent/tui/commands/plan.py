"""Slash commands of plans and runs: review, choose, compare, edit, build, undo, redo, recover."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from assent.core.errors import IllegalState, NotFound, UsageError
from assent.core.plan.record import PlanRecord, PlanState
from assent.tui.commands.info import run_cli_command
from assent.tui.context import AppContext
from assent.tui.panels.approval.review import propose_if_changed

if TYPE_CHECKING:
    from assent.app.engine import Engine

NO_FILE = "This plan has no file that could be edited here."
NO_PLAN = "This session has no plan."


def review(app: AppContext, rest: str) -> None:
    """Opens the approval panel."""
    if not rest:
        app.review_plan()
        return
    plans = app.engine.plans
    app.deferred.lead(
        "Looking for the plan",
        lambda: plans.find(rest),
        lambda found: app.review_plan(found.plan_id),
    )


def choose(app: AppContext, rest: str) -> None:
    """Opens the plan selector."""
    app.open("plans")


def history(app: AppContext, rest: str) -> None:
    """Opens the revisions of a plan."""
    _with_plan(app, rest, lambda found: app.open("history", found))


def edit(app: AppContext, rest: str) -> None:
    """Opens a plan's text in the person's editor; what they wrote is to be reviewed anew."""
    engine = app.engine
    reference, session = rest or app.session_controller.plan_id, app.session_controller.session

    def own() -> PlanRecord:
        return engine.plans.find(reference or session_plan(engine, session, "/edit"))

    app.deferred.lead("Looking for the plan", own, lambda found: _edited(app, found))


def diff(app: AppContext, rest: str) -> None:
    """Shows what is staged in the plan, or what turns changed."""
    record = app.session_controller.record
    if rest and record is None:
        raise UsageError(
            "There is no session on the screen, so no turn changed anything.", "/plans"
        )
    if rest == "turns" and record is not None:
        run_cli_command(app, "What each turn changed", "sessions", "diff", record.session)
    elif rest and record is not None:
        line = ("sessions", "diff", record.session, f"--turn={rest}")
        run_cli_command(app, f"Turn {rest}", *line, slash="/diff")
    else:
        named = ("--plan", app.session_controller.plan_id) if app.session_controller.plan_id else ()
        run_cli_command(app, _staged(app), "diff", *named)


def _staged(app: AppContext) -> str:
    """Says what the operations of the plan are by now: built, or only staged."""
    record = app.status_snapshot.plan
    built = record is not None and record.state is PlanState.COMPLETED
    return "What was built" if built else "What is staged"


def _with_plan(app: AppContext, rest: str, then: "Callable[[PlanRecord], object]") -> None:
    plans, reference = app.engine.plans, rest or app.session_controller.plan_id
    app.deferred.lead("Looking for the plan", lambda: plans.find(reference), then)


def session_plan(engine: "Engine", session: str, command: str) -> str:
    """Returns the plan of a session, as it is by now; without a session the current one is meant.

    What changes something never takes the plan of another session unless it is named.
    """
    plan_id = engine.sessions.load(session).plan_id if session else ""
    if session and not plan_id:
        raise NotFound(NO_PLAN, _by_name(engine, command))
    return plan_id


def _by_name(engine: "Engine", command: str) -> str:
    try:
        return f"{command} {engine.plans.find().name}"
    except NotFound:
        return "/plans"


def _edited(app: AppContext, record: PlanRecord) -> None:
    """Has the editor opened, takes in what it left, and opens the review of it."""
    if not record.path or record.imported:
        raise UsageError(NO_FILE, "/review")
    app.edit_file(record.path)
    engine, before = app.engine, record.digest

    def taken(now: PlanRecord) -> None:
        if now.digest != before:
            app.add_note("You changed the text: it is a new plan, and nobody has approved it.")
        app.refresh_status()
        app.review_plan(now.plan_id)

    app.deferred.lead("Reading the plan", lambda: propose_if_changed(engine, record), taken)


# Slash commands about runs: build, undo, redo and recover.


NONE_YET: Final = "Nothing was run from this screen yet: /runs lists what was done before."


def build(app: AppContext, rest: str) -> None:
    """Builds a plan that is approved: by the executor, or by a model if it is prose."""
    engine, session = app.engine, app.session_controller.session
    reference = rest or app.session_controller.plan_id

    def begin(found: tuple[PlanRecord, bool]) -> None:
        app.build_plan(found[0].plan_id, prose=found[1])

    def found() -> tuple[PlanRecord, bool]:
        return _buildable(engine, reference or session_plan(engine, session, "/build"))

    app.deferred.lead("Looking for the plan", found, begin)


def undo(app: AppContext, rest: str) -> None:
    """Opens the preview of what takes a run back."""
    app.open("undo", rest)


def redo(app: AppContext, rest: str) -> None:
    """Opens the preview of what takes an undo back."""
    app.open("undo", rest, again=True)


def run(app: AppContext, rest: str) -> None:
    """Opens the view of the run that is at work, or of the last one of this screen."""
    if app.run_controller.watched is not None:
        app.show_run()
    else:
        _show_unfinished(app, NONE_YET)


def runs(app: AppContext, rest: str) -> None:
    """Opens the list of what was run here."""
    app.open("runs", then=lambda name: undo(app, name) if name else None)


def recover(app: AppContext, rest: str) -> None:
    """Opens the view of an interrupted run, or says that there is none."""
    _show_unfinished(app, "No run is unfinished.")


def _show_unfinished(app: AppContext, none: str) -> None:
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
