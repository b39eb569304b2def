"""Cancellation of the run that this process is working on."""

from threading import Lock
from types import TracebackType


class RunCancelToken:
    """The run in progress in this process; the workspace's lock allows one at a time."""

    def __init__(self) -> None:
        self._alone = Lock()
        self._runs = 0
        self._stopped = False

    def __enter__(self) -> None:
        with self._alone:
            self._runs += 1

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with self._alone:
            self._runs -= 1
            self._stopped = self._stopped and bool(self._runs)

    def cancel(self) -> bool:
        """Wants the run to stop, from any thread; tells whether there is one."""
        with self._alone:
            self._stopped = bool(self._runs)
            return self._stopped

    def is_cancelled(self) -> bool:
        return self._stopped
