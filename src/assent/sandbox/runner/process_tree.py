"""Stops a process with everything it started, and reaps orphans."""

import ctypes
import errno
import os
import re
import select
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from typing import Final

from assent.sandbox.runner.resource_limits import (
    child_pids,
    orphaned_session_members,
    process_name,
    session_members,
)

# The subreaper: adopts processes that a call leaves without a parent, and reaps them.
#
# Elsewhere process 1 does that; in many containers it does not, and each call would leave a
# zombie process forever.


_ADOPT: Final = 36  # PR_SET_CHILD_SUBREAPER


class _Subreaper:
    """Counts the calls under way: what is set here counts for the whole process."""

    def __init__(self) -> None:
        self._calls = 0
        self._lock = threading.Lock()
        # Opened once: each `CDLL` makes classes, which only the garbage collector frees.
        self._system = ctypes.CDLL(None)

    def begin(self) -> None:
        self._change(1)

    def end(self) -> None:
        self._change(-1)

    def _change(self, by: int) -> None:
        with self._lock:
            before, self._calls = self._calls, self._calls + by
            if not before or not self._calls:
                self._system.prctl(_ADOPT, bool(self._calls), 0, 0, 0)


_ADOPTING: Final = _Subreaper()


@contextmanager
def child_subreaper() -> Iterator[None]:
    """Adopts orphaned processes for the duration of a call."""
    _ADOPTING.begin()
    try:
        yield
    finally:
        _ADOPTING.end()


def reap(pid: int) -> None:
    """Reaps a process that has exited, if this process adopted it."""
    with suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)


_PATIENCE: Final = 10.0  # seconds for the kernel to clear away what was killed
_LAST_LOOK: Final = 0.5  # seconds, if the kernel could not tell
_ROUNDS: Final = 20  # looks for processes that came while others were ended
_REPORT: Final = 4096
_FIRST: Final = re.compile(rb'"child-pid": (\d+)')
_RAN: Final = b'"exit-code"'
_BUBBLEWRAP: Final = b"bwrap"


