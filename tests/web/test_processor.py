"""The processor that the server's threads share: which it is, and that programs get all of them."""

import os
import subprocess
import sys
from threading import Event

import pytest

from assent.web.processor import busy_times, choose_processor
from assent.web.turn_pool import TurnPool

# In a process of its own: it moves its threads, and has a hook that cannot be removed.
STORY = """
import asyncio, os, subprocess, sys, threading
from assent.web.processor import SharedProcessor

PRINT = "import os; print(*sorted(os.sched_getaffinity(0)))"
allowed, wanted, release = os.sched_getaffinity(0), [False], threading.Event()

async def until(condition):
    while not condition():
        await asyncio.sleep(0.01)

def here(thread=0):
    return os.sched_getaffinity(thread)

async def story():
    other = threading.Thread(target=release.wait)
    other.start()
    task = asyncio.ensure_future(SharedProcessor(lambda: wanted[0]).run())
    await asyncio.sleep(0.6)
    assert here() == allowed, "nothing is at work"
    wanted[0] = True
    await until(lambda: len(here()) == 1 and here(other.native_id) == here())
    made = [sys.executable, "-c", PRINT]
    for start in (subprocess.run, lambda *a, **k: subprocess.run(*a, preexec_fn=int, **k)):
        done = await asyncio.to_thread(start, made, capture_output=True, text=True)
        assert {*map(int, done.stdout.split())} == allowed, done
    wanted[0] = False
    await until(lambda: here() == allowed == here(other.native_id))
    wanted[0] = True
    await until(lambda: len(here()) == 1)
    task.cancel()
    await until(lambda: here() == allowed)
    release.set()

asyncio.run(asyncio.wait_for(story(), 60))
"""
# Many threads start programs while threads are moved all the time.
CROWD = """
import asyncio, os, subprocess
from concurrent.futures import ThreadPoolExecutor
from assent.web import processor

processor.LOOK_S = 0.0
every = str(len(os.sched_getaffinity(0)))

def start(number):
    return subprocess.run(["nproc"], capture_output=True, text=True).stdout.strip()

async def story():
    task = asyncio.ensure_future(processor.SharedProcessor(lambda: True).run())
    await asyncio.sleep(0)  # it has begun: a program from before that is not its business
    loop = asyncio.get_running_loop()
    with ThreadPoolExecutor(8) as pool:
        counted = await asyncio.gather(*[loop.run_in_executor(pool, start, n) for n in range(400)])
    assert {*counted} == {every}, counted
    assert not task.done(), task
    task.cancel()

asyncio.run(asyncio.wait_for(story(), 60))
"""
needs_two = pytest.mark.skipif(
    not hasattr(os, "sched_getaffinity") or len(os.sched_getaffinity(0)) < 2,
    reason="needs two processors",
)


@pytest.mark.parametrize(
    ("now", "own", "used", "chosen"),
    [
        (None, 1.5, {0: 0.9, 1: 0.6}, 1),
        (None, 0.0, {0: 0.0, 1: 0.0}, 0),
        (0, 0.9, {0: 1.0, 1: 0.05}, 0),  # nearly all of it is our own
        (0, 0.5, {0: 1.0, 1: 0.2}, 1),  # another program has half of it
        (0, 0.5, {0: 1.0, 1: 0.4}, 0),  # the other one is hardly better
        (0, 0.2, {0: 1.0, 1: 1.0}, 0),  # nor is it where everything is busy
        (1, 0.3, {0: 1.0, 1: 1.0, 2: 0.1}, 2),
        (7, 0.3, {0: 0.5, 1: 0.1}, 1),  # it was taken away
    ],
)
def test_the_processor_that_others_use_least_is_chosen(
    now: int | None, own: float, used: dict[int, float], chosen: int
) -> None:
    assert choose_processor(now, own, used) == chosen


@needs_two
def test_threads_share_a_processor_while_it_is_wanted_and_programs_get_all() -> None:
    subprocess.run([sys.executable, "-c", STORY], check=True, timeout=120)


@needs_two
def test_programs_get_all_processors_however_many_threads_start_them() -> None:
    subprocess.run([sys.executable, "-c", CROWD], check=True, timeout=120)


def test_how_long_processors_were_busy_is_told_for_those_that_are_asked_about() -> None:
    every = os.sched_getaffinity(0)
    one = {min(every)}
    assert set(busy_times(every)) == every
    assert set(busy_times(one)) == one
    assert busy_times(one)[min(every)] > 0


def test_sessions_that_wait_for_a_thread_are_at_work_too() -> None:
    begun, ended = Event(), Event()

    def work(root: str, session: str) -> None:
        begun.set()
        ended.wait()

    pool = TurnPool(work, 1)
    try:
        assert pool.at_work == 0
        pool.submit("root", "one")
        pool.submit("root", "two")
        begun.wait()
        assert pool.at_work == 2
    finally:
        ended.set()
        pool.close()
