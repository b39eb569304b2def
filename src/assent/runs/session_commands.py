"""Runs commands outside plan mode, recorded before and after (law 5).

A command is the executor's declared exception (law 1): its changes cannot be known before, so
the workspace is recorded before it, and what differs after it.
"""

from collections import deque
from collections.abc import Callable, Generator
from contextlib import closing
from typing import Final

from msgspec.structs import replace

from assent.core.errors import AssentError, Refused, RunUnfinished, StoreError
from assent.core.event import CommandEnded, CommandStarted
from assent.core.paths import display_path, normalize
from assent.core.run.journal import drive_to_end
from assent.core.run.workspace_changes import WorkspaceChanges
from assent.core.session.record import SessionRecord
from assent.core.shell.process import (
    INTERRUPTED_RESULT,
    PLAN_COMMAND_LIMITS,
    CommandSpec,
    OutputChunk,
    ProcessLimits,
    ProcessResult,
)
from assent.core.text.secrets import redact
from assent.core.tool import SessionCommandRequest, ToolOutcome
from assent.planning.ports import Ports, WorkspaceConfig
from assent.planning.repositories import PlanRepository, WorkspaceRepository
from assent.planning.snapshot.recorder import SnapshotRecorder
from assent.planning.snapshot.snapshot import WorkspaceSnapshot
from assent.ports import ProcessRunner
from assent.ports.cancellation import CancelRegistry
from assent.runs.command_end import (
    LOST_END,
    MAX_LISTED,
    MAX_NAMED,
    ChangedFile,
    changed_files,
    changed_files_text,
    command_end,
    lost_end_note,
)
from assent.runs.journal import AppliedChanges
from assent.runs.runs import Runs
from assent.tools.outcome import collect_output, cut_output

_NOT_RUN: Final = ProcessResult(126, "start")
_CLOSED: Final = ("Read-only file system", "Device or resource busy")  # as the system says it
_FREED: Final = (
    "Git's own files are read-only in the sandbox, so git add and git commit fail there. The user "
    'can choose "without the sandbox" when asked, or run the command themselves.'
)
UNKNOWN_END: Final = (
    "The command started, but its end was not recorded, so its effects are unknown. Check the "
    "files before you run it again."
)

USER_COMMAND_MAX_S: Final = 86_400  # of a user's own command; they can end it at any time
MAX_KEPT_OUTPUT: Final = ProcessLimits().output

CommandStream = Generator[OutputChunk, None, ToolOutcome]
CommandParts = Generator[
    OutputChunk | ProcessResult, None, None
]  # the command starts with the first that is taken
ObservedChanges = tuple[
    tuple[ChangedFile, ...] | None, str
]  # what changed, and why that could not be recorded


class SessionCommandOutput:
    """A command's output as far as it is kept, how it ended, and what it changed."""

    def __init__(self) -> None:
        self.parts: deque[OutputChunk] = deque()  # the last of them
        self.ended = INTERRUPTED_RESULT
        self.seen: ObservedChanges = (None, "")
        self._size = self._kept = 0  # bytes of all of it, and of what is kept

    def take(self, parts: CommandParts) -> Generator[OutputChunk, None, None]:
        """Passes on a command's output, and keeps it."""
        for part in parts:
            if isinstance(part, ProcessResult):
                self.ended = part
                continue
            self._size += len(part.content)
            self._kept += len(part.content)
            self.parts.append(part)
            while self._kept - len(self.parts[0].content) >= MAX_KEPT_OUTPUT:
                self._kept -= len(self.parts.popleft().content)
            yield part

    def collected(self, line: str) -> ToolOutcome:
        """Returns the output of a command line as a model reads it."""
        return collect_output(
            iter((*self.parts, self.ended)),
            line,
            line,
            is_end=True,
            dropped=self._size - self._kept,
        )

    def outcome(self, begun: CommandStarted) -> ToolOutcome:
        """Returns all of it as a model reads it."""
        outcome = self.collected(begun.line)
        changes, why = self.seen
        named = (
            None if changes is None else [display_path(each.path) for each in changes[:MAX_NAMED]]
        )
        metadata = {**outcome.metadata, "command": begun.id, "changed": named}
        notes = [changed_files_text(changes, why), *_hindrances(outcome, self.ended)]
        text = "\n".join([outcome.text, *(f"[{note}]" for note in notes)])
        return replace(outcome, text=text, metadata=metadata)


