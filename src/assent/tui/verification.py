"""Whether the model verifies what was built, and the turn in which it does."""

from contextlib import AbstractContextManager
from typing import Final, Protocol

from assent.render.lines import Line
from assent.tui.host import ScreenHost
from assent.tui.session_controller import SessionController
from assent.tui.status import StatusSnapshot
from assent.tui.workers import Coalescer

VERIFYING: Final = "Asking the model to verify the build."
VERIFY_HINT: Final = "Esc stops the verification."  # until it is over


class VerifyingApp(Protocol):
    """What it asks of the app."""

    host: ScreenHost
    messages: Coalescer
    session_controller: SessionController
    status_snapshot: StatusSnapshot

    def add_note(self, *told: Line | str) -> None: ...
    def failing(self) -> AbstractContextManager[None]: ...


class Verification:
    """Asks for it after a build, and stops it; what the user chose here holds for this screen."""

    def __init__(self, app: VerifyingApp) -> None:
        self._app = app
        self._chosen: bool | None = None  # None: as the settings say
        self.at_work = False  # the turn that was begun last is one, and its end was not reported

    @property
    def wanted(self) -> bool:
        """Whether the model is asked to verify what was built."""
        return self._app.host.verifies if self._chosen is None else self._chosen

    def toggle(self) -> None:
        """Turns it on or off; off, it also stops the one that is under way."""
        self._chosen = not self.wanted
        if self.at_work and not self.wanted:
            self._app.messages.work(self._app.session_controller.interrupt)

    def begin(self, plan_id: str, *, built: bool) -> None:
        """Has the model of the plan's session verify what was built, if that is wanted."""
        app, sitting = self._app, self._app.session_controller
        record = sitting.record
        own = record is not None and plan_id != "" and record.plan_id == plan_id
        if built and own and self.wanted and app.status_snapshot.model and not sitting.at_work:
            app.add_note(Line("dim", VERIFYING), Line("dim", VERIFY_HINT))
            with app.failing():
                sitting.verify()
                self.at_work = True

    def turn_over(self) -> None:
        """Called when a turn ended."""
        self.at_work = False
