"""Drafts: stages exact operations with contents, composes them, and unstages them."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from posixpath import normpath
from typing import Literal

import msgspec

from assent.core.digest import sha256
from assent.core.errors import (
    AssentError,
    Busy,
    ConcurrentChange,
    Drift,
    IllegalState,
    ImpossibleOperations,
    NoMatch,
    NotFound,
    Refused,
    StoreError,
    UsageError,
    WorkspaceError,
)
from assent.core.paths import (
    base_name,
    casefolded,
    display_path,
    is_inside,
    normalize,
    parent,
    refuse_deep_paths,
    refuse_own_paths,
)
from assent.core.plan.draft import (
    check_tree,
    content_sources,
    dependent_operations,
    refuse_similar_names,
    stage,
)
from assent.core.plan.draft_index import Draft, DraftIndex, NamedOperation
from assent.core.plan.operation import (
    DeleteFile,
    FileState,
    MoveFile,
    Operation,
    RunCommand,
    WriteFile,
    footprint,
    found_operations,
)
from assent.core.plan.record import PlanRecord
from assent.core.run.slot_move import PathState
from assent.planning.command_operation import checked_command, command_folder
from assent.planning.path_checks import (
    FilenameCase,
    refuse_case_collisions,
    refuse_denied,
    refuse_git_paths,
)
from assent.planning.plans import Plans, reopening_events
from assent.planning.ports import Ports, WorkspaceConfig
from assent.planning.projections import PlanProjections
from assent.ports import WorkspaceFiles
from assent.tools.overlay import Overlay

# Finds and replaces the one match of an exact edit in a stream, without holding the stream.


def count_matches(chunks: Iterable[bytes], wanted: bytes) -> tuple[int, int]:
    """Counts where `wanted` occurs without overlap, and returns the first offset (-1 if none)."""
    count, first, base, window = 0, -1, 0, b""
    for chunk in chunks:
        window += chunk
        at = window.find(wanted)
        end = 0
        while at >= 0:
            count += 1
            first = base + at if first < 0 else first
            end = at + len(wanted)
            at = window.find(wanted, end)
        cut = max(end, len(window) - len(wanted) + 1)
        base, window = base + cut, window[cut:]
    return count, first


def splice(chunks: Iterable[bytes], at: int, length: int, put: bytes) -> Iterator[bytes]:
    """Streams the content with `length` bytes at an offset replaced."""
    position, done = 0, False
    for chunk in chunks:
        start, end = position, position + len(chunk)
        position = end
        if end <= at or start >= at + length:
            if start >= at + length and not done:
                yield put
                done = True
            yield chunk
            continue
        if start <= at:
            yield chunk[: at - start]
        if end >= at + length:
            yield put
            done = True
            yield chunk[at + length - start :]
    if not done:
        yield put


# Reads the bytes of a file state and stores in blobs what a plan refers to.


class PlanContents:
    """Reads files and drafts, and stores what a plan names before the plan names it."""

    def __init__(self, ports: Ports) -> None:
        self._ports = ports

    def overlay(self, operations: Sequence[Operation] | DraftIndex = ()) -> Overlay:
        """Returns the files with these operations applied."""
        return Overlay(self._ports.files, self._ports.blobs, operations)

    def reader(self, operations: Iterable[Operation]) -> Callable[[str], Iterator[bytes]]:
        """Returns what reads the content of a digest that operations name.

        What a draft only moves is not stored: it is read where it still is.
        """
        sources: dict[str, bytes] = {}

        def chunks(digest: str) -> Iterator[bytes]:
            if self._ports.blobs.has(digest):
                return self._ports.blobs.chunks(digest)
            if not sources:
                found = content_sources(operations)
                sources.update({state.digest: path for state, path in found.items()})
            if digest not in sources:
                return self._ports.blobs.chunks(digest)  # says what is missing
            return self._from_disk(sources[digest], digest)

        return chunks

    def _from_disk(self, path: bytes, digest: str) -> Iterator[bytes]:
        read = hashlib.sha256()
        for chunk in self.overlay().chunks(path):
            read.update(chunk)
            yield chunk
        if read.hexdigest() != digest:
            raise Drift(
                f"{display_path(path)} changed since it was staged. Nothing was run.",
                "assent review",
            )

    def keep(self, chunks: Iterable[bytes]) -> tuple[str, int]:
        """Stores new content as a blob."""
        return self._ports.blobs.keep(chunks)

    def keep_all(self, operations: Iterable[Operation], added: Iterable[Operation]) -> None:
        """Stores every content that the added operations replace, remove or bring.

        The caller flushes, together with what names them.
        """
        every = tuple(added)
        missing = self._missing(every)
        if missing:
            self._keep_from_disk(content_sources(operations), missing)

    def keep_added(self, draft: DraftIndex, added: Iterable[Operation]) -> None:
        """Does the same for a draft of which most was stored before."""
        every = tuple(added)
        missing = self._missing(every)
        if not missing:
            return
        # Mostly the files themselves, unless an earlier operation already replaces them.
        origin = content_sources(every)
        if any(draft.is_changed_before(origin.get(state)) for state in missing):
            origin = content_sources(draft.operations)
        self._keep_from_disk(origin, missing)

    def _missing(self, every: Sequence[Operation]) -> list[FileState]:
        # A rename needs no copy: its inverse is a rename.
        old = [op.before for op in every if type(op) is WriteFile or type(op) is DeleteFile]
        new = [op.after for op in every if type(op) is WriteFile]
        # Old ones come last: of two with one content, those are where it can be read from.
        states = {state.digest: state for state in (*new, *old) if state}
        return [states[digest] for digest in self._ports.blobs.missing(states)]

    def _keep_from_disk(self, origin: Mapping[FileState, bytes], wanted: list[FileState]) -> None:
        for state in wanted:
            path = origin.get(state)
            if path is None:
                raise StoreError(
                    f"The content {state.digest[:12]}… is neither stored nor on disk. Nothing was "
                    "changed.",
                    "assent status",
                )
            digest, _ = self._ports.blobs.keep(self.overlay().chunks(path))
            if digest != state.digest:
                raise Drift(
                    f"{display_path(path)} changed while it was being read.", "assent stage list"
                )


DEFAULT_MODE = 0o644
MAX_TRIES = 20  # at a draft that others are changing, too
LINK_MODE = 0o777


class KeptOperation(msgspec.Struct, frozen=True):
    """Why what a reference names was not removed from a draft.

    It names no operation, or these several, or the one that it names is needed by these.
    """

    reference: str
    why: Literal["unknown", "ambiguous", "needed"]
    others: tuple[NamedOperation, ...] = ()


class Staged(msgspec.Struct, frozen=True):
    """The result of staging: the plan, and the operations that were added to its draft.

    `removed` are those that a user or a model removed from it.
    """

    record: PlanRecord
    added: tuple[NamedOperation, ...]
    removed: tuple[NamedOperation, ...] = ()
    changed: Mapping[str, str] = {}  # by the id of an added one, that of the one it replaces
    gone: tuple[NamedOperation, ...] = ()  # what was added cancels these out
    kept: tuple[KeptOperation, ...] = ()  # what could not be removed


class Drafts:
    """Changes what a plan would do. Nothing here touches the user's files."""

    def __init__(
        self, ports: Ports, config: WorkspaceConfig, plans: Plans, projections: PlanProjections
    ) -> None:
        self._ports = ports
        self._plan_dir = config.plan_dir
        self._private = config.private
        self.plans = plans
        self._projections = projections
        self._contents = PlanContents(ports)

    def write(
        self, record: PlanRecord, argument: bytes, content: Iterable[bytes] | None, mode: int | None
    ) -> Staged:
        """Stages new content, a new mode (content None), or both."""
        draft = self._drafted(record)
        path = self._file(argument, draft)
        before = self._before(draft, path)
        if content is None:
            if before is None or before.kind == "link" or mode is None:
                raise UsageError(
                    f"{display_path(path)} is not a file, so its mode cannot be changed."
                )
            return self._stage_write(
                record, path, before, msgspec.structs.replace(before, mode=mode)
            )
        digest, size = self._contents.keep(content)
        if mode is None:
            mode = before.mode if before and before.kind == "file" else DEFAULT_MODE
        return self._stage_write(record, path, before, FileState(digest, size, mode))

    def link(self, record: PlanRecord, argument: bytes, target: bytes) -> Staged:
        """Stages a symlink."""
        if not target or b"\0" in target:
            raise UsageError("A symlink needs a target.")
        draft = self._drafted(record)
        path = self._path(argument, draft)
        before = self._before(draft, path)
        self._contents.keep([target])
        after = FileState(sha256(target), len(target), LINK_MODE, "link")
        return self._stage_write(record, path, before, after)

    def edit(self, record: PlanRecord, argument: bytes, find: bytes, put: bytes) -> Staged:
        """Stages an exact edit: `find` must occur once."""
        if not find:
            raise UsageError(
                "The text to find is empty.", "assent stage edit PATH --find OLD --put NEW"
            )
        draft = self._drafted(record)
        path = self._file(argument, draft)
        before = self._before(draft, path)
        if before is None or before.kind == "link":
            raise NotFound(
                f"{display_path(path)} is not a file that can be edited.",
                "assent stage write PATH --from -",
            )
        count, at = count_matches(draft.chunks(path), find)
        if count != 1:
            raise NoMatch(
                f"The text to find must occur exactly once in {display_path(path)}; it occurs "
                f"{count} times.",
                "assent stage edit PATH --find MORE_CONTEXT --put NEW",
            )
        digest, size = self._contents.keep(splice(draft.chunks(path), at, len(find), put))
        after = FileState(digest, size, before.mode)
        return self._stage_write(record, path, before, after)

    def delete(self, record: PlanRecord, argument: bytes) -> Staged:
        """Stages the removal of a file, a symlink, or all files of a folder."""
        draft = self._drafted(record)
        path = self._path(argument, draft)
        path = FilenameCase(self._ports.files, draft.drafted()).path_on_disk(path)
        operations = [
            DeleteFile(file, state, file.count(b"/") - path.count(b"/"))
            for file, state in self._files(draft, path)
        ]
        return self.stage(record, operations)

    def move(self, record: PlanRecord, source: bytes, target: bytes) -> Staged:
        """Stages a rename of a file, symlink or folder; into the target if that is a folder."""
        draft = self._drafted(record)
        path, to = self._path(source, draft), self._path(target, draft)
        if draft.state(to) == "folder" and not _only_case(path, to):
            to = self._path(b"/".join([target.rstrip(b"/"), base_name(path)]), draft)
        if is_inside(to, path) and to != path:
            raise ImpossibleOperations(f"{display_path(path)} cannot be moved into itself.")
        operations = [
            MoveFile(file, to + file[len(path) :], state, file.count(b"/") - path.count(b"/"))
            for file, state in self._files(draft, path)
        ]
        goals = draft.states([op.to for op in operations])
        for op in operations:
            if goals[op.to] is not None:
                self._check_free(draft, op, goals[op.to])
        return self.stage(record, operations)

    def run(
        self,
        record: PlanRecord,
        command: RunCommand,
        typed: bytes | None = None,
        *,
        at_end: bool = False,
    ) -> Staged:
        """Stages a command; `typed` is its folder as the user typed it. Nothing is run.

        One that is `at_end` stays behind what is staged later.
        """
        draft = self._drafted(record)
        if typed is not None:
            folder = command_folder(typed, partial(draft_path, self._ports.files, draft))
            command = msgspec.structs.replace(command, cwd=folder)
        if command.cwd:
            refuse_own_paths(command.cwd, self._plan_dir, self._private)
        return self.stage(record, [checked_command(command, draft)], at_end=at_end)

    def remove(self, record: PlanRecord, reference: str) -> Staged:
        """Removes one operation from the draft."""
        reopening_events(record)
        draft = self.plans.staged(record)
        operations, ids = draft.operations, draft.index.ids
        found = [op for op in ids if op.startswith(reference)] if reference else []
        if len(found) != 1:
            raise NotFound(
                f"{reference!a} matches {len(found)} operations; it must match exactly one.",
                "assent stage list",
            )
        at = ids.index(found[0])
        replaced = self._replace(record, draft, draft.index.without((at,)))
        return msgspec.structs.replace(replaced, removed=((found[0], operations[at]),))

    def unstage(self, record: PlanRecord, references: Sequence[str]) -> Staged:
        """Removes operations by ids or paths, as many as nothing that stays depends on.

        What cannot be removed is `kept`, each with the reason; nothing of it is raised.
        """
        reopening_events(record)
        draft = self.plans.staged(record)
        operations, ids = draft.operations, draft.index.ids
        named = tuple(zip(ids, operations, strict=True))
        wanted, kept = dict[int, str](), list[KeptOperation]()
        for reference in dict.fromkeys(references):
            found = found_operations(ids, operations, reference)
            if len(found) == 1:
                wanted.setdefault(found[0], reference)
                continue
            several = tuple([named[at] for at in found])
            kept.append(KeptOperation(reference, "ambiguous" if found else "unknown", several))
        for at, later in dependent_operations(operations, wanted.keys()).items():
            rests = tuple([named[each] for each in later])
            kept.append(KeptOperation(wanted.pop(at), "needed", rests))
        if not wanted:
            return Staged(record, (), kept=tuple(kept))
        places = sorted(wanted)
        replaced = self._replace(record, draft, draft.index.without(places))
        removed = tuple([named[at] for at in places])
        gone = tuple([pair for pair in replaced.gone if pair not in removed])
        return msgspec.structs.replace(replaced, removed=removed, gone=gone, kept=tuple(kept))

    def content_reader(self, operations: Iterable[Operation]) -> Callable[[str], Iterator[bytes]]:
        """Returns what reads the contents of a draft, for a copy that it is put into."""
        return self._contents.reader(operations)

    def clear(self, record: PlanRecord) -> Staged:
        """Removes every operation from the draft."""
        draft = self.plans.staged(record)
        gone = tuple(zip(draft.index.ids, draft.operations, strict=True))
        return Staged(self._replace(record, draft, DraftIndex()).record, (), gone)

    def stage(
        self,
        record: PlanRecord,
        operations: Sequence[Operation],
        *,
        synced: bool = True,
        at_end: bool = False,
    ) -> Staged:
        """Adds operations to the draft, composed with earlier ones; contents are stored first.

        What rules deny is refused; it can still be removed from a draft that has it. Without
        `synced` the caller records something else next, and waits for that. Commands that are
        `at_end` stay behind what is staged later.
        """
        for op in operations:
            for path, *_ in footprint(op):
                refuse_deep_paths(path)
        reopening_events(record)
        refuse_denied(self._ports, operations, "Nothing was staged.")
        for _ in range(MAX_TRIES):
            try:
                draft = self.plans.staged(record)
                last = [op for op in operations if at_end and isinstance(op, RunCommand)]
                rest = operations if not last else [op for op in operations if op not in last]
                wanted = draft.index.staged(rest)
                wanted = wanted.staged_at_end(last) if last else wanted
                if wanted.has_similar_names:
                    refuse_similar_names(wanted.operations)
                if wanted.has_case_pairs:
                    refuse_case_collisions(self._ports.files, wanted.operations)
                return self._replace(record, draft, wanted, synced=synced)
            except ConcurrentChange:  # another writer staged meanwhile; that is no reason to stop
                record = self.plans.repository().load(record.plan_id)
        raise Busy(
            "Other processes keep changing this plan. Nothing was staged.", "assent stage list"
        )

    def _drafted(self, record: PlanRecord) -> Overlay:
        reopening_events(record)  # of a plan that cannot be changed, nothing else is said
        return self._contents.overlay(self.plans.staged(record).index)

    def _replace(
        self, record: PlanRecord, draft: Draft, wanted: DraftIndex, *, synced: bool = True
    ) -> Staged:
        """Makes another draft of one; what did not change was checked when it was staged."""
        files = self._ports.files
        wanted.check(draft.index, files.is_file, files.below)
        change = wanted.change_from(draft.index)
        added = [op for _, op in change.added]
        refuse_git_paths(files, added, wanted.coming, wanted.going)
        self._contents.keep_added(wanted, added)
        if not change.added and not change.gone and wanted.at_end == draft.at_end:
            return Staged(self.plans.draft(record), ())
        changed, event = self.plans.repository().change_draft(draft, wanted, change)
        record = self.plans.draft(record, event, synced=synced)
        self.plans.last_draft = changed
        self._projections.draft(record, wanted.operations, wanted.ids)
        replaced = change.changed
        again = set(replaced.values())
        gone = tuple([pair for pair in change.gone if pair[0] not in again])
        return Staged(record, change.added, changed=replaced, gone=gone)

    def _stage_write(
        self, record: PlanRecord, path: bytes, before: FileState | None, after: FileState
    ) -> Staged:
        if before == after:
            return Staged(self.plans.draft(record), ())
        staged = self.stage(record, [WriteFile(path, before, after)])
        about_it = [pair for pair in staged.added if _touches(pair[1], path)]
        rest = [pair for pair in staged.added if not _touches(pair[1], path)]
        return msgspec.structs.replace(staged, added=(*about_it, *rest))

    def _path(self, argument: bytes, draft: Overlay) -> bytes:
        path = draft_path(self._ports.files, draft, argument)
        refuse_own_paths(path, self._plan_dir, self._private)
        return path

    def _file(self, argument: bytes, draft: Overlay) -> bytes:
        """Returns the file that is written under a name: of a symlink, the one that it leads to.

        That is what a model's tools write, too. One that leads outside is refused, and stays.
        """
        path = self._path(argument, draft)
        if draft.link_target(path) is None:
            return path
        try:
            real = draft.follow(path)
            refuse_own_paths(real, self._plan_dir, self._private)
        except Refused as refused:
            raise Refused(
                f"{display_path(path)} is a symlink. {refused.message} Nothing was staged.",
                f"assent stage delete {display_path(path)}",
            ) from refused
        return real

    def _before(self, draft: Overlay, path: bytes) -> FileState | None:
        seen = draft.state(path)
        if seen != "folder":
            return seen
        if any(is_inside(gone, path) for gone, after in draft.drafted().items() if after is None):
            return None  # check_tree says whether the draft really empties the folder
        raise ImpossibleOperations(
            f"{display_path(path)} is a folder.", f"assent stage delete {display_path(path)}"
        )

    def _files(self, draft: Overlay, path: bytes) -> list[tuple[bytes, FileState]]:
        """Returns the files under a name with the draft applied: the file itself, or a folder's."""
        seen = draft.state(path)
        if isinstance(seen, FileState):
            return [(path, seen)]
        below = draft.below(path)
        for file in below:
            refuse_own_paths(file, self._plan_dir, self._private)
        looked = draft.states(below)
        files = [(file, state) for file in below if isinstance(state := looked[file], FileState)]
        if not files:
            what = "is an empty folder" if seen == "folder" else "does not exist"
            raise NotFound(f"{display_path(path)} {what}; there is nothing to stage.")
        return files

    def _check_free(self, draft: Overlay, op: MoveFile, seen: PathState) -> None:
        """Refuses a new name that something has, except the file itself or an emptied folder."""
        path, to = op.path, op.to
        if seen == "folder" and self._before(draft, to) is None:
            return
        listed = base_name(to) in self._ports.files.names(parent(to))
        if _only_case(path, to) and seen == op.before and not listed:
            return  # a file system without case: the new name is the file itself
        FilenameCase(self._ports.files).refuse_own(path, to)
        raise ImpossibleOperations(
            f"{display_path(to)} exists.", f"assent stage delete {display_path(to)}"
        )


