"""A program ends as soon as somebody says so, with everything that it started."""

import os
import shutil
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from signal import SIGKILL
from threading import Event
from time import monotonic, sleep

import pytest
from tests.crash.sweep import in_child
from tests.disks.possible import PRIVILEGE
from tests.sandbox.profiles import (
    Outcome,
    confined,
    left_over,
    long_time,
    needs_bubblewrap,
    profile,
    run,
    shell,
)
from tests.support.threads import until

from assent.core.shell.process import OutputChunk, ProcessLimits, ProcessResult, Program
from assent.sandbox.runner.bubblewrap import BubblewrapRunner
from assent.sandbox.runner.process_tree import wait_or_kill
from assent.sandbox.runner.unconfined import NoSandboxRunner

Runner = BubblewrapRunner | NoSandboxRunner


@pytest.fixture(params=[pytest.param("confined", marks=needs_bubblewrap), "plain"])
def runner(request: pytest.FixtureRequest, tmp_path: Path) -> Runner:
    return confined(profile(tmp_path)) if request.param == "confined" else NoSandboxRunner()


def test_a_program_that_says_nothing_is_ended(runner: Runner) -> None:
    stop, mark = Event(), long_time()
    script = shell(f"echo begun; sleep {mark} & exec sleep {mark}")
    parts = runner.run([script], b"/", ProcessLimits(seconds=60, stopped=stop.is_set))
    assert next(parts) == OutputChunk(b"begun\n")
    until(lambda: left_over(mark))  # what becomes another program has no words for a moment
    stop.set()
    [ended] = parts
    assert isinstance(ended, ProcessResult)
    assert (ended.code, ended.cut) == (130, "interrupted")
    assert left_over(mark) == []


def test_a_program_that_says_a_lot_is_ended(runner: Runner) -> None:
    stop = Event()
    parts = runner.run([shell("yes")], b"/", ProcessLimits(output=1 << 40, stopped=stop.is_set))
    next(parts)
    stop.set()
    *_, ended = parts
    assert isinstance(ended, ProcessResult)
    assert (ended.code, ended.cut) == (130, "interrupted")


def test_no_step_follows_the_one_that_is_ended(runner: Runner, tmp_path: Path) -> None:
    made, mark = tmp_path / "made", long_time()
    waits = f"sleep {mark} & first=$!; for i in $(seq 60); do sleep {mark} & done"
    script = shell(f"{waits}; echo begun; wait $first; : > {made}")
    stop = Event()
    parts = runner.run([script], b"/", ProcessLimits(seconds=60, stopped=stop.is_set))
    assert next(parts) == OutputChunk(b"begun\n")
    sleep(0.1)  # until it waits for the first, whose end must not wake it
    stop.set()
    *_, ended = parts
    assert isinstance(ended, ProcessResult)
    assert (ended.cut, left_over(mark), made.exists()) == ("interrupted", [], False)


VFORKS = """
import ctypes, sys, time
libc = ctypes.CDLL(None)
print("begun", flush=True)
if libc.vfork() == 0:
    time.sleep(float(sys.argv[1]))
"""


def test_a_program_that_waits_for_a_child_to_begin_is_ended() -> None:
    stop, mark = Event(), long_time()
    program = Program((os.fsencode(sys.executable), b"-Sc", VFORKS.encode(), mark.encode()))
    parts = NoSandboxRunner().run([program], b"/", ProcessLimits(seconds=600, stopped=stop.is_set))
    assert next(parts) == OutputChunk(b"begun\n")
    sleep(0.1)
    stop.set()
    began = monotonic()
    *_, ended = parts
    assert isinstance(ended, ProcessResult)
    assert (ended.cut, left_over(mark)) == ("interrupted", [])
    assert monotonic() - began < 60, "it hung"  # the child would sleep far longer


def test_every_group_of_its_session_is_ended(runner: Runner, tmp_path: Path) -> None:
    made, mark = tmp_path / "made", long_time()
    stop = Event()
    script = f'timeout 90 sh -c "echo begun; sleep {mark}; : > {made}"; true'
    parts = runner.run([shell(script)], b"/", ProcessLimits(seconds=60, stopped=stop.is_set))
    assert next(parts) == OutputChunk(b"begun\n")
    stop.set()
    *_, ended = parts
    assert isinstance(ended, ProcessResult)
    assert (ended.cut, left_over(mark), made.exists()) == ("interrupted", [], False)


@pytest.mark.skipif(os.geteuid() != 0, reason=f"{PRIVILEGE} become another user: it takes root.")
def test_what_became_another_user_s_is_let_go() -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as name:  # where everybody may go
        os.chmod(name, 0o755)
        helper = shutil.copy(shutil.which("setpriv") or "setpriv", name)
        os.chmod(helper, 0o4755)
        words = (helper.encode(), b"--reuid=1", b"--clear-groups", b"sleep", b"20")
        assert in_child(partial(as_nobody, words), list[str]) == ["124", "time"]


def as_nobody(words: tuple[bytes, ...]) -> list[str]:
    os.setgroups(())
    os.setresgid(65534, 65534, 65534)
    os.setresuid(65534, 65534, 65534)
    *_, ended = NoSandboxRunner().run([Program(words)], b"/", ProcessLimits(seconds=1))
    assert isinstance(ended, ProcessResult)
    return [str(ended.code), ended.cut]


def test_where_it_was_said_before_nothing_begins(runner: Runner, tmp_path: Path) -> None:
    made = tmp_path / "made"
    ended = run(runner, shell(f"touch {made}"), limits=ProcessLimits(stopped=lambda: True))
    assert ended == Outcome(130, cut="interrupted")
    assert not made.exists()


def test_a_helper_that_does_not_end_is_killed() -> None:
    for line, seconds, code in (("exit 3", 30, 3), ("exec sleep 600", 0.01, -SIGKILL)):
        helper = subprocess.Popen(["/bin/sh", "-c", line])
        wait_or_kill(helper, seconds)
        assert helper.returncode == code
