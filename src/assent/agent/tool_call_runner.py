"""Runs the tool calls of one answer: each is checked, asked about, run and recorded."""

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import groupby
from threading import Thread
from time import perf_counter
from typing import Protocol, TypeVar

import msgspec

from assent.agent.effects import EffectDone, EffectRequest, EffectRunner
from assent.agent.hook_guard import HookGuard
from assent.agent.permission_request import PermissionRequest as Asked
from assent.agent.permission_request import decision_line, drain
from assent.agent.services import AgentServices
from assent.agent.subagents.children import ChildSessions, RequestedTasks
from assent.agent.subagents.worker import declined_children
from assent.agent.tool_environment import ToolEnvironment
from assent.core.errors import AssentError
from assent.core.event import StoredEvent
from assent.core.llm import StreamDelta, ToolCall, ToolResult
from assent.core.paths import one_line
from assent.core.permission.mode import custom_mode_name
from assent.core.permission.sensitive_paths import configures_agents
from assent.core.session.agent import Agent
from assent.core.session.event import (
    BatchPlanned,
    CallEnded,
    CallStarted,
    SessionEvent,
    TurnEnded,
    TurnEndReason,
)
from assent.core.session.question import PermissionAnswer
from assent.core.session.record import SessionRecord
from assent.core.session.transcript import LOST
from assent.core.tool import (
    Action,
    CommandEffect,
    Decision,
    EditEffect,
    EffectResult,
    PermissionContext,
    ResourceAccess,
    TaskEffect,
    ToolOutcome,
    Verdict,
)
from assent.planning.ports import NoHookRunner
from assent.ports import CallGuard, ProcessRunner
from assent.tools.dispatcher import (
    AskPermission,
    PreparedCall,
    ToolCallResult,
    ToolPermissionRequest,
    notify_guards,
)
from assent.tools.tool import ToolContext

# Runs several read-only pieces of work in parallel threads.


T = TypeVar("T")
R = TypeVar("R")

MAX_THREADS = 8  # threads


def run_parallel(work: Callable[[T], R], things: Sequence[T]) -> list[R]:
    """Returns what came of each, in their order; the first error is raised when all are done."""
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


INTERRUPTED = "The person interrupted the call. Whether it did anything is not known."
AFTER_THE_END = "The turn ended with the call before this one; nothing was done."
STOPPED_BY_PERSON = "The person {why} the work; nothing was done."
ASK_LATER = PermissionAnswer(why="asked later")
ASKED_EARLIER = PermissionAnswer(
    yes=True
)  # of a task whose child works already: it was asked about before that

SessionOutput = StoredEvent | StreamDelta


class TurnContext(Protocol):
    """What running calls needs from their turn."""

    @property
    def record(self) -> SessionRecord: ...

    @property
    def agent(self) -> Agent: ...

    def append_events(self, *events: SessionEvent) -> tuple[StoredEvent, ...]: ...

    def defer_events(self, *events: SessionEvent) -> None: ...

    def read_updates(self) -> tuple[StoredEvent, ...]: ...

    def tool_context(self) -> ToolContext:
        """Returns what a call has around it now."""

    def plan_updates(self, done: EffectDone) -> list[SessionEvent]:
        """Returns what the model has to be told of the plan after a call changed it."""

    def halted(self) -> TurnEnded | None:
        """Returns the end that a person elsewhere wants, as the log says it now."""


