"""Stages what a command changes in a fresh scratch copy, exactly that, as operations of a plan.

The command sees the workspace with the draft. Nothing real changes, and all is staged or nothing.
"""

from collections.abc import Generator, Mapping, Sequence, Set
from typing import Final, Literal, TypeAlias

import msgspec

from assent.core.errors import Drift, Refused, UsageError
from assent.core.paths import ancestors, is_inside, one_line
from assent.core.plan.operation import (
    DeleteFile,
    FileOperation,
    FileState,
    MoveFile,
    RunCommand,
    WriteFile,
)
from assent.core.plan.record import PlanRecord
from assent.core.scratch import (
    DIFFERS,
    MOVED_FOLDER,
    LeftOutReason,
    ScratchChange,
    ScratchResult,
    UnreadReason,
    scratch_draft,
    unread_text,
)
from assent.core.shell.process import (
    PLAN_COMMAND_LIMITS,
    CommandSpec,
    OutputChunk,
    ProcessResult,
)
from assent.planning.drafts import Drafts, PlanContents, Staged, draft_path
from assent.planning.folder_import import paired_renames
from assent.planning.plans import Plans, reopening_events
from assent.planning.ports import Ports, WorkspaceConfig
from assent.ports.scratch import ScratchCopy
from assent.render.diff import operation_diff
from assent.runs.temporary_copy import refuse_denied_commands, streamed, temporary_copy
from assent.tools.overlay import Overlay
from assent.tools.path_patterns import PathGlob

SECONDS: Final = 1800.0  # that a command gets, if nothing else is said
MAX_DIFF_BYTES: Final = 1 << 20  # bytes of a version that is shown in a conflict
HELP: Final = "assent stage result --help"
SIZE_LIMIT: Final = "assent config get scratch.max_mb"

# Why a change was not staged: as in the copy itself, or ignored, or kept as the user has it.
NotStagedReason: TypeAlias = LeftOutReason | Literal["ignored", "mine"]


class ResultRequest(msgspec.Struct, frozen=True):
    """A command whose changes become operations, and what to do where they meet others.

    `mine` and `theirs` are paths as the user typed them, files or folders; `include` are globs.
    """

    line: str
    folder: bytes  # to run it in
    network: bool = False  # a person allowed it, for exactly this command
    keep_failed: bool = False
    mine: tuple[bytes, ...] = ()
    theirs: tuple[bytes, ...] = ()
    include: tuple[str, ...] = ()  # ignored files that are staged, too
    seconds: float = SECONDS  # most that the command gets


class ResultConflict(msgspec.Struct, frozen=True):
    """A path that the command changed, and that changed meanwhile in the workspace or the draft.

    The diff leads from the file as it is now to the command's; None if it is not text.
    """

    path: bytes
    why: str
    diff: str | None


class StagedResult(msgspec.Struct, frozen=True):
    """How the command ended and what was staged; None: nothing, for the reason that is given."""

    line: str
    ended: ProcessResult
    changed: int  # paths that the command left different, as far as they could be read
    staged: Staged | None = None
    conflicts: tuple[ResultConflict, ...] = ()
    not_staged: tuple[tuple[bytes, NotStagedReason], ...] = ()
    hard_links: tuple[bytes, ...] = ()
    commands_not_run: int = 0  # of the draft; their results were missing in the copy
    unread: UnreadReason = ""  # why not all changes could be read
    unmatched: tuple[bytes, ...] = ()  # of `mine` and `theirs`: nothing there was changed


