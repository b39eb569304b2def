"""Stages a unified or git diff as exact operations of the draft, all or nothing."""

from collections.abc import Sequence
from itertools import groupby

import msgspec

from assent.core.digest import sha256
from assent.core.errors import (
    AssentError,
    Drift,
    ImpossibleOperations,
    NoMatch,
    NotFound,
    Refused,
    UsageError,
)
from assent.core.patch.file_patch import (
    MAX_CONTENT_BYTES,
    FilePatch,
    apply_hunks,
    binary_content,
    check_kind,
    check_target,
    is_applied,
    is_executable,
    is_link,
    target_mode,
)
from assent.core.patch.parser import parse_patch
from assent.core.paths import (
    base_name,
    display_path,
    is_too_long,
    one_line,
    parent,
    refuse_own_paths,
)
from assent.core.plan.operation import DeleteFile, FileOperation, FileState, MoveFile, WriteFile
from assent.core.plan.record import PlanRecord
from assent.core.text import counted
from assent.planning.drafts import LINK_MODE, Drafts, PlanContents, Staged, nothing_staged
from assent.planning.path_checks import FilenameCase, differs_only_in_case
from assent.planning.plans import reopening_events
from assent.planning.ports import Ports, WorkspaceConfig
from assent.tools.overlay import Overlay

MAX_SHOWN = 80  # characters of a path that is too long
DIFF_COMMAND = "git diff --binary | assent stage patch -"


class PatchResult(msgspec.Struct, frozen=True):
    """The result: staged operations, and what did not apply exactly as the patch said."""

    staged: Staged
    notes: tuple[str, ...]


class Patches:
    """Stages patches. Nothing here touches the user's files."""

    def __init__(self, ports: Ports, config: WorkspaceConfig, drafts: Drafts) -> None:
        self._config = config
        self._drafts = drafts
        self._contents = PlanContents(ports)
        self._files = ports.files

    def stage(self, record: PlanRecord, content: bytes, strip: int | None = None) -> PatchResult:
        """Stages what a patch does to the drafted files; its paths are relative to the root.

        If one hunk does not apply, nothing is staged.
        """
        with nothing_staged(DIFF_COMMAND):
            files = parse_patch(content, strip)
        reopening_events(record)
        overlay = self._contents.overlay(self._drafts.plans.operations(record))
        tree = _PatchedTree(overlay, FilenameCase(self._files))
        with nothing_staged(DIFF_COMMAND):
            self._apply(files, tree)
        operations = tree.operations()
        tree.keep(self._contents)
        return PatchResult(self._drafts.stage(record, operations), tuple(tree.notes))

    def _apply(self, files: Sequence[FilePatch], tree: "_PatchedTree") -> None:
        for path in {path for file in files for path in (file.old, file.new)}:
            refuse_own_paths(path, self._config.plan_dir, self._config.private)
            if is_too_long(path):
                raise UsageError(f"{one_line(path)[:MAX_SHOWN]}… is longer than a path can be.")
        for _, group in groupby(files, lambda file: file.group):
            _PatchGroup(tree).apply(list(group))


