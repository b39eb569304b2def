"""The recorded state directory: unpacked for one test, and opened as on the machine of its record.

The log knows a workspace by path and inode, and says who did what and when. So the program is told
these through the port that its composition root has for it (`assent.app.composition`), in this
process.
"""

import os
import sqlite3
import tarfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
from tests.cli.harness import TRUSTING, Answer, World

from assent.app.ports import HOST, HostIdentity

FOLDER = Path(__file__).parent / "state"
ARCHIVE = FOLDER / "state.tar.gz"
MANIFEST = FOLDER / "manifest.json"

BASE = "/var/tmp/assent-record"  # where it was recorded; nothing of that has to exist
PERSON = "tester"
WORKSPACES = ("project", "begun", "interrupted", "halted", "moved", "lost")
INODES = {name: number for number, name in enumerate(WORKSPACES, 1001)}
INODES["before"] = INODES["moved"]  # the name it had first
ODD = os.fsdecode(b"odd \xff.sh")  # a name that is no text
SECOND = 1_000_000_000
SETTINGS = TRUSTING + "\n[retry]\nfirst_s = 0.001\n"


class Recorder(World):
    """Works in several workspaces that share one state directory, as the recorded person."""

    def __init__(self, base: Path, start: int) -> None:
        self.base = base
        self.root = base / "project"
        self.state = base / "state"
        self.config = base / "config" / "assent" / "config.toml"
        self.env = {
            "PATH": os.environ["PATH"],
            "LANG": "C.UTF-8",
            "TERM": "xterm",
            "HOME": str(base / "home"),
            "XDG_STATE_HOME": str(self.state),
            "XDG_CONFIG_HOME": str(base / "config"),
        }
        self.machine = HostIdentity(identity, lambda: PERSON, lambda: PERSON, clock(start))

    def enter(self, name: str) -> None:
        """Works in another workspace from now on."""
        self.root = self.base / name

    def run(self, *arguments: str, stdin: bytes = b"", folder: Path | None = None) -> Answer:
        before = HOST.set(self.machine)
        try:
            return super().run(*arguments, stdin=stdin, folder=folder)
        finally:
            HOST.reset(before)

    def later(self, seconds: int) -> None:
        """Lets time pass that nobody has to wait for."""
        now = self.machine.nanoseconds() + seconds * SECOND
        self.machine = msgspec.structs.replace(self.machine, nanoseconds=clock(now))

    def plans(self) -> dict[str, dict[str, Any]]:
        """Every plan of the workspace by its name, as `plan show` tells it."""
        listed = self.ok("plan", "list", "--all")["plans"]
        return {row["name"]: self.ok("plan", "show", "--plan", row["plan_id"]) for row in listed}


def opened(base: Path) -> Recorder:
    """Unpacks the record into a folder of a test, and goes on where it ended."""
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(base, filter="tar")
    return Recorder(base, manifest()["end"])


def manifest() -> dict[str, Any]:
    """What the program that wrote the record said about it."""
    return msgspec.json.decode(MANIFEST.read_bytes(), type=dict[str, Any])


def rows(base: Path) -> list[tuple[str, str, str]]:
    """Every event of the log as it is stored: its stream, its kind and its body."""
    log = base / "state" / "assent" / "log.db"
    with closing(sqlite3.connect(f"file:{log}?mode=ro", uri=True)) as database:
        return database.execute(
            "SELECT stream, kind, body FROM events ORDER BY position"
        ).fetchall()


def forget_heads(base: Path) -> None:
    """Throws away the folded streams, which the program can do without."""
    with closing(sqlite3.connect(base / "state" / "assent" / "log.db")) as database, database:
        assert database.execute("DELETE FROM heads").rowcount > 0


def identity(root: bytes) -> tuple[bytes, int]:
    """Says of a folder what the record says of the one with that name."""
    name = os.path.basename(os.fsdecode(root))
    return os.fsencode(f"{BASE}/{name}"), INODES.get(name, 1)


def clock(start: int) -> Callable[[], int]:
    """Returns a clock that shows `start`, in nanoseconds, and goes on from there."""
    begun = time.monotonic_ns()
    return lambda: start + time.monotonic_ns() - begun
