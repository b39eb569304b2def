"""The question panel: shows open questions one at a time, with their choices.

Questions of child sessions are included.
"""

from collections.abc import Sequence
from functools import partial
from typing import ClassVar

import msgspec
from rich.text import Text
from textual.binding import BindingType
from textual.events import Key, Paste, Resize
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Static

from assent.core.errors import AssentError
from assent.core.session.event import Question, QuestionOption
from assent.core.session.question import (
    NO,
    YES,
    PendingQuestion,
    PermissionAnswer,
    QuestionAnswers,
    QuestionReply,
    grant_confirmation,
    is_permission,
    read_permission_answer,
)
from assent.core.text.hidden_chars import visible_line
from assent.render.lines import BLANK, Line
from assent.tui.hints import error_text
from assent.tui.keys import TOO_QUICK
from assent.tui.line_view import LineView, Section
from assent.tui.panels.panel import DebouncedPanel
from assent.tui.panels.question.state import (
    ANSWERING,
    NO_ANSWER,
    SKIP,
    QuestionAction,
    QuestionSelection,
    choose,
    confirmation_sections,
    empty_selection,
    handle_question_key,
    option_lines,
    question_sections,
)
from assent.tui.panels.text_input import TextInputPanel
from assent.tui.sections import wrapped_line
from assent.tui.theme import chosen_theme, style_in_theme

# The choices of a question, wrapped to the width they are shown at.


MAX_WIDTH, SIDE_COLUMNS = 160, 4  # columns of a panel, and those of it next to what is shown
MAX_HEIGHT_PERCENT = 60  # percent of the height, at most
FRAME_ROWS, MIN_QUESTION_ROWS = (
    3,
    2,
)  # rows of frame and status line, and those that are left to the question


