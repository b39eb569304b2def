"""Slash commands about the screen: help, palette, demo, clear and exit."""

from assent.core.errors import Busy
from assent.tui import key_actions
from assent.tui.commands.command import find_command
from assent.tui.context import AppContext

BUSY = "Something is still running. Press Esc to interrupt it first."


def help(app: AppContext, rest: str) -> None:
    """Opens the help of keys and commands."""
    app.open("help", app.commands, app.own_commands)


def palette(app: AppContext, rest: str) -> None:
    """Opens the command palette."""
    table = [one for one in app.commands if one.name != "/palette"]
    app.open("palette", table, app.own_commands, then=lambda name: _taken(app, name))


def demo(app: AppContext, rest: str) -> None:
    """Leaves this screen for the demo; leaving the demo returns here."""
    if app.at_work:
        raise Busy(BUSY)
    app.wants_demo = True
    app.exit(0)


def clear(app: AppContext, rest: str) -> None:
    """Clears the screen; the session continues."""
    app.conversation.show(())


def leave(app: AppContext, rest: str) -> None:
    """Exits; everything is kept."""
    key_actions.leave(app)


def _taken(app: AppContext, name: str | None) -> None:
    """Runs the chosen command, or puts it into the prompt if it needs an argument."""
    if not name:
        return
    found = find_command(app.commands, name)
    if found is None or found.needs_argument:
        if key_actions.is_covered(app):
            app.action_toggle_side()
        app.prompt.load(f"{name} ")
    else:
        app.deferred.slash(name)
