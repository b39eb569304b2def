"""How the terminal UI feels: first paint, keys while a model speaks, long sessions, memory."""

import fcntl
import itertools
import math
import os
import pty
import random
import select
import signal
import statistics
import struct
import subprocess
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.figure import Figure, at_most, within
from bench.pace import FULL, Action, Scale, best, timed
from bench.startup import ASSENT, BARE
from bench.token_server import token_server

from assent.app.composition import open_engine
from assent.core.llm import StopReason, TextPart, TokenUsage
from assent.core.session.event import PartSaid, StepEnded, StepStarted

ROWS, COLUMNS = 40, 140
PATIENCE_S = 60.0
SETTLE_S = 3.0  # after a start, before keys and memory are measured
STREAM_S = 12.0  # how long memory is watched
KEYS = "QWZXKJYV"  # letters that nothing else on the screen has
ERASE = "\x7f"
BETWEEN_S = (0.10, 0.15)  # two keys; at no fixed beat, so that they meet every phase of a frame
OPENINGS = 5  # of a transcript, of which the median counts
PROMPT = b"escribe a task"  # its first letter is under the cursor
LAST = "The very last part."
FRAME_S, FLAT = 0.050, 8.0  # seconds, MiB


def terminal_figures(work: Path, scale: Scale) -> Iterator[Figure]:
    """Measures the screen in a terminal of its own.

    The reference for the first paint is a bare start of Python, that for a long session a short
    one; what a person waits for at the keyboard has absolute bars.
    """
    (work / ".git").mkdir()
    _paint(work)()  # writes the bytecode caches
    bare, first = best(
        scale.rounds + 2,
        lambda: timed(lambda: subprocess.run(BARE, check=True)),
        _paint(work),
    )
    yield Figure("first paint of the terminal UI / bare Python", first, bare, at_most(30))
    many, tenth = scale.many, scale.many // 10
    long, short = _session(work, many), _session(work, tenth)
    compared = f"{many:,} parts / of {tenth:,}"
    opened, reference = best(scale.rounds, _opening(work, long), _opening(work, short))
    yield Figure(f"open a session of {compared}", opened, reference, at_most(1.5))
    yield Figure("turn a page of it", _paging(work, long), None, within(FRAME_S))
    pager, reference = best(scale.rounds, _transcript(work, long), _transcript(work, short))
    yield Figure(f"open the transcript of {compared}", pager, reference, at_most(1.5))
    yield from _streaming(work, scale)


def _streaming(work: Path, scale: Scale) -> Iterator[Figure]:
    """Measures keys and memory while 200 tokens a second come in."""
    with token_server() as port, _screen(work, port, "--model", "openai/m") as screen:
        screen.wait_for(PROMPT)
        screen.watch(SETTLE_S)
        idle = screen.key_to_paint(scale.keys)
        screen.type("go\r")  # so few keys at once are no paste
        screen.wait_for(b"token")
        screen.watch(SETTLE_S)
        streaming = screen.key_to_paint(scale.keys)
        yield Figure("key to paint at 200 tokens/s, p95 / idle", streaming, idle, at_most(2))
        before = screen.memory()
        screen.watch(STREAM_S * scale.rounds / FULL.rounds)
        growth = max(0.0, screen.memory() - before)
        yield Figure("memory while tokens stream", growth, None, within(FLAT), "memory")


