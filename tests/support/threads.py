"""Work in another thread, as a face does it: what comes out of it can be waited for."""

from collections.abc import Callable, Iterator
from pathlib import Path
from queue import Queue
from threading import Event, Thread
from time import monotonic
from typing import Any, TypeVar

from tests.sandbox.workspace import Room

from assent.core.shell.process import SandboxState, SandboxStatus
from assent.sandbox.process_runner import LocalProcessRunner

R = TypeVar("R")

PATIENCE_S = 60
END = object()


def plain_process(root: Path) -> LocalProcessRunner:
    """Starts real programs where there is no sandbox."""
    return Room(root.parent, SandboxStatus(SandboxState.NONE), root.name).process()


def until(look: Callable[[], R]) -> R:
    """Looks again and again until there is something to see."""
    pause, deadline = Event(), monotonic() + PATIENCE_S
    while not (found := look()):
        assert monotonic() < deadline, "it never came"
        pause.wait(0.01)
    return found


class Worker:
    """Drives a generator in a thread of its own, and hands over what it yields."""

    def __init__(self, work: Iterator[Any]) -> None:
        self.heard: list[Any] = []
        self.result: Any = None
        self.error: BaseException | None = None
        self._queue: Queue[Any] = Queue()
        self._work = work
        self._thread = Thread(target=self._run, daemon=True)
        self._thread.start()

    def until(self, wanted: Callable[[Any], bool]) -> Any:
        """Waits for the first thing that fits."""
        while True:
            one = self._queue.get(timeout=PATIENCE_S)
            assert one is not END, f"it ended before: {self.error!r} {self.heard!r}"
            if wanted(one):
                return one

    def ended(self) -> list[Any]:
        """Waits for the end, and returns everything that was said."""
        self._thread.join(PATIENCE_S)
        assert not self._thread.is_alive(), "it goes on and on"
        if self.error is not None:
            raise self.error
        return self.heard

    def _run(self) -> None:
        try:
            self._drive()
        except BaseException as error:
            self.error = error
        finally:
            self._queue.put(END)

    def _drive(self) -> None:
        while True:
            try:
                one = next(self._work)
            except StopIteration as end:
                self.result = end.value
                return
            self.heard.append(one)
            self._queue.put(one)