def draft_path(files: WorkspaceFiles, draft: Overlay, argument: bytes) -> bytes:
    """Returns the path that a user typed, with symlinks resolved as in the draft."""
    if not argument.startswith(b"/"):
        refuse_deep_paths(normpath(argument))
    return files.locate(argument, draft.link_target if draft.has_links else None)


def _touches(op: Operation, path: bytes) -> bool:
    return any(touched == path for touched, *_ in footprint(op))


def _only_case(path: bytes, to: bytes) -> bool:
    return path != to and casefolded(path) == casefolded(to)


# Adds to a staging error that nothing was staged, and which command to type next.


_SAFE = "Nothing was "  # changed, or staged


@contextmanager
def nothing_staged(next: str, look: str = "") -> Iterator[None]:
    """Adds to an error that nothing was staged, and the next command; `look` if a file failed.

    Errors of the store, and about a plan that cannot be changed, already say so themselves.
    """
    try:
        yield
    except (StoreError, IllegalState):
        raise
    except AssentError as error:
        if _SAFE not in error.message:
            error.message += f" {_SAFE}staged."
        if not error.next:
            error.next = look if look and isinstance(error, WorkspaceError) else next
        raise


# Adds the file with the plan's own text as an operation of the plan (plan.export).


EXPORT_MODE = 0o644


