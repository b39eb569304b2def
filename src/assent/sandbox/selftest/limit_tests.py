"""Limit tests: the environment and limits of a call, and that nothing of it outlives it."""

import os
import secrets
import time
from collections.abc import Callable, Collection, Sequence
from typing import Final

from assent.core.shell.process import OutputChunk, ProcessLimits, ProcessResult, Program
from assent.sandbox.runner.pipeline import BASE_ENVIRONMENT
from assent.sandbox.selftest.canaries import Canaries
from assent.sandbox.selftest.escape_tests import EscapeOutcome, EscapeTest, EscapeTestResult
from assent.sandbox.selftest.host_paths import COMMAND
from assent.sandbox.selftest.selftest import ConfinementFactory, PipelineRunner
from assent.sandbox.temp_folder import temp_folder

# Leaves a child running, as daemons do, in a separate session; one of its arguments is the mark.
_LEAVE: Final = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        null = os.open("/dev/null", os.O_RDWR)
        for number in range(3):
            os.dup2(null, number)
        wait = [sys.argv[1], "-I", "-S", "-c", "import time; time.sleep(60)", sys.argv[2]]
        os.execv(sys.argv[1], wait)
    os._exit(0)
os.wait()
time.sleep(float(sys.argv[3]))
"""
# Without a sandbox to end them, the children must end by themselves and never reach the loop.
FORK: Final = """
import os, sys, time
started = 0
try:
    for _ in range(int(sys.argv[1])):
        if os.fork() == 0:
            time.sleep(30)
            os._exit(0)
        started += 1
except OSError:
    pass
print(started, flush=True)
if started > int(sys.argv[2]):
    time.sleep(15)
"""
_ALLOCATE: Final = """
import sys
blocks = []
try:
    for _ in range(int(sys.argv[1])):
        blocks.append(b"x" * (1 << 20))
except MemoryError:
    pass