class _PatchedTree:
    """Files with the draft on top and what the patch made of them so far."""

    def __init__(self, overlay: Overlay, spelling: FilenameCase) -> None:
        self._overlay = overlay
        self.spelling = spelling
        self._first: dict[bytes, FileState | None] = {}  # in the order of the patch
        self._now: dict[bytes, FileState | None] = {}
        self._fresh: dict[str, bytes] = {}  # contents that the patch made
        self._copied: list[FileState] = []
        self._origins: dict[str, bytes] = {}
        self._renamed: dict[bytes, bytes] = {}
        self.notes: list[str] = []

    def state(self, path: bytes) -> FileState | None:
        """Returns what stands under a name; a folder may make room, which is checked at the end."""
        if path not in self._now:
            seen = self._overlay.state(path)
            state = None if seen == "folder" else seen
            self._first[path] = self._now[path] = state
            if state:
                self._origins.setdefault(state.digest, path)
        return self._now[path]

    def content(self, state: FileState) -> bytes:
        if state.digest in self._fresh:
            return self._fresh[state.digest]
        path = self._origins[state.digest]
        content = self._overlay.content(path, MAX_CONTENT_BYTES)
        _check_read(path, sha256(content), state)
        return content

    def made(self, content: bytes) -> tuple[str, int]:
        """Remembers a new content; nothing is kept before all of the patch fits."""
        digest = sha256(content)
        self._fresh[digest] = content
        return digest, len(content)

    def put(self, path: bytes, state: FileState | None) -> None:
        self._now[path] = state

    def free_own(self, path: bytes, to: bytes) -> None:
        """Where a new name in other case is the file itself, takes the name for free."""
        if to in self._now or not differs_only_in_case(path, to):
            return
        if base_name(to) not in self._overlay.names(parent(to)):
            self._first[to] = self._now[to] = None

    def carry(self, path: bytes, to: bytes) -> None:
        self._renamed[to] = self._renamed.get(path, path)

    def copy(self, state: FileState) -> None:
        self._copied.append(state)

    def keep(self, contents: PlanContents) -> None:
        """Puts every content that the operations bring into the blob store."""
        wanted = {state.digest for state in self._now.values() if state}
        for digest, content in self._fresh.items():
            if digest in wanted:
                contents.keep([content])
        for state in self._copied:
            if state.digest not in self._fresh:
                path = self._origins[state.digest]
                _check_read(path, contents.keep(self._overlay.chunks(path))[0], state)

    def operations(self) -> list[FileOperation]:
        """Returns the fewest operations that lead from the files as they are to what is made."""
        moved = dict(filter(self._is_move, self._renamed.items()))
        left = set(moved.values())
        found: list[FileOperation] = []
        for path, before in self._first.items():
            after, depth = self._now[path], path.count(b"/")
            if before == after or path in left:
                continue
            if path in moved and after is not None:
                found.append(MoveFile(moved[path], path, after, moved[path].count(b"/")))
            elif after is not None:
                found.append(WriteFile(path, before, after))
            elif before is not None:
                found.append(DeleteFile(path, before, depth))
        return found

    def _is_move(self, pair: tuple[bytes, bytes]) -> bool:
        to, path = pair
        stays = self._first[path] is not None and self._now[to] == self._first[path]
        return stays and self._now[path] is None and self._first[to] is None


