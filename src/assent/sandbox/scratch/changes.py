"""Reads a copy back: which paths a command touched, in time that depends on what changed."""

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from stat import S_ISDIR, S_ISLNK, S_ISREG
from typing import Final

import msgspec

from assent.core.errors import NotFound, Refused
from assent.core.paths import MAX_FOLDERS, ancestors, folders_above, is_inside
from assent.core.plan.operation import FileState
from assent.core.scratch import (
    CommandTimes,
    LeftOut,
    LeftOutReason,
    ScratchChange,
    ScratchConflict,
    ScratchLimits,
    ScratchResult,
    UnreadReason,
    change_kind,
    conflict_reason,
    left_out,
)
from assent.sandbox.scratch.folder_tree import (
    FolderTree,
    Stamp,
    entries_in,
    entry,
    identity_of,
    is_opaque,
    is_whiteout,
    names_in,
    stamp_of,
)
from assent.tools.path_patterns import IgnoreMatcher, PathGlob

ContentOf = Callable[[str], Iterable[bytes]]  # the content of a digest, in pieces


class DraftContent:
    """Reads files of the workspace as the draft leaves them; for the rules of ignore files.

    What a command wrote does not count: it could make its own changes ignored.
    """

    def __init__(
        self, real: FolderTree, files: Mapping[bytes, FileState | None], content: ContentOf
    ) -> None:
        self._real, self._files, self._content = real, files, content

    def content(self, path: bytes, limit: int = 1 << 20) -> bytes:
        if path in self._files:
            state = self._files[path]
            if state is None or state.kind != "file":
                raise NotFound("No such file.")
            pieces = self._content(state.digest)
        else:
            pieces = self._real.content(path)
        read: list[bytes] = []
        try:
            for piece in pieces:
                read.append(piece)
                if sum(map(len, read)) > limit:
                    raise Refused("The file is too large.")
        except OSError as error:
            raise NotFound("No such file.") from error
        return b"".join(read)


class IgnoredPaths:
    """Tells which paths are ignored, by the rules of the workspace with the draft.

    What matches a glob of `include`, itself or by a folder above it, is not. Folders in which
    something may match are not either, so that they are looked into.
    """

    def __init__(self, reader: DraftContent, include: Sequence[PathGlob] = ()) -> None:
        self._rules = IgnoreMatcher(reader)
        self._include = include

    def covers(self, path: bytes, *, folder: bool) -> bool:
        """Tells whether a path whose folder is not ignored is ignored itself."""
        if not self._include:
            return self._rules.covers(path, folder=folder)
        if any(glob.covers(path) or (folder and glob.reaches(path)) for glob in self._include):
            return False
        return self.outermost(path, folder=folder) is not None

    def covers_any(self, path: bytes) -> bool:
        """Tells whether a file or a folder above it is ignored."""
        above = ancestors(path)
        if any(self.covers(one, folder=True) for one in reversed(above)):
            return True
        return self.covers(path, folder=False)

    def outermost(self, path: bytes, *, folder: bool) -> bytes | None:
        """Returns the first folder on the way to a path, or the path, that rules ignore."""
        for above in reversed(ancestors(path)):
            if self._rules.covers(above, folder=True):
                return above
        return path if self._rules.covers(path, folder=folder) else None

    def name(self, path: bytes, *, folder: bool) -> bytes:
        """Returns by which path an ignored one is named: a whole ignored folder by its own."""
        return (self.outermost(path, folder=folder) if self._include else None) or path


class Touched(msgspec.Struct):
    """The paths that may be different, and what is named without a closer look."""

    limit: int
    room: int  # bytes of files that are still read back
    paths: set[bytes] = msgspec.field(default_factory=set)
    ignored: set[bytes] = msgspec.field(default_factory=set)
    left_out: dict[bytes, LeftOutReason] = msgspec.field(default_factory=dict)
    folders: set[bytes] = msgspec.field(default_factory=set)  # new ones
    gone: set[bytes] = msgspec.field(default_factory=set)  # removed folders
    as_put: set[bytes] = msgspec.field(default_factory=set)  # files of the draft, unchanged
    unread: UnreadReason = ""

    @property
    def known(self) -> bool:
        return not self.unread

    def add(self, path: bytes, size: int = 0) -> None:
        """Adds a path; a file has a size, which is as large as a program likes, without blocks."""
        if path in self.paths:
            return
        if len(self.paths) >= self.limit:
            self.unread = "count"
        elif size > self.room:
            self.unread = self.unread or "size"
        else:
            self.paths.add(path)
            self.room -= size


