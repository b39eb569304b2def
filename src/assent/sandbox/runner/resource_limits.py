"""Resource limits: those that the kernel enforces, and usage measured from outside."""

import os
import resource
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from stat import S_ISREG

import msgspec

from assent.core.shell.process import ProcessLimits

# Resource limits that the kernel keeps for each process, set by `prlimit` in front of it.


TOOLS = (b"/usr/bin/prlimit", b"/bin/prlimit")

_DESCRIPTORS = 1024

# A limit of 1 also keeps a program that collects core dumps away; a limit of 0 does not.
_CORE = 1


def prlimit_prefix(limits: ProcessLimits) -> tuple[bytes, ...]:
    """Returns the arguments to put before a command; none if there is no `prlimit`.

    Without it processes and memory are still counted, only later. The number of processes is not
    limited this way: the kernel counts everything the user runs, and does not count for root.
    """
    tool = next((tool for tool in TOOLS if os.access(tool, os.X_OK)), None)
    if tool is None:
        return ()
    wanted = {
        b"--data": (resource.RLIMIT_DATA, limits.memory),  # node and java reserve far more room
        b"--nofile": (resource.RLIMIT_NOFILE, _DESCRIPTORS),
        b"--core": (resource.RLIMIT_CORE, _CORE),
    }
    if limits.file:
        wanted[b"--fsize"] = (resource.RLIMIT_FSIZE, limits.file)
    values = [b"%s=%d" % (option, _allowed(*want)) for option, want in wanted.items()]
    return (tool, *values, b"--")


def _allowed(which: int, wanted: int) -> int:
    """Returns the wanted limit, or the hard limit if that is lower: it cannot be raised."""
    hard = resource.getrlimit(which)[1]
    return wanted if hard == resource.RLIM_INFINITY else min(hard, wanted)


# Resource usage: whether a call has too many processes or too much memory, counted from outside.
#
# The kernel does not limit the number of processes of root, so it is counted here.


_BLOCK = 512
_KIBIBYTE = 1024
_COUNTED = (b"RssAnon:", b"RssShmem:", b"Threads:")
_HOST = "/proc"

# Fields of /proc/PID/stat after the name, which may itself hold blanks and brackets.
_PARENT, _SESSION = 1, 3


class ResourceUsage(msgspec.Struct, frozen=True):
    """What processes use together; a thread counts as much as a process."""

    processes: int = 0
    memory: int = 0

    def plus(self, other: "ResourceUsage") -> "ResourceUsage":
        return ResourceUsage(self.processes + other.processes, self.memory + other.memory)

    def over(self, limits: ProcessLimits) -> str:
        """Returns which limit this exceeds, or an empty string."""
        if self.processes > limits.processes:
            return "processes"
        return "memory" if self.memory > limits.memory else ""


# Looks at what some processes have started, and returns the limit that they are above, if any.
UsageCheck = Callable[[Sequence[int], ProcessLimits], str]


def confined_limit_exceeded(leaders: Sequence[int], limits: ProcessLimits) -> str:
    """Returns which limit the sandboxes of these processes exceed, or an empty string."""
    inner = [proc for leader in leaders for init in child_pids(leader) for proc in _own_proc(init)]
    listed = [(proc, _pids(proc)) for proc in inner]
    # While programs multiply, every look takes longer than the one before; so count first.
    if sum(len(pids) for _, pids in listed) > limits.processes:
        return "processes"
    return _first_over((_usage(proc, pid) for proc, pids in listed for pid in pids), limits)


def unlinked_bytes(leaders: Sequence[int], top: bytes) -> int:
    """Counts what open files without a name take on the disk of a folder, in some sandboxes.

    No listing shows them. A file that is only mapped is not found here.
    """
    found: dict[tuple[int, int], int] = {}
    for init in [init for leader in leaders for init in child_pids(leader)]:
        for proc in _own_proc(init):
            with suppress(OSError):  # processes and files come and go
                disk = os.stat(os.fsencode(f"{_HOST}/{init}/root") + top).st_dev
                found |= {
                    (seen.st_dev, seen.st_ino): seen.st_blocks * _BLOCK
                    for pid in _pids(proc)
                    for seen in _open_files(f"{proc}/{pid}/fd")
                    if not seen.st_nlink and S_ISREG(seen.st_mode) and seen.st_dev == disk
                }
    return sum(found.values())


