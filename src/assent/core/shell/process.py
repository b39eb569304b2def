"""Programs to run: words on a line, variables, limits, output and results."""

import re
from collections.abc import Callable, Iterable
from enum import StrEnum
from signal import SIGHUP, SIGINT, Signals
from typing import Final

import msgspec

from assent.core.errors import Refused
from assent.core.paths import one_line
from assent.core.plan.operation import CommandProfile


class StderrMode(StrEnum):
    """Where a program's stderr goes."""

    KEPT = "kept"
    DROPPED = "2>/dev/null"
    MERGED = "2>&1"


class Program(msgspec.Struct, frozen=True):
    """One program of a pipeline: an absolute path, its arguments and its environment.

    `environment` adds to the few variables that every program gets; none is inherited. Only the
    first program of a pipeline can be given input.
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


MAX_COMMAND_S: Final = 86_400  # seconds that a plan's command may be given
MIN_SECONDS = 0.1  # seconds of a command that begins when the time of its turn is over


def never_stopped() -> bool:
    """Never asks a program to stop."""
    return False


class ProcessLimits(msgspec.Struct, frozen=True):
    """How much one call may use before it is stopped, and how to stop it at once."""

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
    """How programs are confined."""

    HELD = "held"  # a sandbox that its self-test could not leave
    NONE = "none"  # no sandbox can be had here: only the narrower class of commands runs
    OFF = "off"  # there is a sandbox and it leaks: nothing runs


class SandboxStatus(msgspec.Struct, frozen=True):
    """Whether programs can be confined here; `reason` says why not, and `next` what helps."""

    hold: SandboxState
    reason: str = ""
    next: str = ""


# Refuses invalid environment variables, and those that decide which programs run.


_HELP: Final = "assent stage run --help"
_VARIABLE_NAME: Final = rb"[A-Za-z_][A-Za-z0-9_]*"  # compiled by the first plan with variables

# The sandbox sets these itself, a loader or a shell would run what they name before the command,
# or they are ours. A script that really needs one can set it where a reviewer reads it.
_REFUSED_VARIABLES: Final = (
    rb"PATH|HOME|TMPDIR|USER|LOGNAME|LD_\w*|DYLD_\w*|GLIBC_TUNABLES|GCONV_PATH|BASH_ENV|ENV"
    rb"|SHELLOPTS|BASHOPTS|BASH_FUNC_\w*|IFS|PS4|PROMPT_COMMAND|ASSENT_\w*"
)


def refuse_variables(variables: Iterable[tuple[bytes, bytes]]) -> None:
    """Refuses variables that commands never receive, and says what to do instead."""
    known: set[bytes] = set()
    for name, value in variables:
        if not re.fullmatch(_VARIABLE_NAME, name):
            raise Refused(f"{one_line(name)!a} is not a valid variable name.", _HELP)
        if b"\0" in value:
            told = f"The value of {one_line(name)} contains a null byte."
            raise Refused(told, _HELP)
        if re.fullmatch(_REFUSED_VARIABLES, name):
            raise Refused(
                f"{one_line(name)} controls which programs run, so commands do not receive it. A "
                "script can set it for one program, where a reviewer sees it.",
                "assent stage run --script 'NAME=VALUE PROGRAM'",
            )
        if name in known:
            raise Refused(f"{one_line(name)} is given twice.", _HELP)
        known.add(name)


# Shell quoting: words written so that a shell reads them back, and a command as one line.


_PLAIN_WORD: Final = re.compile(r"[\w@%+=:,./-]+", re.ASCII)


def shell_quoted(word: str) -> str:
    """Returns a word quoted for the shell."""
    if _PLAIN_WORD.fullmatch(word):
        return word
    return "'" + word.replace("'", "'\"'\"'") + "'"


def script_line(script: str) -> str:
    """Returns the first line of a script that says something, and how many there are if more."""
    lines = script.strip("\r\n").split("\n")
    first = next((line.rstrip("\r") for line in lines if line.strip()), "")
    return first if len(lines) == 1 else f"{first} ({len(lines)} lines)"


def shell_line(argv: Iterable[bytes]) -> str:
    """Returns the words of a command on one line; what does not print is escaped."""
    return " ".join([shell_quoted(one_line(word)) for word in argv])
