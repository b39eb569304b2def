"""Slash commands of plans and runs: review, choose, compare, edit, build, undo, redo, recover."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from assent.core.errors import IllegalState, NotFound, UsageError
from assent.core.plan.record import PlanRecord, PlanState
from assent.render.turn_changes import turn_list_lines
from assent.tui.commands.info import argument_error, show_lines
from assent.tui.context import AppContext
from assent.tui.panels.approval.review import propose_if_changed
from assent.tui.panels.diff import (
    session_sections,
    show_diffs,
    staged_sections,
    turn_sections,
)
from assent.tui.sections import Section

if TYPE_CHECKING:
    from assent.app.engine import Engine

NO_FILE = "This plan has no file to edit."
NO_PLAN = "This session has no plan."
MAX_DIGITS: Final = 9  # of the number of a turn


def review(app: AppContext, rest: str) -> None:
    """Opens the approval panel."""
    if not rest:
        app.review_plan()
        return
    plans = app.engine.plans
    app.deferred.lead(
        "Finding the plan",
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
    """Opens a plan's text in the user's editor; the edited text must be reviewed again."""
    engine = app.engine
    reference, session = rest or app.session_controller.plan_id, app.session_controller.session

    def own() -> PlanRecord:
        return engine.plans.find(reference or session_plan(engine, session, "/edit"))

    app.deferred.lead("Finding the plan", own, lambda found: _edited(app, found))


def diff(app: AppContext, rest: str) -> None:
    """Shows the operations of the plan, or what the session or its turns changed."""
    record, turns = app.session_controller.record, app.engine.turn_changes
    if not rest:
        _current_diff(app)
    elif record is None:
        raise UsageError("No session is open, so there are no turns to show.", "/plans")
    elif rest == "turns":
        heading = "Changes per turn"
        app.tasks.run(
            heading,
            lambda: list(turn_list_lines(turns.turns(record))),
            lambda lines: show_lines(app, heading, lines),
        )
    elif rest.isascii() and rest.isdecimal():
        number = int(rest[:MAX_DIGITS])
        heading = f"Turn {number}"
        app.tasks.run(
            heading,
            lambda: turn_sections(turns.turn(record, number)),
            lambda sections: show_diffs(app, heading, sections),
        )
    else:
        raise argument_error(app, "/diff")


def _current_diff(app: AppContext) -> None:
    """Shows the operations of the plan; without one, what the session changed itself."""
    engine, shown = app.engine, app.status_snapshot.plan
    record = app.session_controller.record
    plan_id = shown.plan_id if shown else app.session_controller.plan_id

    def read() -> tuple[str, list[Section]]:
        if record is not None and not plan_id:
            changes = engine.turn_changes.session(record)
            if changes.files or changes.gaps:
                return "Changes of this session", session_sections(changes)
        found = engine.plans.find(plan_id)
        plan = found if plan_id else engine.plans.meant(found)
        built = plan.state is PlanState.COMPLETED
        heading = "Built changes" if built else "Staged changes"
        return heading, staged_sections(engine.reviews.review(plan))

    app.tasks.run("Reading the changes", read, lambda found: show_diffs(app, *found))


def _with_plan(app: AppContext, rest: str, then: "Callable[[PlanRecord], object]") -> None:
    plans, reference = app.engine.plans, rest or app.session_controller.plan_id
    app.deferred.lead("Finding the plan", lambda: plans.find(reference), then)


def session_plan(engine: "Engine", session: str, command: str) -> str:
    """Returns the current plan of a session; without a session, the workspace's current plan.

    A command that changes something never uses another session's plan unless it is named.
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
    """Opens the editor, reads the edited text, and opens its review."""
    if not record.path or record.imported:
        raise UsageError(NO_FILE, "/review")
    app.edit_file(record.path)
    engine, before = app.engine, record.digest

    def taken(now: PlanRecord) -> None:
        if now.digest != before:
            app.add_note("You edited the text: this is a new plan and needs approval.")
        app.refresh_status()
        app.review_plan(now.plan_id)

    app.deferred.lead("Loading the plan", lambda: propose_if_changed(engine, record), taken)


# Slash commands about runs: build, undo, redo and recover.


NONE_YET: Final = "No runs from this screen yet; /runs lists earlier ones."


def build(app: AppContext, rest: str) -> None:
    """Builds an approved plan: by the executor, or by a model if it is a text plan."""
    engine, session = app.engine, app.session_controller.session
    chosen, own = rest or app.session_controller.chosen_plan, app.session_controller.plan_id

    def begin(found: tuple[PlanRecord, bool]) -> None:
        app.build_plan(found[0].plan_id, prose=found[1])

    def found() -> tuple[PlanRecord, bool]:
        if chosen:
            return _buildable(engine, engine.plans.find(chosen))
        plan = engine.plans.find(own or session_plan(engine, session, "/build"))
        return _buildable(engine, engine.plans.meant(plan))

    app.deferred.lead("Finding the plan", found, begin)


def undo(app: AppContext, rest: str) -> None:
    """Opens the preview of undoing a run."""
    app.open("undo", rest)


def redo(app: AppContext, rest: str) -> None:
    """Opens the preview of redoing what was undone."""
    app.open("undo", rest, again=True)


def run(app: AppContext, rest: str) -> None:
    """Opens the view of the current run, or of the last one of this screen."""
    if app.run_controller.watched is not None:
        app.show_run()
    else:
        _show_unfinished(app, NONE_YET)


def runs(app: AppContext, rest: str) -> None:
    """Opens the list of past runs."""
    app.open("runs", then=lambda name: undo(app, name) if name else None)


def recover(app: AppContext, rest: str) -> None:
    """Opens the view of an interrupted run, or says that there is none."""
    _show_unfinished(app, "No unfinished runs.")


def _show_unfinished(app: AppContext, none: str) -> None:
    engine = app.engine

    def found(unfinished: object) -> None:
        if unfinished is None:
            app.add_note(none)
        else:
            app.show_run()

    app.tasks.run("Finding the run", engine.runs.unfinished, found)


def _buildable(engine: "Engine", record: PlanRecord) -> tuple[PlanRecord, bool]:
    if not engine.approvals.is_approved(record) and not record.building:
        raise IllegalState(
            f"Plan {record.name} is not approved; nothing was built.",
            f"/review {engine.plans.reference(record)}",
        )
    return record, engine.runs.is_text_plan(record)
