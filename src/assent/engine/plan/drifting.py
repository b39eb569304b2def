"""Drifting: which files a proposed plan no longer finds as it saw them, for those who only read."""

from typing import Final

from assent.core.errors import AssentError
from assent.core.plan.operation import footprint
from assent.core.plan.plan import Plan
from assent.execute.check import differences, first_files, told
from assent.ports import WorkspaceFiles
from assent.render.drift import DriftedFile

MANY: Final = 1000  # files; with more of them reading would wait for long: a yes looks at them all
FEW: Final = 50
LITTLE: Final = 4 << 20  # bytes in them


def drifted(plan: Plan, files: WorkspaceFiles) -> tuple[DriftedFile, ...]:
    """Returns the files that changed; none if they are too many to look at while reading."""
    operations = first_files(plan)
    if len(operations) > MANY:
        return ()
    try:
        found = list(differences(plan, operations, files))
    except (AssentError, OSError) as error:
        return (DriftedFile(b"", str(error)),)
    gone = told(None)
    return tuple(
        DriftedFile(one.path, "gone" if one.found == gone else f"now {one.found}") for one in found
    )


def drifted_if_cheap(plan: Plan, files: WorkspaceFiles) -> tuple[DriftedFile, ...]:
    """Returns the files that changed if they are few and small; else none."""
    paths = [path for op in first_files(plan) for path, _, _ in footprint(op)]
    paths += [file.path for file in plan.relied_on]
    try:
        small = len(paths) <= FEW and sum(map(files.size, paths)) <= LITTLE
    except (AssentError, OSError):
        return ()
    return drifted(plan, files) if small else ()
