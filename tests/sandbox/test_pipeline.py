"""A pipeline streams, ends as a shell's would, and leaves nothing behind, whatever happens."""

import gc
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest
from tests.sandbox.profiles import (
    Outcome,
    confined,
    left_over,
    long_time,
    needs_bubblewrap,
    profile,
    python,
    run,
    shell,
)

from assent.core.shell.process import OutputChunk, ProcessLimits, ProcessResult, Program, StderrMode
from assent.sandbox.runner.bubblewrap import BubblewrapRunner
from assent.sandbox.runner.resource_limits import child_pids
from assent.sandbox.runner.unconfined import NoSandboxRunner

Runner = BubblewrapRunner | NoSandboxRunner


@pytest.fixture(params=[pytest.param("confined", marks=needs_bubblewrap), "plain"])
def runner(request: pytest.FixtureRequest, tmp_path: Path) -> Runner:
    return confined(profile(tmp_path)) if request.param == "confined" else NoSandboxRunner()


@pytest.fixture(autouse=True, scope="module")
def nothing_from_before() -> None:
    """Takes away what tests of other modules left, and has nothing of theirs searched again."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    """No test may leave a descriptor open or a child behind."""
    gc.collect()  # what other tests left must not go in the middle of this one
    before = (sorted(os.listdir("/proc/self/fd")), child_pids(os.getpid()))
    yield
    assert (sorted(os.listdir("/proc/self/fd")), child_pids(os.getpid())) == before


def test_output_and_errors_come_apart(runner: Runner) -> None:
    assert run(runner, shell("echo out; echo err >&2")) == Outcome(0, b"out\n", b"err\n")


@pytest.mark.parametrize(
    ("errors", "expected"),
    [
        (StderrMode.KEPT, Outcome(0, b"out\n", b"err\n")),
        (StderrMode.DROPPED, Outcome(0, b"out\n")),
        (StderrMode.MERGED, Outcome(0, b"out\nerr\n")),
    ],
)
def test_errors_go_where_the_program_says(
    runner: Runner, errors: StderrMode, expected: Outcome
) -> None:
    assert run(runner, shell("echo out; echo err >&2", errors)) == expected
    piped = run(runner, shell("echo err >&2", errors), Program((b"/usr/bin/wc", b"-l")))
    count = b"1\n" if errors is StderrMode.MERGED else b"0\n"
    assert piped == Outcome(0, count, b"err\n" if errors is StderrMode.KEPT else b"")


@pytest.mark.parametrize(
    ("script", "code"),
    [("exit 0", 0), ("exit 3", 3), ("kill -TERM $$", 143), ("kill -KILL $$", 137)],
)
def test_the_code_is_that_of_a_shell(runner: Runner, script: str, code: int) -> None:
    assert run(runner, shell(script)) == Outcome(code)


def test_the_last_program_decides(runner: Runner) -> None:
    assert run(runner, shell("exit 5"), shell("cat; exit 0")) == Outcome(0)
    assert run(runner, shell("echo x"), shell("cat; exit 6")) == Outcome(6, b"x\n")


def test_who_writes_to_nobody_ends(runner: Runner) -> None:
    ended = run(runner, Program((b"/usr/bin/yes",)), Program((b"/usr/bin/head", b"-n1")))
    assert ended == Outcome(0, b"y\n")


def test_much_passes_through_three_programs(runner: Runner) -> None:
    size = 20 << 20
    source = Program((b"/usr/bin/head", b"-c%d" % size, b"/dev/zero"))
    counted = run(runner, source, Program((b"/bin/cat",)), Program((b"/usr/bin/wc", b"-c")))
    assert counted == Outcome(0, b"%d\n" % size)


def test_nothing_can_be_read_at_first(runner: Runner) -> None:
    code = "print(repr(sys.stdin.read()), os.ttyname(0) if os.isatty(0) else 'no terminal')"
    assert run(runner, python(code)) == Outcome(0, b"'' no terminal\n")


def test_f67_the_first_program_reads_what_it_is_given(runner: Runner) -> None:
    given = Program((b"/bin/cat",), stdin=b"one\ntwo\n")
    assert run(runner, given) == Outcome(0, b"one\ntwo\n")
    assert run(runner, given, Program((b"/usr/bin/wc", b"-l"))) == Outcome(0, b"2\n")


def test_f67_much_can_be_given_to_one_who_answers_at_once(runner: Runner) -> None:
    """More than any pipe holds, both ways: nobody waits for the other."""
    content = b"0123456789abcdef" * (1 << 17)
    code = "sys.stdout.write('x' * (1 << 20)); sys.stdout.flush(); print(len(sys.stdin.read()))"
    ended = run(runner, msgspec.structs.replace(python(code), stdin=content))
    assert ended == Outcome(0, b"x" * (1 << 20) + b"%d\n" % len(content))
    assert run(runner, Program((b"/bin/true",), stdin=content)) == Outcome(0)


def test_f67_what_is_given_cannot_be_changed(runner: Runner) -> None:
    code = "os.write(0, b'x')"
    ended = run(runner, msgspec.structs.replace(python(code), stdin=b"given"))
    assert ended.code == 1
    assert b"Bad file descriptor" in ended.errors


def test_output_comes_while_the_program_runs(runner: Runner) -> None:
    pieces = runner.run([shell("echo first; exec sleep 1000")], b"/", ProcessLimits())
    assert next(pieces) == OutputChunk(b"first\n")
    closing(pieces)


def test_what_a_program_leaves_behind_ends_with_it(runner: Runner) -> None:
    mark = long_time()
    assert run(runner, shell(f"sleep {mark} & echo hi")) == Outcome(0, b"hi\n")
    assert left_over(mark) == []


def test_what_has_no_output_left_ends_too(runner: Runner) -> None:
    mark = long_time()
    script = f"sleep {mark} >/dev/null 2>&1 & exec >/dev/null 2>&1; exit 4"
    assert run(runner, shell(script)) == Outcome(4)
    assert left_over(mark) == []


def closing(pieces: Iterator[OutputChunk | ProcessResult]) -> None:
    getattr(pieces, "close")()  # noqa: B009


def interrupted(pieces: Iterator[OutputChunk | ProcessResult]) -> None:
    with pytest.raises(KeyboardInterrupt):
        getattr(pieces, "throw")(KeyboardInterrupt())  # noqa: B009


@pytest.mark.parametrize("leave", [closing, interrupted])
def test_whoever_leaves_early_ends_everything(
    runner: Runner, leave: Callable[[Iterator[OutputChunk | ProcessResult]], None]
) -> None:
    mark = long_time()
    last = shell(f"read line; echo $line; sleep {mark} & exec sleep {mark}")
    programs = [shell(f"echo x; exec sleep {mark}"), last]
    pieces = runner.run(programs, b"/", ProcessLimits())
    assert next(pieces) == OutputChunk(b"x\n")
    leave(pieces)
    assert left_over(mark) == []


@pytest.mark.parametrize("milliseconds", range(0, 12, 1))
def test_it_can_end_at_any_moment_of_its_start(runner: Runner, milliseconds: int) -> None:
    mark = long_time()
    limits = ProcessLimits(seconds=milliseconds / 1000)
    assert run(runner, shell(f"exec sleep {mark}"), limits=limits) == Outcome(124, cut="time")
    assert left_over(mark) == []


def test_a_program_that_is_not_there(tmp_path: Path) -> None:
    missing = Program((b"/nowhere/program",))
    assert run(NoSandboxRunner(), missing).code == 127
    assert run(NoSandboxRunner(), missing, folder=b"/nowhere").cut == "start"


@needs_bubblewrap
@pytest.mark.parametrize("at", [0, 1])
def test_what_could_not_start_is_no_answer(tmp_path: Path, at: int) -> None:
    """An exit code of bubblewrap's own would read like one of the program."""
    programs = [shell("true", StderrMode.DROPPED), shell("true", StderrMode.DROPPED)]
    programs[at] = Program((b"/nowhere/program",), errors=StderrMode.DROPPED)
    assert run(confined(profile(tmp_path)), *programs) == Outcome(126, cut="start")
    nowhere = run(confined(profile(tmp_path)), shell("true"), folder=b"/nowhere")
    assert (nowhere.code, nowhere.cut) == (126, "start")


def test_own_variables_win_and_none_is_inherited(runner: Runner) -> None:
    program = Program(
        (b"/usr/bin/env",), environment=(("PAGER", "less"), ("OWN", "caf\u00e9\udcff"))
    )
    lines = run(runner, program).output.splitlines()
    assert {b"PAGER=less", b"OWN=caf\xc3\xa9\xff", b"TERM=dumb", b"LC_ALL=C.UTF-8"} <= {*lines}
    assert not any(line.startswith((b"PYTEST", b"PYENV", b"SSH")) for line in lines)


@needs_bubblewrap
def test_law_6_a_sandbox_that_is_killed_from_outside_may_have_done_its_work(tmp_path: Path) -> None:
    others = set(child_pids(os.getpid()))
    script = shell(f"echo begun; exec sleep {long_time()}")
    parts = confined(profile(tmp_path)).run([script], b"/", ProcessLimits(seconds=30))
    assert next(parts) == OutputChunk(b"begun\n")
    [bubblewrap] = set(child_pids(os.getpid())) - others
    os.kill(bubblewrap, signal.SIGKILL)
    *_, ended = parts
    assert isinstance(ended, ProcessResult)
    assert (ended.code, ended.cut) == (137, "unknown")
