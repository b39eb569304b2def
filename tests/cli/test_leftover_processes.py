"""What a command without the sandbox leaves running: named when it ended, ended when it was cut."""

import os
import re
import shlex
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from time import sleep

import pytest
from tests.cli.harness import PROGRAM, TICK_S, World
from tests.sandbox.profiles import left_over, long_time
from tests.support import forked_python

KILL = re.compile(r"process (\d+) \((\w+)\) \(`(kill \d+)` stops it\)")

QUIET = ">/dev/null 2>&1"
TRIES = 10
LIMIT_S = 12  # for what a busy machine does in less
_PLANS = count()


@contextmanager
def sleeping(mark: str) -> Iterator[None]:
    """Ends whatever sleeps for that long in the end."""
    try:
        yield
    finally:
        for pid in _sleepers(mark):
            os.kill(pid, signal.SIGKILL)


def _sleepers(mark: str) -> list[int]:
    line = f"sleep\0{mark}\0".encode()
    return [int(name) for name in filter(str.isdigit, os.listdir("/proc")) if _line(name) == line]


def _line(pid: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def away(mark: str, quiet: str = "") -> str:
    """Returns a line of a script that has something leave the session, and waits until it has."""
    inner = f"(setsid sh -c 'echo > begun; exec sleep {mark}' {quiet} &);"
    return f"{inner} until [ -e begun ]; do sleep 0.02; done"


def approved(world: World, script: str, seconds: int = 60) -> None:
    world.plan(f"plan-{next(_PLANS)}")
    world.ok("stage", "run", "--no-sandbox", "--timeout", str(seconds), "--script", script)
    world.approve()


@pytest.mark.parametrize("quiet", ["", QUIET], ids=["holds the output", "holds none"])
def test_a_command_that_ended_is_done_and_what_it_left_is_named(world: World, quiet: str) -> None:
    mark = long_time()
    approved(world, f"{away(mark, quiet)}; echo said")
    with sleeping(mark):
        answer = world.process("build")
        assert (answer.code, answer.err) == (0, b"")
        told = KILL.search(answer.out.decode())
        assert told is not None, answer
        assert told[2] == "sleep"
        assert b"  | said\n" in answer.out
        subprocess.run(shlex.split(told[3]), check=True)
        while left_over(mark):
            sleep(TICK_S)


def test_the_exit_code_is_that_of_the_command_whatever_it_left(world: World) -> None:
    mark = long_time()
    approved(world, f"{away(mark)}; exit 3")
    with sleeping(mark):
        answer = world.process("build")
        assert answer.code == 6
        assert b"(exit 3)" in answer.out
        assert KILL.search(answer.out.decode())
        assert world.run("recover", "--accept").code == 0


def test_what_ends_by_itself_in_a_moment_is_not_named(world: World) -> None:
    script = "setsid sh -c 'echo > begun; sleep 0.1; echo late' & until [ -e begun ]; do :; done"
    for _ in range(TRIES):  # on a busy machine it may take longer than a moment
        approved(world, f"rm -f begun; {script}")
        answer = world.process("build")
        assert answer.code == 0
        if b"left running" not in answer.out:
            break
    assert b"late" in answer.out
    assert b"left running" not in answer.out


def test_a_command_that_was_cut_ends_with_all_that_left_its_session(world: World) -> None:
    mark, other = long_time(), long_time()
    approved(world, f"{away(mark, QUIET)}; sleep {other}", seconds=1)
    with sleeping(mark):
        answer = world.process("build")
        assert answer.code == 6
        assert b"(exit 124)" in answer.out
        assert left_over(mark) == left_over(other) == []
    assert world.run("recover", "--accept").code == 0


def test_law_6_what_outlives_a_killed_assent_is_named_with_what_ends_it(world: World) -> None:
    mark = long_time()
    approved(world, f"{away(mark, QUIET)}; echo begun; sleep 60")
    line = [*PROGRAM, "build"]
    with sleeping(mark):
        with forked_python.Popen(
            line, cwd=world.root, env=world.env, stdout=subprocess.PIPE
        ) as work:
            assert work.stdout is not None
            while b"| begun" not in work.stdout.readline():
                pass
            os.kill(work.pid, signal.SIGKILL)
        refused = world.no(6, "recover", "--accept")
        told = KILL.search(refused["message"])
        assert told is not None, refused
        assert told[2] == "sleep"
        subprocess.run(shlex.split(told[3]), check=True)
        while left_over(mark):
            sleep(TICK_S)
    assert world.run("recover", "--accept").code == 0


def test_time_in_which_nobody_reads_is_not_the_command_s(world: World) -> None:
    """What it says does not fit into the pipe, so that it waits for the reader all that time."""
    approved(world, "seq 100000; exit 0", seconds=LIMIT_S)
    reader = f"head -c 1; sleep {LIMIT_S + 1}; cat"  # from when on something comes
    line = f"{{ {shlex.join(PROGRAM)} build; echo ended $?; }} | ({reader})"
    answer = world.start(["sh", "-c", line])
    assert answer.out.endswith(b"ended 0\n"), answer.out[-1000:]
    assert b"  | 100000\n" in answer.out
