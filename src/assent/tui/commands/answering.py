"""Answering: how a command shows lines: in the conversation, or in a panel where they are many."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from assent.tui.hints import hinted
from assent.tui.host import Told
from assent.views.lines import Line

if TYPE_CHECKING:
    from assent.tui.app import TerminalApp

FEW: Final = 16


def answer(app: "TerminalApp", heading: str, lines: Sequence[Line]) -> None:
    """Shows lines in the conversation; many of them in a panel of their own."""
    if len(lines) <= FEW:
        app.tell(*lines)
        return
    from assent.tui.panels.lines import LinesPanel

    app.open_panel(LinesPanel(heading, lines))


def run_line(app: "TerminalApp", heading: str, *arguments: str, ours: bool = True) -> None:
    """Runs a command of the command line in a thread, and shows what it says; maybe our words."""

    def told(found: Told) -> None:
        answer(app, heading, hinted(found.lines) if ours else found.lines)
        app.refresh_standing()

    app.errands.run(heading, lambda: app.host.command(arguments), told)
