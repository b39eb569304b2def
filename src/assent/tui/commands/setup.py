"""Slash commands that change settings and store API keys."""

from typing import Final

from assent.core.errors import AssentError, UsageError
from assent.core.text.secrets import remember_read_key
from assent.tui.commands.info import run_cli_command
from assent.tui.context import AppContext
from assent.tui.panels.key_input import KeyInputPanel

COUNTS: Final = (
    "It counts from your next message on; for plans, approvals and undo once you restart Assent."
)
CHANGES: Final = ("set", "unset")


def config(app: AppContext, rest: str) -> None:
    """Lists the settings, or shows, sets or removes one in the user's own file."""
    verb, *words = rest.split(maxsplit=2)[:3] if rest else [""]
    match verb, words:
        case "", []:
            app.open("config", then=lambda line: app.prompt.load(line) if line else None)
        case "set", [key, value]:
            _changed(app, "set", key, value)
        case "unset", [key]:
            _changed(app, "unset", key)
        case "get", [key]:
            run_cli_command(app, "Setting", "config", "get", "--", key)
        case "set" | "unset" | "get", _:
            raise UsageError("Name the setting, and for set its value.", "/config set mode ask")
        case key, []:
            run_cli_command(app, "Setting", "config", "get", "--", key)
        case _:
            raise UsageError(
                "/config takes no argument, a key, or get, set or unset.", "/config set mode ask"
            )


def _changed(app: AppContext, verb: str, *words: str) -> None:
    """Changes the user's file by the command line's own code."""

    def known() -> None:
        app.add_note(COUNTS)
        app.reload_settings()

    run_cli_command(app, "Changing the setting", "config", verb, "--", *words, then=known)


def login(app: AppContext, rest: str) -> None:
    """Asks for the API key of a provider, which is not shown, and stores it."""
    if not rest:
        app.open("login", then=lambda name: login(app, name) if name else None)
        return

    provider, *more = rest.split()
    if more:
        for word in more:  # it is masked from now on, should it be the key
            remember_read_key(word)
        raise UsageError(
            "/login takes a provider alone and asks for the key.", f"/login {provider}"
        )

    def stored(told: str | None) -> None:
        if told:
            app.add_note(told)
            app.reload_settings()

    # It opens before anything is looked up: what is pasted right after the command must not be
    # text of the prompt.
    panel = KeyInputPanel(provider, app.host.login)
    app.open_panel(panel, stored)

    def refused(error: AssentError) -> None:
        panel.dismiss(None)
        app.fail(error)

    app.tasks.run("", lambda: app.host.check_login(provider), lambda _: None, refused)
