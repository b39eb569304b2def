"""Runs a planning model's commands in the session's scratch copy, and stages what it keeps."""

import re
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from functools import partial
from threading import Lock
from typing import Final, Protocol

import msgspec

from assent.agent.draft_results import DraftResults
from assent.core.errors import AssentError, Refused
from assent.core.llm import StreamDelta, ToolCall
from assent.core.paths import display_path, normalize, one_line
from assent.core.plan.operation import Operation, RunCommand
from assent.core.plan.record import CLOSED_STATES, PlanRecord
from assent.core.scratch import ScratchChange, ScratchResult, scratch_draft, unread_text
from assent.core.session.event import SessionEvent
from assent.core.shell.process import (
    MIN_SECONDS,
    PLAN_COMMAND_LIMITS,
    CommandSpec,
    ProcessLimits,
    ProcessResult,
)
from assent.core.tool import (
    Action,
    PermissionContext,
    ResourceAccess,
    ScratchCommandEffect,
    ToolOutcome,
    Verdict,
)
from assent.planning.drafts import PlanContents, Staged
from assent.planning.plans import Plans
from assent.planning.ports import Ports, WorkspaceConfig
from assent.ports.scratch import ScratchCopy
from assent.ports.session import PermissionGate
from assent.render.scratch import LEFT_OUT
from assent.runs.session_commands import SessionCommandOutput
from assent.runs.staged_result import ChangeChoice, ResultConflict, ResultStager, StagedResult
from assent.tools.overlay import Overlay
from assent.tools.path_patterns import PathGlob

MAX_LISTED: Final = 20  # changed paths that a result names
MAX_IGNORED: Final = 5  # ignored files and folders that it names
IN_COPY: Final = "Ran in a scratch copy{draft}: nothing real changed."
WITH_DRAFT: Final = " with the staged changes"
OFFLINE: Final = (
    "The scratch copy has no network; `stage` with `network` puts the command into the plan."
)
COMMANDS_NOT_RUN: Final = "Staged commands have not run in it."
NOT_KEPT: Final = "Nothing was staged: {why}."
CONFLICT_ADVICE: Final = (
    "Run it again on the user's version, or keep the user's by leaving the path out of `keep`."
)
MAX_VERSIONS: Final = 5  # paths in conflict whose versions a result shows
MAX_VERSION_CHARS: Final = 4000  # of each
STILL_RUNS: Final = "another command still runs in the scratch copy"
# How programs say that they found no network.
_OFFLINE_SIGNS: Final = re.compile(
    r"resolve host|name resolution|getaddrinfo|EAI_AGAIN|ENOTFOUND|no such host|nodename nor"
    r"|network is unreachable|failed to lookup address",
    re.IGNORECASE,
)
_LINE_END: Final = "\n"
_WILD: Final = re.compile(r"[*?\[{]")

OpenCopy = Callable[[str], ScratchCopy]
PlanSteps = Generator[SessionEvent, None, PlanRecord]


class CopyTools(Protocol):
    """What commands in a copy need of the tool environment of their turn."""

    @property
    def open_copy(self) -> Callable[[str, PermissionContext], ScratchCopy]: ...

    @property
    def gate(self) -> PermissionGate: ...

    @property
    def shell_s(self) -> float: ...

    @property
    def seconds_left(self) -> Callable[[], float | None]: ...

    @property
    def cancel_reason(self) -> Callable[[], str]: ...

    @property
    def redact(self) -> Callable[[str], str]: ...


class ScratchCommandDone(msgspec.Struct, frozen=True):
    """What a model reads of a command, and what was staged, with the plan that has it now."""

    outcome: ToolOutcome
    staged: Staged | None = None
    plan: PlanRecord | None = None