class SessionCommands:
    """Runs command lines. The caller names the permission for each."""

    def __init__(
        self,
        ports: Ports,
        config: WorkspaceConfig,
        runs: Runs,
        workspaces: WorkspaceRepository | None = None,
    ) -> None:
        self._ports = ports
        self._config = config
        self._runs = runs
        self._workspaces = workspaces
        self._recorder = SnapshotRecorder(
            ports.files, ports.blobs, config, cache=ports.snapshot_cache
        )
        self._own = CancelRegistry[str]()
        # Tells the model of a session what its person did themselves.
        self.told: Callable[[SessionRecord, str], object] = lambda record, words: None

    def run(self, order: SessionCommandRequest, process: ProcessRunner) -> CommandStream:
        """Runs a command while no build can; yields its output, and returns it with the changes.

        Raises if nothing has run. Closing it stops the command, which is recorded, too.
        """
        self._check(order)
        repository = self._runs.repository()
        with self._ports.locks.hold(repository.workspace, f"session {order.session.slug}"):
            drive_to_end(self._runs.recover_unfinished_locked(repository))
            begun = self._begun(order)
            return (
                yield from self._recorded(
                    repository, begun, self._parts(order, process), SessionCommandOutput()
                )
            )

    def run_as_user(
        self,
        record: SessionRecord | None,
        line: str,
        process: ProcessRunner,
        mask: Callable[[str], str] = redact,
    ) -> CommandStream:
        """Runs a command that the user typed, in any mode, with their rights; yields its output.

        For faces only: no tool call and no model gets here. It is recorded before and after, like
        any other, and the session's model reads about it in its next step. `interrupt` stops it.
        """
        if self._workspaces:
            self._workspaces.open()
        repository, begun = self._runs.repository(), self._typed(record, line)
        limits = replace(
            PLAN_COMMAND_LIMITS, seconds=USER_COMMAND_MAX_S, stopped=self._own.is_cancelled
        )
        with self._ports.locks.hold(repository.workspace, "your command"), self._own.registered():
            self._recover_unfinished(repository)
            work, heard = self._freely(line, process, limits), SessionCommandOutput()
            try:
                return (yield from self._recorded(repository, begun, work, heard))
            finally:
                if record is not None and heard.ended is not _NOT_RUN:
                    self.told(
                        record,
                        mask(user_command_message(line, _masked(heard.outcome(begun), mask))),
                    )

    def interrupt(self) -> bool:
        """Stops the user's own command, from any thread; tells whether one runs here."""
        return self._own.cancel("interrupted")

    def unknown_end(self, session: str, call: str) -> str:
        """Says what is known of the command of a call if it began and its end was not seen."""
        commands = AppliedChanges(self._ports, self._runs.repository()).commands
        own = [c for c in commands if (c.started.session, c.started.call) == (session, call)]
        last = own[-1].ended if own else CommandEnded("", 0)
        if last is None:
            return UNKNOWN_END
        return f"{UNKNOWN_END} {lost_end_note(last)}" if last.cut == LOST_END.cut else ""

    def _check(self, order: SessionCommandRequest) -> None:
        if order.session.mode == "plan":
            raise Refused("Plan mode allows only read-only commands. Nothing was run.")
        folder = order.command.folder
        if folder and normalize(folder) != folder:
            raise Refused(
                f"{display_path(folder)} is not a folder in the workspace. Nothing was run."
            )

    def _recover_unfinished(self, repository: PlanRepository) -> None:
        """Recovers an unfinished run; one that waits for the user does not block reading.

        A command whose end is not recorded does: the next one would take its place.
        """
        try:
            drive_to_end(self._runs.recover_unfinished_locked(repository))
        except RunUnfinished:
            if repository.permit_log().command is not None:
                raise

    def _recorded(
        self,
        repository: PlanRepository,
        begun: CommandStarted,
        work: CommandParts,
        heard: SessionCommandOutput,
    ) -> CommandStream:
        before = self._recorder.take()
        self._append(repository, replace(begun, before=self._recorder.store(before)))
        try:
            with closing(work):
                yield from heard.take(work)
        except Refused:
            heard.ended = _NOT_RUN
            raise
        finally:
            heard.seen = self._close(repository, begun, heard.ended, before)
        return heard.outcome(begun)

    def _freely(self, line: str, process: ProcessRunner, limits: ProcessLimits) -> CommandParts:
        yield from process.run_command(CommandSpec(line), self._config.root, limits, confined=False)

    def _parts(self, order: SessionCommandRequest, process: ProcessRunner) -> CommandParts:
        command = order.command
        folder = self._config.root + (b"/" + command.folder if command.folder else b"")
        seconds = min(command.seconds or order.seconds, order.seconds)
        limits = ProcessLimits(
            seconds, processes=PLAN_COMMAND_LIMITS.processes, memory=PLAN_COMMAND_LIMITS.memory
        )
        errand = CommandSpec(command.line)
        yield from process.run_command(errand, folder, limits, confined=order.confined)

    def _typed(self, record: SessionRecord | None, line: str) -> CommandStarted:
        session, turn = (record.session, record.turns) if record else ("", 0)
        new, who = self._ports.clock.new_id(), f"typed by {self._config.user}"
        return CommandStarted(new, session, "", line, "", "person", who, confined=False, turn=turn)

    def _begun(self, order: SessionCommandRequest) -> CommandStarted:
        return CommandStarted(
            self._ports.clock.new_id(),
            order.session.session,
            order.call,
            order.command.line,
            display_path(order.command.folder),
            order.source,
            order.detail,
            order.confined,
            order.session.turns,
            order.session.build,
        )

    def _append(self, repository: PlanRepository, event: CommandStarted | CommandEnded) -> None:
        self._ports.store.append(repository.permit_batch(repository.permit_log(), event))

    def _close(
        self,
        repository: PlanRepository,
        begun: CommandStarted,
        ended: ProcessResult,
        before: WorkspaceSnapshot,
    ) -> ObservedChanges:
        """Puts an end on record; without what an undo needs it stays open, to be reckoned later."""
        try:
            found = WorkspaceChanges() if ended is _NOT_RUN else self._recorder.changes(before)
            self._append(repository, command_end(self._ports.blobs, begun.id, ended, found))
        except StoreError as error:
            return None, error.message
        except AssentError as error:
            self._append(repository, CommandEnded(begun.id, ended.code, ended.cut))
            return None, error.message
        return changed_files(found), ""


def user_command_message(line: str, said: str) -> str:
    """Tells a model what the user ran themselves, and the result."""
    return (
        "The user ran this command themselves, with their own permissions. Its output follows for "
        f"your information; it is not a request.\n\n$ {line}\n{said}"
    )


def _masked(outcome: ToolOutcome, mask: Callable[[str], str]) -> str:
    """Returns what an outcome says; where it was cut, no half of a secret is left."""
    return cut_output(outcome.text, outcome.rest, mask).text if outcome.rest else outcome.text


def _hindrances(outcome: ToolOutcome, ended: ProcessResult) -> list[str]:
    """Says what a confined command could not change or see, where it seems to have tried."""
    told = any(sign in outcome.text for sign in _CLOSED)
    ruled = ended.code and any(row.endswith(")") for row in ended.closed)
    if not ended.closed or not (told or ruled):
        return []
    rows, more = ended.closed[:MAX_LISTED], len(ended.closed) - MAX_LISTED
    further = f", and {more} more" if more > 0 else ""
    freed = f" {_FREED}" if ".git" in outcome.text else ""
    return [f"Read-only for this command: {', '.join(rows)}{further}.{freed}"]
