"""Stages the differences between the workspace and another folder as exact operations."""

from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import BinaryIO, Literal, TypeAlias

import msgspec

from assent.core.errors import Drift, ImpossibleOperations, NotFound, Refused
from assent.core.patch.file_patch import is_executable, with_executable
from assent.core.paths import (
    GIT,
    MAX_FOLDERS,
    TREE,
    ancestors,
    base_name,
    casefolded,
    is_inside,
    one_line,
    refuse_own_paths,
)
from assent.core.plan.operation import DeleteFile, FileOperation, FileState, MoveFile, WriteFile
from assent.core.plan.record import PlanRecord
from assent.core.run.slot_move import PathState
from assent.planning.drafts import DEFAULT_MODE, LINK_MODE, Drafts, PlanContents, Staged, draft_path
from assent.planning.path_checks import FilenameCase, joined_path
from assent.planning.plans import reopening_events
from assent.planning.ports import Ports, WorkspaceConfig
from assent.ports import FolderEntryKind, SourceFolder
from assent.tools.overlay import CHUNK, Overlay
from assent.tools.path_patterns import IgnoreMatcher

ExclusionReason: TypeAlias = Literal["ignored", "git", "ours", "deep", "repository", "odd"]
_BARE = {b"HEAD", b"objects", b"refs"}


class FolderImportResult(msgspec.Struct, frozen=True):
    """The result: staged operations, number of equal files, and what was skipped."""

    staged: Staged
    alike: int
    skipped: tuple[tuple[bytes, ExclusionReason], ...]


class FolderImporter:
    """Stages the work of another folder as operations of the draft; no file is touched."""

    def __init__(self, ports: Ports, config: WorkspaceConfig, drafts: Drafts) -> None:
        self._ports = ports
        self._config = config
        self._drafts = drafts
        self._contents = PlanContents(ports)

    def stage(
        self,
        record: PlanRecord,
        other: SourceFolder,
        arguments: Sequence[bytes] = (),
        *,
        delete: bool = False,
    ) -> FolderImportResult:
        """Stages new and changed files, and with `delete` the removal of those missing there."""
        reopening_events(record)
        overlay = self._contents.overlay(self._drafts.plans.operations(record))
        spelling = FilenameCase(self._ports.files, overlay.drafted())
        other = _RespelledSourceFolder(other, spelling)
        wanted = [spelling.path_on_disk(self._wanted(argument, overlay)) for argument in arguments]
        walk = _FolderWalk(overlay, self._config, wanted)
        there = list(walk.files(other.entries, self._is_nested))
        folders = frozenset(walk.folders)
        looked = other.read_states(there)
        states = {path: seen for path, seen in looked.items() if isinstance(seen, FileState)}
        entries = _entries(overlay, spelling)
        here = list(walk.files(entries, lambda _: False)) if delete else []
        _check_found(wanted, [*states, *here, *walk.skipped])
        leaving = [*_in_the_way(overlay, states), *(path for path in here if path not in states)]
        gone = dict(_standing(overlay, leaving, walk))
        found = _FolderDifference(overlay, states, gone, folders)
        self._keep(other, found.written)
        staged = self._drafts.stage(record, found.operations())
        return FolderImportResult(staged, found.alike, tuple(sorted(walk.skipped.items())))

    def _wanted(self, argument: bytes, overlay: Overlay) -> bytes:
        path = draft_path(self._ports.files, overlay, argument)
        refuse_own_paths(path, self._config.plan_dir, self._config.private)
        return path

    def _is_nested(self, folder: bytes) -> bool:
        try:
            return GIT in map(casefolded, self._ports.files.names(folder))
        except Refused:
            return False  # here it is reached through a symlink: not part of the workspace

    def _keep(self, other: SourceFolder, written: Iterable[WriteFile]) -> None:
        for op in written:
            if op.after.size > self._config.max_file:
                raise Refused(
                    f"{one_line(op.path)} is larger than {self._config.max_file >> 20} MB in the "
                    "source folder. Nothing was staged. To allow it, raise stage.max_file_mb in "
                    "your user config.",
                    "assent stage from DIR PATH",
                )
            digest, _ = self._contents.keep(_chunks(other, op.path))
            if digest != op.after.digest:
                raise Drift(
                    f"{one_line(op.path)} changed in the source folder while it was read. Nothing "
                    "was staged.",
                    "assent stage from DIR",
                )


