"""Traces every call of a disk or a store, so that a test can count, fail or kill at one."""

import os
import signal
from collections.abc import Callable
from functools import cache
from inspect import getattr_static
from typing import Any, TypeAlias, TypeVar

CallListener: TypeAlias = Callable[[str, tuple[Any, ...]], None]
Watched = TypeVar("Watched")

_CHANGES = frozenset(
    (
        "write", "pwrite", "truncate", "rename", "rename_noreplace", "rename_exchange", "link",
        "unlink", "mkdir", "rmdir", "symlink", "chmod", "chown", "chown_link", "set_xattr", "fsync",
        "syncfs", "append", "appended",
    )
)  # fmt: skip
_LISTENER = "_traced_by"  # the attribute of a traced object
_LEAST = 64  # bytes that a write takes at once


def ignore_call(moment: str, arguments: tuple[Any, ...]) -> None:
    """Ignores a call."""


def trace_calls(thing: Watched, who: str, listen: CallListener) -> Watched:
    """Returns the object; from now on it reports every call as `who.call` before it is made.

    A trigger gets only those that it hears: most calls only look, and reporting them takes longer
    than making them. A write takes only half of what it is given, as a disk may, so that torn
    files can happen. An append to a store is reported once more when it is durable.
    """
    if listen is ignore_call:
        return thing
    kind: Any = type(thing)
    setattr(thing, _LISTENER, listen)
    heard = _public(kind)
    if isinstance(listen, CallTrigger):
        heard = frozenset(name for name in heard if _is_heard(listen, f"{who}.{name}"))
    thing.__class__ = _traced(kind, who, heard)
    return thing


@cache
def _public(kind: type) -> frozenset[str]:
    return frozenset(name for name in dir(kind) if not name.startswith("_"))


def _is_heard(listen: "CallTrigger", moment: str) -> bool:
    name = moment.rpartition(".")[2]
    if name == "append":
        return listen.hears(moment) or listen.hears(f"{moment}ed")
    return name in ("write", "pwrite") or listen.hears(moment)


@cache
def _traced(kind: type, who: str, heard: frozenset[str]) -> type:
    """Returns the class of objects of a kind that report their calls; sweeps make thousands."""
    methods = {name: _announced(f"{who}.{name}", kind, name) for name in heard}
    return type(kind.__name__, (kind,), methods)


def is_change(moment: str) -> bool:
    """Tells whether a call can change what another process, or the next start, finds."""
    return moment.rpartition(".")[2] in _CHANGES


class CallTrigger:
    """Counts the relevant calls and acts at number `at`, or from there on.

    Whether a call counts depends on its name alone.
    """

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

    def hears(self, moment: str) -> bool:
        """Tells whether a call of this name can matter here; others may go unreported."""
        return self._counts(moment)

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


def _announced(moment: str, kind: type, name: str) -> Callable[..., Any]:
    call: Callable[..., Any] = getattr(kind, name)
    if isinstance(getattr_static(kind, name), staticmethod):
        plain, call = call, lambda _, *arguments: plain(*arguments)

    def announced(thing: Any, *arguments: Any) -> Any:
        getattr(thing, _LISTENER)(moment, arguments)
        return call(thing, *arguments)

    def written(thing: Any, fd: int, content: bytes, *more: Any) -> Any:
        getattr(thing, _LISTENER)(moment, (fd, content, *more))
        return call(thing, fd, content[: max(len(content) // 2, _LEAST)], *more)

    def appended(thing: Any, *arguments: Any) -> Any:
        answer = announced(thing, *arguments)
        getattr(thing, _LISTENER)(f"{moment}ed", arguments)
        return answer

    others = {"write": written, "pwrite": written, "append": appended}
    return others.get(name, announced)
