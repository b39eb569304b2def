"""The session list: resume, fork, rename or delete a session; and the rewind panel.

A rewind goes back to before an earlier message.
"""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar, cast

from assent.core.errors import NotFound
from assent.core.session.record import SessionRecord
from assent.core.session.transcript import UserMessage
from assent.core.text.hidden_chars import visible_line
from assent.core.text.secrets import redact
from assent.render.lines import BLANK, Line, untrusted_lines
from assent.render.rows import session_row, session_state, session_title
from assent.render.sessions import session_lines, transcript_lines, with_children
from assent.tui.hints import lines_with_screen_commands
from assent.tui.panels.approval.review import TERMINAL, with_short_digest
from assent.tui.panels.approval.state import ApprovalStage, ApprovalState
from assent.tui.panels.panel import ConfirmPanel
from assent.tui.panels.picker import Picker, PickerRow, ago_cell
from assent.tui.panels.text_input import TextInputPanel
from assent.tui.panels.undo import FILES_CHANGED, DisplayedUndo, UndoPanel, displayed_undo

if TYPE_CHECKING:
    from assent.agent.rewind import RewindPreview
    from assent.agent.rewind_files import FileRewind

PLANS_STAY = "Its plans stay, and its runs can still be undone."


class SessionList(Picker):
    """Lists sessions; its result is the id of the session to resume."""

    heading = "Sessions"
    keys = "Enter open · Ctrl+F fork · Ctrl+E rename · Del delete · Esc close"
    nothing = "No sessions yet. Describe a task."
    previews = True
    follows = True
    does: ClassVar[dict[str, str]] = {
        "ctrl+f": "fork",
        "ctrl+e": "rename",
        "delete": "delete",
        "ctrl+x": "delete",
    }

    def rows(self) -> Sequence[PickerRow]:
        sessions, here = self.terminal.engine.sessions, self.terminal.session_controller.record
        records = [sessions.now(each) for each in with_children(sessions.all())]
        named = [(session_title(each), ago_cell(each.updated_at)) for each in records]
        return [
            _row(each, here.session if here else "", *names, alike=named.count(names) > 1)
            for each, names in zip(records, named, strict=True)
        ]

    def preview(self, row: PickerRow) -> Sequence[Line]:
        sessions = self.terminal.engine.sessions
        record = sessions.load(row.key)
        missing = sessions.missing_mode(record)
        about = session_row(sessions.now(record), sessions.failure(record), missing)
        return [
            *lines_with_screen_commands(session_lines(about, ids=False)),
            BLANK,
            *transcript_lines(sessions.events(record)),
        ]

    def chosen(self, row: PickerRow) -> None:
        app, sessions = self.terminal, self.terminal.engine.sessions

        def found(record: object) -> None:
            self.dismiss(row.key)
            app.open_session(cast("SessionRecord", record))

        self.in_thread("Opening", lambda: sessions.load(row.key), found)

    def fork(self) -> None:
        """Copies a session into a new one, and lists it; permissions are not copied."""
        row, sessions = self.row, self.terminal.engine.sessions
        if row is None:
            return

        def done(record: object) -> None:
            slug = visible_line(cast("SessionRecord", record).slug)
            self.load(f"Forked to {slug}: messages and todos, no plan or approval.")

        self.in_thread("Forking", lambda: sessions.fork(sessions.load(row.key)), done)

    def rename(self) -> None:
        """Asks for a new title."""
        row = self.row
        if row is not None:
            panel = TextInputPanel("Title of the session", (), row.name)
            self.terminal.open_panel(panel, lambda words: self._renamed(row, words))

    def _renamed(self, row: PickerRow, words: str | None) -> None:
        sessions = self.terminal.engine.sessions
        if words and words.strip():
            self.in_thread(
                "Renaming",
                lambda: sessions.retitle(sessions.load(row.key), words),
                lambda _: self.load("Session renamed."),
            )

    def delete(self) -> None:
        """Asks for confirmation, and removes a session from the lists."""
        row = self.row
        if row is None:
            return
        here = self.terminal.session_controller.record
        if here is not None and here.session == row.key:
            self.show_note("This session is open; start another one with /new first.")
            return
        about = [
            Line("plain", f"{row.name} ({row.also})"),
            Line("plain", "The session will be removed from the lists."),
            Line("plain", PLANS_STAY),
        ]
        panel = ConfirmPanel("Delete this session?", about, "delete it")
        self.terminal.open_panel(panel, lambda yes: self._deleted(row) if yes else None)

    def _deleted(self, row: PickerRow) -> None:
        sessions = self.terminal.engine.sessions
        self.in_thread(
            "Deleting",
            lambda: sessions.delete(sessions.load(row.key)),
            lambda _: self.load("Session deleted."),
        )


def _row(record: SessionRecord, here: str, title: str, ago: str, *, alike: bool) -> PickerRow:
    """Returns the row of a session; its short name is shown if the row is like another one."""
    sign = "* " if record.session == here else "  "
    slug = visible_line(record.slug)
    cells = (
        f"{sign}{ago}",
        visible_line(record.custom or record.mode),
        session_state(record),
        f"{'  ' * record.depth}{title}{f' ({slug})' if alike else ''}",
    )
    return PickerRow(record.session, cells, also=slug, name=title)