class SessionCopies:
    """The copies that commands of this process use now: each session has its own."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._used: dict[str, tuple[ScratchCopy, int]] = {}

    @contextmanager
    def opened(self, session: str, open_copy: OpenCopy) -> Iterator[ScratchCopy]:
        """Opens a session's copy, or joins the commands that already run in it."""
        with self._lock:
            copy, users = self._used.get(session) or (open_copy(session), 0)
            self._used[session] = (copy, users + 1)
        try:
            yield copy
        finally:
            with self._lock:
                _, users = self._used[session]
                self._used[session] = (copy, users - 1)
                if users == 1:
                    del self._used[session]
                    copy.close()


class ScratchCommands:
    """Runs commands in copies of sessions. No file of the user changes."""

    def __init__(
        self,
        ports: Ports,
        config: WorkspaceConfig,
        plans: Plans,
        stager: ResultStager,
        results: DraftResults,
    ) -> None:
        self._ports, self._config, self._plans = ports, config, plans
        self._stager, self._results = stager, results
        self._contents = PlanContents(ports)
        self._copies = SessionCopies()

    def drafted(self, plan: PlanRecord | None) -> tuple[Operation, ...]:
        """Returns the operations that a copy has on top of the workspace."""
        is_open = plan is not None and plan.state not in CLOSED_STATES
        return tuple(self._plans.operations(plan)) if plan is not None and is_open else ()

    def run(
        self,
        session: str,
        wanted: ScratchCommandEffect,
        plan: PlanRecord | None,
        begin: Callable[[], PlanSteps],
        tools: CopyTools,
        permissions: PermissionContext,
        call: ToolCall,
    ) -> Generator[SessionEvent | StreamDelta, None, ScratchCommandDone]:
        """Runs a command; yields its output, and what has to be recorded before it is staged.

        The copy has the draft of `plan`. What is kept goes into the plan that `begin` returns; it
        makes one if there is none.
        """
        operations = self.drafted(plan)
        globs = tuple(map(PathGlob, wanted.keep))  # a bad one is told before anything runs
        heard, limits = SessionCommandOutput(), command_limits(wanted.seconds, tools)
        with self.opened(session, tools, permissions) as copy:
            named = [glob for glob in wanted.keep if names_ignored(glob)]
            self.apply(copy, operations, named)
            command = CommandSpec(wanted.line)
            with closing(copy.run(command, self._place(wanted), limits)) as parts:
                for chunk in heard.take(parts):
                    text = chunk.content.decode("utf-8", "backslashreplace")
                    yield StreamDelta("output", tools.redact(text), call.id, call.tool)
            found = copy.changes()
            outcome = _said(heard.collected(wanted.line), found, operations)
            if not wanted.keep:
                return ScratchCommandDone(outcome)
            chosen = ChangeChoice(only=globs)
            changes = chosen.of(found)
            links = CopyLinks(self._ports, operations, found.changes, copy)
            why = _why_not_kept(heard.ended, found, changes, links)
            why = why or kept_denial([one.path for one in changes], tools.gate, permissions)
            if why:
                return ScratchCommandDone(_with_error(outcome, why))
            plan = yield from begin()
            result = StagedResult(wanted.line, heard.ended, len(changes))
            shown = partial(_versions, tools=tools, permissions=permissions)
            return self._kept(plan, outcome, result, found, chosen, copy, shown)

    def opened(
        self, session: str, tools: CopyTools, permissions: PermissionContext
    ) -> AbstractContextManager[ScratchCopy]:
        """Opens the copy of a session, without what rules hide from its model."""
        return self._copies.opened(session, lambda name: tools.open_copy(name, permissions))

    def apply(
        self, copy: ScratchCopy, operations: Sequence[Operation], include: Sequence[str] = ()
    ) -> None:
        """Sets the draft of a copy."""
        copy.apply(scratch_draft(operations), self._contents.reader(operations), include)

    def collected(self, copy: ScratchCopy, line: str, limits: ProcessLimits) -> ToolOutcome:
        """Runs a line at the top of a copy to its end, and returns its output."""
        heard = SessionCommandOutput()
        with closing(copy.run(CommandSpec(line), self._config.root, limits)) as parts:
            for _ in heard.take(parts):
                pass
        return heard.collected(line)

    def _place(self, wanted: ScratchCommandEffect) -> bytes:
        folder = wanted.folder
        if folder and normalize(folder) != folder:
            raise Refused(
                f"{display_path(folder)} is not a folder in the workspace. Nothing was run."
            )
        return self._config.root + b"/" + folder if folder else self._config.root

    def _kept(
        self,
        plan: PlanRecord,
        outcome: ToolOutcome,
        result: StagedResult,
        found: ScratchResult,
        chosen: ChangeChoice,
        copy: ScratchCopy,
        shown: Callable[[Sequence[ResultConflict]], str],
    ) -> ScratchCommandDone:
        """Stages the changes that the call wants to keep: all of them, or none and why."""
        try:
            result = self._stager.stage_changes(plan, result, found, chosen, copy)
        except AssentError as error:
            return ScratchCommandDone(_with_note(outcome, error.message, failed=True), plan=plan)
        if result.staged is None:
            rows = ", ".join(f"{one_line(one.path)} ({one.why})" for one in result.conflicts)
            refused = _with_error(outcome, f"conflict: {rows}")
            return ScratchCommandDone(_with_note(refused, shown(result.conflicts)), plan=plan)
        told = self._results.staged(plan, result.staged)
        return ScratchCommandDone(_with_note(outcome, told), result.staged, plan)


