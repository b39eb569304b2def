"""Worker threads: background tasks, their messages to the screen, and the queue between."""

from collections import deque
from collections.abc import Callable
from contextvars import copy_context
from functools import partial
from threading import Lock, Thread
from traceback import format_exception
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

import msgspec

from assent.core.errors import AssentError
from assent.core.event import StoredEvent
from assent.core.llm import StreamDelta
from assent.core.run.journal import RunUpdate
from assent.render.onboarding import SetupFindings

if TYPE_CHECKING:
    from assent.core.session.record import SessionRecord
    from assent.runs.runs import RunReport


# Runs slow work in a daemon thread that the screen never waits for.


def run_in_background(work: Callable[[], None]) -> None:
    """Does it in a thread of its own; a screen that closes meanwhile closes at once.

    What it finds it posts as a message, which never waits and is dropped where nobody is left.
    """
    Thread(target=copy_context().run, args=(work,), daemon=True).start()


# The messages that worker threads send to the screen.


class SessionActivity(msgspec.Struct, frozen=True):
    """Something happened in a session: an event that is stored, or a piece that is live only."""

    session: str
    what: StoredEvent | StreamDelta


class TurnBegan(msgspec.Struct, frozen=True):
    """A turn of a session is being driven by this screen."""

    record: "SessionRecord"


class TurnOver(msgspec.Struct, frozen=True):
    """A turn came to rest; `error` if it could not go on."""

    session: str
    error: AssentError | None = None
    unsaid: str = ""  # what the person typed, where it was not said


class RunBegan(msgspec.Struct, frozen=True):
    """A build, recovery, undo or redo has started; `verb` says which."""

    verb: str
    plan_id: str = ""


class RunActivity(msgspec.Struct, frozen=True):
    """A run made progress, or its command printed something."""

    live: RunUpdate


class RunOver(msgspec.Struct, frozen=True):
    """A run came to rest: with a report, or with the error that kept it from going on."""

    verb: str
    report: "RunReport | None" = None
    error: AssentError | None = None


class ShellOrigin(msgspec.Struct, frozen=True):
    """Where a command was typed: in a session, or on a screen on which none had begun yet."""

    session: str = ""
    name: str = ""
    view: int = 0


class ShellPrinted(msgspec.Struct, frozen=True):
    """A command of the person's own printed something."""

    text: str
    place: ShellOrigin = ShellOrigin()


class ShellOver(msgspec.Struct, frozen=True):
    """A command of the person's own ended."""

    words: str
    place: ShellOrigin = ShellOrigin()


class WorkspaceReady(msgspec.Struct, frozen=True):
    """The engine is open."""

    warnings: tuple[str, ...] = ()
    elsewhere: str = ""  # the workspace's folder, where the screen was opened further down in it


class WorkspaceFailed(msgspec.Struct, frozen=True):
    """There is no engine, because of a setting or the workspace; nothing can be done here."""

    error: AssentError


class SessionLoadFailed(msgspec.Struct, frozen=True):
    """A session that the person wanted could not be read; the reason is reported separately."""

    session: str


class NoModel(msgspec.Struct, frozen=True):
    """No model can be used here; `found` says what was looked for."""

    found: SetupFindings


class TaskDone(msgspec.Struct, frozen=True):
    """A background task is over; `then` shows its result, unless it failed."""

    words: str
    then: Callable[[], object] | None = None


class QuestionArrived(msgspec.Struct, frozen=True):
    """A question waits for the person."""


class TaskFailed(msgspec.Struct, frozen=True):
    """Something could not be done; nothing else is affected."""

    error: AssentError


WorkerMessage: TypeAlias = (
    SessionActivity
    | TurnBegan
    | TurnOver
    | RunBegan
    | RunActivity
    | RunOver
    | ShellPrinted
    | ShellOver
    | WorkspaceReady
    | WorkspaceFailed
    | NoModel
    | TaskDone
    | QuestionArrived
    | TaskFailed
)


# The thread-safe queue of messages from worker threads to the screen, in order.


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


# Background tasks: what a command needs time for, run in a thread, then shown.


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