class _PatchGroup:
    """One diff of two trees: where names come from and go to does not depend on its order."""

    def __init__(self, tree: _PatchedTree) -> None:
        self._tree = tree
        self._gone: set[bytes] = set()
        self._made: dict[bytes, FileState] = {}
        self._fresh: list[FilePatch] = []  # those that need a free name

    def apply(self, files: Sequence[FilePatch]) -> None:
        """Applies every file, or raises for the first that does not fit."""
        for file in files:
            try:
                self._apply(file)
            except NoMatch as error:
                raise NoMatch(_about(file, error), error.next or DIFF_COMMAND) from error
        for file in self._fresh:
            self._check_free(file)
        for path in self._gone:
            self._tree.put(path, None)
        for path, state in self._made.items():
            self._tree.put(path, state)

    def _apply(self, file: FilePatch) -> None:
        before = self._before(file)
        if file.how == "delete":
            self._delete(file, before)
            return
        if before is None and file.how != "create" and not file.unsure:
            raise NotFound(
                f"The patch changes {one_line(file.old)}, which does not exist.", DIFF_COMMAND
            )
        after = self._after(file, before)
        if file.how in ("create", "rename", "copy"):
            if file.new in self._made:
                raise ImpossibleOperations(f"The patch creates {one_line(file.new)} twice.")
            if file.how == "rename":
                self._tree.free_own(file.old, file.new)
            self._tree.state(file.new)
            self._fresh.append(file)
        if file.how == "rename":
            if file.old in self._gone:
                raise ImpossibleOperations(f"The patch removes {one_line(file.old)} twice.")
            self._gone.add(file.old)
            self._tree.carry(file.old, file.new)
        if file.how == "copy" or (file.how == "rename" and after != before):
            self._tree.copy(after)
        self._made[file.new] = after

    def _before(self, file: FilePatch) -> FileState | None:
        """Returns what a file is made from: of a rename or copy, what stood before the patch."""
        if file.how == "create":
            return None
        if file.how not in ("rename", "copy"):
            if file.old in self._made:
                return self._made[file.old]
            if file.old in self._gone:
                return None
        return self._tree.state(file.old)

    def _delete(self, file: FilePatch, before: FileState | None) -> None:
        if before is None:
            self._tree.notes.append(f"{one_line(file.old)} is already deleted.")
            return
        check_kind(file, before)
        left = self._content(file, before)
        if left:
            raise NoMatch(f"it has {counted(len(left), 'byte')} that the patch does not cover.")
        self._made.pop(file.old, None)
        self._gone.add(file.old)

    def _after(self, file: FilePatch, before: FileState | None) -> FileState:
        if before is not None:
            check_kind(file, before)
        link = is_link(file, before)
        mode = LINK_MODE if link else target_mode(file, before)
        kept = before is not None and not file.hunks and file.binary is None
        if kept and before is not None:
            after = msgspec.structs.replace(before, mode=mode)
        else:
            content = self._content(file, before)
            if link:
                check_target(content)
            made = self._tree.made(content)
            after = FileState(*made, mode, "link" if link else "file")
        if after == before and file.how == "change":
            self._tree.notes.append(f"{one_line(file.new)} already matches the patch.")
        return after

    def _content(self, file: FilePatch, before: FileState | None) -> bytes:
        """Returns the content that a file gets, from the one that it has."""
        old = self._tree.content(before) if before else b""
        if file.binary is not None:
            try:
                return binary_content(file, old, fresh=before is None)
            except Refused as refused:
                raise Refused(_about(file, refused), DIFF_COMMAND) from refused
        try:
            fit = apply_hunks(old, file.hunks)
        except NoMatch:
            if file.how == "change" and is_applied(old, file.hunks):
                return old
            raise
        self._tree.notes += [_moved(file, *pair) for pair in fit.moved]
        return fit.content

    def _check_free(self, file: FilePatch) -> None:
        """Refuses a name that is taken, unless exactly this file is there."""
        seen, made = self._tree.state(file.new), self._made.get(file.new)
        if seen is None or file.new in self._gone or made is None:
            return
        same = (seen.digest, seen.kind) == (made.digest, made.kind)
        if file.how != "create" or not same or is_executable(seen.mode) != is_executable(made.mode):
            self._tree.spelling.refuse_own(file.old, file.new)
            next = f"assent stage delete {display_path(file.new)}"
            raise ImpossibleOperations(
                f"The patch creates {one_line(file.new)}, which already exists.", next
            )
        self._made[file.new] = seen
        self._tree.notes.append(f"{one_line(file.new)} already exists with this content.")


def _about(file: FilePatch, error: AssentError) -> str:
    return f"{one_line(file.new)}: {error.message} Nothing was staged."


def _check_read(path: bytes, digest: str, state: FileState) -> None:
    if digest != state.digest:
        again = "assent stage patch FILE"
        raise Drift(f"{one_line(path)} changed while it was read. Nothing was staged.", again)


def _moved(file: FilePatch, number: int, lines: int) -> str:
    where = f"{abs(lines)} line{'s' if abs(lines) > 1 else ''} {'down' if lines > 0 else 'up'}"
    return f"{one_line(file.new)}: hunk {number} applies {where} from its stated position."
