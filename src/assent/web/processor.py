"""The processor that the server's threads share while many turns are at work.

Python runs one thread at a time. On several processors, each call of the system passes the
interpreter to a thread on another one, which finds nothing in its cache (decision 0090). So all
threads stay on one then, which is chosen anew several times a second; programs that turns start
may use every processor.
"""

import asyncio
import os
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from threading import Lock, get_native_id
from typing import Final

LOOK_S: Final = 0.25
MARGIN: Final = 0.2  # of a processor, that others must use less of another one before it is taken
STARTING_S: Final = 5.0  # in which a thread that is about to start a program has started it
# What Python reports before it starts another process.
STARTS: Final = frozenset(
    ("subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.system")
)
_BUSY_FIELDS: Final = (0, 1, 2, 5, 6, 7)  # of /proc/stat: all but waiting, and guests


def choose_processor(now: int | None, own: float, used: Mapping[int, float]) -> int:
    """Returns the processor that others use least, by what was used of each.

    All that this process used itself, `own`, was used on the one where it is now, if it is on one.
    """
    others = {each: share - own * (each == now) for each, share in used.items()}
    best = min(others, key=lambda each: (others[each], each))
    return now if now is not None and others.get(now, 2.0) <= others[best] + MARGIN else best


class SharedProcessor:
    """Keeps the threads of this process on one processor while that is `wanted`."""

    def __init__(self, wanted: Callable[[], bool]) -> None:
        self._wanted = wanted
        self._allowed = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()
        self._chosen: int | None = None
        self._starting: dict[int, float] = {}  # threads that just start a program
        self._lock = Lock()  # no thread is moved while it says that it starts a program
        self._before = self._times()

    async def run(self) -> None:
        """Looks several times a second, until it is cancelled."""
        if len(self._allowed) < 2:  # noqa: PLR2004 (there is nothing to choose)
            return
        sys.addaudithook(self._before_start)
        try:
            while True:
                await asyncio.sleep(LOOK_S)
                self.look()
        finally:
            self._release()

    def look(self) -> None:
        """Chooses a processor for all threads, or gives them back all of them."""
        (at, own, busy), now = self._before, self._times()
        self._before = now
        if not self._wanted() or not busy:
            self._release()
            return
        seconds = max(now[0] - at, LOOK_S / 2)
        used = {each: (now[2].get(each, 0.0) - busy[each]) / seconds for each in busy}
        self._chosen = choose_processor(self._chosen, (now[1] - own) / seconds, used)
        self._keep({self._chosen})

    def _release(self) -> None:
        if self._chosen is not None:
            self._chosen = None
            self._keep(self._allowed)

    def _keep(self, processors: set[int]) -> None:
        threads = [int(name) for name in os.listdir("/proc/self/task")]
        with self._lock:
            young = time.monotonic() - STARTING_S
            self._starting = {one: at for one, at in self._starting.items() if at > young}
            for thread in threads:
                if thread not in self._starting:
                    with suppress(OSError):  # it has ended
                        os.sched_setaffinity(thread, processors)

    def _before_start(self, event: str, arguments: object) -> None:
        """Gives a thread all processors before it starts a program, which gets those of it."""
        if event in STARTS:
            thread = get_native_id()
            with self._lock, suppress(OSError):
                self._starting[thread] = time.monotonic()
                os.sched_setaffinity(thread, self._allowed)

    def _times(self) -> tuple[float, float, dict[int, float]]:
        """Returns the time, that of this process, and how long each processor was busy."""
        return time.monotonic(), time.process_time(), busy_times(self._allowed)


def busy_times(processors: set[int]) -> dict[int, float]:
    """Returns for how many seconds each processor has been busy; nothing if that is not told."""
    try:
        lines = Path("/proc/stat").read_text("ascii").splitlines()
    except OSError:
        return {}
    ticks, found = os.sysconf("SC_CLK_TCK"), dict[int, float]()
    for name, *counts in [line.split() for line in lines if line.startswith("cpu")]:
        number = name.removeprefix("cpu")  # empty for all of them together
        if number and int(number) in processors:
            found[int(number)] = sum(int(counts[each]) for each in _BUSY_FIELDS) / ticks
    return found
