"""Readable copies of a plan's state for its folder in the workspace; they give nobody any power."""

import re
from collections.abc import Sequence

import msgspec

from assent.core.digest import operation_ids
from assent.core.errors import AssentError
from assent.core.journal import Finished
from assent.core.operation import FileOperation, FileState, Operation, footprint
from assent.core.paths import shown
from assent.core.record import PlanRecord
from assent.engine.doors import Doors
from assent.views.rows import operation_row

_TASK = re.compile(r"^[ \t]*[-*+] \[([ xX])\][ \t]+(\S.*)$", re.MULTILINE)


class Projections:
    """Writes approvals, tasks, operations and backups as JSON. Failing is only a warning."""

    def __init__(self, doors: Doors) -> None:
        self._doors = doors
        self.warnings: list[str] = []

    def plan(self, record: PlanRecord, text: bytes | None = None) -> None:
        """Copies a plan's approvals, and its tasks when the text is at hand."""
        approvals = [msgspec.to_builtins(consent) for consent in record.consents]
        files = {
            "approvals.json": _json({"plan_id": record.plan_id, "approvals": approvals}),
        }
        if text is not None:
            files["taskmap.json"] = _json({"plan_id": record.plan_id, "tasks": tasks(text)})
        self._write(record.plan_id, files)

    def draft(self, record: PlanRecord, operations: Sequence[Operation]) -> None:
        """Copies the staged operations."""
        ids = operation_ids(operations)
        rows = [operation_row(name, op) for name, op in zip(ids, operations, strict=True)]
        content = _json({"plan_id": record.plan_id, "operations": rows})
        self._write(record.plan_id, {"operations.json": content})

    def backups(
        self, plan_id: str, run: str, operations: tuple[FileOperation, ...], end: Finished
    ) -> None:
        """Lists what can be restored after a run."""
        rows = [
            {"path": shown(path), "before": _state(before), "result": result}
            for op, result in zip(operations, end.results, strict=True)
            for path, before, _ in footprint(op)
        ]
        content = _json({"run": run, "undo": f"assent undo {run}", "files": rows})
        self._write(plan_id, {f"backups/{run}.json": content})

    def _write(self, plan_id: str, files: dict[str, bytes]) -> None:
        try:
            self._doors.projection.write_state(plan_id, files)
        except (OSError, AssentError) as error:
            self.warnings.append(
                f"The readable copies in .opencode/assent are not current: {error}"
            )


def tasks(text: bytes) -> list[dict[str, object]]:
    """Reads the check boxes of a plan's Markdown."""
    found = _TASK.findall(text.decode("utf-8", "backslashreplace"))
    return [{"text": words, "done": mark != " "} for mark, words in found]


def _state(state: FileState | None) -> object:
    return None if state is None else msgspec.to_builtins(state)


def _json(content: object) -> bytes:
    return msgspec.json.format(msgspec.json.encode(content), indent=2) + b"\n"
