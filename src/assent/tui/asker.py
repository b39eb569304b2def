"""The asker of the terminal UI: waits for the answer that a question panel records."""

from collections.abc import Callable, Sequence
from threading import Event
from typing import Final

from assent.core.session.event import Question
from assent.tui.workers.message_queue import MessageQueue
from assent.tui.workers.messages import QuestionArrived

POLL_INTERVAL_S: Final = 0.1


class PanelAsker:
    """Implements ports.Asker: waits until somebody answers, here or elsewhere.

    It never answers itself. When the screen ends while a question is open, nobody returns from
    here: the question stays on record, and whoever opens the session next is asked again.
    """

    defers = False
    present = True

    def __init__(self, mailbox: MessageQueue) -> None:
        self._mailbox = mailbox
        self._look = Event()

    def ask(
        self, questions: Sequence[Question], answered: Callable[[], str]
    ) -> tuple[tuple[str, ...], ...] | None:
        self._mailbox.post(QuestionArrived())
        while not answered():
            self._look.wait(POLL_INTERVAL_S)
            self._look.clear()
        return None

    def wake(self) -> None:
        """Has whoever waits look at once, because something was answered here."""
        self._look.set()
