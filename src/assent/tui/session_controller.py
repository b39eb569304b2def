"""Controls the session on the screen: the thread of its turns, and its pending questions.

A single thread drives the turns.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from threading import Event, Lock, Thread
from time import monotonic
from typing import TYPE_CHECKING, Final

from assent.core.errors import AssentError, Busy, ConcurrentChange, Interrupted, UsageError
from assent.core.permission.mode import MODES, Mode, default_agent, resolve_mode
from assent.core.session.event import AttachedFile, Question, TurnEnded, UserTyped
from assent.core.session.record import SessionRecord
from assent.render.questions import NotificationFilter
from assent.tui.host import ScreenHost, StartOptions
from assent.tui.messages import (
    QuestionArrived,
    QueueChanged,
    SessionActivity,
    ShellOrigin,
    TaskFailed,
    TurnBegan,
    TurnOver,
    WorkspaceFailed,
    WorkspaceReady,
)
from assent.tui.queued_messages import QueuedMessages, QueuedText
from assent.tui.workers import Coalescer

if TYPE_CHECKING:
    from assent.app.engine import Engine
    from assent.app.session import SessionRuntime
    from assent.core.event import StoredEvent
    from assent.core.llm import StreamDelta

# The asker of the terminal UI: waits for the answer that a question block records.


POLL_INTERVAL_S: Final = 0.1


class PanelAsker:
    """Implements ports.Asker: waits until a question is answered, here or elsewhere.

    It never answers itself. When the screen closes while a question is open, the call never
    returns: the question stays on record, and is asked again when the session is opened next.
    """

    defers = False
    present = True

    def __init__(self, messages: Coalescer) -> None:
        self._messages = messages
        self._look = Event()

    def ask(
        self, questions: Sequence[Question], answered: Callable[[], str]
    ) -> tuple[tuple[str, ...], ...] | None:
        self._messages.post(QuestionArrived())
        while not answered():
            self._look.wait(POLL_INTERVAL_S)
            self._look.clear()
        return None

    def wake(self) -> None:
        """Wakes waiting threads, because something was answered here."""
        self._look.set()


BUSY = "The model is working. Press Esc to interrupt it first."
NOT_COMPACTED = "Compaction interrupted. No message was replaced."
BUILT = "The build stopped early. Its changes are kept, and continuing needs no new approval."

OTHER_MODE = "The mode was changed to {} elsewhere. Your message was not sent."
REPEAT_HINT = "send it again to continue in this mode"
NO_IMAGES = "{name} cannot see images. Choose a model that can, or describe what is in it."
NOTED = "This session is in use elsewhere; your message is queued."
LATER = "send `continue` when it is idle"

UNFINISHED = (
    "An earlier run is not finished: /recover shows your options, /waiting all pending decisions."
)
LOST = (
    "Files of an unknown run were found, and builds are blocked until they are handled: `assent "
    "recover` lists them and your options."
)
CONTINUE_HINT: Final = "send `continue`; messages and staged changes are kept"
TRIES, PAUSE_S = 100, 0.05

Events = Iterator["StoredEvent | StreamDelta"]


class TurnWatcher:
    """What the events of a turn say that the screen acts upon, as far as they were shown."""

    def __init__(self) -> None:
        self.why = ""  # the turn ended; nothing where none was driven
        self.presented = False  # a plan, so that its review opens when the turn is over
        self.failed = False  # as the conversation says already
        self._notices = NotificationFilter("")
        self._began = monotonic()

    @property
    def took_s(self) -> float:
        """How long the turn has been running."""
        return monotonic() - self._began

    def begin(self, session: str, notify_after: float) -> None:
        """Watches the turn of a session that has just begun."""
        self._notices, self._began = NotificationFilter(session, notify_after), monotonic()

    def take(self, stored: "Sequence[StoredEvent]") -> list[str]:
        """Takes in events; returns what is worth a signal to a person who looks elsewhere."""
        ends = [one.event.why for one in stored if isinstance(one.event, TurnEnded)]
        self.why = ends[-1] if ends else self.why
        self.presented = "presented" in ends or (self.presented and not ends)
        self.failed = "failed" in ends or (self.failed and not ends)
        return [words for words in map(self._notices.take, stored) if words]

    def end(self) -> tuple[bool, bool]:
        """Returns whether a plan was presented, and whether it failed; the next may begin."""
        ended = (self.presented, self.failed)
        self.why = ""
        self.presented = self.failed = False
        return ended


class SessionController:
    """Sends messages, drives turns and interrupts them; its thread only reports by messages."""

    def __init__(self, host: ScreenHost, messages: Coalescer, start: StartOptions) -> None:
        self.host = host
        self.asker = PanelAsker(messages)
        self.record: SessionRecord | None = None
        self.mode = start.mode  # of the session that is not begun yet
        self.view = 0  # how often another session was put on the screen
        self.model = start.model
        self.agent = start.agent
        self.shown_model = start.model  # the one used unless another is named
        self.configured = self.remembered = ""  # by the user; and chosen in an earlier screen
        self.chosen_plan = ""  # by the user; the model is notified with the next turn
        self.seen: Callable[[], tuple[str, int]] = lambda: ("", 0)  # session and last event shown
        self.turn = TurnWatcher()
        self.queued = QueuedMessages()
        self.at_work = False  # a turn is driven, and its end was not reported
        self._wanted_mode = self._usual = start.mode  # of every new session, unless chosen there
        self._unsaid = ""  # what the turn was begun with, until it is said
        self._shown = ("", 0)  # as it was when the turn was begun
        self._messages = messages
        self._changing = Lock()  # of the record: a thread and the screen may do so at once
        self._moding = Lock()  # modes are not compared while this screen changes one
        self._opening = Lock()  # of model and tools: what was chosen first is there first
        self._work: SessionRuntime | None = None
        self._thread: Thread | None = None

    @property
    def engine(self) -> "Engine":
        return self.host.engine()

    @property
    def session(self) -> str:
        """The id of the session; empty before there is one."""
        return self.record.session if self.record else ""

    @property
    def plan_id(self) -> str:
        """The plan in use; empty: the current one of the workspace, if there is one."""
        return self.chosen_plan or (self.record.plan_id if self.record else "")

    def is_shown(self, origin: ShellOrigin) -> bool:
        """Tells whether a command was typed in what is on the screen."""
        return origin.session == self.session if origin.session else origin.view == self.view

    @property
    def work(self) -> "SessionRuntime | None":
        """The runtime of the turns, once there was one."""
        return self._work

    def begin(self, start: StartOptions) -> None:
        """Opens the engine, and the session that the user wants to continue; in a thread."""
        try:
            engine = self.engine
        except AssentError as error:
            self._messages.post(WorkspaceFailed(error))
            return
        try:
            self.record = self._wanted(start)
            if self.record is not None and start.mode:
                self.record = engine.sessions.set_mode(self.record, start.mode)
        except AssentError as error:
            self._messages.post(TaskFailed(error))
        except Exception as error:  # the screen waits for what comes below
            self._messages.post(TaskFailed(self._messages.internal_error(error)))
        root = self.host.root
        self._messages.post(
            WorkspaceReady(self._warnings(), root if root != self.host.folder else "")
        )

    def resolve_defaults(self) -> None:
        """Determines the mode and model of a new session; slow if servers are asked."""
        found = self.host.defaults()
        usual = self._wanted_mode or found.mode
        if self.mode in ("", self._usual):
            self.mode = usual
        self._usual = usual
        self.configured = found.model
        remembered = self.host.choices()
        if remembered.model and remembered.configured == found.model:
            self.remembered = remembered.model
        self.shown_model = self.model or self.remembered or found.model

    def base(self, name: str) -> Mode:
        """Returns the built-in mode of a name, or the base of a custom one; else the strictest."""
        modes = self.engine.sessions.modes
        known = [mode for mode in MODES if mode == name]
        return modes[name].base if name in modes else known[0] if known else MODES[0]

    def say(self, words: str, typed: str = "", images: tuple[AttachedFile, ...] = ()) -> None:
        """Adds a message and drives the turn that follows; errors are reported.

        Files are attached that are named with `@` in what was typed of it, and pasted images.
        """
        self._start(lambda: self._heard(self._said(words, UserTyped(typed, images))), words)

    def queue(self, words: str, typed: str, images: tuple[AttachedFile, ...] = ()) -> None:
        """Keeps a message for the next step of the turn that is driven."""
        self.queued.add(words, typed, images)
        self._messages.work(self._store_queued)

    def check_images(self) -> None:
        """Refuses an image if the model of the next message cannot see any; in a thread."""
        record = self.record
        try:
            work = self._opened()
            mode = record.mode if record else self.base(self.mode)
            agent = self.agent or (record.agent if record else "") or default_agent(mode)
            own = work.tools.agents[agent].model if agent in work.tools.agents else ""
            chosen = self.model or (record.model if record else "") or own
            opened = work.models.open(chosen or self.shown_model)
        except AssentError:
            return  # which the message will say
        if not opened.sees_images:
            raise UsageError(NO_IMAGES.format(name=opened.name), "/model")

    def say_queued(self) -> None:
        """Says what waits, and drives the turn that follows."""
        record = self.record
        if record is not None:
            self._start(lambda: self._heard(self._said_queued(record)))

    def recall_queued(self) -> QueuedText:
        """Removes the newest message that waits, and returns it; in a thread."""
        return self.queued.recall(self.engine, self.record)

    def say_custom(
        self, name: str, arguments: str, typed: str = "", images: tuple[AttachedFile, ...] = ()
    ) -> None:
        """Sends the prompt of a custom command, as `say` does; `typed` is of its arguments."""
        line = f"/{name} {arguments}".rstrip()
        self._start(lambda: self._heard(self._said_own(name, arguments, typed, images)), line)

    def go_on(self) -> None:
        """Drives the session without a new message: after answers, or after a cut-off turn."""
        record = self.record
        if record is not None:
            self._start(lambda: self._turn(record))

    def build(self, plan_id: str, digest: str = "") -> None:
        """Has a model build an approved text plan, in the plan's session."""
        self._start(lambda: self._built(plan_id, digest))

    def verify(self) -> None:
        """Has the model verify what was just built; errors are reported."""
        record = self.record
        if record is not None:
            self._start(lambda: self._heard(self.engine.sessions.ask_to_verify(record)))

    def compact(self) -> None:
        """Has a model summarize the older messages of the session; errors are reported."""
        record = self.record
        if record is not None:
            self._start(lambda: self._compacted(record))

    def interrupt(self, *, closed: bool = False) -> bool:
        """Ends the turn that this screen drives; tells whether there is one.

        `closed` says that the user did not ask for it: the screen is gone.
        It may not be ready to be ended yet, so this waits for it a while: call in a thread.
        """
        for _ in range(TRIES):
            if not self.at_work:
                return False
            sessions, record = self.engine.sessions, self.record
            if record is not None and sessions.interrupt(record, closed=closed):
                self.asker.wake()
                return True
            self.join(PAUSE_S)
        return False

    def set_mode(self, name: str) -> None:
        """Changes the mode of the session, or of the one that is about to begin; in a thread."""
        record = self.record
        if record is None:
            resolve_mode(name, self.engine.sessions.modes)
            self.mode = name
            return
        with self._moding:
            self._know(self.engine.sessions.set_mode(record, name))

    def saw(self, record: SessionRecord | None) -> None:
        """Takes over a session as it was shown to the user; not while a turn is begun or driven.

        A message sent meanwhile was meant for what was shown before.
        """
        if record is not None and not self.at_work:
            self._know(record)

    def switch(self, record: SessionRecord | None) -> None:
        """Switches to another session, or to none yet; refused while one is driven."""
        if self.at_work:
            raise Busy(BUSY)
        with self._changing:
            self.record, self.chosen_plan = record, ""
            self.queued.clear()
            self.mode = self._usual  # approval of another one was for the previous session
            self.view += 1

    def choose(self, model: str) -> None:
        """Switches to another model; it is opened at once, in a thread, or nothing changes."""
        if self.at_work:
            raise Busy(BUSY)
        with self._opening:
            self._work, self.model = self.host.work(self.asker, model, self.agent), model

    def forget(self) -> None:
        """Makes the next turn open model and tools again."""
        self._work = None

    def join(self, seconds: float) -> bool:
        """Waits at most `seconds` for the turn's end; tells whether it came."""
        if self._thread is not None:
            self._thread.join(seconds)
        return not self.at_work

    def _wanted(self, start: StartOptions) -> SessionRecord | None:
        engine = self.engine
        if start.resume:
            return engine.sessions.find(start.resume)
        if start.plan:
            return engine.sessions.of_plan(engine.plans.find(start.plan))
        return engine.sessions.last() if start.going_on else None

    def _warnings(self) -> tuple[str, ...]:
        try:
            left = self.engine.runs.unfinished()
            lost = self.engine.orphan_slots.find() if not left else ()
            told = ((UNFINISHED,) if left else ()) + ((LOST,) if lost else ())
            return (*self.engine.warnings, *told)
        except AssentError:
            return ()

    def _said(
        self, words: str, typed: UserTyped, agent: str = "", model: str = ""
    ) -> SessionRecord:
        """Adds a message; agent and model are the user's choice, or else these."""
        self._check_mode()
        work, sessions = self._opened(), self.engine.sessions
        agent, model = self.agent or agent, self.model or model
        if self.record is not None:
            return sessions.say(self.record, words, agent, model, typed=typed)
        model = model or ("" if agent else self.remembered)  # an agent may have its own
        return sessions.start(words, self.mode or work.mode, agent, model, typed=typed)

    def _said_own(
        self, name: str, arguments: str, seen: str, images: tuple[AttachedFile, ...]
    ) -> SessionRecord:
        own = next((each for each in self.host.custom_commands() if each.name == name), None)
        if own is None:
            raise UsageError(f"/{name} no longer exists.", "/help")
        self._check_mode()  # before anything runs for it
        words, typed = self.host.expand_command(own, arguments, self._opened(own.model).tools)
        return self._said(words, UserTyped(seen, (*typed.attached, *images)), own.agent, own.model)

    def _check_mode(self) -> None:
        """Refuses a message if the session's mode differs from the one the user was shown."""
        with self._moding:
            known = self.record
            if known is None:
                return
            now = self.engine.sessions.load(known.session)
            self._know(now)
        if (now.mode, now.custom) != (known.mode, known.custom):
            raise ConcurrentChange(OTHER_MODE.format(now.custom or now.mode), REPEAT_HINT)

    def _know(self, record: SessionRecord) -> None:
        """Takes over a session's new state, unless another session or a newer state is there."""
        with self._changing:
            if self.record is not None and self.session == record.session:
                self.record = max(record, self.record, key=lambda one: one.seq)

    def _heard(self, record: SessionRecord) -> Events:
        """Drives a session after a message, which stays queued if the session is in use."""
        events = self._turn(record)
        try:
            first = next(events, None)
        except Busy as error:
            raise Busy(NOTED, LATER) from error
        if first is not None:
            yield first
            yield from events

    def _turn(self, record: SessionRecord) -> Events:
        self._began(record)
        work = self._opened()
        return self.engine.sessions.work(
            record, work.driver, work.tools, before_step=self._before_step
        )

    def _before_step(self) -> None:
        """Says what waits; a message that is refused is reported, and the turn goes on."""
        if not self.queued.texts:
            return
        try:
            self._said_queued(self.record)
        except AssentError as error:
            self._messages.post(TaskFailed(error))
        finally:
            self._messages.post(QueueChanged())

    def _said_queued(self, record: SessionRecord | None) -> SessionRecord:
        assert record is not None, "what waits is said to a session"
        return self.queued.say(self.engine, record, self.model, self.agent)

    def _store_queued(self) -> None:
        record = self.record
        if record is not None:
            self.queued.store(self.engine, record)

    def _compacted(self, record: SessionRecord) -> Events:
        self._began(record)
        work = self._opened()
        try:
            yield from self.engine.sessions.compact(record, work.driver, work.tools, self.model)
        except Interrupted as error:
            raise AssentError(NOT_COMPACTED, "/compact") from error

    def _built(self, plan_id: str, digest: str) -> Events:
        engine, work = self.engine, self._opened()
        plan = engine.plans.find(plan_id)
        engine.text_plan_builds.check(plan, digest)
        with engine.text_plan_builds.locked(plan) as current:
            self._began(engine.text_plan_builds.start(current, self.model, digest=digest))
            plan = engine.plans.find(plan_id)
            if not engine.text_plan_builds.is_over(plan):
                yield from engine.text_plan_builds.work(plan, work.driver, work.tools)
            if not engine.text_plan_builds.is_over(plan):
                raise AssentError(BUILT, "/build")
            engine.text_plan_builds.finish(plan, engine.text_plan_builds.report(plan).outcome)

    def _began(self, record: SessionRecord) -> None:
        self.record, self._unsaid = record, ""
        self._messages.post(TurnBegan(record))
        shown, seq = self._shown
        for recorded in self.engine.sessions.events(record, seq if shown == self.session else 0):
            self._messages.post(SessionActivity(record.session, recorded))

    def _start(self, prepare: Callable[[], Events], typed: str = "") -> None:
        """Begins a turn in its thread; `typed` comes back if the turn fails before it is said."""
        if self.at_work:
            raise Busy(BUSY)
        self.at_work, self._shown = True, self.seen()
        self._unsaid = typed
        # A daemon: an unanswered question must not keep the process alive.
        told = (prepare, self.chosen_plan)
        self._thread = Thread(target=self._drive, args=told, name="turn", daemon=True)
        self._thread.start()

    def _drive(self, prepare: Callable[[], Events], told: str) -> None:
        """Drives a turn; the model is notified of the plan that the user selected, if any."""
        error: AssentError | None = None
        try:
            for heard in prepare():
                self._messages.post(SessionActivity(self.session, heard))
        except AssentError as failure:
            error = failure
        except Exception as failure:
            error = self._messages.internal_error(failure)
        finally:
            if self.chosen_plan == told:  # and not one that was chosen meanwhile
                self.chosen_plan = ""
            try:
                self._renew()
            finally:
                self._messages.post(TurnOver(self.session, error, self._unsaid), self._rest)

    def _renew(self) -> None:
        """Reloads the session after a turn: it may work on another plan now."""
        with suppress(AssentError):
            if self.record is not None:
                self._know(self.engine.sessions.load(self.session))

    def _rest(self) -> None:
        self.at_work = False

    def _opened(self, model: str = "") -> "SessionRuntime":
        """Opens model and tools, once, or again if the user chose another model."""
        with self._opening:
            if self._work is None:
                own = self.record.model if self.record else self.remembered
                known = self.model or model or own
                self._work = self.host.work(self.asker, known, self.agent)
            return self._work
