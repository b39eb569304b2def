"""Endpoints about runs: what each did, its output and evidence, undo, redo and recovery.

An undo, a redo and a recovery are decided about what was served to the very caller: the digest of
a preview, or the last record of a run that stopped.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from assent.core.errors import (
    AssentError,
    Busy,
    DigestMismatch,
    IllegalState,
    StaleError,
)
from assent.core.run.journal import DONE, RecoveryChoice
from assent.planning.approvals import WebApprover
from assent.render.rows import Row
from assent.runs.run_rows import (
    nothing_undone_row,
    past_operation_row,
    past_run_row,
    report_row,
    undo_report_row,
    undo_row,
)
from assent.web.answers import (
    EvidenceAnswer,
    RunAnswer,
    RunOutputAnswer,
    RunReportAnswer,
    RunsAnswer,
    UndoAnswer,
)
from assent.web.api.decisions import WEB
from assent.web.api.plans import warned
from assent.web.endpoint import API, Answer, ApiCall, Endpoint, Nothing, Number

if TYPE_CHECKING:
    from assent.app.engine import Engine
    from assent.core.plan.record import PlanRecord
    from assent.runs.history import PastRun
    from assent.runs.undo.service import UndoPlan

LIMIT: Final = 100  # runs that are listed, if nothing else is said
NOT_DECIDED: Final = "Nothing was decided."


class RunListQuery(msgspec.Struct, frozen=True):
    """Which runs are listed; limit 0: all of them."""

    workspace: str = ""
    limit: Number = LIMIT


class UndoQuery(msgspec.Struct, frozen=True):
    """Which operation of a run is undone, by its number or id; by default all of them."""

    operation: str = ""


class UndoRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The digest of the preview that was shown."""

    digest: str
    operation: str = ""


class RedoRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The digest of the preview that was shown."""

    digest: str


class RecoverRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a run goes on that was interrupted or stopped; `seen` is its last record as shown."""

    way: Literal["auto", "resume", "roll_back", "accept"]
    seen: Number


def list_runs(call: ApiCall[RunListQuery, Nothing]) -> Row:
    """Lists past runs, newest first."""
    rows: list[Row] = []
    more = kept = 0
    for engine in call.server.engines(call.query.workspace):
        engine.runs.record_lost_command()
        page = engine.history.page(call.query.limit or None)
        rows += [{"workspace": engine.workspace, **past_run_row(one)} for one in page.runs]
        more, kept = more + page.more, kept + page.size
    rows.sort(key=lambda row: str(row["at"]), reverse=True)
    return {"runs": rows, "more": more, "kept": kept}


def show_run(call: ApiCall[Nothing, Nothing]) -> Row:
    """Shows the result of each operation of a run.

    Of one that is not over, `seen` is its last record: to recover it, name that.
    """
    engine, kept = call.server.find_run(call.path["run"])
    operations = [past_operation_row(item) for item in engine.history.items(kept)]
    row = {"workspace": engine.workspace, **past_run_row(kept), "operations": operations}
    return {**row, **_unfinished(call, engine, kept)}


def output(call: ApiCall[Nothing, Nothing]) -> Row:
    """Shows what the commands of a run printed and changed; secrets are masked."""
    engine, kept = call.server.find_run(call.path["run"])
    rows = [past_operation_row(item) for item in engine.history.items(kept)]
    names = ("number", "id", "about", "result", "command", "roll_back")
    told = [{name: row[name] for name in names if name in row} for row in rows if "command" in row]
    return {"run": kept.unit.name, "commands": told}


def evidence(call: ApiCall[Nothing, Nothing]) -> Row:
    """Exports signed evidence of a run of an approved plan: a DSSE envelope."""
    engine, kept = call.server.find_run(call.path["run"])
    found: Row = msgspec.json.decode(engine.evidence.export(kept.unit.name))
    return found


def preview_undo(call: ApiCall[UndoQuery, Nothing]) -> Row:
    """Shows what an undo would do, with the digest to name; files that changed are left alone."""
    engine, kept = call.server.find_run(call.path["run"])
    undo = engine.undo.preview(kept.unit.name, operation=call.query.operation)
    return _previewed(call, engine, undo, _undo_subject(kept, call.query.operation))