class PlanExport:
    """Adds the export when a plan is frozen; the draft never has it, so it is never doubled."""

    def __init__(self, ports: Ports, config: WorkspaceConfig) -> None:
        self._ports = ports
        self._config = config
        self._contents = PlanContents(ports)

    def added(self, text: bytes, operations: tuple[Operation, ...]) -> tuple[Operation, ...]:
        """Returns the operations with the export, if it is configured and not done yet."""
        if not self._config.export:
            return operations
        path = self.path()
        before = self._contents.overlay(operations).state(path)
        if before == "folder":
            raise ImpossibleOperations(
                f"plan.export points to {display_path(path)}, which is a folder."
            )
        digest, size = self._contents.keep([text])
        mode = before.mode if before and before.kind == "file" else EXPORT_MODE
        export = WriteFile(path, before, FileState(digest, size, mode))
        if export.before == export.after:
            return operations
        refuse_denied(
            self._ports, [export], "plan.export adds this file, so the plan was not proposed."
        )
        changed = stage(operations, [export])
        check_tree(changed, self._ports.files.is_file, self._ports.files.below)
        self._contents.keep_all(changed, [op for op in changed if op not in operations])
        return changed

    def path(self) -> bytes:
        """Returns where the export goes; refuses a path that no plan may touch."""
        try:
            path = normalize(self._config.export)
        except Refused as refused:
            raise Refused(f"plan.export: {refused.message}") from refused
        refuse_own_paths(path, self._config.plan_dir, self._config.private)
        return path