def command_limits(seconds: float, tools: CopyTools) -> ProcessLimits:
    """Returns the limits of a command: as outside plan mode, and it ends with its turn."""
    left, most = tools.seconds_left(), tools.shell_s
    most = most if left is None else min(most, max(left, MIN_SECONDS))
    return ProcessLimits(
        min(seconds or most, most),
        processes=PLAN_COMMAND_LIMITS.processes,
        memory=PLAN_COMMAND_LIMITS.memory,
        stopped=lambda: bool(tools.cancel_reason()),
    )


def kept_denial(
    paths: Sequence[bytes], gate: PermissionGate, permissions: PermissionContext
) -> str:
    """Says why changes of some paths may not be staged unasked; nothing if they may."""
    for path in paths:
        edit = ResourceAccess(Action.EDIT, display_path(path))
        decision = gate.decide((edit,), permissions)
        if decision.verdict is Verdict.DENY:
            return f"{one_line(path)}: {decision.reason.rstrip('.')}"
        if decision.verdict is Verdict.ASK:
            return f"the user is asked about changes to {one_line(path)}; use `edit` or `write`"
    return ""


def names_ignored(glob: str) -> bool:
    """Tells whether a glob names ignored files: it begins with a folder or name of its own."""
    first = glob.removeprefix("./").split("/")[0]
    return bool(first) and _WILD.search(first) is None


def _versions(
    conflicts: Sequence[ResultConflict], tools: CopyTools, permissions: PermissionContext
) -> str:
    """Shows both versions of paths in conflict, as far as the model may read the user's."""
    told: list[str] = []
    for one in conflicts[:MAX_VERSIONS]:
        read = ResourceAccess(Action.READ, display_path(one.path))
        name = one_line(one.path)
        if tools.gate.decide((read,), permissions).verdict is not Verdict.RUN:
            told.append(f"{name}: the user's version is not shown; rules do not let you read it.")
        elif one.diff is None:
            told.append(f"{name}: not text, or too large to be shown.")
        else:
            diff = _first_lines(tools.redact(one.diff), MAX_VERSION_CHARS)
            told.append(f"{name}, from the user's version (-) to the command's (+):\n{diff}")
    if len(conflicts) > MAX_VERSIONS:
        told.append(f"{len(conflicts) - MAX_VERSIONS} more are not shown.")
    return "\n".join([*told, CONFLICT_ADVICE])


def _first_lines(text: str, most: int) -> str:
    """Returns the first whole lines of a text that has no half of a secret at its end."""
    if len(text) <= most:
        return text
    return f"{text[:most].rpartition(_LINE_END)[0]}\n[...]"