class ToolCallRunner:
    """The calls of a turn. `ending` says why the turn must end with them, `words` more of it."""

    def __init__(
        self,
        ground: TurnContext,
        desk: AgentServices,
        tooling: ToolEnvironment,
        children: ChildSessions,
    ) -> None:
        self._ground = ground
        self._desk = desk
        self._tooling = tooling
        self._children = children
        self.effects = EffectRunner(desk, tooling)
        own, hooks = tooling.guards(lambda: self._around.posture), desk.ports.hooks
        heard_by = HookGuard(hooks, desk.projections.warnings.append)
        self._guards: Sequence[CallGuard] = (
            own if isinstance(hooks, NoHookRunner) else (*own, heard_by)
        )
        self._pending: list[StoredEvent] = []  # recorded while somebody was asked
        self._around = ground.tool_context()  # of the batch that is being settled
        self.ending: TurnEndReason | None = None
        self.words = ""

    def run_call(self, calls: Sequence[ToolCall]) -> Iterator[SessionOutput]:
        """Settles the calls of one answer, those that only read and children side by side."""
        open_ones: dict[str, ToolCall] = {}
        for call in calls:
            open_ones.setdefault(call.id, call)  # two of one id cannot be told apart
        try:
            yield from self._settle_all(open_ones)
        except (KeyboardInterrupt, GeneratorExit):
            self._give_up(open_ones.values(), INTERRUPTED)
            raise
        except BaseException:
            self._give_up(open_ones.values(), LOST)
            raise

    def _settle_all(self, open_ones: dict[str, ToolCall]) -> Iterator[SessionOutput]:
        box, waiting = self._tooling.dispatcher, False
        prepared = self._prepared(open_ones.values())
        posture = self._around.posture
        self._ground.defer_events(BatchPlanned(tuple(map(box.planned, prepared))))
        fresh = True  # nothing has happened since they were prepared
        for kind, batch in _batches(
            prepared, lambda each: box.concurrency_group(each.call, posture)
        ):
            self._look_up()
            if self.ending:
                yield from self._refused(batch)
            else:
                again = batch if fresh else self._prepared([p.call for p in batch])
                parked = yield from (self._tasks(again) if kind == "tasks" else self._settle(again))
                waiting = waiting or bool(parked)
                fresh = kind == "reads"
            for each in batch:
                del open_ones[each.call.id]
        if waiting and not self.ending:
            self.ending = "waiting"
        stuck = " ".join(filter(None, [guard.turn_end_reason() for guard in self._guards]))
        if stuck and not self.ending:
            self.ending, self.words = "limit", stuck

    def _look_up(self) -> None:
        """Lets no further call begin once a person elsewhere wants the work to stop."""
        halt = None if self.ending else self._ground.halted()
        if halt is not None:
            self.ending, self.words = halt.why, halt.words

    def _prepared(self, calls: Iterable[ToolCall]) -> list[PreparedCall]:
        """Reads and judges calls as the session is now."""
        self._around, agent = self._ground.tool_context(), self._ground.agent
        return [self._tooling.dispatcher.prepare(call, self._around, agent) for call in calls]

    def _settle(
        self, batch: Sequence[PreparedCall]
    ) -> Generator[SessionOutput, None, list[ToolCall]]:
        """Settles a batch; returns the calls that wait for an answer of another day."""
        yield from self._begun(batch)
        began = perf_counter()
        settled = self._settled(batch)
        yield from self._heard_meanwhile()
        seconds = perf_counter() - began
        ended: list[SessionEvent] = []
        parked: list[ToolCall] = []
        for each, one in zip(batch, settled, strict=True):
            events = [] if _is_parked(one) else (yield from self._end(each.call, one, seconds))
            ended += events
            parked += [] if events else [each.call]
        if all(map(_can_wait, settled)):
            self._ground.defer_events(*ended)
        else:
            yield from self._ground.append_events(*ended)
        return parked

    def _tasks(
        self, batch: Sequence[PreparedCall]
    ) -> Generator[SessionOutput, None, list[ToolCall]]:
        """Settles calls that start children: each is judged first, then all work side by side."""
        yield from self._begun(batch)
        began, settled = perf_counter(), [self._task(each) for each in batch]
        yield from self._heard_meanwhile()
        wanted = [
            (p.call, one.outcome.effect)
            for p, one in zip(batch, settled, strict=True)
            if isinstance(one.outcome.effect, TaskEffect) and not one.outcome.failed
        ]
        work = self._children.run(wanted)
        carried = dict(zip([call.id for call, _ in wanted], (yield from work), strict=True))
        seconds, ended, parked = perf_counter() - began, list[SessionEvent](), list[ToolCall]()
        self._hear_no(wanted, carried)
        for each, one in zip(batch, settled, strict=True):
            done = EffectDone(carried.get(each.call.id) or _as_told(one.outcome))
            asks = done.carried.metadata.get("why") == "waiting" and not self.ending
            if asks or _is_parked(one):
                parked.append(each.call)
            else:
                ended += self._ended(each.call, one, done, seconds)
        yield from self._ground.append_events(*ended)
        return parked

    def _task(self, prepared: PreparedCall) -> ToolCallResult:
        """Settles a call that starts a child; one whose child waits was asked about before."""
        begun = prepared.call.id in self._children.waiting
        return self._one(prepared, (lambda doubt: ASKED_EARLIER) if begun else None)

    def _hear_no(self, wanted: RequestedTasks, carried: Mapping[str, EffectResult]) -> None:
        """Ends the turn where the person said no to a child, and says to which."""
        refused = [t for c, t in wanted if carried[c.id].metadata.get("why") == "declined"]
        if refused and not self.ending:
            self.ending, self.words = "declined", declined_children(refused, len(wanted))

    def _begun(self, batch: Sequence[PreparedCall]) -> Iterator[StoredEvent]:
        started = [CallStarted(each.call.id, each.call.tool) for each in batch]
        yield from self._ground.append_events(*started)

    def _settled(self, batch: Sequence[PreparedCall]) -> list[ToolCallResult]:
        """Settles calls in threads; one that needs an answer waits until the others are done."""
        if len(batch) == 1:
            return [self._one(batch[0])]
        postponed: set[str] = set()

        def together(each: PreparedCall) -> ToolCallResult:
            def later(doubt: ToolPermissionRequest) -> PermissionAnswer:
                postponed.add(each.call.id)
                return ASK_LATER

            return self._one(each, later)

        settled = run_parallel(together, batch)
        pairs = zip(batch, settled, strict=True)
        return [self._one(each) if each.call.id in postponed else one for each, one in pairs]

    def _one(self, prepared: PreparedCall, ask: AskPermission | None = None) -> ToolCallResult:
        box = self._tooling.dispatcher
        return box.run_call(prepared, self._around, ask or self._ask, self._guards)

    def _ask(self, doubt: ToolPermissionRequest) -> PermissionAnswer:
        """Asks the person, who sees what would be applied; what is recorded is shown afterwards."""
        gate, posture = self._tooling.gate, self._around.posture
        level, reasons = gate.risk(doubt.requests)
        run = self.effects.building(self._ground.record)
        wanted = Asked(
            doubt.call,
            doubt.tool,
            doubt.requests,
            doubt.decision,
            posture.agents[0].name if posture.agents else self._ground.agent.name,
            posture.mode,
            run,
            custom_mode_name(posture.custom),
            doubt.edit,
            posture.mode != "plan" and _may_be_freed(doubt, confined=not self._tooling.unconfined),
            (level, *reasons),
            gate.grant_patterns(doubt.requests, posture),
            gate.parts(doubt.requests),
            gate.is_mandatory_ask(doubt.requests, posture),
        )
        work = self.effects.permission.ask(self._ground.record, wanted)
        consent = drain(work, lambda event: self._pending.extend(self._ground.append_events(event)))
        self._pending.extend(self._ground.read_updates())
        if consent.plain:
            self.ending = "declined"
        return consent

    def _heard_meanwhile(self) -> list[StoredEvent]:
        pending, self._pending = self._pending, []
        return pending

    def _end(
        self, call: ToolCall, settled: ToolCallResult, seconds: float
    ) -> Generator[SessionOutput, None, list[SessionEvent]]:
        """Carries out what a call wishes for and returns everything that ends it.

        Nothing, if it waits for an answer that may come some day.
        """
        outcome = settled.outcome
        done = EffectDone(_as_told(outcome))
        if outcome.effect is not None and settled.decision is not None and not outcome.failed:
            # what others did comes before what this call does
            yield from self._ground.read_updates()
            now = self._ground.tool_context()
            about = (outcome.effect, _decided(settled), outcome.text, now.posture.mode == "plan")
            process = self._opened(settled, now.posture) or now.process
            wish = EffectRequest(self._ground.record, call, *about, _unconfined(settled), process)
            done = yield from self._carry(wish)
        return [] if done.later else self._ended(call, settled, done, seconds)

    def _opened(self, settled: ToolCallResult, posture: PermissionContext) -> ProcessRunner | None:
        """Returns what runs a command that was allowed to change configuration of agents."""
        if settled.attempt is None or not isinstance(settled.outcome.effect, CommandEffect):
            return None
        files = self._tooling.gate.files(settled.attempt.requests)
        opened = tuple(f.resource for f in files if f.action is Action.EDIT and _is_order(f))
        if not opened:
            return None
        found = self._tooling.with_path_limits(msgspec.structs.replace(posture, opened=opened))
        return found[0] if found else None

    def _ended(
        self, call: ToolCall, settled: ToolCallResult, done: EffectDone, seconds: float
    ) -> list[SessionEvent]:
        outcome, carried, mask = settled.outcome, done.carried, self._tooling.redact
        title = mask(outcome.title)
        metadata = {**({} if carried.failed else outcome.metadata), **carried.metadata}
        last = ToolOutcome(
            mask(carried.text), title, carried.failed, images=outcome.images, metadata=metadata
        )
        last = notify_guards(self._guards, settled, last)
        text, kept = self._kept(last.text, outcome.rest or done.rest)
        result = ToolResult(call.id, text, last.failed, last.images)
        decision = settled.decision
        ended = CallEnded(
            call.id,
            settled.tool,
            result,
            title,
            seconds,
            str(decision.verdict) if decision else "",
            {**metadata, **kept},
            decision_line(settled),
        )
        if carried.ends:
            self.ending = "presented"
        return [ended, *done.events, *(self._ground.plan_updates(done) if done.changed else [])]

    def _carry(self, wish: EffectRequest) -> Generator[SessionOutput, None, EffectDone]:
        """Records what an effect wants to have recorded before it goes on."""
        work = self.effects.run_effect(wish)
        while True:
            try:
                event = next(work)
            except StopIteration as end:
                done: EffectDone = end.value
                return done
            if isinstance(event, StreamDelta):
                yield event
            else:
                yield from self._ground.append_events(event)

    def _kept(self, text: str, rest: bytes) -> tuple[str, dict[str, str]]:
        """Keeps the whole of a long output in a file, and says where it is."""
        if not rest:
            return text, {}
        whole = self._tooling.redact(rest.decode("utf-8", "surrogateescape"))
        name = f"{self._desk.ports.clock.new_id()}.txt"
        try:
            content = whole.encode("utf-8", "surrogateescape")
            path = one_line(self._desk.ports.projection.write_output(name, content))
        except (AssentError, OSError) as error:
            return f"{text}\n\nThe rest could not be kept: {error}", {}
        told = f"The whole output is in {path}{self._reads()}."
        return f"{text}\n\n{told}", {"output": path}

    def _reads(self) -> str:
        """Says how to read a file, where the model has the tool for it."""
        absent = self._tooling.dispatcher.absent(self._around.posture, self._ground.agent)
        return "" if "read" in absent else "; `read` shows any part of it"

    def _refused(self, batch: Sequence[PreparedCall]) -> Iterator[StoredEvent]:
        halted = self.ending in ("paused", "cancelled", "interrupted")
        words = STOPPED_BY_PERSON.format(why=self.ending) if halted else AFTER_THE_END
        yield from self._ground.append_events(*[abandoned_call(each.call, words) for each in batch])

    def _give_up(self, calls: Iterable[ToolCall], why: str) -> None:
        if ended := [abandoned_call(call, why) for call in calls]:
            with suppress(AssentError):  # what stopped the calls is more important
                self._ground.append_events(*ended)


