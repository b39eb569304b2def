"""Programs to run, their limits, output and results: the values of the ProcessRunner port."""

from collections.abc import Callable
from enum import StrEnum
from signal import SIGHUP, SIGINT, Signals
from typing import Final

import msgspec

from assent.core.plan.operation import CommandProfile


class StderrMode(StrEnum):
    """Where a program's stderr goes."""

    KEPT = "kept"
    DROPPED = "2>/dev/null"
    MERGED = "2>&1"


class Program(msgspec.Struct, frozen=True):
    """One program of a pipeline: an absolute path, its arguments, and the little it is told.

    `environment` adds to the few variables that every program gets; none is inherited. Only the
    first program of a pipeline can be given something to read.
    """

    argv: tuple[bytes, ...]
    environment: tuple[tuple[str, str], ...] = ()
    errors: StderrMode = StderrMode.KEPT
    stdin: bytes = b""


class CommandSpec(msgspec.Struct, frozen=True):
    """A command that may change the workspace: a line for the system's shell, or an argv."""

    line: str = ""
    argv: tuple[bytes, ...] = ()
    environment: tuple[tuple[bytes, bytes], ...] = ()
    profile: CommandProfile = "workspace"
    network: bool = False
    stdin: bytes = b""


MIN_SECONDS = 0.1  # seconds of a command that begins when the time of its turn is over


def never_stopped() -> bool:
    """Tells that nobody wants it to end."""
    return False


class ProcessLimits(msgspec.Struct, frozen=True):
    """How much one call may use before it is ended, and who tells that it is to end at once."""

    seconds: float = 60
    output: int = 4 << 20
    processes: int = 256
    memory: int = 4 << 30
    stopped: Callable[[], bool] = never_stopped  # asked again and again, by whatever thread
    file: int = 1 << 30  # bytes that any one file may have that it writes; 0: no limit


# Of commands that a person agreed to: builds and tests need more than looking around, and may
# write into files of any size. What is kept of their output is bounded elsewhere.
PLAN_COMMAND_LIMITS: Final = ProcessLimits(output=1 << 30, processes=1024, memory=8 << 30, file=0)


class OutputChunk(msgspec.Struct, frozen=True):
    """A piece of output, as it comes."""

    content: bytes
    error: bool = False


class ProcessResult(msgspec.Struct, frozen=True):
    """How a pipeline ended: the last program's exit code, and the limit that cut it short."""

    code: int
    cut: str = ""
    seconds: float = 0.0
    closed: tuple[str, ...] = ()  # where a confined command could not write, in words
    running: str = ""  # what it left running, in words
    lacks: str = ""  # what is missing here, so that it was not run, such as `sandbox`


INTERRUPTED_RESULT: Final = ProcessResult(130, "interrupted")  # as where a person presses Ctrl+C

# git ends with the code of SIGHUP where its options were wrong. That of SIGINT is also what is on
# record of a command that was interrupted, whichever signal told Assent to.
_UNSURE: Final = (SIGHUP, SIGINT)
_SIGNALS: Final = {128 + signal: signal.name for signal in Signals if signal not in _UNSURE}


def signal_of(code: int) -> str:
    """Returns the signal that an exit code stands for, where it most likely does."""
    return _SIGNALS.get(code, "")


class SandboxState(StrEnum):
    """What stands between a program and the machine."""

    HELD = "held"  # a sandbox that its self-test could not leave
    NONE = "none"  # no sandbox can be had here: only the narrower class of commands runs
    OFF = "off"  # there is a sandbox and it leaks: nothing runs


class SandboxStatus(msgspec.Struct, frozen=True):
    """Whether programs can be confined here; `reason` says why not, and `next` what helps."""

    hold: SandboxState
    reason: str = ""
    next: str = ""