print(len(blocks), flush=True)
"""
_VARIABLES: Final = "import os; print(*sorted(os.environ), sep='\\n')"
HARMLESS: Final = frozenset(
    [
        *map(os.fsdecode, BASE_ENVIRONMENT),
        "HOME",
        "LC_CTYPE",
        "LOGNAME",
        "PATH",
        "PWD",
        "TMPDIR",
        "USER",
    ]
)

_MOST: Final = 32
_MEBIBYTE: Final = 1 << 20
_MEMORY: Final = 256
_OUTPUT: Final = 64 << 10
_PATIENCE: Final = 30.0  # seconds, of a machine that is busy


def run_limit_tests(
    confine: ConfinementFactory, names: Collection[str] = ()
) -> tuple[EscapeTestResult, ...]:
    """Tests these limits of a call, or all, in a scratch workspace; returns a result for each."""
    checks = {
        trial: check for trial, check in LIMIT_TESTS.items() if not names or trial.name in names
    }
    with temp_folder() as place:
        ground = Canaries(place, "", None).ground
        runner, folder = confine(ground), os.fsencode(ground.root)
        return tuple(
            EscapeTestResult(trial, *_judged(check, runner, folder))
            for trial, check in checks.items()
        )


def _judged(
    check: Callable[[PipelineRunner, bytes], str], runner: PipelineRunner, folder: bytes
) -> tuple[EscapeOutcome, str]:
    """A boundary holds if its check finds nothing to say; a check that breaks finds something."""
    try:
        wrong = check(runner, folder)
    except (OSError, ValueError, IndexError) as error:
        wrong = f"The test could not run: {type(error).__name__}: {error}"
    return (EscapeOutcome.LEAKED, wrong) if wrong else (EscapeOutcome.HELD, "")


def _run(
    runner: PipelineRunner,
    folder: bytes,
    script: str,
    arguments: Sequence[object] = (),
    **limits: float,
) -> tuple[bytes, ProcessResult, float]:
    argv = (*COMMAND, "-c", script, *map(str, arguments))
    began = time.monotonic()
    wanted = ProcessLimits(**{"seconds": 20, **limits})  # type: ignore[arg-type]
    pieces = list(runner((Program(tuple(map(os.fsencode, argv))),), folder, wanted))
    output = b"".join(p.content for p in pieces if isinstance(p, OutputChunk) and not p.error)
    last = pieces[-1]
    if not isinstance(last, ProcessResult):
        raise ValueError("the call did not end")
    return output, last, time.monotonic() - began


def _environment(runner: PipelineRunner, folder: bytes) -> str:
    output, ended, _ = _run(runner, folder, _VARIABLES)
    names = output.decode().split()
    strange = [name for name in names if name not in HARMLESS]
    if ended.code or not names:
        return f"The program exited with code {ended.code}."
    return f"These variables were inherited: {', '.join(strange)}." if strange else ""


def _time(runner: PipelineRunner, folder: bytes) -> str:
    _, ended, took = _run(runner, folder, "import time; time.sleep(60)", seconds=0.5)
    if not ended.cut or took > _PATIENCE:
        return f"A call limited to 0.5 s ended after {took:.1f} s."
    return ""


def _output(runner: PipelineRunner, folder: bytes) -> str:
    script = "import sys\nfor _ in range(4000): sys.stdout.write('x' * 1024)"
    output, ended, _ = _run(runner, folder, script, output=_OUTPUT)
    if not ended.cut or len(output) > _OUTPUT:
        return f"A call limited to {_OUTPUT} bytes returned {len(output)}."
    return ""


def _processes(runner: PipelineRunner, folder: bytes) -> str:
    output, ended, took = _run(runner, folder, FORK, [_MOST * 4, _MOST], processes=_MOST)
    if ended.cut:
        return ""
    started = int(output or b"0")
    return (
        ""
        if started <= _MOST
        else (f"{started} processes ran, but the limit is {_MOST} ({took:.1f} s).")
    )


def _memory(runner: PipelineRunner, folder: bytes) -> str:
    output, ended, _ = _run(runner, folder, _ALLOCATE, [_MEMORY * 4], memory=_MEMORY * _MEBIBYTE)
    if ended.cut or ended.code:
        return ""
    blocks = int(output or b"0")
    return "" if blocks <= _MEMORY else f"{blocks} MiB were allocated, but the limit is {_MEMORY}."


def _nothing_left(runner: PipelineRunner, folder: bytes) -> str:
    mark = f"assent-mark-{secrets.token_hex(8)}"
    _, ended, _ = _run(runner, folder, _LEAVE, [COMMAND[0], mark, 0])
    alive = _alive(mark)
    if ended.code and not alive:
        return f"The program exited with code {ended.code}, so the test is inconclusive."
    return "A process is still running after the call." if alive else ""


def _nothing_left_when_cut(runner: PipelineRunner, folder: bytes) -> str:
    mark = f"assent-mark-{secrets.token_hex(8)}"
    _run(runner, folder, _LEAVE, [COMMAND[0], mark, 60], seconds=1)
    return "A process is still running after the call." if _alive(mark) else ""


def _alive(mark: str) -> bool:
    """Tells whether a process with this word in its command line runs, and ends it."""
    wanted = os.fsencode(mark)
    alive = False
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                ours = wanted in file.read().split(b"\0") and int(pid) != os.getpid()
            if ours:
                alive = True
                os.kill(int(pid), 9)
        except OSError:
            continue
    return alive


LIMIT_TESTS: Final[dict[EscapeTest, Callable[[PipelineRunner, bytes], str]]] = {
    EscapeTest("environment", "call", "find variables of the caller"): _environment,
    EscapeTest("time", "call", "run longer than allowed"): _time,
    EscapeTest("output", "call", "print more than allowed"): _output,
    EscapeTest("processes", "call", "start more processes than allowed"): _processes,
    EscapeTest("memory", "call", "use more memory than allowed"): _memory,
    EscapeTest("left_behind", "call", "leave a process behind"): _nothing_left,
    EscapeTest(
        "left_when_cut", "call", "leave a process behind when stopped early"
    ): _nothing_left_when_cut,
}

# The standing rests on the quick ones, which the self-test makes; the doctor makes the others, too.
QUICK: Final = frozenset({"environment", "left_behind"})
SLOW: Final = frozenset(trial.name for trial in LIMIT_TESTS) - QUICK