class _RespelledSourceFolder:
    """Implements ports.SourceFolder: names that are one file here are spelled as they are here."""

    def __init__(self, other: SourceFolder, spelling: FilenameCase) -> None:
        self._other = other
        self._spelling = spelling
        self._there: dict[bytes, bytes] = {}  # the paths that are written otherwise there

    def read_states(self, paths: Iterable[bytes]) -> dict[bytes, PathState]:
        """Returns what stands under each name."""
        there = {self._path(path): path for path in paths}
        return {there[path]: seen for path, seen in self._other.read_states(there).items()}

    def entries(self, folder: bytes) -> dict[bytes, FolderEntryKind]:
        """Lists the names in a folder; refuses two that cannot both be here."""
        found: dict[bytes, FolderEntryKind] = {}
        known: dict[bytes, bytes] = {}
        for each, sort in self._other.entries(self._path(folder)).items():
            ours, theirs = (
                self._spelling.name_on_disk(folder, each),
                joined_path(self._path(folder), each),
            )
            if ours in found:
                raise ImpossibleOperations(
                    f"{one_line(known[ours])} and {one_line(theirs)} are two files in the source "
                    "folder but the same file here. Rename one of them there. Nothing was staged.",
                    "assent stage from DIR",
                )
            found[ours], known[ours] = sort, theirs
            if theirs != joined_path(folder, ours):
                self._there[joined_path(folder, ours)] = theirs
        return found

    def open(self, path: bytes) -> BinaryIO:
        """Opens a file's content; for a symlink, its target."""
        return self._other.open(self._path(path))

    def _path(self, path: bytes) -> bytes:
        return self._there.get(path, path)


class _FolderWalk:
    """Walks through folders, and notes what is excluded and why."""

    def __init__(self, overlay: Overlay, config: WorkspaceConfig, wanted: Sequence[bytes]) -> None:
        self._ignored = IgnoreMatcher(overlay)
        self._config = config
        self._wanted = wanted
        self.skipped: dict[bytes, ExclusionReason] = {}
        self.folders: set[bytes] = {b""}

    def files(
        self,
        entries: Callable[[bytes], Mapping[bytes, FolderEntryKind]],
        is_nested: Callable[[bytes], bool],
    ) -> Iterator[bytes]:
        """Yields the files and symlinks that count, by their paths."""
        waiting = [b""]
        while waiting:
            folder = waiting.pop()
            names = entries(folder)
            if folder and (_is_repository(names) or is_nested(folder)):
                self.skipped[folder] = "repository"
                continue
            self.folders.add(folder)
            for each, sort in names.items():
                path = joined_path(folder, each)
                if path in self.skipped or not self._is_wanted(path, sort):
                    continue
                if why := self._why_not(path, sort):
                    self.skipped[path] = why
                elif sort == "folder":
                    waiting.append(path)
                else:
                    yield path

    def _is_wanted(self, path: bytes, sort: FolderEntryKind) -> bool:
        """Tells whether a path was asked for, or leads to one that was."""
        return not self._wanted or any(
            is_inside(path, wanted) or (sort == "folder" and is_inside(wanted, path))
            for wanted in self._wanted
        )

    def _why_not(self, path: bytes, sort: FolderEntryKind) -> ExclusionReason | None:
        if casefolded(base_name(path)) == GIT:
            return "git"
        if path.count(b"/") > MAX_FOLDERS:
            return "deep"
        if self._is_ours(path):
            return "ours"
        if self._ignored.covers(path, folder=sort == "folder"):
            return "ignored"
        return "odd" if sort == "other" else None

    def _is_ours(self, path: bytes) -> bool:
        if casefolded(path) == TREE:
            return False  # the user's own files are in there, too
        try:
            refuse_own_paths(path, self._config.plan_dir, self._config.private)
        except Refused:
            return True
        return False


