"""Runs the tool calls of one answer: each is checked, asked about, run and recorded."""

from collections.abc import (
    Callable,
    Collection,
    Generator,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import closing, suppress
from itertools import groupby
from threading import Thread
from time import perf_counter
from typing import TYPE_CHECKING, Protocol, TypeVar

import msgspec

from assent.agent.effects import EffectDone, EffectRequest, EffectRunner
from assent.agent.hook_guard import HookGuard
from assent.agent.permission_request import PermissionRequest as Asked
from assent.agent.permission_request import decision_line, drain
from assent.agent.services import AgentServices, ToolEnvironment
from assent.agent.session_repository import SessionOutputs
from assent.agent.subagents.children import ChildSessions, RequestedTasks
from assent.agent.subagents.worker import declined_children
from assent.core.errors import SCRATCH_COPY, AssentError, IllegalState, Interrupted
from assent.core.event import StoredEvent
from assent.core.llm import ChatMessage, StreamDelta, ToolCall, ToolResult
from assent.core.paths import typed_line
from assent.core.permission.mode import custom_mode_name
from assent.core.permission.sensitive_paths import configures_agents
from assent.core.session.agent import Agent
from assent.core.session.event import (
    INTERRUPTED_WORK,
    BatchPlanned,
    CallEnded,
    CallStarted,
    SessionEvent,
    TurnEnded,
    TurnEndReason,
)
from assent.core.session.question import NO_CALL, PermissionAnswer
from assent.core.session.record import SessionRecord
from assent.core.session.transcript import LOST
from assent.core.tool import (
    MISSING_CAPABILITY,
    Action,
    CommandEffect,
    Decision,
    EditEffect,
    EffectResult,
    PermissionContext,
    TaskEffect,
    ToolOutcome,
    Verdict,
)
from assent.planning.ports import NoHookRunner
from assent.ports import ProcessRunner
from assent.ports.session import CallGuard
from assent.tools.dispatcher import (
    FAILED_VERDICT,
    REHEARSE,
    SHELL,
    AskPermission,
    PreparedCall,
    ToolCallResult,
    ToolPermissionRequest,
    inferred_access,
    notify_guards,
)
from assent.tools.edit_tools import EDIT, WRITE
from assent.tools.outcome import (
    CutOutput,
    cut_output,
    failed_outcome,
    output_handle,
    output_lines,
)
from assent.tools.read import READ
from assent.tools.tool import OptionArgs, Tool, ToolContext

if TYPE_CHECKING:
    from assent.agent.repeats import ShownMessages

# Runs several read-only pieces of work in parallel threads.


T = TypeVar("T")
R = TypeVar("R")

MAX_THREADS = 8  # threads


def run_parallel(work: Callable[[T], R], things: Sequence[T]) -> list[R]:
    """Returns the results in order; the first error is raised when all are done."""
    if len(things) == 1:
        return [work(things[0])]
    waiting = list(enumerate(things))[::-1]
    results: dict[int, R] = {}
    errors: list[BaseException] = []

    def worker() -> None:
        while waiting:
            try:
                at, thing = waiting.pop()
            except IndexError:  # another one was faster
                return
            try:
                results[at] = work(thing)
            except BaseException as error:
                errors.append(error)

    # Daemons: a person who interrupts does not wait for readers to end.
    threads = [Thread(target=worker, daemon=True) for _ in range(min(MAX_THREADS, len(things)))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return [results[at] for at in range(len(things))]


INTERRUPTED_IN_PLAN = (
    "The user interrupted the command. While planning, commands change nothing real."
)
INTERRUPTED = "The user interrupted the call. It may have had effects; check before you repeat it."
AFTER_THE_END = "The turn ended with the previous call; this one was not run."
READ_BACK = "What comes before is kept: call `read` with path `{handle}` and lines `1-{line}`."
READ_ON = (
    "The rest is kept: call `read` with path `{handle}` and lines `{line}-` (last line: {lines})."
)
STOPPED_BY_PERSON = "The user {why} the work; nothing was done."
READ_TOOL = "read"
# These read single files and start no server and no program but the user's formatters, which only
# filter a content. No tool of others is among them.
IN_PROCESS_TOOLS = (READ, WRITE, EDIT)
NOT_PRESENTED = "Not presented: {calls} failed in this answer. Fix it and present again."
NOT_YET_PRESENTED = (
    "Not presented: {calls} in this answer waits for the user. Present again after that."
)
# Besides tools that edit files. What fails in a rehearsal is to be fixed before it is presented.
PLAN_CHANGES = ("write_plan", "unstage", "options", "rehearse")
SHELL_STAGES = ("stage", "at_end", "keep")  # arguments by which a command changes the plan
MAX_NAMES, MAX_NAME_CHARS = 3, 80  # of what a call is about, where it is named
ASK_LATER = PermissionAnswer(why="asked later")
ASKED_EARLIER = PermissionAnswer(
    yes=True
)  # of a task whose child already works: permission was asked before it started

SessionOutput = StoredEvent | StreamDelta


class TurnContext(Protocol):
    """What running calls needs from their turn."""

    @property
    def record(self) -> SessionRecord: ...

    @property
    def agent(self) -> Agent: ...

    @property
    def messages(self) -> tuple[ChatMessage, ...]: ...

    def append_events(
        self, *events: SessionEvent, synced: bool = True
    ) -> tuple[StoredEvent, ...]: ...

    def defer_events(self, *events: SessionEvent) -> None: ...

    def read_updates(self) -> tuple[StoredEvent, ...]: ...

    def tool_context(self) -> ToolContext:
        """Returns the current context of a call."""

    def plan_updates(self, done: EffectDone) -> list[SessionEvent]:
        """Returns the events that tell the model about the plan after a call changed it."""

    def halted(self) -> TurnEnded | None:
        """Returns the end that the user requested elsewhere, according to the log."""


class ToolCallRunner:
    """Runs the calls of a turn; `ending` is why the turn must end with them, `words` details."""

    def __init__(
        self,
        turn: TurnContext,
        services: AgentServices,
        tools: ToolEnvironment,
        children: ChildSessions,
    ) -> None:
        self._turn = turn
        self._services = services
        self._tools = tools
        self._children = children
        self.effects = EffectRunner(services, tools)
        own, hooks = tools.guards(lambda: self._context.posture), services.ports.hooks
        heard_by = HookGuard(hooks, services.projections.warnings.append)
        self._hooks: Sequence[CallGuard] = () if isinstance(hooks, NoHookRunner) else (heard_by,)
        self._guards: Sequence[CallGuard] = (*own, *self._hooks)
        self._pending: list[StoredEvent] = []  # recorded while the user was asked
        self._context = turn.tool_context()  # of the batch that is being run
        self._is_last = False  # whether no other call of the answer follows
        self._presents = False  # whether a call of the answer presents the plan
        # Calls of the answer that were to change the plan: those that failed, and that wait.
        self._failed: list[str] = []
        self._unanswered: list[str] = []
        self._results: list[ToolResult] = []  # of the answer so far
        self._shown: ShownMessages | None = None  # what the messages show of files
        self.ending: TurnEndReason | None = None
        self.words = ""

    def run(self, calls: Sequence[ToolCall]) -> Iterator[SessionOutput]:
        """Runs the calls of one answer, those that only read and children side by side."""
        open_calls: dict[str, ToolCall] = {}
        for call in calls:
            open_calls.setdefault(call.id, call)  # calls with the same id are indistinguishable
        dispatcher, waiting = self._tools.dispatcher, False
        self._failed, self._unanswered, self._results = [], [], []
        try:
            prepared = self.prepare(open_calls.values())
            self._presents = any(map(_presents_plan, prepared))
            self._turn.defer_events(BatchPlanned(tuple(map(dispatcher.planned, prepared))))
            fresh = True  # nothing has happened since they were prepared
            for kind, batch in self._batches(prepared):
                halt = None if self.ending else self._turn.halted()
                if halt is not None:  # a person elsewhere wants the work to stop
                    self.ending, self.words = halt.why, halt.words
                if self.ending:
                    yield from self._turn.append_events(*self._refused(batch))
                else:
                    self._is_last = len(open_calls) == len(batch)
                    current = batch if fresh else self._prepare_again(batch)
                    run = self._run_tasks if kind == "tasks" else self._run_batch
                    waiting = bool((yield from run(current))) or waiting
                    fresh = kind == "reads" and not (self._failed or self._unanswered)
                for each in batch:
                    del open_calls[each.call.id]
        except (KeyboardInterrupt, GeneratorExit):
            self._abandon(open_calls.values(), INTERRUPTED)
            raise
        except BaseException:
            self._abandon(open_calls.values(), LOST)
            raise
        if waiting and not self.ending:
            self.ending = "waiting"
        stuck = " ".join(filter(None, [guard.turn_end_reason() for guard in self._guards]))
        if stuck and not self.ending:
            self.ending, self.words = "limit", stuck

    def continue_turn(self) -> None:
        """Lets the turn go on after calls that were to end it."""
        self.ending, self.words = None, ""

    def prepare(self, calls: Iterable[ToolCall]) -> list[PreparedCall]:
        """Reads and judges calls in the current state of the session."""
        self._context, agent = self._turn.tool_context(), self._turn.agent
        return [self._tools.dispatcher.prepare(call, self._context, agent) for call in calls]

    def _prepare_again(self, batch: Sequence[PreparedCall]) -> list[PreparedCall]:
        """Judges calls after the ones before them; records what else they are to do now, if any."""
        current = [*map(self._if_complete, self.prepare([each.call for each in batch]))]
        planned = self._tools.dispatcher.planned
        differing = [
            planned(now)
            for now, before in zip(current, batch, strict=True)
            if planned(now) != planned(before)
        ]
        if differing:
            self._turn.defer_events(BatchPlanned(tuple(differing)))
        return current

    def _if_complete(self, prepared: PreparedCall) -> PreparedCall:
        """Returns a call to run; one that presents the plan fails if a change of it is missing.

        The user would decide about a plan that its author knows to be incomplete.
        """
        missing = self._failed or self._unanswered
        if not _presents_plan(prepared) or not missing or prepared.failure is not None:
            return prepared
        words = NOT_PRESENTED if self._failed else NOT_YET_PRESENTED
        error = IllegalState(words.format(calls=", ".join(dict.fromkeys(missing))))
        failure = failed_outcome(prepared.call.tool, error)
        return msgspec.structs.replace(prepared, decision=None, failure=failure)

    def _note(self, prepared: PreparedCall, missing: list[str]) -> None:
        """Notes a call whose effect is missing, if it was to change the plan."""
        tool = prepared.tool or self._tools.dispatcher.tool(prepared.call.tool)
        if _changes_plan(prepared, tool):
            missing.append(_call_name(prepared, tool))

    def _batches(
        self, prepared: Sequence[PreparedCall]
    ) -> Iterator[tuple[str, list[PreparedCall]]]:
        """Yields calls to run together: neighbours of one kind, and each other one alone."""
        group, permissions = self._tools.dispatcher.concurrency_group, self._context.posture

        def kind_of(each: PreparedCall) -> str:
            # What runs in the copy may change the draft, which the next call has to see.
            return "" if each.in_copy else group(each.call, permissions)

        for kind, together in groupby(prepared, kind_of):
            if kind:
                yield kind, list(together)
            else:
                yield from (("", [each]) for each in together)

    def _run_batch(
        self, batch: Sequence[PreparedCall]
    ) -> Generator[SessionOutput, None, list[ToolCall]]:
        """Runs a batch; returns the calls that wait for an answer of another day."""
        yield from self._begin_quietly(batch)
        began = perf_counter()
        if len(batch) == 1:
            run_call = self._tools.dispatcher.run_call
            results = [run_call(batch[0], self._context, self._ask, self._guards)]
        else:
            results = self._run_parallel(batch)
        yield from self._heard_meanwhile()
        together = perf_counter() - began
        ended, parked = list[SessionEvent](), list[ToolCall]()
        can_wait = True
        for each, result in zip(batch, results, strict=True):
            began = perf_counter()
            done = None if _is_parked(result) else (yield from self._perform(each, result))
            can_wait = can_wait and _can_wait(result, done, last=self._is_last)
            if done is None or done.later:
                parked.append(each.call)
                self._note(each, self._unanswered)
            else:
                seconds = together + perf_counter() - began  # a command is the effect of its call
                end, *told = self._record(each.call, result, done, seconds)
                ended += [end, *told]
                if isinstance(end, CallEnded) and _is_to_be_fixed(end):
                    self._note(each, self._failed)
        if can_wait:
            self._turn.defer_events(*ended)
        else:
            yield from self._turn.append_events(*ended)
        return parked

    def _run_parallel(self, batch: Sequence[PreparedCall]) -> list[ToolCallResult]:
        """Runs calls in threads; one that needs an answer waits until the others are done."""
        run_call, postponed = self._tools.dispatcher.run_call, set[str]()

        def run_unasked(each: PreparedCall) -> ToolCallResult:
            def ask_later(doubt: ToolPermissionRequest) -> PermissionAnswer:
                postponed.add(each.call.id)
                return ASK_LATER

            return run_call(each, self._context, ask_later, self._guards)

        results = run_parallel(run_unasked, batch)
        return [
            run_call(each, self._context, self._ask, self._guards)
            if each.call.id in postponed
            else result
            for each, result in zip(batch, results, strict=True)
        ]

    def _run_tasks(
        self, batch: Sequence[PreparedCall]
    ) -> Generator[SessionOutput, None, list[ToolCall]]:
        """Runs calls that start children: each is judged first, then all work side by side."""
        yield from self._begin(batch)
        began, results = perf_counter(), list[ToolCallResult]()
        for each in batch:
            # If its child waits, permission was asked before it started.
            asked = each.call.id in self._children.waiting
            ask: AskPermission = (lambda doubt: ASKED_EARLIER) if asked else self._ask
            results.append(self._tools.dispatcher.run_call(each, self._context, ask, self._guards))
        yield from self._heard_meanwhile()
        wanted = [
            (each.call, result.outcome.effect)
            for each, result in zip(batch, results, strict=True)
            if isinstance(result.outcome.effect, TaskEffect) and not result.outcome.failed
        ]
        work = self._children.run(wanted)
        carried = dict(zip([call.id for call, _ in wanted], (yield from work), strict=True))
        seconds, ended, parked = perf_counter() - began, list[SessionEvent](), list[ToolCall]()
        self._hear_no(wanted, carried)
        for each, result in zip(batch, results, strict=True):
            done = EffectDone(carried.get(each.call.id) or _as_told(result.outcome))
            asks = done.carried.metadata.get("why") == "waiting" and not self.ending
            if asks or _is_parked(result):
                parked.append(each.call)
            else:
                ended += self._record(each.call, result, done, seconds)
        yield from self._turn.append_events(*ended)
        return parked

    def _hear_no(self, wanted: RequestedTasks, carried: Mapping[str, EffectResult]) -> None:
        """Ends the turn if the user declined a child, and says which one."""
        refused = [t for c, t in wanted if carried[c.id].metadata.get("why") == "declined"]
        if refused and not self.ending:
            self.ending, self.words = "declined", declined_children(refused, len(wanted))

    def _begin(
        self, batch: Sequence[PreparedCall], *, synced: bool = True
    ) -> tuple[StoredEvent, ...]:
        started = [CallStarted(each.call.id, each.call.tool) for each in batch]
        return self._turn.append_events(*started, synced=synced)

    def _begin_quietly(self, batch: Sequence[PreparedCall]) -> tuple[StoredEvent, ...]:
        """Records the start of calls; waits for the disk only where one acts by itself.

        Reads of single files start and end in one record. What an edit does is recorded by the
        draft or by the journal of its run, each on disk before anything else happens, and the log
        with it up to here (decision 0047).
        """
        alone = not self._hooks and all(map(_is_in_process, batch))
        if not alone:
            return self._begin(batch)
        if all(each.tool is not None and each.tool.action is Action.READ for each in batch):
            self._turn.defer_events(*[CallStarted(each.call.id, each.call.tool) for each in batch])
            return ()
        return self._begin(batch, synced=False)

    def read_for_user(
        self,
        context: ToolContext,
        heard: Callable[[Sequence[StoredEvent]], object],
        path: str,
        lines: str,
    ) -> tuple[ToolOutcome, str]:
        """Makes the `read` that the model would make, for a file that the user named.

        Hooks judge it like any call. Where a call would be asked about, the user is asked, and
        without an answer nothing is read; events that are stored meanwhile go to `heard`. Also
        returned is who decided, and why.
        """

        def ask(doubt: ToolPermissionRequest) -> PermissionAnswer:
            level, reasons = self._tools.gate.risk(
                doubt.requests, planning=context.posture.mode == "plan"
            )
            work = self.effects.permission.ask_access(
                self._turn.record, doubt.requests, doubt.decision, (level, *reasons)
            )
            return drain(work, lambda event: heard(self._turn.append_events(event)))

        call = ToolCall(NO_CALL.id, READ_TOOL, {"path": path, "lines": lines})
        prepared = self._tools.dispatcher.prepare(call, context, self._turn.agent)
        result = self._tools.dispatcher.run_call(prepared, context, ask, self._hooks)
        if self._tools.cancel_reason() == "interrupted":  # that does not answer a question
            raise Interrupted(INTERRUPTED_WORK)
        mask, outcome, decision = self._tools.redact, result.outcome, result.decision
        denied = outcome.failed and result.consent is not None and decision is not None
        text = f"{decision.reason} {outcome.text}" if denied and decision else outcome.text
        masked = msgspec.structs.replace(outcome, text=mask(text), title=mask(outcome.title))
        return masked, mask(decision_line(result))

    def _ask(self, doubt: ToolPermissionRequest) -> PermissionAnswer:
        """Asks the user, who sees what would be applied; recorded events are shown afterwards."""
        gate, permissions = self._tools.gate, self._context.posture
        planning = permissions.mode == "plan"
        level, reasons = gate.risk(doubt.requests, planning=planning, asking=True)
        runs = any(one.action is Action.SHELL for one in doubt.requests)
        if runs and self._tools.unconfined and not planning:
            level, reasons = "high", ("It runs without the sandbox.", *reasons)
        run = self.effects.building(self._turn.record)
        wanted = Asked(
            doubt.call,
            doubt.tool,
            doubt.requests,
            doubt.decision,
            permissions.agents[0].name if permissions.agents else self._turn.agent.name,
            permissions.mode,
            run,
            custom_mode_name(permissions.custom),
            doubt.edit,
            permissions.mode != "plan"
            and _may_be_freed(doubt, confined=not self._tools.unconfined),
            (level, *reasons),
            gate.grant_patterns(doubt.requests, permissions),
            gate.parts(doubt.requests),
            gate.is_mandatory_ask(doubt.requests, permissions),
        )
        work = self.effects.permission.ask(self._turn.record, wanted)
        consent = drain(work, lambda event: self._pending.extend(self._turn.append_events(event)))
        self._pending.extend(self._turn.read_updates())
        if consent.plain:
            self.ending = "declined"
        return consent

    def _heard_meanwhile(self) -> list[StoredEvent]:
        pending, self._pending = self._pending, []
        return pending

    def _perform(
        self, prepared: PreparedCall, result: ToolCallResult
    ) -> Generator[SessionOutput, None, EffectDone]:
        """Carries out the effect of a call; records what it needs to have recorded first."""
        outcome = result.outcome
        if outcome.effect is None or result.decision is None or outcome.failed:
            return EffectDone(_as_told(outcome))
        # what others did comes before what this call does
        yield from self._turn.read_updates()
        now = self._turn.tool_context()
        work = self.effects.run_effect(
            EffectRequest(
                self._turn.record,
                prepared.call,
                outcome.effect,
                _decided(result),
                outcome.text,
                now.posture.mode == "plan",
                result.consent is not None and result.consent.unconfined,
                self._runner(result, now),
                (named.option or "") if isinstance(named := prepared.args, OptionArgs) else "",
                self._presents and not (self._failed or self._unanswered),
                now.posture,
            )
        )
        with closing(work):  # whoever is interrupted while showing its output ends a command, too
            while True:
                try:
                    event = next(work)
                except StopIteration as end:
                    done: EffectDone = end.value
                    return done
                if isinstance(event, StreamDelta):
                    yield event
                else:
                    yield from self._turn.append_events(event)

    def _runner(self, result: ToolCallResult, now: ToolContext) -> ProcessRunner | None:
        """Returns what runs the command of a call; nothing else needs one, which takes a while."""
        if not isinstance(result.outcome.effect, CommandEffect):
            return None
        return self._opened(result, now.posture) or now.process

    def _opened(
        self, result: ToolCallResult, permissions: PermissionContext
    ) -> ProcessRunner | None:
        """Returns the runner for a command that was allowed to change configuration of agents."""
        if result.attempt is None:
            return None
        files = self._tools.gate.files(result.attempt.requests)
        opened = tuple(
            file.resource
            for file in files
            if file.action is Action.EDIT
            and configures_agents(file.resource.encode("utf-8", "surrogateescape"))
        )
        if not opened:
            return None
        found = self._tools.with_path_limits(msgspec.structs.replace(permissions, opened=opened))
        return found[0]() if found else None

    def _record(
        self, call: ToolCall, result: ToolCallResult, done: EffectDone, seconds: float
    ) -> list[SessionEvent]:
        """Returns everything that ends a call."""
        outcome, carried, mask = result.outcome, done.carried, self._tools.redact
        title = mask(outcome.title)
        metadata = {**({} if carried.failed else outcome.metadata), **carried.metadata}
        rest = outcome.rest or done.rest
        cut = cut_output(carried.text, rest, mask) if rest else None
        last = ToolOutcome(
            cut.text if cut else mask(self._without_repeats(call, result, carried.text)),
            title,
            carried.failed,
            images=outcome.images,
            metadata=metadata,
        )
        last = notify_guards(self._guards, _masked(result, mask), last)
        text, kept = self._kept(last.text, cut) if cut else (last.text, {})
        verdict = str(result.decision.verdict) if result.decision else ""
        if last.failed and verdict == Verdict.STAGE:
            verdict = FAILED_VERDICT  # nothing was staged
        ended = CallEnded(
            call.id,
            result.tool,
            ToolResult(call.id, text, last.failed, last.images),
            title,
            seconds,
            verdict,
            {**metadata, **kept},
            decision_line(result),
        )
        self._results.append(ended.result)
        if carried.ends:
            self.ending = "presented"
        return [ended, *done.events, *(self._turn.plan_updates(done) if done.changed else [])]

    def _without_repeats(self, call: ToolCall, result: ToolCallResult, text: str) -> str:
        """Returns a result without the lines of files that the model already sees."""
        blocks = result.outcome.blocks
        if not blocks or result.outcome.failed:
            return text
        from assent.agent.repeats import ShownMessages, VisibleText, without_repeats

        self._shown = self._shown or ShownMessages()
        self._shown.take_in(self._turn.messages)
        visible = VisibleText(self._shown, self._results)
        return without_repeats(text, blocks, call, visible, self._tools.redact)

    def _kept(self, text: str, cut: CutOutput) -> tuple[str, dict[str, str]]:
        """Stores the whole of an output that was cut, and says how to read on."""
        if "read" in self._tools.dispatcher.absent(self._context.posture, self._turn.agent):
            return text, {}
        record, ports = self._turn.record, self._services.ports
        content = cut.whole.encode("utf-8", "backslashreplace")
        try:
            output = SessionOutputs(ports, record.workspace).keep(record.session, content)
        except (AssentError, OSError) as error:
            return f"{text}\n\nThe rest could not be saved: {error}", {}
        handle, lines = output_handle(output), len(output_lines(cut.whole))
        words = READ_BACK if cut.is_end else READ_ON
        told = words.format(handle=handle, line=cut.line, lines=lines)
        return f"{text}\n\n{told}", {"output": handle}

    def _refused(self, batch: Sequence[PreparedCall]) -> list[CallEnded]:
        halted = self.ending in ("paused", "cancelled", "interrupted")
        words = STOPPED_BY_PERSON.format(why=self.ending) if halted else AFTER_THE_END
        return [abandoned_call(each.call, words) for each in batch]

    def _abandon(self, calls: Collection[ToolCall], why: str) -> None:
        planning = why == INTERRUPTED and self._context.posture.mode == "plan"
        name = self._tools.dispatcher.name
        unreal = [call.id for call in calls if planning and name(call) in (SHELL, REHEARSE)]
        told = [(call, INTERRUPTED_IN_PLAN if call.id in unreal else why) for call in calls]
        if ended := [abandoned_call(call, words) for call, words in told]:
            with suppress(AssentError):  # what stopped the calls is more important
                self._turn.append_events(*ended)


def _masked(result: ToolCallResult, mask: Callable[[str], str]) -> ToolCallResult:
    """Returns a result whose pieces, which guards receive, contain no secrets."""
    if not result.pieces:
        return result
    pieces = [
        msgspec.structs.replace(each, outcome=_masked_outcome(each.outcome, mask))
        for each in result.pieces
    ]
    return msgspec.structs.replace(result, pieces=tuple(pieces))


def _masked_outcome(outcome: ToolOutcome, mask: Callable[[str], str]) -> ToolOutcome:
    return msgspec.structs.replace(outcome, text=mask(outcome.text), title=mask(outcome.title))


def abandoned_call(call: ToolCall, why: str) -> CallEnded:
    """Returns the end of a call that was not run, or not completely."""
    return CallEnded(call.id, call.tool, ToolResult(call.id, why, failed=True))


def _decided(result: ToolCallResult) -> Decision:
    """Returns the decision that permits an effect: an answer, if one was needed."""
    decision = result.decision
    assert decision is not None, "a call with an effect was judged"
    if result.consent is not None and result.consent.yes:
        return msgspec.structs.replace(decision, verdict=Verdict.ASK)
    return decision


def _may_be_freed(doubt: ToolPermissionRequest, *, confined: bool) -> bool:
    """Tells whether an approval could also mean to run the command without the sandbox."""
    shell = any(request.action is Action.SHELL for request in doubt.requests)
    return shell and confined and doubt.decision.layer != "defaults"


def _as_told(outcome: ToolOutcome) -> EffectResult:
    return EffectResult(outcome.text, outcome.failed, metadata=outcome.metadata)


def _presents_plan(prepared: PreparedCall) -> bool:
    return prepared.tool is not None and prepared.tool.action is Action.PRESENT


def _changes_plan(prepared: PreparedCall, tool: Tool | None) -> bool:
    """Tells whether a call was to stage something or to write the plan; an unknown one may be."""
    if tool is None or tool.action is Action.EDIT or tool.name in PLAN_CHANGES:
        return True
    if tool.action is not Action.SHELL:
        return False
    judged = [one for one in prepared.requests if one.action is Action.SHELL]
    given = prepared.call.args or {}  # of a call that was refused before it was judged
    if not judged:
        return any(given.get(name) for name in SHELL_STAGES)
    return any(one.stage or one.keep for one in judged)


def _is_to_be_fixed(end: CallEnded) -> bool:
    """Tells whether a call failed, and not because this machine has no scratch copy for it."""
    return end.result.failed and end.metadata.get(MISSING_CAPABILITY) != SCRATCH_COPY


def _call_name(prepared: PreparedCall, tool: Tool | None) -> str:
    """Returns a call with what it is about, such as `edit src/a.py`."""
    name = prepared.call.tool
    judged = [one for one in prepared.requests if one.action in (Action.EDIT, Action.SHELL)]
    found = [one.resource for one in judged or inferred_access(prepared.call, tool)]
    named = [each for each in dict.fromkeys(found) if tool is not None and each != name]
    more = ", …" if len(named) > MAX_NAMES else ""
    shown = [typed_line(each)[:MAX_NAME_CHARS] for each in named[:MAX_NAMES]]
    return f"{typed_line(name)[:MAX_NAME_CHARS]} {', '.join(shown)}{more}".strip()


def _is_parked(result: ToolCallResult) -> bool:
    """Tells whether a call waits for an answer that may come later."""
    return result.consent is not None and result.consent.later


def _is_in_process(prepared: PreparedCall) -> bool:
    """Tells whether a call was allowed without a question and can start nothing by itself."""
    own = any(prepared.tool is each for each in IN_PROCESS_TOOLS)
    decision = prepared.decision
    return own and decision is not None and decision.verdict in (Verdict.RUN, Verdict.STAGE)


def _can_wait(result: ToolCallResult, done: EffectDone | None, *, last: bool) -> bool:
    """Tells whether the end of a call may be stored together with the step after it.

    Reads can be repeated, and staged operations are in the draft: after a crash in between, the
    model gets them as an update. An edit that was applied is in the journal of its run; after a
    crash the model hears that the call may have had effects, as between the two records before.
    """
    effect = result.outcome.effect
    if effect is None:
        return True
    staged = result.decision is not None and result.decision.verdict is Verdict.STAGE
    if staged and isinstance(effect, EditEffect | CommandEffect):
        return True
    applied = isinstance(effect, EditEffect) and done is not None and not done.carried.failed
    return applied and last
