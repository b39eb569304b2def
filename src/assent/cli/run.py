"""`assent build`, `undo`, `recover`: everything that changes files, through the engine alone."""

from collections.abc import Generator
from typing import TypeVar

import click
import msgspec

from assent.cli.asking import consent
from assent.cli.call import Call, examples, named, takes_call
from assent.core.errors import UsageError
from assent.core.journal import Outcome, Progress, Way
from assent.core.record import PlanRecord
from assent.engine.run.runs import RunReport
from assent.engine.run.undoing import Undo
from assent.views.rows import operation_row, run_row
from assent.views.status import run_lines, undo_lines

R = TypeVar("R")

EXITS: dict[Outcome, int] = {"done": 0, "nothing": 0, "rolled_back": 1, "needs_you": 6}
ALL_CONFLICT = 5


@click.command(
    epilog=examples("assent build\nassent build --model ollama/qwen3\nassent build --json")
)
@click.option("--model", metavar="NAME", default="", help="Who carries out a plan of prose.")
@click.option("--agent", metavar="NAME", default="", help="As which agent (default: build).")
@takes_call
def build(call: Call, model: str, agent: str) -> int:
    """Apply exactly what was approved, once. After a crash, the next start goes on.

    A plan without operations is carried out by a model, inside the scope that the plan declares.
    """
    return build_and_answer(call, call.record(), model, agent)


@click.command(
    epilog=examples("assent undo --dry-run\nassent undo\nassent undo 01k9 --digest 3f2a...")
)
@click.argument("run", required=False, callback=named)
@click.option("--dry-run", is_flag=True, help="Only show what would be taken back.")
@click.option("--digest", default="", help="The digest of the undo plan that you mean.")
@takes_call
def undo(call: Call, run: str, dry_run: bool, digest: str) -> int:
    """Take a run back by its inverse plan. Files that changed since are left alone and listed."""
    if dry_run and digest:
        raise UsageError("Give --dry-run or --digest, not both.", "assent undo --help")
    if not dry_run:
        _watched(call, call.engine.runs.settle())
    plan_id = call.record().plan_id if call.plan else ""
    preview = call.engine.undoing.preview(run, plan_id)
    if dry_run or not preview.plan.operations:
        return _answer_preview(call, preview, dry_run=dry_run)
    wanted = preview.plan.digest
    channel = consent(call, wanted, digest, lambda: call.engine.reviews.undo_review(preview))
    report = _watched(call, call.engine.undoing.apply(preview, channel))
    if report.outcome == "done" and preview.source.plan_id:
        call.engine.sessions.restore_todos(preview.source, preview.target.runs[0])
    return _answer(call, report)


@click.command(epilog=examples("assent recover\nassent recover --roll-back"))
@click.option("--resume", is_flag=True, help="Go on where it stopped.")
@click.option("--roll-back", is_flag=True, help="Put everything back.")
@click.option("--accept", is_flag=True, help="Keep everything as it stands now.")
@click.option("--digest", default="", help="With --roll-back of a model's build: what you mean.")
@takes_call
def recover(call: Call, resume: bool, roll_back: bool, accept: bool, digest: str) -> int:
    """Finish or revert an interrupted run; with a way, decide one that waits for you."""
    named: dict[Way, bool] = {"resume": resume, "roll_back": roll_back, "accept": accept}
    ways = [way for way, wanted in named.items() if wanted]
    if len(ways) > 1:
        raise UsageError("Give one of --resume, --roll-back and --accept.", "assent recover")
    if digest and not roll_back:
        raise UsageError("Give --digest with --roll-back.", "assent recover --help")
    way = ways[0] if ways else "auto"
    if call.engine.runs.unfinished() is None and (plan := call.engine.runs.building()):
        if way == "resume":
            return build_and_answer(call, plan)
        with call.engine.building.held(plan) as held:
            return _answer(call, _given_up(call, held, way, digest))
    if digest:
        raise UsageError("Only what a model built is taken back by a digest.", "assent recover")
    return _answer(call, _watched(call, call.engine.runs.recover(way)))


def build_and_answer(call: Call, record: PlanRecord, model: str = "", agent: str = "") -> int:
    """Builds a plan and says how it went."""
    if call.engine.runs.is_prose(record):
        from assent.cli.building import build_prose

        return build_prose(call, record, model, agent)
    if model or agent:
        raise UsageError("A plan with operations is applied without a model.", "assent build")
    return _answer(call, _watched(call, call.engine.runs.build(record.plan_id)))


def _given_up(call: Call, plan: PlanRecord, way: Way, digest: str) -> RunReport:
    """Decides a build by a model that has not come to its end: accepted as it is, or taken back."""
    building = call.engine.building
    report = building.report(plan, kept=way != "roll_back")
    if way == "auto":
        told = f"A model builds plan {plan.name} and has not come to its end."
        return RunReport(report.run, "needs_you", notes=(told,))
    if way == "accept":
        building.finish(plan, report.outcome)
        notes = tuple(f"Not marked as done: {words}" for words in report.left)
        return msgspec.structs.replace(report, notes=notes)
    if report.operations:
        preview = call.engine.undoing.preview(report.run)
        wanted = preview.plan.digest
        channel = consent(call, wanted, digest, lambda: call.engine.reviews.undo_review(preview))
        _watched(call, call.engine.undoing.apply(preview, channel))
    building.finish(plan, "rolled_back")
    return report


def _watched(call: Call, work: Generator[Progress, None, R]) -> R:
    """Shows progress until the work ends, and returns what it ends with."""
    try:
        while True:
            call.output.progress(next(work))
    except StopIteration as end:
        result: R = end.value
        return result
    finally:
        call.output.progress_over()


def _answer(call: Call, report: RunReport) -> int:
    row = run_row(report.run, report.outcome, report.operations)
    results = [
        (result, op) for (_, result), op in zip(report.operations, report.about, strict=True)
    ]
    call.output.answer(row, run_lines(report.run, report.outcome, results, report.notes))
    return EXITS[report.outcome]


def _answer_preview(call: Call, preview: Undo, *, dry_run: bool) -> int:
    """Says what an undo would do. If that is nothing, it is also the answer of the undo itself."""
    ids, inversion = preview.ids, preview.inversion
    rows = [operation_row(name, op) for name, op in zip(ids, preview.originals, strict=True)]
    operations = [rows[index] for index, _ in inversion.operations]
    conflicts = [{**rows[index], "reason": reason} for index, reason in inversion.conflicts]
    nothing = not operations
    content: dict[str, object] = {
        "run": preview.run,
        "digest": None if nothing else preview.plan.digest,
        "operations": operations,
        "conflicts": conflicts,
    }
    if nothing:
        content["outcome"] = "nothing"
    if not dry_run:
        content["operations"] = [{"id": row["id"], "result": "conflict"} for row in conflicts]
    call.output.answer(content, undo_lines(preview.run, preview.plan, ids, inversion))
    return ALL_CONFLICT if nothing and conflicts else 0
