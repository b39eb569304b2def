"""The watchdog: ends an unconfined command when the process that started it ends.

A sandbox dies with its parent; any other command would go on where Assent was killed. So a
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
from assent.sandbox.runner.process_tree import kill_all
from assent.sandbox.runner.resource_limits import descendants, process_name

_SHELL: Final = "/bin/sh"
# The first line names a group of processes. A second one says that it has ended; where none comes,
# because whoever would write it is dead, the group is ended here.
_KEEPS_WATCH: Final = 'read group || exit 0; read over || kill -s KILL -- "-$group"'
_TOLD_FIRST: Final = (b"/bin/sh", b'echo "$$" > "$0" || exit 126; exec "$@"')
_OVER: Final = b"over\n"
_PATIENCE: Final = 10.0  # seconds
_HOST: Final = "/proc"


class CommandLocks:
    """Files in a folder of the state, each locked by a command for as long as anything of it lives.

    The lock goes with an open file that all its processes inherit. The file is removed when a
    command was ended; one that is still there was left by a process that died, or by one that
    could not end everything.
    """

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def acquire(self, stack: ExitStack) -> tuple[int, str]:
        """Returns a locked file for a command to inherit; raises Refused if there can be none."""
        path = os.path.join(self._folder, os.urandom(16).hex())
        try:
            os.makedirs(self._folder, 0o700, exist_ok=True)
            mark = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise Refused(
                f"The command did not run: nothing could tell later whether it still runs "
                f"({error.strerror})."
            ) from error
        stack.callback(os.close, mark)
        fcntl.flock(mark, fcntl.LOCK_EX)
        return mark, path

    def release(self, path: str, *, cut: bool) -> None:
        """Removes the mark of a command that has ended.

        What is left of one that was cut off is work that nobody wanted any more; the mark stays
        for as long as it goes on. What one that ended by itself left behind is meant to stay.
        """
        if cut:
            _is_let_go(path)
        else:
            _remove(path)

    def remaining_processes(self, path: str) -> list[int]:
        """Returns what a command that has ended left behind; it came to this process."""
        return sorted(_holders(path, descendants(os.getpid())))

    def kill_remaining(self, path: str) -> None:
        """Ends all that is left of a command, in whatever session, as far as one may."""
        kill_all(lambda: set(_holders(path)) - {os.getpid()})

    def still_running(self) -> str:
        """Names what is alive of commands whose starter died, or returns an empty string."""
        alive = [path for path in self._paths() if not _is_let_go(path)]
        pids = sorted({pid for path in alive for pid in _holders(path)})
        return describe_processes(pids) or ("a process of another user" if alive else "")

    def _paths(self) -> list[str]:
        try:
            return [os.path.join(self._folder, name) for name in sorted(os.listdir(self._folder))]
        except OSError:
            return []


def describe_processes(pids: Sequence[int]) -> str:
    """Names processes by id and program, with the command that ends them."""
    if not pids:
        return ""
    each = ", ".join(f"process {pid} ({one_line(process_name(pid)) or '?'})" for pid in pids)
    ends = "ends it" if len(pids) == 1 else "ends them"
    return f"{each} (`kill {' '.join(map(str, pids))}` {ends})"


def start_watchdog(stack: ExitStack, held: Sequence[int] = ()) -> int | None:
    """Starts somebody who ends a group of processes should this process die.

    Returns where to write the number of the group; None where nobody can keep watch. What is
    `held` stays open until then, too.
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
    """Has a process say its own number to who keeps watch, before it becomes the command.

    Told by us, after its start, it could have begun its work when we die in between. The pipe is
    named instead of handed down: a command that held it open would never be ended.
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
    try:
        guard.wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        guard.kill()
        guard.wait()


def _is_let_go(path: str) -> bool:
    """Tells whether nobody holds a mark any more, and removes it then."""
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