class CopyRules(msgspec.Struct, frozen=True):
    """What decides about paths of a copy: what is ignored, Assent's own, and hidden."""

    ignored: IgnoredPaths
    own: tuple[bytes, ...] = ()
    hidden: frozenset[bytes] = frozenset()
    private: tuple[bytes, ...] = ()  # of `own`, what is not even copied

    def sort_out(self, path: bytes, found: Touched, *, folder: bool) -> bool:
        """Names a path that is looked at no closer; false if it has to be."""
        why = left_out(path, self.own)
        if why is None and path in self.hidden:
            why = "hidden"
        if why is not None:
            found.left_out.setdefault(path, why)
            return True
        if self.ignored.covers(path, folder=folder):
            found.ignored.add(self.ignored.name(path, folder=folder))
            return True
        return False


def touched_in_upper(
    upper: FolderTree,
    lower: FolderTree,
    rules: CopyRules,
    limits: ScratchLimits,
    put: Mapping[bytes, Stamp],
) -> Touched:
    """Looks through an overlay's upper folder, which has what changed, and the draft as `put`."""
    found = Touched(limits.changes, limits.max_bytes)
    waiting: list[tuple[bytes, bool]] = [(b"", True)]  # and whether the lower folder shows
    while waiting:
        folder, merged = waiting.pop()
        if folder.count(b"/") >= MAX_FOLDERS:
            found.unread = "depth"
            continue
        with upper.folder(folder) as above, lower.folder(folder) as below:
            if above is None:
                continue
            below = below if merged else None
            opaque = merged and bool(folder) and is_opaque(above)
            names = names_in(above)
            for name in names:
                path = folder + b"/" + name if folder else name
                mine = entry(name, above)
                if mine is None:
                    continue
                if path in put and put[path] == stamp_of(mine) and not is_whiteout(mine):
                    found.as_put.add(path)
                    continue
                waiting += _upper_entry(path, name, mine, below, rules, found, lower)
            if opaque and below is not None:
                for name in set(names_in(below)).difference(names):
                    _deleted_below(folder + b"/" + name, lower, rules, found)
    return found


def not_as_drafted(
    ignored: Iterable[bytes],
    upper: FolderTree,
    draft: Mapping[bytes, FileState | None],
    put: Mapping[bytes, Stamp],
) -> set[bytes]:
    """Returns the ignored paths of an overlay that differ by more than files of the draft as put.

    Only where the draft has something it is looked into them, up to the first other entry.
    """
    above = folders_above(draft)
    return {
        path
        for path in ignored
        if not ((path in above or path in draft) and _is_as_drafted(path, upper, draft, put, above))
    }


def _is_as_drafted(
    path: bytes,
    upper: FolderTree,
    draft: Mapping[bytes, FileState | None],
    put: Mapping[bytes, Stamp],
    above: Collection[bytes],
) -> bool:
    own = [one for one in draft if is_inside(one, path)] if path in above else [path]
    for one in own:
        seen = upper.lstat(one)
        if (stamp_of(seen) if seen is not None else None) != put.get(one):
            return False
    waiting = [path] if path in above and path not in put else []
    while waiting:
        folder = waiting.pop()
        with upper.folder(folder) as at:
            if at is None or is_opaque(at):
                return False
            for inner, _, mine in entries_in(at, folder):
                if inner in above and S_ISDIR(mine.st_mode):
                    waiting.append(inner)
                elif inner not in put:
                    return False
    return True


