"""Slash commands about sessions: resume, fork, rename, rewind and export."""

import os
from typing import TYPE_CHECKING

from assent.core.errors import Busy, NotFound, UsageError
from assent.core.session.record import SessionRecord
from assent.core.text.hidden_chars import visible_line
from assent.tui.commands.output import run_cli_command
from assent.tui.session_controller import BUSY

if TYPE_CHECKING:
    from assent.tui.app import TerminalApp

NONE_YET = "There is no session on the screen yet. Say something first, or choose one."


def sessions(app: "TerminalApp", rest: str) -> None:
    """Opens the list of sessions."""
    from assent.tui.panels.session_list import SessionList

    app.open_panel(SessionList())


def resume(app: "TerminalApp", rest: str) -> None:
    """Goes on with a session, by id, start of an id or slug."""
    if not rest:
        sessions(app, "")
        return
    app.deferred.lead("Opening", lambda: app.engine.sessions.find(rest), app.open_session)


def new(app: "TerminalApp", rest: str) -> None:
    """Shows an empty screen, on which another session begins."""
    app.open_session(None)


def fork(app: "TerminalApp", rest: str) -> None:
    """Copies a session into a new one, and shows that."""
    engine, here = app.engine, app.session_controller.record
    if app.session_controller.at_work:
        raise Busy(BUSY)

    def copied() -> SessionRecord:
        return engine.sessions.fork(engine.sessions.find(rest) if rest else current(here))

    def shown(record: SessionRecord) -> None:
        told = f"{record.slug} is a fork: words and todos, no plan and no approval."
        if (
            app.session_controller.at_work
        ):  # the person said something meanwhile, to the one on the screen
            app.add_note(f"{told} /resume {record.slug} shows it.")
            return
        app.open_session(record)
        app.deferred.add_note(told)

    app.deferred.lead("Forking", copied, shown)


def retitle(app: "TerminalApp", rest: str) -> None:
    """Gives the session another title."""
    if not rest:
        raise UsageError("What should the session be called?", "/rename A better title")
    record, engine = current(app.session_controller.record), app.engine
    app.tasks.run(
        "Renaming",
        lambda: engine.sessions.retitle(record, rest),
        lambda now: app.add_note(f"This session is called: {visible_line(now.title)}"),
    )


def rewind(app: "TerminalApp", rest: str) -> None:
    """Opens the list of what the person said, to go back to before one of it."""
    from assent.tui.panels.rewind import RewindPanel, require_session

    app.open_panel(RewindPanel(require_session(app.session_controller.record)))


def export(app: "TerminalApp", rest: str) -> None:
    """Shows the session as a document, or has the command line write it."""
    record = current(app.session_controller.record)
    line = ("sessions", "export", record.session, "--format=markdown")
    out = [f"--out={os.path.expanduser(rest)}"] if rest else []
    run_cli_command(app, "The session as a document", *line, *out, ours=bool(rest))


def current(record: SessionRecord | None) -> SessionRecord:
    """Returns the session on the screen, or says that there is none."""
    if record is None:
        raise NotFound(NONE_YET, "/sessions")
    return record
