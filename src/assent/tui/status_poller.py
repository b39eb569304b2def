"""Keeps the status snapshot of session, plan and questions up to date."""

from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic
from typing import Final, Protocol

from textual.message import Message

from assent.tui.conversation.view import ConversationView
from assent.tui.session_controller import SessionController
from assent.tui.status import StatusSnapshot, read_snapshot
from assent.tui.workers import Coalescer

READ_S: Final = 0.25  # between two looks, while much happens


@dataclass
class StatusLoaded(Message):
    """Message: a new status snapshot, or None if it could not be read."""

    standing: StatusSnapshot | None
    asked: bool = False  # whether the lookout waits for it


class StatusDisplay(Protocol):
    """Where a status snapshot is shown."""

    @property
    def is_there(self) -> bool: ...
    @property
    def conversation(self) -> ConversationView: ...
    def set_timer(self, delay: float, callback: Callable[[], None]) -> object: ...
    def apply_status(self, standing: StatusSnapshot) -> None: ...
    def follow(self) -> None: ...


class StatusPoller:
    """One read at a time, in a thread, and not too often."""

    def __init__(
        self, controller: SessionController, messages: Coalescer, display: StatusDisplay
    ) -> None:
        self._controller, self._messages, self._display = controller, messages, display
        self._again = False
        self._looked = -READ_S
        self._stamp: tuple[int, ...] = ()  # of the log, when it was last looked at
        self._news = False  # something was recorded that open panels may be about
        self.looking = False

    def watch(self) -> None:
        """Reads where things stand once anybody has recorded anything, in another terminal too."""
        stamp = self._controller.engine.stamp()
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
            self._display.set_timer(wait, self._look)
        else:
            self._look()

    def take(self, letter: StatusLoaded) -> None:
        """Shows what was read, unless it is about a session that was left meanwhile."""
        if letter.asked:
            self.looking, self._looked = False, monotonic()
        if letter.standing is not None and letter.standing.session == self._controller.session:
            self._display.apply_status(letter.standing)
        elif letter.standing is not None:
            self._again = True
        if letter.asked and self._news:
            self._news = False
            self._display.follow()
        if letter.asked and self._again:
            self._again = False
            self.refresh()

    def _look(self) -> None:
        if not self._display.is_there:
            self.looking = False  # the screen is going away
            return
        seq = self._display.conversation.feed.seq

        def act() -> None:
            standing = None
            try:
                standing = read_snapshot(self._controller, seq)
            finally:
                self._messages.post(StatusLoaded(standing, asked=True))

        self._messages.work(act)
