"""Delivers messages from worker threads to the screen, in batches."""

from collections.abc import Callable, Sequence
from functools import partial
from time import monotonic
from typing import Any, Final, Protocol

from textual.message import Message

from assent.core.errors import AssentError, Interrupted
from assent.core.event import StoredEvent
from assent.core.llm import StreamDelta
from assent.core.session.event import TurnEnded
from assent.core.session.record import SessionRecord
from assent.core.text.hidden_chars import visible_line
from assent.core.text.secrets import redact
from assent.render.lines import Line
from assent.render.notification import HALTED, NotificationFilter
from assent.render.onboarding import onboarding_lines
from assent.tui.context import AppContext, PanelScreen
from assent.tui.conversation.view import SessionLoaded
from assent.tui.hints import next_step
from assent.tui.host import StartOptions
from assent.tui.messages import (
    NoModel,
    QuestionArrived,
    RunBegan,
    RunOver,
    SessionActivity,
    SessionLoadFailed,
    ShellOver,
    ShellPrinted,
    TaskDone,
    TaskFailed,
    TurnBegan,
    TurnOver,
    WorkspaceFailed,
    WorkspaceReady,
)
from assent.tui.prompt.input import load_prompt_history
from assent.tui.result_messages import plan_state_text, run_ended_lines
from assent.tui.status import StatusSnapshot
from assent.tui.status_poller import StatusLoaded, StatusPoller

CONTINUE_HINT: Final = "say `go on`; what was said and staged so far is kept"
CUT_OFF: Final = f"The last turn was cut off before its end: {CONTINUE_HINT}."


class ReceivingApp(AppContext, Protocol):
    """The app as far as messages from threads change it."""

    beginning: StartOptions
    ready: bool  # whether what the person wanted to go on with is on the screen
    wanted: str  # the session that is being read, or was last
    status_poller: StatusPoller

    @property
    def is_there(self) -> bool: ...
    def call_later(self, callback: Callable[..., Any], *args: Any) -> bool: ...
    def say(self, words: str) -> None: ...
    def load(self, record: SessionRecord) -> None: ...
    def notice(self, words: str, took_s: float = 0.0) -> None: ...
    def draw_activity(self) -> None: ...
    def has_pending_question(self) -> None: ...


