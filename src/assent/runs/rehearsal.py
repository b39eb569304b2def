"""Tries plans: applies them in a fresh scratch copy, runs their commands and the verification.

Nothing real changes. What is recorded is evidence about exact operations, never an approval.
"""

from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from math import inf
from threading import Event, Thread
from typing import Final, Self, TypeAlias, TypeGuard

import msgspec

from assent.core.errors import AssentError, Interrupted, Refused
from assent.core.paths import display_path
from assent.core.permission.rule import PathLimits
from assent.core.plan.git_commit import is_commit
from assent.core.plan.operation import (
    FileOperation,
    FileState,
    Operation,
    RunCommand,
    command_line_text,
    footprint,
)
from assent.core.plan.plan import Plan, declared_scope
from assent.core.plan.record import PlanRecord
from assent.core.plan.rehearsal import (
    Rehearsal,
    RehearsedCommand,
    Rehearser,
    VerifyCommand,
    relied_on_hash,
)
from assent.core.run.state import segment_ranges
from assent.core.scratch import (
    ScratchDraft,
    ScratchResult,
    left_out,
    scratch_draft,
    unread_text,
)
from assent.core.shell.process import (
    MIN_SECONDS,
    PLAN_COMMAND_LIMITS,
    CommandSpec,
    OutputChunk,
    ProcessLimits,
    ProcessResult,
    never_stopped,
)
from assent.core.text.secrets import redact
from assent.core.text.terminal_codes import without_terminal_codes
from assent.executor.drift import check_disk, first_segment_files, state_text
from assent.planning.drafts import PlanContents
from assent.planning.path_checks import command_limits
from assent.planning.plans import Plans
from assent.planning.ports import Ports, WorkspaceConfig
from assent.planning.rehearsals import Rehearsals
from assent.ports.scratch import ScratchCopy
from assent.runs.staged_result import SIZE_LIMIT
from assent.runs.temporary_copy import refuse_denied_commands, streamed, temporary_copy

VERIFY_SECONDS: Final = 1800.0  # that each command gets, if nothing else is said
MAX_OUTPUT: Final = 64 << 10  # bytes that are kept of a command's output: the last ones
MAX_CHANGED: Final = 200  # paths that are recorded of one command
# Prints the commit, then the changed files; nothing of a user's configuration runs a program here.
# The workspace may be another user's: git's check of owners protects against such programs, too.
_GIT_SETTINGS: Final = "git -c core.fsmonitor=false -c 'safe.directory=*'"
_GIT: Final = (
    f"{_GIT_SETTINGS} rev-parse HEAD && "
    f"{_GIT_SETTINGS} status --porcelain -z --no-renames --untracked-files=all"
)
NOT_RUN: Final = "an earlier command did not succeed"
STOPPED: Final = "The rehearsal was stopped. Nothing was recorded, and nothing real changed."


class RehearsalRequest(msgspec.Struct, frozen=True):
    """What to run, who asks for it, and how to stop it."""

    given: tuple[str, ...] = ()  # commands instead of those that verify plans here
    network: bool = False  # a person allowed it, for exactly these commands
    by: Rehearser = "person"
    terminal: bool = False  # they have one
    stopped: Callable[[], bool] = never_stopped
    seconds: float = VERIFY_SECONDS  # most that any command gets
    left: Callable[[], float] = lambda: inf  # seconds for all that is still to be run
    path_limits: PathLimits | None = None  # what it may not see; None: as rules for plans say


class CommandBegins(msgspec.Struct, frozen=True):
    """A command of a rehearsal is about to run."""

    line: str
    number: int
    total: int


RehearsalProgress: TypeAlias = CommandBegins | OutputChunk | RehearsedCommand | Rehearsal


