"""Motions: the renames that carry out a segment, their order, and what disk says about each.

Every motion goes between a name in the workspace and a *slot*, a name that only this run uses. New
content waits in a slot before the run commits; old content goes to a slot instead of being
overwritten. So a look at names and slots tells, after any crash, which motions happened, and every
one of them can be reversed.
"""

from collections.abc import Iterable, Mapping
from enum import Enum
from functools import cached_property
from typing import Literal, TypeAlias, assert_never

import msgspec

from assent.core.operation import (
    DeleteFile,
    FileOperation,
    FileState,
    MoveFile,
    WriteFile,
    footprint,
)
from assent.core.paths import STAGE, ancestors, parent

Seen: TypeAlias = FileState | Literal["folder"] | None


class Layout(msgspec.Struct, frozen=True, dict=True):
    """How this run uses the disk, decided once before it starts and kept in the journal."""

    run: str
    exchange: bool = True
    beside: tuple[tuple[bytes, bytes], ...] = ()  # touched path → folder on its file system
    copied: tuple[int, ...] = ()  # moves between two file systems

    def slot(self, index: int, role: str, path: bytes) -> bytes:
        """Names the slot of an operation, on the same file system as the path."""
        folder = self.elsewhere.get(path)
        if folder is None:
            return b"%s/%s/%d.%s" % (STAGE, self.run.encode(), index, role.encode())
        name = b".assent-%s-%d.%s" % (self.run.encode(), index, role.encode())
        return folder + b"/" + name if folder else name

    @cached_property
    def elsewhere(self) -> dict[bytes, bytes]:
        """The paths whose slots lie beside them, by path."""
        return dict(self.beside)

    @property
    def folder(self) -> bytes:
        return STAGE + b"/" + self.run.encode()


class Take(msgspec.Struct, frozen=True, gc=False):
    """Moves what stands under a name into a slot; of a moved file, `to` is where it goes next."""

    index: int
    path: bytes
    slot: bytes
    before: FileState
    to: bytes | None = None


class Clear(msgspec.Struct, frozen=True, gc=False):
    """Moves a folder that the takes left empty into a slot, because a file comes in its place."""

    index: int
    path: bytes
    slot: bytes


class Put(msgspec.Struct, frozen=True, gc=False):
    """Moves a slot's content to a free name; of a moved file, `origin` is where it came from."""

    index: int
    path: bytes
    slot: bytes
    after: FileState
    origin: bytes | None = None


class Swap(msgspec.Struct, frozen=True, gc=False):
    """Exchanges new content in a slot with the old under the name, in one step."""

    index: int
    path: bytes
    slot: bytes
    before: FileState
    after: FileState


Motion: TypeAlias = Take | Clear | Put | Swap


class Status(Enum):
    """What the disk says about one motion."""

    TODO = "todo"
    DONE = "done"
    CONFLICT = "conflict"


class Fill(msgspec.Struct, frozen=True, gc=False):
    """New content that has to lie in a slot before the run may commit."""

    index: int
    slot: bytes
    after: FileState
    like: bytes | None  # the file whose owner and attributes it takes over
    source: bytes | None = None  # a file to copy from, where the content is no blob
    folder: bytes = b""  # where a file without a predecessor will stand


def fills(operations: Iterable[FileOperation], layout: Layout) -> list[Fill]:
    """Lists the slots to fill while preparing."""
    found = []
    for index, op in enumerate(operations):
        if isinstance(op, WriteFile):
            like = op.path if op.before else None
            slot = layout.slot(index, "new", op.path)
            found.append(Fill(index, slot, op.after, like, None, parent(op.path)))
        elif isinstance(op, MoveFile) and index in layout.copied:
            slot = layout.slot(index, "new", op.to)
            found.append(Fill(index, slot, op.before, op.path, op.path))
    return found


def motions(operations: Iterable[FileOperation], layout: Layout) -> list[Motion]:
    """Returns the motions of a segment in order: first all names are freed, then all are filled."""
    takes: list[Motion] = []
    clears: list[Motion] = []
    puts: list[Motion] = []
    for index, op in enumerate(operations):
        for motion in _motions_of(index, op, layout):
            (takes if isinstance(motion, Take) else puts).append(motion)
    freed = {above for take in takes for above in ancestors(take.path)}
    for motion in puts:
        if isinstance(motion, Put) and motion.path in freed:
            slot = layout.slot(motion.index, "folder", motion.path)
            clears.append(Clear(motion.index, motion.path, slot))
    return [*takes, *clears, *puts]


