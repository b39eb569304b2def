"""The scratch copy of one session: runs commands in it, reads back what they changed."""

import os
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from stat import S_ISDIR
from typing import Final

import msgspec

from assent.core.errors import Refused, WorkspaceError
from assent.core.paths import casefolded, is_inside, one_line
from assent.core.plan.operation import FileState
from assent.core.scratch import (
    NO_DRAFT,
    TEMPORARY_PREFIX,
    CommandTimes,
    ScratchBackend,
    ScratchChange,
    ScratchConflict,
    ScratchDraft,
    ScratchLimits,
    ScratchResult,
    later_conflict,
)
from assent.core.shell.process import CommandSpec, OutputChunk, ProcessLimits, ProcessResult
from assent.sandbox.process_runner import LocalProcessRunner
from assent.sandbox.runner.bubblewrap import BubblewrapRunner
from assent.sandbox.scratch.changes import (
    ContentOf,
    CopyRules,
    DraftContent,
    IgnoredPaths,
    Sides,
    scratch_result,
)
from assent.sandbox.scratch.copy import CopiedLayer, CopyFull
from assent.sandbox.scratch.folder_tree import FolderTree, entries_in, identity_of
from assent.sandbox.scratch.folders import CopyFolders, LockedFolder
from assent.sandbox.scratch.holder import CopyHolder
from assent.sandbox.scratch.layer import CopyLayer
from assent.sandbox.scratch.quota import DISK_FULL, CopyQuota
from assent.tools.path_patterns import PathGlob

EMPTY: Final = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
JOINED: Final = (
    "assent: Another command runs in the scratch copy; this one joined it as it is. "
    "The draft may be newer.\n"
)
FULL: Final = {
    "copy": "The scratch copy is larger than scratch.max_mb allows",
    "disk": "Less is free on the disk than scratch.reserve_mb, or than 1 % of its files",
}
CLEAR_ALL: Final = "assent scratch clear --all"
LIMIT: Final = "assent config get scratch.max_mb"
_FOREIGN: Final = b"Value too large for defined data type"  # EOVERFLOW, in the language C
_SEARCHED: Final = 200_000  # entries that are looked at to name a file of another owner
_NAMED: Final = 3
_COARSE: Final = 5  # CLOCK_REALTIME_COARSE, by which the kernel stamps files


def no_content(digest: str) -> Iterator[bytes]:
    """Has no content: for a copy without a draft."""
    raise Refused(f"Content {digest} is not available.")


class CopyPaths(msgspec.Struct, frozen=True):
    """The workspace, and what in it only Assent writes, relative to it.

    What is `private`, such as a state directory in there, is not even copied.
    """

    root: bytes
    own: tuple[bytes, ...] = ()
    private: tuple[bytes, ...] = ()