class PlanRehearser:
    """Rehearses the plans of one workspace, each in a fresh copy that is removed afterwards."""

    def __init__(
        self,
        ports: Ports,
        config: WorkspaceConfig,
        plans: Plans,
        rehearsals: Rehearsals,
    ) -> None:
        self._ports = ports
        self._root = config.root
        self._plan_dir = config.plan_dir
        self._plans = plans
        self._log = rehearsals

    def plan(self, record: PlanRecord) -> Plan:
        """Returns what would be rehearsed: the proposed plan, or the draft as it is now."""
        repository = self._plans.repository()
        if record.frozen:
            return repository.plan(record)
        live = self._plans.live_text(record) if record.path else None
        text = live if live is not None else self._plans.text(record.content_hash)
        operations = repository.operations(record)
        return Plan(text, operations, declared_scope(text), (), record.workspace)

    def network_lines(self, record: PlanRecord, request: RehearsalRequest) -> list[str]:
        """Returns the command lines that would get the network, for a person to allow."""
        plan = self.plan(record)
        own = [command_line_text(op) for op in plan.operations if _wants_network(op)]
        return [*own, *[one.line for one in self._verification(plan, request) if _may_go_out(one)]]

    def rehearse(
        self, record: PlanRecord, request: RehearsalRequest
    ) -> Generator[RehearsalProgress, None, None]:
        """Rehearses a plan; the last thing that comes is the rehearsal, which is recorded."""
        plan = self.plan(record)
        verification = self._verification(plan, request)
        self._check(plan)
        self._check_allowed(plan, verification)
        with temporary_copy(self._ports, request.path_limits) as opened:
            git = _GitStatus(opened, self._root)
            copy = _Copy(self._ports, self._root, opened, plan.operations, git.start)
            done: list[RehearsedCommand] = []
            # A command that still runs would keep the copy from being removed.
            with git, closing(self._commands(plan, verification, request, copy)) as parts:
                for part in parts:
                    if isinstance(part, RehearsedCommand):
                        done.append(part)
                        _check_wanted(request)
                    yield part
                commit, others = git.found(self._plan_dir, plan)
            self._check(plan)
            found = Rehearsal(
                record.digest if record.frozen else "",
                plan.operations_hash,
                relied_on_hash(plan.relied_on),
                tuple(done),
                copy.backend,
                request.by,
                self._ports.clock.now(),
                commit,
                others,
                request.network,
                request.terminal,
            )
        self._log.record(record, found)
        yield found

    def _verification(self, plan: Plan, request: RehearsalRequest) -> tuple[VerifyCommand, ...]:
        return self._log.verification(plan.text, request.given, request.by)

    def _check(self, plan: Plan) -> None:
        """Refuses a plan whose files are not as it saw them."""
        check_disk(plan, first_segment_files(plan), self._ports.files)

    def _check_allowed(self, plan: Plan, verification: Sequence[VerifyCommand]) -> None:
        """Refuses commands that rules deny, also in a copy."""
        rules = self._ports.rules
        commands = [op for op in plan.operations if isinstance(op, RunCommand)]
        limits = [command_limits(rules, op) for op in commands if not is_commit(op)]
        limits += [rules.command_limits(one.line) for one in verification]
        refuse_denied_commands(limits)

    def _commands(
        self,
        plan: Plan,
        verification: Sequence[VerifyCommand],
        request: RehearsalRequest,
        copy: "_Copy",
    ) -> Generator[RehearsalProgress, None, None]:
        """Applies operations and runs commands, in their order, until one does not succeed."""
        segments = segment_ranges(plan.operations)
        total = len(verification) + sum(1 for one in segments if one.command)
        if not total:  # then it is only shown that the operations can be applied
            copy.apply([op for op in plan.operations if not isinstance(op, RunCommand)])
            yield from copy.run(CommandSpec("true"), self._root, ProcessLimits())
            return
        number, going = 0, True
        for segment in segments:
            if not going and segment.command is None:
                continue
            if segment.command is None:
                if misfit := copy.misfit(segment.files):
                    going = False
                    yield misfit
                else:
                    copy.apply(segment.files)
                continue
            number += 1
            op, line = segment.command, command_line_text(segment.command)
            why = NOT_RUN if not going else _not_run(op, network=request.network)
            if why:
                going = False
                yield RehearsedCommand(line, "operation", not_run=why)
                continue
            yield CommandBegins(line, number, total)
            folder = self._root + (b"/" + op.cwd if op.cwd else b"")
            spec = CommandSpec(op.script.decode("utf-8", "surrogateescape"), op.argv, op.env)
            allowed = msgspec.structs.replace(spec, network=op.network and request.network)
            ended = yield from copy.run(allowed, folder, _limits(request, op.timeout))
            going = ended.code == 0
            yield copy.reported(RehearsedCommand(line, "operation"), ended)
            copy.keep()
        for one in verification:
            number += 1
            if not going:
                yield RehearsedCommand(one.line, one.source, not_run=NOT_RUN)
                continue
            yield CommandBegins(one.line, number, total)
            network = request.network and _may_go_out(one)
            command = CommandSpec(one.line, network=network)
            ended = yield from copy.run(command, self._root, _limits(request))
            going = ended.code == 0
            yield copy.reported(RehearsedCommand(one.line, one.source), ended)


class _GitStatus:
    """Asks git about the workspace, which no rehearsal changes, while the copy is used.

    It starts with the first command, because both then share one search for what to hide.
    """

    def __init__(self, copy: ScratchCopy, root: bytes) -> None:
        self._copy, self._root = copy, root
        self._said, self._code = bytearray(), 1
        self._failed: AssentError | None = None
        self._over = Event()
        self._thread: Thread | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        if self._thread:
            self._thread.join()

    def start(self) -> Thread:
        """Begins to ask, unless it did before."""
        if self._thread is None:
            self._thread = Thread(target=self._ask, name="git", daemon=True)
            self._thread.start()
        return self._thread

    def found(self, plan_dir: bytes, plan: Plan) -> tuple[str, int]:
        """Returns the commit that is checked out, and how many other files differ from it."""
        self.start().join()
        if self._failed:
            raise self._failed
        if self._code:
            return "", 0
        commit, _, rows = bytes(self._said).partition(b"\n")
        changed = {row[3:] for row in rows.split(b"\0") if row}
        own = {path for op in plan.operations for path, _, _ in footprint(op)}
        others = [path for path in changed - own if left_out(path, (plan_dir,)) is None]
        return commit.decode("ascii", "replace"), len(others)

    def _ask(self) -> None:
        limits = ProcessLimits(stopped=self._over.is_set)
        try:
            for part in self._copy.run_read_only(CommandSpec(_GIT), self._root, limits):
                if isinstance(part, ProcessResult):
                    self._code = part.code
                elif not part.error:
                    self._said += part.content
        except AssentError as error:
            self._failed = error


