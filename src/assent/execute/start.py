"""Checks before a run starts: whatever can be known then is checked then, and spends nothing."""

from assent.core.course import spans
from assent.core.operation import FileOperation, RunCommand, footprint
from assent.core.plan import Plan
from assent.execute.check import check_blobs, check_disk, first_files
from assent.ports import Blobs, Commander, Hands


def check_start(
    plan: Plan, hands: Hands, blobs: Blobs, commander: Commander
) -> tuple[FileOperation, ...]:
    """Refuses a plan that could not be carried out; returns the files that it begins with.

    What stands under the names of later segments, commands decide; it is looked at when they begin.
    """
    paths = [path for op in plan.operations for path, *_ in footprint(op)]
    for op in plan.operations:
        if isinstance(op, RunCommand):
            commander.check(op, paths)
    course = spans(plan.operations)
    for span in course:
        check_blobs(span.files, blobs)
    files = first_files(plan)
    check_disk(plan, files, hands)
    return () if course and course[0].command else files
