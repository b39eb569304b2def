"""Sessions: starting, continuing, forking, changing and stopping them.

Each session is driven by one process at a time.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from threading import Lock
from typing import Literal

import msgspec

from assent.agent.cancellation import watch_log
from assent.agent.hook_guard import fire_prompt_hooks
from assent.agent.prompt import (
    ModeSwitch,
    ReminderContext,
    fork_text,
    mode_events,
    prompt_text,
    reminder,
)
from assent.agent.rewind import RewindPreview, check_rewind, rewind_event, rewind_preview
from assent.agent.services import AgentServices, ToolEnvironment
from assent.agent.session_repository import SessionLookup, SessionOutputs, SessionRepository
from assent.agent.turns import SessionTurn, last_turn_end, retry_message
from assent.core.errors import AssentError, IllegalState, Interrupted, NotFound, UsageError
from assent.core.event import PlanRejected, StoredEvent
from assent.core.ids import slug
from assent.core.llm import ImagePart, StreamDelta, TextPart, TokenUsage
from assent.core.permission.mode import Mode, default_agent, effective_mode, resolve_mode
from assent.core.permission.rule import PathLimits
from assent.core.plan.operation import Operation
from assent.core.plan.record import PlanRecord, PlanState
from assent.core.run.journal import drive_to_end
from assent.core.session.agent import Agent
from assent.core.session.event import (
    NOTHING_TYPED,
    AttachedFile,
    CallEnded,
    CallStarted,
    Compacted,
    FilesAttached,
    FilesMentioned,
    MessageAdded,
    ModelChosen,
    PartSaid,
    ResultsPruned,
    SessionEvent,
    SessionRenamed,
    SessionStarted,
    StepEnded,
    StepRetried,
    StepStarted,
    Todo,
    TodosChanged,
    TurnEnded,
    TurnStarted,
    UserTyped,
    WorkHalted,
    interrupted_turn,
)
from assent.core.session.record import SessionRecord, fold_session, with_current_mode
from assent.core.session.transcript import (
    OFFERS,
    Transcript,
    UserMessage,
    chosen_message,
    rewind_targets,
    without_rewound,
)
from assent.core.text.secrets import redact
from assent.core.tool import PermissionContext
from assent.ports import EventBatch
from assent.ports.cancellation import CancelRegistry, CancelToken
from assent.ports.session import AgentDriver
from assent.render.log import event_row
from assent.render.rows import redacted_row

# Copies of a session: the events that a fork inherits, and all of them for an export.


_WORDS = (
    MessageAdded, FilesMentioned, FilesAttached, TurnStarted, StepStarted, PartSaid, StepRetried,
    CallStarted, TodosChanged, SessionRenamed, ResultsPruned, TurnEnded,
)  # fmt: skip


_KEPT = ("seen", OFFERS)  # metadata of calls: what the model saw, and which tools it asked for


def fork_events(record: SessionRecord, events: Iterable[StoredEvent]) -> Iterator[SessionEvent]:
    """Yields what a fork inherits: messages and todos, never permissions, plan or cost."""
    for recorded in events:
        match recorded.body:
            case StepEnded() | Compacted() as paid:
                yield msgspec.structs.replace(paid, usage=TokenUsage(), cost=0.0)
            case CallEnded() as ended:
                kept = {key: ended.metadata[key] for key in _KEPT if key in ended.metadata}
                yield msgspec.structs.replace(ended, metadata=kept)
            case event:
                if isinstance(event, _WORDS):
                    yield event
    if record.working:
        yield TurnEnded("interrupted", "The session was forked here.")


def fork_mode(mode: Mode) -> Mode:
    """Returns the mode of a fork: permission to skip questions is not inherited."""
    return "plan" if mode == "plan" else "ask"


def exported_session(record: SessionRecord, events: Iterable[StoredEvent]) -> dict[str, object]:
    """Returns a session with all its events, without secrets, as data for JSON."""
    return {
        "session": msgspec.to_builtins(redacted_row(record)),
        "events": [event_row(one, {}) for one in events],
    }


MAX_TITLE_CHARS = 200
MAX_GOAL_CHARS = 2000  # of a goal, in a plan's text
_USUAL = ("", "plan", "build")  # agents that follow the mode


class Sessions(SessionLookup):
    """Works on sessions. `start` adds the goal as the first message; `say` adds more."""

    def __init__(self, services: AgentServices) -> None:
        super().__init__(services.ports, services.workspaces, services.config.modes)
        self._services = services
        self._clock = services.ports.clock
        self._running = CancelRegistry[TurnEnded]()  # turns, by session
        self._tools: ToolEnvironment | None = None
        self._naming = Lock()
        self._named: set[str] = set()  # slugs of sessions that are just being started
        self._numbers: dict[str, int] = {}  # of the newest session of each name that many have

    def obey(self, tools: ToolEnvironment) -> None:
        """Tells a model no name at the top of the workspace that the rules of its gate hide."""
        self._tools = tools

    def start(
        self,
        goal: str,
        name: str,
        agent: str = "",
        model: str = "",
        images: Sequence[ImagePart] = (),
        typed: UserTyped = NOTHING_TYPED,
        beside: Callable[[SessionRecord], Sequence[EventBatch]] = lambda record: (),
    ) -> SessionRecord:
        """Starts a session in a mode with the goal as its message.

        What `beside` returns is recorded with it, or nothing is. A plan is made by the first call
        that needs one (decision 0088).
        """
        mode, custom = resolve_mode(name, self._services.config.modes)
        self._open_workspace(mode)
        diary = self.repository()
        aim, session = _aim(goal, typed.attached), self._clock.new_id()
        heard = (
            fire_prompt_hooks(self._services, session, mode, agent or default_agent(mode), goal)
            if aim
            else []
        )
        with self._slug(diary, aim) as slug:
            started = SessionStarted(session, diary.workspace, slug, mode, aim, custom=custom)
            first: list[SessionEvent] = [started, self._services.link(None)]
            record = _folded(first, self._clock.now())
            if aim:
                said = self._message(record, goal, agent, model, images)
                told = self._reminder(record, None, said, self.top_level(record, said.agent))
                first += [told, *heard, *self._with_files(said, typed)]
            return diary.start(*first, beside=beside)

    def say(
        self,
        record: SessionRecord,
        text: str,
        agent: str = "",
        model: str = "",
        images: Sequence[ImagePart] = (),
        typed: UserTyped = NOTHING_TYPED,
        id: str = "",
    ) -> SessionRecord:
        """Adds a user message; the default agent is the mode's, or the special one used before.

        A message that waited for its turn has an `id` already.
        """
        record = self._require(record)
        said = self._message(record, text, agent, model, images, id)
        heard = fire_prompt_hooks(self._services, record.session, record.mode, said.agent, text)
        if record.messages and not record.rewound and not self.missing_mode(record):
            return self._append(record, *heard, *self._with_files(said, typed))
        plan = self._services.plan_of(record)
        staged = self._services.plans.operations(plan) if plan else ()
        approved = plan is not None and self._services.approvals.is_approved(plan)
        reminded = self._was_reminded(record)
        top_level = "" if reminded else self.top_level(record, said.agent, staged)
        told = self._reminder(record, plan, said, top_level, len(staged), approved=approved)
        return self._append(record, told, *heard, *self._with_files(said, typed))

    def next_agent(self, record: SessionRecord) -> str:
        """Returns the agent of the next message, unless that names another."""
        mode = with_current_mode(record, self.modes).mode
        return default_agent(mode) if record.agent in _USUAL else record.agent

    def top_level(self, record: SessionRecord, agent: str, staged: Sequence[Operation] = ()) -> str:
        """Returns what the first message to an agent would say of the workspace now."""
        return self._services.top_level(self._path_limits(record, agent), staged)

    def set_mode(self, record: SessionRecord, name: str, reason: str = "") -> SessionRecord:
        """Changes the mode on behalf of the user, and tells the model."""
        record = self._require(record)
        events = self._mode_events(record, name, reason)
        return self._append(record, *events) if events else record

    def change(
        self,
        record: SessionRecord,
        mode: str | None = None,
        model: str | None = None,
        title: str | None = None,
    ) -> SessionRecord:
        """Changes what is named, on behalf of the user: all of it at once, or nothing."""
        record = self._require(record)
        events: list[SessionEvent] = []
        if title is not None:
            events.append(SessionRenamed(_checked_title(title)))
        if mode is not None:
            events += self._mode_events(record, mode)
        if model is not None:  # after the message about the mode, which names the one of before
            events.append(ModelChosen(model))
        return self._append(record, *events) if events else record

    def _mode_events(
        self, record: SessionRecord, name: str, reason: str = ""
    ) -> tuple[SessionEvent, ...]:
        """Returns the events that change the mode; none if the session is in it."""
        place = self._services.config
        mode, custom = resolve_mode(name, place.modes)
        if (record.mode, record.custom) == (mode, custom):
            return ()
        self._open_workspace(mode)
        switch = ModeSwitch(mode, reason, staging=place.staging, custom=custom, modes=place.modes)
        return mode_events(record, switch, self._clock.new_id())

    def choose_model(self, record: SessionRecord, model: str) -> SessionRecord:
        """Sets the model that the next turns use."""
        return self._append(self._require(record), ModelChosen(model))

    def load(self, session: str) -> SessionRecord:
        """Returns a session by its full id, in its current state."""
        return self.repository().load(session)

    def events(self, record: SessionRecord, after: int = 0) -> list[StoredEvent]:
        """Returns the events of a session."""
        return self.repository().read(record.session, after)

    def transcript(self, record: SessionRecord) -> Transcript:
        """Returns the messages of a session as a model reads them."""
        transcript = Transcript()
        for recorded in self.events(record):
            transcript.add(recorded.event)
        return transcript

    def export(self, record: SessionRecord) -> dict[str, object]:
        """Returns a whole session as data that can be written as JSON."""
        return exported_session(record, self.events(record))

    def retitle(self, record: SessionRecord, title: str) -> SessionRecord:
        """Sets a session's title; its slug, which names the folder of its plans, stays."""
        return self.change(record, title=title)

    def fork(self, record: SessionRecord) -> SessionRecord:
        """Copies messages and todos into a new session; permissions are not copied (F147)."""
        diary, mode = self.repository(), fork_mode(record.mode)
        session = self._clock.new_id()
        place = self._services.config
        narrowing = effective_mode(mode, record.custom, place.modes)[1]
        words = TextPart(fork_text(mode, record.slug, narrowing, staging=place.staging))
        told = MessageAdded(
            self._clock.new_id(),
            default_agent(mode),
            (words,),
            synthetic="mode",
            model=record.model,
        )
        self._open_workspace(mode)
        copied = fork_events(record, without_rewound(diary.read(record.session)))
        with self._slug(diary, record.slug) as name:
            started = SessionStarted(
                session, diary.workspace, name, mode, record.goal, fork=record.session,
                custom=record.custom,
            )  # fmt: skip
            return diary.start(started, self._services.link(None), *copied, told)

    def delete(self, record: SessionRecord) -> SessionRecord:
        """Removes a session and its children from lists; plans stay, and runs can be undone.

        Their kept outputs can no longer be read, and the next collection removes them.
        """
        for child in [each for each in self.all() if each.parent == record.session]:
            self.delete(child)
        record = self._require(record)
        return SessionRepository(self._services.ports, record.workspace).delete(record)

    def family(self, record: SessionRecord) -> list[str]:
        """Returns the ids of a session and of all below it."""
        children = [each for each in self.all() if each.parent == record.session]
        return [record.session, *(name for child in children for name in self.family(child))]

    def has_outputs(self, record: SessionRecord) -> bool:
        """Tells whether outputs of a session or of its children are kept."""
        outputs = SessionOutputs(self._services.ports, record.workspace)
        children = [each for each in self.all() if each.parent == record.session]
        return bool(outputs.deletion(record.session)) or any(map(self.has_outputs, children))

    def halt(
        self, record: SessionRecord, how: Literal["paused", "cancelled"], reason: str = ""
    ) -> SessionRecord:
        """Requests that a session and its children stop; a cancel also closes their questions."""
        record = self._require(record)
        if record.halt != how:
            record = self._append(record, WorkHalted(how, reason))
        if how == "cancelled":
            self._hang_up(record)
        return self._require(record)

    def retry(self, record: SessionRecord) -> SessionRecord:
        """Tells the model to retry the last turn, with what went wrong in it."""
        record = self._require(record)
        words = TextPart(retry_message(record, without_rewound(self.events(record))))
        agent = record.agent or default_agent(record.mode)
        new = self._clock.new_id()
        return self._append(
            record, MessageAdded(new, agent, (words,), synthetic="retry", model=record.model)
        )

    def ask_to_verify(self, record: SessionRecord) -> SessionRecord:
        """Asks the model to verify what was just built, in the session's own mode."""
        record = self._require(record)
        agent, new = record.agent or default_agent(record.mode), self._clock.new_id()
        words = (TextPart(prompt_text("verify")),)
        said = MessageAdded(new, agent, words, synthetic="verify", model=record.model)
        return self._append(record, said)

    def messages(self, record: SessionRecord) -> list[UserMessage]:
        """Returns the user's messages that the session can be rewound to, newest last (F148)."""
        return rewind_targets(self.events(record))

    def user_message(self, record: SessionRecord, message: str = "") -> UserMessage:
        """Returns a message of the user by its id or a prefix of it; else the last."""
        return chosen_message(self.events(record), message)

    def since(self, record: SessionRecord, message: str = "") -> RewindPreview:
        """Returns what happened since a message of the user, or since the last one."""
        return rewind_preview(self._services, record, self.user_message(record, message))

    def rewind(self, record: SessionRecord, message: str = "") -> SessionRecord:
        """Hides a message and everything after it from the model; nothing is deleted.

        The default is the user's last message. Plan and files stay as they are.
        """
        with self.rewinding(record) as held:
            return self.rewind_held(held, message)

    @contextmanager
    def rewinding(self, record: SessionRecord) -> Iterator[SessionRecord]:
        """Holds a session that can be rewound now, so that no turn begins; raises if it cannot."""
        record = self._require(record)
        check_rewind(self._services, record, at_work=self.is_at_work(record))
        with self.locked(record, f"rewind of session {record.slug}"):
            yield self._require(record)

    def rewind_held(self, record: SessionRecord, message: str = "") -> SessionRecord:
        """Rewinds a session that `rewinding` holds."""
        back = rewind_event(self.events(record), message)
        self._hang_up(record)
        record = self._append(self._require(record), *back)
        self._services.show_todos(record, record.todos)
        return record

    def add_context(self, record: SessionRecord, words: str) -> SessionRecord:
        """Adds something the user did, for the model to read with its next step."""
        record = self.load(record.session)
        agent, new = record.agent or default_agent(record.mode), self._clock.new_id()
        said = MessageAdded(new, agent, (TextPart(words),), synthetic="shell", model=record.model)
        return self._append(record, said)

    def failure(self, record: SessionRecord) -> str:
        """Returns the message with which the last turn failed; nothing if it did not."""
        end = last_turn_end(self.events(record)) if record.ended == "failed" else None
        return end.words if end else ""

    def restore_todos(self, plan: PlanRecord, run: str) -> SessionRecord | None:
        """Restores the todos of a plan's session as they were when a run began (F128)."""
        record = self.of_plan(plan)
        if record is None:
            return None
        store = self._services.ports.store
        began = store.read(f"run/{record.workspace}/{run}")[:1]
        todos = _todos_before(self.events(record), began[0].position) if began else record.todos
        if todos == record.todos:
            return record
        self._services.show_todos(record, todos)
        return self._append(record, TodosChanged(todos))

    def interrupt(self, record: SessionRecord, *, closed: bool = False) -> bool:
        """Ends the turn that this process runs in a session, from any thread.

        Programs that run for it are ended too. Tells whether there is such a turn. `closed` says
        that the screen closes: the user may not have wanted it to end.
        """
        return self._running.cancel(interrupted_turn(record.mode, closed=closed), record.session)

    def is_revision_due(self, record: SessionRecord) -> bool:
        """Tells whether a plan of the session was rejected, and its model has not read that yet."""
        plans, store = self._services.plans.repository(), self._services.ports.store
        known = {record.plan_id: record.plan_seq, **record.others} if record.plan_id else {}
        return any(
            any(isinstance(one.event, PlanRejected) for one in store.read(plans.stream(plan), seq))
            and plans.load(plan).state is PlanState.DRAFTING
            for plan, seq in known.items()
        )

    def locked(self, record: SessionRecord, owner: str) -> AbstractContextManager[None]:
        """Locks a session, so that no one else can work in it."""
        return self._services.ports.locks.hold(f"session-{record.session}", owner)

    def work(
        self,
        record: SessionRecord,
        driver: AgentDriver,
        tools: ToolEnvironment,
        build: str = "",
        before_step: Callable[[], object] = lambda: None,
    ) -> Iterator[StoredEvent | StreamDelta]:
        """Drives a session until it is idle; raises Busy if another process already does.

        `build` is the run that the turn carries out; its starter already holds the session. What
        `before_step` says to the session is read by the step that follows.
        """
        with (
            nullcontext() if build else self.locked(record, f"session {record.slug}"),
            self._services.last_edit.telling(),
            self._services.projections.throttled(),
            self._running.registered(record.session) as token,
        ):
            self._require(record)  # it may have been deleted while another process held it
            self._recover_unfinished(token)
            turn = SessionTurn(
                self._services, self.repository(), record.session, tools, build, token, before_step
            )

            def stop() -> None:
                if token.reason:
                    turn.children.cancel(token.reason)
                driver.stop()

            try:
                with token.attached(stop), watch_log(turn.halted, token):
                    yield from turn.open()
                    yield from driver.drive(turn)
            except Interrupted as error:
                if not token.is_cancelled:  # else a person elsewhere did it: the session says so
                    raise
                yield from turn.fail(error)
            except AssentError as error:
                yield from turn.fail(error)
                yield from () if turn.record.parent else turn.close()
                raise
            finally:
                turn.children.stop()
            # The plan that a child reads is its parent's.
            yield from turn.append_events() if turn.record.parent else turn.close()
            if not turn.record.parent:
                self._services.last_edit.check_over(self._services.run_status)

    def compact(
        self, record: SessionRecord, driver: AgentDriver, tools: ToolEnvironment, model: str = ""
    ) -> Iterator[StoredEvent | StreamDelta]:
        """Replaces the older messages of a session that is not at work by a summary (F116).

        Raises Busy if another process works in it, and IllegalState if it waits for an answer, or
        if there is nothing to compact.
        """
        with (
            self.locked(record, f"compaction of session {record.slug}"),
            self._running.registered(record.session) as token,
        ):
            record = self._require(record)
            turn = SessionTurn(self._services, self.repository(), record.session, tools)
            if turn.is_waiting:
                raise IllegalState(
                    f"Session {record.slug} waits for an answer, and so cannot be compacted.",
                    "assent questions list",
                )
            yield from turn.end_abandoned()
            with token.attached(driver.stop):
                done = yield from driver.compact(turn, model)
            if not done:
                raise IllegalState(
                    f"Session {record.slug} is too short: there is nothing to compact.",
                    f'assent -r {record.slug} "what comes next"',
                )

    def _recover_unfinished(self, token: CancelToken[TurnEnded]) -> None:
        """Recovers what an earlier process left, which is hardly ever anything."""
        status = self._services.run_status
        if status.is_clean():
            self._services.orphan_slots.check()
            return
        with token.attached(self._services.runs.interrupt):
            drive_to_end(self._services.runs.recover_unfinished())

    def _hang_up(self, record: SessionRecord) -> None:
        """Answers all open questions of a session and its children with no."""
        for id in record.questions:
            self._services.pending_questions.expire(
                record, id, f"{self._services.pending_questions.user} (cancelled)"
            )
        for child in [each for each in self.all() if each.parent == record.session]:
            self._hang_up(child)

    def _append(self, record: SessionRecord, *events: SessionEvent) -> SessionRecord:
        diary = SessionRepository(self._services.ports, record.workspace)
        return diary.append(record, *events)[0]

    def _require(self, record: SessionRecord) -> SessionRecord:
        """Returns the current state of a session; raises if it was deleted."""
        current = SessionRepository(self._services.ports, record.workspace).load(record.session)
        if current.deleted:
            raise NotFound(f"Session {record.slug} was deleted.", "assent sessions list")
        return current

    def _open_workspace(self, mode: Mode) -> None:
        """Opens the workspace for work in a mode: what changes files marks it, as a plan does."""
        self._services.workspaces.open(marked=mode != "plan")

    def _message(
        self,
        record: SessionRecord,
        text: str,
        agent: str,
        model: str,
        images: Sequence[ImagePart],
        id: str = "",
    ) -> MessageAdded:
        usual = self.next_agent(record)
        parts: tuple[TextPart | ImagePart, ...] = (TextPart(text), *images)
        new = id or self._clock.new_id()
        return MessageAdded(new, agent or usual, parts, model=model)

    def _with_files(self, said: MessageAdded, typed: UserTyped) -> list[SessionEvent]:
        """Returns a message with what is attached to it, and with what will be."""
        events: list[SessionEvent] = [said]
        if typed.attached:
            events.append(FilesAttached(said.id, typed.attached))
        if "@" in typed.text and (named := self._services.attachments.mentions(typed.text)):
            events.append(FilesMentioned(said.id, named))
        return events

    def _reminder(
        self,
        record: SessionRecord,
        plan: PlanRecord | None,
        said: MessageAdded,
        top_level: str,
        staged: int = 0,
        *,
        approved: bool = False,
    ) -> MessageAdded:
        """Returns a reminder for a model to which nothing that it got before applies."""
        place = self._services.config
        now = ReminderContext(
            staged, approved, staging=place.staging, modes=place.modes, top_level=top_level
        )
        words = TextPart(reminder(record, plan, now))
        new = self._clock.new_id()
        return MessageAdded(new, said.agent, (words,), synthetic="reminder", model=said.model)

    def _path_limits(self, record: SessionRecord, name: str) -> PathLimits | None:
        """Returns what rules hide from an agent; one that is unknown plans (F11)."""
        if self._tools is None:
            return None
        agents = self._tools.agents
        mode = record.mode if not name or name in agents else "plan"
        agent = agents.get(name or default_agent(mode)) or agents.get("plan") or Agent("plan")
        return self._tools.path_limits(
            PermissionContext(mode, agents=(agent,), auto=self._tools.auto)
        )

    def _was_reminded(self, record: SessionRecord) -> bool:
        """Tells whether the model can read an earlier reminder in the session."""
        events = [one.event for one in without_rewound(self.events(record))]
        return any(isinstance(e, MessageAdded) and e.synthetic == "reminder" for e in events)

    @contextmanager
    def _slug(self, diary: SessionRepository, goal: str) -> Iterator[str]:
        """Yields a slug that no session and no plan folder has, and that no other thread gets."""
        wanted, find_plans = slug(goal), self._services.ports.projection.find_plans
        with self._naming:
            taken = diary.slugs()
            n = self._numbers.get(wanted, 1)  # a session keeps its name, so those before are taken
            name = wanted if n == 1 else f"{wanted}-{n}"
            while name in taken or name in self._named or find_plans(name):
                n += 1
                name = f"{wanted}-{n}"
            self._named.add(name)
            self._numbers[wanted] = n
        try:
            yield name
        finally:
            with self._naming:
                self._named.discard(name)


