"""Walks the workspace for a snapshot: which files there are, and which are ignored.

Files near the root come first, ignored ones last, each kind up to its own limit. What is beyond
the limit, or in a folder that cannot be read, is recorded as unseen.
"""

import re
from collections import deque
from collections.abc import Callable, Container, Mapping, Sequence
from stat import S_IFDIR, S_IFLNK, S_IFREG, S_ISDIR
from typing import Final

import msgspec

from assent.core.paths import GIT, OWN_FILES, STATE, TREE, ancestors, casefolded, is_inside, parent
from assent.core.plan.operation import FileState, Operation, footprint
from assent.core.run.workspace_changes import SkipReason
from assent.planning.ports import WorkspaceConfig
from assent.planning.snapshot.snapshot import SnapshotSection, SnapshotStamp, folder_key
from assent.ports import BlobStore, WorkspaceFiles
from assent.tools.overlay import Overlay
from assent.tools.path_patterns import EXCLUDE, IGNORE_FILE_NAMES, IgnoreMatcher

# Which names in a folder `.gitignore` and `.ignore` exclude, cached.


RuleStamps = tuple[object, ...]  # the rules on the way to a folder, as their stamps

_MODE = 4


class IgnoreRules:
    """Tells what is ignored, folder by folder from the root; reads only rules that changed."""

    def __init__(
        self, files: WorkspaceFiles, blobs: BlobStore, operations: Sequence[Operation] = ()
    ) -> None:
        """With `operations`, the rules count as they will be after them."""
        self._files = files
        self._overlay = Overlay(files, blobs, operations)
        self._last: dict[bytes, tuple[RuleStamps, dict[bytes, bool]]] = {}
        self._now: dict[bytes, tuple[RuleStamps, dict[bytes, bool]]] = {}
        self._present: set[bytes] = set()
        self._ignored = IgnoreMatcher(self._overlay, self._present)
        self._settled: Callable[[SnapshotStamp], bool] = bool

    def begin(self, settled: Callable[[SnapshotStamp], bool]) -> None:
        """Starts another round; rules of recent files may change unnoticed."""
        self._last, self._now = self._now, {}
        self._present = set()
        self._ignored = IgnoreMatcher(self._overlay, self._present)
        self._settled = settled

    def enter(self, folder: bytes, names: Mapping[bytes, SnapshotStamp]) -> RuleStamps:
        """Returns the rules for a folder, by the ignore files in it and above; none is ignored."""
        prefix = folder + b"/" if folder else b""
        chain = self._chain(folder, prefix, names)
        was, known = self._last.get(folder, (None, {}))
        self._now[folder] = (chain, known if was == chain else {})
        return chain

    def among(self, folder: bytes, names: Mapping[bytes, SnapshotStamp]) -> dict[bytes, bool]:
        """Tells for each name in a folder that was entered whether it is ignored."""
        prefix = folder + b"/" if folder else b""
        chain, old = self._now[folder]
        marked = {name: name + b"/" if S_ISDIR(at[_MODE]) else name for name, at in names.items()}
        found = {
            mark: old[mark]
            if mark in old
            else self._ignored.covers(prefix + name, folder=mark is not name)
            for name, mark in marked.items()
        }
        self._now[folder] = (chain, found)
        return {name: found[mark] for name, mark in marked.items()}

    def _chain(
        self, folder: bytes, prefix: bytes, names: Mapping[bytes, SnapshotStamp]
    ) -> RuleStamps:
        rules = {prefix + name: names[name] for name in IGNORE_FILE_NAMES if name in names}
        self._present.update(rules)
        if not folder:
            rules |= self._own()
        above: RuleStamps = self._now[parent(folder)][0] if folder else ()
        if not rules:
            return above
        sure = all(map(self._settled, rules.values()))
        return (*above, tuple(rules.items()) if sure else object())

    def _own(self) -> dict[bytes, SnapshotStamp]:
        """Returns the stamp of the user's own rules for this repository."""
        stamp = (self._files.stamps(parent(EXCLUDE)) or {}).get(b"exclude")
        return {EXCLUDE: stamp} if stamp else {}


UNLIMITED: Final = 1 << 62
INODE, MODE = 3, 4
_FOLDER: Final = (0, 0, 0, 0, S_IFDIR | 0o755)  # of one that is not there yet
_PLAN = re.compile(rb"([a-z0-9-]+/)?PLAN_[a-z0-9_-]+\.md")
# A file has such a name, next to its final place, until it is complete; see `Tree.replace`.
_DRAFT = re.compile(rb"((?:.*/)?)\.([^/]+)\.[0-9]+\.[0-9]+", re.DOTALL)


class FolderListing(msgspec.Struct, frozen=True):
    """One folder as it was found, where it is not as remembered."""

    key: bytes  # see `SnapshotPart`; empty: the rules for it may change unnoticed
    files: list[bytes]  # paths, sorted
    folders: list[tuple[bytes, int]]  # names with modes
    ignored: list[bytes]  # names
    left_out: list[bytes]  # files beyond the limit


