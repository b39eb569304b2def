"""A writer is cut down, or the disk fails it, at its every call to the disk: strace does it."""

import re
import shutil
import sqlite3
import subprocess
from contextlib import closing
from functools import cache
from itertools import count
from pathlib import Path

import pytest
from tests.store.logs import note, texts
from tests.store.processes import child

from assent.store.files import NO_SPACE
from assent.store.sqlite import SqliteEventStore

WRITER = """
    import ctypes, sys
    from contextlib import closing
    from assent.core.errors import StoreError
    from assent.core.event import PlanSelected
    from assent.ports import EventBatch
    from assent.store.sqlite import SqliteEventStore

    ctypes.CDLL(None).prctl(0x59616d61, ctypes.c_ulong(-1), 0, 0, 0)  # PR_SET_PTRACER: anybody
    print("ready", flush=True)
    sys.stdin.readline()
    try:
        with closing(SqliteEventStore(sys.argv[1])) as store:
            for n in range(2):
                store.append(EventBatch("a", n, "now", (PlanSelected(f"text {n}"),)))
                print("stored", flush=True)
    except StoreError as error:
        print("refused", error.message, flush=True)
"""

# From which call on, and every how many calls, until the writer no longer makes so many.
CUTS = [
    *[("pwrite64", first, 4) for first in (1, 2, 3, 4)],
    *[(call, 1, 1) for call in ("fdatasync", "fsync", "ftruncate")],
    *[(f"/^{call}", 1, 1) for call in ("rename", "unlink", "mkdir")],  # or their kin in -at
]
FAULTS = [("pwrite64", "ENOSPC", 3), ("fdatasync", "EIO", 1), ("fsync", "EIO", 1)]
FULL = re.compile(f"{NO_SPACE}|the disk is full or reports an error|the disk reports an error")


@cache
def strace_works() -> bool:
    if not shutil.which("strace"):
        return False
    return (
        subprocess.run(["strace", "-o", "/dev/null", "true"], capture_output=True).returncode == 0
    )


pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not strace_works(), reason="strace is missing or not permitted"),
]


def traced(path: Path, call: str, fault: str) -> tuple[int, list[str], bool]:
    """Runs the writer under strace; returns its exit code, what it printed, whether it was hit.

    The writer is forked and waits until strace is there: to start it anew would take ten times as
    long as what it does.
    """
    trace = path.parent.parent / f"{path.parent.name}.trace"
    line = ["strace", "-o", str(trace), "-e", f"trace={call}", "-e", f"inject={call}:{fault}"]
    with child(WRITER, path) as writer:
        assert writer.hear() == "ready"
        with subprocess.Popen(
            [*line, "-p", str(writer.process.pid)], stderr=subprocess.PIPE, encoding="utf-8"
        ) as strace:
            assert strace.stderr
            assert "attached" in strace.stderr.readline()
            printed, _ = writer.process.communicate("go\n")
    seen = trace.read_text("utf-8", "replace")
    hit = "(INJECTED)" in seen or "killed by SIGKILL" in seen
    return writer.process.returncode, printed.splitlines(), hit


def expect_sound(path: Path, stored: int) -> None:
    """Checks that what was acknowledged is there, at most one more, and that the log goes on."""
    found = texts(path)
    assert found == [f"text {n}" for n in range(len(found))]
    assert stored <= len(found) <= stored + 1
    with closing(SqliteEventStore(path)) as store:
        store.append(note("after it all", len(found)))
    assert texts(path) == [*found, "after it all"]
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


@pytest.mark.parametrize(("call", "first", "step"), CUTS)
def test_killed_writer_leaves_a_sound_log(tmp_path: Path, call: str, first: int, step: int) -> None:
    for moment in count(first, step):
        path = tmp_path / str(moment) / "store.db"
        code, printed, hit = traced(path, call, f"signal=KILL:when={moment}")
        if not hit:
            break
        assert code == -9
        expect_sound(path, printed.count("stored"))
    assert (code, printed) == (0, ["stored", "stored"])
    assert moment > first


@pytest.mark.parametrize(("call", "error", "step"), FAULTS)
def test_failing_disk_is_said_and_survived(
    tmp_path: Path, call: str, error: str, step: int
) -> None:
    for moment in count(1, step):
        path = tmp_path / str(moment) / "store.db"
        code, printed, hit = traced(path, call, f"error={error}:when={moment}")
        assert code == 0
        if not hit:
            break
        if printed != ["stored", "stored"]:  # closing is a courtesy and may fail in silence
            assert FULL.search(printed[-1])
            assert printed[-1].startswith("refused Could not write the log")
        expect_sound(path, printed.count("stored"))
    assert printed == ["stored", "stored"]
    assert moment > 1