def _open_files(descriptors: str) -> Iterator[os.stat_result]:
    try:
        names = os.listdir(descriptors)
    except OSError:
        return
    for name in names:
        with suppress(OSError):
            yield os.stat(f"{descriptors}/{name}")


def unconfined_limit_exceeded(leaders: Sequence[int], limits: ProcessLimits) -> str:
    """Returns which limit the sessions of these processes exceed, or an empty string."""
    newest = sorted(_pids(_HOST), reverse=True)
    ours = (pid for pid in newest if _session(pid) in leaders)
    return _first_over((_usage(_HOST, pid) for pid in ours), limits)


def orphaned_session_members(session: int) -> list[int]:
    """Returns the processes of a session whose leader has ended."""
    try:
        os.killpg(session, 0)
    except OSError:  # as nearly always: no process remains
        return []
    return session_members(session)


def session_members(session: int) -> list[int]:
    """Returns the processes of a session, its leader included, in any group."""
    return [pid for pid in _pids(_HOST) if _session(pid) == session]


def descendants(pid: int) -> list[int]:
    """Returns the processes that a process has started or adopted, and their descendants."""
    stats = {each: _stat(_HOST, each) for each in _pids(_HOST)}
    parents = {each: int(fields[_PARENT]) for each, fields in stats.items() if fields}
    found = [pid]
    for one in found:
        found += [child for child, parent in parents.items() if parent == one]
    return found[1:]


def process_name(pid: int) -> bytes:
    """Returns the name of a process; nothing if it is gone."""
    try:
        with open(f"{_HOST}/{pid}/comm", "rb") as file:
            return file.read().strip()
    except OSError:
        return b""


def is_alive(pid: int) -> bool:
    """Tells whether a process exists and has not exited; an unreaped one has exited."""
    fields = _stat(_HOST, pid)
    return bool(fields) and fields[0] not in (b"Z", b"X")


def child_pids(pid: int) -> list[int]:
    """Returns the direct children of a single-threaded process."""
    try:
        with open(f"{_HOST}/{pid}/task/{pid}/children", "rb") as file:
            return [int(child) for child in file.read().split()]
    except FileNotFoundError:  # the process is gone, or the kernel was built without this
        return _children_by_search(pid) if os.path.exists(f"{_HOST}/{pid}") else []
    except OSError:
        return []


def _children_by_search(pid: int) -> list[int]:
    stats = {child: _stat(_HOST, child) for child in _pids(_HOST)}
    return [child for child, f in stats.items() if f and int(f[_PARENT]) == pid]


def _own_proc(init: int) -> Iterator[str]:
    """Yields the /proc of a sandbox, which shows its own processes and no others."""
    inner = f"{_HOST}/{init}/root/proc"
    try:
        ready = os.stat(inner).st_dev != os.stat(_HOST).st_dev
    except OSError:
        return
    if ready:  # before bubblewrap has changed the root, it is still that of the whole machine
        yield inner


def _first_over(usages: Iterable[ResourceUsage], limits: ProcessLimits) -> str:
    total = ResourceUsage()
    for usage in usages:
        total = total.plus(usage)
        if cut := total.over(limits):
            return cut
    return ""


def _usage(proc: str, pid: int) -> ResourceUsage:
    """Counts memory that no file backs; what processes share counts for each of them."""
    try:
        with open(f"{proc}/{pid}/status", "rb") as file:
            fields = dict(line.split(b":", 1) for line in file if line.startswith(_COUNTED))
    except (OSError, ValueError):
        return ResourceUsage()
    numbers = {name: int(value.split()[0]) for name, value in fields.items()}
    memory = numbers.get(b"RssAnon", 0) + numbers.get(b"RssShmem", 0)
    return ResourceUsage(numbers.get(b"Threads", 0), memory * _KIBIBYTE)


def _stat(proc: str, pid: int) -> list[bytes]:
    try:
        with open(f"{proc}/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()
    except OSError:
        return []


def _session(pid: int) -> int:
    try:
        return os.getsid(pid)  # a twentieth of what reading the file costs
    except PermissionError:  # a security module keeps that call for itself
        fields = _stat(_HOST, pid)
        return int(fields[_SESSION]) if fields else 0
    except OSError:
        return 0


def _pids(proc: str) -> list[int]:
    try:
        return [int(name) for name in os.listdir(proc) if name.isdigit()]
    except OSError:
        return []
