"""The watchdog: stops an unconfined command when the process that started it dies.

A sandbox dies with its parent; any other command would continue if Assent were killed. So a
watchdog follows it, and it holds a lock that shows whether anything of it is alive.
"""

import fcntl
import os
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from typing import Final

from assent.core.errors import Refused
from assent.core.paths import one_line
from assent.sandbox.runner.process_tree import kill_all, wait_or_kill
from assent.sandbox.runner.resource_limits import descendants, process_name

_SHELL: Final = "/bin/sh"
# The first line names a process group. A second one says that it has ended; if none comes, because
# its writer is dead, the group is ended here.
_KEEPS_WATCH: Final = 'read group || exit 0; read over || kill -s KILL -- "-$group"'
_TOLD_FIRST: Final = (b"/bin/sh", b'echo "$$" > "$0" || exit 126; exec "$@"')
_OVER: Final = b"over\n"
_PATIENCE: Final = 10.0  # seconds
_HOST: Final = "/proc"


class CommandLocks:
    """Files in the state folder, each locked by a command while any of its processes is alive.

    The lock belongs to an open file that all its processes inherit. The file is removed when a
    command was stopped; a remaining one was left by a process that died, or by one that could not
    stop everything.
    """

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def acquire(self, stack: ExitStack) -> tuple[int, str]:
        """Returns a locked file for a command to inherit; raises Refused if that fails."""
        path = os.path.join(self._folder, os.urandom(16).hex())
        try:
            os.makedirs(self._folder, 0o700, exist_ok=True)
            mark = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise Refused(
                "The command did not run: Assent could not record that it is running "
                f"({error.strerror})."
            ) from error
        stack.callback(os.close, mark)
        fcntl.flock(mark, fcntl.LOCK_EX)
        return mark, path

    def release(self, path: str, *, cut: bool) -> None:
        """Removes the lock file of a command that has ended.

        Processes that remain of an interrupted command are unwanted; the lock stays while they run.
        What a command that ended by itself left running is meant to stay.
        """
        if cut:
            _is_let_go(path)
        else:
            _remove(path)

    def remaining_processes(self, path: str) -> list[int]:
        """Returns the remaining processes of an ended command; this process adopted them."""
        return sorted(_holders(path, descendants(os.getpid())))

    def kill_remaining(self, path: str) -> None:
        """Kills all that remains of a command, in any session, as far as allowed."""
        kill_all(lambda: set(_holders(path)) - {os.getpid()})

    def still_running(self) -> str:
        """Names running processes of commands whose starter died, or returns an empty string."""
        alive = [path for path in self._paths() if not _is_let_go(path)]
        pids = sorted({pid for path in alive for pid in _holders(path)})
        return describe_processes(pids) or ("a process of another user" if alive else "")

    def _paths(self) -> list[str]:
        try:
            return [os.path.join(self._folder, name) for name in sorted(os.listdir(self._folder))]
        except OSError:
            return []


def describe_processes(pids: Sequence[int]) -> str:
    """Names processes by id and program, with the command that stops them."""
    if not pids:
        return ""
    each = ", ".join(f"process {pid} ({one_line(process_name(pid)) or '?'})" for pid in pids)
    ends = "stops it" if len(pids) == 1 else "stops them"
    return f"{each} (`kill {' '.join(map(str, pids))}` {ends})"


def start_watchdog(stack: ExitStack, held: Sequence[int] = ()) -> int | None:
    """Starts a watchdog that kills a process group if this process dies.

    Returns where to write the id of the group; None if no watchdog is possible. What is `held`
    stays open until then, too.
    """
    try:
        guard = subprocess.Popen(
            [_SHELL, "-c", _KEEPS_WATCH],
            cwd="/",
            env={},
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=held,
            start_new_session=True,
        )
    except OSError:
        return None
    stack.push(partial(_let_go, guard))
    assert guard.stdin is not None, "it reads a pipe"
    return guard.stdin.fileno()


def tied_to_watchdog(argv: tuple[bytes, ...], watch: int) -> tuple[bytes, ...]:
    """Makes a process report its own id to the watchdog, before it becomes the command.

    If this process reported it after the start, the command could already be running when this
    process dies in between. The pipe is named, not inherited: a command that held it open would
    never be stopped.
    """
    return (_TOLD_FIRST[0], b"-c", _TOLD_FIRST[1], b"/proc/%d/fd/%d" % (os.getpid(), watch), *argv)


def _let_go(guard: subprocess.Popen[bytes], kind: object, *_: object) -> None:
    """Says that the group is over, unless something was raised: it may have begun just then."""
    assert guard.stdin is not None, "it reads a pipe"
    with suppress(BrokenPipeError):
        if kind is None:
            os.write(guard.stdin.fileno(), _OVER)
    with suppress(OSError):
        guard.stdin.close()
    wait_or_kill(guard, _PATIENCE)


def _is_let_go(path: str) -> bool:
    """Tells whether no process holds a mark any more, and removes it in that case."""
    try:
        mark = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return True
    try:
        fcntl.flock(mark, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _remove(path)
    except BlockingIOError:
        return False
    finally:
        os.close(mark)
    return True


def _holders(path: str, among: Iterable[int] | None = None) -> Iterator[int]:
    """Yields the processes that have a file open, as far as one may look."""
    try:
        wanted = os.stat(path)
    except OSError:
        return
    everybody = (int(name) for name in os.listdir(_HOST) if name.isdigit())
    for pid in everybody if among is None else among:
        if any(os.path.samestat(wanted, found) for found in _opened(pid)):
            yield pid


def _opened(pid: int) -> Iterator[os.stat_result]:
    with suppress(OSError):
        for number in os.listdir(f"{_HOST}/{pid}/fd"):
            with suppress(OSError):
                yield os.stat(f"{_HOST}/{pid}/fd/{number}")


def _remove(path: str) -> None:
    with suppress(OSError):
        os.unlink(path)
