"""The holder of a copy: commands run side by side in one mount; nothing else touches it then."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from threading import Condition
from typing import Final

from assent.core.errors import Busy
from assent.sandbox.scratch.layer import CopyLayer, CopyMount

BUSY: Final = "A command is still running in the scratch copy"


class CopyHolder:
    """Counts the commands in a copy. The first prepares and mounts it, the last unmounts it.

    Two mounts of one upper folder would be undefined, so a command that begins while another one
    runs joins its mount, and finds the copy as it is.
    """

    def __init__(self, layer: CopyLayer) -> None:
        self._layer = layer
        self._state = Condition()
        self._running = 0
        self._changing = False  # one thread prepares, reads or unmounts; others wait
        self._mount: CopyMount | None = None
        self._stack = ExitStack()

    @property
    def running(self) -> bool:
        """Whether a command runs in the copy."""
        return self._running > 0

    @contextmanager
    def joined(self, prepare: Callable[[], None]) -> Iterator[tuple[CopyMount, bool]]:
        """Yields the mount, and whether another command was there before."""
        joined = self._enter(prepare)
        assert self._mount is not None, "the first one mounted it"
        try:
            yield self._mount, joined
        finally:
            self._leave()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keeps commands out for a moment; raises Busy while one runs."""
        with self._state:
            self._state.wait_for(lambda: not self._changing)
            if self._running:
                raise Busy(f"{BUSY}. Wait for it to end, or stop it.")
            self._changing = True
        try:
            yield
        finally:
            self._changed()

    def _enter(self, prepare: Callable[[], None]) -> bool:
        with self._state:
            self._state.wait_for(lambda: not self._changing)
            if self._running:
                self._running += 1
                return True
            self._changing = True
        try:
            stack = ExitStack()
            self._mount = stack.enter_context(self._layer.mounted(prepare))
            self._stack, self._running = stack, 1
        finally:
            self._changed()
        return False

    def _leave(self) -> None:
        with self._state:
            self._running -= 1
            if self._running:
                return
            self._changing = True
        try:
            self._stack.close()
        finally:
            self._mount = None
            self._changed()

    def _changed(self) -> None:
        with self._state:
            self._changing = False
            self._state.notify_all()
