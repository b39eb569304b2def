"""Panels for comments on lines of a plan, notes with an approval, and feedback.

Feedback asks for a revision of the plan.
"""

from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final

from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.widget import Widget
from textual.widgets import Label, Static

from assent.core.errors import AssentError, StaleError
from assent.core.plan.comment import Comment, CommentAnchor, Feedback, PlacedComment, location_text
from assent.render.comments import is_suggested, listed_comment_lines
from assent.render.lines import GUTTER, Line
from assent.tui.line_view import LineView, Section
from assent.tui.panels.approval.review import error_line, reject_options, reject_plan
from assent.tui.panels.panel import Panel
from assent.tui.panels.text_input import TextInputArea, TextInputPanel, hidden_chars_text
from assent.tui.result_messages import feedback_sent_lines

if TYPE_CHECKING:
    from collections.abc import Callable

    from assent.app.engine import Engine
    from assent.tui.panels.approval.review import DisplayedPlan

PARTS: Final = {
    "notes": "What should change?",
    "scope": "Scope: what should the plan cover, and what not?",
    "constraints": "Constraints: what must the plan respect?",
    "priorities": "Priorities: what matters most?",
}
EMPTY: Final = "Nothing was sent: enter feedback or comment on a line first."
SENT: Final = "Feedback sent; the plan is a draft again."
SENT_ALL: Final = "Feedback sent; all options are drafts again."
SEND_ALL: Final = "Ctrl+A send to all · "
TOO_SOON: Final = "Too fast: nothing was sent. Enter sends it."
LATER: Final = "Its session is not open here; the model gets this when it continues."


class FeedbackPanel(Panel[str]):
    """Takes feedback; its result is "sent" when it is recorded, and the model revises the plan.

    In every case, `feedback` is what was written; a `refusal` says why it was not sent.
    """

    DEFAULT_CSS = """
    FeedbackPanel #form { height: 1fr; }
    FeedbackPanel TextArea {
        height: auto; min-height: 1; max-height: 8; padding: 0 1;
        border: none; border-left: thick $primary;
    }
    FeedbackPanel TextArea:focus { border: none; border-left: thick $accent; }
    FeedbackPanel #notes { min-height: 3; }
    FeedbackPanel Label { margin: 0; }
    FeedbackPanel #form { margin: 1 0 0 0; }
    FeedbackPanel #comments { height: auto; max-height: 40%; margin: 1 0 0 0; }
    FeedbackPanel #told { height: auto; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+a", "send_all", "Send to all options"),
    ]
    heading = "Feedback"
    keys = "Enter send · Ctrl+J new line · Tab next field · Esc back"

    def __init__(self, reading: "DisplayedPlan", written: Feedback) -> None:
        super().__init__()
        self._reading = reading
        self._record, self._listed = reading.record, reading.review.comments
        self._comments = [each for each in self._listed if not is_suggested(each)]  # that are sent
        if reading.options:
            self.keys = f"{SEND_ALL}{type(self).keys}"
        self._sent_text = SENT
        self._sending = False
        self._unsent: Feedback | None = None  # what an Enter that came too soon did not send
        self.feedback = written
        self.refusal: StaleError | None = None

    def body(self) -> list[Widget]:
        fields: list[Widget] = []
        for name, words in PARTS.items():
            sends = {"enter": self._entered, "ctrl+a": self.action_send_all}
            area = TextInputArea(sends, getattr(self.feedback, name), name)
            fields += [Label(words, markup=False), area]
        paper = LineView(id="comments")
        paper.can_focus = False
        paper.display = bool(self._comments)
        told = Static(id="told", markup=False)
        return [VerticalScroll(*fields, id="form", can_focus=False), paper, told]

    def on_mount(self) -> None:
        paper = self.query_one("#comments", LineView)
        lines = tuple(listed_comment_lines(self._listed, suggested=False))
        paper.styles.height = min(len(lines), 12)
        paper.show([Section("comments", lines)])
        self.query_one("#notes").focus()

    def on_text_area_changed(self) -> None:
        hidden = hidden_chars_text("".join([area.text for area in self.query(TextInputArea)]))
        unsent = TOO_SOON if self._written() == self._unsent else ""  # a late message about it
        self._tell(hidden or unsent)

    def action_leave(self) -> None:
        self.feedback = self._written()
        super().action_leave()

    def _entered(self) -> None:
        """Sends (Enter), unless the words may be a sentence that was typed when this opened."""
        if any(area.paused for area in self.query(TextInputArea)):
            self.action_send()
        else:
            self._unsent = self._written()
            self._tell(TOO_SOON)

    def action_send_all(self) -> None:
        """Sends the same feedback to all options; nothing where there is one plan."""
        if self._reading.options:
            self._send(reject_options, SENT_ALL)

    def action_send(self) -> None:
        """Sends everything as one request, once; empty feedback is not sent."""
        self._send(reject_plan, SENT)

    def _send(self, verb: "Callable[[Engine, DisplayedPlan, Feedback], object]", sent: str) -> None:
        feedback = self._written()
        if self._sending:
            return
        if not feedback.text().strip() and not self._comments:
            self._tell(EMPTY)
            return
        self._sending, self.feedback, self._sent_text = True, feedback, sent
        act = partial(verb, self.terminal.engine, self._reading, feedback)
        self.terminal.tasks.run("", act, self._sent, self._failed)

    def _sent(self, _: object) -> None:
        """Continues the session, so that the model reads the feedback and revises the plan."""
        app, session = self.terminal, self._record.session
        app.add_note(*feedback_sent_lines(self.feedback, len(self._comments)))
        app.add_note(self._sent_text)
        self.dismiss("sent")
        current = app.session_controller.record
        if current is not None and self._record.plan_id in (current.plan_id, *current.others):
            app.session_controller.go_on()
        elif session:
            app.add_note(LATER)

    def _failed(self, error: AssentError) -> None:
        """Shows why it was not sent; if the plan has changed, the new one is shown instead."""
        self._sending = False
        if not self.is_attached:
            return
        if isinstance(error, StaleError):
            self.feedback, self.refusal = self._written(), error
            self.dismiss(None)
        else:
            self._tell(error_line(error))

    def _written(self) -> Feedback:
        texts = {name: self.query_one(f"#{name}", TextInputArea).text for name in PARTS}
        return Feedback(**{name: text for name, text in texts.items() if text.strip()})

    def _tell(self, words: str) -> None:
        self.query_one("#told", Static).update(words)


# The panels for a comment on a line, and for a note with an approval.


NOTE = "Sent with your approval and added to the next plan."
EMPTY_COMMENT = "Clear the text to delete the comment."


def comment_panel(anchor: CommentAnchor, was: PlacedComment | None) -> TextInputPanel:
    """Returns the panel for a comment on some lines, with their earlier comment."""
    place = was or PlacedComment(_nobody(anchor), anchor, "here")
    quote = [Line("dim", GUTTER + line) for line in anchor.quote]
    about = [*quote, Line("plain", EMPTY_COMMENT)] if was else quote
    return TextInputPanel(
        f"Comment on {location_text(place)}", about, was.comment.text if was else ""
    )


def note_panel(note: str) -> TextInputPanel:
    """Returns the panel for the note of an approval."""
    return TextInputPanel("Note on the plan", [Line("plain", NOTE)], note)


def _nobody(anchor: CommentAnchor) -> Comment:
    return Comment("", anchor, "", "", "", "")