class Screen:
    """The program on a terminal, and what it paints."""

    def __init__(self, folder: Path, port: int, *arguments: str) -> None:
        self._seen = bytearray()
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        env = {**os.environ, "TERM": "xterm-256color", "OPENAI_API_KEY": "key"}
        env |= {"OPENAI_BASE_URL": f"http://127.0.0.1:{port}/v1"}
        self.began = time.perf_counter()
        self._process = subprocess.Popen(
            [ASSENT, *arguments],
            cwd=folder, env=env, stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
        )  # fmt: skip
        os.close(slave)

    def type(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    def wait_for(self, text: bytes) -> float:
        """Returns the moment at which a text was painted."""
        end = time.perf_counter() + PATIENCE_S
        while text not in self._seen:
            if time.perf_counter() > end:
                raise AssertionError(f"{text!r} was never painted: {bytes(self._seen[-2000:])!r}")
            self._read(0.2)
        return time.perf_counter()

    def latency(self, key: str) -> float:
        """Returns how long it takes from a key to its letter on the screen."""
        self._seen.clear()
        began = time.perf_counter()
        self.type(key)
        return self.wait_for(key.encode()) - began

    def key_to_paint(self, keys: int) -> float:
        """Returns what 95 of 100 keys take at most, typed and erased one at a time."""
        latencies = []
        for key in itertools.islice(itertools.cycle(KEYS), keys):
            latencies.append(self.latency(key))
            self.type(ERASE)
            self.watch(random.uniform(*BETWEEN_S))
        return sorted(latencies)[math.ceil(0.95 * keys) - 1]

    def watch(self, seconds: float) -> None:
        """Reads what is painted for a while."""
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            self._read(0.05)
        self._seen.clear()

    def memory(self) -> float:
        """Returns how much memory the program has, in MiB."""
        lines = Path(f"/proc/{self._process.pid}/status").read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS"))

    def close(self) -> None:
        self._process.send_signal(signal.SIGTERM)
        while self._process.poll() is None:
            self._read(0.05)
        os.close(self._master)

    def _read(self, seconds: float) -> None:
        if select.select([self._master], [], [], seconds)[0]:
            try:
                self._seen += os.read(self._master, 1 << 16)
            except OSError:  # nobody is there any more
                time.sleep(seconds)


@contextmanager
def _screen(folder: Path, port: int, *arguments: str) -> Iterator[Screen]:
    screen = Screen(folder, port, *arguments)
    try:
        yield screen
    finally:
        screen.close()


def _paint(folder: Path) -> Action:
    """Returns what opens the screen and tells when its prompt was there."""

    def paint() -> float:
        with _screen(folder, 9) as screen:
            return screen.wait_for(PROMPT) - screen.began

    return paint


def _opening(folder: Path, slug: str) -> Action:
    """Returns what opens a session and tells when its end was on the screen."""

    def paint() -> float:
        with _screen(folder, 9, "-r", slug) as screen:
            return screen.wait_for(LAST.encode()) - screen.began

    return paint


def _paging(folder: Path, slug: str) -> float:
    """Returns how long a page further up takes to be painted, in the middle of many."""
    with _screen(folder, 9, "-r", slug) as screen:
        screen.wait_for(LAST.encode())
        screen.watch(SETTLE_S)
        times = []
        for _ in range(8):
            began = time.perf_counter()
            screen.type("\x1b[5~")  # page up
            screen.wait_for(b"part ")
            times.append(time.perf_counter() - began)
            screen.watch(0.3)
    return statistics.median(times)


def _transcript(folder: Path, slug: str) -> Action:
    """Returns what opens the transcript of a session and tells when its end was on the screen."""

    def paint() -> float:
        times = []
        with _screen(folder, 9, "-r", slug) as screen:
            screen.wait_for(LAST.encode())
            for _ in range(OPENINGS):
                screen.watch(SETTLE_S / 2)
                began = time.perf_counter()
                screen.type("\x1bOR")  # F3
                times.append(screen.wait_for(LAST.encode()) - began)
                screen.watch(SETTLE_S / 2)
                screen.type("\x1b")
        return statistics.median(times)

    return paint


def _session(folder: Path, parts: int) -> str:
    """Makes a session in which a model said much, and returns its name."""
    engine, _ = open_engine(str(folder))
    record = engine.sessions.start("Say very much", "plan")
    said = [f"Words of part {number}. " * 6 for number in range(parts - 1)]
    events = [PartSaid(TextPart(words), 0.1) for words in (*said, LAST)]
    diary = engine.sessions.repository()
    diary.append(
        record,
        StepStarted(1, "plan", "m", "plan"),
        *events,
        StepEnded(StopReason.END, TokenUsage()),
    )
    engine.close()
    return record.slug
