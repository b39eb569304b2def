"""Orphan slots: slots of runs that the log does not know; a user decides what happens to them."""

from base64 import b64decode
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from assent.core.decoding import json_decoder
from assent.core.errors import AssentError, RunUnfinished
from assent.core.event import SlotsDecided
from assent.core.paths import STATE, display_path, normalize, parent, refuse_own_paths
from assent.core.plan.operation import FileOperation, FileState, Operation, footprint
from assent.core.run.orphan_slot import (
    PROBES,
    OrphanChoice,
    OrphanCleanup,
    OrphanSlot,
    ProjectedOperation,
    identified_orphan,
    run_of_slot,
)
from assent.planning.ports import Ports, WorkspaceConfig
from assent.planning.repositories import PlanRepository, WorkspaceRepository
from assent.runs.journal import StoreJournal

if TYPE_CHECKING:
    from assent.executor.executor import Executor

MAX_NAMED = 5  # slots that a refusal names
RECOVER_COMMAND = "assent recover"

_COPIES = STATE + b"/plans"
_LARGEST = 16 << 20  # bytes of a copy that are read
_PLANS = 200  # plans whose copies are read, the newest first


class _OperationsFileRow(msgspec.Struct):
    path: str | None = None
    path_b64: str = ""
    before: str | None = None
    after: str | None = None


class _OperationsFile(msgspec.Struct):
    operations: list[_OperationsFileRow]


_decode = json_decoder(_OperationsFile).decode


class OrphanSlots:
    """Finds orphan slots, blocks builds while there are any, and carries out a decision."""

    def __init__(
        self, ports: Ports, config: WorkspaceConfig, workspaces: WorkspaceRepository
    ) -> None:
        self._ports = ports
        self._config = config
        self._workspaces = workspaces

    def find(
        self, operations: Iterable[Operation] = (), *, everywhere: bool = False
    ) -> tuple[OrphanSlot, ...]:
        """Returns the slots of unknown runs: in the slots folder, and next to these operations.

        `everywhere` searches the whole workspace; so does a call where the log is new although the
        workspace is not.
        """
        workspace = self._workspaces.id
        fresh = not workspace and bool(self._ports.files.names(_COPIES))
        files = [op for op in operations if isinstance(op, FileOperation)]
        beside = {parent(path) for op in files for path, *_ in footprint(op)}
        found = self._ports.files.slots(sorted(beside), everywhere=everywhere or fresh)
        if not found:
            return ()
        runs = {run for slot in found if (run := run_of_slot(slot))}
        lost = {run for run in runs if not self._is_known(workspace, run)}
        slots = [slot for slot in found if run_of_slot(slot) in lost]
        return tuple(self._told(slots)) if slots else ()

    def check(self, operations: Iterable[Operation] = ()) -> None:
        """Refuses to change files while there are such slots."""
        found = self.find(operations)
        if found:
            raise RunUnfinished(orphan_slots_error(found), RECOVER_COMMAND)

    def decide(self, orphans: Sequence[OrphanSlot], way: OrphanChoice) -> OrphanCleanup:
        """Restores or moves aside the content of these slots; the decision is recorded first.

        Only what was shown is touched, and nothing is deleted.
        """
        home = self._workspaces.open()
        with self._ports.locks.hold(home.workspace, RECOVER_COMMAND):
            slots = tuple(orphan.slot for orphan in orphans)
            self._workspaces.append(SlotsDecided(way, slots, self._config.user))
            allowed = [self._checked(orphan) for orphan in orphans]
            return self._executor(home.workspace).clear(allowed, way)

    def remove_probes(self) -> list[bytes]:
        """Removes the files of a start that was killed while it tested the disk."""
        files, home = self._ports.files, self._workspaces.find()
        if home is None or not any(map(files.is_file, PROBES)):
            return []
        with self._ports.locks.hold(home.workspace, RECOVER_COMMAND):
            return self._executor(home.workspace).remove_probes()

    def _executor(self, workspace: str) -> "Executor":
        return self._ports.executor(
            StoreJournal(self._ports, PlanRepository(self._ports, workspace))
        )

    def _is_known(self, workspace: str, run: str) -> bool:
        return bool(workspace and self._ports.store.streams(f"run/{workspace}/{run}"))

    def _checked(self, orphan: OrphanSlot) -> OrphanSlot:
        """Forgets a path that no plan could touch: copies of plans lie where others can write."""
        try:
            if orphan.path is not None:
                if normalize(orphan.path) != orphan.path:
                    return msgspec.structs.replace(orphan, path=None, holds="")
                refuse_own_paths(orphan.path, self._config.plan_dir, self._config.private)
        except AssentError:
            return msgspec.structs.replace(orphan, path=None, holds="")
        return orphan

    def _told(self, slots: Iterable[bytes]) -> Iterator[OrphanSlot]:
        """Yields them with what the readable copies of plans say about their contents."""
        copies = list(self._copies())
        for slot in slots:
            size, digest = 0, ""
            with suppress(AssentError):
                seen = self._ports.files.read_states((slot,))[slot]
                if isinstance(seen, FileState):
                    size, digest = seen.size, seen.digest
            orphan = OrphanSlot(slot, run_of_slot(slot), size)
            yield self._checked(identified_orphan(orphan, digest, copies)) if digest else orphan

    def _copies(self) -> Iterator[ProjectedOperation]:
        files = self._ports.files
        for plan in files.names(_COPIES)[-_PLANS:]:  # names sort by time
            path = b"%b/%b/operations.json" % (_COPIES, plan)
            try:
                if files.size(path) > _LARGEST:
                    continue
                with files.open(path) as file:
                    rows = _decode(file.read()).operations
            except (AssentError, OSError, ValueError, msgspec.MsgspecError):
                continue  # a copy only helps, and grants no permissions
            yield from (copied for at, row in enumerate(rows) if (copied := _copied(at, row)))


def _copied(index: int, row: _OperationsFileRow) -> ProjectedOperation | None:
    try:
        path = b64decode(row.path_b64) if row.path_b64 else (row.path or "").encode()
    except ValueError:
        return None
    return ProjectedOperation(index, path, row.before or "", row.after or "") if path else None


def orphan_slots_error(orphans: Sequence[OrphanSlot]) -> str:
    """Returns the error that slots of unknown runs are in the way; it names the first."""
    count, runs = len(orphans), len({orphan.run for orphan in orphans})
    named = ", ".join(display_path(orphan.slot) for orphan in orphans[:MAX_NAMED])
    more = f" and {count - MAX_NAMED} more" if count > MAX_NAMED else ""
    slots = "1 slot" if count == 1 else f"{count} slots"
    whose = "a run" if runs == 1 else f"{runs} runs"
    return (
        f"Found {slots} of {whose} missing from the log: {named}{more}. A slot can be the only "
        "copy of a file, so nothing was changed. Decide what to keep first."
    )
