"""Slash commands for sessions: resume, fork, rename, rewind, export, and their settings.

The settings are mode, model, agent and theme.
"""

import os
from typing import Final

from assent.core.errors import Busy, NotFound, UsageError
from assent.core.session.record import SessionRecord
from assent.core.text.hidden_chars import visible_line
from assent.render.lines import BLANK, Line
from assent.tui.commands.info import run_cli_command
from assent.tui.context import AppContext
from assent.tui.panels.panel import ConfirmPanel
from assent.tui.panels.session_list import require_session
from assent.tui.session_controller import BUSY
from assent.tui.theme import THEMES

NONE_YET = "There is no session on the screen yet. Say something first, or choose one."


def sessions(app: AppContext, rest: str) -> None:
    """Opens the list of sessions."""
    app.open("sessions")


def resume(app: AppContext, rest: str) -> None:
    """Goes on with a session, by id, start of an id or slug."""
    if not rest:
        sessions(app, "")
        return
    app.deferred.lead("Opening", lambda: app.engine.sessions.find(rest), app.open_session)


def new(app: AppContext, rest: str) -> None:
    """Shows an empty screen, on which another session begins."""
    app.open_session(None)


def fork(app: AppContext, rest: str) -> None:
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


def retitle(app: AppContext, rest: str) -> None:
    """Gives the session another title."""
    if not rest:
        raise UsageError("What should the session be called?", "/rename A better title")
    record, engine = current(app.session_controller.record), app.engine
    app.tasks.run(
        "Renaming",
        lambda: engine.sessions.retitle(record, rest),
        lambda now: app.add_note(f"This session is called: {visible_line(now.title)}"),
    )


def rewind(app: AppContext, rest: str) -> None:
    """Opens the list of what the person said, to go back to before one of it."""
    app.open("rewind", require_session(app.session_controller.record))


def export(app: AppContext, rest: str) -> None:
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


# Slash commands that set the mode, the model, the agent or the theme.


PLAN: Final = {"": "plan", "on": "plan", "off": "ask"}
ON: Final = "Plan mode is on; /plan off leaves it."
YOLO: Final = "yolo"
YOLO_WARNING: Final = (
    Line("risk", "In yolo mode nobody asks you: the model edits files and runs commands at once."),
    Line("plain", "Denials of your rules still hold, and what is on record can be undone."),
    Line(
        "plain", "A command can do more than Assent records: outside this folder, on the network."
    ),
    BLANK,
    Line("plain", "Shift+Tab goes back to plan mode at any time."),
)


def plan(app: AppContext, rest: str) -> None:
    """Turns plan mode on, or off."""
    if rest not in PLAN:
        raise UsageError(f"/plan is on or off, not {rest!a}.", "/plan off")
    if not PLAN[rest] == app.status_snapshot.mode == "plan":
        app.set_mode(PLAN[rest])
        return

    def on(_: object) -> None:
        app.add_note(ON)
        app.refresh_status()

    # The status line may be older than what somebody did elsewhere: only the record counts.
    app.deferred.lead("", lambda: app.session_controller.set_mode("plan"), on)


def mode(app: AppContext, rest: str) -> None:
    """Changes the mode; what lets everything happen unasked is confirmed first."""
    if not rest:
        app.open("modes", then=lambda name: mode(app, name) if name else None)
        return
    if app.session_controller.base(rest) == YOLO and app.status_snapshot.base != YOLO:
        panel = ConfirmPanel(f"Mode {visible_line(rest)}?", YOLO_WARNING, f"go on in {YOLO} mode")
        app.open_panel(panel, lambda yes: app.set_mode(rest) if yes else None)
        return
    app.set_mode(rest)


def model(app: AppContext, rest: str) -> None:
    """Chooses the model of this sitting; it is opened at once, so that a wrong name shows."""
    if not rest:
        app.open("models", then=lambda name: model(app, name) if name else None)
        return

    def chosen(_: object) -> None:
        app.add_note(f"From now on {rest} is asked.")
        app.refresh_status()

    app.tasks.run("Opening the model", lambda: app.session_controller.choose(rest), chosen)


def agent(app: AppContext, rest: str) -> None:
    """Chooses the agent of this sitting."""
    if not rest:
        app.open("agents", then=lambda name: agent(app, name) if name else None)
        return

    def check() -> None:
        names = [each.name for each in app.host.agents() if each.kind != "subagent"]
        if rest not in names:
            known = ", ".join(map(visible_line, names))
            raise UsageError(f"There is no agent {rest!a}. There are: {known}.", "/agent")
        app.session_controller.agent = rest

    def chosen(_: object) -> None:
        app.add_note(f"From now on the agent is {rest}.")
        app.refresh_status()

    app.tasks.run("Looking for the agent", check, chosen)


def theme(app: AppContext, rest: str) -> None:
    """Changes what the screen looks like."""
    if not rest:
        app.open("themes", app.theme_name, then=lambda name: app.set_theme(name) if name else None)
        return
    if rest not in THEMES:
        raise UsageError(f"There is no theme {rest!a}. There are: {', '.join(THEMES)}.", "/theme")
    app.set_theme(rest)
