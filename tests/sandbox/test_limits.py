"""Each limit is reached for real, and named; whoever reaches one is gone afterwards."""

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from tests.sandbox.profiles import (
    Outcome,
    confined,
    inside,
    left_over,
    long_time,
    needs_bubblewrap,
    profile,
    python,
    run,
    shell,
)

from assent.core.shell.process import PLAN_COMMAND_LIMITS, ProcessLimits, Program
from assent.sandbox.runner.bubblewrap import BubblewrapRunner
from assent.sandbox.runner.resource_limits import (
    ResourceUsage,
    child_pids,
    prlimit_prefix,
    session_members,
)
from assent.sandbox.runner.unconfined import NoSandboxRunner

Runner = BubblewrapRunner | NoSandboxRunner
MEBIBYTE = 1 << 20


@pytest.fixture(params=[pytest.param("confined", marks=needs_bubblewrap), "plain"])
def runner(request: pytest.FixtureRequest, tmp_path: Path) -> Runner:
    return confined(profile(tmp_path)) if request.param == "confined" else NoSandboxRunner()


def test_time(runner: Runner) -> None:
    mark = long_time()
    ended = run(runner, shell(f"exec sleep {mark}"), limits=ProcessLimits(seconds=0.2))
    assert ended == Outcome(124, cut="time")
    assert left_over(mark) == []


@pytest.mark.parametrize("script", ["yes", "yes >&2", "yes & yes >&2"])
def test_output_of_all_streams_together(runner: Runner, script: str) -> None:
    ended = run(runner, shell(script), limits=ProcessLimits(output=100_001))
    assert (ended.code, ended.cut) == (137, "output")
    assert len(ended.output) + len(ended.errors) == 100_001


def test_output_of_just_the_limit_is_whole(runner: Runner) -> None:
    program = Program((b"/usr/bin/head", b"-c100000", b"/dev/zero"))
    assert run(runner, program, limits=ProcessLimits(output=100_000)) == Outcome(0, bytes(100_000))


# Doubles nine times and then waits: at most a thousand, should nobody stop it.
BOMB = """
b() { if [ $1 -gt 0 ]; then b $(($1 - 1)) & b $(($1 - 1)) & fi; exec sleep MARK; }
b 9
"""


def test_a_fork_bomb(runner: Runner) -> None:
    mark = long_time()
    ended = run(runner, shell(BOMB.replace("MARK", mark)), limits=ProcessLimits(processes=40))
    assert (ended.code, ended.cut) == (137, "processes")
    assert left_over(mark) == []


def test_threads_count(runner: Runner) -> None:
    code = """
import threading
for _ in range(100):
    threading.Thread(target=threading.Event().wait).start()
"""
    ended = run(runner, python(code), limits=ProcessLimits(processes=40))
    assert (ended.code, ended.cut) == (137, "processes")


def test_all_programs_of_a_pipeline_count(runner: Runner) -> None:
    mark = long_time()
    some = shell(f"for i in 1 2 3 4 5 6 7 8 9 10; do sleep {mark} & done; wait")
    ended = run(runner, some, some, some, limits=ProcessLimits(processes=25))
    assert (ended.code, ended.cut) == (137, "processes")
    assert left_over(mark) == []


def test_shared_memory_counts(runner: Runner) -> None:
    code = """
import mmap, time
shared = mmap.mmap(-1, 512 << 20)
for at in range(0, len(shared), 4096):
    shared[at] = 1
time.sleep(60)
"""
    ended = run(runner, python(code), limits=ProcessLimits(memory=256 * MEBIBYTE))
    assert (ended.code, ended.cut) == (137, "memory")


def test_memory_of_one_process(runner: Runner) -> None:
    ended = run(
        runner, python("print(len(b'x' * (1 << 30)))"), limits=ProcessLimits(memory=256 * MEBIBYTE)
    )
    assert (ended.code, ended.output) == (1, b"")
    assert b"MemoryError" in ended.errors


