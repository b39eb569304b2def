"""The status line, the snapshot of session, plan and questions that it shows, and its poller."""

from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING, Final, Protocol

import msgspec
from rich.cells import cell_len
from rich.style import Style as Look
from rich.text import Text
from textual.message import Message
from textual.widgets import Static

from assent.core.event import StoredEvent
from assent.core.llm import TokenUsage
from assent.core.permission.mode import MODES, Mode, default_agent, missing_mode
from assent.core.plan.record import PlanRecord, PlanState
from assent.core.session.record import SessionRecord, with_current_mode
from assent.core.text.hidden_chars import visible_line
from assent.tui.conversation.block_sections import cost_text, short_token_count
from assent.tui.sidebar.context import model_name
from assent.tui.workers import Coalescer

if TYPE_CHECKING:
    from assent.app.engine import Engine
    from assent.core.session.event import MessageQueued
    from assent.core.session.question import PendingQuestion
    from assent.runs.undo.targets import UndoneAmount
    from assent.tui.conversation.view import ConversationView
    from assent.tui.session_controller import SessionController


# The status snapshot: session, plan and questions, read at once for all widgets.


class StatusSnapshot(msgspec.Struct, frozen=True):
    """The status at one moment; without a session, mode, agent and model of a new one."""

    mode: str = "plan"  # a custom one by its own name
    base: str = "plan"  # one of the four
    agent: str = "plan"
    model: str = ""
    record: SessionRecord | None = None
    plan: PlanRecord | None = None
    approved: bool = False
    undone: "UndoneAmount" = ""  # how much of what the plan did last was undone
    waiting: "tuple[PendingQuestion, ...]" = ()
    cut_off: bool = False  # the last turn was interrupted, or its process ended
    missing: str = ""  # the session's own mode, if it is no longer known
    queued: "tuple[MessageQueued, ...]" = ()  # messages that wait for the next step
    news: tuple[StoredEvent, ...] = ()  # session events that the screen was not notified of

    @property
    def session(self) -> str:
        return self.record.session if self.record else ""

    @property
    def own_questions(self) -> "tuple[PendingQuestion, ...]":
        """The open questions of this session and its children."""
        return tuple(one for one in self.waiting if one.root.session == self.session)

    def without_own_questions(self) -> "StatusSnapshot":
        """Returns it for where those are shown anyway."""
        others = tuple(one for one in self.waiting if one not in self.own_questions)
        return msgspec.structs.replace(self, waiting=others)

    @property
    def usage(self) -> TokenUsage:
        return self.record.usage if self.record else TokenUsage()

    @property
    def cost(self) -> float | None:
        return self.record.cost if self.record else 0.0


def initial_snapshot(sitting: "SessionController", record: SessionRecord | None) -> StatusSnapshot:
    """Returns the part of the status that a session's record contains."""
    if record is None:
        base = sitting.base(sitting.mode)
        agent = sitting.agent or default_agent(base)
        return StatusSnapshot(sitting.mode or base, base, agent, sitting.shown_model)
    modes = sitting.engine.sessions.modes
    missing, record = missing_mode(record.custom, modes), with_current_mode(record, modes)
    return StatusSnapshot(
        record.custom or record.mode,
        record.mode,
        sitting.agent or record.agent or default_agent(record.mode),
        sitting.model or record.model or sitting.shown_model,
        record,
        missing=missing,
    )


def read_snapshot(sitting: "SessionController", after: int) -> StatusSnapshot:
    """Reads the status, and what happened after an event of the session; in a thread."""
    engine, known = sitting.engine, sitting.record
    waiting = tuple(engine.pending_questions.pending())
    record = engine.sessions.load(known.session) if known else None
    plan_id = sitting.chosen_plan or (record.plan_id if record else "")
    plan = engine.plans.repository().load(plan_id) if plan_id else None
    if plan is not None and not sitting.chosen_plan:
        plan = engine.plans.meant(plan)
    standing = msgspec.structs.replace(
        initial_snapshot(sitting, record),
        plan=plan,
        approved=plan is not None and engine.approvals.is_approved(plan),
        undone=undone_amount(engine, plan),
        waiting=waiting,
    )
    if record is None:
        return standing
    return msgspec.structs.replace(
        standing,
        cut_off=not record.rewound and _was_interrupted(engine, record),
        queued=engine.message_queues.queue(record).waiting,
        news=tuple(engine.sessions.events(record, after)),
    )


