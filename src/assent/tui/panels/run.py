"""The run panel: progress, command output, the outcome, and the options after a halt."""

from collections.abc import Collection
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final

from textual.binding import BindingType
from textual.events import Key, Paste, Resize
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Static

from assent.core.errors import AssentError, StaleError
from assent.core.run.journal import RecoveryChoice, ReportedOutcome
from assent.core.text.secrets import redact
from assent.render.lines import Line
from assent.render.status import run_lines
from assent.tui.hints import with_screen_commands
from assent.tui.keys import CONFIRM_KEY, TOO_QUICK
from assent.tui.line_view import LineView, Section
from assent.tui.messages import RunActivity, RunBegan, RunOver, TurnBegan, TurnOver
from assent.tui.panels.panel import DebouncedPanel

if TYPE_CHECKING:
    from assent.core.plan.record import PlanRun
    from assent.runs.run_status import RunReport

# What is asked before each way on is taken, by the key that asks.
RECOVER_KEYS: Final[dict[str, tuple[RecoveryChoice, str]]] = {
    "1": ("resume", "Resume where it stopped? A failed command runs again."),
    "2": ("roll_back", "Undo everything this run changed?"),
    "3": ("accept", "Keep everything as it is now and end the run?"),
}
STOP: Final = "x"
RUNNING_HINT: Final = "x stop the command"
VERIFY: Final = "V"
VERIFY_OFF: Final = "V don't verify"
VERIFY_ON: Final = "V verify"
VERIFY_STOP: Final = "V stop verifying"
UNDO: Final = "ctrl+z"  # as everywhere
HELP: Final = "question_mark"
HALTED: Final = "1 resume · 2 roll back · 3 accept as is"
ENDED: Final = "Ctrl+Z undo"
CONTINUES: Final = "? keys · Esc close; it continues"
LATER: Final = "? keys · Esc decide later"
CLOSED: Final = "? keys · Esc close"
CHROME: Final = 5  # rows: the frame, the title, the keys and the status line
MIN_ROWS: Final = 3  # of what it shows, however small the screen is
ENDS: Final[dict[ReportedOutcome, str]] = {
    "done": "done",
    "partial": "partly done",
    "nothing": "nothing to do",
    "rolled_back": "rolled back",
    "needs_you": "needs your decision",
}


