"""The session list: resume, fork, rename or delete a session (F147)."""

from collections.abc import Sequence
from typing import ClassVar, cast

from assent.core.session.record import SessionRecord
from assent.core.text.hidden_chars import visible_line
from assent.render.lines import BLANK, Line, local_time
from assent.render.redaction import redacted_row
from assent.render.rows import session_row, session_state
from assent.render.sessions import session_lines, transcript_lines, with_children
from assent.tui.hints import lines_with_screen_commands
from assent.tui.panels.confirm import ConfirmPanel
from assent.tui.panels.picker import Picker, PickerRow
from assent.tui.panels.text_input import TextInputPanel

PLANS_STAY = "Its plans stay, and what its runs did can still be undone."


class SessionList(Picker):
    """Ends with the id of the session to resume."""

    heading = "Sessions"
    keys = (
        "Enter go on with it · Ctrl+F fork · Ctrl+E rename · Del delete · PgUp PgDn page · "
        "Esc close"
    )
    nothing = "There are no sessions here yet. Say what should be done."
    previews = True
    follows = True
    does: ClassVar[dict[str, str]] = {
        "ctrl+f": "fork",
        "ctrl+e": "rename",
        "delete": "delete",
        "ctrl+d": "delete",
    }

    def rows(self) -> Sequence[PickerRow]:
        sessions, here = self.terminal.engine.sessions, self.terminal.session_controller.record
        records = with_children(sessions.all())
        return [_row(sessions.now(each), here.session if here else "") for each in records]

    def preview(self, row: PickerRow) -> Sequence[Line]:
        sessions = self.terminal.engine.sessions
        record = sessions.load(row.key)
        missing = sessions.missing_mode(record)
        about = session_row(sessions.now(record), sessions.failure(record), missing)
        return [
            *lines_with_screen_commands(session_lines(about)),
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
        """Copies a session into a new one, and lists it; no consent goes with it."""
        row, sessions = self.row, self.terminal.engine.sessions
        if row is None:
            return

        def done(record: object) -> None:
            slug = visible_line(cast("SessionRecord", record).slug)
            self.load(f"{slug} is a fork: its words and todos, no plan and no approval.")

        self.in_thread("Forking", lambda: sessions.fork(sessions.load(row.key)), done)

    def rename(self) -> None:
        """Asks for another title."""
        row = self.row
        if row is not None:
            panel = TextInputPanel(f"A title for session {row.cells[0].strip()}", (), row.cells[-1])
            self.terminal.open_panel(panel, lambda words: self._renamed(row, words))

    def _renamed(self, row: PickerRow, words: str | None) -> None:
        sessions = self.terminal.engine.sessions
        if words and words.strip():
            self.in_thread(
                "Renaming",
                lambda: sessions.retitle(sessions.load(row.key), words),
                lambda _: self.load("It has another title."),
            )

    def delete(self) -> None:
        """Asks once more, and takes a session off the lists then."""
        row = self.row
        if row is None:
            return
        here = self.terminal.session_controller.record
        if here is not None and here.session == row.key:
            self.show_note("This is the session on the screen; /new begins another one first.")
            return
        slug = row.cells[0].strip()
        about = [
            Line("plain", f"Session {slug} is taken off the lists."),
            Line("plain", PLANS_STAY),
        ]
        panel = ConfirmPanel(f"Delete session {slug}?", about, "delete it")
        self.terminal.open_panel(panel, lambda yes: self._deleted(row) if yes else None)

    def _deleted(self, row: PickerRow) -> None:
        sessions = self.terminal.engine.sessions
        self.in_thread(
            "Deleting",
            lambda: sessions.delete(sessions.load(row.key)),
            lambda _: self.load("It is deleted."),
        )


def _row(record: SessionRecord, here: str) -> PickerRow:
    sign = "* " if record.session == here else "  "
    row = redacted_row({"title": record.title or record.goal})
    cells = (
        sign + "  " * record.depth + visible_line(record.slug),
        visible_line(record.custom or record.mode),
        session_state(record),
        local_time(record.updated_at),
        visible_line(str(row["title"])),
    )
    return PickerRow(record.session, cells)
