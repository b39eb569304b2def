"""The turn of a session, through which a driver reads it, appends events and runs calls."""

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from functools import partial

import msgspec

from assent.agent.cancellation import cancellable_environment
from assent.agent.effects import EffectDone
from assent.agent.hook_guard import fire_compact_hooks, fire_response_hooks
from assent.agent.permission_request import drain
from assent.agent.plan_updates import OwnChanges, PlanUpdates
from assent.agent.prompt import ReminderContext, mode_instructions, reminder
from assent.agent.services import AgentServices, ToolEnvironment
from assent.agent.session_context import SessionContext
from assent.agent.session_repository import SessionRepository, folded_session
from assent.agent.subagents.ancestry import requested_end
from assent.agent.subagents.children import ChildSessions
from assent.agent.tool_call_runner import ToolCallRunner, abandoned_call
from assent.core.errors import AssentError, IllegalState, Interrupted, StoreError
from assent.core.event import EventBody, StoredEvent
from assent.core.llm import ChatMessage, StreamDelta, TextPart, ToolCall, ToolDefinition
from assent.core.plan.record import PlanRecord, PlanState
from assent.core.session.agent import Agent
from assent.core.session.event import (
    INTERRUPTED_WORK,
    CallEnded,
    FilesAttached,
    FilesMentioned,
    MessageAdded,
    OptionLinked,
    PlanLinked,
    SessionEvent,
    SessionRewound,
    StepStarted,
    TurnEnded,
    TurnEndReason,
    TurnStarted,
)
from assent.core.session.record import SessionRecord, with_current_mode
from assent.core.session.transcript import (
    LOST,
    LOST_PLANNING,
    NewImages,
    OfferedTools,
    Transcript,
)
from assent.core.tool import UNSTAGED, PermissionContext
from assent.planning.ports import NoHookRunner
from assent.ports.cancellation import CancelToken
from assent.tools.dispatcher import SHELL
from assent.tools.tool import ToolContext

PROCESS_ENDED = "Its process ended."
# What is said of a turn that a call or a person ended.
END_MESSAGES: dict[TurnEndReason, str] = {
    "declined": "You denied permission; nothing was done.",
}


