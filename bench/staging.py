"""How staging grows: one call after another, in processor time and in bytes of state."""

import os
import resource
import subprocess
from collections.abc import Iterator
from pathlib import Path

from bench.apply import LINEAR
from bench.figure import Figure, within
from bench.pace import Scale, best
from bench.startup import ASSENT

from assent.app.composition import open_engine
from assent.config.paths import app_paths

KIB = 1024
MOST = 2.0  # KiB of state for a small operation, without its content
TENTH = 10


def staging_figures(work: Path, scale: Scale) -> Iterator[Figure]:
    """Stages files one by one, in one process, then by commands; against a tenth of the calls."""
    many = scale.few
    few = many // TENTH
    places = [_Staging(work / f"{count}", count) for count in (few, many)]
    short, long = best(min(scale.rounds, 3), *[place.stage for place in places])
    yield Figure(f"stage one by one: {many:,} / {few:,} calls", long, short, LINEAR)
    less, more = [place.state for place in places]
    yield Figure(f"state of {many:,} calls / of {few:,}", more, less, LINEAR, "size")
    yield Figure(f"state per staged operation of {many:,}", more / many, None, within(MOST), "size")
    yield from _command_figures(work / "commands", few)


def _command_figures(work: Path, few: int) -> Iterator[Figure]:
    """Stages by single commands, as a script does; each is a process that reads the draft.

    Ten of the many follow one of the few, so that both meet the same minutes of the machine.
    """
    small, large = _CommandStaging(work / "few"), _CommandStaging(work / "many")
    for _ in range(few):
        small.stage()
        for _ in range(TENTH):
            large.stage()
    small.require(few)
    large.require(few * TENTH)
    many = few * TENTH
    name = f"{many:,} / {few:,} commands"
    yield Figure(f"stage write: {name}", large.seconds, small.seconds, LINEAR)
    yield Figure(f"state of stage write: {name}", large.state, small.state, LINEAR, "size")


class _CommandStaging:
    """Stages small new files by commands, in a workspace with a state folder of its own."""

    def __init__(self, place: Path) -> None:
        self._root = place / "workspace"
        self._state = place / "state"
        self._env = {**os.environ, "XDG_STATE_HOME": os.fspath(self._state)}
        (self._root / ".git").mkdir(parents=True)
        self._assent("plan", "new", "change", "--goal", "Measure")
        self._before = _bytes_below(self._state)
        self._contents = 0
        self._count = 0
        self.seconds = 0.0  # of processor time, of all commands so far

    def stage(self) -> None:
        number, self._count = self._count, self._count + 1
        content = f"{self._root} {number}\n".encode()
        self._contents += len(content)
        began = _processor_time(resource.RUSAGE_CHILDREN)
        path = f"part{number // 100}/file{number}.txt"
        self._assent("stage", "write", path, "--from", "-", content=content)
        self.seconds += _processor_time(resource.RUSAGE_CHILDREN) - began

    @property
    def state(self) -> float:
        """KiB that the commands added, without the contents themselves."""
        return (_bytes_below(self._state) - self._before - self._contents) / KIB

    def require(self, count: int) -> None:
        """Fails unless everything is staged."""
        staged = self._assent("stage", "list").count(b"\n")
        if staged < count:
            raise AssertionError(f"{staged} of {count} operations are staged.")

    def _assent(self, *words: str, content: bytes = b"") -> bytes:
        ran = subprocess.run(
            [ASSENT, *words],
            cwd=self._root,
            env=self._env,
            input=content,
            stdout=subprocess.PIPE,
            check=True,
        )
        return ran.stdout


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


def _processor_time(whose: int = resource.RUSAGE_SELF) -> float:
    used = resource.getrusage(whose)
    return used.ru_utime + used.ru_stime


def _state_bytes() -> int:
    return _bytes_below(app_paths(os.environ, Path.home()).state)


def _bytes_below(state: Path) -> int:
    return sum(file.stat().st_size for file in state.rglob("*") if file.is_file())
