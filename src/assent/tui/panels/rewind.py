"""The rewind panel: earlier messages of the person, to go back to before one of them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from assent.core.errors import NotFound
from assent.core.session.record import SessionRecord
from assent.core.session.rewind import UserMessage
from assent.core.text.hidden_chars import visible_line
from assent.core.text.secrets import redact
from assent.render.lines import BLANK, Line, local_time, untrusted_lines
from assent.tui.panels.confirm import ConfirmPanel
from assent.tui.panels.picker import Picker, PickerRow

if TYPE_CHECKING:
    from assent.agent.rewind import RewindPreview

MODEL_FORGETS = "The model forgets this and all after it."
MAX_MESSAGE_CHARS = 40  # letters of what was said, in the question
FILES_STAY = "Plan and files stay as they are, and nothing is removed from the log."


class RewindPanel(Picker):
    """Rewinds after a confirmation; the message is in the prompt again (F148)."""

    heading = "Go back to before something you said"
    keys = "Enter go back: the model forgets this and all after it · PgUp PgDn page · Esc close"
    nothing = "There is nothing here that the session could go back to."
    previews = True

    def __init__(self, record: SessionRecord) -> None:
        super().__init__()
        self._record = record

    def rows(self) -> Sequence[PickerRow]:
        spoken = self.terminal.engine.sessions.messages(self._record)
        return [_message_row(each) for each in reversed(spoken)]

    def preview(self, row: PickerRow) -> Sequence[Line]:
        sessions = self.terminal.engine.sessions
        record = sessions.load(self._record.session)  # turns may have come since it was read
        spoken = sessions.user_message(record, row.key)
        since = sessions.since(record, row.key)
        return [
            *untrusted_lines(redact(spoken.text)),
            BLANK,
            *changes_since_lines(since),
            Line("dim", FILES_STAY),
        ]

    def chosen(self, row: PickerRow) -> None:
        """Says what was done since, and asks once more."""
        sessions, record = self.terminal.engine.sessions, self._record

        def asked(since: object) -> None:
            if not self.is_active:
                return  # Enter was pressed twice
            about = [
                Line("plain", MODEL_FORGETS),
                Line("dim", FILES_STAY),
                *changes_since_lines(cast("RewindPreview", since)),
            ]
            panel = ConfirmPanel(
                f"Go back to before: {row.cells[-1][:MAX_MESSAGE_CHARS]}?", about, "go back"
            )
            self.terminal.open_panel(panel, lambda yes: self._go_back(row) if yes else None)

        self.in_thread(
            "Reading", lambda: sessions.since(sessions.load(record.session), row.key), asked
        )

    def _go_back(self, row: PickerRow) -> None:
        app, sessions, record = self.terminal, self.terminal.engine.sessions, self._record

        def back() -> object:
            current = sessions.load(record.session)
            spoken = sessions.user_message(current, row.key)
            since = sessions.since(current, row.key)
            return sessions.rewind(current, spoken.id), spoken, since

        def went(found: object) -> None:
            left, spoken, since = cast("tuple[SessionRecord, UserMessage, RewindPreview]", found)
            self.dismiss(row.key)
            app.open_session(left)
            app.prompt.load(spoken.text)
            app.deferred.add_note(Line("heading", "You went back."), *changes_since_lines(since))

        self.in_thread("Going back", back, went)


def changes_since_lines(since: "RewindPreview") -> list[Line]:
    """Says what was done since a message, and what takes it back."""
    count = len(since.turns)
    turns = Line("plain", f"{count} turn{'' if count == 1 else 's'} came since.")
    lines = [turns] if count else []
    if not since.runs:
        return [*lines, Line("plain", "No files were changed by runs since.")]
    names = [Line("plain", f"  /undo {visible_line(run)}") for run in since.runs]
    return [*lines, Line("risk", "Files were changed since; these take it back:"), *names]


def _message_row(spoken: UserMessage) -> PickerRow:
    words = visible_line(" ".join(redact(spoken.text).split()))
    return PickerRow(spoken.id, (local_time(spoken.at), f"turn {spoken.turn}", words))


def require_session(record: SessionRecord | None) -> SessionRecord:
    """Returns the session, or says that there is none to go back in."""
    if record is None:
        raise NotFound("Nothing was said here yet, so there is nothing to go back to.")
    return record