class RunPanel(DebouncedPanel[str]):
    """Shows the current run, or the last one; choosing an option takes two keys.

    It is as high as what it shows, at the bottom: the conversation stays in sight above it. It
    closes when the model begins to verify what was built.
    """

    DEFAULT_CSS = """
    RunPanel { align: center bottom; }
    RunPanel > #frame { height: auto; max-height: 100%; }
    RunPanel #all { height: auto; }
    RunPanel #question { height: auto; text-style: bold; }
    """
    BINDINGS: ClassVar[list[BindingType]] = []
    AUTO_FOCUS = "#all"
    heading = "Run"

    def __init__(self) -> None:
        super().__init__()
        self._asked = ""  # the key whose question is open
        self._shown = ""  # the run that halted, as it is on the screen: what an answer is about
        self._taken = False  # a way on was chosen here, and is under way
        self._told = ""

    @property
    def _halted(self) -> bool:
        report = self.terminal.run_controller.report
        return report is not None and report.outcome == "needs_you"

    def body(self) -> list[Widget]:
        return [LineView(following=True, id="all"), Static(id="question", markup=False)]

    def on_mount(self) -> None:
        if self.terminal.run_controller.watched is None:
            self.terminal.run_controller.recover()  # which only says where an unfinished run stands
        elif self._halted:
            unfinished = self.terminal.engine.runs.unfinished
            self.terminal.tasks.run("", unfinished, self._compare, lambda _: None)
        self._paint()
        self.asks()

    def hear(self, message: Message) -> None:
        """Handles messages about the run."""
        if isinstance(message, TurnBegan | TurnOver):
            self._paint()  # it may be about what was built
            # How the build ended is in the conversation, and now what the model finds: it makes way
            # unless the user reads what was printed.
            if isinstance(message, TurnBegan) and self._is_verified() and self._is_at_end:
                self.dismiss()
        if isinstance(message, RunBegan | RunActivity | RunOver):
            if isinstance(message, RunOver):
                self._asked = ""
                self.forget()
                self.terminal.debounce_keys(self)  # keys mean something else from now on
                self._look_again(message.error)
            self._paint()

    def on_key(self, event: Key) -> None:
        event.stop()
        event.prevent_default()
        if self.is_overtaken(event.time) or self.is_hasty(event.time, answers=bool(self._asked)):
            return
        self._told = ""
        if self.move(event.key):
            return
        if self._asked:
            self._answered(event)
        else:
            self._press(event.key)

    @property
    def has_open_question(self) -> bool:
        return bool(self._asked)

    def cancel_question(self, why: str = TOO_QUICK) -> None:
        self._asked, self._told = "", why
        self._paint()
        self.asks()

    def on_paste(self, event: Paste) -> None:
        event.stop()  # what is pasted decides nothing

    def _press(self, key: str) -> None:
        if key == "escape":
            self.action_leave()
        elif key in self._ways():
            self._ask(key)
        elif key == VERIFY and (self._builds() or self.terminal.verification.at_work):
            self.terminal.verification.toggle()
            self._paint()
        elif key == HELP:
            app = self.terminal
            app.open("help", app.commands, app.own_commands, first="run")
        elif key == UNDO and self._can_undo():
            self.dismiss("undo")
            self._open_undo()

    def _open_undo(self) -> None:
        report = self.terminal.run_controller.report
        self.terminal.open("undo", report.run if report else "")

    def _ways(self) -> Collection[str]:
        """Returns the keys that have an action now."""
        if self.terminal.run_controller.at_work:
            return (STOP,)
        return RECOVER_KEYS if self._halted else ()

    def _ask(self, key: str) -> None:
        self._asked = key
        self._paint()
        self.asks()

    def _answered(self, event: Key) -> None:
        """Handles the answer to the open question: Ctrl+Y confirms, any other key cancels."""
        if event.key == self._asked:
            return  # the key that asked is not an answer
        if event.key == CONFIRM_KEY:
            self.hold(event.time, partial(self._agreed, self._asked, self._shown))
        else:
            self._asked = ""
            self._paint()

    def _agreed(self, asked: str, run: str) -> None:
        self._asked = ""
        if asked == STOP:
            self.terminal.run_controller.interrupt()
        elif not self.terminal.run_controller.at_work:
            with self.terminal.failing():
                self.terminal.run_controller.recover(RECOVER_KEYS[asked][0], run)
                self._taken = True
        self._paint()

    def _look_again(self, error: AssentError | None) -> None:
        """Shows the run that is halted now, if an option was refused because it had changed."""
        taken, self._taken = self._taken, False
        if taken and isinstance(error, StaleError):
            self._told = error.message
            self.terminal.run_controller.recover()

    def _compare(self, found: "tuple[str, PlanRun] | None") -> None:
        """Shows the current state, if the run that halted here was continued elsewhere."""
        run = found[1].run if found else ""
        if self.is_attached and self._halted and run != self._shown:
            self.terminal.run_controller.recover()

    @property
    def _is_at_end(self) -> bool:
        shown = self.query("#all")
        return bool(shown) and shown.only_one(LineView).is_at_end

    def _builds(self) -> bool:
        """Tells whether a plan is being built, after which the model may verify it."""
        running = self.terminal.run_controller
        return running.at_work and running.watched is not None and running.watched.verb == "build"

    def _is_verified(self) -> bool:
        """Tells whether the model verifies what was built; not once it was stopped."""
        verification = self.terminal.verification
        return verification.at_work and verification.wanted

    def _can_undo(self) -> bool:
        running = self.terminal.run_controller
        report = running.report
        built = running.watched is not None and running.watched.verb in ("build", "recover")
        return not running.at_work and built and report is not None and report.outcome == "done"

    def on_resize(self, event: Resize) -> None:
        super().on_resize(event)
        self._paint()

    def _paint(self) -> None:
        running = self.terminal.run_controller
        watched = running.watched
        if watched is None or not self.query("#panel-keys"):  # which comes a moment after the panel
            return
        self._shown = running.report.run if running.report else ""
        state = "running" if running.at_work else _ended(running.report)
        verified = " · the model verifies it" if self._is_verified() else ""
        title = f"{watched.verb.capitalize()}: {state}{verified}"
        self.query_one("#panel-title", Static).update(title)
        question = self._question()
        self.query_one("#question", Static).update(question)
        self.query_one("#question").display = bool(question)
        lines = self.query_one("#all", LineView)
        taken = CHROME + len(question.split("\n")) * bool(question)
        lines.styles.max_height = max(self.app.size.height - taken, MIN_ROWS)
        lines.put(Section("run", watched.lines()))
        self.query_one("#panel-keys", Static).update(self._keys())

    def _question(self) -> str:
        if not self._asked:
            return self._told
        words = "Stop the command? The run stops and you decide how to continue."
        asked = words if self._asked == STOP else RECOVER_KEYS[self._asked][1]
        return f"{asked}\nCtrl+Y yes · any other key: no"

    def _keys(self) -> str:
        if self._builds():
            verify = VERIFY_OFF if self.terminal.verification.wanted else VERIFY_ON
            return f"{RUNNING_HINT} · {verify} · {CONTINUES}"
        if self.terminal.run_controller.at_work:
            return f"{RUNNING_HINT} · {CONTINUES}"
        if self._halted:
            return f"{HALTED} · {LATER}"
        stops = [VERIFY_STOP] if self._is_verified() else []
        undo = [ENDED] if self._can_undo() else []
        return " · ".join([*stops, *undo, CLOSED])


def _ended(report: "RunReport | None") -> str:
    return ENDS[report.outcome] if report else "did not continue"


def report_lines(report: "RunReport") -> list[Line]:
    """Renders how a run ended, operation by operation; the panel shows the next steps."""
    pairs = zip(report.operations, report.about, strict=True)
    results = [(result, op) for (_, result), op in pairs]
    notes = tuple([redact(with_screen_commands(note)) for note in report.notes])
    *lines, _ = run_lines(
        "",  # its id means nothing to a person here
        report.outcome,
        results,
        notes,
        report.exits,
        permitted=report.permitted,
    )
    return lines
