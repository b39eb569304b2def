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
SESSION_CHANGED: Final = (
    "You were asked about another session than the one on the screen: nothing changed."
)


class DeferringApp(Protocol):
    """What notes and actions wait for, and are handed to."""

    tasks: BackgroundTasks
    session_controller: SessionController

    @property
    def ready(self) -> bool:
        """Whether the session that the person wants is on the screen."""

    def add_note(self, *told: Line | str) -> None: ...
    def fail(self, error: AssentError) -> None: ...
    def failing(self) -> AbstractContextManager[None]: ...
    def run_slash(self, text: str) -> None: ...


class DeferredActions:
    """Input does not wait for a session to load: it is queued for it, in order."""

    def __init__(self, app: DeferringApp) -> None:
        self._app = app
        self._told: list[Line | str] = []
        self._acts: list[Callable[[], None]] = []
        self._leading = 0  # errands under way after which another session, plan or mode may hold

    @property
    def is_free(self) -> bool:
        """Whether what a person asks for now is meant for what is on the screen."""
        return self._app.ready and not self._leading

    def add_note(self, *told: Line | str) -> None:
        """Puts a note into the conversation once the session that is being read is there."""
        self._told += told
        if self._app.ready:
            self.release_notes()

    def do(self, act: Callable[[], None]) -> None:
        """Does what a person asked for, once the session that it is meant for is there."""
        self._acts.append(act)
        self.release_actions()

    def lead(self, words: str, act: Callable[[], T], then: Callable[[T], object]) -> None:
        """Does an errand that leads elsewhere; what is asked for behind it waits until it is over.

        Also where it fails: then that is told first.
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
        """Has an answer count for the session alone that is on the screen while it is asked."""
        sitting = self._app.session_controller
        asked = sitting.session

        def answered(answer: T) -> None:
            if answer and sitting.session != asked:
                self._app.add_note(Line("risk", SESSION_CHANGED))
            else:
                then(answer)

        return answered

    def slash(self, text: str) -> None:
        """Runs a command such as `/mode ask`, below a line that says so, in the same way."""
        self.do(partial(self._app.add_note, echo_line(text)))
        self.do(partial(self._app.run_slash, text))

    def release_notes(self) -> None:
        """Tells what waited."""
        told, self._told = self._told, []
        if told:
            self._app.add_note(*told)

    def release_actions(self) -> None:
        """Does what waited; what such an act makes wait again comes behind it, in order."""
        while self._acts and self.is_free:
            with self._app.failing():
                self._acts.pop(0)()
