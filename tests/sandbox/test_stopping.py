"""A program ends as soon as somebody says so, with everything that it started."""

from pathlib import Path
from threading import Event
from time import sleep

import pytest
from tests.sandbox.cell import (
    Outcome,
    confined,
    left_over,
    long_time,
    needs_bubblewrap,
    profile,
    run,
    shell,
)

from assent.core.process import Chunk, Ended, Limits
from assent.sandbox.running.bubblewrap import Bubblewrap
from assent.sandbox.running.plain import Plain

Runner = Bubblewrap | Plain


@pytest.fixture(params=[pytest.param("confined", marks=needs_bubblewrap), "plain"])
def runner(request: pytest.FixtureRequest, tmp_path: Path) -> Runner:
    return confined(profile(tmp_path)) if request.param == "confined" else Plain()


def test_a_program_that_says_nothing_is_ended(runner: Runner) -> None:
    stop, mark = Event(), long_time()
    script = shell(f"echo begun; sleep {mark} & exec sleep {mark}")
    parts = runner.run([script], b"/", Limits(seconds=60, stopped=stop.is_set))
    assert next(parts) == Chunk(b"begun\n")
    assert left_over(mark)
    stop.set()
    [ended] = parts
    assert isinstance(ended, Ended)
    assert (ended.code, ended.cut) == (130, "interrupted")
    assert left_over(mark) == []


def test_a_program_that_says_a_lot_is_ended(runner: Runner) -> None:
    stop = Event()
    parts = runner.run([shell("yes")], b"/", Limits(output=1 << 40, stopped=stop.is_set))
    next(parts)
    stop.set()
    *_, ended = parts
    assert isinstance(ended, Ended)
    assert (ended.code, ended.cut) == (130, "interrupted")


def test_no_step_follows_the_one_that_is_ended(runner: Runner, tmp_path: Path) -> None:
    made, mark = tmp_path / "made", long_time()
    waits = f"sleep {mark} & first=$!; for i in $(seq 60); do sleep {mark} & done"
    script = shell(f"{waits}; echo begun; wait $first; : > {made}")
    stop = Event()
    parts = runner.run([script], b"/", Limits(seconds=60, stopped=stop.is_set))
    assert next(parts) == Chunk(b"begun\n")
    sleep(0.1)  # until it waits for the first, whose end must not wake it
    stop.set()
    *_, ended = parts
    assert isinstance(ended, Ended)
    assert (ended.cut, left_over(mark), made.exists()) == ("interrupted", [], False)


def test_where_it_was_said_before_nothing_begins(runner: Runner, tmp_path: Path) -> None:
    made = tmp_path / "made"
    ended = run(runner, shell(f"touch {made}"), limits=Limits(stopped=lambda: True))
    assert ended == Outcome(130, cut="interrupted")
    assert not made.exists()
