"""Retention: prunes what past runs keep for an undo, and stored contents that nothing needs."""

import os
from collections import Counter
from collections.abc import Sequence

import msgspec

from assent.core.blob_references import blob_references, streams_with_blobs
from assent.core.errors import AssentError, Busy, IllegalState, NotFound, StoreError
from assent.core.event import CommandEnded, CommandStarted, RunsDeleted, RunsWeighed, StoredEvent
from assent.core.paths import one_line
from assent.planning.ports import Ports, WorkspaceConfig
from assent.planning.projections import PlanProjections
from assent.planning.repositories import WorkspaceRepository
from assent.ports import CollectionResult
from assent.runs.history import ContentSizes, PastRun, RunHistory, total_size
from assent.runs.undo.targets import UndoTarget

# Removes stored contents that no workspace of the store needs any more.


LOCK_NAME = "collect"


class StoreGarbageCollection:
    """Removes contents that nothing refers to; none if the log is damaged."""

    def __init__(self, ports: Ports) -> None:
        self._ports = ports

    def due(self) -> bool:
        """Tells whether the last collection was long ago."""
        return self._ports.open_garbage_collector().due()

    def collect(self) -> CollectionResult:
        """Removes unneeded contents, unless another process does so already (Busy)."""
        ports = self._ports
        with ports.locks.hold(LOCK_NAME, "cleanup of stored content"):
            checked = ports.store.verify()
            if checked.broken:
                raise StoreError(
                    f"{checked.broken} Nothing was removed, because a damaged log does not show "
                    "what is still needed.",
                    "assent log --verify",
                )
            streams = streams_with_blobs(ports.store.streams(""))
            events = ports.store.read_all(streams) if streams else []
            self._check_at_rest(events)
            needed = blob_references(events, ports.blobs.read, ports.blobs.is_stored)
            return ports.open_garbage_collector().collect(needed.__contains__)

    def _check_at_rest(self, events: Sequence[StoredEvent]) -> None:
        """Refuses while a session's command runs: what it may yet change is on no record."""
        books: dict[str, CommandStarted | None] = {}
        for one in events:
            match one.body:
                case CommandStarted() as begun:
                    books[one.stream] = begun
                case CommandEnded():
                    books[one.stream] = None
                case _:
                    pass
        for stream, open_one in books.items():
            if open_one is not None and self._ports.locks.is_held(stream.rpartition("/")[2]):
                raise Busy(
                    f"A command of session {open_one.session} is running. Nothing was removed.",
                    "assent status",
                )


RECOUNT_EVERY = 8  # runs after which the total is counted again and remembered
COLLECTION_FAILED = "Some unused stored content was not removed"

WeighedRun = tuple[PastRun, ContentSizes]


class PrunedRuns(msgspec.Struct, frozen=True):
    """The pruned runs, and the space that freed."""

    runs: tuple[str, ...] = ()
    freed: CollectionResult = CollectionResult()


PRUNED = "Can no longer be undone"


def retired_text(count: int) -> str:
    """Returns how many runs went beyond the limits of what is kept."""
    words = "run can" if count == 1 else "runs can"
    return f"{count} older {words} no longer be undone (undo.keep_days, undo.keep_mb)."


