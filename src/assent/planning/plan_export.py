"""Adds the file with the plan's own text as an operation of the plan (plan.export)."""

from assent.core.errors import ImpossibleOperations, Refused
from assent.core.paths import display_path, normalize, refuse_own_paths
from assent.core.plan.draft import check_tree, stage
from assent.core.plan.operation import FileState, Operation, WriteFile
from assent.planning.contents import PlanContents
from assent.planning.ports import Ports, WorkspaceConfig
from assent.planning.rule_check import refuse_denied

EXPORT_MODE = 0o644


class PlanExport:
    """Adds the export when a plan is frozen; the draft never holds it, so it is never doubled."""

    def __init__(self, doors: Ports, place: WorkspaceConfig) -> None:
        self._doors = doors
        self._place = place
        self._contents = PlanContents(doors)

    def added(self, text: bytes, operations: tuple[Operation, ...]) -> tuple[Operation, ...]:
        """Returns the operations with the export among them, if it is wanted and not done."""
        if not self._place.export:
            return operations
        path = self.path()
        before = self._contents.overlay(operations).state(path)
        if before == "folder":
            raise ImpossibleOperations(
                f"plan.export names {display_path(path)}, which is a folder."
            )
        digest, size = self._contents.keep([text])
        mode = before.mode if before and before.kind == "file" else EXPORT_MODE
        export = WriteFile(path, before, FileState(digest, size, mode))
        if export.before == export.after:
            return operations
        refuse_denied(self._doors, [export], "plan.export adds it, so the plan was not frozen.")
        changed = stage(operations, [export])
        check_tree(changed, self._doors.files.is_file, self._doors.files.below)
        self._contents.keep_all(changed, [op for op in changed if op not in operations])
        return changed

    def path(self) -> bytes:
        """Returns where the export goes; refuses a path that no plan may touch."""
        try:
            path = normalize(self._place.export)
        except Refused as refused:
            raise Refused(f"plan.export: {refused.message}") from refused
        refuse_own_paths(path, self._place.plan_dir, self._place.private)
        return path
