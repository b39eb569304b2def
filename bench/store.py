"""What the store costs: appending to the log, reading contents, hashing a large file."""

import hashlib
import os
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

from bench.corpus import lay_down, samples
from bench.figure import Figure, at_least, within
from bench.pace import Action, Scale, best, flush, timed

from assent.core.event import PlanSelected
from assent.ports import EventBatch
from assent.store.blobs import CHUNK, FileBlobStore
from assent.store.sqlite import SqliteEventStore
from assent.workspace.files import LocalWorkspaceFiles

MIB = 1 << 20
FLAT = 8.0  # MiB: a few chunks, however large the file is

_AT = "2026-01-01T00:00:00.000Z"
_INSERT = "INSERT INTO events (stream, body) VALUES (?, ?)"


def store_figures(work: Path, scale: Scale) -> Iterator[Figure]:
    """Measures one durable event, and one content of a few hundred bytes, read and checked."""
    count = scale.records
    ours, bare = best(scale.rounds, _appending(work, count), _inserting(work, count))
    yield Figure("append an event / bare SQLite", ours / count, bare / count)
    reading = _reading(work / "blobs", scale.few)
    ours, bare = (seconds / scale.few for seconds in best(scale.rounds, *reading))
    yield Figure("read a blob / bare open, read, SHA-256", ours, bare)


def digest_figures(work: Path, scale: Scale) -> Iterator[Figure]:
    """Measures the digest of a large file, and what it needs in memory."""
    large = work / "large"
    with large.open("wb") as file:
        file.truncate(scale.large)

    def look() -> None:
        LocalWorkspaceFiles(os.fsencode(work), os.fsencode(work)).read_states((b"large",))

    def bare() -> None:  # the reference: hashlib over the same file, in chunks of the same size
        digest = hashlib.sha256()
        with large.open("rb", buffering=0) as file:
            while chunk := file.read(CHUNK):
                digest.update(chunk)

    look_s, bare_s = best(scale.rounds, lambda: timed(look), lambda: timed(bare))
    name = f"{scale.large >> 20:,} MiB"
    speed, bare_speed = (scale.large / MIB / seconds for seconds in (look_s, bare_s))
    yield Figure(f"digest {name} / hashlib", speed, bare_speed, at_least(0.9), "speed")
    growth = _growth(look)
    if growth is not None:
        yield Figure(f"memory while digesting {name}", growth, None, within(FLAT), "memory")


def _appending(work: Path, count: int) -> Action:
    store = SqliteEventStore(work / "log.db")
    event = PlanSelected("plan")

    def append() -> float:
        after = len(store.read("bench"))
        batches = [EventBatch("bench", after + n, _AT, (event,)) for n in range(count)]
        flush(work)
        return timed(lambda: [store.append(batch) for batch in batches])

    return append


def _inserting(work: Path, count: int) -> Action:
    """The reference: one insert per transaction into a bare table, as durable as the log."""
    connection = sqlite3.connect(work / "bare.db", isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("CREATE TABLE events (position INTEGER PRIMARY KEY, stream, body)")

    def insert() -> float:
        flush(work)
        return timed(lambda: [connection.execute(_INSERT, ("bench", b"{}")) for _ in range(count)])

    return insert


def _reading(root: Path, count: int) -> tuple[Action, Action]:
    blobs = FileBlobStore(root)
    contents = samples(count, "new")
    names = [blobs.keep([sample.new])[0] for sample in contents]
    blobs.flush()
    theirs = root.with_name("plain")
    lay_down(theirs, contents, "new")
    files = [f"{theirs}/{sample.path}" for sample in contents]

    def bare() -> None:  # the reference: each content is a file; open, read, hash, close
        for file in files:
            fd = os.open(file, os.O_RDONLY)
            content = os.read(fd, 1 << 16)
            os.close(fd)
            hashlib.sha256(content).hexdigest()

    return lambda: timed(lambda: [blobs.read(name) for name in names]), lambda: timed(bare)


def _growth(work: Callable[[], None]) -> float | None:
    """Returns by how many MiB memory grows at most while something is done; None if unknown."""
    status, refs = Path("/proc/self/status"), Path("/proc/self/clear_refs")
    if not refs.exists():
        return None
    refs.write_text("5", encoding="ascii")  # forgets the highest mark so far
    before = _mark(status, "VmRSS")
    work()
    return max(0.0, (_mark(status, "VmHWM") - before) / 1024)


def _mark(status: Path, name: str) -> int:
    """Returns a line of a process's status in KiB."""
    lines = status.read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name))