def _upper_entry(
    path: bytes,
    name: bytes,
    mine: os.stat_result,
    below: int | None,
    rules: CopyRules,
    found: Touched,
    lower: FolderTree,
) -> list[tuple[bytes, bool]]:
    """Sorts one entry of the upper folder; returns it if it is a folder to look into."""
    theirs = entry(name, below) if below is not None else None
    was_folder = theirs is not None and S_ISDIR(theirs.st_mode)
    whiteout = is_whiteout(mine)
    is_folder = S_ISDIR(mine.st_mode)
    if rules.sort_out(path, found, folder=was_folder if whiteout else is_folder):
        return []
    if theirs is not None and not was_folder:
        found.add(path, mine.st_size if S_ISREG(mine.st_mode) else 0)
    if was_folder and not is_folder:
        _deleted_below(path, lower, rules, found)
    if whiteout:
        return []
    if is_folder:
        if not was_folder and rules.ignored.outermost(path, folder=True) is None:
            found.folders.add(path)
        return [(path, was_folder)]
    if S_ISREG(mine.st_mode) or S_ISLNK(mine.st_mode):
        found.add(path, mine.st_size)
    else:
        found.left_out[path] = "special"
    return []


def _deleted_below(path: bytes, lower: FolderTree, rules: CopyRules, found: Touched) -> None:
    """Adds every file that the lower tree has at a path or below it."""
    waiting = [path]
    while waiting and found.known:
        one = waiting.pop()
        seen = lower.lstat(one)
        if seen is None:
            continue
        is_folder = S_ISDIR(seen.st_mode)
        if one != path and rules.sort_out(one, found, folder=is_folder):
            continue
        if one == path and left_out(one, rules.own):
            continue
        if not is_folder:
            found.add(one)
            continue
        found.gone.add(one)
        with lower.folder(one) as at:
            waiting += [one + b"/" + name for name in names_in(at)] if at is not None else []


# What the touched paths come to: the changes, and where someone else may have changed them too.


class Sides(msgspec.Struct, frozen=True):
    """The workspace with the draft on one side, the copy as a command left it on the other."""

    real: FolderTree
    files: Mapping[bytes, FileState | None]  # the draft's
    after: Callable[[bytes], FileState | None]

    def before(self, path: bytes) -> FileState | None:
        return self.files[path] if path in self.files else self.real.state(path)


_UNREADABLE: Final = "hidden"


def scratch_result(
    found: Touched, sides: Sides, times: CommandTimes, *, joined: bool = False
) -> ScratchResult:
    """Compares every touched path, and leaves out what is equal after all."""
    changes: list[ScratchChange] = []
    conflicts: list[ScratchConflict] = []
    linked: list[bytes] = []
    aside = dict(found.left_out)
    for path in sorted(found.paths):
        try:
            before, after = sides.before(path), sides.after(path)
        except PermissionError:
            aside[path] = _UNREADABLE
            continue
        kind = change_kind(before, after)
        if kind is None:  # copied up and left as it was
            continue
        why = conflict_reason(path, change_times(sides.real, path), times)
        seen = sides.real.lstat(path)
        real = identity_of(seen) if seen is not None else None
        changes.append(ScratchChange(path, kind, before, after, real))
        if why is not None:
            conflicts.append(ScratchConflict(path, why))
        if seen is not None and S_ISREG(seen.st_mode) and seen.st_nlink > 1:
            linked.append(path)
    made = folders_above(change.path for change in changes if change.after)
    made |= folders_above(path for path, state in sides.files.items() if state)
    aside |= dict.fromkeys(_empty(found.folders, made), "folder")
    return ScratchResult(
        tuple(changes),
        tuple(conflicts),
        tuple(sorted(found.ignored)),
        tuple(LeftOut(path, why) for path, why in sorted(aside.items())),
        tuple(linked),
        tuple(sorted(found.gone)),
        joined=joined,
        unread=found.unread,
    )


def change_times(real: FolderTree, path: bytes) -> dict[bytes, int | None]:
    """Returns when a real path, and each folder above it, changed last."""
    found: dict[bytes, int | None] = {}
    for one in (path, *ancestors(path), b""):
        if one in found:
            continue
        seen = real.lstat(one) if one else os.stat(real.path)
        found[one] = seen.st_ctime_ns if seen is not None else None
    return found


def _empty(folders: Iterable[bytes], made: Collection[bytes]) -> list[bytes]:
    """Returns the outermost new folders in which no file was made."""
    bare: list[bytes] = []
    for folder in sorted(set(folders).difference(made)):
        if not bare or not is_inside(folder, bare[-1]):
            bare.append(folder)
    return bare
