"""Slot moves: the renames that carry out a segment, their order, and their status on disk.

Every move goes between a name in the workspace and a *slot*, a name that only this run uses. New
content waits in a slot before the run commits; old content goes to a slot instead of being
overwritten. So a look at names and slots tells, after any crash, which moves happened, and every
one of them can be reversed.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from functools import cached_property
from typing import Literal, TypeAlias, assert_never

import msgspec

from assent.core.paths import STAGE, ancestors, parent
from assent.core.plan.operation import DeleteFile, FileOperation, FileState, MoveFile, WriteFile

PathState: TypeAlias = FileState | Literal["folder"] | None


class SlotLayout(msgspec.Struct, frozen=True, dict=True):
    """How this run uses the disk, decided once before it starts and kept in the journal."""

    run: str
    exchanges: bool = msgspec.field(default=True, name="exchange")
    beside: tuple[tuple[bytes, bytes], ...] = ()  # touched path → folder on its file system
    copied: tuple[int, ...] = ()  # moves between two file systems
    whole: tuple[bytes, ...] = ()  # folders that come, or go, in one rename each

    def slot(self, index: int, role: str, path: bytes) -> bytes:
        """Names the slot of an operation, on the same file system as the path."""
        return self.slot_and_folder(index, role, path)[0]

    def slot_and_folder(self, index: int, role: str, path: bytes) -> tuple[bytes, bytes]:
        """Names that slot, and the folder that is moved as a whole with the path, if any."""
        beside = self.elsewhere.get(path) if self.beside else None
        if beside is not None:
            name = b".assent-%s-%d.%s" % (self.run.encode(), index, role.encode())
            return beside + b"/" + name if beside else name, b""
        if self.whole:
            folder, _, name = path.rpartition(b"/")
            top, slot = self._known.get(folder) or self._with(folder)
            if top:
                return b"%b/%b" % (slot, name), top
        return b"%b/%d.%b" % (self.folder, index, role.encode()), b""

    def _with(self, folder: bytes) -> tuple[bytes, bytes]:
        """Returns the whole folder that a folder is in, and the folder's place in its slot."""
        found = [above for above in _with_above(folder) if above in self._tops]
        top = found[0] if found else b""
        slot = self._tops[top] + folder[len(top) :] if top else b""
        known = self._known[folder] = top, slot
        return known

    @cached_property
    def _tops(self) -> dict[bytes, bytes]:
        """The slots of whole folders, by folder."""
        return {top: b"%b/%d.whole" % (self.folder, at) for at, top in enumerate(self.whole)}

    @property
    def whole_folder_slots(self) -> tuple[bytes, ...]:
        """The slots of whole folders."""
        return tuple(self._tops.values())

    @cached_property
    def _known(self) -> dict[bytes, tuple[bytes, bytes]]:
        return {}

    @cached_property
    def elsewhere(self) -> dict[bytes, bytes]:
        """The folders of slots next to their paths, by path."""
        return dict(self.beside)

    @cached_property
    def folder(self) -> bytes:
        """The folder of all slots that are not next to a path."""
        return STAGE + b"/" + self.run.encode()


class MoveToSlot(msgspec.Struct, frozen=True, gc=False):
    """Moves a path's content into a slot; for a moved file, `to` is where it goes next."""

    index: int
    path: bytes
    slot: bytes
    before: FileState
    to: bytes | None = None
    whole: bytes = b""  # the folder that it goes with

    @property
    def folder_slot(self) -> bytes:
        """The slot of that folder."""
        return self.slot[: len(self.slot) + len(self.whole) - len(self.path)]


class ClearFolder(msgspec.Struct, frozen=True, gc=False):
    """Moves a folder that earlier moves emptied into a slot, because a file replaces it."""

    index: int
    path: bytes
    slot: bytes


class MoveFromSlot(msgspec.Struct, frozen=True, gc=False):
    """Moves a slot's content to a free name; for a moved file, `origin` is where it came from."""

    index: int
    path: bytes
    slot: bytes
    after: FileState
    origin: bytes | None = None
    whole: bytes = b""  # the folder that it comes with

    @property
    def folder_slot(self) -> bytes:
        """The slot of that folder."""
        return self.slot[: len(self.slot) + len(self.whole) - len(self.path)]


