"""Preflight: checks a plan before its run starts, so that a failure does not use the approval."""

from assent.core.plan.operation import FileOperation, RunCommand
from assent.core.plan.plan import Plan
from assent.core.run.state import segment_ranges
from assent.core.run.workspace_changes import state_changes
from assent.executor.drift import check_blobs, check_disk, first_segment_files
from assent.ports import BlobStore, PlanCommandRunner
from assent.ports.file_writer import FileWriter


def check_start(
    plan: Plan, hands: FileWriter, blobs: BlobStore, commander: PlanCommandRunner
) -> tuple[FileOperation, ...]:
    """Refuses a plan that could not be carried out; returns the files that it begins with.

    What stands under the names of later segments, commands decide; it is looked at when they begin.
    """
    commands = [op for op in plan.operations if type(op) is RunCommand]
    if commands:
        meant = state_changes(op for op in plan.operations if not isinstance(op, RunCommand))
        for command in commands:
            commander.check(command, meant)
    course = segment_ranges(plan.operations)
    for span in course:
        check_blobs(span.files, blobs)
    files = first_segment_files(plan)
    check_disk(plan, files, hands)
    return () if course and course[0].command else files
