"""What is held until a session is on the screen: what is told about it, and what a person asks."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from assent.views.lines import Line

if TYPE_CHECKING:
    from assent.tui.app import TerminalApp


class Held:
    """Nobody waits for the first session to be read: what is typed before goes to it, in order."""

    def __init__(self, app: "TerminalApp") -> None:
        self._app = app
        self._told: list[Line | str] = []
        self._acts: list[Callable[[], None]] = []

    def tell(self, *told: Line | str) -> None:
        """Puts a note into the conversation once the session that is being read is there."""
        self._told += told
        if self._app.ready:
            self.release_told()

    def do(self, act: Callable[[], None]) -> None:
        """Does what a person asked for, once the session that it is meant for is there."""
        if self._app.ready:
            act()
        else:
            self._acts.append(act)

    def slash(self, text: str) -> None:
        """Runs a command such as `/mode ask`, below a line that says so, in the same way."""
        from assent.tui.acts import echo

        self.do(partial(self._app.tell, echo(text)))
        self.do(partial(self._app.run_slash, text))

    def release_told(self) -> None:
        """Tells what waited."""
        told, self._told = self._told, []
        if told:
            self._app.tell(*told)

    def release_acts(self) -> None:
        """Does what waited; what such an act makes wait again comes behind it, in order."""
        while self._acts and self._app.ready:
            self._acts.pop(0)()
