"""Keeps the status snapshot of session, plan and questions up to date."""

from time import monotonic
from typing import TYPE_CHECKING, Final

import msgspec

from assent.tui.status import StatusSnapshot, read_snapshot

if TYPE_CHECKING:
    from assent.tui.app import TerminalApp

READ_S: Final = 0.25  # between two looks, while much happens


class StatusLoaded(msgspec.Struct, frozen=True):
    """Message: a new status snapshot, or None if it could not be read."""

    standing: StatusSnapshot | None
    asked: bool = False  # whether the lookout waits for it


class StatusPoller:
    """One read at a time, in a thread, and not too often."""

    def __init__(self, app: "TerminalApp") -> None:
        self._app = app
        self._again = False
        self._looked = -READ_S
        self._stamp: tuple[int, ...] = ()  # of the log, when it was last looked at
        self._news = False  # something was recorded that open panels may be about
        self.looking = False

    def watch(self) -> None:
        """Reads where things stand once anybody has recorded anything, in another terminal too."""
        stamp = self._app.engine.stamp()
        if stamp != self._stamp:
            self._stamp, self._news = stamp, True
            self.refresh()

    def refresh(self) -> None:
        """Reads where things stand, soon."""
        if self.looking:
            self._again = True
            return
        self.looking = True
        wait = READ_S - (monotonic() - self._looked)
        if wait > 0:
            self._app.set_timer(wait, self._look)
        else:
            self._look()

    def take(self, letter: StatusLoaded) -> None:
        """Shows what was read, unless it is about a session that was left meanwhile."""
        if letter.asked:
            self.looking, self._looked = False, monotonic()
        if (
            letter.standing is not None
            and letter.standing.session == self._app.session_controller.session
        ):
            self._app.apply_status(letter.standing)
        elif letter.standing is not None:
            self._again = True
        if letter.asked and self._news:
            self._news = False
            self._app.follow()
        if letter.asked and self._again:
            self._again = False
            self.refresh()

    def _look(self) -> None:
        if not self._app.is_there:
            self.looking = False  # the screen is going away
            return
        app, seq = self._app, self._app.conversation.feed.seq

        def act() -> None:
            standing = None
            try:
                standing = read_snapshot(app.session_controller, seq)
            finally:
                app.messages.post(StatusLoaded(standing, asked=True))

        app.messages.work(act)
