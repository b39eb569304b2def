"""Worker threads: background tasks, and the coalescer of their messages to the screen."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextvars import copy_context
from functools import partial
from threading import Lock, Thread
from traceback import format_exception
from typing import Final, TypeVar

from textual.message import Message

from assent.core.errors import AssentError
from assent.core.llm import StreamDelta
from assent.tui.messages import SessionActivity, ShellOrigin, ShellPrinted, TaskDone, TaskFailed

# Our own threads for what may block, and none of Textual's workers.
#
# `run_worker(thread=True)` runs in asyncio's default executor, which `asyncio.run` joins when it
# ends: a worker that sleeps for six seconds keeps a screen open for six seconds after the user has
# left it. The executor is bounded, too, while a turn can wait for answers forever. A daemon thread
# delays nothing. Anything that takes the store's lock, asks a server or waits for a user may block;
# too little surely ends soon to justify a second way.


def run_in_background(work: Callable[[], object]) -> Thread:
    """Runs it in a separate daemon thread; a screen that closes meanwhile closes at once.

    It posts results as messages, which never wait and are dropped if no receiver remains. It
    knows the app as its caller does, also when a panel that it works for is gone.
    """
    thread = Thread(target=copy_context().run, args=(work,), daemon=True)
    thread.start()
    return thread


# The coalescer of messages from worker threads to the screen, in order.


FRAME_S: Final = 1 / 30  # a screen that is drawn more often looks the same and answers keys later
MAX_JOINED: Final = 4096  # characters to which pieces that wait for the screen are joined
INTERNAL_ERROR: Final = "Internal error; details when you exit. Your session is saved."


def joined_messages(messages: Iterable[Message]) -> Iterator[Message]:
    """Yields messages in order; what a command printed since the last time comes as one."""
    said: list[str] = []
    place = ShellOrigin()  # one command runs at a time, and its end is a message, too
    for message in messages:
        if isinstance(message, ShellPrinted):
            said.append(message.text)
            place = message.place
            continue
        if said:
            yield ShellPrinted("".join(said), place)
            said = []
        yield message
    if said:
        yield ShellPrinted("".join(said), place)


class Coalescer:
    """Takes messages from any thread, and joins what belongs together.

    `notify` is called once per batch, from the sender's thread: the app posts `Deliver` to itself.
    """

    def __init__(self, notify: Callable[[], object]) -> None:
        self._messages: deque[Message] = deque()
        self._lock = Lock()
        self._notify = notify
        self._notified = False
        self.mishaps: list[str] = []  # unexpected errors, in full

    @property
    def pending(self) -> bool:
        """Whether something was not taken yet."""
        with self._lock:
            return bool(self._messages)

    def post(self, message: Message, rest: Callable[[], object] | None = None) -> None:
        """Posts a message; never waits for the screen.

        A caller that becomes idle with it passes `rest`: no one sees the one without the other.
        """
        with self._lock:
            if rest is not None:
                rest()
            if not self._joined(message):
                self._messages.append(message)
            notified, self._notified = self._notified, True
        if not notified:
            self._notify()

    def _joined(self, message: Message) -> bool:
        """Joins a streamed piece with the piece before it, if that was not taken yet."""
        last = self._messages[-1] if self._messages else None
        match last, message:
            case SessionActivity(one, StreamDelta(kind, text)), SessionActivity(
                other, StreamDelta(same, more)
            ):
                if (one, kind) == (other, same) and len(text) + len(more) <= MAX_JOINED:
                    self._messages[-1] = SessionActivity(one, StreamDelta(kind, text + more))
                    return True
            case _:
                pass
        return False

    def take(self) -> list[Message]:
        """Returns everything that came since the last time; what a command printed as one."""
        with self._lock:
            messages = list(self._messages)
            self._messages.clear()
            self._notified = False
        return list(joined_messages(messages))

    def work(self, act: Callable[[], object]) -> Thread:
        """Does something slow in a separate thread; a failure becomes a message."""
        return run_in_background(partial(self._guarded, act))

    def internal_error(self, error: Exception) -> AssentError:
        """Stores an unexpected error for later, and returns an error for the screen."""
        self.mishaps.append("".join(format_exception(error)))
        return AssentError(INTERNAL_ERROR)

    def _guarded(self, act: Callable[[], object]) -> None:
        try:
            act()
        except AssentError as error:
            self.post(TaskFailed(error))
        except Exception as error:
            self.post(TaskFailed(self.internal_error(error)))


# Background tasks: what a command needs time for, run in a thread, then shown.


T = TypeVar("T")


class BackgroundTasks:
    """Runs several tasks at a time; a failed one is reported like any error, and shows nothing."""

    def __init__(self, messages: Coalescer) -> None:
        self._messages = messages
        self._words: list[str] = []

    @property
    def activity_text(self) -> str:
        """The description of the newest running task; empty if there is none.

        Tasks without a description are not shown.
        """
        return next(filter(None, reversed(self._words)), "")

    def run(
        self,
        words: str,
        act: Callable[[], T],
        then: Callable[[T], object],
        failed: Callable[[AssentError], object] | None = None,
    ) -> None:
        """Runs something slow in a thread; `then` gets the result, in the screen's own thread.

        A caller that wants to report the error itself passes `failed`.
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
                    error
                    if isinstance(error, AssentError)
                    else self._messages.internal_error(error)
                )
                done = TaskDone(words, partial(failed, known))
            finally:
                self._messages.post(done)

        self._messages.work(errand)

    def take(self, message: TaskDone) -> None:
        """Shows the result of a task."""
        self._words.remove(message.words)
        if message.then is not None:
            message.then()
