"""One process at a time, by the kernel's own locks."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.store.processes import Child, child

from assent.core.errors import Busy
from assent.store.locks import FileLocks

HOLD = """
    import sys
    from assent.store.locks import FileLocks
    with FileLocks(sys.argv[1]).hold("w1", "assent build"):
        print("held", flush=True)
        sys.stdin.readline()
"""


def is_free(folder: Path, name: str = "w1") -> bool:
    try:
        with FileLocks(folder, patience=0).hold(name, "a test"):
            return True
    except Busy:
        return False


def _opened(number: int) -> os.stat_result:
    try:
        return os.fstat(number)
    except OSError:
        return os.stat("/")


def holder(started: Child) -> Child:
    assert started.hear() == "held"
    return started


def test_held_lock_names_its_owner(tmp_path: Path) -> None:
    with child(HOLD, tmp_path) as started:
        pid = holder(started).process.pid
        with (
            pytest.raises(Busy) as caught,
            FileLocks(tmp_path, patience=0.01).hold("w1", "assent undo"),
        ):
            pytest.fail("the lock was held twice")
        assert is_free(tmp_path, "w2")
    assert caught.value.message == (
        f"Busy: in use by assent build (process {pid}). Nothing was changed. Try again when it has "
        "finished."
    )
    assert caught.value.next == f"ps -fp {pid}"


def test_lock_is_free_when_its_owner_lets_go(tmp_path: Path) -> None:
    with child(HOLD, tmp_path) as started:
        holder(started).say()
        with FileLocks(tmp_path, patience=60).hold("w1", "a test"):
            pass
        started.end()


def test_lock_is_free_when_its_owner_is_killed(tmp_path: Path) -> None:
    with child(HOLD, tmp_path) as started:
        holder(started)
        assert not is_free(tmp_path)
        started.kill()
        assert is_free(tmp_path)


def test_lock_is_free_after_an_error(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), FileLocks(tmp_path).hold("w1", "a test"):
        raise ZeroDivisionError
    assert is_free(tmp_path)


def test_children_do_not_inherit_the_lock(tmp_path: Path) -> None:
    look = "import os; print([os.path.realpath(f'/proc/self/fd/{n}') for n in range(3, 50)])"
    with FileLocks(tmp_path).hold("w1", "a test"):
        command = [sys.executable, "-c", look]
        seen = subprocess.run(command, close_fds=False, capture_output=True, encoding="utf-8")
    assert seen.returncode == 0
    assert "w1.lock" not in seen.stdout


def test_lock_is_free_while_a_copy_of_its_descriptor_lives(tmp_path: Path) -> None:
    with FileLocks(tmp_path).hold("w1", "a test"):
        mine = os.stat(tmp_path / "w1.lock")
        own = next(n for n in range(3, 1000) if os.path.samestat(mine, _opened(n)))
        copy = os.dup(own)
    assert is_free(tmp_path)
    os.close(copy)


def test_same_process_cannot_hold_a_lock_twice(tmp_path: Path) -> None:
    with FileLocks(tmp_path).hold("w1", "a test"):
        assert not is_free(tmp_path)
    assert is_free(tmp_path)


def test_deleted_lock_file_keeps_nobody_out(tmp_path: Path) -> None:
    with FileLocks(tmp_path).hold("w1", "a test"):
        (tmp_path / "w1.lock").unlink()
        assert is_free(tmp_path)


def test_lock_files_are_private_and_empty_when_free(tmp_path: Path) -> None:
    with FileLocks(tmp_path / "locks").hold("w1", "a test"):
        text = (tmp_path / "locks" / "w1.lock").read_text("utf-8")
    lock = (tmp_path / "locks" / "w1.lock").stat()
    assert text == f"{os.getpid()}\na test"
    assert (oct(lock.st_mode), lock.st_size) == ("0o100600", 0)
    assert oct((tmp_path / "locks").stat().st_mode) == "0o40700"


@pytest.mark.parametrize(
    ("text", "who"),
    [
        (b"", "another process"),
        (b"12\nassent \x1b[2Jbuild\r\n", "assent ?[2Jbuild? (process 12)"),
        (b"no number\n\xff\xfe", "\ufffd\ufffd"),
    ],
)
def test_owner_text_cannot_speak_to_the_terminal(tmp_path: Path, text: bytes, who: str) -> None:
    with FileLocks(tmp_path).hold("w1", "a test"):
        (tmp_path / "w1.lock").write_bytes(text)
        with (
            pytest.raises(Busy) as caught,
            FileLocks(tmp_path, patience=0).hold("w1", "another"),
        ):
            pytest.fail("the lock was held twice")
    assert caught.value.message.startswith(f"Busy: in use by {who}.")