def _folded(events: Sequence[SessionEvent], at: str) -> SessionRecord:
    """Returns the session that results from its first events."""
    record: SessionRecord | None = None
    for seq, event in enumerate(events, 1):
        record = fold_session(record, event, seq, at)
    assert record is not None, "a session has a first event"
    return record


def _checked_title(title: str) -> str:
    words = redact(" ".join(title.split()))
    if not words or len(words) > MAX_TITLE_CHARS:
        raise UsageError(
            f"A title must have 1 to {MAX_TITLE_CHARS} characters.",
            "assent sessions rename ID TITLE",
        )
    return words


def _aim(said: str, attached: Sequence[AttachedFile] = ()) -> str:
    """Returns a goal in short: its first paragraph, without piped input below it.

    Folders, files and titles are named after it, so secrets are removed, and so are the signs of
    pasted images unless there is nothing else; the model reads what the user typed.
    """
    worded = said
    for file in attached:
        if file.images and file.mention == file.path:  # a sign, and no file of that name
            worded = worded.replace(f"{file.mention} ", "").replace(file.mention, "")
    return redact((worded.strip() or said.strip()).partition("\n\n")[0])[:MAX_GOAL_CHARS].strip()


def _todos_before(events: Sequence[StoredEvent], position: int) -> tuple[Todo, ...]:
    todos: tuple[Todo, ...] = ()
    for recorded in events:
        if recorded.position < position and isinstance(recorded.event, TodosChanged):
            todos = recorded.event.todos
    return todos