def abandoned_call(call: ToolCall, why: str) -> CallEnded:
    """Returns the end of a call that nobody carried out, or not to its end."""
    return CallEnded(call.id, call.tool, ToolResult(call.id, why, failed=True))


def _decided(settled: ToolCallResult) -> Decision:
    """Returns the decision that an effect is carried out by: an answer, if one was needed."""
    decision = settled.decision
    assert decision is not None, "a call with an effect was judged"
    if settled.consent is not None and settled.consent.yes:
        return msgspec.structs.replace(decision, verdict=Verdict.ASK)
    return decision


def _unconfined(settled: ToolCallResult) -> bool:
    return settled.consent is not None and settled.consent.unconfined


def _is_order(request: ResourceAccess) -> bool:
    return configures_agents(request.resource.encode("utf-8", "surrogateescape"))


def _may_be_freed(doubt: ToolPermissionRequest, *, confined: bool) -> bool:
    """Tells whether a yes could also mean a command without the sandbox."""
    shell = any(request.action is Action.SHELL for request in doubt.requests)
    return shell and confined and doubt.decision.layer != "defaults"


def _as_told(outcome: ToolOutcome) -> EffectResult:
    return EffectResult(outcome.text, outcome.failed, metadata=outcome.metadata)


def _is_parked(settled: ToolCallResult) -> bool:
    """Tells whether a call waits for an answer that may come some day."""
    return settled.consent is not None and settled.consent.later


def _can_wait(settled: ToolCallResult) -> bool:
    """Tells whether the end of a call may become durable together with the step after it.

    What was only read can be read again, and what was staged is durable in the draft: after a crash
    in between, the model is told of it as news.
    """
    staged = settled.decision is not None and settled.decision.verdict is Verdict.STAGE
    effect = settled.outcome.effect
    return effect is None or (staged and isinstance(effect, EditEffect | CommandEffect))


def _batches(
    prepared: Sequence[PreparedCall], together: Callable[[PreparedCall], str]
) -> Iterator[tuple[str, list[PreparedCall]]]:
    """Yields calls to settle together: neighbours of one kind, and each other one alone."""
    for kind, group in groupby(prepared, together):
        if kind:
            yield kind, list(group)
        else:
            yield from (("", [each]) for each in group)
