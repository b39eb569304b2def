"""How staging grows: one call after another, in processor time and in bytes of state."""

import os
import resource
from collections.abc import Iterator
from pathlib import Path

from bench.apply import LINEAR
from bench.figure import Figure, within
from bench.pace import Scale, best

from assent.app.composition import open_engine
from assent.config.paths import app_paths

KIB = 1024
MOST = 2.0  # KiB of state for a small operation, without its content
TENTH = 10


def staging_figures(work: Path, scale: Scale) -> Iterator[Figure]:
    """Stages files one by one in one process; the reference is a tenth of the calls."""
    many = scale.few
    few = many // TENTH
    places = [_Staging(work / f"{count}", count) for count in (few, many)]
    short, long = best(min(scale.rounds, 3), *[place.stage for place in places])
    yield Figure(f"stage one by one: {many:,} / {few:,} calls", long, short, LINEAR)
    less, more = [place.state for place in places]
    yield Figure(f"state of {many:,} calls / of {few:,}", more, less, LINEAR, "size")
    yield Figure(f"state per staged operation of {many:,}", more / many, None, within(MOST), "size")


class _Staging:
    """Stages small new files by single calls, each time in a workspace of its own."""

    def __init__(self, place: Path, count: int) -> None:
        self._place = place
        self._count = count
        self._made = 0
        self.state = 0.0  # KiB that the last round added, without the contents themselves

    def stage(self) -> float:
        """Returns the processor time, which waiting for the disk is no part of."""
        self._made += 1
        root = self._place.with_name(f"{self._place.name}-{self._made}")
        (root / ".git").mkdir(parents=True)
        contents = [f"{root.name} {number}\n".encode() for number in range(self._count)]
        engine, _ = open_engine(os.fspath(root))
        record = engine.plans.new("change", goal="Measure")
        engine.close()  # so that all of the log is in one file
        before = _state_bytes()
        engine, _ = open_engine(os.fspath(root))
        began = _processor_time()
        for number, content in enumerate(contents):
            path = f"part{number // 100}/file{number}.txt".encode()
            record = engine.drafts.write(record, path, [content], None).record
        seconds = _processor_time() - began
        staged = len(engine.plans.operations(record))
        engine.close()
        if staged != self._count:
            raise AssertionError(f"{staged} operations are staged.")
        self.state = (_state_bytes() - before - sum(map(len, contents))) / KIB
        return seconds


def _processor_time() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _state_bytes() -> int:
    state = app_paths(os.environ, Path.home()).state
    return sum(file.stat().st_size for file in state.rglob("*") if file.is_file())