# The rewind panel: earlier messages of the user, to go back to before one of them.


MODEL_FORGETS = "The model forgets this message and everything after it."
MAX_MESSAGE_CHARS = 40  # letters of what was said, in the question
NOTHING_TO_RESTORE = "No file can be restored; Esc, then rewind and keep the files."
FILES_STAY = "Plan and files stay as they are; nothing is removed from the log."


class RewindPanel(Picker):
    """Rewinds after a confirmation; the message is then back in the prompt (F148)."""

    heading = "Rewind to an earlier message"
    keys = "Enter rewind to before this message · PgUp PgDn page · Esc close"
    nothing = "No earlier messages to rewind to."
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
        """Shows what was done since, and asks for confirmation."""
        sessions, record = self.terminal.engine.sessions, self._record

        def asked(since: object) -> None:
            if not self.is_active:
                return  # Enter was pressed twice
            about = [
                Line("plain", MODEL_FORGETS),
                Line("dim", FILES_STAY),
                *changes_since_lines(cast("RewindPreview", since)),
            ]
            files = bool(cast("RewindPreview", since).runs)
            ways = ("rewind, keep files", "rewind files too") if files else ("rewind", "")
            panel = ConfirmPanel(
                f"Rewind to before: {row.cells[-1][:MAX_MESSAGE_CHARS]}?", about, *ways
            )
            self.terminal.open_panel(panel, lambda yes: self._decided(row, yes))

        self.in_thread(
            "Reading", lambda: sessions.since(sessions.load(record.session), row.key), asked
        )

    def _decided(self, row: PickerRow, yes: bool | None) -> None:
        if yes:
            self._go_back(row)
        elif yes is False:  # what would be undone is shown and approved first
            panel = RewindFilesPanel(self._record, row.key)
            self.terminal.open_panel(panel, partial(self._began, row))

    def _began(self, row: PickerRow, begun: str | None) -> None:
        if begun:
            self.dismiss(row.key)

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
            app.deferred.add_note(Line("heading", "Rewound."), *changes_since_lines(since))

        self.in_thread("Rewinding", back, went)


def changes_since_lines(since: "RewindPreview") -> list[Line]:
    """Returns what was done since a message, and how to undo it."""
    count = len(since.turns)
    turns = Line("plain", f"{count} turn{'' if count == 1 else 's'} since then.")
    lines = [turns] if count else []
    if not since.runs:
        return [*lines, Line("plain", "No runs changed files since then.")]
    names = [Line("plain", f"  /undo {visible_line(run)}") for run in since.runs]
    return [*lines, Line("risk", "Files changed since then. To undo:"), *names]


class RewindFilesPanel(UndoPanel):
    """Previews the undo of everything since a message, and rewinds files and conversation."""

    def __init__(self, record: SessionRecord, message: str) -> None:
        super().__init__()
        self.standing = ApprovalState(undo=True, rewind=True)
        self._record = record
        self._message = message
        self._rewind: FileRewind | None = None

    def load(self, told: str = "") -> None:
        self.work(self._read, lambda found: self._read_done(found, told), ApprovalStage.LOADING)

    def titles(self, width: int) -> Sequence[Line]:
        if self._preview is None or self._rewind is None:
            return [Line("heading", "Rewind with files")]
        words = visible_line(" ".join(redact(self._rewind.message.text).split()))
        named = f"Rewind with files to before: {words[:MAX_MESSAGE_CHARS]}"
        return [with_short_digest(named, self.digest())]

    def _read(self) -> "tuple[FileRewind, DisplayedUndo]":
        engine = self.terminal.engine
        engine.runs.record_lost_command()
        record = engine.sessions.load(self._record.session)
        found = engine.file_rewinds.preview(record, self._message)
        return found, displayed_undo(engine, found.undo)

    def _read_done(self, found: "tuple[FileRewind, DisplayedUndo]", told: str) -> None:
        self._rewind, displayed = found
        blocked = NOTHING_TO_RESTORE if not self._rewind.has_files else ""
        self._show(displayed, told or blocked)

    def _take_back(self) -> None:
        """Computes the undo again: what was shown must still be what would happen."""
        shown = self._preview

        def done(found: "tuple[FileRewind, DisplayedUndo]") -> None:
            rewind, displayed = found
            if shown is None or displayed.undo.plan.digest != shown.undo.plan.digest:
                self._read_done(found, FILES_CHANGED)
                return
            app = self.terminal
            self.dismiss("rewound")
            with app.failing():
                app.run_controller.rewind(rewind, TERMINAL)
                app.show_run()

        self.work(self._read, done, ApprovalStage.RECORDING)


def _message_row(spoken: UserMessage) -> PickerRow:
    words = visible_line(" ".join(redact(spoken.text).split()))
    return PickerRow(spoken.id, (ago_cell(spoken.at), f"turn {spoken.turn}", words), name=words)


def require_session(record: SessionRecord | None) -> SessionRecord:
    """Returns the session; raises if there is none to rewind."""
    if record is None:
        raise NotFound("No messages yet; nothing to rewind to.")
    return record