class SessionTurn:
    """Implements ports.Turn over a session's stream, whose lock is held during the turn."""

    def __init__(
        self,
        services: AgentServices,
        diary: SessionRepository,
        session: str,
        tools: ToolEnvironment,
        build: str = "",
        token: CancelToken[TurnEnded] | None = None,
        before_step: Callable[[], object] = lambda: None,
    ) -> None:
        self._before_step = before_step  # a face says there what waited for the next step
        self._services = services
        self._diary = diary
        self._token = token or CancelToken()  # with the end that a person elsewhere wants
        tools = cancellable_environment(tools, self._token)
        self._tools = tools
        self._build = build
        self._surroundings = SessionContext(services, tools)
        self._transcript = Transcript()
        self._offered = OfferedTools()
        self._offered_for: tuple[SessionRecord, PlanRecord | None, PermissionContext] | None = None
        self._seen: dict[str, str] = {}  # digests of files as the model last saw them, by path;
        self._seen_in: dict[str, dict[str, str]] = {"": self._seen}  # and so in each option
        self._ever_seen: dict[str, set[str]] = {}  # all of their digests, and those to which they
        self._seen_before: dict[str, set[str]] = {}  # may be back, as the model was told
        self._mentions: dict[str, tuple[str, ...]] = {}  # that are not attached yet, by message
        self._is_unread = False  # the user has said something that no step has read
        self._new_images = NewImages()
        self._over = False
        self._plan: PlanRecord | None = None
        self._plan_is_known = False
        self._linked = 0  # where in the log the newest mark is,
        self._reached = 0  # the newest event of the session,
        self._quiet = -1  # and the newest event before which no one else did anything unread
        self._held: tuple[SessionEvent, ...] = ()
        self._record = diary.load(session)
        events = diary.read(session)
        self._record = folded_session(self._record, [e for e in events if e.seq > self._record.seq])
        self._take(events)
        self._news = PlanUpdates(services, self._record, self._linked)
        self.children = ChildSessions(self, services, tools, SessionTurn)
        self._calls = ToolCallRunner(self, services, tools, self.children)
        # Calls that wait for an answer, their own or their child's, and for nothing else.
        own = self._calls.effects.permission.resume(events)
        lent = self.children.waiting
        self._waiting = [c for c in self._transcript.pending_calls if c in own or c.id in lent]

    @property
    def record(self) -> SessionRecord:
        """The session, in its current mode."""
        return with_current_mode(self._record, self._tools.modes)

    @property
    def agent(self) -> Agent:
        """The agent of the newest message; an unknown one may only plan (F11)."""
        return self._surroundings.agent(self._record)

    @property
    def messages(self) -> tuple[ChatMessage, ...]:
        return self._transcript.messages

    @property
    def has_new_images(self) -> bool:
        return self._new_images.found

    @property
    def is_over(self) -> bool:
        return self._over

    def available_tools(self) -> tuple[ToolDefinition, ...]:
        """Returns the tools that the model sees in this mode, as this agent, at this point."""
        return self._tools.dispatcher.available_tools(
            self._offering(), self.agent, self._offered.names
        )

    def absent_tools(self) -> frozenset[str]:
        """Returns Assent's own tools that the model can neither call nor ask for here."""
        return self._tools.dispatcher.absent(self._offering(), self.agent)

    def append_events(self, *events: SessionEvent, synced: bool = True) -> tuple[StoredEvent, ...]:
        """Appends events to the session, after those that others appended."""
        if not events and not self._held:
            return ()
        if wanted := self._token.reason:  # the driver only knows that it was interrupted
            events = tuple(wanted if _is_broken_off(each) else each for each in events)
        held, self._held = self._held, ()
        self._record, recorded = self._diary.append(self._record, *held, *events, synced=synced)
        if not self._record.working:
            self._token.close()  # a later stop would hit the driver's next turn
        if recorded and recorded[0].position == self._quiet + 1:
            self._quiet = recorded[-1].position
        self._take(recorded, held)
        return recorded

    def defer_events(self, *events: SessionEvent) -> None:
        """Applies events now, and stores them with the next ones that are appended."""
        self._held += events
        for event in events:
            self._count(event)

    def read_new_messages(self) -> tuple[StoredEvent, ...]:
        """Reads what others did; if the user requested a stop, the turn ends."""
        if not self._token.reason:
            self._before_step()
        told = (*self.children.new_events(), *self.read_updates())
        halt = (
            None
            if self._over
            else self._token.reason or requested_end(self._services.ports, self._record)
        )
        if halt and self._record.working:
            return (*told, *self._end(halt.why, halt.words))
        return (*told, *self._attach_files()) if self._mentions and not self._over else told

    def _attach_files(self) -> tuple[StoredEvent, ...]:
        """Reads the files that the user named with `@`; what would be asked is asked now."""
        told: list[StoredEvent] = []
        for message, mentions in tuple(self._mentions.items()):
            context = self.tool_context()
            read = partial(self._calls.read_for_user, context, told.extend)
            attach = self._services.attachments.attach
            files = attach(mentions, context, read, self._tools.home)
            told += self.append_events(FilesAttached(message, files))
        return (*told, *self.read_updates())

    def halted(self) -> TurnEnded | None:
        """Returns the end that the user requested elsewhere, from the log; changes nothing.

        It may be called from any thread.
        """
        if self._token.reason:
            return self._token.reason
        record = self._record
        if not record.halt and self._services.ports.store.last() == self._quiet:
            return None
        return requested_end(self._services.ports, self._diary.load(record.session))

    def read_updates(self) -> tuple[StoredEvent, ...]:
        """Reads what others added to the session, and reports what they did to its plan."""
        plan = self._current_plan()
        # What a person wrote into the plan's file is its own session's to take in.
        own = plan is not None and not self._record.parent
        edited = own and plan is not None and self._news.take_in(plan)
        last = self._services.ports.store.last()
        if last == self._quiet and not edited:
            return ()
        self._quiet = last
        said = self._diary.read(self._record.session, self._record.seq)
        self._record = folded_session(self._record, said)
        self._take(said)
        news = self._news.read(self._record, self._reached)
        if all(isinstance(one, PlanLinked) for one in news):  # others worked, on other plans
            self.defer_events(*news)
            return tuple(said)
        return (*said, *self.append_events(*news))

    def run_calls(self, calls: Sequence[ToolCall]) -> Iterator[StoredEvent | StreamDelta]:
        """Runs the calls of one answer; one that ends the turn has it end here.

        A plain no does not, if the user has said something that the model has not read.
        """
        yield from self._calls.run(calls)
        if self._calls.ending == "presented":
            yield from self._critique()
        if self._calls.ending == "declined":
            yield from self.read_updates()
            if self._is_unread:  # what the user said after the question says how to go on
                self._calls.continue_turn()
        if self._calls.ending:
            yield from self._end(self._calls.ending, self._calls.words)

    def _critique(self) -> Iterator[StoredEvent | StreamDelta]:
        """Has a critic read what was just presented, if the user wants one (G22).

        The plan is frozen and its call ended, so that a crash from here on only costs the critique.
        Of several options each is read by itself.
        """
        plans = self._presented() if self._tools.open_critic else ()
        if not self._tools.open_critic or not plans:
            return
        critic, readable = self._tools.open_critic(), self.tool_context().readable
        for one in plans:
            if (yield from critic.critique(self, self._services.comments, one, readable)):
                return

    def _presented(self) -> list[PlanRecord]:
        """Returns the session's plan, or the options that it is one of, as far as they wait."""
        plan = self._services.plan_of(self._record)
        options = self._services.options.open(self._record) if plan and plan.option else ()
        found = options or filter(None, [plan])
        return [one for one in found if one.digest and one.state is PlanState.AWAITING_APPROVAL]

    def _critique_is_owed(self) -> bool:
        """Tells whether all that this turn has to do is a critique that a process left unfinished.

        Who says something meanwhile gets an answer to that first.
        """
        if not self._tools.open_critic or self._record.parent or self._record.mode != "plan":
            return False
        last = self.messages[-1] if self.messages else None
        if last is None or (last.role == "user" and any(map(_is_said, last.parts))):
            return False
        owed, session = self._services.comments.is_critique_owed, self._record.session
        return any(owed(plan, session) for plan in self._presented())

    def after_response(
        self, model: str, text: str, calls: Sequence[ToolCall]
    ) -> tuple[StoredEvent, ...]:
        """Tells hooks about a model's answer, once it is stored."""
        if isinstance(self._services.ports.hooks, NoHookRunner):
            return ()
        stored = self.append_events()
        fire_response_hooks(self._services, self.record, model, text, calls)
        return stored

    def before_compaction(self, *, asked: bool) -> str:
        """Tells hooks about a compaction; raises Refused if one objects."""
        size = {"messages": len(self.messages), "compactions": self._record.compactions}
        return fire_compact_hooks(self._services, self.record, size, asked=asked)

    def confirm(self, header: str, question: str) -> Generator[StoredEvent, None, bool]:
        """Asks the user whether to continue, on record; only an explicit yes counts."""
        heard: list[StoredEvent] = []
        work = self._calls.effects.permission.confirm(self._record, header, question)
        consent = drain(work, lambda event: heard.extend(self.append_events(event)))
        yield from (*heard, *self.read_updates())
        if self._tools.cancel_reason() == "interrupted":  # that does not answer the question
            raise Interrupted(INTERRUPTED_WORK)
        return consent.yes

    def wait_for_children(self) -> Generator[StoredEvent | StreamDelta, None, bool]:
        """Waits for background children; tells whether one reported, or the turn is over."""
        reported = yield from self.children.wait()
        yield from self.read_updates()
        if not reported and self.children.asking:
            yield from self._end("waiting")
        return reported or self._over

    def mode_instructions(self) -> str:
        """Returns what the model has to know of its agent in this mode, behind all it knows."""
        words = self._surroundings.mode_prompt(self._record)
        before = self._transcript.instructions
        return mode_instructions(self.agent, words, self.absent_tools(), before=before)

    @property
    def instructed(self) -> str:
        """The instructions that the model has got."""
        return self._transcript.instructions

    def reminder(self) -> str:
        """Returns a reminder of the current mode and plan."""
        plan = self._current_plan()
        staged = len(self._services.plans.operations(plan)) if plan else 0
        approved = plan is not None and self._services.approvals.is_approved(plan)
        permissions = self._permissions()
        scope = permissions.scope if permissions.building else None
        now = ReminderContext(staged, approved, permissions.staging, scope, self._tools.modes)
        return reminder(self._record, plan, now)

    @property
    def is_waiting(self) -> bool:
        """Whether a call or a child of the session waits for an answer."""
        return bool(self._waiting or self.children.left or self._record.questions)

    def end_abandoned(self) -> tuple[StoredEvent, ...]:
        """Ends the calls and the turn that a process left open when it died."""
        return self.append_events(*self._abandoned())

    def open(self) -> Iterator[StoredEvent | StreamDelta]:
        """Ends what a process that died left open, starts the turn, and runs what waited."""
        again, left = self._waiting, bool(self.children.left)
        waited = left or self._record.ended == "waiting"
        started = TurnStarted(self._record.turns + 1, self._build)
        # The first step, or whatever else happens next, is waited for.
        yield from self.append_events(*self._abandoned(), started, synced=False)
        if self._record.todos:
            self._services.show_todos(self._record, self._record.todos)
        self._services.projections.warnings += self._surroundings.warnings(self._record)
        yield from self.children.end_abandoned()
        if self._critique_is_owed():
            yield from self._critique()
            yield from self._end("presented")
        elif again:
            yield from self.run_calls(again)
        elif waited and not self._record.waiting:  # for children in the background alone
            yield from self.wait_for_children()

    def fail(self, error: AssentError) -> tuple[StoredEvent, ...]:
        """Ends a turn that the driver could not end itself, such as when a file is unreadable."""
        if not self._record.working or isinstance(error, StoreError):
            return ()
        wanted = self._token.reason if isinstance(error, Interrupted) else None
        return self.append_events(wanted or TurnEnded("failed", error.message))

    def tool_context(self) -> ToolContext:
        """Returns the current context of a call."""
        context = self._surroundings.tool_context(
            self._record, self._current_plan(), self._seen, self._seen_before
        )
        if self._record.parent:
            return context
        return msgspec.structs.replace(context, option_context=self._option_context)

    def _option_context(self, label: str) -> ToolContext:
        """Returns the context of a call that names an option: its draft, or the files alone."""
        plan = self._services.options.find(self._record, label)
        seen = self._seen_in.get(plan.plan_id if plan else "", self._seen_in[""])
        return self._surroundings.tool_context(self._record, plan, seen, self._seen_before)

    def plan_updates(self, done: EffectDone) -> list[SessionEvent]:
        """Returns the events that tell the model about the plan after a call changed it."""
        return self._news.read(self._record, self._reached, OwnChanges(done.wrote, done.draft))

    def close(self) -> Iterator[StoredEvent]:
        """Removes the session's plan again if it has no content: then there is nothing to see.

        A call that waits for an answer may still fill it. The next change makes a new plan.
        """
        yield from self.append_events() if self._held else ()
        plan = self._current_plan()
        if plan is None or plan.session != self._record.slug or self._record.parent:
            return
        if plan.option or self._record.ended == "waiting":
            return
        if plan.state is PlanState.DRAFTING and self._services.plans.is_empty(plan):
            self._services.plans.delete([plan])
            yield from self.append_events(self._services.link(None))
            self._services.projections.forget(plan.plan_id)
            if self._record.mode == "plan":  # in others, files were changed that can be undone
                self._services.workspaces.tidy()

    def _abandoned(self) -> list[SessionEvent]:
        """Returns the ends of what a process left open when it died."""
        again, left = self._waiting, bool(self.children.left)
        lost = [
            abandoned_call(c, self._lost(c))
            for c in self._transcript.pending_calls
            if c not in again
        ]
        if again and not lost and not left:  # it only waited, as one does whose user left
            dead = TurnEnded("waiting")
        else:
            dead = TurnEnded("waiting" if again or left else "interrupted", PROCESS_ENDED)
        return [*lost, *([dead] if self._record.working else [])]

    def _lost(self, call: ToolCall) -> str:
        """Returns what is known of a call that a process left when it died."""
        known = self._services.session_commands.unknown_end(self._record.session, call.id)
        planning = self._surroundings.mode(self._record) == "plan"
        unreal = planning and self._tools.dispatcher.name(call) == SHELL
        return known or (LOST_PLANNING if unreal else LOST)

    def _end(self, why: TurnEndReason, words: str = "") -> tuple[StoredEvent, ...]:
        """Ends the turn, because a call, an answer or a stop request ended it."""
        self._over = True
        told = self._open_words() if why == "waiting" else words or END_MESSAGES.get(why, "")
        return self.append_events(TurnEnded(why, told))

    def _open_words(self) -> str:
        """Returns how many questions of the session and its children wait for an answer."""
        own = self._record.session
        found = [each for each in self._services.pending_questions.pending()
                 if own in (each.session.session, each.root.session)]  # fmt: skip
        if len(found) > 1:
            return f"{len(found)} questions are pending."
        return "1 question is pending."

    def _permissions(self) -> PermissionContext:
        return self._surroundings.permission_context(self._record, self._current_plan())

    def _offering(self) -> PermissionContext:
        """Returns what decides which tools are offered; it is found out once for a stored event.

        No call is judged by it: what another process has revoked counts at once there.
        """
        about = (self._record, self._current_plan())
        known = self._offered_for
        if known is None or known[0] is not about[0] or known[1] is not about[1]:
            known = self._offered_for = (*about, self._permissions())
        return known[2]

    def _current_plan(self) -> PlanRecord | None:
        if not self._plan_is_known:
            self._plan, self._plan_is_known = self._services.plan_of(self._record), True
        return self._plan

    def _take(self, events: Iterable[StoredEvent], held: Sequence[SessionEvent] = ()) -> None:
        """Applies recorded events to the turn's state, unless they were applied already."""
        counted = {id(event) for event in held}
        for recorded in events:
            self._reached = recorded.position
            if isinstance(recorded.event, PlanLinked | OptionLinked):
                self._linked = recorded.position
            if id(recorded.event) not in counted:
                self._count(recorded.event)

    def _count(self, event: EventBody) -> None:
        self._transcript.add(event)
        self._offered.add(event)
        self._new_images.add(event)
        match event:
            case PlanLinked():
                self._plan_is_known = False
                self._seen = self._seen_in[""]
            case OptionLinked(plan_id):
                self._plan_is_known = False
                self._seen = self._seen_in.setdefault(plan_id, dict(self._seen_in[""]))
            case SessionRewound():
                for seen in self._seen_in.values():
                    seen.clear()  # the model has to look again
                self._ever_seen.clear()
                self._seen_before.clear()
                self._mentions.clear()
                self._is_unread = False
            case FilesMentioned(message, mentions):
                self._mentions[message] = mentions
            case FilesAttached(message, files):
                self._mentions.pop(message, None)
                for file in files:
                    self._see(file.seen)
            case CallEnded(metadata=metadata):
                self._see(metadata.get("seen", {}))
                if metadata.get(UNSTAGED):
                    self._may_be_back()
            case MessageAdded(synthetic="declined" | "undone"):
                self._may_be_back()
            case MessageAdded(synthetic=""):
                self._is_unread = True
            case StepStarted():
                self._is_unread = False
            case _:
                pass

    def _may_be_back(self) -> None:
        """Takes in that the model knows of changes which were undone: it need not look again."""
        self._seen_before = {path: set(all) for path, all in self._ever_seen.items()}

    def _see(self, files: Mapping[str, str]) -> None:
        """Takes in which contents of files the model has seen."""
        self._seen.update(files)
        for path, digest in files.items():
            self._ever_seen.setdefault(path, set()).add(digest)
            self._seen_before.pop(path, None)