def _was_interrupted(engine: "Engine", record: SessionRecord) -> bool:
    """Tells whether the last turn was interrupted, or its process died."""
    if record.working:
        return not engine.sessions.is_at_work(record)
    return record.ended == "interrupted"


def undone_amount(engine: "Engine", plan: PlanRecord | None) -> "UndoneAmount":
    """Returns how much of a plan's last run was undone; in a thread."""
    if plan is None or plan.state is not PlanState.COMPLETED or not plan.runs:
        return ""
    return engine.history.undone(plan.runs[-1].run)


# The status line: mode, agent, model, plan, tokens and cost, at any width.


MIN_MODEL_CHARS: Final = 8  # letters that are left of a model's name
GAP: Final = " │ "
_STATES: Final = {
    PlanState.DRAFTING: "drafting",
    PlanState.AWAITING_APPROVAL: "in review",
    PlanState.EXECUTING: "executing",
    PlanState.COMPLETED: "completed",
    PlanState.HALTED: "halted",
    PlanState.DISCARDED: "discarded",
}
_UNDONE: Final = {"": "", "some": "partly undone", "all": "undone"}
# Colour only repeats the word: reversed, so that the mode is seen in the corner of the eye.
_MODES: Final = {
    "dark": {"plan": "black on #90caf9", "ask": "black on #a5d6a7", "auto-edit": "black on #ffd54f",
             "yolo": "bold black on #ff8a80"},
    "light": {"plan": "white on #0d47a1", "ask": "white on #1b5e20",
              "auto-edit": "black on #ffb300", "yolo": "bold white on #b71c1c"},
}  # fmt: skip


class StatusParts(msgspec.Struct, frozen=True):
    """The parts of the status line, each as short as necessary."""

    mode: str
    rest: tuple[str, ...]

    @property
    def text(self) -> str:
        return f" {self.mode} {GAP.join(('', *self.rest))[1:]}"


def status_parts(standing: StatusSnapshot, width: int, *, working: bool = False) -> StatusParts:
    """Returns the parts of the status line; long ones are shortened, and none is omitted."""
    mode = standing.mode if standing.mode in MODES else f"{standing.mode} ({standing.base})"
    mode = f"{standing.base} ({standing.missing} missing)" if standing.missing else mode
    shown = visible_line(mode)
    agent, model = visible_line(standing.agent), visible_line(standing.model) or "no model"
    usage = standing.usage
    tokens = f"{short_token_count(usage.input)} in {short_token_count(usage.output)} out"
    sparse = f"{short_token_count(usage.input + usage.output)} tok"
    asked = len(standing.own_questions)
    waiting = f"{asked} to answer" if asked else ""
    others = len(standing.waiting) - asked
    elsewhere = f"{others} to answer elsewhere" if others else ""
    work = "working" if working else ""
    # Where it is narrow, an agent that the mode says already is not said twice.
    named = f"agent {agent}"
    tight = "" if agent == default_agent(_base(standing)) else named
    ways = (
        (named, _model(model, 40), tokens),
        (named, _model(model, 24), tokens),
        (named, _model(model, 20), sparse),
        (tight, _model(model, 24), tokens),
        (tight, _model(model, 20), sparse),
        (tight, _model(model, 14), sparse),
        (tight[:16], _model(model, MIN_MODEL_CHARS), sparse),
    )
    paid = cost_text(standing.cost)
    short = paid if standing.cost is not None else "cost ?"
    for of_agent, of_model, of_tokens in ways:
        spent = paid if of_tokens == tokens else short
        if standing.cost == 0 and not usage.input + usage.output:
            of_tokens = spent = ""  # nothing was sent yet
        rest = (
            work,
            waiting,
            elsewhere,
            of_agent,
            of_model,
            _plan(standing.plan, standing),
            of_tokens,
            spent,
        )
        pieces = StatusParts(shown, tuple(filter(None, rest)))
        if cell_len(pieces.text) <= width:
            return pieces
    return pieces


def _base(standing: StatusSnapshot) -> Mode:
    """Returns the built-in mode in effect; the strictest if the name is unknown."""
    return next((mode for mode in MODES if mode == standing.base), MODES[0])


