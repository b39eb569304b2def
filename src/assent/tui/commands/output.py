"""Shows a command's lines in the conversation, or in a panel if they are many."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from assent.core.errors import AssentError, UsageError
from assent.render.lines import Line
from assent.tui.hints import lines_with_screen_commands
from assent.tui.host import CommandLineResult

if TYPE_CHECKING:
    from assent.tui.app import TerminalApp

MAX_INLINE_LINES: Final = 16


def show_lines(app: "TerminalApp", heading: str, lines: Sequence[Line]) -> None:
    """Shows lines in the conversation; many of them in a panel of their own."""
    if len(lines) <= MAX_INLINE_LINES:
        app.add_note(*lines)
        return
    from assent.tui.panels.lines import LinesPanel

    app.open_panel(LinesPanel(heading, lines))


def run_cli_command(
    app: "TerminalApp", heading: str, *arguments: str, ours: bool = True, slash: str = ""
) -> None:
    """Runs a command of the command line in a thread, and shows what it says; maybe our words.

    Where the command line cannot read its words, the person hears what the slash command takes.
    """

    def told(found: CommandLineResult) -> None:
        if found.lines or found.error is None:
            show_lines(
                app, heading, lines_with_screen_commands(found.lines) if ours else found.lines
            )
        if found.error is not None:
            app.fail(_unread(found.error, slash))
        app.refresh_status()

    app.tasks.run(heading, lambda: app.host.command(arguments), told)


def _unread(error: AssentError, slash: str) -> AssentError:
    from assent.tui.commands.dispatcher import find

    found = find(slash)
    if found is None or not isinstance(error, UsageError) or not error.next.endswith(" --help"):
        return error
    words = found.arguments.removeprefix("[").removesuffix("]").replace("|", " or ")
    return UsageError(f"{slash} takes nothing, or {words}.", error.next)