class MessageDispatcher:
    """Hands messages over in order, and in one go: no key comes in between."""

    def __init__(self, app: ReceivingApp) -> None:
        self.unopened: AssentError | None = None  # why the screen was closed at once
        self._app = app
        self._presented = False
        self._failed = False  # the turn, as the conversation says already
        self._notices = NotificationFilter("")
        self._began = monotonic()  # the turn or run that was begun last
        self._fresh = False  # whether what waits in the session was not asked yet

    def deliver(self) -> None:
        """Hands everything over that came since the last time."""
        if not self._app.is_there:
            return
        heard: list[StoredEvent | StreamDelta] = []
        for letter in self._app.messages.take():
            if isinstance(letter, SessionActivity):
                if (
                    letter.session == self._app.session_controller.session
                ):  # else it was left meanwhile
                    heard.append(letter.what)
                continue
            self._hear(heard)
            heard = []
            self._hand(letter)
        self._hear(heard)

    def _hear(self, heard: Sequence[StoredEvent | StreamDelta]) -> None:
        if not heard:
            return
        app = self._app
        app.conversation.add_events(heard)
        stored = [one for one in heard if isinstance(one, StoredEvent)]
        events = [one.event for one in stored]
        if events:
            app.refresh_status()
        for words in filter(None, map(self._notices.take, stored)):
            app.notice(words, monotonic() - self._began)
        ends = [event.why for event in events if isinstance(event, TurnEnded)]
        self._presented = "presented" in ends or (self._presented and not ends)
        self._failed = "failed" in ends or (self._failed and not ends)

    def _hand(self, letter: Message) -> None:
        app = self._app
        match letter:
            case StatusLoaded(standing):
                app.status_poller.take(letter)
                if standing is not None and standing is app.status_snapshot:  # the person sees it
                    app.session_controller.saw(standing.record)
                self._look_for_questions(standing)
            case TurnBegan(record):
                if record.session == app.session_controller.session:
                    app.conversation.begin(record.session)
                self._notices = NotificationFilter(record.session, app.host.notify_after)
                self._began = monotonic()
                app.draw_status()
            case TurnOver():
                self._turn_over(letter)
            case QuestionArrived():
                app.refresh_status()
                app.has_pending_question()
            case TaskFailed(error):
                app.fail(error)
            case _:
                self._hand_other(letter)

    def _hand_other(self, letter: Message) -> None:
        app = self._app
        match letter:
            case WorkspaceFailed(error):
                self.unopened = error
                app.exit(error.exit)
            case WorkspaceReady():
                self._ready(letter)
            case SessionLoaded() | SessionLoadFailed():
                self._read(letter)
            case NoModel(found):
                app.deferred.add_note(*onboarding_lines(found))
            case TaskDone():
                with app.failing():
                    app.tasks.take(letter)
                app.draw_activity()
            case ShellPrinted() | ShellOver():
                self._hear_command(letter)
            case _:
                self._tell_panels(letter)

    def _hear_command(self, letter: ShellPrinted | ShellOver) -> None:
        """Shows what a command printed where it was typed; elsewhere only that it ended."""
        app, place = self._app, letter.place
        sitting = app.session_controller
        here = place.session == sitting.session if place.session else place.view == sitting.view
        if isinstance(letter, ShellPrinted):
            if here:
                app.conversation.print(letter.text)
            return
        whose = f"of session {place.name}" if place.name else "that you typed before"
        words = letter.words if here else f"The command {whose} ended. {letter.words}"
        app.add_note(Line("dim", visible_line(words)))
        self._rest()

    def _tell_panels(self, letter: Message) -> None:
        """Passes a message to every panel that handles it."""
        for screen in self._app.screen_stack:
            if isinstance(screen, PanelScreen):
                screen.hear(letter)
        if isinstance(letter, RunBegan):
            self._began = monotonic()
        if isinstance(letter, RunOver):
            self._run_over(letter)

    def _run_over(self, letter: RunOver) -> None:
        if letter.error is not None:
            self._app.fail(letter.error)
        elif letter.report is not None:
            if letter.report.outcome == "needs_you":
                self._app.notice(HALTED, monotonic() - self._began)
            done = letter.report
            for words in done.warnings:
                self._app.add_note(Line("risk", visible_line(words)))
            self._app.add_note(*run_ended_lines(letter.verb, done.outcome, done.about))
        self._rest()

    def _rest(self) -> None:
        """Looks where things stand, after something came to its end."""
        self._app.refresh_status()
        self._app.draw_status()

    def _ready(self, letter: WorkspaceReady) -> None:
        app = self._app
        if letter.elsewhere:
            app.deferred.add_note(
                Line("dim", f"The workspace is {visible_line(letter.elsewhere)}.")
            )
        for words in letter.warnings:
            app.deferred.add_note(Line("risk", visible_line(words)))
        app.tasks.run("", self._settle, lambda _: app.refresh_status())
        if app.session_controller.record is not None:
            app.load(app.session_controller.record)
        else:
            self._open()

    def _settle(self) -> None:
        """Finds out what a new session would begin with, in a thread."""
        app = self._app
        app.session_controller.resolve_defaults()
        record = app.session_controller.record
        if not (app.session_controller.shown_model or (record and record.model)):
            app.messages.post(NoModel(app.host.findings()))

    def open_none(self) -> None:
        """Goes on without a session, and without one that is still being read."""
        self._app.wanted = ""
        if not self._app.ready:
            self._open()

    def _read(self, letter: SessionLoaded | SessionLoadFailed) -> None:
        """Shows a session, as far as it could be read, unless another one is wanted by now."""
        app = self._app
        if app.wanted != (
            letter.session if isinstance(letter, SessionLoadFailed) else letter.feed.session
        ):
            return
        if isinstance(letter, SessionLoaded):
            app.conversation.open(letter)
        self._open()

    def _open(self) -> None:
        """Goes on with the session that the person wanted."""
        app = self._app
        app.ready = self._fresh = True
        app.deferred.release_notes()
        app.refresh_status()
        app.prompt.recollect(
            partial(load_prompt_history, app.engine, app.session_controller.record)
        )
        start, app.beginning = app.beginning, StartOptions()
        if start.told:
            app.add_note(*start.told)
        if start.draft:
            app.prompt.load(start.draft)
        if start.words:
            app.say(start.words)
        app.deferred.release_actions()

    def _look_for_questions(self, standing: StatusSnapshot | None) -> None:
        """Asks what the session that was just opened waits for; what others wait for is told."""
        app = self._app
        if standing is None or not self._fresh or not app.ready:
            return
        record, now = standing.record, app.session_controller.record
        if (record and record.session) != (now and now.session):
            return  # it was read before that session was opened
        self._fresh = False
        own = [one for one in standing.waiting if record and one.root.session == record.session]
        if record is not None and not app.at_work:
            self._say_where(standing, asked=bool(own))
        if own and not app.at_work:
            app.has_pending_question()
        elif standing.waiting:
            others = f"{len(standing.waiting)} to answer, of other sessions: /waiting."
            app.add_note(Line("risk", others))

    def _say_where(self, standing: StatusSnapshot, *, asked: bool) -> None:
        """Says where the plan stands by now, and that a turn was cut off, if nobody says it yet."""
        plan = standing.plan
        words = plan_state_text(plan, standing.undone, approved=standing.approved) if plan else ""
        if words:
            self._app.add_note(Line("dim", words))
        if standing.cut_off and not asked and not (plan and plan.building):
            self._app.add_note(Line("risk", CUT_OFF))

    def _turn_over(self, letter: TurnOver) -> None:
        app, error = self._app, letter.error
        presented, self._presented = self._presented, False
        failed, self._failed = self._failed, False
        if failed and error is not None:
            step = next_step(error.next) or CONTINUE_HINT
            app.add_note(Line("dim", f"next: {visible_line(redact(step))}"))
        elif error is not None and not isinstance(error, Interrupted):
            app.fail(error)
        if letter.unsaid:
            app.prompt.load("\n".join(filter(None, (letter.unsaid, app.prompt.text))))
        self._rest()
        own = presented and letter.session == app.session_controller.session
        if own and len(app.screen_stack) == 1 and not app.prompt.text:
            app.review_plan()
