"""Queues notes and actions until the session that they are for is on the screen."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from typing import Final, Protocol, TypeVar

from assent.core.errors import AssentError
from assent.render.lines import Line
from assent.tui.result_messages import echo_line
from assent.tui.session_controller import SessionController
from assent.tui.workers import BackgroundTasks

T = TypeVar("T")
SESSION_CHANGED: Final = "That was about a different session; nothing changed."


class DeferringApp(Protocol):
    """What notes and actions wait for, and are handed to."""

    tasks: BackgroundTasks
    session_controller: SessionController

    @property
    def ready(self) -> bool:
        """Whether the session that the user wants is on the screen."""

    def add_note(self, *told: Line | str) -> None: ...
    def fail(self, error: AssentError) -> None: ...
    def failing(self) -> AbstractContextManager[None]: ...
    def run_slash(self, text: str, typed: str | None = None) -> None: ...


class DeferredActions:
    """Queues input for a session that is still loading, in order."""

    def __init__(self, app: DeferringApp) -> None:
        self._app = app
        self._told: list[Line | str] = []
        self._acts: list[Callable[[], None]] = []
        self._leading = 0  # errands under way after which another session, plan or mode may hold

    @property
    def is_free(self) -> bool:
        """Whether the user's input is meant for what is on the screen."""
        return self._app.ready and not self._leading

    def add_note(self, *told: Line | str) -> None:
        """Adds a note to the conversation once the session that is being loaded is shown."""
        self._told += told
        if self._app.ready:
            self.release_notes()

    def do(self, act: Callable[[], None]) -> None:
        """Runs an action once the session that it is meant for is shown."""
        self._acts.append(act)
        self.release_actions()

    def lead(self, words: str, act: Callable[[], T], then: Callable[[T], object]) -> None:
        """Runs a task that may change session, plan or mode; later actions wait until it is done.

        They also wait if it fails: then the error is shown first.
        """
        self._leading += 1
        failed = partial(self._led, self._app.fail)
        self._app.tasks.run(words, act, partial(self._led, then), failed)

    def _led(self, then: Callable[[T], object], found: T) -> None:
        self._leading -= 1
        with self._app.failing():
            then(found)
        self.release_actions()

    def for_current_session(self, then: Callable[[T], None]) -> Callable[[T], None]:
        """Makes an answer count only for the session that was on the screen when it was asked."""
        sitting = self._app.session_controller
        asked = sitting.session

        def answered(answer: T) -> None:
            if answer and sitting.session != asked:
                self._app.add_note(Line("risk", SESSION_CHANGED))
            else:
                then(answer)

        return answered

    def slash(self, text: str, typed: str | None = None) -> None:
        """Runs a command such as `/mode ask` in the same way, below a line that shows it."""
        self.do(partial(self._app.add_note, echo_line(text)))
        self.do(partial(self._app.run_slash, text, typed))

    def release_notes(self) -> None:
        """Shows the queued notes."""
        told, self._told = self._told, []
        if told:
            self._app.add_note(*told)

    def release_actions(self) -> None:
        """Runs the queued actions; what they queue in turn comes after them, in order."""
        while self._acts and self.is_free:
            with self._app.failing():
                self._acts.pop(0)()
