"""Finds the folders that a segment can add or remove with one rename each.

A folder that is new, or that goes with every file in it, is one name to its parent. Its files keep
slots and slot moves of their own, so recovery after a crash looks at each file, as everywhere.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from assent.core.paths import ancestors, parent
from assent.core.plan.operation import DeleteFile, FileOperation, MoveFile, WriteFile
from assent.core.run.slot_move import prunable_folders

_MIN_FOLDER_FILES = 2  # files; for one alone nothing is gained


def added_folders(operations: Sequence[FileOperation], missing: Iterable[bytes]) -> list[bytes]:
    """Returns the outermost missing folders into which only new files come."""
    outermost = _OutermostFolders(frozenset(missing))
    if not outermost.folders:
        return []
    come = [op.path for op in operations if isinstance(op, WriteFile) and op.before is None]
    files = Counter(map(outermost.above, come))
    others = {b""}
    if len(come) < len(operations):
        rest = [op for op in operations if not isinstance(op, WriteFile) or op.before is not None]
        others.update(outermost.above(path) for op in rest for path in _touched(op))
    return [top for top, count in files.items() if count >= _MIN_FOLDER_FILES and top not in others]


def removed_folders(
    operations: Sequence[FileOperation], below: Callable[[bytes], Iterable[bytes]]
) -> list[bytes]:
    """Returns the outermost folders that go with exactly the files that are below them now."""
    outermost = _OutermostFolders(frozenset(prunable_folders(operations)))
    files: dict[bytes, set[bytes]] = {}
    others: set[bytes] = {b""}
    for op in operations if outermost.folders else ():
        if type(op) is DeleteFile:
            files.setdefault(outermost.above(op.path), set()).add(op.path)
        else:
            others.update(outermost.above(path) for path in _touched(op))
            others.update(_touched(op))  # a name where a file comes cannot be a folder that goes
    return [
        top
        for top, gone in files.items()
        if len(gone) >= _MIN_FOLDER_FILES
        and others.isdisjoint((top, *ancestors(top)))
        and gone == set(below(top))
    ]


class _OutermostFolders:
    """Finds the outermost of some folders above a path; asked once for each folder."""

    def __init__(self, folders: frozenset[bytes]) -> None:
        self.folders = folders
        self._known: dict[bytes, bytes] = {}

    def above(self, path: bytes) -> bytes:
        folder = parent(path)
        top = self._known.get(folder)
        if top is None:
            found = [above for above in (folder, *ancestors(folder)) if above in self.folders]
            top = self._known[folder] = found[-1] if found else b""
        return top


def _touched(op: FileOperation) -> tuple[bytes, ...]:
    return (op.path, op.to) if isinstance(op, MoveFile) else (op.path,)
