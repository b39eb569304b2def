"""The question block: shows what waits for an answer below the conversation, and takes it.

Questions are shown one at a time, those of child sessions included; the conversation stays in
sight, and the prompt can be typed in meanwhile.
"""

from collections.abc import Sequence
from functools import partial
from math import inf
from typing import ClassVar, Final, cast

import msgspec
from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.events import Focus, Key, Paste, Resize
from textual.message import Message
from textual.widgets import Static

from assent.core.errors import AssentError
from assent.core.permission.rule import PermissionPattern
from assent.core.session.event import Question
from assent.core.session.question import PendingQuestion, QuestionReply
from assent.permissions.grants import parse_edited_pattern, wider_pattern
from assent.render.lines import Line, Style
from assent.tui.context import AppContext
from assent.tui.hints import error_text
from assent.tui.keys import CONFIRM_KEY, TOO_QUICK, KeyDebounce
from assent.tui.line_view import LinePosition, LineView, Section
from assent.tui.panels.panel import AnswerDelay
from assent.tui.panels.question.state import (
    CALL,
    CONFIRMING,
    ENTER,
    IN_FIELD,
    NO_ANSWER,
    OPTIONS,
    QuestionAction,
    QuestionStage,
    QuestionState,
    back_to_reading,
    begin_question,
    choose,
    confirm_keys,
    handle_question_key,
    keys_line,
    next_part,
    no_pattern_text,
    question_sections,
    question_title,
    remembered_text,
    step_back,
    takes_two_steps,
)
from assent.tui.panels.text_input import TextInputArea, hidden_chars_text
from assent.tui.sections import wrapped_line
from assent.tui.theme import chosen_theme, style_in_theme

POLL_S: Final = 1.0
KEPT_ROWS: Final = 4  # of the conversation, which stay in sight
LEAST_ROWS: Final = 3  # of the question
SIDE_COLUMNS: Final = 3  # next to the text: the padding, and the scroll bar
FIELD_ROWS: Final = 2
SCROLLS: Final = {
    "up": "scroll_up", "k": "scroll_up", "down": "scroll_down", "j": "scroll_down",
    "pageup": "page_up", "pagedown": "page_down", "home": "scroll_home", "end": "scroll_end",
}  # fmt: skip
LIST_KEYS: Final = ("up", "down")  # what moves in a list instead
TO_PROMPT: Final = ("tab", "shift+tab")
TURNS: Final = {"left_square_bracket": -1, "right_square_bracket": 1}

UNREAD: Final = "There is more below: End or PgDn shows it, s skips it."
EMPTY: Final = "Choose an option first: ↑ ↓ or its number, then Enter."
TOO_LOW: Final = "It does not fit; make the terminal larger."
HIGH_RISK: Final = "High risk. Ctrl+Y allows it once."
ASK_TWICE: Final = "Ctrl+Y confirms."
UNCONFINED_RISK: Final = "Without the sandbox it can change anything you can. Ctrl+Y runs it once."
NO_PATTERN: Final = "No pattern to edit here: {}. a remembers what was asked."
GONE: Final = "This question was answered elsewhere. Enter keeps your text in the prompt."
KEYS_GO_HERE: Final = "Keys go to this question: ? lists them, Tab goes to the prompt."
ANSWERED_ELSEWHERE: Final = "That question was answered elsewhere or is no longer open."
SAY_WHY: Final = "No, because:"
YOUR_ANSWER: Final = "Your answer:"


class AnswerField(TextInputArea):
    """The field for words or a pattern, which tells the block about each of its keys."""

    detects_bursts = False  # the block delays answers by itself

    def __init__(self, block: "InlineQuestion") -> None:
        acts = {
            "enter": block.entered,
            "ctrl+y": block.confirmed,
            "escape": block.field_left,
            "tab": lambda: None,
        }
        super().__init__(acts, "", "ask-field")
        self._block = block

    async def on_key(self, event: Key) -> None:
        if self._block.note_key(event):
            event.stop()
            event.prevent_default()


