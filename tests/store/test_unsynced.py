"""Events that their writer does not wait for: seen at once, and lost only from the end."""

import errno
import os
import shutil
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from textwrap import dedent

import msgspec
import pytest
from tests.store.logs import note, texts

from assent.ports import EventBatch
from assent.store.sqlite import AnchorFile, SqliteEventStore

FRAME = 4096 + 24  # bytes of a page in the -wal file, with its header
WRITER = """
    import sys
    import msgspec
    from tests.store.logs import note
    from assent.store.sqlite import SqliteEventStore

    store = SqliteEventStore(sys.argv[1])
    store.append(note("first", 0))
    print("begin", file=sys.stderr, flush=True)
    for n in range(1, 4):
        store.append(msgspec.structs.replace(note(str(n), n), synced=False))
    print("synced", file=sys.stderr, flush=True)
    store.append(note("last", 4))
    print("end", file=sys.stderr, flush=True)
"""


def unsynced(text: str, after: int) -> EventBatch:
    return msgspec.structs.replace(note(text, after), synced=False)


def test_other_processes_see_them_at_once(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with closing(SqliteEventStore(path)) as store:
        store.append(note("one", 0))
        store.append(unsynced("two", 1))
        assert texts(path) == ["one", "two"]
        store.append(note("three", 2), unsynced("four", 3))
    assert texts(path) == ["one", "two", "three", "four"]


def test_a_machine_that_fails_loses_the_end_and_nothing_else(tmp_path: Path) -> None:
    path, lost = tmp_path / "store.db", tmp_path / "lost"
    with closing(SqliteEventStore(path)) as store:
        store.append(note("one", 0))
        kept = os.path.getsize(f"{path}-wal")
        for n in range(1, 6):
            store.append(unsynced(str(n), n))
        whole = (tmp_path / "store.db-wal").read_bytes()
        found = set()
        for size in range(kept, len(whole) + 1, FRAME // 3):
            lost.mkdir()
            shutil.copy(path, lost / "store.db")
            (lost / "store.db-wal").write_bytes(whole[:size])
            left = texts(lost / "store.db")
            assert left == ["one", *[str(n) for n in range(1, len(left))]]
            found.add(len(left))
            shutil.rmtree(lost)
    assert found >= {1, 2, 3, 4, 5}


@pytest.mark.skipif(not shutil.which("strace"), reason="strace is missing")
def test_only_the_next_one_that_is_waited_for_waits(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    command = ["strace", "-o", str(trace), "-e", "trace=fdatasync,write"]
    writer = [sys.executable, "-B", "-c", dedent(WRITER), str(tmp_path / "store.db")]
    subprocess.run([*command, *writer], check=True, capture_output=True)
    calls = trace.read_text("utf-8", "replace")
    quiet, _, waited = calls.partition('"begin')[2].partition('"synced')
    assert quiet.count("fdatasync(") == 0
    assert waited.partition('"end')[0].count("fdatasync(") == 1


def test_the_anchor_waits_for_events_that_another_did_not_wait_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, positions, sync = tmp_path / "store.db", [], os.fdatasync

    def fdatasync(fd: int) -> None:
        positions.append(anchored(path))
        sync(fd)

    with closing(SqliteEventStore(path)) as other:
        other.append(note("one", 0))
        store = SqliteEventStore(path)
        store.append(note("two", 1))
        other.append(unsynced("three", 2))
        monkeypatch.setattr(os, "fdatasync", fdatasync)
        store.close()
        assert (positions, anchored(path)) == ([0], 3)


def test_the_anchor_stays_where_the_log_cannot_be_put_on_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "store.db"
    with closing(SqliteEventStore(path)) as store:
        store.append(note("one", 0))
    assert anchored(path) == 1

    def fdatasync(fd: int) -> None:
        raise OSError(errno.EIO, "no disk")

    with closing(SqliteEventStore(path)) as store, monkeypatch.context() as broken:
        store.append(unsynced("two", 1))
        broken.setattr(os, "fdatasync", fdatasync)
        store.close()
    assert anchored(path) == 1
    with closing(SqliteEventStore(path)) as store:
        assert store.verify().broken == ""
        store.append(note("three", 2))
    assert anchored(path) == 3


def anchored(path: Path) -> int:
    return AnchorFile(f"{path}-anchor").read().position