class SwapWithSlot(msgspec.Struct, frozen=True, gc=False):
    """Exchanges new content in a slot with the old under the name, in one step."""

    index: int
    path: bytes
    slot: bytes
    before: FileState
    after: FileState


SlotMove: TypeAlias = MoveToSlot | ClearFolder | MoveFromSlot | SwapWithSlot


class MoveStatus(Enum):
    """What the disk says about one slot move."""

    TODO = "todo"
    DONE = "done"
    CONFLICT = "conflict"


class SlotContent(msgspec.Struct, frozen=True, gc=False):
    """New content that has to be in a slot before the run may commit."""

    index: int
    slot: bytes
    after: FileState
    like: bytes | None  # the file whose owner and attributes it takes over
    source: bytes | None = None  # a file to copy from, where the content is not a blob
    folder: bytes = b""  # where a file without a predecessor will stand


def slot_contents(
    operations: Sequence[FileOperation], renames: Iterable[SlotMove]
) -> list[SlotContent]:
    """Lists the slots to fill while preparing, for the slot moves of these operations."""
    found = []
    for move in renames:
        if type(move) is SwapWithSlot:
            path = move.path
            like, folder = path, path.rpartition(b"/")[0]
            found.append(SlotContent(move.index, move.slot, move.after, like, None, folder))
        elif type(move) is MoveFromSlot and move.origin is None:
            found.append(_fill(move, operations[move.index]))
    return found


def _fill(put: MoveFromSlot, op: FileOperation) -> SlotContent:
    if type(op) is MoveFile:  # to another file system
        return SlotContent(put.index, put.slot, put.after, op.path, op.path)
    path = put.path
    like = path if op.before else None
    return SlotContent(put.index, put.slot, put.after, like, None, path.rpartition(b"/")[0])


def slot_moves(operations: Iterable[FileOperation], layout: SlotLayout) -> list[SlotMove]:
    """Returns the slot moves of a segment in order: first all names are freed, then filled."""
    takes: list[SlotMove] = []
    clears: list[SlotMove] = []
    puts: list[SlotMove] = []
    for index, op in enumerate(operations):
        for move in _motions_of(index, op, layout):
            (takes if type(move) is MoveToSlot else puts).append(move)
    freed = {above for folder in {parent(t.path) for t in takes} for above in _with_above(folder)}
    for move in puts if freed else ():
        if isinstance(move, MoveFromSlot) and move.path in freed:
            slot = layout.slot(move.index, "folder", move.path)
            clears.append(ClearFolder(move.index, move.path, slot))
    return [*takes, *clears, *puts]


def _motions_of(index: int, op: FileOperation, layout: SlotLayout) -> tuple[SlotMove, ...]:
    match op:
        case WriteFile():
            path, before = op.path, op.before
            slot, top = layout.slot_and_folder(index, "new", path)
            if before is None:
                return (MoveFromSlot(index, path, slot, op.after, None, top),)
            if layout.exchanges and path not in layout.elsewhere:
                return (SwapWithSlot(index, path, slot, before, op.after),)
            old = layout.slot(index, "old", path)
            return MoveToSlot(index, path, old, before), MoveFromSlot(index, path, slot, op.after)
        case DeleteFile():
            old, top = layout.slot_and_folder(index, "old", op.path)
            return (MoveToSlot(index, op.path, old, op.before, None, top),)
        case MoveFile(path, to, before):
            old = layout.slot(index, "old", path)
            if index in layout.copied:
                new = layout.slot(index, "new", to)
                return MoveToSlot(index, path, old, before), MoveFromSlot(index, to, new, before)
            return MoveToSlot(index, path, old, before, to), MoveFromSlot(
                index, to, old, before, path
            )
        case _:
            assert_never(op)


def needed_folders(operations: Iterable[FileOperation]) -> list[bytes]:
    """Returns the folders that must exist afterwards, outermost first."""
    parents = {
        (op.to if type(op) is MoveFile else op.path).rpartition(b"/")[0]
        for op in operations
        if type(op) is not DeleteFile
    }
    return sorted({folder for path in parents for folder in _with_above(path)})