class _FolderDifference:
    """What leads from the files with the draft applied to those of the other folder."""

    def __init__(
        self,
        overlay: Overlay,
        there: Mapping[bytes, FileState],
        gone: Mapping[bytes, FileState],
        folders: Container[bytes],
    ) -> None:
        self._gone = gone
        self._folders = folders
        self._writes: list[WriteFile] = []
        self.alike = 0
        for path, state in there.items():
            below = any(above in gone for above in ancestors(path))
            self._compare(path, None if below else overlay.state(path), state)
        self._moves = paired_renames(gone, self._writes, _content)

    @property
    def written(self) -> list[WriteFile]:
        """The files whose content has to be read there."""
        return [op for op in self._writes if op.path not in self._moves]

    def operations(self) -> list[FileOperation]:
        moved = set(self._moves.values())
        moves = [
            MoveFile(path, to, self._gone[path], self._prune(path))
            for to, path in self._moves.items()
        ]
        deletes = [
            DeleteFile(path, state, self._prune(path))
            for path, state in self._gone.items()
            if path not in moved
        ]
        return [*moves, *self.written, *deletes]

    def _compare(self, path: bytes, seen: PathState, state: FileState) -> None:
        before = None if seen == "folder" else seen  # whether it goes is checked with all of it
        after = msgspec.structs.replace(state, mode=_mode(before, state))
        if before == after:
            self.alike += 1
        else:
            self._writes.append(WriteFile(path, before, after))

    def _prune(self, path: bytes) -> int:
        """Counts the folders directly above a path that are not there, either."""
        above = ancestors(path)
        return next((n for n, each in enumerate(above) if each in self._folders), len(above))


def paired_renames(
    gone: Mapping[bytes, FileState],
    writes: Iterable[WriteFile],
    key: Callable[[FileState], Hashable],
) -> dict[bytes, bytes]:
    """Returns where the same content went to: new names, each with the old one.

    States with an equal `key` count as the same. An empty file is no rename of another one.
    """
    leaving: dict[Hashable, list[bytes]] = {}
    for path, state in gone.items():
        leaving.setdefault(key(state), []).append(path)
    pairs: dict[bytes, bytes] = {}
    for op in writes:
        sources = leaving.get(key(op.after))
        if op.before is None and op.after.size and sources:
            alike = [path for path in sources if base_name(path) == base_name(op.path)]
            pairs[op.path] = (alike or sources)[0]
            sources.remove(pairs[op.path])
    return pairs


def _content(state: FileState) -> tuple[str, str, bool]:
    return state.digest, state.kind, is_executable(state.mode)


def _mode(before: FileState | None, state: FileState) -> int:
    """Returns the mode that a file gets: of the one there, only whether it can be run counts."""
    if state.kind == "link":
        return LINK_MODE
    old = before.mode if before and before.kind == "file" else DEFAULT_MODE
    return with_executable(old, is_executable(state.mode))


def _is_repository(names: Iterable[bytes]) -> bool:
    known = set(names)
    return GIT in map(casefolded, known) or known >= _BARE


def _entries(
    overlay: Overlay, spelling: FilenameCase
) -> Callable[[bytes], dict[bytes, FolderEntryKind]]:
    """Returns how to list a folder with the draft applied."""

    def entries(folder: bytes) -> dict[bytes, FolderEntryKind]:
        return {
            spelling.name_on_disk(folder, each): "folder" if is_folder else "file"
            for each, is_folder in overlay.names(folder).items()
        }

    return entries


def _in_the_way(overlay: Overlay, there: Iterable[bytes]) -> list[bytes]:
    """Returns the names of files and symlinks that are folders there, outermost alone."""
    folders = sorted({above for path in there for above in ancestors(path)})
    found: list[bytes] = []
    for folder in folders:
        if not any(is_inside(folder, each) for each in found) and overlay.is_file(folder):
            found.append(folder)
    return found


def _standing(
    overlay: Overlay, paths: Iterable[bytes], walk: _FolderWalk
) -> Iterator[tuple[bytes, FileState]]:
    """Yields what stands under names that may go; what is neither file nor symlink stays."""
    for path in paths:
        try:
            seen = overlay.state(path)
        except Refused:
            walk.skipped[path] = "odd"
            continue
        if isinstance(seen, FileState):
            yield path, seen


def _check_found(wanted: Iterable[bytes], found: Sequence[bytes]) -> None:
    for path in wanted:
        if not any(is_inside(each, path) or is_inside(path, each) for each in found):
            told = (
                f"{one_line(path)} exists neither in the source folder nor in the workspace. "
                "Nothing was staged."
            )
            raise NotFound(told, "assent stage from --help")


def _chunks(other: SourceFolder, path: bytes) -> Iterator[bytes]:
    with other.open(path) as stream:
        while chunk := stream.read(CHUNK):
            yield chunk
