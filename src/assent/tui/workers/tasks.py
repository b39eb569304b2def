"""Background tasks: what a command needs time for, run in a thread, then shown."""

from collections.abc import Callable
from functools import partial
from typing import TypeVar

from assent.core.errors import AssentError
from assent.tui.workers.message_queue import MessageQueue
from assent.tui.workers.messages import TaskDone

T = TypeVar("T")


class BackgroundTasks:
    """Several at a time. A failed task is reported like any error, and shows nothing."""

    def __init__(self, mailbox: MessageQueue) -> None:
        self._mailbox = mailbox
        self._words: list[str] = []

    @property
    def activity_text(self) -> str:
        """What is being done, of all of it what began last; nothing if nothing is.

        What has no words is done unseen.
        """
        return next(filter(None, reversed(self._words)), "")

    def run(
        self,
        words: str,
        act: Callable[[], T],
        then: Callable[[T], object],
        failed: Callable[[AssentError], object] | None = None,
    ) -> None:
        """Does something slow in a thread; `then` gets what came of it, on the screen's own.

        Who wants to say themselves why it was not done, passes `failed`.
        """
        self._words.append(words)

        def errand() -> None:
            done = TaskDone(words)
            try:
                done = TaskDone(words, partial(then, act()))
            except Exception as error:
                if failed is None:
                    raise
                known = (
                    error if isinstance(error, AssentError) else self._mailbox.internal_error(error)
                )
                done = TaskDone(words, partial(failed, known))
            finally:
                self._mailbox.post(done)

        self._mailbox.work(errand)

    def take(self, letter: TaskDone) -> None:
        """Shows what came of an errand."""
        self._words.remove(letter.words)
        if letter.then is not None:
            letter.then()