class QuestionChoices(Static):
    """Shows the choices; it knows whether all are visible: a hidden one cannot be picked."""

    DEFAULT_CSS = """
    QuestionChoices { height: auto; max-height: 70%; border-top: solid $primary; }
    """
    _drawn = (0, 0)  # the columns and rows that it was drawn for

    @property
    def columns(self) -> int:
        """Its width, or the width it will have after the layout."""
        return self.size.width or max(min(self.screen.size.width, MAX_WIDTH) - SIDE_COLUMNS, 1)

    @property
    def room(self) -> int:
        """How many rows it may use, so that everything else fits too."""
        height = self.screen.size.height
        others = [self.screen.query_one(name) for name in ("#panel-title", "#panel-keys")]
        left = height - FRAME_ROWS - MIN_QUESTION_ROWS - sum(other.size.height for other in others)
        return min(height * MAX_HEIGHT_PERCENT // 100, left)

    def rows_of(self, lines: Sequence[Line]) -> int:
        """Returns how many rows lines take here."""
        return len(self._broken(lines))

    def fill(self, lines: Sequence[Line]) -> None:
        """Shows only these lines."""
        theme, pieces = chosen_theme(self.app.theme), self._broken(lines)
        texts = [Text(piece.text, style_in_theme(theme, piece.style)) for piece in pieces]
        self._drawn = (self.columns, len(pieces))
        self.update(Text("\n").join(texts))

    def is_in_sight(self) -> bool:
        """Tells whether all of it is visible on the screen now."""
        place = self.screen.find_widget(self)
        columns, rows = self._drawn
        whole = place.visible_region == place.region and self.size.height >= rows
        return whole and columns == self.size.width and place.region.bottom <= self._floor

    @property
    def _floor(self) -> int:
        return self.screen.query_one("#panel-keys").region.y

    def _broken(self, lines: Sequence[Line]) -> list[Line]:
        return [piece for line in lines for piece in wrapped_line(line, self.columns)]


POLL_INTERVAL_S = 1.0
FOOTER_ROWS = 3  # rows below the question that are not choices: a line, and a message
OPTIONS = "options"  # the sheet of choices that are too many to stand below
TOO_LOW = "The choices do not fit; make the terminal larger."
READ_TO_END = "Read to the end first (End, PgDn), or press z to skip the rest."
EMPTY = "Nothing selected. Press a choice's key, then Enter."
READ_ALL = "Read to the end first (End, PgDn)."
CONFIRM_HINT = "Press Ctrl+Y to send yes; Enter only sends no."
KEYS = "choose, then Enter send · Esc answer later"
PERMIT = "choose, then Ctrl+Y send yes, Enter send no · Esc answer later"
WITHOUT_SANDBOX = "Without the sandbox"
WITHOUT_SANDBOX_WARNING = "It could then change anything you can. Run it without the sandbox?"
YES_OR_NO = (QuestionOption(YES), QuestionOption(NO))


class QuestionPanel(DebouncedPanel[str]):
    """Shows a question in full; one key chooses, another one answers, Esc leaves it open.

    Allowing a permission needs a key that ends no sentence, and a pause before and after it.
    """

    DEFAULT_CSS = """
    QuestionPanel #all { height: 1fr; min-height: 1; }
    """
    BINDINGS: ClassVar[list[BindingType]] = []
    AUTO_FOCUS = "#all"
    heading = "Reading…"

    def __init__(self, reference: str = "") -> None:
        super().__init__()
        self._reference = reference
        self._waiting: list[PendingQuestion] = []
        self._place = 0
        self._choice = QuestionSelection(())
        self._confirming: Question | None = None  # an approval that covers more is asked for twice
        self._grant = ""
        self._kept: QuestionAnswers = ()  # the answer that is asked about once more
        self._told = ""
        self._crowded = False  # there is no room for the choices below the question
        self._written = ""  # the user's own words, as long as they are not sent
        self._busy = True

    @property
    def listening(self) -> bool:
        """Whether the question is on the screen, so that keys count."""
        return super().listening and not self._busy

    @property
    def _pending(self) -> PendingQuestion | None:
        return self._waiting[self._place] if self._waiting else None

    @property
    def _questions(self) -> tuple[Question, ...]:
        if self._confirming is not None:
            return (self._confirming,)
        return self._pending.inquiry.asked.questions if self._pending else ()

    @property
    def _choices(self) -> QuestionChoices:
        return self.query_one(QuestionChoices)

    def body(self) -> list[Widget]:
        return [LineView(id="all"), QuestionChoices(id="choices", markup=False)]

    def on_mount(self) -> None:
        self._read()
        self.set_interval(POLL_INTERVAL_S, self._look)

    def hear(self, message: Message) -> None:
        """Handles a message; another question may be open now."""
        if not self._busy:
            self._look()

    # Reading what waits.

    def _read(self) -> None:
        self._busy = True
        pending = self.terminal.engine.pending_questions.pending
        self.terminal.tasks.run("", pending, self._show, self._failed)

    def _show(self, waiting: Sequence[PendingQuestion]) -> None:
        if not self.is_attached:
            return
        self.forget()
        self._busy = False
        own = self.terminal.session_controller.record
        mine = own.session if own else ""
        self._waiting = sorted(waiting, key=lambda one: one.root.session != mine)
        if not self._waiting:
            self.dismiss("none")
            return
        names = [one.id for one in self._waiting]
        self._place = names.index(self._reference) if self._reference in names else 0
        self._reference = ""
        self.terminal.debounce_keys(self)
        self._begin()

    def _begin(self) -> None:
        """Shows the current question from its beginning, with nothing chosen."""
        self.forget()
        self._confirming = None
        self._choice, self._written = empty_selection(self._questions), ""
        self._show_part()

    def _show_part(self) -> None:
        pending = self._pending
        if pending is not None:
            now = self.terminal.engine.pending_questions.clock.now()
            sheets = question_sections(pending, self._choice.part, now)
            self.query_one("#all", LineView).show(sheets)
        self._crowded = False
        self._paint(asked=True)

    def _look(self) -> None:
        """Checks whether the question was answered elsewhere, or others are open now."""
        if self._busy or self._pending is None:
            return
        shown = partial(self._renewed, self._pending.id)
        pending = self.terminal.engine.pending_questions.pending
        self.terminal.tasks.run("", pending, shown, lambda _: None)  # it is looked again soon

    def _renewed(self, shown: str, waiting: Sequence[PendingQuestion]) -> None:
        if not self.is_attached or self._busy:
            return
        if [one.id for one in waiting] == sorted(one.id for one in self._waiting):
            return
        if any(one.id == shown for one in waiting):
            own, part = self._waiting[self._place], self._choice
            self._waiting = [own, *[one for one in waiting if one.id != shown]]
            self._place, self._choice = 0, part
            self._paint()
            return
        if self._written:
            self.terminal.restore_input(self._written)
        self._told = "That question was answered elsewhere or is no longer open."
        self._show(waiting)

    # Keys.

    def on_key(self, event: Key) -> None:
        event.stop()
        event.prevent_default()
        answers = event.key in ANSWERING and not self.pace.is_early(event.time)
        if self.is_overtaken(event.time) or self.is_hasty(event.time, answers=answers):
            return
        if self.move(event.key):
            self._told = ""
            self._paint()
            return
        if event.key == "escape":
            self._leave()
        elif event.key in ("left_square_bracket", "right_square_bracket"):
            self._turn(-1 if event.key.startswith("left") else 1)
        elif self._pending is not None and not self._busy:
            self._press(event)

    @property
    def has_open_question(self) -> bool:
        """Whether something is chosen, so that a key would answer with it."""
        return self._confirming is not None or any(self._choice.answers[self._choice.part :])

    def cancel_question(self, why: str = TOO_QUICK) -> None:
        """Clears the choice."""
        self._told = why
        if self._confirming is not None:
            self._begin()
            return
        read, part = self._choice.read, self._choice.part
        self._choice = QuestionSelection(choose(self._choice, ()).answers, part, read)
        self._paint(asked=True)

    def on_paste(self, event: Paste) -> None:
        event.stop()  # what is pasted answers nothing

    def on_line_view_end_reached(self, event: LineView.EndReached) -> None:
        event.stop()
        if self.query_one("#all", LineView).reached_end:
            self._choice = QuestionSelection(self._choice.answers, self._choice.part, read=True)
            self._paint()

    def on_resize(self, event: Resize) -> None:
        self._crowded = False
        self.asks()
        self.call_after_refresh(self._paint)

    def _leave(self) -> None:
        if self._confirming is not None:
            self._begin()
        else:
            self.action_leave()

    def _turn(self, way: int) -> None:
        """Shows another open question."""
        if len(self._waiting) > 1 and self._confirming is None:
            self._place = (self._place + way) % len(self._waiting)
            self._begin()

    def _press(self, event: Key) -> None:
        self._told = self._why_never(event.key)
        if self._told:
            self._paint()
            return
        self._choice, change = handle_question_key(self._choice, event.key, self._questions)
        match change:
            case QuestionAction.WORDS:
                words = TextInputPanel("Your answer", (), "")
                about = self._pending.id if self._pending else ""
                self.terminal.open_panel(words, partial(self._worded, about))
            case QuestionAction.NEXT_PART:
                self._choice = QuestionSelection(self._choice.answers, self._choice.part)
                self._show_part()
                return
            case QuestionAction.ANSWER:
                self.hold(event.time, self._answer)
            case _:
                self._told = self._why_not(change)
        self._paint()

    def _why_never(self, key: str) -> str:
        """Returns why a key does nothing at all now; empty if it does something."""
        if key == SKIP and self._confirming is not None:
            return READ_ALL
        if key not in ANSWERING or self._choices.is_in_sight():
            return ""
        self._crowded = True
        return TOO_LOW

    def _why_not(self, deed: QuestionAction) -> str:
        """Returns what is missing for an answer; empty if nothing is."""
        unread = READ_TO_END if self._confirming is None else READ_ALL
        return {
            QuestionAction.UNREAD: unread,
            QuestionAction.EMPTY: EMPTY,
            QuestionAction.AGREE: CONFIRM_HINT,
        }.get(deed, "")

    def _worded(self, about: str, words: str | None) -> None:
        """Takes text as the answer to the question it was written for, and to no other."""
        if words is not None and words.strip():
            if self.is_over or self._pending is None or self._pending.id != about:
                self.terminal.restore_input(words)
            else:
                self._choice, self._written = choose(self._choice, (words,)), words
        self._paint(asked=True)

    # Answering.

    def _answer(self) -> None:
        pending = self._pending
        assert pending is not None, "only a question that is shown is answered"
        asked, clock = pending.inquiry.asked, self.terminal.engine.pending_questions.clock
        if self._confirming is not None:
            self._confirmed(pending)
            return
        answers = tuple(() if each == NO_ANSWER else each for each in self._choice.answers)
        first = asked.questions[0]
        consent = (
            read_permission_answer(first, answers) if is_permission(first) else PermissionAnswer()
        )
        self._grant, self._kept = "", answers
        if consent.reach:
            self._grant = clock.new_id()
            self._ask_again(grant_confirmation(asked, consent.reach, self._grant))
        elif consent.unconfined:
            about = {
                "header": WITHOUT_SANDBOX,
                "question": f"{first.question} {WITHOUT_SANDBOX_WARNING}",
            }
            self._ask_again(msgspec.structs.replace(first, options=YES_OR_NO, **about))
        else:
            self._send(pending, QuestionReply(answers, self._by()))

    def _ask_again(self, question: Question) -> None:
        """Asks for confirmation of an approval that covers more; all of it must be read first."""
        self._confirming = question
        self._choice = empty_selection((question,))
        self.query_one("#all", LineView).show(confirmation_sections(question))
        self._crowded = False
        self._paint(asked=True)

    def _confirmed(self, pending: PendingQuestion) -> None:
        """Sends an approval that covers more, once the user has confirmed everything it covers."""
        assert self._confirming is not None, "it is being confirmed"
        agreed = read_permission_answer(self._confirming, self._choice.answers).yes
        if not agreed:
            self._told = "Not confirmed; nothing was answered."
            self._begin()
            return
        always = pending.inquiry.asked.questions[0].always if self._grant else ()
        self._send(pending, QuestionReply(self._kept, self._by(), always, self._grant))

    def _send(self, pending: PendingQuestion, reply: QuestionReply) -> None:
        self._busy = True
        answer = self.terminal.engine.pending_questions.answer
        act = partial(answer, pending.id, pending.inquiry.asked.digest, reply)
        self.terminal.tasks.run("", act, partial(self._sent, pending), self._failed)

    def _sent(self, pending: PendingQuestion, _: object) -> None:
        """Continues: the thread that asked notices; without one, the session is driven again."""
        app = self.terminal
        app.session_controller.asker.wake()
        app.refresh_status()
        own = app.session_controller.record
        if (
            own is not None
            and own.session == pending.root.session
            and not app.session_controller.at_work
        ):
            app.session_controller.go_on()
        elif own is None or own.session != pending.root.session:
            app.add_note(f"Answered. Continue session {pending.root.slug} with /resume.")
        if self.is_attached:
            self._read()

    def _failed(self, error: AssentError) -> None:
        self._busy = False
        if self.is_attached:
            self._told = error_text(error)
            self._paint(asked=True)

    def _by(self) -> str:
        return f"{self.terminal.engine.pending_questions.user} (terminal)"

    # Drawing.

    def _paint(self, *, asked: bool = False) -> None:
        if not self.is_attached:
            return
        if asked:
            self.asks()
        self.query_one("#panel-title", Static).update(self._title())
        lines: list[Line] = [Line("said", self._told)] if self._told else []
        if self._questions:
            lines += self._options()
        self._choices.fill(lines)
        others = " · [ ] other questions" if len(self._waiting) > 1 else ""
        permits = any(question.by == "gate" for question in self._questions)
        self.query_one("#panel-keys", Static).update(f"{PERMIT if permits else KEYS}{others}")

    def _options(self) -> Sequence[Line]:
        """Returns the choices; if they do not fit, they are shown with the question instead."""
        options = list(option_lines(self._questions[self._choice.part], self._choice))
        paper, rows = self.query_one("#all", LineView), self._choices.rows_of(options)
        listed = any(sheet.key == OPTIONS for sheet in paper.sections)
        if not self._crowded and rows + FOOTER_ROWS <= self._choices.room:
            if listed:
                paper.renew([sheet for sheet in paper.sections if sheet.key != OPTIONS])
            return options
        paper.put(Section(OPTIONS, (BLANK, *options)))
        if not listed:  # what is read now ends with them
            self._choice = msgspec.structs.replace(self._choice, read=False)
        chosen = [line for line in options if line.style == "said"]
        return chosen or [Line("dim", f"{len(options)} choices at the end.")]

    def _title(self) -> str:
        pending = self._pending
        if pending is None:
            return "Reading…"
        many = len(self._waiting)
        count = f" · {self._place + 1} of {many} pending" if many > 1 else ""
        parts = len(pending.inquiry.asked.questions)
        part = f" · part {self._choice.part + 1} of {parts}" if parts > 1 else ""
        asked = pending.inquiry.asked
        what = "Permission" if is_permission(asked.questions[0]) else "The model asks"
        session = visible_line(pending.root.slug)
        return f"{what} · question {asked.digest[:12]} · session {session}{part}{count}"
