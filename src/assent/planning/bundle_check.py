"""Checks whether a plan from a bundle may be applied here, as if it had been staged here."""

from collections.abc import Container
from functools import partial

from assent.core.errors import Drift, ImpossibleOperations, NotFound, Refused, UsageError
from assent.core.paths import ancestors, display_path, refuse_own_paths
from assent.core.plan.bundle import named_paths
from assent.core.plan.draft import check_tree, refuse_similar_names, segments
from assent.core.plan.git_commit import is_commit
from assent.core.plan.operation import Operation, RunCommand
from assent.core.plan.plan import Plan
from assent.executor.drift import check_disk, first_segment_files
from assent.planning.case_collisions import refuse_case_collisions
from assent.planning.command_operation import checked_command
from assent.planning.git_folders import refuse_git_folders
from assent.planning.ports import Ports, WorkspaceConfig
from assent.planning.rule_check import refuse_denied
from assent.ports import LinkTarget, WorkspaceFiles
from assent.tools.overlay import Overlay


class BundleCheck:
    """Refuses what staging would have refused, and files that are not as the plan expects."""

    def __init__(self, doors: Ports, place: WorkspaceConfig) -> None:
        self._doors = doors
        self._place = place

    def check(self, plan: Plan) -> None:
        """Looks at the plan and at the disk; changes nothing."""
        files, paths = self._doors.files, frozenset(named_paths(plan.operations))
        links = Overlay(files, self._doors.blobs, plan.operations).has_links
        target = partial(_read, paths, files) if links else None
        for path in sorted(paths):
            self._check_path(path, target)
        refuse_denied(self._doors, plan.operations, "Nothing was changed.")
        refuse_git_folders(files, plan.operations, plan.operations)
        refuse_similar_names(plan.operations)
        try:
            refuse_case_collisions(files, plan.operations)
        except ImpossibleOperations as error:
            raise Refused(error.message) from None
        so_far: tuple[Operation, ...] = ()
        for segment in segments(plan.operations):
            if isinstance(segment[0], RunCommand):
                self._check_command(segment[0], so_far)
            so_far += segment
            check_tree(so_far, files.is_file, files.below)
        try:
            check_disk(plan, first_segment_files(plan), files)
        except Drift as drift:
            raise imported_plan_drift(drift) from None

    def _check_path(self, path: bytes, target: LinkTarget | None = None) -> None:
        refuse_own_paths(path, self._place.plan_dir, self._place.private)
        here = self._doors.files.locate(self._place.root + b"/" + path, target)
        if here != path:
            raise Refused(
                f"{display_path(path)} is {display_path(here)} here: a symlink leads there."
            )

    def _check_command(self, command: RunCommand, before: tuple[Operation, ...]) -> None:
        if command.profile == "commit":
            if not is_commit(command):
                raise Refused("It holds a commit that is not of the one form that a plan may have.")
            return
        if command.cwd:
            self._check_path(command.cwd)
        try:
            checked_command(command, Overlay(self._doors.files, self._doors.blobs, before))
        except NotFound as error:
            raise imported_plan_drift(Drift(error.message)) from None
        except UsageError as error:
            raise Refused(error.message) from None


def imported_plan_drift(drift: Drift) -> Drift:
    """Returns the same refusal, of a plan that only those who made it can change."""
    told = f"{drift.message} The plan has to be made anew where it was made, on the files of here."
    return Drift(told, "assent propose --portable --out FILE")


def _read(touched: Container[bytes], files: WorkspaceFiles, path: bytes) -> bytes | None:
    """Reads a symlink; through a name that the plan itself touches, none of its paths leads."""
    below = any(above in touched for above in ancestors(path))
    return None if below or path in touched else files.link_target(path)
