"""Watches a plan's file for changes in a thread of its own (F28)."""

from collections.abc import Callable
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, Final

from assent.core.errors import AssentError
from assent.core.plan.record import PlanRecord
from assent.tui.sidebar.data import PlanFileText, read_plan_file

if TYPE_CHECKING:
    from assent.app.engine import Engine

PAUSE_S: Final = 0.5


class PlanFileWatcher:
    """Looks at the file's stamp twice a second; reads the file only when that changed."""

    def __init__(self, changed: Callable[[str, PlanFileText], None]) -> None:
        self._changed = changed  # called from the thread, with the plan's id
        self._what: tuple[Engine, PlanRecord, PlanFileText] | None = None
        self._alone = Lock()  # the screen may follow another plan while the thread looks
        self._over = Event()
        self._thread: Thread | None = None

    def follow(self, engine: "Engine", plan: PlanRecord | None, live: PlanFileText) -> None:
        """Follows a plan from the text on that is shown now; without a plan, nothing."""
        with self._alone:
            self._what = (engine, plan, live) if plan is not None else None
        if self._thread is None and self._what is not None:
            self._thread = Thread(target=self._watch, name="plan file", daemon=True)
            self._thread.start()

    def check(self) -> None:
        """Looks once, and tells of a text that differs from the one before."""
        what = self._what
        if what is None:
            return
        engine, plan, shown = what
        try:
            if engine.plans.stamp(plan) == shown.stamp:
                return
            live = read_plan_file(engine, plan)
        except AssentError:  # it is being replaced, or is no text: the next look may see more
            return
        with self._alone:
            if self._what is not what:
                return
            self._what = (engine, plan, live)
        self._changed(plan.plan_id, live)

    def stop(self) -> None:
        """Ends the thread, at its next look."""
        self._over.set()

    def _watch(self) -> None:
        while not self._over.wait(PAUSE_S):
            self.check()