class RunRetention:
    """Prunes runs. That undoes nothing; afterwards the run can no longer be undone."""

    def __init__(
        self,
        ports: Ports,
        config: WorkspaceConfig,
        workspaces: WorkspaceRepository,
        past: RunHistory,
        projections: PlanProjections,
    ) -> None:
        self._ports = ports
        self._config = config
        self._workspaces = workspaces
        self._past = past
        self._projections = projections
        self._collecting = StoreGarbageCollection(ports)

    @property
    def limit(self) -> int:
        """The most that runs may keep for undo, in bytes; 0: no limit."""
        return self._config.retention.size

    def check(self, references: Sequence[str]) -> list[PastRun]:
        """Finds runs that can be pruned: none that is unfinished, or was pruned before."""
        units = [self._past.find(reference) for reference in references]
        for kept in units:
            if kept.outcome is None:
                raise IllegalState(
                    f"Run {kept.unit.name} is not finished. Nothing was pruned.", "assent recover"
                )
            if kept.given_up:
                raise NotFound(
                    f"Run {kept.unit.name} was already pruned {kept.given_up}.",
                    "assent runs list",
                )
        return units

    def delete(self, units: Sequence[PastRun]) -> PrunedRuns:
        """Prunes what runs keep for undo, and removes what nothing else needs."""
        runs = self._give_up(units, self._config.user)
        try:
            return PrunedRuns(runs, self._collected(units))
        except StoreError as error:
            names = ", ".join(kept.unit.name for kept in units)
            told = f"{PRUNED}: {names}. {COLLECTION_FAILED}: {error.message}"
            raise StoreError(told, error.next) from error

    def collect(self) -> CollectionResult:
        """Removes contents that nothing needs any more, for all workspaces."""
        return self._collecting.collect()

    def tidy(self) -> None:
        """Removes contents that nothing needs any more; a failure is only a warning."""
        self._quietly(())

    def retain(self, *, daily: bool = False) -> PrunedRuns:
        """Prunes what exceeds the settings, oldest first; the newest run always stays.

        `daily`: if that would be too often, only if nothing was collected for a day. A failure is
        only a warning: what came before it is done.
        """
        try:
            return self._retain(daily=daily)
        except (AssentError, OSError) as error:
            why = error.message if isinstance(error, AssentError) else error.strerror or str(error)
            self._projections.warnings.append(f"{COLLECTION_FAILED}: {why}")
            return PrunedRuns()

    def _retain(self, *, daily: bool) -> PrunedRuns:
        self._warn_of_late(self._ports.displaced_files.trim(self._config.retention.displaced_bytes))
        due = self._collecting.due()
        if daily and not due:
            return PrunedRuns()
        if not due and not self._may_be_too_much():
            return PrunedRuns()
        units, left = self._over_the_limits()
        given_up = self._quietly(units) if units or due else PrunedRuns()
        if left is not None and bool(given_up.runs) == bool(units):
            self._workspaces.append(RunsWeighed(left))
        if given_up.runs:
            self._projections.warnings.append(retired_text(len(units)))
        return given_up

    def _quietly(self, units: Sequence[PastRun]) -> PrunedRuns:
        """Prunes and collects without a request from the user: failures are only warnings."""
        runs: tuple[str, ...] = ()
        try:
            runs = self._give_up(units, "")
            return PrunedRuns(runs, self._collected(units))
        except AssentError as error:
            self._projections.warnings.append(f"{COLLECTION_FAILED}: {error.message}")
            return PrunedRuns(runs)

    def _give_up(self, units: Sequence[PastRun], user: str) -> tuple[str, ...]:
        runs = tuple(dict.fromkeys(run for kept in units for run in _runs(kept.unit)))
        if runs:
            workspace = self._workspaces.open().workspace
            with self._ports.locks.hold(workspace, "assent runs delete"):
                freed = sum(kept.own for kept in units)
                self._workspaces.append(RunsDeleted(runs, freed, user))
            self._warn_of_late(self._ports.displaced_files.drop(runs))
            for kept in units:
                self._forget_copies(kept.unit)
        return runs

    def _collected(self, units: Sequence[PastRun]) -> CollectionResult:
        try:
            return self._collecting.collect()
        except Busy:  # another process is at it, or needs things to stay
            return CollectionResult(later=sum(kept.own for kept in units))

    def _warn_of_late(self, folders: Sequence[str]) -> None:
        for folder in folders:
            self._projections.warnings.append(
                f"{one_line(os.fsencode(folder))} was kept: a program wrote to it after a run "
                "moved it out of the workspace."
            )

    def _forget_copies(self, unit: UndoTarget) -> None:
        for run in unit.runs if unit.record.plan_id else ():
            try:
                self._ports.projection.remove_state(unit.record.plan_id, f"backups/{run}.json")
            except (OSError, AssentError) as error:
                self._projections.warnings.append(_stays(run, error))

    def _may_be_too_much(self) -> bool:
        """Tells whether all runs have to be weighed; most often the newest ones show it."""
        limits = self._config.retention
        if limits.days or not limits.size:
            return bool(limits.days)
        size, runs = self._past.size_at_most()
        return size > limits.size or runs >= RECOUNT_EVERY

    def _over_the_limits(self) -> tuple[list[PastRun], int | None]:
        """Returns what is too old or too much, and the size of what stays if that is of use."""
        limits = self._config.retention
        if not limits.days and not limits.size:
            return [], None
        listed = [(kept, each) for kept, each in self._past.with_sizes() if not kept.given_up]
        oldest = self._ports.clock.later(-limits.days * 24 * 3600) if limits.days else ""
        candidates = [(kept, each) for kept, each in listed[:-1] if kept.outcome is not None]
        aged = [(kept, each) for kept, each in candidates if kept.at < oldest]
        rest = [one for one in listed if one not in aged]
        more, left = _beyond([one for one in candidates if one in rest], rest, limits.size)
        return [kept for kept, _ in aged] + more, left if listed and limits.size else None


def _beyond(
    candidates: Sequence[WeighedRun], rest: Sequence[WeighedRun], size: int
) -> tuple[list[PastRun], int]:
    """Returns the oldest candidates without which the rest stays below a size, and its size."""
    uses = Counter(digest for _, each in rest for digest in each)
    left = total_size(each for _, each in rest)
    over: list[PastRun] = []
    for kept, each in candidates:
        if not size or left <= size:
            break
        over.append(kept)
        uses.subtract(each.keys())
        left -= sum(weight for digest, weight in each.items() if not uses[digest])
    return over, left


def _stays(run: str, error: Exception) -> str:
    """Says why a copy stays, without what was successfully pruned before it."""
    why = str(error).replace(" Nothing was changed.", "").rstrip(".")
    return (
        f"Run {run} was pruned, but its backup list remains: {why}. Nothing can be restored from "
        "that list any more; you can delete it."
    )


def _runs(unit: UndoTarget) -> tuple[str, ...]:
    return tuple(filter(None, (unit.whole, *unit.runs)))