class ResultStager:
    """Runs commands in scratch copies for their changes. No file of the user is touched."""

    def __init__(self, ports: Ports, config: WorkspaceConfig, plans: Plans, drafts: Drafts) -> None:
        self._ports, self._config = ports, config
        self._plans, self._drafts = plans, drafts
        self._contents = PlanContents(ports)

    def stage(
        self, record: PlanRecord, request: ResultRequest
    ) -> Generator[OutputChunk | StagedResult, None, None]:
        """Runs the command, streams its output, and stages its changes; the result comes last."""
        reopening_events(record)
        chosen = self._chosen(record, request)
        refuse_denied_commands([self._ports.rules.command_limits(request.line)])
        operations = self._plans.operations(record)
        commands = sum(isinstance(op, RunCommand) for op in operations)
        limits = msgspec.structs.replace(PLAN_COMMAND_LIMITS, seconds=request.seconds)
        command = CommandSpec(request.line, network=request.network)
        with temporary_copy(self._ports) as copy:
            draft = scratch_draft(operations)
            copy.apply(draft, self._contents.reader(operations), request.include)
            ended = yield from streamed(copy, command, request.folder, limits)
            found = copy.changes()
            result = StagedResult(
                request.line,
                ended,
                len(found.changes),
                not_staged=_not_staged(found, chosen),
                hard_links=found.hard_links,
                commands_not_run=commands,
                unread=found.unread,
                unmatched=chosen.unmatched(found),
            )
            if ended.code == 0 or request.keep_failed:
                result = self.stage_changes(record, result, found, chosen, copy)
        yield result

    def _chosen(self, record: PlanRecord, request: ResultRequest) -> "ChangeChoice":
        """Returns the paths that the user decided about, as the workspace has them."""
        overlay = self._contents.overlay(self._plans.operations(record))
        find = [
            tuple([draft_path(self._ports.files, overlay, path) for path in paths])
            for paths in (request.mine, request.theirs)
        ]
        for path in set(find[0]) & set(find[1]):
            raise UsageError(f"{one_line(path)} is in both --mine and --theirs.", HELP)
        return ChangeChoice(find[0], find[1])

    def stage_changes(
        self,
        record: PlanRecord,
        result: StagedResult,
        found: ScratchResult,
        chosen: "ChangeChoice",
        copy: ScratchCopy,
    ) -> StagedResult:
        """Stages all chosen changes of a command that has ended, or none and the conflicts."""
        if not found.known:
            raise Refused(
                f"{unread_text(found.unread)} Nothing was staged.",
                SIZE_LIMIT if found.unread == "size" else HELP,
            )
        record = self._plans.repository().load(record.plan_id)  # others may have staged meanwhile
        overlay = self._contents.overlay(self._plans.operations(record))
        wanted = chosen.of(found)
        for one in wanted:
            self._check_size(one)
        why = {one.path: one.why for one in found.conflicts}
        now, lost = _states(overlay, wanted, {one.path for one in found.changes} - why.keys())
        why |= dict.fromkeys(lost, MOVED_FOLDER)
        for one in wanted:
            later = copy.conflict(one)
            if later is not None or now[one.path] != one.before:
                why.setdefault(one.path, later.why if later is not None else DIFFERS)
        open_paths = [one for one in wanted if one.path in why and not chosen.takes(one.path)]
        if open_paths:
            return msgspec.structs.replace(
                result,
                conflicts=tuple(
                    ResultConflict(
                        one.path, why[one.path], self._diff(one, now[one.path], overlay, copy)
                    )
                    for one in open_paths
                ),
            )
        operations = _operations(wanted, now, found.gone)
        self._keep(operations, copy)
        return msgspec.structs.replace(result, staged=self._drafts.stage(record, operations))

    def _check_size(self, change: ScratchChange) -> None:
        if change.after is not None and change.after.size > self._config.max_file:
            raise Refused(
                f"{one_line(change.path)} is larger than {self._config.max_file >> 20} MB. Nothing "
                "was staged. To allow it, raise stage.max_file_mb in your user config.",
                HELP,
            )

    def _keep(self, operations: Sequence[FileOperation], copy: ScratchCopy) -> None:
        """Stores what the command wrote; a content that is stored already is not read again."""
        written = {op.after.digest: op.path for op in operations if isinstance(op, WriteFile)}
        for missing in self._ports.blobs.missing(written):
            digest, _ = self._contents.keep(copy.content(written[missing]))
            if digest != missing:
                raise Drift(
                    f"{one_line(written[missing])} changed in the scratch copy while it was read. "
                    "Nothing was staged.",
                    HELP,
                )

    def _diff(
        self, change: ScratchChange, now: FileState | None, overlay: Overlay, copy: ScratchCopy
    ) -> str | None:
        """Returns what leads from the file as it is now to the command's."""
        path, after = change.path, change.after
        if any(state and state.size > MAX_DIFF_BYTES for state in (now, after)):
            return None
        old = b"".join(overlay.chunks(path)) if now is not None else None
        new = b"".join(copy.content(path)) if after is not None else None
        if after is not None:
            return operation_diff(WriteFile(path, now, after), old, new)
        return operation_diff(DeleteFile(path, now), old, None) if now is not None else ""


