"""Which paths in the journal of a run break the rules of staging? Nobody may act on those."""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from assent.core.changes import Changes
from assent.core.course import Backs
from assent.core.errors import Refused
from assent.core.journal import (
    Aborted,
    Entered,
    Entry,
    Finished,
    Halted,
    Ran,
    Settled,
    Started,
    Swept,
)
from assent.core.motion import Layout
from assent.core.operation import Operation, footprint
from assent.core.paths import STAGE, inside, normal, refuse_ours, shown

NO_BACKS: Final[Backs] = {}


def strange_paths(
    run: str,
    operations: Iterable[Operation],
    entry: Entry | None = None,
    backs: Backs = NO_BACKS,
    changes: Callable[[Ran], Changes] = lambda ended: Changes(),
) -> list[str]:
    """Says which paths of operations, and of an entry of a run's journal, nobody may act on.

    Each has to be a plain path inside the workspace that could be staged, or the name of a slot.
    """
    found = [*_touched(operations)]
    for back in backs.values():
        found += [*_touched(back.operations), *[conflict.path for conflict in back.left]]
    if isinstance(entry, Ran):
        recorded = changes(entry)
        found += [*_touched(recorded.operations), *recorded.made]
    names = _named(run, entry.layout) if isinstance(entry, Started | Entered) else []
    found += _paths(entry) if entry is not None else ()
    return [*names, *filter(None, map(_strange, dict.fromkeys(found)))]


def _touched(operations: Iterable[Operation]) -> list[bytes]:
    return [path for op in operations for path, *_ in footprint(op)]


def _paths(entry: Entry) -> Iterator[bytes]:
    match entry:
        case Started() | Entered():
            yield from entry.folders
            yield from entry.layout.whole
            for path, folder in entry.layout.beside:
                yield path
                yield from filter(None, (folder,))  # empty: the workspace itself
        case Aborted():
            yield entry.path
        case Halted():
            yield from (path for one in entry.conflicts for path in (one.path, one.kept) if path)
        case Settled():
            yield from entry.made
        case Swept() | Finished():
            yield from (*entry.made, *entry.kept)
        case _:
            return


def _named(run: str, layout: Layout) -> list[str]:
    """Says that slots are not those of this run: their names are made from it."""
    if re.fullmatch(rf"{re.escape(run)}(\.\d+)?", layout.run):
        return []
    return [f"{layout.run!a} is not a name for slots of this run"]


def _strange(path: bytes) -> str:
    try:
        if not path or normal(path) != path:
            return f"{shown(path)!a} is not a plain path inside the workspace"
        if not inside(path, STAGE):
            refuse_ours(path, STAGE)
    except Refused as refused:
        return refused.message.removesuffix(".")
    return ""