def _motions_of(index: int, op: FileOperation, layout: Layout) -> list[Motion]:
    def slot(role: str, path: bytes) -> bytes:
        return layout.slot(index, role, path)

    match op:
        case WriteFile(path, before, after):
            put = Put(index, path, slot("new", path), after)
            if before is None:
                return [put]
            if layout.exchange and path not in layout.elsewhere:
                return [Swap(index, path, slot("new", path), before, after)]
            return [Take(index, path, slot("old", path), before), put]
        case DeleteFile(path, before):
            return [Take(index, path, slot("old", path), before)]
        case MoveFile(path, to, before):
            old = slot("old", path)
            if index in layout.copied:
                return [Take(index, path, old, before), Put(index, to, slot("new", to), before)]
            return [Take(index, path, old, before, to), Put(index, to, old, before, path)]
        case _:
            assert_never(op)


def needed_folders(operations: Iterable[FileOperation]) -> list[bytes]:
    """Returns the folders that must exist afterwards, outermost first."""
    parents = {
        parent(path) for op in operations for path, _, after in footprint(op) if after is not None
    }
    return sorted({folder for path in parents if path for folder in (path, *ancestors(path))})


def prunable(operations: Iterable[FileOperation]) -> list[bytes]:
    """Returns the folders that go if the segment leaves them empty, innermost first."""
    folders: set[bytes] = set()
    for op in operations:
        if not isinstance(op, WriteFile):
            folders.update(ancestors(op.path)[: op.prune])
    return sorted(folders, reverse=True)


def places(motion: Motion) -> tuple[bytes, ...]:
    """Returns the names that tell how far a motion got."""
    match motion:
        case Take(to=other) | Put(origin=other) if other is not None:
            return (motion.path, motion.slot, other)
        case _:
            return (motion.path, motion.slot)


def forward(motion: Motion, seen: Mapping[bytes, Seen]) -> Status:
    """Tells from the disk whether a motion is to do, done, or stopped by somebody else's change."""
    at_path, at_slot = seen[motion.path], seen[motion.slot]
    match motion:
        case Take(before=before, to=to):
            moved_on = at_slot is None and to is not None and seen[to] == before
            done, can = at_slot == before, at_slot is None and at_path == before
            return _verdict(can, done or (moved_on and not can))
        case Clear():
            return _verdict(at_slot is None and at_path == "folder", at_slot or at_path is None)
        case Put():
            return _verdict(at_slot is not None and at_path is None, at_slot is None)
        case Swap(before=before, after=after):
            return _verdict(at_slot == after and at_path == before, at_slot == before)
        case _:
            assert_never(motion)


def backward(motion: Motion, seen: Mapping[bytes, Seen]) -> Status:
    """Tells from the disk whether a motion has to be reversed, needs nothing, or cannot be."""
    at_path, at_slot = seen[motion.path], seen[motion.slot]
    match motion:
        case Take():
            return _verdict(at_slot is not None and at_path is None, at_slot is None)
        case Clear():  # it was empty: any folder in its place will do
            return _verdict(
                at_slot is not None and at_path is None, not at_slot or at_path == "folder"
            )
        case Put():
            return _put_back(motion, at_slot, seen)
        case Swap():
            return _swap_back(motion, at_path, at_slot)
        case _:
            assert_never(motion)


def _put_back(put: Put, at_slot: Seen, seen: Mapping[bytes, Seen]) -> Status:
    if put.origin is not None:
        nothing = at_slot is not None or seen[put.origin] == put.after or seen[put.path] is None
        return _verdict(not nothing and seen[put.path] == put.after, nothing)
    if at_slot is None:
        return _verdict(seen[put.path] == put.after, seen[put.path] is None)
    # Other content in the slot is somebody's late change: as "done" it would be swept away.
    return _verdict(False, isinstance(at_slot, FileState) and at_slot.digest == put.after.digest)


def _swap_back(swap: Swap, at_path: Seen, at_slot: Seen) -> Status:
    """A person who changed the new content may take it away; the old one then goes back alone."""
    if at_slot is None:
        return _verdict(at_path == swap.after, at_path != swap.after)
    return _verdict(at_slot != swap.after and at_path in (None, swap.after), at_slot == swap.after)


def _verdict(can: bool, done: object) -> Status:
    if can:
        return Status.TODO
    return Status.DONE if done else Status.CONFLICT