class WalkResult(msgspec.Struct, frozen=True):
    """The files of a workspace, without git's own and Assent's own."""

    files: dict[bytes, SnapshotStamp]  # of a repository below only its `.git`, by its inode
    ignored: set[bytes]
    folders: dict[bytes, int]  # with their modes
    unseen: dict[bytes, SkipReason]  # folders of which not everything is here
    listings: dict[bytes, FolderListing] = {}
    same: dict[bytes, SnapshotSection] = {}  # folders as remembered; their files are not in `files`

    @property
    def known(self) -> bool:
        """Whether all files that are not ignored are included; an unreadable folder is listed."""
        return "too many" not in self.unseen.values() and b"" not in self.unseen

    @property
    def closed(self) -> frozenset[bytes]:
        """The folders that cannot be read."""
        return frozenset(path for path, why in self.unseen.items() if why == "odd")


class RecordedPaths(msgspec.Struct, frozen=True):
    """What is read regardless of the limit, because it is recorded."""

    files: Container[bytes] = ()
    folders: Container[bytes] = ()


NO_RECORDED_PATHS: Final = RecordedPaths()
NOTHING_REMEMBERED: Final[Mapping[bytes, SnapshotSection]] = {}


class FoldersAfterOperations:
    """The names in folders as operations will leave them, requested from the root down."""

    def __init__(self, files: WorkspaceFiles, operations: Sequence[Operation] = ()) -> None:
        self._files = files
        self._names: dict[bytes, dict[bytes, FileState | None]] = {}
        self._folders: dict[bytes, set[bytes]] = {}  # on the way to a file that comes
        self._new: set[bytes] = set()  # folders that are not on disk
        steps = [step for op in operations for step in footprint(op)]
        for path, after in {path: after for path, _, after in steps}.items():
            folder, _, last = path.rpartition(b"/")
            self._names.setdefault(folder, {})[last] = after
            for above in ancestors(path) if after else ():
                folder, _, last = above.rpartition(b"/")
                self._folders.setdefault(folder, set()).add(last)

    def stamps(self, folder: bytes) -> dict[bytes, SnapshotStamp] | None:
        """Returns the names in a folder with their stamps; None if they are unknown."""
        found = {} if folder in self._new else self._files.stamps(folder)
        if found is None or not (folder in self._names or folder in self._folders):
            return found
        names = self._names.get(folder, {})
        going = {name for name, after in names.items() if after is None}
        staying = {n: at for n, at in found.items() if n not in going or S_ISDIR(at[MODE])}
        merged = staying | {name: _stamp(after) for name, after in names.items() if after}
        prefix = folder + b"/" if folder else b""
        for made in self._folders.get(folder, ()):
            if made not in merged or not S_ISDIR(merged[made][MODE]):
                merged[made] = _FOLDER
                self._new.add(prefix + made)
        return merged


def _stamp(state: FileState) -> SnapshotStamp:
    """Returns the stamp of a file that is not there yet; its times and inode say nothing."""
    return (0, 0, state.size, 0, (S_IFLNK if state.kind == "link" else S_IFREG) | state.mode)


class WorkspaceWalker:
    """Walks one workspace. Keep it for later: ignore rules are remembered."""

    def __init__(
        self,
        files: WorkspaceFiles,
        blobs: BlobStore,
        config: WorkspaceConfig,
        operations: Sequence[Operation] = (),
    ) -> None:
        """With `operations`, it finds what will exist after them."""
        self.ahead = FoldersAfterOperations(files, operations)
        self.limit = config.snapshot_limits.files or UNLIMITED
        self.ignoring = IgnoreRules(files, blobs, operations)
        self._ours = frozenset((STATE, *OWN_FILES, *config.private))
        # Elsewhere plans are among the user's files, and a command can write them.
        self._plans = config.plan_dir + b"/" if is_inside(config.plan_dir, TREE) else b""

    def go(
        self,
        settled: Callable[[SnapshotStamp], bool],
        known: RecordedPaths = NO_RECORDED_PATHS,
        remembered: Mapping[bytes, SnapshotSection] = NOTHING_REMEMBERED,
    ) -> WalkResult:
        """Returns what exists now; folders that are as remembered are not looked into closely."""
        self.ignoring.begin(settled)
        return _WorkspaceWalk(self, known, remembered).found()

    def is_ours(self, path: bytes, *, folder: bool) -> bool:
        """Tells whether only Assent writes a path, so that no command changed it."""
        if path in self._ours:
            return True
        if folder:  # under a plan's name, it would be a place where a command is not seen
            return False
        draft = _DRAFT.fullmatch(path)
        path = draft[1] + draft[2] if draft else path
        plans = self._plans
        plan = bool(plans) and path.startswith(plans) and _PLAN.fullmatch(path, len(plans))
        return bool(plan) or path in OWN_FILES


