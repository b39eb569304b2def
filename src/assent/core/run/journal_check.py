"""Finds paths in a run's journal that could not have been staged; they must not be used."""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from assent.core.errors import Refused
from assent.core.paths import STAGE, display_path, is_inside, normalize, refuse_own_paths
from assent.core.plan.operation import Operation, footprint
from assent.core.run.journal import (
    AbortedEntry,
    CommandEndedEntry,
    FinishedEntry,
    HaltedEntry,
    JournalEntry,
    SegmentEnteredEntry,
    SegmentSweptEntry,
    SettledEntry,
    StartedEntry,
)
from assent.core.run.slot_move import SlotLayout
from assent.core.run.state import Rollbacks
from assent.core.run.workspace_changes import WorkspaceChanges

NO_ROLLBACKS: Final[Rollbacks] = {}


def invalid_paths(
    run: str,
    operations: Iterable[Operation],
    entry: JournalEntry | None = None,
    backs: Rollbacks = NO_ROLLBACKS,
    changes: Callable[[CommandEndedEntry], WorkspaceChanges] = lambda ended: WorkspaceChanges(),
) -> list[str]:
    """Describes the paths of operations, and of a journal entry, that must not be used.

    Each has to be a plain path inside the workspace that could be staged, or the name of a slot.
    """
    found = [*_touched(operations)]
    for back in backs.values():
        found += [*_touched(back.operations), *[conflict.path for conflict in back.left]]
    if isinstance(entry, CommandEndedEntry):
        recorded = changes(entry)
        found += [*_touched(recorded.operations), *recorded.made]
    names = (
        _named(run, entry.layout) if isinstance(entry, StartedEntry | SegmentEnteredEntry) else []
    )
    found += _paths(entry) if entry is not None else ()
    return [*names, *filter(None, map(_strange, dict.fromkeys(found)))]


def _touched(operations: Iterable[Operation]) -> list[bytes]:
    return [path for op in operations for path, *_ in footprint(op)]


def _paths(entry: JournalEntry) -> Iterator[bytes]:
    match entry:
        case StartedEntry() | SegmentEnteredEntry():
            yield from entry.folders
            yield from entry.layout.whole
            for path, folder in entry.layout.beside:
                yield path
                yield from filter(None, (folder,))  # empty: the workspace itself
        case AbortedEntry():
            yield entry.path
        case HaltedEntry():
            yield from (path for one in entry.conflicts for path in (one.path, one.kept) if path)
        case SettledEntry():
            yield from entry.made
        case SegmentSweptEntry() | FinishedEntry():
            yield from (*entry.made, *entry.kept)
        case _:
            return


def _named(run: str, layout: SlotLayout) -> list[str]:
    """Says that slots are not those of this run: their names are made from it."""
    if re.fullmatch(rf"{re.escape(run)}(\.\d+)?", layout.run):
        return []
    return [f"{layout.run!a} is not a valid slot name for this run"]


def _strange(path: bytes) -> str:
    try:
        if not path or normalize(path) != path:
            return f"{display_path(path)!a} is not a plain path inside the workspace"
        if not is_inside(path, STAGE):
            refuse_own_paths(path, STAGE)
    except Refused as refused:
        return refused.message.removesuffix(".")
    return ""
