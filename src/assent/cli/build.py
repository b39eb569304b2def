"""`assent build` and `recover`: apply an approved plan, or finish an interrupted run."""

from collections.abc import Sequence
from functools import partial

import click
import msgspec

from assent.cli.approval_prompt import prompt_for_approval
from assent.cli.bundle import build_file
from assent.cli.invocation import Invocation, or_bundle_file, with_invocation, with_output_format
from assent.cli.options import examples
from assent.cli.orphan_slots import (
    orphans_cleared_lines,
    orphans_cleared_row,
    orphans_waiting_lines,
    orphans_waiting_row,
)
from assent.cli.run_driver import (
    EXIT_CODES,
    answer_recovered,
    answer_run,
    build_and_answer,
    run_and_answer,
    show_progress,
)
from assent.core.errors import RunUnfinished, UsageError
from assent.core.plan.record import PlanRecord
from assent.core.run.journal import (
    RecoveryChoice,
)
from assent.core.run.orphan_slot import OrphanSlot
from assent.render.status import (
    RemovedLeftovers,
    with_removed_leftovers,
)
from assent.runs.run_status import RunReport


@click.command(
    epilog=examples(
        "assent build\nassent build --model ollama/qwen3\nassent build --json\n"
        "assent build --output-format stream-json\n"
        "assent build plan.json\nassent build plan.json --approval yes.json"
    )
)
@click.option("--model", metavar="NAME", default="", help="Model that builds a text plan.")
@click.option(
    "--agent", metavar="NAME", default="", help="Agent that builds a text plan (default: build)."
)
@click.option(
    "--approval", metavar="FILE2", multiple=True, help="With FILE: read the approval from FILE2."
)
@with_invocation
@with_output_format
@or_bundle_file(build_file, "approval")
def build(call: Invocation, model: str, agent: str, approval: tuple[str, ...]) -> int:
    """Apply an approved plan, exactly and once. After a crash, the next start continues.

    A text plan is built by a model, within the scope that the plan declares.
    FILE is a bundle; it is applied if a key that is trusted here approved it.
    """
    if approval:
        raise UsageError("--approval requires FILE.", "assent build --help")
    call.engine.runs.check_slots(())  # also those of a run whose plan may be lost
    return build_and_answer(call, call.record(), model, agent)


@click.command(
    epilog=examples(
        "assent recover\nassent recover --resume\nassent recover --roll-back\n"
        "assent recover --accept\nassent recover --resume --output-format stream-json"
    )
)
@click.option("--resume", is_flag=True, help="Continue where the run stopped.")
@click.option("--roll-back", is_flag=True, help="Undo everything the run changed.")
@click.option("--accept", is_flag=True, help="Keep everything as it is now.")
@click.option(
    "--digest", default="", help="With --roll-back of a model's build: digest to approve."
)
@with_invocation
@with_output_format
def recover(call: Invocation, resume: bool, roll_back: bool, accept: bool, digest: str) -> int:
    """Finish or roll back an interrupted run, or decide one that is waiting for you."""
    named: dict[RecoveryChoice, bool] = {"resume": resume, "roll_back": roll_back, "accept": accept}
    ways = [way for way, wanted in named.items() if wanted]
    if len(ways) > 1:
        raise UsageError("Use only one of --resume, --roll-back and --accept.", "assent recover")
    if digest and not roll_back:
        raise UsageError("--digest requires --roll-back.", "assent recover --help")
    way = ways[0] if ways else "auto"
    if call.engine.runs.unfinished() is None and (plan := call.engine.runs.building()):
        if way == "resume":
            return build_and_answer(call, plan)
        with call.engine.text_plan_builds.locked(plan) as held:
            return answer_run(call, _given_up(call, held, way, digest))
    if digest:
        raise UsageError("--digest works only when rolling back a model's build.", "assent recover")
    runs = call.engine.runs
    removed = _tidied(call)
    left = runs.unfinished()
    if left is None and (lost := call.engine.orphan_slots.find(everywhere=True)):
        return _of_lost_runs(call, lost, way, removed)
    if left and left[0]:
        call.is_about(runs.repository().load(left[0]))
    return run_and_answer(call, runs.recover(way), partial(answer_recovered, removed=removed))


def _tidied(call: Invocation) -> RemovedLeftovers:
    """Removes what a killed start left while it asked what the disk can; a killed command's, too.

    What a command left is gone since the workspace was opened; here it is part of the answer.
    """
    folders, call.engine.swept = call.engine.swept, ()
    return RemovedLeftovers(tuple(call.engine.orphan_slots.remove_probes()), folders)


def _of_lost_runs(
    call: Invocation, lost: Sequence[OrphanSlot], way: RecoveryChoice, removed: RemovedLeftovers
) -> int:
    """Lists the slots of unknown runs, or does with them what the user decided."""
    if way == "resume":
        raise RunUnfinished(
            "This run is not in the log, so it cannot be resumed. Nothing was changed.",
            "assent recover",
        )
    if way == "auto":
        call.output.answer(
            *with_removed_leftovers(orphans_waiting_row(lost), orphans_waiting_lines(lost), removed)
        )
        return EXIT_CODES["needs_you"]
    cleared = call.engine.orphan_slots.decide(lost, way)
    call.output.answer(
        *with_removed_leftovers(
            orphans_cleared_row(cleared), orphans_cleared_lines(cleared), removed
        )
    )
    return 1 if cleared.taken or cleared.failed else 0


def _given_up(call: Invocation, plan: PlanRecord, way: RecoveryChoice, digest: str) -> RunReport:
    """Settles a model's unfinished build: accepts it as it is, or undoes it."""
    building = call.engine.text_plan_builds
    report = building.report(plan, kept=way != "roll_back")
    if way == "auto":
        told = f"The model's build of plan {plan.name} is unfinished."
        return RunReport(report.run, "needs_you", notes=(told,))
    if way == "accept":
        building.finish(plan, report.outcome)
        notes = tuple(f"Not marked as done: {words}" for words in report.left)
        return msgspec.structs.replace(report, notes=notes)
    if report.operations:
        preview = call.engine.undo.preview(report.run, exempt=True)
        undo, again = preview.plan, preview.extent.again
        shown = partial(call.engine.reviews.undo_review, preview.source, undo, again=again)
        channel = prompt_for_approval(call, undo.digest, digest, shown)
        show_progress(call, call.engine.undo.apply(preview, channel, exempt=True))
    building.finish(plan, "rolled_back")
    return report