class _Copy:
    """A fresh copy with what the plan has done to it so far."""

    def __init__(
        self,
        ports: Ports,
        root: bytes,
        copy: ScratchCopy,
        operations: Sequence[Operation],
        searched: Callable[[], object],
    ) -> None:
        self._ports, self._root, self._copy, self._searched = ports, root, copy, searched
        self._content = PlanContents(ports).reader(operations)
        self._draft = ScratchDraft()
        self._output = bytearray()
        self._cut = False

    @property
    def backend(self) -> str:
        return self._copy.describe().name

    def misfit(self, operations: Sequence[FileOperation]) -> RehearsedCommand | None:
        """Says where commands left other files than later operations expect, as a failure."""
        expected = {path: before for op in operations for path, before, _ in footprint(op)}
        unknown = [path for path in expected if path not in self._draft.files]
        real = self._ports.files.read_states(unknown)
        for path, before in expected.items():
            now = self._draft.files[path] if path in self._draft.files else real[path]
            if now != before and not (before is None and now == "folder"):
                line = f"write {display_path(path)}"
                words = f"expected {state_text(before)}, found {state_text(now)}"
                return RehearsedCommand(line, "operation", 1, output=words)
        return None

    def apply(self, operations: Sequence[FileOperation]) -> None:
        more = scratch_draft(operations)
        self._draft = ScratchDraft(
            {**self._draft.files, **more.files},
            (*self._draft.pruned, *more.pruned),
            (*self._draft.moved, *more.moved),
        )

    def run(
        self, command: CommandSpec, folder: bytes, limits: ProcessLimits
    ) -> Generator[OutputChunk, None, ProcessResult]:
        """Runs a command on what the plan has done so far, and streams its output."""
        self._copy.apply(self._draft, self._content)
        self._output.clear()
        self._cut = False
        kept, searched = self._keep_output, self._searched
        return (yield from streamed(self._copy, command, folder, limits, kept, searched))

    def _keep_output(self, content: bytes) -> None:
        self._output += content
        if len(self._output) > MAX_OUTPUT:
            self._cut = True
            del self._output[:-MAX_OUTPUT]

    def reported(self, command: RehearsedCommand, ended: ProcessResult) -> RehearsedCommand:
        """Adds how a command ended, the end of its output, and which files it changed."""
        output = bytes(self._output)
        if self._cut:  # half a line could be half a secret, which nothing would mask
            output = output.partition(b"\n")[2]
        text = without_terminal_codes(output.decode("utf-8", "replace"))
        changed = tuple(one.path for one in self._result().changes)[:MAX_CHANGED]
        return msgspec.structs.replace(
            command,
            exit=ended.code,
            seconds=ended.seconds,
            output=redact(text),
            changed=changed,
            cut=ended.cut,
        )

    def keep(self) -> None:
        """Makes what a command changed a part of what later commands find."""
        states: dict[bytes, FileState | None] = {}
        result = self._result()
        if not result.known:  # what follows would run on something that no build makes
            raise Refused(
                f"The rehearsal ended after a command of the plan. {unread_text(result.unread)} "
                "Nothing in the workspace was changed, and nothing was recorded.",
                SIZE_LIMIT if result.unread == "size" else "assent review",
            )
        for change in result.changes:
            states[change.path] = change.after
            if change.after is not None and not self._ports.blobs.has(change.after.digest):
                self._ports.blobs.keep(self._copy.content(change.path))
        files = {**self._draft.files, **states}
        self._draft = msgspec.structs.replace(self._draft, files=files)

    def _result(self) -> ScratchResult:
        return self._copy.changes()


def _limits(request: RehearsalRequest, own: float = inf) -> ProcessLimits:
    """Returns the limits of a command, which may have a limit of its own."""
    most = max(min(request.seconds, own, request.left()), MIN_SECONDS)
    return msgspec.structs.replace(PLAN_COMMAND_LIMITS, seconds=most, stopped=request.stopped)


def _check_wanted(request: RehearsalRequest) -> None:
    """Raises if the rehearsal is no longer wanted: its last command was ended."""
    if request.stopped():
        raise Interrupted(STOPPED)


def _wants_network(op: Operation) -> TypeGuard[RunCommand]:
    return isinstance(op, RunCommand) and op.network and op.profile == "workspace"


def _may_go_out(command: VerifyCommand) -> bool:
    """Tells whether a person chose a command; a project, or a plan's text, gives no network."""
    return command.source in ("argument", "user", "confirmed")


def _not_run(op: RunCommand, *, network: bool) -> str:
    """Says why a command of a plan cannot be tried here; empty if it can."""
    if is_commit(op) or op.profile == "commit":
        return "it makes a commit"
    if op.profile == "unconfined":
        return "it runs without the sandbox"
    return "it needs the network" if op.network and not network else ""