def _is_said(part: object) -> bool:
    return isinstance(part, TextPart)


def _is_broken_off(event: SessionEvent) -> bool:
    return isinstance(event, TurnEnded) and event.why == "interrupted"


# How the last turn ended, and the message that asks the model to try it again (F111).


MAX_ERRORS = 3  # errors that are carried forward
MAX_ERROR_CHARS = 500  # characters of each


def last_turn_end(events: Sequence[StoredEvent]) -> TurnEnded | None:
    """Returns how the last turn of a session ended, if it did."""
    for recorded in reversed(events):
        match recorded.body:
            case TurnEnded() as end:
                return end
            case TurnStarted():
                return None
            case _:
                pass
    return None


def retry_message(record: SessionRecord, events: Sequence[StoredEvent]) -> str:
    """Returns what went wrong in the last turn, for a model that retries it."""
    end = last_turn_end(events)
    if not record.turns:
        raise IllegalState(
            f"Session {record.slug} has no turn to retry.",
            f'assent -r {record.slug} -p "what should be done"',
        )
    how = f"ended ({end.why}). {end.words}" if end else "was cut off because its process ended."
    errors = _errors(events)
    listed = "".join(f"\n- {text}" for text in errors)
    went = f"\n\nIts last errors:{listed}" if errors else ""
    return (
        f"The user wants you to try again. The previous turn {how.strip()} Its work is kept: check "
        f"it first, and if the same approach would fail again, use another.{went}"
    )


def _errors(events: Sequence[StoredEvent]) -> list[str]:
    """Returns the errors of the last failed calls of the last turn."""
    found: list[str] = []
    for recorded in events:
        match recorded.body:
            case TurnStarted():
                found.clear()
            case CallEnded(tool=tool, result=result) if result.failed:
                found.append(f"{tool}: {result.text[:MAX_ERROR_CHARS]}")
            case _:
                pass
    return found[-MAX_ERRORS:]