class InlineQuestion(AnswerDelay, Vertical, can_focus=True):
    """Shows a question below the conversation; it gets keys only while it has the focus.

    Keys count once it was painted and typing has paused, and an answer with quiet around it.
    """

    DEFAULT_CSS = """
    InlineQuestion {
        display: none; height: auto; padding: 0 1; border-top: solid $primary-darken-1;
        border-title-color: $text-muted;
    }
    InlineQuestion.open { display: block; }
    InlineQuestion.keyed { border-top: heavy $accent; border-title-color: $text; }
    InlineQuestion.later > * { display: none; }
    InlineQuestion.later > #ask-keys { display: block; }
    InlineQuestion > Static { height: auto; }
    InlineQuestion > #ask-keys { color: $text-muted; }
    InlineQuestion > #ask-told { display: none; }
    InlineQuestion > #ask-told.open { display: block; }
    InlineQuestion > TextArea {
        display: none; height: auto; min-height: 1; max-height: 4; padding: 0 1;
        border: none; border-left: thick $accent;
    }
    InlineQuestion > TextArea:focus { border: none; border-left: thick $accent; }
    InlineQuestion > TextArea.open { display: block; }
    """
    BINDINGS: ClassVar = []

    def __init__(self) -> None:
        super().__init__()
        self.id = "question-block"
        self.ready_at = inf
        self.silence = KeyDebounce()
        self._waiting: list[PendingQuestion] = []
        self._place = 0
        self._state = QuestionState(())
        self._patterns: tuple[PermissionPattern, ...] = ()  # that a remembered answer covers
        self._grant = ""
        self._told = ""
        self._busy = False
        self._wanted = ""  # the question to show first
        self._all = False  # the user asked for those of other sessions, too
        self._gone = False  # it was answered elsewhere while words for it are written
        self._opened = False  # the field was just opened
        self._refused = ""  # the pattern that was not sent, and why is told
        self._at = 0.0  # when a key of the field came

    # What others may ask of it.

    @property
    def terminal(self) -> AppContext:
        """The app that it is part of."""
        return cast(AppContext, self.app)

    @property
    def is_open(self) -> bool:
        """Whether a question is shown."""
        return self.has_class("open")

    @property
    def is_keyed(self) -> bool:
        """Whether keys go to the question."""
        focused = self.screen.focused if self.is_attached else None
        return focused is not None and self in focused.ancestors_with_self

    @property
    def listening(self) -> bool:
        """Whether the question is on the screen, so that keys count."""
        return super().listening and not self._busy

    @property
    def shown(self) -> PendingQuestion | None:
        """The question that is shown."""
        return self._waiting[self._place] if self._waiting else None

    @property
    def waiting(self) -> Sequence[PendingQuestion]:
        """The open questions, in the order in which they are shown."""
        return self._waiting

    @property
    def state(self) -> QuestionState:
        """What the user is doing with the question that is shown."""
        return self._state

    @property
    def told(self) -> str:
        """What was said about the last key; empty if nothing."""
        return self._told

    def look(self, reference: str = "", *, everything: bool = False) -> None:
        """Reads what waits; `reference` is shown first, `everything` includes other sessions."""
        self._wanted = reference or self._wanted
        self._all = self._all or everything
        if self._busy:
            return
        self._busy = not self._waiting
        pending = self.terminal.engine.pending_questions.pending
        self.terminal.tasks.run("", pending, self._looked, self._failed)

    def take_keyboard(self) -> None:
        """Has keys go to the question, once it was painted and typing has paused."""
        self.ready_at = inf
        self.remove_class("later")
        if self.is_keyed:
            self._debounce()
        else:
            self.focus()  # which debounces, too

    def leave_keyboard(self) -> None:
        """Has keys go to the prompt; nothing is decided."""
        self.forget()
        if self._state.stage is not QuestionStage.READING:
            self._close_field()
            self._state = back_to_reading(self._state)
        self._told = ""
        self.terminal.prompt.focus_text()
        self._paint()

    def covered(self) -> None:
        """Called when a panel opens over it: what is typed next is for that."""
        self.forget()
        self.ready_at = inf

    # Reading what waits.

    def compose(self) -> ComposeResult:
        yield LineView(id="ask-text")
        yield Static(id="ask-told", markup=False)
        yield AnswerField(self)
        yield Static(id="ask-keys", markup=False)

    def on_mount(self) -> None:
        self._text.can_focus = False
        self._field.can_focus = False
        self.set_interval(POLL_S, self._poll)

    def _poll(self) -> None:
        if self.is_open and not self._busy:
            self.look()

    def _looked(self, found: Sequence[PendingQuestion]) -> None:
        """Shows what waits now; what the user reads stays unless it is over."""
        if not self.is_attached:
            return
        self._busy = False
        record = self.terminal.session_controller.record
        mine = record.session if record else ""
        waiting = [one for one in found if self._all or not mine or one.root.session == mine]
        waiting.sort(key=lambda one: one.root.session != mine)
        shown, wanted = self.shown, self._wanted
        ids = [one.id for one in waiting]
        if shown is not None and shown.id in ids and wanted in ("", shown.id):
            if ids != [one.id for one in self._waiting]:
                self._waiting, self._place = waiting, ids.index(shown.id)
                self._paint()
            self._wanted = ""
            return
        if shown is not None and self._state.stage is QuestionStage.WRITING:
            self._gone, self._told = True, GONE
            self._paint()
            return
        self._begin_with(waiting, ids.index(wanted) if wanted in ids else 0)
        if shown is not None and shown.id not in ids:
            self._told = ANSWERED_ELSEWHERE
            self._paint()

    def _begin_with(self, waiting: Sequence[PendingQuestion], place: int = 0) -> None:
        self._waiting, self._place, self._wanted = list(waiting), place, ""
        if self._waiting:
            self._begin()
        else:
            self._close()

    def _close(self) -> None:
        """Hides the block; keys still typed for it go nowhere else."""
        keyed = self.is_keyed
        self.forget()
        self._close_field()
        self.remove_class("open", "later")
        self._all = self._gone = False
        if keyed:
            self.terminal.question_closed()
            self.terminal.prompt.focus_text()

    def _begin(self) -> None:
        """Shows the current question from its beginning, with nothing chosen."""
        self.forget()
        self._close_field()
        self._gone = False
        self._told = ""
        self._state = begin_question(self._questions)
        self.add_class("open")
        self._show_part()
        if self.is_keyed:
            self.take_keyboard()

    def _show_part(self) -> None:
        self._text.show(self._sections())
        self._paint(asked=True)

    # Keys.

    def on_focus(self, event: Focus) -> None:
        self.remove_class("later")
        self._debounce()

    def on_descendant_focus(self) -> None:
        self._paint()

    def on_blur(self) -> None:
        self._cancel_held()
        self._paint()

    def _cancel_held(self) -> None:
        """Cancels an answer that waits: what is typed now is not seen here, or it moved."""
        if self.pace.has_pending:
            self.forget()
            self.cancel_question()

    def _debounce(self) -> None:
        self.ready_at = inf
        self._paint(asked=True)
        self.call_after_refresh(self._shown)

    def _shown(self) -> None:
        now = Message().time
        self.ready_at = now
        self.silence = KeyDebounce(self.terminal.quiet_s, max(self.terminal.typed_at, now))

    async def on_key(self, event: Key) -> None:
        event.stop()
        event.prevent_default()
        if self._state.stage in IN_FIELD:
            if not self._field.has_focus and not self.note_key(event):
                self._field.focus()  # a click elsewhere took the keys away
            return
        if event.key == "escape":
            self._escape()
        elif event.time < self.ready_at or self.silence.breaks(event.time, event.key):
            self._say_where_keys_go(event)
        elif event.key in TO_PROMPT:
            self.leave_keyboard()
        else:
            self._heard(event)

    def _heard(self, event: Key) -> None:
        if not self.listening or self.shown is None:
            return
        self._at = event.time
        if self.is_overtaken(event.time):
            return
        if self._scrolls(event.key):
            if self.pace.is_early(event.time) or self.pace.note(event.time):
                return
            self._told = ""
            self._paint()
            return
        if self._text.reached_end:  # the message about it may still be on its way
            self._state = msgspec.structs.replace(self._state, read=True)
        after, action = handle_question_key(self._state, event.key, self._questions)
        answers = action is QuestionAction.ANSWER or after.stage is not self._state.stage
        answers = answers or action is QuestionAction.NEXT_PART
        if self.is_hasty(event.time, answers=answers or self.has_open_question):
            return
        self._press(event, after, action)
        nothing = action in (QuestionAction.NOTHING, QuestionAction.NO_PATTERN)
        means_nothing = nothing and event.key not in TURNS
        if means_nothing and event.is_printable and not self.has_open_question:
            # Words are being typed: no later letter of them answers.
            self.silence = KeyDebounce(self.terminal.quiet_s, event.time)
            self._say_where_keys_go(event)

    def _say_where_keys_go(self, event: Key) -> None:
        """Says why a letter does nothing here, rather than dropping what is typed unnoticed."""
        if event.is_printable and not self._told and self._state.stage is QuestionStage.READING:
            self._told = KEYS_GO_HERE
            self._paint()

    def _scrolls(self, key: str) -> bool:
        """Scrolls the question; tells whether a key does that."""
        listed = self._question.by != "gate" and bool(self._question.options)
        if key not in SCROLLS or (listed and key in LIST_KEYS):
            return False
        getattr(self._text, f"action_{SCROLLS[key]}")()
        return True

    def _press(self, event: Key, after: QuestionState, action: QuestionAction) -> None:
        if event.key in TURNS:
            self._turn(TURNS[event.key])
            return
        self._told = ""
        decides = action in (QuestionAction.ANSWER, QuestionAction.NEXT_PART)
        if decides and not self._in_sight():
            self._told = TOO_LOW
            self._paint()
            return
        match action:
            case QuestionAction.ANSWER:
                self.hold(event.time, partial(self._answer, after))
                return
            case QuestionAction.NEXT_PART:
                self.hold(event.time, partial(self._next, after))
                return
            case QuestionAction.UNREAD:
                self._told = UNREAD
            case QuestionAction.EMPTY:
                self._told = EMPTY
            case QuestionAction.NO_PATTERN:
                self._told = NO_PATTERN.format(no_pattern_text(self._question))
            case QuestionAction.OPEN_FIELD:
                self._open_field(after)
                return
            case QuestionAction.NOTHING:
                pass
            case QuestionAction.CHANGED:
                asked = after.stage is not self._state.stage
                self._set(after)
                self._paint(asked=asked)
                return
        self._paint()

    def _set(self, after: QuestionState) -> None:
        """Changes the state, and what of the question depends on it."""
        before, self._state = self._state, after
        if after.stage is QuestionStage.REMEMBERING:
            self._remember(self._always)
        if (before.cursor, before.answers, before.raw) != (after.cursor, after.answers, after.raw):
            self._text.renew(self._sections())
            if after.cursor == len(self._question.options) - 1 and not after.raw:
                self._text.action_scroll_end()
            elif after.cursor >= 0:
                self._text.bring(LinePosition(OPTIONS, after.cursor))
            if after.raw and not before.raw:
                self._text.reveal(LinePosition(CALL, 0))

    @property
    def has_open_question(self) -> bool:
        """Whether something is asked or chosen, so that a key would answer with it."""
        chosen = any(self._state.answers[self._state.part :])
        return self._state.stage in CONFIRMING or (chosen and not self._gone)

    def interrupted(self) -> bool:
        """Cancels what would answer, and leaves the field; tells whether there was any (Ctrl+C)."""
        if self._state.stage not in IN_FIELD:
            return super().interrupted()
        self.forget()
        self.field_left()
        return True

    def cancel_question(self, why: str = TOO_QUICK) -> None:
        """Goes back to reading; what is written stays."""
        self._told = why
        if self._state.stage not in IN_FIELD:
            self._set(back_to_reading(self._state))
        self._paint(asked=True)

    def on_paste(self, event: Paste) -> None:
        event.stop()  # what is pasted answers nothing

    def on_line_view_end_reached(self, event: LineView.EndReached) -> None:
        event.stop()
        if self._text.reached_end and not self.has_class("later"):
            self._state = msgspec.structs.replace(self._state, read=True)

    def on_line_view_wrapped(self, event: LineView.Wrapped) -> None:
        event.stop()
        self._paint()  # it may need more rows

    def on_resize(self, event: Resize) -> None:
        if self.is_open and self._waiting:
            self._cancel_held()
            self.asks()
            self.call_after_refresh(self._paint)

    def _escape(self) -> None:
        if self.pace.has_pending or self._state.stage in CONFIRMING:
            self.forget()
            self._set(back_to_reading(self._state))
            self._told = ""
            self._paint(asked=True)
            return
        back = step_back(self._state)
        if back is not None:
            self._told = ""
            self._set(back)
            self._paint()
            return
        self.add_class("later")
        self.leave_keyboard()

    def _turn(self, way: int) -> None:
        """Shows another open question."""
        if len(self._waiting) > 1 and self._state.stage is QuestionStage.READING:
            self._place = (self._place + way) % len(self._waiting)
            self._begin()

    # The field for words, or for a pattern.

    def _open_field(self, after: QuestionState) -> None:
        words = ""
        if after.stage is QuestionStage.EDITING:
            pattern = wider_pattern(self._always)
            assert pattern is not None, "the key is for what can be edited"
            words = pattern.pattern
            self._remember((pattern,))
        self._set(after)
        field = self._field
        field.load_text(words)
        field.move_cursor(field.document.end)
        field.can_focus = True
        field.add_class("open")
        field.focus()
        self._opened = True
        self._paint(asked=True)

    def _close_field(self) -> None:
        if self._field.has_class("open"):
            keyed = self._field.has_focus
            self._field.remove_class("open")
            self._field.can_focus = False
            self._field.load_text("")
            if keyed:
                self.focus()

    def on_text_area_changed(self) -> None:
        hidden = hidden_chars_text(self._field.text)
        if self._state.stage is QuestionStage.EDITING:
            if self._field.text != self._refused:
                self._told = ""  # it was about another text
            self._paint()
        elif hidden or (self._told and not self._gone):
            self._told = hidden
            self._paint()

    def field_left(self) -> None:
        """Closes the field (Esc); words for a question that is over go to the prompt."""
        if self._gone:
            self._words_kept()
            return
        self._close_field()
        self._set(back_to_reading(self._state))
        self._told = ""
        self._paint(asked=True)

    def _words_kept(self) -> None:
        words = self._field.text.strip("\n")
        self._gone = False
        if words.strip():
            self.terminal.restore_input(words)
        self._state = back_to_reading(self._state)
        self._close_field()
        self._begin_with(())
        self.look()

    def note_key(self, event: Key) -> bool:
        """Takes the time of a key of the field; tells whether the key does nothing else."""
        if self._state.stage not in IN_FIELD:
            return True
        if self._opened and event.time < self._at + self.terminal.burst_s:
            self._opened = False  # the key that opened the field is part of what was pasted
            self.pace.cancel()
            self.field_left()
            self._told = TOO_QUICK
            self._paint()
            return True
        self._opened, self._at = False, event.time
        if self.is_overtaken(event.time):
            return True
        if event.key not in (ENTER, CONFIRM_KEY):
            self.pace.note(event.time)
        return False

    def entered(self) -> None:
        """Sends what is in the field (Enter), unless another key follows at once."""
        if self._gone:
            self._words_kept()
        elif self._state.stage is QuestionStage.WRITING:
            self.hold(self._at, self._send_words)
        elif ENTER in confirm_keys(self._state, self._question):
            self._send_pattern()

    def confirmed(self) -> None:
        """Confirms the pattern in the field (Ctrl+Y)."""
        if self._state.stage is QuestionStage.EDITING:
            self._send_pattern()

    def _send_words(self) -> None:
        words = self._field.text.strip("\n")
        if not words.strip():
            self.field_left()
            return
        answered = choose(self._state, (words,))
        if self._question.by == "gate":
            self._answer(answered)
            return
        if not self._state.read:
            self._told = UNREAD
            self._paint()
            return
        after, action = next_part(answered, self._questions)
        self._close_field()
        if action is QuestionAction.NEXT_PART:
            self._next(after)
        else:
            self._answer(after)

    def _send_pattern(self) -> None:
        """Sends an answer that is remembered for the pattern in the field."""
        self._refused = self._field.text
        if self.pace.is_quick(self._at):
            self._told = TOO_QUICK
            self._paint()
            return
        if not self._in_sight():
            self._told = TOO_LOW
            self._paint()
            return
        try:
            self._patterns = (parse_edited_pattern(self._always, self._field.text),)
        except AssentError:
            self._told = ""  # why it is refused is shown as long as it would be
            self._paint()
            return
        self.hold(self._at, partial(self._answer, self._state))

    def _remember(self, patterns: tuple[PermissionPattern, ...]) -> None:
        self._patterns = patterns
        self._grant = self.terminal.engine.pending_questions.clock.new_id()

    # Answering.

    def _next(self, after: QuestionState) -> None:
        self._state = after
        self._told = ""
        self._show_part()

    def _answer(self, answered: QuestionState) -> None:
        """Sends the answer to the question that was shown, under its digest."""
        pending = self.shown
        if pending is None or self._busy:
            return
        answers = tuple(() if each == NO_ANSWER else each for each in answered.answers)
        by = f"{self.terminal.engine.pending_questions.user} (terminal)"
        reply = QuestionReply(answers, by)
        if answered.reach is not None:
            reply = QuestionReply(answers, by, self._patterns, self._grant)
        self._busy = True
        answer = self.terminal.engine.pending_questions.answer
        act = partial(answer, pending.id, pending.inquiry.asked.digest, reply)
        self.terminal.tasks.run("", act, partial(self._sent, pending), self._failed)

    def _sent(self, pending: PendingQuestion, _: object) -> None:
        """Continues: the thread that asked notices; without one, the session is driven again."""
        app = self.terminal
        self._busy = False
        app.session_controller.asker.wake()
        app.refresh_status()
        own = app.session_controller.record
        mine = own is not None and own.session == pending.root.session
        if mine and not app.session_controller.at_work:
            app.session_controller.go_on()
        elif not mine:
            app.add_note(f"Answered. Continue session {pending.root.slug} with /resume.")
        if self.is_attached:
            self._close_field()
            self._state = begin_question(self._questions)
            self._begin_with([one for one in self._waiting if one.id != pending.id])
            self.look()

    def _failed(self, error: AssentError) -> None:
        self._busy = False
        if self.is_attached and self.is_open:
            self._told = error_text(error)
            self._paint(asked=True)

    # Drawing.

    @property
    def _questions(self) -> tuple[Question, ...]:
        return self.shown.inquiry.asked.questions if self.shown else ()

    @property
    def _question(self) -> Question:
        return self._questions[self._state.part]

    @property
    def _always(self) -> tuple[PermissionPattern, ...]:
        return self._questions[0].always

    @property
    def _text(self) -> LineView:
        return self.query_one("#ask-text", LineView)

    @property
    def _field(self) -> TextInputArea:
        return self.query_one("#ask-field", TextInputArea)

    def _sections(self) -> Sequence[Section]:
        pending, own = self.shown, self.terminal.session_controller.record
        assert pending is not None, "a question is shown"
        now = self.terminal.engine.pending_questions.clock.now()
        return question_sections(pending, self._state, now, own.session if own else "")

    def _paint(self, *, asked: bool = False) -> None:
        """Draws everything but the question; keys count once what is asked is on the screen."""
        pending = self.shown
        if not self.is_attached or pending is None:
            return
        if asked:
            self.asks()
        many = len(self._waiting)
        self.set_class(self.is_keyed, "keyed")
        self.border_title = question_title(pending, self._state.part, self._place, many)
        told = [Line("said", self._told)] if self._told else []
        told += self._confirmation(pending)
        self._fill("#ask-told", told)
        self.query_one("#ask-told").set_class(bool(told), "open")
        keys = keys_line(self._question, self._state, keyed=self.is_keyed, others=many > 1)
        self._fill("#ask-keys", [Line("dim", keys)])
        self._fit(told)
        self.call_after_refresh(self._fit, told)

    def _confirmation(self, pending: PendingQuestion) -> list[Line]:
        """Returns what a key would confirm now."""
        match self._state.stage:
            case QuestionStage.TWICE:
                known = (self._question.risk or ("",))[0] == "high"
                return [Line("risk", HIGH_RISK if known else ASK_TWICE)]
            case QuestionStage.UNCONFINED:
                return [Line("risk", UNCONFINED_RISK)]
            case QuestionStage.WRITING if not self._gone:
                gate = self._question.by == "gate"
                return [Line("heading", SAY_WHY if gate else YOUR_ANSWER)]
            case QuestionStage.REMEMBERING | QuestionStage.EDITING:
                asked, patterns = pending.inquiry.asked, self._patterns
                if self._state.stage is QuestionStage.EDITING:
                    try:
                        patterns = (parse_edited_pattern(self._always, self._field.text),)
                    except AssentError as error:
                        return [Line("risk", error.message)]
                reach = self._state.reach
                assert reach is not None, "it was asked how far"
                style: Style = "risk" if takes_two_steps(self._question) else "heading"
                return [Line(style, remembered_text(asked, reach, patterns))]
            case _:
                return []

    def _fit(self, told: Sequence[Line]) -> None:
        """Gives the question the rows that it needs, and leaves some to the conversation."""
        if not self.is_attached or not self.is_open:
            return
        width = max(self.size.width - SIDE_COLUMNS, 20)
        below = sum(len(wrapped_line(line, width)) for line in told) + 2
        below += FIELD_ROWS if self._field.has_class("open") else 0
        screen = self.screen.size.height
        prompt = self.terminal.prompt.size.height or 1
        room = screen - KEPT_ROWS - below - prompt - 2
        rows = self._text.rows or LEAST_ROWS
        height = max(min(rows, room), min(rows, LEAST_ROWS))
        if self._text.styles.height is None or self._text.styles.height.value != height:
            self._text.styles.height = height
            self.asks()  # what is painted with that height is what counts

    def _in_sight(self) -> bool:
        """Tells whether what is asked and the keys are wholly visible, however small the screen."""
        for name in ("#ask-told", "#ask-keys"):
            widget = self.query_one(name)
            if not widget.display:
                continue
            place = self.screen.find_widget(widget)
            whole = place.visible_region == place.region and place.region.height > 0
            if not whole or place.region.bottom > self.screen.size.height:
                return False
        return True

    def _fill(self, zone: str, lines: Sequence[Line]) -> None:
        theme = chosen_theme(self.app.theme)
        texts = [Text(line.text, style_in_theme(theme, line.style)) for line in lines]
        self.query_one(zone, Static).update(Text("\n").join(texts))