def test_memory_of_all_together(runner: Runner) -> None:
    code = (
        "for _ in range(5):\n    if not os.fork(): break\nkept = b'x' * (60 << 20)\nsignal.pause()"
    )
    ended = run(runner, python(code), limits=ProcessLimits(memory=200 * MEBIBYTE))
    assert (ended.code, ended.output, ended.cut) == (137, b"", "memory")


def test_the_kernel_keeps_the_others(runner: Runner) -> None:
    names = "DATA FSIZE NOFILE CORE"
    each = "print(*resource.getrlimit(getattr(resource, 'RLIMIT_' + name)))"
    code = f"import resource\nfor name in '{names}'.split(): {each}"
    ended = run(runner, python(code), limits=ProcessLimits(memory=1 << 32))
    hard = [resource.getrlimit(getattr(resource, f"RLIMIT_{n}"))[1] for n in names.split()]
    wanted = [1 << 32, 1 << 30, 1024, 1]
    allowed = [w if h == -1 else min(w, h) for w, h in zip(wanted, hard, strict=True)]
    assert ended == Outcome(0, "".join(f"{a} {a}\n" for a in allowed).encode())


def test_a_command_that_a_person_agreed_to_may_write_files_of_any_size(runner: Runner) -> None:
    own = resource.getrlimit(resource.RLIMIT_FSIZE)
    code = "import resource\nprint(*resource.getrlimit(resource.RLIMIT_FSIZE))"
    assert run(runner, python(code), limits=PLAN_COMMAND_LIMITS) == Outcome(
        0, "{} {}\n".format(*own).encode()
    )


def test_nothing_is_asked_of_the_kernel_that_it_would_refuse() -> None:
    assert prlimit_prefix(ProcessLimits(memory=1 << 50))[-1] == b"--"


@needs_bubblewrap
@pytest.mark.parametrize("folder", ["/tmp", "/var/tmp", "/run", "/dev/shm", "$HOME"])
def test_scratch_is_small(tmp_path: Path, folder: str) -> None:
    script = f"head -c 600000000 /dev/zero > {folder}/x; rm {folder}/x; echo $?"
    filled = inside(profile(tmp_path), shell(script))
    assert (filled.code, filled.output) == (0, b"0\n")
    assert b"No space left on device" in filled.errors


@needs_bubblewrap
@pytest.mark.parametrize("folder", ["/", "/dev", "/proc", "/home", "/etc", "/usr"])
def test_nothing_else_can_be_filled(tmp_path: Path, folder: str) -> None:
    filled = inside(profile(tmp_path), shell(f"mkdir {folder}/x"))
    assert filled.code != 0
    assert not os.path.exists(f"{folder}/x")


@pytest.mark.parametrize(
    ("usage", "cut"),
    [
        (ResourceUsage(10, 100), ""),
        (ResourceUsage(11, 100), "processes"),
        (ResourceUsage(10, 101), "memory"),
        (ResourceUsage(11, 101), "processes"),
    ],
)
def test_a_limit_is_what_may_still_be_used(usage: ResourceUsage, cut: str) -> None:
    assert usage.over(ProcessLimits(processes=10, memory=100)) == cut


def test_a_session_has_every_process_in_it_also_one_that_has_ended() -> None:
    code = "import os; os.fork() or os.setpgid(0, 0); print(flush=True); os.read(0, 1)"
    with subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    ) as leader:
        assert leader.stdin is not None
        assert leader.stdout is not None
        assert leader.stdout.read(2) == b"\n\n"
        other = next(iter(child_pids(leader.pid)))
        assert sorted(session_members(leader.pid)) == sorted([leader.pid, other])
        leader.stdin.write(b"12")
        leader.stdin.close()
        os.waitid(os.P_PID, leader.pid, os.WEXITED | os.WNOWAIT)
        assert leader.pid in session_members(leader.pid)
    assert leader.pid not in session_members(leader.pid)