class LocalScratchCopy:
    """Implements ScratchCopy with a layer on this machine."""

    def __init__(
        self,
        process: LocalProcessRunner,
        paths: CopyPaths,
        layer: CopyLayer,
        folder: LockedFolder,
        folders: CopyFolders,
        backend: ScratchBackend,
        limits: ScratchLimits,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._process, self._paths, self._layer = process, paths, layer
        self._folder, self._folders, self._backend = folder, folders, backend
        self._limits, self._environment = limits, dict(environment or {})
        self._real = FolderTree(paths.root)
        self._holder = CopyHolder(layer)
        self._quota = CopyQuota(layer.places(), limits, layer.size, paths.root)
        if isinstance(layer, CopiedLayer):
            layer.watched_by(self._quota)
        self._complete = folder.record.complete
        self._drafted = frozenset(() if folder.fresh else folder.drafted())
        layer.put_before(self._drafted)
        # The draft for the next command, and the one in the copy now.
        self._next: tuple[ScratchDraft, ContentOf] = (NO_DRAFT, no_content)
        self._active: tuple[ScratchDraft, ContentOf] = (NO_DRAFT, no_content)
        self._include: tuple[PathGlob, ...] = ()  # ignored files that count
        self._rules: CopyRules | None = None  # made when they are first needed, and by each command
        self._began = (0, 0)
        self._closed = False

    def describe(self) -> ScratchBackend:
        return self._backend

    def apply(self, draft: ScratchDraft, content: ContentOf, include: Sequence[str] = ()) -> None:
        self._next = (draft, content)
        self._include = tuple(map(PathGlob, include))

    def run(
        self,
        command: CommandSpec,
        folder: bytes,
        limits: ProcessLimits,
        searched: Callable[[], object] = lambda: None,
    ) -> Generator[OutputChunk | ProcessResult, None, None]:
        with self._holder.joined(partial(self._prepare, searched)) as (mount, joined):
            if joined:
                yield OutputChunk(JOINED.encode(), error=True)
            if over := self._quota.exceeded():
                next = CLEAR_ALL if over == DISK_FULL else self._clear(LIMIT)
                raise Refused(f"The command did not run: {_lower(FULL[over])}.", next)
            self._folder.used()
            root = self._paths.root
            gone = [root + b"/" + path for path, state in self._draft_now.items() if state is None]
            profile = self._process.copy_profile(mount.source, gone)
            held = (self._folder.lock,)
            enters: Callable[[BubblewrapRunner], BubblewrapRunner] = lambda runner: (  # noqa: E731
                runner.in_namespace(mount.enter, held, self._quota.check())
            )
            own = tuple((os.fsencode(n), os.fsencode(v)) for n, v in self._environment.items())
            told = msgspec.structs.replace(command, environment=(*own, *command.environment))
            parts = self._process.run_in_copy(told, folder, limits, profile, enters)
            with closing(parts):
                yield from self._explained(parts)

    def run_read_only(
        self, command: CommandSpec, folder: bytes, limits: ProcessLimits
    ) -> Generator[OutputChunk | ProcessResult, None, None]:
        yield from self._process.run_read_only(command, folder, limits)

    def changes(self) -> ScratchResult:
        rules = self._rules = self._rules or self._made_rules()
        found = self._layer.touched(rules, self._limits)
        sides = Sides(self._real, self._draft_now, self._layer.state)
        return scratch_result(found, sides, self._times(), joined=self._holder.running)

    def state(self, path: bytes) -> FileState | None:
        return self._layer.state(path)

    def content(self, path: bytes) -> Iterator[bytes]:
        with self._holder.alone():
            yield from self._layer.content(path)

    def conflict(self, change: ScratchChange) -> ScratchConflict | None:
        seen = self._real.lstat(change.path)
        return later_conflict(change, identity_of(seen) if seen is not None else None)

    def reset(self) -> None:
        with self._holder.alone():
            self._renew()

    def clear(self) -> None:
        with self._holder.alone():
            self._close_trees()
            self._folders.discard(self._folder)

    def close(self) -> None:
        if not self._closed:
            self._close_trees()
            self._folder.let_go()

    @property
    def _draft_now(self) -> Mapping[bytes, FileState | None]:
        return self._active[0].files

    def _prepare(self, searched: Callable[[], object]) -> None:
        """Gives the copy the state of the workspace with the draft; no command runs in it."""
        self._began = (_file_clock(), time.monotonic_ns())
        self._process.sandbox_status()  # and look again for what has to be masked
        self._renew(searched)

    def _renew(self, searched: Callable[[], object] = lambda: None) -> None:
        self._active = self._next
        rules = self._made_rules()
        searched()
        draft, content = self._active
        hidden = rules.hidden
        secret = {to for to, origin in draft.moved if origin in hidden}
        if secret:  # what a program may not read, it may not read under another name either
            empty = {path: FileState(EMPTY, 0, 0o600) for path in secret if draft.files.get(path)}
            draft = msgspec.structs.replace(draft, files={**draft.files, **empty})
            content = partial(_unless_empty, content)
            rules = msgspec.structs.replace(rules, hidden=hidden | secret)
        self._rules = rules
        try:
            self._record_drafted(self._drafted | draft.files.keys())
            self._layer.prepare(draft, content, rules)
            self._record_drafted(frozenset(draft.files))
            if not self._complete:
                self._folder.completed()
                self._complete = True
        except CopyFull as error:
            text = f"The scratch copy could not be made: {_lower(FULL[str(error)])}."
            raise Refused(text, CLEAR_ALL if str(error) == DISK_FULL else LIMIT) from error
        except OSError as error:
            raise WorkspaceError(
                f"The scratch copy could not be prepared ({error.strerror}). "
                "Nothing in the workspace was changed.",
                self._clear("assent doctor"),
            ) from error

    def _clear(self, otherwise: str) -> str:
        """Returns the command that removes this copy; a temporary one is removed by itself."""
        name = os.fsdecode(os.path.basename(self._folder.path))
        return otherwise if name.startswith(TEMPORARY_PREFIX) else f"assent scratch clear {name}"

    def _record_drafted(self, paths: frozenset[bytes]) -> None:
        """Records which paths are the draft's: in ignored folders nothing else is taken out."""
        if paths != self._drafted:
            self._folder.record_drafted(sorted(paths))
            self._drafted = paths

    def _made_rules(self) -> CopyRules:
        draft, content = self._active
        reader = DraftContent(self._real, draft.files, content)
        ignored = IgnoredPaths(reader, self._include)
        root = self._paths.root
        masks = self._process.copy_profile(b"/", ()).masks
        hidden = frozenset(path[len(root) + 1 :] for path in masks if is_inside(path, root))
        private = tuple(map(casefolded, self._paths.private))
        return CopyRules(ignored, (*map(casefolded, self._paths.own), *private), hidden, private)

    def _times(self) -> CommandTimes:
        began, steady = self._began
        elapsed = time.monotonic_ns() - steady
        return CommandTimes(began, _file_clock(), elapsed, _tick())

    def _explained(
        self, parts: Iterator[OutputChunk | ProcessResult]
    ) -> Iterator[OutputChunk | ProcessResult]:
        """Says why a command was ended by the quota, or failed on a file of another owner."""
        foreign = False
        for part in parts:
            if isinstance(part, OutputChunk):
                foreign = foreign or _FOREIGN in part.content
            elif part.cut in FULL:
                yield _said(f"{FULL[part.cut]}, so the command was ended.")
            elif part.code and foreign and (names := self._foreign()):
                yield _said(f"No copy of a file of another owner can be made: {', '.join(names)}.")
            yield part

    def _foreign(self) -> list[str]:
        """Names files that an overlay cannot copy, because of who owns them."""
        me, found, looked = (os.geteuid(), os.getegid()), list[str](), 0
        waiting = [b""]
        while waiting and looked < _SEARCHED and len(found) < _NAMED:
            folder = waiting.pop()
            try:
                with self._real.folder(folder) as at:
                    each = list(entries_in(at, folder))
            except PermissionError:  # hidden as a whole
                continue
            looked += len(each)
            foreign = {path for path, _, seen in each if (seen.st_uid, seen.st_gid) != me}
            found += map(one_line, sorted(foreign))
            waiting += [p for p, _, seen in each if S_ISDIR(seen.st_mode) and p not in foreign]
        return found[:_NAMED]

    def _close_trees(self) -> None:
        self._closed = True
        self._real.close()
        self._layer.close()


def _unless_empty(content: ContentOf, digest: str) -> Iterator[bytes]:
    if digest != EMPTY:
        yield from content(digest)


def _said(words: str) -> OutputChunk:
    return OutputChunk(f"assent: {words}\n".encode(), error=True)


def _lower(words: str) -> str:
    return words[0].lower() + words[1:]


def _file_clock() -> int:
    """Returns the time that a file would get if it changed now."""
    return time.clock_gettime_ns(_COARSE)


def _tick() -> int:
    return int(time.clock_getres(_COARSE) * 1e9)
