"""Readable JSON copies of a plan's state in its folder; they never decide anything."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from threading import Lock
from time import monotonic
from typing import TypeAlias

import msgspec

from assent.core.digest import operation_ids
from assent.core.errors import AssentError
from assent.core.paths import display_path
from assent.core.plan.operation import FileState, Operation, RunCommand, WriteFile, footprint
from assent.core.plan.plan import HOW_TO_VERIFY
from assent.core.plan.record import PlanRecord
from assent.core.run.journal import FinishedEntry, OperationResult
from assent.core.session.event import Todo
from assent.planning.ports import Ports
from assent.render.rows import operation_row

MakeContent: TypeAlias = Callable[[], bytes]

NEW_PLAN_EVENTS = 2  # events of a plan that was just created: it has no todos yet
INTERVAL_S = 1.0  # between two times that copies are written while a session works
MAX_AT_ONCE = 64  # operations of a draft that is copied with each change; a longer one costs time

_TASK = r"(?m)^[ \t]*[-*+] \[([ xX])\][ \t]+(\S.*)$"


class _Backup(msgspec.Struct, frozen=True, gc=False):
    """A file of a run, as it is listed; there can be many thousands."""

    path: str
    before: FileState | None
    result: OperationResult


class PlanProjections:
    """Writes approvals, tasks, operations and backups as JSON. Failing is only a warning."""

    def __init__(self, ports: Ports) -> None:
        self._ports = ports
        self._todos: dict[str, tuple[Todo, ...]] = {}
        self.todos_of: Callable[[PlanRecord], tuple[Todo, ...]] = lambda plan: ()
        self._due: dict[tuple[str, str], MakeContent] = {}  # by plan and file
        self._long: dict[tuple[str, str], MakeContent] = {}  # copies of long drafts
        self._long_written = -INTERVAL_S
        self._alone = Lock()  # children work at the same time
        self._at_once = True
        self._written = 0.0
        self.warnings: list[str] = []

    @contextmanager
    def throttled(self) -> Iterator[None]:
        """Writes copies once a second and at the end, where they would change with each step."""
        self._at_once, self._written = False, monotonic()
        try:
            yield
        finally:
            self._at_once = True
            self.write_due()

    def write_due(self) -> None:
        """Writes every copy that is outdated."""
        with self._alone:
            self._due |= self._long
            self._long = {}
        if self._due:
            self._catch_up()

    def plan(self, record: PlanRecord, text: bytes | None = None) -> None:
        """Copies a plan's approvals, and its tasks if the text is given."""
        files: dict[str, MakeContent] = {"approvals.json": partial(_approvals, record)}
        if text is not None:
            if record.plan_id not in self._todos:
                self._todos[record.plan_id] = (
                    self.todos_of(record) if record.seq > NEW_PLAN_EVENTS else ()
                )
            todos = self._todos[record.plan_id]
            files["taskmap.json"] = partial(_taskmap, record, text, todos)
        self._write(record.plan_id, files)

    def forget(self, plan_id: str) -> None:
        """Removes the copies of a plan that never had any content."""
        with self._alone:
            self._due = {key: made for key, made in self._due.items() if key[0] != plan_id}
            self._long = {key: made for key, made in self._long.items() if key[0] != plan_id}
        try:
            self._ports.projection.remove_all_state(plan_id)
        except (OSError, AssentError) as error:
            self.warnings.append(_stale(error))

    def todos(self, plan: PlanRecord, text: bytes, todos: tuple[Todo, ...]) -> None:
        """Copies the todos of the session that works on a plan, next to the plan's own tasks."""
        self._todos[plan.plan_id] = todos
        self.plan(plan, text)

    def draft(
        self, record: PlanRecord, operations: Sequence[Operation], ids: Sequence[str] = ()
    ) -> None:
        """Copies the staged operations; many of them, that change quickly, once a second.

        `ids` are those of the operations, where they are known already.
        """
        key = record.plan_id, "operations.json"
        content = partial(_operations, record, operations, ids)
        with self._alone:
            self._long.pop(key, None)
            if len(operations) > MAX_AT_ONCE:
                if monotonic() - self._long_written < INTERVAL_S:
                    self._long[key] = content
                    return
                self._long_written = monotonic()
        self._write(record.plan_id, {"operations.json": content})

    def backups(
        self, plan_id: str, run: str, operations: Sequence[Operation], end: FinishedEntry
    ) -> None:
        """Lists what can be restored after a run."""
        rows = [
            _Backup(display_path(path), before, result)
            for op, result in zip(operations, end.results, strict=True)
            for path, before, _ in footprint(op)
        ]
        content = {"run": run, "undo": f"assent undo {run}", "files": rows}
        self._write(plan_id, {f"backups/{run}.json": partial(_json, content)})

    def _write(self, plan_id: str, files: Mapping[str, MakeContent]) -> None:
        with self._alone:
            self._due |= {(plan_id, name): content for name, content in files.items()}
        if self._at_once or monotonic() - self._written > INTERVAL_S:
            self._catch_up()

    def _catch_up(self) -> None:
        with self._alone:
            due, self._due, self._written = self._due, {}, monotonic()
        for plan_id in dict.fromkeys(plan for plan, _ in due):
            files = {name: content() for (plan, name), content in due.items() if plan == plan_id}
            try:
                self._ports.projection.write_state(plan_id, files)
            except (OSError, AssentError) as error:
                self.warnings.append(_stale(error))


def _stale(error: Exception) -> str:
    """Says why copies are outdated, and nothing about what they copy: that may have changed."""
    why = str(error).replace(" Nothing was changed.", "").rstrip(".")
    return f"The readable copies in .opencode/assent are outdated: {why}. The log is authoritative."


def _approvals(record: PlanRecord) -> bytes:
    approvals = [msgspec.to_builtins(consent) for consent in record.consents]
    return _json({"plan_id": record.plan_id, "approvals": approvals})


def _taskmap(record: PlanRecord, text: bytes, todos: tuple[Todo, ...]) -> bytes:
    listed = msgspec.to_builtins(todos)
    return _json({"plan_id": record.plan_id, "tasks": tasks(text), "todos": listed})


def _operations(record: PlanRecord, operations: Sequence[Operation], ids: Sequence[str]) -> bytes:
    pairs = zip(ids or operation_ids(operations), operations, strict=True)
    rows = [{**operation_row(name, op), **_digests(op)} for name, op in pairs]
    return _json({"plan_id": record.plan_id, "operations": rows})


def _digests(op: Operation) -> dict[str, object]:
    """Returns what shows, without the log, whose content is in a slot (`runs/orphan_slots.py`).

    For a move, both are of the file itself.
    """
    if isinstance(op, RunCommand):
        return {}
    before = op.before
    after = op.after if isinstance(op, WriteFile) else None
    return {"before": before and before.digest, "after": after and after.digest}


def tasks(text: bytes) -> list[dict[str, object]]:
    """Reads the check boxes of a plan's Markdown; those of the template are not tasks."""
    found = re.findall(_TASK, text.decode("utf-8", "backslashreplace"))
    said = [(mark, words) for mark, words in found if words.strip() != HOW_TO_VERIFY]
    return [{"text": words, "done": mark != " "} for mark, words in said]


def _json(content: object) -> bytes:
    return msgspec.json.format(msgspec.json.encode(content), indent=2) + b"\n"