class ProcessTree:
    """A process that was started; `status` is where bubblewrap reports, if it is one."""

    def __init__(self, process: subprocess.Popen[bytes], status: int | None) -> None:
        self.process, self._status, self._report = process, status, b""
        self._given_up = False  # it now belongs to another user, or the kernel cannot release it

    @property
    def ran(self) -> bool:
        """Tells, after the end, whether bubblewrap ran the program."""
        return self._status is None or _RAN in self._report

    @property
    def lost(self) -> bool:
        """Tells, after the end, whether bubblewrap was killed and the program may have run."""
        began = _FIRST.search(self._report) is not None
        return not self.ran and began and (self.process.returncode or 0) < 0

    def end(self) -> None:
        """Kills what remains of it, and returns when all is gone; a second call does nothing."""
        if self.process.returncode is not None or self._given_up:
            return
        with ExitStack() as stack:
            end = self._end_session if self._status is None else self._end_sandbox
            _see_off(end(stack))

    def _end_session(self, stack: ExitStack) -> dict[int, int | None]:
        """Ends a program and every process in its session, in any group.

        Nothing may go on because something else died: a shell would do its next step when the one
        before it is killed. So all are stopped first. This does not wait for them: a process that
        has just called `vfork` stops only when its child goes on, which is stopped as well.
        """
        pid = self.process.pid  # not reaped yet, so no other process has this number
        ending: dict[int, int | None] = {}
        with suppress(OSError):
            os.killpg(pid, signal.SIGSTOP)
        for _ in range(_ROUNDS):
            found = {*session_members(pid), *child_pids(pid)} - ending.keys() - {pid}
            ending |= _stopped_and_killed(found, stack)
            if not found:
                break
        try:
            os.killpg(pid, signal.SIGKILL)
            self._reap()
        except PermissionError:  # the whole group now belongs to another user
            self._given_up = True
        return ending

    def _end_sandbox(self, stack: ExitStack) -> dict[int, int | None]:
        """Ends bubblewrap and its sandbox, which dies with it only once it has asked for that.

        So bubblewrap is stopped, which keeps it from starting one, and the sandbox, which is its
        child, is killed first.
        """
        pid = self.process.pid
        ending = {child: _killed(child, stack) for child in child_pids(pid)}
        os.kill(pid, signal.SIGSTOP)
        os.waitid(os.P_PID, pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        ending |= {child: _killed(child, stack) for child in child_pids(pid)}
        os.killpg(pid, signal.SIGKILL)
        self._reap()
        left = (*orphaned_session_members(pid), *self._sandbox())
        return ending | {one: _watched(one, stack) for one in left if one not in ending}

    def _reap(self) -> None:
        try:
            self.process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self._given_up = True

    def _sandbox(self) -> list[int]:
        """Returns the first process of the sandbox; it ends when all others in there are gone."""
        if self._status is None:
            return []
        self._report = os.read(self._status, _REPORT)
        found = _FIRST.search(self._report)
        first = [int(found[1])] if found else []
        return [pid for pid in first if process_name(pid) == _BUBBLEWRAP]


def kill_all(find: Callable[[], Iterable[int]]) -> None:
    """Kills all processes that are found, repeatedly until there are none."""
    ending: dict[int, int | None] = {}
    with ExitStack() as stack:
        for _ in range(_ROUNDS):
            found = set(find()) - ending.keys()
            ending |= _stopped_and_killed(found, stack)
            if not found:
                break
        _see_off(ending)


def wait_for_exit(pids: Iterable[int], seconds: float) -> None:
    """Waits until processes have exited, up to a total time."""
    until = time.monotonic() + seconds
    with ExitStack() as stack:
        for watched in [_watched(pid, stack) for pid in pids]:
            if watched is not None:
                _wait(watched, max(0, until - time.monotonic()))


def wait_or_kill(process: subprocess.Popen[bytes], seconds: float) -> None:
    """Reaps a process that is about to exit, and kills it if it does not.

    `Popen.wait` with a timeout looks again and again, after pauses of up to 50 ms.
    """
    if process.returncode is None:
        wait_for_exit((process.pid,), seconds)
    try:
        process.wait(_LAST_LOOK)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _stopped_and_killed(pids: Iterable[int], stack: ExitStack) -> dict[int, int | None]:
    for one in pids:
        with suppress(OSError):
            os.kill(one, signal.SIGSTOP)
    return {one: _killed(one, stack) for one in pids}


def _see_off(ending: Mapping[int, int | None]) -> None:
    """Waits until processes that were killed are gone."""
    for one, watched in ending.items():
        if watched is not None:
            _wait(watched)
        reap(one)


def _killed(pid: int, stack: ExitStack) -> int | None:
    """Kills a process and returns a descriptor that becomes readable when it has ended."""
    watched = _watched(pid, stack)
    if watched is None:
        return None
    # Among hundreds that multiply, it would have to wait for its turn to die; root can help it.
    with suppress(ProcessLookupError, PermissionError):
        os.setpriority(os.PRIO_PROCESS, pid, -20)
    try:
        signal.pidfd_send_signal(watched, signal.SIGKILL)
    except ProcessLookupError:
        pass
    except PermissionError:  # another user's: nothing here can end it
        return None
    return watched


def _wait(watched: int, seconds: float = _PATIENCE) -> None:
    """Waits until a process has ended; its descriptor may have any number."""
    end = select.poll()
    end.register(watched, select.POLLIN)
    end.poll(seconds * 1000)


def _watched(pid: int, stack: ExitStack) -> int | None:
    try:
        watched = os.pidfd_open(pid)
    except OSError as error:
        if error.errno == errno.EMFILE:  # so many that not each can be waited for
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        return None
    stack.callback(os.close, watched)
    return watched
