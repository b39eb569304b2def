"""The scratch copy: the changes of a command in it, what is excluded, and conflicts."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Literal, TypeAlias

import msgspec

from assent.core.paths import GIT, GIT_ON_NTFS, OWN_FILES, STATE, casefolded, is_inside, parent
from assent.core.plan.operation import FileState, MoveFile, Operation, RunCommand, footprint
from assent.core.run.slot_move import prunable_folders

ScratchChangeKind: TypeAlias = Literal["created", "replaced", "deleted", "mode", "symlink"]
# Why something that is different in the copy is no change: git's data, Assent's own files, a
# socket, pipe or device, an empty folder, or a file that the sandbox hides.
LeftOutReason: TypeAlias = Literal["git", "assent", "special", "folder", "hidden"]
ScratchBackendName: TypeAlias = Literal["overlay", "copy", "none"]

# Why not all that a command changed was read: too many paths, too large files, too deep folders.
UnreadReason: TypeAlias = Literal["", "count", "size", "depth"]

MEBIBYTE: Final = 1 << 20
MAX_CHANGES: Final = 20_000  # paths that are read back after one command
_LINK: Final = "link"


class ScratchDraft(msgspec.Struct, frozen=True):
    """What a draft makes of the workspace: the state of each path, None where nothing remains.

    `pruned` are folders that go if they are left empty; `moved` has each new path with the old one.
    """

    files: Mapping[bytes, FileState | None] = {}
    pruned: tuple[bytes, ...] = ()
    moved: tuple[tuple[bytes, bytes], ...] = ()


NO_DRAFT: Final = ScratchDraft()


def scratch_draft(operations: Iterable[Operation]) -> ScratchDraft:
    """Returns the states that operations give to their paths; commands are not run."""
    moving = [op for op in operations if not isinstance(op, RunCommand)]
    files = {path: after for op in moving for path, _, after in footprint(op)}
    moved = tuple((op.to, op.path) for op in moving if isinstance(op, MoveFile))
    return ScratchDraft(files, tuple(sorted(prunable_folders(moving), reverse=True)), moved)


# Copies for one rehearsal begin with this. One that no process uses is a leftover.
TEMPORARY_PREFIX: Final = "rehearsal-"


class RealIdentity(msgspec.Struct, frozen=True):
    """Which real file a change started from; any later change of it shows here."""

    device: int
    inode: int
    size: int
    mode: int
    modified: int
    changed: int


class ScratchChange(msgspec.Struct, frozen=True):
    """One path that a command left different: its state before, with the draft, and after.

    `real` is the file of the workspace under this path when the command had ended, None if there
    was none.
    """

    path: bytes
    kind: ScratchChangeKind
    before: FileState | None
    after: FileState | None
    real: RealIdentity | None = None


class ScratchConflict(msgspec.Struct, frozen=True):
    """A changed path that someone may also have changed in the workspace meanwhile."""

    path: bytes
    why: str


class LeftOut(msgspec.Struct, frozen=True):
    """Something different in the copy that never becomes an operation."""

    path: bytes
    why: LeftOutReason


class ScratchResult(msgspec.Struct, frozen=True):
    """What is different in the copy from the workspace with the draft; nothing real changed.

    `ignored` names ignored files and folders that differ, without what is in the folders.
    """

    changes: tuple[ScratchChange, ...] = ()
    conflicts: tuple[ScratchConflict, ...] = ()
    ignored: tuple[bytes, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    hard_links: tuple[bytes, ...] = ()  # changed here under one name only
    gone: tuple[bytes, ...] = ()  # folders that were removed
    joined: bool = False  # another command still runs in the copy, so this may be incomplete
    unread: UnreadReason = ""  # why there may be more changes than these

    @property
    def known(self) -> bool:
        """Whether all that changed could be read."""
        return not self.unread


class ScratchLimits(msgspec.Struct, frozen=True):
    """How large a copy may be, what stays free on its disk, and how long it is kept."""

    max_bytes: int = 4096 * MEBIBYTE
    reserve_bytes: int = 512 * MEBIBYTE
    keep_days: int = 7
    changes: int = MAX_CHANGES


class ScratchBackend(msgspec.Struct, frozen=True):
    """How copies of a workspace are made, and why not in a better way."""

    name: ScratchBackendName
    reason: str = ""
    place: str = ""  # where they are kept


class ScratchInfo(msgspec.Struct, frozen=True):
    """A copy on disk: whose it is, of which workspace, and its size in bytes."""

    name: str
    root: bytes
    backend: ScratchBackendName
    made: float  # seconds since 1970
    used: float
    size: int = 0
    busy: bool = False  # a process uses it


def change_kind(before: FileState | None, after: FileState | None) -> ScratchChangeKind | None:
    """Returns what a change is; None where both states are the same."""
    if before == after:
        return None
    if after is None:
        return "deleted"
    if after.kind == _LINK:
        return "symlink"
    if before is None:
        return "created"
    same = (before.kind, before.digest) == (after.kind, after.digest)
    return "mode" if same else "replaced"


_UNREAD: Final[dict[UnreadReason, str]] = {
    "count": f"it changed more than {MAX_CHANGES:,} paths",
    "size": "the files that it changed are together larger than scratch.max_mb",
    "depth": "it made folders that are nested too deeply",
}


def unread_text(why: UnreadReason) -> str:
    """Says that not all that a command changed was read, and why; the next command follows it."""
    return f"Not all that the command changed could be read: {_UNREAD.get(why, 'unknown')}."


def left_out(path: bytes, own: Sequence[bytes]) -> LeftOutReason | None:
    """Tells whether a path never becomes an operation, whatever a command wrote there.

    `own` are folders of Assent in the workspace: plans, and state or configuration.
    """
    low = casefolded(path)
    for part in low.split(b"/"):
        if part.rstrip(b". ") == GIT or part == GIT_ON_NTFS:
            return "git"
    if is_inside(low, STATE) or low in OWN_FILES or any(is_inside(low, each) for each in own):
        return "assent"
    return None


# Conflicts: the kernel promises nothing for files that change below a mount, so times decide.


class CommandTimes(msgspec.Struct, frozen=True):
    """When a command began and ended, by the clock that stamps files, and how long it really took.

    All are nanoseconds. `tick` is how coarse that clock is.
    """

    began: int
    ended: int
    elapsed: int
    tick: int

    @property
    def doubtful_since(self) -> int:
        """What changed at this time or later may have changed while the command ran."""
        return self.began - self.tick

    @property
    def clock_went_back(self) -> bool:
        """Whether times of files say nothing, because someone set the clock."""
        return self.ended - self.began < self.elapsed - 2 * self.tick - _SLACK


_SLACK: Final = 5_000_000  # nanoseconds by which two clocks may drift apart in one command

CHANGED_FILE: Final = "it changed in the workspace while the command ran, or just before"
CHANGED_FOLDER: Final = "its folder changed in the workspace while the command ran, or just before"
CLOCK: Final = "the clock was set back while the command ran"
MOVED_FOLDER: Final = "a folder above it is a symlink or a file in the workspace by now"
DIFFERS: Final = "it changed in the workspace after the command ran"


def conflict_reason(
    path: bytes, changed: Mapping[bytes, int | None], times: CommandTimes
) -> str | None:
    """Says why a changed path may have changed in the workspace, too; None if it was not.

    `changed` has the change time of the real path and of every real folder above it, the root as
    the empty path; None where nothing is.
    """
    if times.clock_went_back:
        return CLOCK
    since = times.doubtful_since
    own = changed.get(path)
    if own is not None and own >= since:
        return CHANGED_FILE
    folder = parent(path)
    while folder:
        at = changed.get(folder)
        if at is not None and at >= since:
            return CHANGED_FOLDER
        folder = parent(folder)
    if own is None:  # it may have been there, in the nearest folder that still is
        folder = parent(path)
        while folder and changed.get(folder) is None:
            folder = parent(folder)
        at = changed.get(folder)
        if at is None or at >= since:
            return CHANGED_FOLDER
    return None


def later_conflict(change: ScratchChange, real: RealIdentity | None) -> ScratchConflict | None:
    """Compares a change with the real file as it is now, before anything is taken."""
    return None if real == change.real else ScratchConflict(change.path, DIFFERS)
