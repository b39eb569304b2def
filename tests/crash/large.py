"""Writes, replaces and takes back one file of a given size, and says how much memory that took.

    python -m tests.crash.large MEGABYTES FOLDER

The answer is one JSON object on stdout: the peak of resident memory in bytes, and what came of it.
"""

import hashlib
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec

from assent.app.engine import Engine
from assent.core.run.journal import drive_to_end
from assent.testing.engine_fixture import EngineFixture, open_engine_fixture

MEGABYTE = 1 << 20
PATH = b"large.bin"
SEEDS = (1, 2)  # of the two contents
NO_FILE, OTHER = 0, -1  # what else may be there


class Peak(msgspec.Struct, frozen=True):
    """The most memory that was used, the outcomes, and which content stood after each of them."""

    memory: int
    outcomes: list[str]
    stood: list[int]  # seeds, NO_FILE or OTHER


def content(seed: int, megabytes: int) -> Iterator[bytes]:
    """Yields content that neither repeats nor compresses away."""
    block = hashlib.shake_256(b"%d" % seed).digest(MEGABYTE - 8)
    for number in range(megabytes):
        yield number.to_bytes(8, "big") + block


def main(megabytes: int, folder: Path) -> Peak:
    site = EngineFixture(folder / "work", folder / "state")
    site.root.mkdir()
    outcomes, stood = [], []
    for seed in SEEDS:
        engine = open_engine_fixture(site)
        outcomes.append(_written(engine, seed, megabytes))
        stood.append(_standing(site, megabytes))
    for _ in range(2):
        engine = open_engine_fixture(site)
        outcomes.append(drive_to_end(engine.undo.apply(engine.undo.preview(), "test")).outcome)
        stood.append(_standing(site, megabytes))
    return Peak(_peak(), outcomes, stood)


def _written(engine: Engine, seed: int, megabytes: int) -> str:
    record = engine.plans.new(f"plan_{seed}", "large", "A goal")
    record = engine.drafts.write(record, PATH, content(seed, megabytes), None).record
    record = engine.approvals.propose(record)
    engine.reviews.review(record)
    record = engine.approvals.approve(record, record.digest, "", "test")
    return drive_to_end(engine.runs.build(record.plan_id)).outcome


def _standing(site: EngineFixture, megabytes: int) -> int:
    """Returns the seed of the content that stands there; comparing costs less than a digest."""
    path = site.root / os.fsdecode(PATH)
    if not path.exists():
        return NO_FILE
    return next((seed for seed in SEEDS if _holds(path, seed, megabytes)), OTHER)


def _holds(path: Path, seed: int, megabytes: int) -> bool:
    """Tells whether a file has all of the content of a seed, and nothing else."""
    with open(path, "rb") as file:
        same = all(file.read(MEGABYTE) == chunk for chunk in content(seed, megabytes))
        return same and not file.read(1)


def _peak() -> int:
    """Returns the peak since this program began; getrusage would count what came before it too."""
    status = Path("/proc/self/status").read_text("utf-8")
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    assert found
    return int(found[1]) * 1024


if __name__ == "__main__":
    size, folder = sys.argv[1:]
    sys.stdout.buffer.write(msgspec.json.encode(main(int(size), Path(folder))))