def _why_not_kept(
    ended: ProcessResult,
    found: ScratchResult,
    changes: Sequence[ScratchChange],
    links: "CopyLinks",
) -> str:
    """Says why nothing can be staged; nothing if it can."""
    if ended.code or ended.cut:
        return "the command failed"
    if found.joined:
        return STILL_RUNS
    if not changes and found.known:
        return "it changed no file that `keep` names"
    outside = [one.path for one in changes if links.lead_out(one)]
    if outside:
        rows = ", ".join(map(one_line, outside[:MAX_LISTED]))
        return f"a symlink leads out of the workspace: {rows}. Name what to keep by globs"
    return ""


class CopyLinks(Overlay):
    """Where symlinks lead in a copy: in the workspace with the draft, and with what changed."""

    def __init__(
        self,
        ports: Ports,
        operations: Sequence[Operation],
        changes: Sequence[ScratchChange],
        copy: ScratchCopy,
    ) -> None:
        super().__init__(ports.files, ports.blobs, operations)
        self._changed = {one.path: one.after for one in changes}
        self._copy = copy

    def link_target(self, path: bytes) -> bytes | None:
        if path not in self._changed:
            return super().link_target(path)
        after = self._changed[path]
        is_link = after is not None and after.kind == "link"
        return b"".join(self._copy.content(path)) if is_link else None

    def lead_out(self, change: ScratchChange) -> bool:
        """Tells whether a change is a symlink to somewhere outside the workspace, or in a circle.

        The way there may be other symlinks, so that the text of this one says nothing.
        """
        if change.after is None or change.after.kind != "link":
            return False
        target = self.link_target(change.path) or b""
        try:
            self.follow(change.path)
        except Refused:
            return True
        return target.startswith(b"/")


def _said(
    outcome: ToolOutcome, found: ScratchResult, operations: Sequence[Operation]
) -> ToolOutcome:
    """Returns a command's output with what changed in the copy, and that nothing real did."""
    notes = [IN_COPY.format(draft=WITH_DRAFT if operations else "")]
    notes += [f"Changed there: {changes_text(found.changes)}."] if found.changes else []
    notes += [] if found.known else [unread_text(found.unread)]
    if found.ignored:
        rows = [one_line(path) for path in found.ignored]
        notes.append(f"Ignored files differ in: {_listed(rows, MAX_IGNORED)}.")
    if found.left_out:
        rows = [f"{one_line(one.path)} ({LEFT_OUT[one.why]})" for one in found.left_out]
        notes.append(f"Never staged: {_listed(rows)}.")
    if any(isinstance(op, RunCommand) for op in operations):
        notes.append(COMMANDS_NOT_RUN)
    if outcome.failed and _OFFLINE_SIGNS.search(outcome.text):
        notes.append(OFFLINE)
    named = [display_path(one.path) for one in found.changes[:MAX_LISTED]]
    return msgspec.structs.replace(
        outcome,
        text=f"{outcome.text}\n[{' '.join(notes)}]",
        metadata={**outcome.metadata, "scratch": named},
    )


def changes_text(changes: Sequence[ScratchChange]) -> str:
    """Returns changed paths by what happened to them, as many as a result has room for."""
    kinds: dict[str, list[str]] = {}
    for one in changes[:MAX_LISTED]:
        kinds.setdefault(one.kind, []).append(one_line(one.path))
    rows = "; ".join(f"{kind} {', '.join(paths)}" for kind, paths in kinds.items())
    more = len(changes) - MAX_LISTED
    return f"{rows}; and {more} more" if more > 0 else rows


def _listed(rows: Sequence[str], most: int = MAX_LISTED) -> str:
    more = len(rows) - most
    return ", ".join(rows[:most]) + (f", and {more} more" if more > 0 else "")


def _with_note(outcome: ToolOutcome, note: str, *, failed: bool = False) -> ToolOutcome:
    text = f"{outcome.text}\n{note}"
    return msgspec.structs.replace(outcome, text=text, failed=outcome.failed or failed)


def _with_error(outcome: ToolOutcome, why: str) -> ToolOutcome:
    return _with_note(outcome, NOT_KEPT.format(why=why), failed=True)
