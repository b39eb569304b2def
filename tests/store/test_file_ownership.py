"""A log that others could have written is refused, as such a key is, with the way on."""

import os
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from tests.store.logs import filled, note

from assent.core.errors import StoreError
from assent.store.database import NOT_REGULAR
from assent.store.locks import FileLocks
from assent.store.signing_key import FileSigner
from assent.store.sqlite import SqliteEventStore

NOBODY = 65534


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A log that was used, and whose companions are there."""
    path = tmp_path / "state" / "log.db"
    filled(path, 2)
    for ending in ("-wal", "-shm"):
        Path(f"{path}{ending}").touch(mode=0o600)
    return path


def refused(path: Path) -> tuple[StoreError, StoreError]:
    """Reads and writes a log; both have to be refused."""
    with closing(SqliteEventStore(path, patience=1)) as store:
        with pytest.raises(StoreError) as reading:
            store.read("a")
        with pytest.raises(StoreError) as writing:
            store.append(note("more", 2))
    return reading.value, writing.value


@pytest.mark.parametrize("ending", ["", "-wal", "-shm"])
@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_log_that_others_may_write_is_refused(log: Path, ending: str, mode: int) -> None:
    file = Path(f"{log}{ending}")
    file.chmod(mode)
    for error in refused(log):
        assert f"The log {file} is writable by other users" in error.message
        assert error.next == f"chmod go-w {file}"
    file.chmod(0o600)
    with closing(SqliteEventStore(log)) as store:
        assert len(store.read("a")) == 2


@pytest.mark.parametrize("ending", ["", "-wal", "-shm"])
def test_a_log_that_is_a_symlink_is_refused(log: Path, ending: str) -> None:
    file = Path(f"{log}{ending}")
    file.symlink_to(file.rename(log.parent.parent / f"elsewhere{ending}"))
    for error in refused(log):
        assert f"The log {file} is a symlink" in error.message
        assert error.next == f"ls -l {file}"


@pytest.mark.parametrize("ending", ["", "-wal", "-shm"])
@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_a_log_of_another_user_is_refused_also_to_root(log: Path, ending: str) -> None:
    file = Path(f"{log}{ending}")
    os.chown(file, NOBODY, -1)
    for error in refused(log):
        assert f"The log {file} belongs to another user (uid {NOBODY}; yours is 0)" in error.message
        assert error.next == f"sudo chown 0 {file}"


def link(folder: Path) -> None:
    folder.symlink_to(folder.rename(folder.with_name("elsewhere")))


def open_to_all(folder: Path) -> None:
    folder.chmod(0o770)


def give_away(folder: Path) -> None:
    os.chown(folder, NOBODY, -1)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (link, "is a symlink"),
        (open_to_all, "is writable by other users"),
        pytest.param(
            give_away,
            "belongs to another user",
            marks=pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away"),
        ),
    ],
)
@pytest.mark.parametrize("begun", [True, False])
def test_so_is_a_state_directory(
    log: Path, change: Callable[[Path], None], words: str, begun: bool
) -> None:
    if not begun:
        for file in log.parent.iterdir():
            file.unlink()
    change(log.parent)
    with closing(SqliteEventStore(log, patience=1)) as store, pytest.raises(StoreError) as caught:
        store.append(note("more", 2 if begun else 0))
    assert f"The state directory {log.parent} {words}" in caught.value.message
    assert caught.value.next
    assert begun or not log.exists()


def test_a_log_that_is_a_folder_is_damaged(log: Path) -> None:
    log.unlink()
    log.mkdir()
    for error in refused(log):
        assert NOT_REGULAR in error.message
        assert error.next


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_a_key_of_another_user_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "key"
    FileSigner(path).key()
    os.chown(path, NOBODY, -1)
    with pytest.raises(StoreError) as caught:
        FileSigner(path).sign(b"payload")
    assert f"The key {path} belongs to another user" in caught.value.message


def test_a_lock_that_something_else_stands_for_says_what_to_move(log: Path) -> None:
    locks = log.parent / "locks"
    for lock, use in (
        (log.parent / "store.lock", lambda: SqliteEventStore(log).append(note("more", 2))),
        (locks / "a.lock", lambda: FileLocks(locks).hold("a", "me").__enter__()),
    ):
        for stand in (lock.mkdir, lambda lock=lock: lock.symlink_to("/nowhere")):
            lock.parent.mkdir(exist_ok=True)
            if lock.is_dir():
                lock.rmdir()
            lock.unlink(missing_ok=True)
            stand()
            with pytest.raises(StoreError) as caught:
                use()
            assert "is in its place; move it away" in caught.value.message
            assert caught.value.next == f"mv {lock} {lock}.aside"
