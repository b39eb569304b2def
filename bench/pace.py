"""Timing: what is compared is run in turn, several rounds, and the best of each one counts."""

import fcntl
import os
import resource
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

import msgspec

from assent.executor.disk import Disk

Action: TypeAlias = Callable[[], float]  # prepares what it needs and returns the seconds measured
Stopwatch: TypeAlias = Callable[[Callable[[], object]], float]  # measures a call


class Scale(msgspec.Struct, frozen=True):
    """How much is measured."""

    starts: int = 25
    rounds: int = 10
    few: int = 1_000
    many: int = 10_000
    large: int = 1 << 30
    records: int = 400
    steps: int = 50
    long: int = 1_000  # steps of a long turn
    long_rounds: int = 3
    history: int = 800_000  # characters, four to a token
    files: int = 100_000  # of a large workspace
    sessions: int = 1_000  # in a workspace with a long past,
    runs: int = 500
    past: int = 10  # and either of them in one with a short past
    commands: int = 200  # in one scratch copy
    together: int = 200  # sessions of a server with a turn each at once,
    listeners: int = 1_000  # and subscribers to its events
    keys: int = 200  # typed while a model speaks, and before
    stories: int | None = None  # that are played; all of them


# Flags of a folder on Linux, and the one that says: what is made in here has nothing to do with
# each other. Without it ext4 puts everything close together and then avoids, slowly, the places of
# files that were removed minutes ago by a measurement before.
_GET_FLAGS, _SET_FLAGS, _TOP_FOLDER = 0x80086601, 0x40086602, 0x00020000

ENOUGH = 60.0  # seconds for the rounds of one figure

FULL = Scale()
QUICK = Scale(  # as little as every figure can be computed from
    starts=1,
    rounds=1,
    few=10,
    many=100,
    large=1 << 24,
    records=20,
    steps=3,
    long=12,
    long_rounds=1,
    history=8_000,
    files=200,
    sessions=4,
    runs=4,
    past=2,
    commands=22,
    together=5,
    listeners=20,
    keys=4,
    stories=1,
)


def best(rounds: int, *actions: Action) -> list[float]:
    """Runs the actions in turn and returns the smallest measure of each.

    A slow disk gets fewer rounds, but always a second one if it was to have several.
    """
    began = time.monotonic()
    measured: list[list[float]] = []
    while len(measured) < rounds:
        measured.append([action() for action in actions])
        if len(measured) > 1 and time.monotonic() - began > ENOUGH:
            break
    return [min(column) for column in zip(*measured, strict=True)]


def timed(work: Callable[[], object]) -> float:
    """Returns how long a call takes."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def used(work: Callable[[], object]) -> float:
    """Returns the processor time of a call, user and system, with that of processes it ended."""
    began = processor_time()
    work()
    return processor_time() - began


def processor_time() -> float:
    """Returns what this process and those that it waited for have used so far."""
    both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in both)


def flush(folder: Path) -> None:
    """Writes everything on the folder's file system to disk, as whoever measures next expects."""
    fd = os.open(folder, os.O_RDONLY)
    try:
        Disk().syncfs(fd)
    finally:
        os.close(fd)


def spread(folder: Path) -> None:
    """Asks the file system to give each folder made in this one a neighbourhood of its own."""
    fd = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):
            flags = int.from_bytes(fcntl.ioctl(fd, _GET_FLAGS, bytes(8)), "little")
            fcntl.ioctl(fd, _SET_FLAGS, (flags | _TOP_FOLDER).to_bytes(8, "little"))
    finally:
        os.close(fd)