def _model(name: str, room: int) -> str:
    """Returns the end of a model's name, which distinguishes it, in at most `room` characters."""
    name = model_name(name)
    if len(name) <= room:
        return name
    last = name.rpartition("/")[2]
    return last if len(last) <= room else f"…{last[-(room - 1) :]}"


def _plan(plan: PlanRecord | None, standing: StatusSnapshot) -> str:
    if plan is None:
        return "no plan"
    state = "approved" if standing.approved else _UNDONE[standing.undone] or _STATES[plan.state]
    return state


class StatusLine(Static):
    """One line at the bottom of the screen."""

    DEFAULT_CSS = """
    StatusLine { height: 1; dock: bottom; background: $panel; color: $text; }
    """

    def __init__(self, id: str | None = None) -> None:
        super().__init__("", id=id, markup=False)
        self._standing = StatusSnapshot()
        self._theme = "dark"
        self._working = False

    def show_snapshot(self, standing: StatusSnapshot, *, working: bool, theme: str) -> None:
        """Shows the current status."""
        self._standing, self._working, self._theme = standing, working, theme
        self._draw()

    def on_resize(self) -> None:
        self._draw()

    def on_mount(self) -> None:
        self._draw()
        getattr(self.app, "draw_status", self._draw)()  # one that a panel brings knows nothing yet

    def _draw(self) -> None:
        pieces = status_parts(self._standing, self.size.width or 80, working=self._working)
        look = _MODES.get(self._theme, {}).get(self._standing.base, "reverse")
        text = Text(no_wrap=True, end="")
        text.append(f" {pieces.mode} ", Look.parse(look))
        text.append(pieces.text[len(pieces.mode) + 2 :], Look())
        self.update(text, layout=False)


# Keeps the status snapshot up to date.


READ_S: Final = 0.25  # between two looks, while much happens


@dataclass
class StatusLoaded(Message):
    """Message: a new status snapshot, or None if it could not be read."""

    standing: StatusSnapshot | None
    asked: bool = False  # whether the lookout waits for it


class StatusDisplay(Protocol):
    """Where a status snapshot is shown."""

    @property
    def is_there(self) -> bool: ...
    @property
    def conversation(self) -> "ConversationView": ...
    def call_after(self, delay: float, callback: Callable[[], None]) -> object: ...
    def apply_status(self, standing: StatusSnapshot) -> None: ...
    def follow(self) -> None: ...


class StatusPoller:
    """One read at a time, in a thread, and not too often."""

    def __init__(
        self, controller: "SessionController", messages: Coalescer, display: StatusDisplay
    ) -> None:
        self._controller, self._messages, self._display = controller, messages, display
        self._again = False
        self._looked = -READ_S
        self._stamp: tuple[int, ...] = ()  # of the log, when it was last looked at
        self._news = False  # something was recorded that open panels may be about
        self.looking = False

    def watch(self) -> None:
        """Reads the status whenever new events are recorded, also by another terminal."""
        stamp = self._controller.engine.stamp()
        if stamp != self._stamp:
            self._stamp, self._news = stamp, True
            self.refresh()

    def refresh(self) -> None:
        """Reads the status soon."""
        if self.looking:
            self._again = True
            return
        self.looking = True
        wait = READ_S - (monotonic() - self._looked)
        if wait > 0:
            self._display.call_after(wait, self._look)
        else:
            self._look()

    def take(self, message: StatusLoaded) -> None:
        """Shows a new status, unless it is about a session that was left meanwhile."""
        if message.asked:
            self.looking, self._looked = False, monotonic()
        if message.standing is not None and message.standing.session == self._controller.session:
            self._display.apply_status(message.standing)
        elif message.standing is not None:
            self._again = True
        if message.asked and self._news:
            self._news = False
            self._display.follow()
        if message.asked and self._again:
            self._again = False
            self.refresh()

    def _look(self) -> None:
        if not self._display.is_there:
            self.looking = False  # the screen is going away
            return
        seq = self._display.conversation.feed.seq

        def act() -> None:
            standing = None
            try:
                standing = read_snapshot(self._controller, seq)
            finally:
                self._messages.post(StatusLoaded(standing, asked=True))

        self._messages.work(act)
