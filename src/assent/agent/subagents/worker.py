"""Drives one child session in a thread of its own."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, suppress
from threading import Thread, Timer
from typing import Protocol

import msgspec

from assent.agent.cancellation.turn import CancellableTurn
from assent.agent.cancellation.watcher import CancelWatcher
from assent.core.errors import AssentError, Interrupted
from assent.core.event import StoredEvent
from assent.core.llm import StreamDelta
from assent.core.session.event import TurnEnded
from assent.core.session.record import SessionRecord
from assent.core.tool import TaskEffect
from assent.ports import AgentDriver, Turn


class CancellableChildren(Protocol):
    """The children of a turn, as far as others can cancel them."""

    def cancel(self, end: TurnEnded) -> None:
        """Wants all of them to end like this; returns at once."""

    def stop(self) -> None:
        """Ends all of them, and waits a little."""


class DrivenTurn(Turn, Protocol):
    """A turn as its driver begins and ends it."""

    @property
    def children(self) -> CancellableChildren: ...

    def open(self) -> Iterator[StoredEvent | StreamDelta]: ...

    def halted(self) -> TurnEnded | None: ...

    def cancel_calls(self, end: TurnEnded) -> None:
        """Wants it to end like this, its calls at once; returns at once, from any thread."""

    def fail(self, error: AssentError) -> tuple[StoredEvent, ...]: ...


class ChildTask(msgspec.Struct, frozen=True):
    """What a child is to do, for which call, and for how long at most."""

    call: str
    task: TaskEffect
    record: SessionRecord
    seconds: float = 0  # 0: no limit


class ChildWorker:
    """Drives one child session to its rest. `over` tells that it is, and its lock free again."""

    def __init__(
        self,
        errand: ChildTask,
        driver: AgentDriver,
        turn: Callable[[], DrivenTurn],
        place: Callable[["ChildWorker"], AbstractContextManager[None]],
        tell: Callable[["ChildWorker", StoredEvent | None], None],
    ) -> None:
        self.errand = errand
        self.over = False
        self.trouble = ""  # what kept it from working at all
        self.end: TurnEnded | None = None  # that somebody else wants
        self._driver = driver
        self._turn = turn
        self._place = place
        self._tell = tell
        self._leash: CancellableTurn | None = None
        self._kin: CancellableChildren | None = None
        self._cut: Callable[[TurnEnded], None] | None = None
        # A daemon: a process that ends does not wait for it; its history is valid at any moment.
        self._thread = Thread(target=self._run, name=f"child {errand.record.slug}", daemon=True)

    @property
    def begun(self) -> bool:
        return self._thread.ident is not None

    def start(self) -> None:
        self._thread.start()

    def join(self, seconds: float) -> None:
        self._thread.join(seconds)

    def cancel(self, end: TurnEnded) -> None:
        """Wants the child to end like this, before its next step or in the middle of a request."""
        self.end = self.end or end
        if self._leash is not None:
            self._leash.cancel(self.end)
        if self._cut is not None:
            self._cut(self.end)
        if self._kin is not None:
            limit = end.why == "limit"  # of this child, not of those that work for it
            self._kin.cancel(TurnEnded("interrupted", end.words) if limit else end)
        self._driver.stop()

    def _run(self) -> None:
        try:
            with self._place(self):
                self._work()
        except BaseException as error:  # whoever waits must hear of it, whatever it is
            self.trouble = _told(error).message
        finally:
            self._tell(self, None)

    def _work(self) -> None:
        turn = self._turn()
        self._kin, self._leash, self._cut = turn.children, CancellableTurn(turn), turn.cancel_calls
        if self.end is not None:
            self.cancel(self.end)
        timer = self._timer()
        try:
            with CancelWatcher(turn.halted, self.cancel):
                self._hear(turn.open())
                self._hear(self._driver.drive(self._leash))
        except Interrupted:
            pass  # the session says so
        except Exception as error:
            self._hear(iter(turn.fail(_told(error))))
            raise
        finally:
            if timer is not None:
                timer.cancel()
            turn.children.stop()
            with suppress(AssentError):
                self._hear(iter(turn.append_events()))  # what was held

    def _timer(self) -> Timer | None:
        seconds = self.errand.seconds
        if not seconds:
            return None
        words = f"Stopped after {seconds:g} seconds, the limit of a task. What was done is kept."
        timer = Timer(seconds, self.cancel, (TurnEnded("limit", words),))
        timer.daemon = True
        timer.start()
        return timer

    def _hear(self, heard: Iterator[StoredEvent | StreamDelta]) -> None:
        """Hands on what was stored; what is being said at the moment has no place elsewhere."""
        for one in heard:
            if isinstance(one, StoredEvent):
                self._tell(self, one)


def _told(error: BaseException) -> AssentError:
    if isinstance(error, AssentError):
        return error
    return AssentError(f"{type(error).__name__}: {error}.")