class _WorkspaceWalk:
    def __init__(
        self,
        walk: WorkspaceWalker,
        known: RecordedPaths,
        remembered: Mapping[bytes, SnapshotSection],
    ) -> None:
        self._walk = walk
        self._known = known
        self._remembered = remembered
        self._room = {False: walk.limit, True: walk.limit}  # by whether a file is ignored
        self._full = {False: False, True: False}
        # Each folder with the ignored one that it is in, if any.
        self._open: deque[tuple[bytes, bytes | None]] = deque([(b"", None)])
        self._out: deque[tuple[bytes, bytes | None]] = deque()
        self._found = WalkResult({}, set(), {b"": 0}, {}, {}, {})

    def found(self) -> WalkResult:
        while waiting := self._open or self._out:
            folder, top = waiting.popleft()
            ignored = top is not None
            if self._full[ignored] and folder and folder not in self._known.folders:
                self._leave(folder, top, ignored=ignored)
                continue
            names = self._walk.ahead.stamps(folder)
            if names is None:
                self._found.unseen[folder] = "odd"
            else:
                self._enter(folder, top, names)
        return self._found

    def _enter(self, folder: bytes, top: bytes | None, names: dict[bytes, SnapshotStamp]) -> None:
        prefix = folder + b"/" if folder else b""
        rules = self._rules(prefix, names) if top is None else {}
        chain = self._walk.ignoring.enter(folder, rules) if top is None else None
        key = folder_key(chain, names)
        section = self._remembered.get(folder)
        same = section is not None and section.sure and section.key == key
        if section is not None and same and self._has_room(folder, section):
            self._pass(folder, top, section)
            return
        listing = FolderListing(key, [], [], [], [])
        self._found.listings[folder] = listing
        own = self._own(prefix, names, listing)
        outs = {} if top is not None else self._walk.ignoring.among(folder, own)
        for name, stamp in own.items():
            path = prefix + name
            ignored = outs.get(name, True)
            if ignored:
                listing.ignored.append(name)
            if S_ISDIR(stamp[MODE]):
                listing.folders.append((name, stamp[MODE]))
            elif self._fits(path, ignored=ignored):
                self._found.files[path] = stamp
                listing.files.append(path)
            else:
                listing.left_out.append(path)
                self._leave(folder, top, ignored=ignored)
        self._queue(prefix, top, listing)

    def _pass(self, folder: bytes, top: bytes | None, section: SnapshotSection) -> None:
        """Takes a folder as it is remembered; what is in its folders is looked at all the same."""
        self._found.same[folder] = section
        if folder not in self._known.folders:
            for ignored, count in zip((False, True), section.counts, strict=True):
                self._room[ignored] -= count
        self._queue(folder + b"/" if folder else b"", top, section)

    def _queue(
        self, prefix: bytes, top: bytes | None, listed: FolderListing | SnapshotSection
    ) -> None:
        outs = frozenset(listed.ignored)
        self._found.ignored.update([prefix + name for name in outs])
        for name, mode in listed.folders:
            path, ignored = prefix + name, name in outs
            self._found.folders[path] = mode
            above = top if top is not None or not ignored else path
            (self._out if ignored else self._open).append((path, above))

    def _rules(
        self, prefix: bytes, names: Mapping[bytes, SnapshotStamp]
    ) -> dict[bytes, SnapshotStamp]:
        """Returns the ignore files among names, except Assent's own."""
        found = {name: names[name] for name in IGNORE_FILE_NAMES if name in names}
        ours = self._walk.is_ours
        return {
            name: at
            for name, at in found.items()
            if not ours(prefix + name, folder=S_ISDIR(at[MODE]))
        }

    def _own(
        self, prefix: bytes, names: dict[bytes, SnapshotStamp], listing: FolderListing
    ) -> dict[bytes, SnapshotStamp]:
        """Returns the user's names, sorted; a nested repository is noted on the way."""
        found: dict[bytes, SnapshotStamp] = {}
        for name, stamp in sorted(names.items()):
            if casefolded(name) != GIT:
                if not self._walk.is_ours(prefix + name, folder=S_ISDIR(stamp[MODE])):
                    found[name] = stamp
            elif prefix:  # a new one obeys whatever was written into it
                self._found.files[prefix + name] = (stamp[INODE],)
                listing.files.append(prefix + name)
        return found

    def _has_room(self, folder: bytes, section: SnapshotSection) -> bool:
        if folder in self._known.folders:
            return True  # all of its files are recorded
        kept, ignored = section.counts
        return kept <= self._room[False] and ignored <= self._room[True]

    def _fits(self, path: bytes, *, ignored: bool) -> bool:
        if path in self._known.files:
            return True
        if not self._room[ignored]:
            self._full[ignored] = True
            return False
        self._room[ignored] -= 1
        return True

    def _leave(self, folder: bytes, top: bytes | None, *, ignored: bool) -> None:
        where = folder if top is None else top
        if not ignored or where not in self._found.unseen:
            self._found.unseen[where] = "ignored" if ignored else "too many"
