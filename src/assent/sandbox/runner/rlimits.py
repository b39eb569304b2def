"""Resource limits that the kernel keeps for each process, set by `prlimit` in front of it."""

import os
import resource

from assent.core.shell.process import ProcessLimits

TOOLS = (b"/usr/bin/prlimit", b"/bin/prlimit")

_DESCRIPTORS = 1024

# A limit of 1 also keeps a program that collects core dumps away; a limit of 0 does not.
_CORE = 1


def prlimit_prefix(limits: ProcessLimits) -> tuple[bytes, ...]:
    """Returns the words to put before a command; nothing where there is no `prlimit`.

    Without it the watch still counts processes and memory, only later. The number of processes is
    no limit of this kind: the kernel counts all that the person runs, and does not count for root.
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
    """Nobody may raise a limit above the one that he has."""
    hard = resource.getrlimit(which)[1]
    return wanted if hard == resource.RLIM_INFINITY else min(hard, wanted)