def preview_redo(call: ApiCall[Nothing, Nothing]) -> Row:
    """Shows what a redo of an undone run would do, with the digest to name."""
    engine, kept = call.server.find_run(call.path["run"])
    return _previewed(call, engine, engine.undo.redo(kept.unit.name), _redo_subject(kept))


def undo(call: ApiCall[Nothing, UndoRequest]) -> Row:
    """Undoes a run by the digest that was shown to this cookie."""
    engine, kept = call.server.find_run(call.path["run"])
    subject, operation = _undo_subject(kept, call.body.operation), call.body.operation

    def preview() -> "UndoPlan":
        return engine.undo.preview(kept.unit.name, operation=operation)

    return _apply(call, engine, preview, subject, call.body.digest)


def redo(call: ApiCall[Nothing, RedoRequest]) -> Row:
    """Redoes an undone run by the digest that was shown to this cookie."""
    engine, kept = call.server.find_run(call.path["run"])

    def preview() -> "UndoPlan":
        return engine.undo.redo(kept.unit.name)

    return _apply(call, engine, preview, _redo_subject(kept), call.body.digest)


def recover(call: ApiCall[Nothing, RecoverRequest]) -> Row | Answer:
    """Finishes or rolls back a run that was interrupted, or decides one that waits for you."""
    engine, kept = call.server.find_run(call.path["run"])
    run = kept.unit.whole or kept.unit.runs[0]
    look = f"GET {API}/runs/{call.path['run']}"
    seen = call.body.seen
    check_free(engine)
    now = engine.runs.position(run)
    if seen != now:
        raise StaleError(f"The run's last record is {now}, not {seen}. {NOT_DECIDED}", look)
    call.server.reviewed.check(call.access.access, _recover_subject(run), str(seen), look)
    building = engine.runs.building()
    if building is not None and building.building is not None and building.building.run == run:
        return _recover_text_build(call, engine, building)
    left = engine.runs.unfinished()
    if left is None or left[1].run != run:
        raise IllegalState(f"Run {run} is not waiting. {NOT_DECIDED}", look)
    record = engine.runs.repository().load(left[0]) if left[0] else kept.unit.record
    steps = engine.runs.recover(call.body.way, run)
    report = call.server.plan_worker.drive(engine, record, steps, run)
    undone = engine.undo.recorded(report)
    if undone is None:
        return warned(engine, report_row(report))
    _restore_todos(engine, undone[0], whole=undone[1].outcome in DONE)
    return warned(engine, undo_report_row(*undone))


def _recover_text_build(
    call: ApiCall[Nothing, RecoverRequest], engine: "Engine", plan: "PlanRecord"
) -> Row | Answer:
    """Decides a model's unfinished build: to go on with it, or to keep it as it is."""
    way: RecoveryChoice = call.body.way
    if way == "resume":
        work = call.server.plan_worker.build(engine, plan, call.access.name)
        return Answer({"work": work}, 202)
    if way != "accept":
        raise IllegalState(
            f"A model's build is resumed or accepted here; undo it after that. {NOT_DECIDED}",
            "assent recover --roll-back",
        )
    builds = engine.text_plan_builds
    with builds.locked(plan) as held:
        report = builds.report(held)
        builds.finish(held, report.outcome)
    notes = tuple(f"Not marked as done: {words}" for words in report.left)
    return warned(engine, report_row(msgspec.structs.replace(report, notes=notes)))


def _unfinished(call: ApiCall[Nothing, Nothing], engine: "Engine", kept: "PastRun") -> Row:
    """Returns what is known of a run that is not over, and notes that it was served."""
    run = kept.unit.whole or kept.unit.runs[0]
    left, building = engine.runs.unfinished(), engine.runs.building()
    named = building.building.run if building and building.building else ""
    if run != named and (left is None or left[1].run != run):
        return {"unfinished": False, "seen": None}
    seen = engine.runs.position(run)
    call.note_served(_recover_subject(run), str(seen))
    row: Row = {"unfinished": True, "seen": seen, "working": bool(engine.runs.holder())}
    if left is None or left[1].run != run or not left[1].frozen:
        return row
    try:
        repository = engine.runs.repository()
        report = engine.runs.report(repository, run, repository.plan(left[1]))
    except AssentError:  # its journal cannot be read; recovering it says why
        return row
    told = report_row(report)
    return {**row, **{name: told[name] for name in ("notes", "next") if name in told}}


