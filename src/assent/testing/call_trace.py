"""Traces every call of a disk or a store, so that a test can count, fail or kill at one."""

import os
import signal
from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

CallListener: TypeAlias = Callable[[str, tuple[Any, ...]], None]
Watched = TypeVar("Watched")

_CHANGES = frozenset(
    (
        "write", "rename", "rename_noreplace", "rename_exchange", "link", "unlink", "mkdir",
        "rmdir", "symlink", "chmod", "chown", "chown_link", "set_xattr", "fsync", "syncfs",
        "append", "appended",
    )
)  # fmt: skip
_LEAST = 64  # bytes that a write takes at once


def ignore_call(moment: str, arguments: tuple[Any, ...]) -> None:
    """Ignores a call."""


def trace_calls(thing: Watched, who: str, listen: CallListener) -> Watched:
    """Returns the object; from now on it reports every call as `who.call` before it is made.

    A write takes only half of what it is given, as a disk may, so that torn files can happen. An
    append to a store is reported once more when it is durable.
    """
    if listen is ignore_call:
        return thing
    for name in [name for name in dir(thing) if not name.startswith("_")]:
        setattr(thing, name, _announced(f"{who}.{name}", getattr(thing, name), listen))
    return thing


def is_change(moment: str) -> bool:
    """Tells whether a call can change what another process, or the next start, finds."""
    return moment.rpartition(".")[2] in _CHANGES


class CallTrigger:
    """Counts the relevant calls and acts at number `at`, or from there on."""

    def __init__(
        self,
        counts: Callable[[str], bool] = is_change,
        at: int | None = None,
        act: CallListener = ignore_call,
        *,
        sticky: bool = False,
    ) -> None:
        self.seen: list[str] = []
        self.fired: list[str] = []
        self._counts = counts
        self._at = at
        self._act = act
        self._sticky = sticky

    def __call__(self, moment: str, arguments: tuple[Any, ...]) -> None:
        if not self._counts(moment):
            return
        number = len(self.seen)
        self.seen.append(moment)
        if self._at is None or number < self._at or (number > self._at and not self._sticky):
            return
        self.fired.append(moment)
        self._act(moment, arguments)


def kill_process(moment: str, arguments: tuple[Any, ...]) -> None:
    """Ends this process as `kill -9` does: no handler runs, nothing is flushed."""
    os.kill(os.getpid(), signal.SIGKILL)


def fail_with(code: int) -> CallListener:
    """Returns a listener that makes a call fail with a system error."""

    def fail(moment: str, arguments: tuple[Any, ...]) -> None:
        if moment.endswith(".close"):
            os.close(arguments[0])  # a close that reports an error has closed it anyway
        raise OSError(code, os.strerror(code))

    return fail


def _announced(moment: str, call: Callable[..., Any], listen: CallListener) -> Callable[..., Any]:
    def announced(*arguments: Any) -> Any:
        listen(moment, arguments)
        return call(*arguments)

    def written(fd: int, content: bytes) -> Any:
        listen(moment, (fd, content))
        return call(fd, content[: max(len(content) // 2, _LEAST)])

    def appended(*arguments: Any) -> Any:
        answer = announced(*arguments)
        listen(f"{moment}ed", arguments)
        return answer

    others = {"write": written, "append": appended}
    return others.get(moment.rpartition(".")[2], announced)