class ChangeChoice(msgspec.Struct, frozen=True):
    """Whose version counts where the user said so; a folder stands for all in it.

    With `only`, no other changes are taken.
    """

    mine: tuple[bytes, ...] = ()
    theirs: tuple[bytes, ...] = ()
    only: tuple[PathGlob, ...] | None = None

    def of(self, found: ScratchResult) -> list[ScratchChange]:
        """Returns the changes that are to be staged."""
        return [
            one
            for one in found.changes
            if not self.keeps(one.path)
            and (self.only is None or any(glob.covers(one.path) for glob in self.only))
        ]

    def unmatched(self, found: ScratchResult) -> tuple[bytes, ...]:
        """Returns the chosen paths in which the command changed nothing."""
        chosen = (*self.mine, *self.theirs)
        changed = [one.path for one in found.changes]
        return tuple(one for one in chosen if not any(is_inside(path, one) for path in changed))

    def keeps(self, path: bytes) -> bool:
        return any(is_inside(path, one) for one in self.mine)

    def takes(self, path: bytes) -> bool:
        return any(is_inside(path, one) for one in self.theirs)


def _states(
    overlay: Overlay, wanted: Sequence[ScratchChange], own: Set[bytes]
) -> tuple[dict[bytes, FileState | None], list[bytes]]:
    """Returns what is at paths now, and those whose folder someone replaced meanwhile.

    `own` are changes of the command alone. A folder that it put in the place of a symlink or a file
    was replaced by no one else.
    """
    now: dict[bytes, FileState | None] = {}
    lost: list[bytes] = []
    for one in wanted:
        try:
            now[one.path] = _state(overlay, one.path)
        except Refused:
            if not own.isdisjoint(ancestors(one.path)):
                raise
            now[one.path] = None
            lost.append(one.path)
    return now, lost


def _state(overlay: Overlay, path: bytes) -> FileState | None:
    seen = overlay.state(path)
    return None if seen == "folder" else seen  # whether a folder goes is checked with all of it


def _not_staged(
    found: ScratchResult, chosen: ChangeChoice
) -> tuple[tuple[bytes, NotStagedReason], ...]:
    """Lists what is different in the copy and never staged, and what the user keeps."""
    rows: list[tuple[bytes, NotStagedReason]] = [(one.path, one.why) for one in found.left_out]
    rows += [(path, "ignored") for path in found.ignored]
    rows += [(one.path, "mine") for one in found.changes if chosen.keeps(one.path)]
    return tuple(sorted(rows))


def _operations(
    changes: Sequence[ScratchChange], now: Mapping[bytes, FileState | None], gone: Sequence[bytes]
) -> list[FileOperation]:
    """Returns the operations for changes; a file that only has another name is a rename."""
    folders = frozenset(gone)
    leaving = {one.path: now[one.path] for one in changes if one.after is None}
    left = {path: state for path, state in leaving.items() if state is not None}
    writes = [
        WriteFile(one.path, now[one.path], one.after)
        for one in changes
        if one.after is not None and one.after != now[one.path]
    ]
    renamed = paired_renames(left, writes, _exactly)
    moved = set(renamed.values())
    return [
        *(MoveFile(old, new, left[old], _prune(old, folders)) for new, old in renamed.items()),
        *(op for op in writes if op.path not in renamed),
        *(
            DeleteFile(path, state, _prune(path, folders))
            for path, state in left.items()
            if path not in moved
        ),
    ]


def _exactly(state: FileState) -> FileState:
    return state


def _prune(path: bytes, gone: frozenset[bytes]) -> int:
    """Counts the folders directly above a path that the command removed."""
    above = ancestors(path)
    return next((count for count, each in enumerate(above) if each not in gone), len(above))
