"""Drift: which files of a proposed plan changed since, for status and review."""

from typing import Final

from assent.core.errors import AssentError
from assent.core.plan.operation import footprint
from assent.core.plan.plan import Plan
from assent.executor.drift import drifted_paths, first_segment_files, state_text
from assent.ports import WorkspaceFiles
from assent.render.review_warnings import DriftedFile

MAX_FILES: Final = (
    1000  # files; with more of them reading would wait for long: a yes looks at them all
)
MAX_CHEAP_FILES: Final = 50
MAX_CHEAP_BYTES: Final = 4 << 20  # bytes in them


def drifted_files(plan: Plan, files: WorkspaceFiles) -> tuple[DriftedFile, ...]:
    """Returns the files that changed; none if they are too many to look at while reading."""
    operations = first_segment_files(plan)
    if len(operations) > MAX_FILES:
        return ()
    try:
        found = list(drifted_paths(plan, operations, files))
    except (AssentError, OSError) as error:
        return (DriftedFile(b"", str(error)),)
    gone = state_text(None)
    return tuple(
        DriftedFile(one.path, "gone" if one.found == gone else f"now {one.found}") for one in found
    )


def drifted_files_if_cheap(plan: Plan, files: WorkspaceFiles) -> tuple[DriftedFile, ...]:
    """Returns the files that changed if they are few and small; else none."""
    paths = [path for op in first_segment_files(plan) for path, _, _ in footprint(op)]
    paths += [file.path for file in plan.relied_on]
    try:
        small = len(paths) <= MAX_CHEAP_FILES and sum(map(files.size, paths)) <= MAX_CHEAP_BYTES
    except (AssentError, OSError):
        return ()
    return drifted_files(plan, files) if small else ()
