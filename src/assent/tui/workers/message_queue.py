"""The thread-safe queue of messages from worker threads to the screen, in order."""

from collections import deque
from collections.abc import Callable
from contextvars import copy_context
from threading import Lock, Thread
from traceback import format_exception
from typing import Any, Final

from assent.core.errors import AssentError
from assent.core.llm import StreamDelta
from assent.tui.workers.messages import SessionActivity, TaskFailed

FRAME_S: Final = 1 / 30  # a screen that is drawn more often looks the same and answers keys later
MAX_JOINED: Final = 4096  # characters to which pieces that wait for the screen are joined
INTERNAL_ERROR: Final = (
    "Something inside failed; what it was is told when you leave. Your session is kept."
)


class MessageQueue:
    """Takes messages from any thread. `wake` is called once per batch, from the sender's thread."""

    def __init__(self, wake: Callable[[], None]) -> None:
        self._letters: deque[Any] = deque()
        self._lock = Lock()
        self._wake = wake
        self._woken = False
        self.mishaps: list[str] = []  # what nobody expected, in full

    @property
    def is_empty(self) -> bool:
        """Whether everything was taken."""
        with self._lock:
            return not self._letters

    def post(self, letter: object, rest: Callable[[], object] | None = None) -> None:
        """Leaves a letter; never waits for the screen.

        Who comes to rest with it says so by `rest`: nobody sees the one without the other.
        """
        with self._lock:
            if rest is not None:
                rest()
            if not self._joined(letter):
                self._letters.append(letter)
            woken, self._woken = self._woken, True
        if not woken:
            self._wake()

    def _joined(self, letter: object) -> bool:
        """Adds a piece of what is being said to the piece before it, if nobody took that yet."""
        last = self._letters[-1] if self._letters else None
        match last, letter:
            case SessionActivity(one, StreamDelta(kind, text)), SessionActivity(
                other, StreamDelta(same, more)
            ):
                if (one, kind) == (other, same) and len(text) + len(more) <= MAX_JOINED:
                    self._letters[-1] = SessionActivity(one, StreamDelta(kind, text + more))
                    return True
            case _:
                pass
        return False

    def take(self) -> list[Any]:
        """Returns everything that came since the last time."""
        with self._lock:
            letters = list(self._letters)
            self._letters.clear()
            self._woken = False
        return letters

    def work(self, act: Callable[[], object]) -> Thread:
        """Does something slow in a thread of its own; what fails is a letter.

        It knows the app as its caller does, also when a panel that it works for is gone.
        """
        thread = Thread(target=copy_context().run, args=(self._guarded, act), daemon=True)
        thread.start()
        return thread

    def internal_error(self, error: Exception) -> AssentError:
        """Keeps what nobody expected for later, and returns words for the screen."""
        self.mishaps.append("".join(format_exception(error)))
        return AssentError(INTERNAL_ERROR)

    def _guarded(self, act: Callable[[], object]) -> None:
        try:
            act()
        except AssentError as error:
            self.post(TaskFailed(error))
        except Exception as error:
            self.post(TaskFailed(self.internal_error(error)))