def prunable_folders(operations: Iterable[FileOperation]) -> list[bytes]:
    """Returns the folders to remove if the segment leaves them empty, innermost first."""
    left = [op for op in operations if not isinstance(op, WriteFile)]
    depths = {(op.path.rpartition(b"/")[0], op.prune) for op in left if op.prune}
    folders = {above for path, depth in depths for above in _with_above(path)[:depth]}
    return sorted(folders, reverse=True)


def _with_above(folder: bytes) -> list[bytes]:
    """Returns a folder and those above it, nearest first, without the root."""
    return [folder, *ancestors(folder)] if folder else []


def involved_paths(move: SlotMove) -> tuple[bytes, ...]:
    """Returns the names that show how far a slot move got."""
    match move:
        case MoveToSlot(to=other) | MoveFromSlot(origin=other) if other is not None:
            return (move.path, move.slot, other)
        case _:
            return (move.path, move.slot)


def forward_status(move: SlotMove, seen: Mapping[bytes, PathState]) -> MoveStatus:
    """Tells from the disk whether a slot move is pending, done, or blocked by a foreign change."""
    at_path, at_slot = seen[move.path], seen[move.slot]
    match move:
        case MoveToSlot(before=before, to=to):
            moved_on = at_slot is None and to is not None and seen[to] == before
            done, can = at_slot == before, at_slot is None and at_path == before
            return _verdict(can, done or (moved_on and not can))
        case ClearFolder():
            return _verdict(at_slot is None and at_path == "folder", at_slot or at_path is None)
        case MoveFromSlot():
            return _verdict(at_slot is not None and at_path is None, at_slot is None)
        case SwapWithSlot(before=before, after=after):
            return _verdict(at_slot == after and at_path == before, at_slot == before)
        case _:
            assert_never(move)


def backward_status(move: SlotMove, seen: Mapping[bytes, PathState]) -> MoveStatus:
    """Tells from the disk whether a slot move has to be reversed, needs nothing, or cannot be."""
    at_path, at_slot = seen[move.path], seen[move.slot]
    match move:
        case MoveToSlot():
            return _verdict(at_slot is not None and at_path is None, at_slot is None)
        case ClearFolder():  # it was empty: any folder in its place will do
            return _verdict(
                at_slot is not None and at_path is None, not at_slot or at_path == "folder"
            )
        case MoveFromSlot():
            return _put_back(move, at_slot, seen)
        case SwapWithSlot():
            return _swap_back(move, at_path, at_slot)
        case _:
            assert_never(move)


def _put_back(put: MoveFromSlot, at_slot: PathState, seen: Mapping[bytes, PathState]) -> MoveStatus:
    if put.origin is not None:
        nothing = at_slot is not None or seen[put.origin] == put.after or seen[put.path] is None
        return _verdict(not nothing and seen[put.path] == put.after, nothing)
    if at_slot is None:
        return _verdict(seen[put.path] == put.after, seen[put.path] is None)
    # Other content in the slot is another writer's late change: as "done" it would be swept away.
    return _verdict(False, isinstance(at_slot, FileState) and at_slot.digest == put.after.digest)


def _swap_back(swap: SwapWithSlot, at_path: PathState, at_slot: PathState) -> MoveStatus:
    """A person who changed the new content may take it away; the old one then goes back alone."""
    if at_slot is None:
        return _verdict(at_path == swap.after, at_path != swap.after)
    return _verdict(at_slot != swap.after and at_path in (None, swap.after), at_slot == swap.after)


def _verdict(can: bool, done: object) -> MoveStatus:
    if can:
        return MoveStatus.TODO
    return MoveStatus.DONE if done else MoveStatus.CONFLICT


# Finds the folders that a segment can add or remove with one rename each.
#
# A folder that is new, or that goes with every file in it, is one name to its parent. Its files
# keep their own slots and slot moves, so recovery after a crash looks at each file, as everywhere.


_MIN_FOLDER_FILES = 2  # files; for one alone nothing is gained


def added_folders(operations: Sequence[FileOperation], missing: Iterable[bytes]) -> list[bytes]:
    """Returns the outermost missing folders that receive only new files."""
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
    """Returns the outermost folders that are removed with exactly the files below them now."""
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
