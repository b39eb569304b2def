"""Slash commands for sessions: resume, fork, rename, rewind, export, and their settings.

The settings are mode, model, agent and theme.
"""

import os
from typing import Final

from assent.core.errors import Busy, NotFound, UsageError, meant
from assent.core.session.agent import unknown_agent
from assent.core.session.record import SessionRecord
from assent.core.text.hidden_chars import visible_line
from assent.render.lines import BLANK, Line
from assent.render.rows import session_title
from assent.tui.commands.info import run_cli_command
from assent.tui.context import AppContext
from assent.tui.panels.panel import ConfirmPanel
from assent.tui.panels.session_list import require_session
from assent.tui.session_controller import BUSY
from assent.tui.theme import THEMES

NO_TRANSCRIPT = "No transcript yet: it begins with your first message."
NONE_YET = "No session is open. Send a message or choose a session first."


def sessions(app: AppContext, rest: str) -> None:
    """Opens the list of sessions."""
    app.open("sessions")


def resume(app: AppContext, rest: str) -> None:
    """Continues a session, by id, id prefix or slug."""
    if not rest:
        sessions(app, "")
        return
    app.deferred.lead("Opening", lambda: app.engine.sessions.find(rest), app.open_session)


def new(app: AppContext, rest: str) -> None:
    """Shows an empty screen, on which a new session begins."""
    app.open_session(None)


def fork(app: AppContext, rest: str) -> None:
    """Copies a session into a new one, and shows the copy."""
    engine, here = app.engine, app.session_controller.record
    if app.session_controller.at_work:
        raise Busy(BUSY)

    def copied() -> SessionRecord:
        return engine.sessions.fork(engine.sessions.find(rest) if rest else current(here))

    def shown(record: SessionRecord) -> None:
        told = f"Forked to {record.slug}: messages and todos, no plan or approval."
        if (
            app.session_controller.at_work
        ):  # the user sent a message meanwhile, to the one on the screen
            app.add_note(f"{told} Open it with /resume {record.slug}.")
            return
        app.open_session(record)
        app.deferred.add_note(told)

    app.deferred.lead("Forking", copied, shown)


def retitle(app: AppContext, rest: str) -> None:
    """Changes the session's title."""
    if not rest:
        raise UsageError("Enter a title for the session.", "/rename A better title")
    record, engine = current(app.session_controller.record), app.engine
    app.tasks.run(
        "Renaming",
        lambda: engine.sessions.retitle(record, rest),
        lambda now: app.add_note(f"Session renamed: {visible_line(now.title)}"),
    )


def compact(app: AppContext, rest: str) -> None:
    """Replaces the session's older messages by a summary."""
    current(app.session_controller.record)
    app.session_controller.compact()
    app.draw_status()


def rewind(app: AppContext, rest: str) -> None:
    """Opens the list of the user's messages, to rewind to before one of them."""
    app.open("rewind", require_session(app.session_controller.record))


def transcript(app: AppContext, rest: str) -> None:
    """Opens the whole conversation in a pager."""
    record = app.session_controller.record
    if record is None:
        raise NotFound(NO_TRANSCRIPT)
    app.open("transcript", app.conversation.feed, session_title(record))


def export(app: AppContext, rest: str) -> None:
    """Shows the session as a document, or lets the command line write it."""
    record = current(app.session_controller.record)
    line = ("sessions", "export", record.session, "--format=markdown")
    out = [f"--out={os.path.expanduser(rest)}"] if rest else []
    run_cli_command(app, "Exported session", *line, *out, ours=bool(rest))


def current(record: SessionRecord | None) -> SessionRecord:
    """Returns the session on the screen; raises if there is none."""
    if record is None:
        raise NotFound(NONE_YET, "/sessions")
    return record


# Slash commands that set the mode, the model, the agent or the theme.


PLAN: Final = {"": "plan", "on": "plan", "off": "ask"}
ON: Final = "Plan mode is on; /plan off ends it."
YOLO: Final = "yolo"
YOLO_WARNING: Final = (
    Line("risk", "In yolo mode the model edits files and runs commands without asking you."),
    Line("plain", "Deny rules still apply, and recorded changes can be undone."),
    Line("plain", "Assent does not record what commands do outside this folder or on the network."),
    BLANK,
    Line("plain", "Shift+Tab returns to plan mode at any time."),
)


def plan(app: AppContext, rest: str) -> None:
    """Turns plan mode on, or off."""
    if rest not in PLAN:
        raise UsageError(f"/plan takes on or off, not {rest!a}.", "/plan off")
    if not PLAN[rest] == app.status_snapshot.mode == "plan":
        app.set_mode(PLAN[rest])
        return

    def on(_: object) -> None:
        app.add_note(ON)
        app.refresh_status()

    # The status line may be older than what another process did: only the record counts.
    app.deferred.lead("", lambda: app.session_controller.set_mode("plan"), on)


def mode(app: AppContext, rest: str) -> None:
    """Changes the mode; one that allows everything without asking is confirmed first."""
    if not rest:
        app.open("modes", then=lambda name: mode(app, name) if name else None)
        return
    if app.session_controller.base(rest) == YOLO and app.status_snapshot.base != YOLO:
        panel = ConfirmPanel(f"Mode {visible_line(rest)}?", YOLO_WARNING, f"use {YOLO} mode")
        app.open_panel(panel, lambda yes: app.set_mode(rest) if yes else None)
        return
    app.set_mode(rest)


def model(app: AppContext, rest: str) -> None:
    """Selects the model for this screen; it is opened at once, so that a wrong name shows."""
    if not rest:
        app.open("models", then=lambda name: model(app, name) if name else None)
        return

    def chosen(_: object) -> None:
        app.add_note(f"Model set to {rest}.")
        app.remember(model=rest, configured=app.session_controller.configured)
        app.refresh_status()

    app.tasks.run("Loading the model", lambda: app.session_controller.choose(rest), chosen)


def agent(app: AppContext, rest: str) -> None:
    """Selects the agent for this screen."""
    if not rest:
        app.open("agents", then=lambda name: agent(app, name) if name else None)
        return

    def check() -> None:
        names = [each.name for each in app.host.agents() if each.kind != "subagent"]
        if rest not in names:
            raise unknown_agent(rest, names)
        app.session_controller.agent = rest

    def chosen(_: object) -> None:
        app.add_note(f"Agent set to {rest}.")
        app.refresh_status()

    app.tasks.run("Finding the agent", check, chosen)


def theme(app: AppContext, rest: str) -> None:
    """Changes the theme of the screen."""
    if not rest:
        app.open("themes", app.theme_name, then=lambda name: app.set_theme(name) if name else None)
        return
    if rest not in THEMES:
        near = meant(rest, THEMES)
        available = ", ".join(THEMES)
        raise UsageError(f"Theme {rest!a} not found.{near} Available: {available}.", "/theme")
    app.set_theme(rest)
