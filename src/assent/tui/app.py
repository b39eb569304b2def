"""The Textual app: conversation, sidebar, prompt and status line, with panels over them."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import partial
from math import inf
from time import monotonic
from typing import TYPE_CHECKING, Any, ClassVar, Final

from textual.app import App, ComposeResult
from textual.await_complete import AwaitComplete
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.events import Event, Key, MouseEvent, Paste, Resize
from textual.timer import Timer
from textual.visual import VisualType
from textual.widgets import Static

from assent.core.errors import AssentError
from assent.core.paths import display_path
from assent.core.plan.record import PlanRecord
from assent.core.session.record import SessionRecord
from assent.core.text.hidden_chars import visible_line
from assent.core.text.secrets import redact
from assent.render.lines import Line
from assent.tui import key_actions
from assent.tui.commands.command import CommandInfo
from assent.tui.context import PanelName, PanelScreen
from assent.tui.conversation.view import ConversationView, load_session, session_events
from assent.tui.deferred import DeferredActions
from assent.tui.dispatcher import MessageDispatcher
from assent.tui.driver import TerminalDriver, exit_without_terminal
from assent.tui.hints import next_step, with_screen_commands
from assent.tui.host import ScreenHost, StartOptions
from assent.tui.key_actions import DOUBLE_PRESS_S
from assent.tui.keys import ANSWER_S, BURST_S, CLOSE_S, DEBOUNCE_S, KeyDebounce, bindings
from assent.tui.messages import Deliver, SessionLoadFailed
from assent.tui.min_size import (
    HEIGHT_BREAKPOINTS,
    WIDTH_BREAKPOINTS,
    TooSmallOverlay,
    is_ignored_input,
)
from assent.tui.prompt.completion import Completion
from assent.tui.prompt.input import PromptInput
from assent.tui.run_controller import RunController
from assent.tui.session_controller import SessionController
from assent.tui.shell_controller import ShellController
from assent.tui.status import StatusLine, StatusSnapshot, initial_snapshot, read_snapshot
from assent.tui.status_poller import StatusLoaded, StatusPoller
from assent.tui.theme import TEXTUAL, THEMES, detect_theme, register_themes
from assent.tui.workers import FRAME_S, BackgroundTasks, Coalescer

if TYPE_CHECKING:
    from textual.driver import Driver

    from assent.app.engine import Engine
    from assent.runs.runs import RunReport

# The base of the app: its layout, and how panels open over it.


SIDEBAR_MIN_WIDTH: Final = 110  # columns from which the side area has room beside the conversation


class BaseApp(App[int]):
    """Conversation, sidebar, prompt and status line; and a stack of panels."""

    TITLE = "Assent"
    ENABLE_COMMAND_PALETTE = False
    HORIZONTAL_BREAKPOINTS, VERTICAL_BREAKPOINTS = WIDTH_BREAKPOINTS, HEIGHT_BREAKPOINTS
    BINDINGS: ClassVar[list[BindingType]] = [*bindings()]
    CSS = """
    Screen { layers: base over small; }
    #main { height: 1fr; }
    #left { width: 1fr; }
    #activity { height: 1; padding: 0 2; color: $text-muted; }
    #side { display: none; width: 42%; max-width: 90; height: 1fr; }
    .side #side { display: block; }
    .side.narrow #side {
        layer: over; dock: right; width: 100%; max-width: 100%; background: $surface;
    }
    .side.narrow #left { visibility: hidden; }  /* so that it never gets keys unseen */
    """

    def __init__(self, host: ScreenHost) -> None:
        super().__init__()
        self.host = host
        self.side_wanted = True  # where there is room for it
        self.quiet_s, self.answer_s, self.close_s = DEBOUNCE_S, ANSWER_S, CLOSE_S
        self.burst_s, self.again_s = BURST_S, DOUBLE_PRESS_S
        self.typed_at = -inf  # when something was typed last
        self._aftermath = (
            KeyDebounce()
        )  # after a panel that decides, before the prompt is typed into
        self.pressed: dict[str, float] = {}  # when a key was pressed that means more if repeated
        self._hinted: tuple[Static, VisualType, str] | None = None  # where, over what, with what
        self._hint_ends: Timer | None = None

    def compose(self) -> ComposeResult:
        with Horizontal(id="main"):
            with Vertical(id="left"):
                yield ConversationView(id="conversation")
                yield Static("", id="activity", markup=False)
                yield PromptInput(files=self.host.files, id="prompt")
            yield Vertical(id="side")
        yield StatusLine(id="status")
        yield TooSmallOverlay()

    @property
    def conversation(self) -> ConversationView:
        return self.screen_stack[0].query_one("#conversation", ConversationView)

    @property
    def prompt(self) -> PromptInput:
        return self.screen_stack[0].query_one("#prompt", PromptInput)

    @property
    def is_there(self) -> bool:
        """Whether the screen can be drawn on: not before it is made, nor while it goes away."""
        return self.is_running and any(
            screen.is_attached and screen.query("#status") for screen in self.screen_stack[:1]
        )

    def on_resize(self, event: Resize) -> None:
        narrow = event.size.width < SIDEBAR_MIN_WIDTH
        screen = self.screen_stack[0]
        if narrow and screen.has_class("side"):
            self.call_after_refresh(self.prompt.focus_text)  # the side area goes, and had the keys
        screen.set_class(narrow, "narrow")
        screen.set_class(self.side_wanted and not narrow, "side")

    def open_panel(
        self, panel: PanelScreen[Any], then: Callable[[Any], None] | None = None
    ) -> None:
        """Opens a panel; what was typed before the person could see it is dropped."""
        self.push_screen(panel, then)
        self.debounce_keys(panel)

    def debounce_keys(self, panel: PanelScreen[Any]) -> None:
        """Has keys count in a panel only once what it shows now was painted, and all is quiet."""
        panel.ready_at = inf
        panel.call_after_refresh(self._panel_shown, panel)

    def pop_screen(self) -> AwaitComplete:
        """Closes the panel on top; what is typed on for one that decides reaches nobody else."""
        if isinstance(self.screen, PanelScreen) and self.screen.decides and not self.screen.left:
            self._aftermath = KeyDebounce(self.close_s, max(self.typed_at, Event().time))
        return super().pop_screen()

    def is_open(self, kind: type[PanelScreen[Any]]) -> bool:
        """Tells whether a panel of a kind is open."""
        return any(isinstance(screen, kind) for screen in self.screen_stack)

    def hint(self, words: str) -> None:
        """Shows a few words for a moment: above the prompt, or as the last line of a panel."""
        self.unhint()
        where = "#panel-keys" if len(self.screen_stack) > 1 else "#activity"
        for line in self.screen.query(where).results(Static):
            self._hinted = (line, line.content, words)
            line.update(words)
            self._hint_ends = self.set_timer(self.again_s, self.unhint)

    def unhint(self) -> None:
        """Puts back what stood where a hint is, unless something else stands there by now."""
        if self._hint_ends is not None:
            self._hint_ends.stop()
        if self._hinted is not None:
            line, before, words = self._hinted
            if line.is_attached and line.content == words:
                line.update(before)
        self._hinted = self._hint_ends = None

    def activity(self, words: str) -> None:
        """Shows what is at work."""
        line = self.screen_stack[0].query_one("#activity", Static)
        if self._hinted is not None and self._hinted[0] is line:
            self._hinted = (line, words, self._hinted[2])  # it is shown after the hint
        elif words != line.content:
            line.update(words, layout=False)

    async def on_event(self, event: Event) -> None:
        typed = isinstance(event, Key | Paste | MouseEvent)
        if typed and (self._is_early(event) or is_ignored_input(event, self.size)):
            return
        if isinstance(event, Key | Paste):
            self._disarm(event)
        await super().on_event(event)

    def _disarm(self, event: Key | Paste) -> None:
        """Has a key that means more if repeated mean that no more, once another is pressed."""
        if not isinstance(event, Key) or event.key not in self.pressed:
            self.pressed = {}
            self.unhint()

    def _is_early(self, event: Event) -> bool:
        """Tells whether something was typed before the panel that would get it was in sight.

        One that decides wants a moment of silence besides, and so does the prompt after one.
        """
        key = event.key if isinstance(event, Key) else ""
        if key == "ctrl+c":
            return False  # it decides nothing but to leave
        top = self.screen_stack[-1] if self.screen_stack else None
        if event.time < getattr(top, "ready_at", 0.0):
            return True
        if isinstance(event, MouseEvent):
            return False
        self.typed_at = max(self.typed_at, event.time)
        silence = top.silence if isinstance(top, PanelScreen) else self._aftermath
        return silence.breaks(event.time, key)

    def _panel_shown(self, panel: PanelScreen[Any]) -> None:
        panel.ready_at = now = Event().time
        since = max(self.typed_at, now)
        panel.silence = KeyDebounce(self.quiet_s, since) if panel.decides else KeyDebounce()

    def _print_error_renderables(self) -> None:
        """Prints nothing: what failed is told on the terminal as it was before."""


LEAVE_S: Final = 3.0  # for a turn that was told to end
TICK_S: Final = 0.5
ANSWER_KEPT: Final = (
    "What you wrote was for a question that is gone. It stands in the prompt, unsent."
)
PASTE_CUT: Final = "That paste was too long: only its first 4,000,000 characters are kept."


class TerminalApp(BaseApp):
    """The main app. Other modules may rely on the methods without an underscore."""

    def __init__(self, host: ScreenHost, start: StartOptions | None = None) -> None:
        super().__init__(host)
        self.beginning = start or StartOptions()
        self.dispatcher = MessageDispatcher(self)
        self.messages = Coalescer(self._have_delivered)
        self._delivered = 0.0  # when messages were delivered last
        self.session_controller = SessionController(host, self.messages, self.beginning)
        self.session_controller.seen = lambda: (
            self.conversation.feed.session,
            self.conversation.feed.seq,
        )
        self.run_controller = RunController(host, self.messages, self._report_lines)
        self.shell_controller = ShellController(host, self.session_controller, self.messages)
        self.tasks = BackgroundTasks(self.messages)
        self.status_poller = StatusPoller(self.session_controller, self.messages, self)
        self.deferred: DeferredActions = DeferredActions(self)
        self.status_snapshot = StatusSnapshot(
            mode=self.beginning.mode or "plan", model=self.beginning.model
        )
        self.theme_name = detect_theme(self.beginning.theme, host.environment)
        self.commands: tuple[CommandInfo, ...] = ()  # ours, once they are loaded
        self.own_commands: tuple[Completion, ...] = ()  # of the person, besides ours
        self.wants_demo = False  # whether the demo comes after this screen
        self.ready = False  # whether what the person wanted to go on with is on the screen
        self.wanted = ""  # the session that is being read, or was last
        self._busy_since = 0.0
        self._due = False  # whether a question opens as soon as the person types nothing else

    @property
    def engine(self) -> "Engine":
        return self.host.engine()

    @property
    def at_work(self) -> bool:
        return (
            self.session_controller.at_work
            or self.run_controller.at_work
            or self.shell_controller.at_work
        )

    @property
    def slug(self) -> str:
        """The name of the session that is shown; nothing before there is one."""
        return self.session_controller.record.slug if self.session_controller.record else ""

    @property
    def quiet(self) -> bool:
        """Whether everything that was reported is on the screen."""
        idle = not self.messages.pending and not self.tasks.activity_text
        return self.ready and idle and not self.status_poller.looking

    def get_driver_class(self) -> "type[Driver]":
        """Has the terminal read by a driver of our own."""
        return TerminalDriver

    def on_mount(self) -> None:
        if not self.is_headless:
            self.set_interval(TICK_S, partial(exit_without_terminal, self))
        register_themes(self)
        self.set_theme(self.theme_name)
        self.prompt.focus_text()
        self.set_interval(TICK_S, self.draw_activity)
        self.set_interval(TICK_S, self._tick)
        self.call_after_refresh(self._begin)

    def _begin(self) -> None:
        """Opens everything that the first paint does not wait for."""
        self.messages.work(lambda: self.session_controller.begin(self.beginning))
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
            self.set_timer(wait, self._deliver)
        else:
            self._deliver()

    def _deliver(self) -> None:
        self._delivered = monotonic()
        self.dispatcher.deliver()

    # What everybody may ask for.

    def say(self, words: str) -> None:
        """Says something to the model, as if it was typed at the prompt."""
        with self.failing():
            if self.session_controller.at_work:
                self._put_below(words)  # it is refused, and what was typed is not lost
            self.session_controller.say(words)
            self.prompt.history.add(words)
            self.draw_status()

    def run_slash(self, text: str) -> None:
        """Runs a command such as `/mode ask`."""
        from assent.tui.parts import run

        with self.failing():
            run(self, text)

    def run_shell(self, line: str) -> None:
        """Runs a command line of the person's own."""
        with self.failing():
            self.shell_controller.run(line)
            self.add_note(Line("said", f"! {visible_line(line)}"))

    def add_note(self, *told: Line | str) -> None:
        """Puts a note into the conversation; what is being read for it comes first."""
        if not self.ready:
            self.deferred.add_note(*told)
            return
        lines: list[Line] = []
        for one in told:
            words = one.strip("\n").split("\n") if isinstance(one, str) else ()
            lines += [Line("plain", visible_line(each)) for each in words]
            lines += [one] if isinstance(one, Line) else []
        self.conversation.add_note(lines)

    def fail(self, error: AssentError) -> None:
        """Says what could not be done, and what to do next."""
        self.add_note(Line("risk", visible_line(redact(with_screen_commands(error.message)))))
        if error.next:
            self.add_note(Line("dim", f"next: {visible_line(redact(next_step(error.next)))}"))

    @contextmanager
    def failing(self) -> Iterator[None]:
        """Has what goes wrong inside told on the screen."""
        try:
            yield
        except AssentError as error:
            self.fail(error)

    def review_plan(self, plan_id: str = "") -> None:
        """Opens the approval panel for a plan, else for the session's own."""

        def opened(found: str) -> None:
            top = self.screen  # who is impatient asks for it twice
            if not (isinstance(top, PanelScreen) and top.is_about(found)):
                self.open("approval", found)

        named, plans = plan_id or self.session_controller.plan_id, self.engine.plans
        if named:
            opened(named)
            return
        self.deferred.lead("Looking for the plan", plans.find, lambda one: opened(one.plan_id))

    def build_plan(self, plan_id: str, digest: str = "", *, prose: bool = False) -> None:
        """Has a plan that is approved built: by the executor, or by a model.

        Whoever was shown one says which digest it had: then nothing else is built.
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
        """Opens the view of the run that is at work, or of the last one."""
        self._open_once("run")

    def ask_next(self) -> None:
        """Opens the panel of the question that waits longest."""
        self._due = False
        self._open_once("question")

    def has_pending_question(self) -> None:
        """Opens a question when nobody is typing; until then the line above the prompt tells."""
        self._due = True
        self._open_due()

    def _tick(self) -> None:
        self._open_due()
        if self.ready and self.is_there:
            self.status_poller.watch()

    def _open_due(self) -> None:
        if not self._due or not self.is_there:
            return
        resting = Event().time >= self.typed_at + self.quiet_s
        if resting and len(self.screen_stack) == 1 and not self.prompt.text:
            self.ask_next()
        self.draw_activity()

    def restore_input(self, words: str) -> None:
        """Puts words into the prompt that were written for what is gone meanwhile; sends nothing.

        They stand below whatever is there already.
        """
        self._put_below(words)
        self.add_note(Line("risk", ANSWER_KEPT))

    def _put_below(self, words: str) -> None:
        self.prompt.load("\n".join(filter(None, (self.prompt.text, words))))

    def open_panel(
        self, panel: PanelScreen[Any], then: Callable[[Any], None] | None = None
    ) -> None:
        """Opens a panel; a yes to one that asks once more is for the session it was asked for."""
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
        """Shows another session, or an empty one that begins with what is said next."""
        with self.failing():
            self.session_controller.switch(record)
            self.status_snapshot = initial_snapshot(
                self.session_controller, record
            )  # nothing of the one before
            self.conversation.empty()
            if record is not None:
                self.load(record)
            else:
                self.dispatcher.open_none()
            self.refresh_status()

    def plan_chosen(self, plan: PlanRecord, session: SessionRecord | None) -> None:
        """Works with another plan from now on; the model is told of it with the next words."""
        told = f"Plan {plan.name} is chosen. The model is told of it with what you say next."
        if self.session_controller.record is None and session is not None:
            self.open_session(session)
            self.deferred.add_note(told)
        else:
            self.add_note(told)
        self.session_controller.chosen_plan = plan.plan_id
        self.refresh_status()

    def load(self, record: SessionRecord) -> None:
        """Reads and folds a session, in a thread; it is shown when that is done."""
        self.ready, self.wanted = False, record.session

        def act() -> None:
            try:
                self.messages.post(
                    load_session(record.session, session_events(self.engine, record))
                )
            except Exception:
                self.messages.post(SessionLoadFailed(record.session))
                raise

        self.messages.work(act)

    def edit_file(self, path: bytes) -> None:
        """Waits until the person has closed their editor, which has the terminal meanwhile."""
        trouble: Exception | None = None
        with self._out_of_the_way():
            try:
                self.host.edit(display_path(path))
            except Exception as error:  # raised in here, it would keep the screen from coming back
                trouble = error
        if trouble is not None:
            raise trouble

    def _out_of_the_way(self) -> AbstractContextManager[None]:
        driver = self._driver
        return self.suspend() if driver is not None and driver.can_suspend else nullcontext()

    def set_mode(self, name: str) -> None:
        """Changes the mode because the person says so."""
        seq = self.conversation.feed.seq

        def act() -> None:
            self.session_controller.set_mode(name)
            self.messages.post(StatusLoaded(read_snapshot(self.session_controller, seq)))

        self.deferred.lead("", act, lambda _: None)

    def set_theme(self, name: str) -> None:
        """Changes what everything looks like: dark, light or plain."""
        self.theme_name = name if name in THEMES else THEMES[0]
        self.theme = TEXTUAL[self.theme_name]
        self.draw_status()

    def notice(self, words: str, took_s: float = 0.0) -> None:
        """Gets the person's attention, unless they look here and it took only a moment."""
        if self.app_focus and took_s < self.host.notify_after:
            return
        self.ring(words)

    def ring(self, words: str) -> None:
        """Has the terminal ring, or show a notification, as the settings say."""
        if self._driver is not None:
            self._driver.write(self.host.signal(words))

    def refresh_status(self) -> None:
        """Reads anew where session, plan and questions are, and shows it."""
        self.status_poller.refresh()

    def apply_status(self, standing: StatusSnapshot) -> None:
        """Shows where things stand."""
        self.status_snapshot = standing
        if standing.news and standing.session == self.conversation.feed.session:
            self.conversation.add_events(standing.news)
        self.draw_status()
        self.draw_side()

    def follow(self) -> None:
        """Has open panels follow what was recorded meanwhile, whoever did it."""
        for screen in [*self.screen_stack]:
            if isinstance(screen, PanelScreen):
                screen.follow()

    def draw_status(self) -> None:
        """Draws the status line."""
        if not self.is_there:
            return
        for screen in self.screen_stack:  # a panel has a line of its own, so that it is seen
            for line in screen.query(StatusLine):
                line.show_snapshot(
                    self.status_snapshot, working=self.at_work, theme=self.theme_name
                )
        self.draw_activity()

    def draw_activity(self) -> None:
        """Says what is at work, and for how long."""
        if not self.is_there:
            return
        if self.at_work or self.tasks.activity_text:
            self._busy_since = self._busy_since or monotonic()
            self.activity(key_actions.activity_text(self, monotonic() - self._busy_since))
        elif self._busy_since or self._due:
            self._busy_since = 0.0
            self.activity(key_actions.QUESTION_WAITING if self._due else "")

    def draw_side(self) -> None:
        """Has the side area read and show its parts, if it is in sight."""
        if self.screen_stack[0].has_class("side") and self.ready:
            from assent.tui.parts import draw_sidebar

            draw_sidebar(self)

    def leave(self) -> None:
        """Lets go of everything, after the screen is gone; a turn is ended in good order.

        One that waits for an answer is left as it is: whoever opens the session next is asked.
        Commands do not outlive the screen: nobody would see them, or could end them.
        """
        self.shell_controller.end()
        self.run_controller.end()
        if not key_actions.has_pending_question(self) and self.session_controller.interrupt():
            self.session_controller.join(LEAVE_S)
        if not self.at_work:
            self.host.close()

    def _handle_exception(self, error: Exception) -> None:
        """Keeps what nobody expected for whoever opened the screen, and closes it."""
        self.messages.internal_error(error)
        super()._handle_exception(error)

    # Keys.

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Has keys of the screen mean nothing while a panel is open, but for leaving."""
        of_screen = action == "do" and parameters != (key_actions.LEAVE_ACTION,)
        return not (of_screen and len(self.screen_stack) > 1)

    def action_do(self, habit: str) -> None:
        """Does what a key of the table stands for."""
        with self.failing():
            key_actions.KEY_ACTIONS[habit](self)

    def action_toggle_side(self) -> None:
        """Shows or hides the side area; where there is no room for both, over the rest."""
        screen = self.screen_stack[0]
        self.side_wanted = not screen.has_class("side")
        screen.set_class(self.side_wanted, "side")
        self.draw_side()
        self.call_after_refresh(self._focus_what_is_seen)

    def _focus_what_is_seen(self) -> None:
        """Gives the keys to the side area where it stands over the prompt, else to the prompt."""
        if not key_actions.is_covered(self):
            self.prompt.focus_text()
            return
        from assent.tui.parts import focus_sidebar

        focus_sidebar(self)

    # What the prompt says.

    def on_prompt_input_submitted(self, event: PromptInput.Submitted) -> None:
        self.deferred.do(partial(self.say, event.words))

    def on_prompt_input_slash(self, event: PromptInput.Slash) -> None:
        self.deferred.slash(event.text)

    def on_prompt_input_shell(self, event: PromptInput.Shell) -> None:
        self.deferred.do(partial(self.run_shell, event.line))

    def on_paste_truncated(self) -> None:
        self.add_note(Line("risk", PASTE_CUT))

    def on_prompt_input_help(self) -> None:
        self.run_slash("/help")
