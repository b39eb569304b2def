"""Plans that are read while others change: no interrupt and no replaced log leads astray."""

import errno
import os
import shutil
import signal
from contextlib import closing
from pathlib import Path
from threading import Event, Thread

import pytest
from tests.executor.disk_doubles import WatchedDisk
from tests.store.logs import note, text_of
from tests.support.engine import World

from assent.core.paths import STATE
from assent.executor.projection import LocalProjection
from assent.planning.plans import PlanFileLock
from assent.planning.repositories import FoldedStreams
from assent.store.sqlite import SqliteEventStore

SOON = 30.0  # seconds in which a thread must have got somewhere


@pytest.mark.parametrize(
    ("held", "wanted"), [("changing", "listing"), ("listing", "listing"), ("listing", "changing")]
)
def test_a_wait_that_is_interrupted_leaves_nothing_locked(held: str, wanted: str) -> None:
    lock = PlanFileLock()
    ways = {"changing": lock.changing, "listing": lock.listing}
    holds, goes_on, done = Event(), Event(), list[str]()

    def hold() -> None:
        with ways[held]():
            holds.set()
            assert goes_on.wait(SOON)

    def use() -> None:
        for name, way in ways.items():
            with way():
                done.append(name)

    threads = [Thread(target=hold, daemon=True)]
    threads[0].start()
    assert holds.wait(SOON)
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        with pytest.raises(KeyboardInterrupt), ways[wanted]():
            pytest.fail("it got in")
    finally:
        signal.signal(signal.SIGALRM, before)
    goes_on.set()
    threads.append(Thread(target=use, daemon=True))
    threads[1].start()
    for thread in threads:
        thread.join(SOON)
    assert done == ["changing", "listing"]


def test_an_older_copy_of_the_log_is_read_from_its_start(tmp_path: Path) -> None:
    path, copy = tmp_path / "store.db", tmp_path / "copy"
    with closing(SqliteEventStore(path)) as store:
        store.append(note("old", 0, "plan/a"))
    shutil.copy(path, copy)

    def texts(stream: str) -> list[str]:
        return [text_of(one) for one in store.read(stream)]

    with closing(SqliteEventStore(path)) as store:
        folds = FoldedStreams(store, "plan/", bytes.split, texts)
        store.append(note("other", 0, "plan/b"))
        store.append(note("new", 1, "plan/a"))
        assert folds.newest_first() == [["other"], ["old", "new"]]
        store.close()
        os.replace(copy, path)
        assert folds.newest_first() == [["old"]]


def test_a_marker_is_written_again_after_a_removal_that_failed_midway(world: World) -> None:
    removed = list[str]()

    def refuse(call: str) -> None:
        """Fails once the marker is gone."""
        if call == "rmdir" and not (world.root / os.fsdecode(STATE) / "workspace.json").exists():
            removed.append(call)
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    disk = WatchedDisk()
    projection = world.projection = LocalProjection(os.fsencode(world.root), disk=disk)
    workspaces = world.engine()._workspaces
    home = workspaces.open()
    assert projection.marker() == home.workspace
    disk.before = refuse
    workspaces.tidy()
    assert removed
    assert len(workspaces.warnings) == 1
    assert projection.marker() == ""
    workspaces.open()
    assert projection.marker() == home.workspace