def _previewed(
    call: "ApiCall[UndoQuery, Nothing] | ApiCall[Nothing, Nothing]",
    engine: "Engine",
    undo: "UndoPlan",
    subject: str,
) -> Row:
    """Returns a preview, and notes that it was served."""
    diffs = engine.reviews.undo_diffs(undo.source, undo.plan, again=undo.extent.again)
    if undo.plan.operations:
        call.note_served(subject, undo.plan.digest)
    return undo_row(undo, diffs)


def _apply(
    call: "ApiCall[Nothing, UndoRequest] | ApiCall[Nothing, RedoRequest]",
    engine: "Engine",
    preview: "Callable[[], UndoPlan]",
    subject: str,
    digest: str,
) -> Row:
    """Applies an undo or a redo that was served, if it is still the same."""
    check_free(engine)
    engine.runs.check_decided()
    look = f"GET {API}/runs/{call.path['run']}/{subject.partition('/')[0]}"
    found = preview()
    now = found.plan.digest if found.plan.operations else ""
    if digest != now:
        told = f"It now has digest {now}" if now else "There is nothing left to do"
        raise DigestMismatch(f"{told}; you named {digest}. Nothing was changed.", look)
    if not now:
        return nothing_undone_row(found)
    call.server.reviewed.check(call.access.access, subject, digest, look)
    steps = engine.undo.apply(found, WEB, by=WebApprover(call.access.name))
    report = call.server.plan_worker.drive(engine, found.source, steps, "")
    _restore_todos(engine, found, whole=report.outcome in DONE)
    with engine.runs.housekeeping("What is kept of runs was not pruned"):
        engine.retention.retain(daily=True)
    return warned(engine, undo_report_row(found, report))


def _restore_todos(engine: "Engine", undo: "UndoPlan", *, whole: bool) -> None:
    if whole and undo.restores_todos:
        with engine.runs.housekeeping("The todos were not restored"):
            engine.sessions.restore_todos(undo.source, undo.target.runs[0])


def check_free(engine: "Engine") -> None:
    """Refuses at once what would wait for another run: no thread of the server waits."""
    if holder := engine.runs.holder():
        raise Busy(f"Busy: in use by {holder}. Nothing was changed.", "assent status")


def _undo_subject(kept: "PastRun", operation: str) -> str:
    return f"undo/{kept.unit.name}/{operation}"


def _redo_subject(kept: "PastRun") -> str:
    return f"redo/{kept.unit.name}"


def _recover_subject(run: str) -> str:
    return f"recover/{run}"


ENDPOINTS = (
    Endpoint("GET", "/runs", "Runs, newest first", "viewer", list_runs, RunListQuery,
             answer=RunsAnswer),
    Endpoint("GET", "/runs/{run}", "A run", "viewer", show_run, answer=RunAnswer),
    Endpoint("GET", "/runs/{run}/output", "What its commands printed", "viewer", output,
             answer=RunOutputAnswer),
    Endpoint("GET", "/runs/{run}/evidence", "Signed evidence of it", "viewer", evidence,
             answer=EvidenceAnswer),
    Endpoint("GET", "/runs/{run}/undo", "What an undo would do", "viewer", preview_undo, UndoQuery,
             answer=UndoAnswer),
    Endpoint("GET", "/runs/{run}/redo", "What a redo would do", "viewer", preview_redo,
             answer=UndoAnswer),
    Endpoint(
        "POST", "/runs/{run}/undo", "Undo a run by the digest shown", "approver", undo,
        body=UndoRequest, decides=True, answer=RunReportAnswer,
    ),
    Endpoint(
        "POST", "/runs/{run}/redo", "Redo a run by the digest shown", "approver", redo,
        body=RedoRequest, decides=True, answer=RunReportAnswer,
    ),
    Endpoint(
        "POST", "/runs/{run}/recover", "Decide a run that stopped", "approver", recover,
        body=RecoverRequest, decides=True, answer=RunReportAnswer,
    ),
)  # fmt: skip
