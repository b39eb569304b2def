"""The Textual app: conversation, sidebar, prompt and status line, with panels over them."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

import msgspec
from textual.app import SuspendNotSupported
from textual.events import Event
from textual.message import Message

from assent.core.errors import AssentError, Interrupted
from assent.core.event import StoredEvent
from assent.core.llm import StreamDelta
from assent.core.paths import display_path
from assent.core.plan.record import PlanRecord
from assent.core.session.record import SessionRecord
from assent.core.text.hidden_chars import visible_line
from assent.core.text.secrets import redact
from assent.render.lines import Line
from assent.render.questions import HALTED
from assent.tui import key_actions
from assent.tui.base_app import BaseApp
from assent.tui.commands.command import CommandInfo
from assent.tui.context import PanelName, PanelScreen
from assent.tui.conversation.blocks import Block
from assent.tui.conversation.view import SessionLoaded
from assent.tui.deferred import DeferredActions
from assent.tui.expiring_hints import ExpiringHints
from assent.tui.hints import next_on_screen, with_screen_commands
from assent.tui.host import ScreenHost, StartOptions
from assent.tui.messages import (
    Deliver,
    NoModel,
    QuestionArrived,
    QueueChanged,
    RewoundSession,
    RunActivity,
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
from assent.tui.prompt.completion import Completion
from assent.tui.prompt.input import PromptInput
from assent.tui.queued_messages import QueuedText, QueuedView, sending_hint
from assent.tui.result_messages import built_step_lines, run_ended_lines
from assent.tui.run_controller import RunController
from assent.tui.session_controller import CONTINUE_HINT, SessionController
from assent.tui.session_opening import SessionOpening
from assent.tui.shell_controller import ShellController
from assent.tui.status import (
    StatusLine,
    StatusLoaded,
    StatusPoller,
    StatusSnapshot,
    initial_snapshot,
    read_snapshot,
)
from assent.tui.textual_internals import TerminalDriver, exit_if_ended
from assent.tui.theme import TEXTUAL, THEMES, begin_with_theme, detect_theme
from assent.tui.verification import Verification
from assent.tui.workers import FRAME_S, BackgroundTasks, Coalescer

if TYPE_CHECKING:
    from textual.driver import Driver

    from assent.app.engine import Engine
    from assent.runs.run_status import RunReport
    from assent.tui.panels.question.block import InlineQuestion

LEAVE_S: Final = 3.0  # for a turn that was asked to end
TICK_S: Final = 0.5
# Ends of a turn after which what waits is said.
GOES_ON: Final = ("", "end", "presented", "declined")
ANSWER_KEPT: Final = "That question is no longer open. Your answer is in the prompt, unsent."
PASTE_CUT: Final = "Paste too long: only the first 4,000,000 characters were kept."


class TerminalApp(BaseApp):
    """The main app. Other modules may rely on the methods without an underscore."""

    def __init__(self, host: ScreenHost, start: StartOptions | None = None) -> None:
        super().__init__(host)
        start = start or StartOptions()
        self.messages = Coalescer(self._have_delivered)
        self._delivered = 0.0  # when messages were delivered last
        self._goes_on = False  # what was typed during a run is sent when that is over
        self.session_controller = SessionController(host, self.messages, start)
        self.session_controller.seen = lambda: (
            self.conversation.feed.session,
            self.conversation.feed.seq,
        )
        self.run_controller = RunController(host, self.messages, self._report_lines)
        self.shell_controller = ShellController(host, self.session_controller, self.messages)
        self.tasks = BackgroundTasks(self.messages)
        self.status_poller = StatusPoller(self.session_controller, self.messages, self)
        self.deferred: DeferredActions = DeferredActions(self)
        self.hints = ExpiringHints(lambda: self.conversation)
        self.verification: Verification = Verification(self)
        self.status_snapshot = StatusSnapshot(mode=start.mode or "plan", model=start.model)
        self.choices = host.choices()
        self.side_wanted = self.choices.sidebar
        plain = bool(host.environment.get("NO_COLOR"))  # whatever was chosen elsewhere
        wanted = start.theme or ("" if plain else self.choices.theme)
        self.theme_name = detect_theme(wanted, host.environment)
        begin_with_theme(self, self.theme_name)
        self.commands: tuple[CommandInfo, ...] = ()  # ours, once they are loaded
        self.own_commands: tuple[Completion, ...] = ()  # the user's, in addition to ours
        self.is_newest = False  # the session on the screen is the one that `assent -c` continues
        self.wants_demo = False  # whether the demo comes after this screen
        self.unopened: AssentError | None = None  # why the screen was closed at once
        self.opening = SessionOpening(self, start)
        self._start_options = start
        self._busy_since = 0.0
        self._due = False  # whether a question opens as soon as the user stops typing

    @property
    def engine(self) -> "Engine":
        return self.host.engine()

    @property
    def ready(self) -> bool:
        """Whether the session that the user wants is on the screen."""
        return self.opening.ready

    @property
    def at_work(self) -> bool:
        return (
            self.session_controller.at_work
            or self.run_controller.at_work
            or self.shell_controller.at_work
        )

    @property
    def slug(self) -> str:
        """The name of the session on the screen; empty before there is one."""
        return self.session_controller.record.slug if self.session_controller.record else ""

    @property
    def quiet(self) -> bool:
        """Whether everything that was reported is on the screen."""
        idle = not self.messages.pending and not self.tasks.activity_text
        return self.ready and idle and not self.status_poller.looking

    def get_driver_class(self) -> "type[Driver]":
        """Returns the driver class of this package."""
        return TerminalDriver

    def on_mount(self) -> None:
        if not self.is_headless:
            self.set_interval(TICK_S, partial(exit_if_ended, self))
        self.prompt.focus_text()
        self.call_later(self.begin_typing)  # once it has the focus
        self.set_interval(TICK_S, self.draw_activity)
        self.set_interval(TICK_S, self._tick)
        self.call_after_refresh(self._begin)

    def _begin(self) -> None:
        """Opens everything that the first paint does not need."""
        self.messages.work(lambda: self.session_controller.begin(self._start_options))
        from assent.tui.parts import learn  # while the engine opens

        learn(self)

    def _have_delivered(self) -> None:
        """Has messages of threads delivered soon; called from whichever thread left the first."""
        with suppress(RuntimeError):  # the loop is closed: the screen is gone
            self.post_message(Deliver())

    def on_deliver(self) -> None:
        """Delivers what threads sent, at most thirty times a second."""
        wait = FRAME_S - (monotonic() - self._delivered)
        if wait > 0:
            self.call_after(wait, self.deliver)
        else:
            self.deliver()

    def deliver(self) -> None:
        """Takes everything that threads sent, in order and in one go: no key comes in between."""
        self._delivered = monotonic()
        if not self.is_there:
            self.call_after(FRAME_S, self.deliver)
            return
        heard: list[StoredEvent | StreamDelta] = []
        for message in self.messages.take():
            if isinstance(message, SessionActivity):
                if message.session == self.session_controller.session:  # else it was left meanwhile
                    heard.append(message.what)
                continue
            self._hear(heard)
            heard = []
            self._receive(message)
        self._hear(heard)

    def _hear(self, heard: Sequence[StoredEvent | StreamDelta]) -> None:
        """Shows what happened in the session on the screen."""
        if not heard:
            return
        self._show_events(heard)
        stored = [one for one in heard if isinstance(one, StoredEvent)]
        if stored:
            self.refresh_status()
        for words in self.session_controller.turn.take(stored):
            self.notice(words, self.session_controller.turn.took_s)

    def _show_events(self, heard: Sequence[StoredEvent | StreamDelta]) -> None:
        """Shows events in the conversation, and in a panel that shows it too."""
        self._show_changed(self.conversation.add_events(heard))

    def _show_changed(self, changed: Sequence[Block]) -> None:
        feed = self.conversation.feed
        for screen in self.screen_stack:
            if isinstance(screen, PanelScreen):
                screen.conversation_changed(feed, changed)

    def _receive(self, message: Message) -> None:
        match message:
            case StatusLoaded(standing):
                self.status_poller.take(message)
                if standing is not None and standing is self.status_snapshot:  # the user sees it
                    self.session_controller.saw(standing.record)
                self.opening.look_for_questions(standing)
            case TurnBegan(record):
                if record.session == self.session_controller.session:
                    self.opening.leave_home()
                    self.conversation.begin(record.session)
                    self.hints.turn_began()
                self.session_controller.turn.begin(record.session, self.host.notify_after)
                self._tell_panels(message)
                self.draw_status()
            case TurnOver():
                self._turn_over(message)
            case RunBegan() | RunActivity() | RunOver():
                self._run_activity(message)
            case ShellPrinted() | ShellOver():
                self._shell_activity(message)
            case QueueChanged():
                self.draw_queued()
            case QuestionArrived():
                self.refresh_status()
                self.has_pending_question()
            case TaskDone():
                with self.failing():
                    self.tasks.take(message)
                self.draw_activity()
            case TaskFailed(error):
                self.fail(error)
            case WorkspaceReady():
                self.opening.workspace_ready(message)
            case WorkspaceFailed(error):
                self.unopened = error
                self.exit(error.exit)
            case SessionLoaded() | SessionLoadFailed():
                self.opening.loaded(message)
            case NoModel(found):
                self.opening.miss_model(found)
            case _:
                raise AssertionError(f"unhandled message {message!r}")

    def _turn_over(self, message: TurnOver) -> None:
        self.verification.turn_over()
        self.hints.turn_ended()
        self._tell_panels(message)
        error, why = message.error, self.session_controller.turn.why
        presented, failed = self.session_controller.turn.end()
        if failed and error is not None:
            step = next_on_screen(error.next) or CONTINUE_HINT
            self.add_note(Line("dim", f"next: {visible_line(redact(step))}"))
        elif error is not None and not isinstance(error, Interrupted):
            self.fail(error)
        if message.unsaid:
            self.prompt.load("\n".join(filter(None, (message.unsaid, self.prompt.text))))
        self._rest()
        if self._go_on_queued(error, why):
            return
        own = presented and message.session == self.session_controller.session
        if own and len(self.screen_stack) == 1 and not self.prompt.text:
            self.review_plan()

    def _go_on_queued(self, error: AssentError | None, why: str) -> bool:
        """Says what was typed meanwhile, unless the turn was stopped or failed: then it waits."""
        sitting = self.session_controller
        if sitting.record is None:  # there is no session to keep it
            self._put_below("\n".join(sitting.queued.clear()))
        self.draw_queued()
        if error is not None or why not in GOES_ON or not sitting.queued.texts:
            return False
        self.send_queued()
        return True

    def _tell_panels(self, message: Message) -> None:
        for screen in self.screen_stack:
            if isinstance(screen, PanelScreen):
                screen.hear(message)

    def _run_activity(self, message: RunBegan | RunActivity | RunOver) -> None:
        self._tell_panels(message)
        if not isinstance(message, RunOver):
            return
        if message.error is not None:
            self.fail(message.error)
        elif message.report is not None:
            done = message.report
            if message.rewound is not None:
                self._rewound(message.rewound)
            if done.outcome == "needs_you":
                self.notice(HALTED, self.run_controller.took_s)
            for words in done.warnings:
                self.add_note(Line("risk", visible_line(words)))
            self.hints.run_ended()
            self.add_note(*run_ended_lines(message.verb, done.outcome, done.about))
            self._show_steps(message.plan_id)
            built = message.builds and done.outcome == "done"
            self.verification.begin(message.plan_id, built=built)
        goes_on, self._goes_on = self._goes_on, False
        if goes_on and message.error is None and not self.run_controller.halted:
            self.send_queued()
        self.draw_queued()
        self._rest()

    def _show_steps(self, plan_id: str) -> None:
        """Shows how far the steps of a plan are, by what its run did."""
        engine = self.engine
        if plan_id:
            self.tasks.run(
                "",
                lambda: engine.plan_steps.current(engine.plans.find(plan_id)),
                lambda steps: self.add_note(*built_step_lines(steps)) if steps else None,
            )

    def _rewound(self, rewound: RewoundSession) -> None:
        """Shows the session that went back with its files, and its message in the prompt again."""
        if rewound.record.session != self.session_controller.session:
            return
        self.open_session(rewound.record)
        self.prompt.load(rewound.text)
        self.deferred.add_note(Line("heading", "Rewound, files too."))

    def _shell_activity(self, message: ShellPrinted | ShellOver) -> None:
        """Shows a command's output where it was typed; elsewhere only that it ended."""
        place, here = message.place, self.session_controller.is_shown(message.place)
        if isinstance(message, ShellPrinted):
            if here:
                self._show_changed(self.conversation.print(message.text))
            return
        whose = f"in session {place.name}" if place.name else "you ran earlier"
        words = message.words if here else f"The command {whose} ended. {message.words}"
        self.add_note(Line("dim", visible_line(words)))
        self._rest()

    def _rest(self) -> None:
        """Refreshes the status after something ended."""
        self.refresh_status()
        self.draw_status()

    # What everybody may ask for.

    def say(self, words: str, typed: str | None = None) -> None:
        """Sends text to the model, as if it was typed at the prompt.

        In `typed`, long pastes are placeholders: an `@` in what is not shown attaches nothing.
        """
        with self.failing():
            seen = words if typed is None else typed
            images = self.prompt.images_in(seen)
            # A turn would wait for the run, and could not be taken back meanwhile.
            during_run = self.run_controller.at_work and self.session_controller.record is not None
            if self.session_controller.at_work or during_run:
                self._goes_on = self._goes_on or during_run
                self.session_controller.queue(words, seen, images)
                self.draw_queued()
            else:
                self.session_controller.say(words, seen, images)
            self.prompt.history.add(words)
            self.draw_status()

    def send_queued(self) -> None:
        """Says what waits, once the model rests."""
        if self.session_controller.queued.texts and not self.session_controller.at_work:
            with self.failing():
                self.session_controller.say_queued()
                self.draw_status()

    def recall_queued(self) -> None:
        """Puts the newest message that waits into the prompt again."""

        def taken(one: QueuedText) -> None:
            self.draw_queued()
            self.prompt.keep_images(one.images)
            self._put_below(one.text)

        self.tasks.run("", self.session_controller.recall_queued, taken)

    def draw_queued(self) -> None:
        """Shows what waits for the next step."""
        waits = self.session_controller.queued.texts
        hint = sending_hint(working=self.session_controller.at_work, after_run=self._goes_on)
        for view in self.screen_stack[0].query(QueuedView):  # there is none before it is mounted
            view.show_messages(waits, hint)
        for prompt in self.screen_stack[0].query(PromptInput):
            prompt.waits = bool(waits)

    def run_slash(self, text: str, typed: str | None = None) -> None:
        """Runs a command such as `/mode ask`; in `typed`, long pastes are placeholders."""
        from assent.tui.parts import run

        with self.failing():
            run(self, text, text if typed is None else typed)

    def run_shell(self, line: str) -> None:
        """Runs a command line that the user typed."""
        with self.failing():
            self.shell_controller.run(line)
            self.add_note(Line("said", f"! {visible_line(line)}"))

    def add_note(self, *told: Line | str) -> None:
        """Adds a note to the conversation, after the session that is being loaded for it."""
        if not self.ready:
            self.deferred.add_note(*told)
            return
        lines: list[Line] = []
        for one in told:
            words = one.strip("\n").split("\n") if isinstance(one, str) else ()
            lines += [Line("plain", visible_line(each)) for each in words]
            lines += [one] if isinstance(one, Line) else []
        self._show_changed([self.conversation.add_note(lines)])

    def fail(self, error: AssentError) -> None:
        """Shows what failed, and what to do next."""
        self.add_note(Line("risk", visible_line(redact(with_screen_commands(error.message)))))
        if error.next:
            self.add_note(Line("dim", f"next: {visible_line(redact(next_on_screen(error.next)))}"))

    @contextmanager
    def failing(self) -> Iterator[None]:
        """Shows internal errors of this context on the screen."""
        try:
            yield
        except AssentError as error:
            self.fail(error)

    def review_plan(self, plan_id: str = "") -> None:
        """Opens the approval panel for a plan, else for the session's own."""

        def opened(found: str) -> None:
            top = self.screen  # an impatient user asks for it twice
            if not (isinstance(top, PanelScreen) and top.is_about(found)):
                self.open("approval", found)

        named = plan_id or self.session_controller.chosen_plan
        own, plans = self.session_controller.plan_id, self.engine.plans
        if named:
            opened(named)
            return
        self.deferred.lead(
            "Finding the plan",
            lambda: plans.meant(plans.find(own)),
            lambda one: opened(one.plan_id),
        )

    def build_plan(self, plan_id: str, digest: str = "", *, prose: bool = False) -> None:
        """Builds an approved plan: by the executor, or by a model.

        `digest` is the one that the user was shown: then nothing else is built.
        """
        with self.failing():
            if prose:
                self.session_controller.build(plan_id, digest)
            else:
                self.run_controller.build(plan_id, digest)
                self.show_run()
            self.draw_status()

    def _report_lines(self, report: "RunReport") -> list[Line]:
        from assent.tui.parts import report_lines

        return report_lines(report)

    def show_run(self) -> None:
        """Opens the view of the current run, or of the last one."""
        self._open_once("run")

    def ask_next(self, question: str = "") -> None:
        """Has keys go to the oldest open question, or to the named one."""
        self._due = False
        block = self._question_block()
        block.look(question, everything=True)
        block.take_keyboard()

    def has_pending_question(self) -> None:
        """Shows a question; it gets the keys unless the user is typing."""
        self._due = True
        self._question_block().look()
        self._open_due()

    def _question_block(self) -> "InlineQuestion":
        from assent.tui.parts import InlineQuestion

        if self.question is None:
            self.question = InlineQuestion()
            left = self.screen_stack[0].query_one("#left")
            left.mount(self.question, before=self.prompt)
        return self.question

    def _tick(self) -> None:
        self._open_due()
        if self.ready and self.is_there:
            self.status_poller.watch()

    def _open_due(self) -> None:
        """Gives the keys to a question that waits, once the prompt is empty and quiet."""
        block = self.question
        if not self._due or not self.is_there or block is None:
            return
        resting = Event().time >= self.typed_at + self.quiet_s
        free = len(self.screen_stack) == 1 and not key_actions.is_covered(self)
        if block.is_open and resting and free and not self.prompt.text:
            self._due = False
            self.activity(key_actions.ANSWER)
            block.take_keyboard()
        self.draw_activity()

    def action_focus_next(self) -> None:
        """Goes to a question that waits, before anything else (Tab)."""
        block = self.question
        if block is not None and block.is_open and len(self.screen_stack) == 1:
            block.take_keyboard()
        else:
            super().action_focus_next()

    def restore_input(self, words: str) -> None:
        """Puts text into the prompt that was written for something closed meanwhile; sends nothing.

        It is added below the text that is already there.
        """
        self._put_below(words)
        self.add_note(Line("risk", ANSWER_KEPT))

    def _put_below(self, words: str) -> None:
        if not words:
            return
        self.prompt.load("\n".join(filter(None, (self.prompt.text, words))))

    def open_panel(
        self, panel: PanelScreen[Any], then: Callable[[Any], None] | None = None
    ) -> None:
        """Opens a panel; an answer to a confirmation only counts for the session it was for."""
        if then and panel.for_one_session:
            then = self.deferred.for_current_session(then)
        super().open_panel(panel, then)

    def open(
        self,
        name: PanelName,
        *arguments: Any,
        then: Callable[[Any], None] | None = None,
        **options: Any,
    ) -> None:
        """Opens the panel of a name at once, made of these arguments; see `AppContext.open`."""
        from assent.tui.parts import PANELS

        self.open_panel(PANELS[name](*arguments, **options), then)

    def _open_once(self, name: PanelName) -> None:
        from assent.tui.parts import PANELS

        if not self.is_open(PANELS[name]):
            self.open(name)

    def open_session(self, record: SessionRecord | None) -> None:
        """Shows another session, or an empty one that begins with the next message."""
        with self.failing():
            self.session_controller.switch(record)
            self.status_snapshot = initial_snapshot(
                self.session_controller, record
            )  # nothing from the previous one
            self.conversation.empty()
            if record is not None:
                self.opening.load(record)
            else:
                self.opening.open_none()
            self.refresh_status()

    def plan_chosen(self, plan: PlanRecord, session: SessionRecord | None) -> None:
        """Switches to another plan; the model is notified with the next message."""
        told = f"Plan {plan.name} selected. The model gets it with your next message."
        if self.session_controller.record is None and session is not None:
            self.open_session(session)
            self.deferred.add_note(told)
        else:
            self.add_note(told)
        self.session_controller.chosen_plan = plan.plan_id
        self.refresh_status()

    def edit_file(self, path: bytes) -> None:
        """Waits until the user has closed their editor, which has the terminal meanwhile."""
        try:
            with self.suspend():
                trouble = self._edit(path)
        except SuspendNotSupported:  # no terminal is available
            trouble = self._edit(path)
        if trouble is not None:
            raise trouble

    def _edit(self, path: bytes) -> Exception | None:
        """Returns what went wrong: raised, it would keep the screen from coming back."""
        try:
            self.host.edit(display_path(path))
        except Exception as error:
            return error
        return None

    def set_mode(self, name: str) -> None:
        """Changes the mode on the user's request."""
        seq = self.conversation.feed.seq

        def act() -> None:
            self.session_controller.set_mode(name)
            self.messages.post(StatusLoaded(read_snapshot(self.session_controller, seq)))

        self.deferred.lead("", act, lambda _: None)

    def reload_settings(self) -> None:
        """Uses changed settings and keys from the next message on."""
        self.host.reload()
        self.session_controller.forget()
        self.opening.read_defaults()

    def set_theme(self, name: str) -> None:
        """Changes the theme: dark, light or plain."""
        self.theme_name = name if name in THEMES else THEMES[0]
        self.theme = TEXTUAL[self.theme_name]
        self.remember(theme=self.theme_name)
        self.draw_status()

    def remember(self, **chosen: str | bool) -> None:
        """Remembers how the user wants the screen, for the next one."""
        self.choices = choices = msgspec.structs.replace(self.choices, **chosen)
        self.messages.work(lambda: self.host.remember(choices))

    def notice(self, words: str, took_s: float = 0.0) -> None:
        """Notifies the user, unless they are looking here and it took only a moment."""
        if self.app_focus and took_s < self.host.notify_after:
            return
        self.ring(words)

    def ring(self, words: str) -> None:
        """Makes the terminal ring, or show a notification, depending on the settings."""
        if self.terminal_driver is not None:
            self.terminal_driver.write(self.host.signal(words))

    def refresh_status(self) -> None:
        """Reads the current state of session, plan and questions, and shows it."""
        self.status_poller.refresh()

    def apply_status(self, standing: StatusSnapshot) -> None:
        """Shows the current state."""
        asked, self.status_snapshot = self.status_snapshot.waiting, standing
        self.session_controller.queued.see(standing.queued)
        self.hints.take(standing)
        self.opening.draw_home(standing)
        if asked and not standing.waiting:  # it was answered elsewhere
            self._due = False
            self.activity("")
        if standing.news and standing.session == self.conversation.feed.session:
            self._show_events(standing.news)
        self.draw_status()
        self.draw_side()

    def follow(self) -> None:
        """Updates open panels with new events from any source."""
        for screen in [*self.screen_stack]:
            if isinstance(screen, PanelScreen):
                screen.follow()
        if self.question is not None and self.question.is_open:
            self.question.look()

    def draw_status(self) -> None:
        """Draws the status line."""
        if not self.is_there:
            return
        now = self.status_snapshot
        works = self.at_work and not now.own_questions
        for covers, screen in enumerate(self.screen_stack):  # a panel has its own line
            for line in screen.query(StatusLine):
                shown = now if covers else now.without_own_questions()
                line.show_snapshot(shown, working=works, theme=self.theme_name)
        self.draw_activity()
        self.draw_queued()

    def draw_activity(self) -> None:
        """Shows what is running, and for how long."""
        if not self.is_there:
            return
        if self.at_work or self.tasks.activity_text:
            self._busy_since = self._busy_since or monotonic()
            self.activity(key_actions.activity_text(self, monotonic() - self._busy_since))
        elif self._busy_since or self._due:
            self._busy_since = 0.0
            self.activity(key_actions.QUESTION_WAITING if self._due else "")

    def draw_side(self) -> None:
        """Updates the sidebar, if it is visible."""
        if self.screen_stack[0].has_class("side") and self.ready:
            from assent.tui.parts import draw_sidebar

            draw_sidebar(self)

    def leave(self) -> None:
        """Closes everything after the screen has closed; a turn is ended properly.

        One that waits for an answer stays as it is: opening the session again asks the question
        again. Commands do not outlive the screen: they could no longer be seen or ended.
        """
        self.shell_controller.end()
        self.run_controller.end()
        sitting = self.session_controller
        if not key_actions.has_pending_question(self) and sitting.interrupt(closed=True):
            sitting.join(LEAVE_S)
        with suppress(AssentError):
            self.is_newest = bool(self.slug) and self.engine.sessions.last().slug == self.slug
        if not self.at_work:
            self.host.close()

    def crashed(self, error: Exception) -> None:
        """Keeps an unexpected error for the code that opened the screen."""
        self.messages.internal_error(error)

    # Keys.

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Disables the keys of the main screen while a panel is open, except for leaving."""
        if action != "do" or parameters == (key_actions.LEAVE_ACTION,):
            return True
        keyed = self.question is not None and self.question.is_keyed
        return len(self.screen_stack) == 1 and not (
            keyed and parameters[0] in key_actions.NOT_AT_QUESTION
        )

    def action_do(self, habit: str) -> None:
        """Runs the action of a key in the table."""
        with self.failing():
            key_actions.KEY_ACTIONS[habit](self)

    def action_toggle_side(self) -> None:
        """Shows or hides the sidebar; on a narrow screen it covers the rest."""
        screen = self.screen_stack[0]
        self.side_wanted = not screen.has_class("side")
        screen.set_class(self.side_wanted, "side")
        if not screen.has_class("narrow"):
            self.remember(sidebar=self.side_wanted)
        self.draw_side()
        self.call_after_refresh(self._focus_what_is_seen)

    def _focus_what_is_seen(self) -> None:
        """Focuses the sidebar if it covers the prompt, else the prompt."""
        if not key_actions.is_covered(self):
            self.prompt.focus_text()
            return
        from assent.tui.parts import focus_sidebar

        focus_sidebar(self)

    # What the prompt says.

    def on_prompt_input_submitted(self, event: PromptInput.Submitted) -> None:
        self.deferred.do(partial(self.say, event.words, event.typed))

    def on_prompt_input_slash(self, event: PromptInput.Slash) -> None:
        self.deferred.slash(event.text, event.typed)

    def on_prompt_input_shell(self, event: PromptInput.Shell) -> None:
        self.deferred.do(partial(self.run_shell, event.line))

    def on_prompt_input_queued(self, event: PromptInput.Queued) -> None:
        if event.sends:
            self.deferred.do(self.send_queued)
        else:
            self.recall_queued()

    def on_paste_truncated(self) -> None:
        self.add_note(Line("risk", PASTE_CUT))

    def on_prompt_input_help(self) -> None:
        self.run_slash("/help")

    def on_prompt_input_image_wanted(self) -> None:
        key_actions.paste_image(self)
