"""Finds the slash command that a line names, built-in or custom, and runs it."""

from typing import TYPE_CHECKING, Final

from assent.core.errors import UsageError
from assent.core.text.hidden_chars import visible_line
from assent.tui.commands.registry import COMMANDS, BuiltinCommand
from assent.tui.prompt.completion import Completion

if TYPE_CHECKING:
    from assent.tui.app import TerminalApp

MAX_NAME_CHARS: Final = 40  # letters of a name that is repeated


def choices() -> tuple[Completion, ...]:
    """Returns the commands as the prompt offers them."""
    return tuple(Completion(one.name, _about(one)) for one in COMMANDS)


def learn(app: "TerminalApp") -> None:
    """Has the prompt offer the commands: ours at once, the person's own when they are read."""
    app.prompt.commands = choices()

    def read() -> tuple[Completion, ...]:
        taken = {name for one in COMMANDS for name in (one.name, *one.aliases)}
        own = [Completion(f"/{each.name}", each.description) for each in app.host.custom_commands()]
        return tuple(one for one in own if one.text not in taken)

    def known(own: tuple[Completion, ...]) -> None:
        app.own_commands = own
        app.prompt.commands = (*choices(), *own)

    app.tasks.run("", read, known)


def run(app: "TerminalApp", text: str) -> None:
    """Runs one command, or says which the person may have meant."""
    name, *rest = text.strip().split(maxsplit=1)
    words = rest[0] if rest else ""
    found = find(name)
    if found is not None:
        if words and not found.arguments:
            raise UsageError(f"{found.name} takes no words; nothing was done.", found.name)
        found.act(app, words.strip())
    elif any(own.text == name for own in app.own_commands):
        app.session_controller.say_custom(name.removeprefix("/"), words)
        app.draw_status()
    else:
        raise _unknown(app, name)


def find(name: str) -> BuiltinCommand | None:
    """Returns the command of a name, or of another name for it."""
    return next((one for one in COMMANDS if name in (one.name, *one.aliases)), None)


def _unknown(app: "TerminalApp", name: str) -> UsageError:
    from difflib import get_close_matches

    names = [each for one in COMMANDS for each in (one.name, *one.aliases)]
    names += [own.text for own in app.own_commands]
    near = get_close_matches(name, names, n=1)
    hint = f" Did you mean {visible_line(near[0])}?" if near else ""
    said = f"There is no {visible_line(name[:MAX_NAME_CHARS])}.{hint}"
    return UsageError(said, near[0] if near else "/help")


def _about(one: BuiltinCommand) -> str:
    return f"{one.about} ({one.arguments})" if one.arguments else one.about
