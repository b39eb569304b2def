"""Folders and disks that cannot be written: reading goes on, writing says why not."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from functools import cache
from pathlib import Path
from textwrap import dedent

import pytest
from tests.store.logs import filled, note
from tests.store.processes import child, run

from assent.store.sqlite import SqliteEventStore

NOBODY = 65534

# Root may write everywhere, so what is tried here is tried as nobody.
TRY = """
    import os, sys
    from contextlib import closing
    from assent.core.errors import StoreError
    from assent.core.event import PlanSelected
    from assent.ports import EventBatch
    from assent.store.sqlite import SqliteEventStore

    if os.getuid() == 0 and sys.argv[2] == "as nobody":
        os.setgid(65534)
        os.setuid(65534)
    with closing(SqliteEventStore(sys.argv[1], patience=1)) as store:
        try:
            print([one.event.plan_id[:4] for one in store.read("a")], flush=True)
        except StoreError as error:
            print(error.message)
        try:
            store.append(EventBatch("a", len(store.read("a")), "now", (PlanSelected("more"),)))
            print("written")
        except StoreError as error:
            print(error.message)
            print(error.next)
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that others can reach; those of pytest are private."""
    path = Path(tempfile.mkdtemp())
    path.chmod(0o755)
    yield path
    path.chmod(0o755)
    shutil.rmtree(path)


def given_away(folder: Path) -> None:
    """Lets a folder and what is in it belong to who is to use it: a log of others is refused."""
    if os.getuid() == 0:
        for path in (folder, *folder.rglob("*")):
            os.chown(path, NOBODY, NOBODY)


def readable_only(folder: Path) -> None:
    for file in folder.iterdir():
        file.chmod(0o444)
    folder.chmod(0o555)
    given_away(folder)


def refusal(path: Path) -> list[str]:
    return [
        f"Could not write the log {path}: permission denied for its folder or file "
        "(Permission denied). Existing data is unchanged.",
        f"ls -ld {path.parent} {path}",
    ]


def test_closed_log_in_a_folder_that_cannot_be_written(folder: Path) -> None:
    path = folder / "store.db"
    filled(path, 2)
    readable_only(folder)
    assert run(TRY, path, "as nobody").splitlines() == ["['0000', '0001']", *refusal(path)]
    found = {file.name for file in folder.iterdir()}
    assert found == {"store.db", "store.db-anchor", "store.lock"}


def test_open_log_in_a_folder_that_cannot_be_written(folder: Path) -> None:
    path = folder / "store.db"
    filled(path, 2)
    with closing(SqliteEventStore(path)) as store:
        store.append(note("third", 2))
        readable_only(folder)
        found = run(TRY, path, "as nobody").splitlines()
        folder.chmod(0o755)
    assert found == ["['0000', '0001', 'thir']", *refusal(path)]


def test_log_of_a_dead_writer_in_a_folder_that_cannot_be_written(folder: Path) -> None:
    path = folder / "store.db"
    die = """
        import os, sys
        from assent.core.event import PlanSelected
        from assent.ports import EventBatch
        from assent.store.sqlite import SqliteEventStore
        SqliteEventStore(sys.argv[1]).append(
            EventBatch("a", 0, "now", (PlanSelected("last words"),))
        )
        print("dying", flush=True)
        sys.stdin.readline()
    """
    with child(die, path) as writer:
        assert writer.hear() == "dying"
        writer.kill()
    readable_only(folder)
    assert run(TRY, path, "as nobody").splitlines() == ["['last']", *refusal(path)]


def test_log_that_cannot_be_read(folder: Path) -> None:
    path = folder / "store.db"
    filled(path, 1)
    path.chmod(0)
    given_away(folder)
    found = run(TRY, path, "as nobody").splitlines()
    assert found[0].startswith(
        f"Could not read the log {path}: permission denied for its folder or file"
    )


def test_folder_that_cannot_be_entered(folder: Path) -> None:
    path = folder / "state" / "store.db"
    filled(path, 1)
    given_away(folder)
    path.parent.chmod(0)
    found = run(TRY, path, "as nobody").splitlines()
    path.parent.chmod(0o755)
    assert found[0].startswith(
        f"Could not read the log {path}: permission denied for its folder or file"
    )


@cache
def can_mount() -> bool:
    """Tells whether a process may have mounts of its own."""
    if not shutil.which("unshare"):
        return False
    command = ["unshare", "--map-root-user", "--mount", "mount", "-t", "tmpfs", "none", "/mnt"]
    return subprocess.run(command, capture_output=True).returncode == 0


def mounted(script: str, *arguments: object) -> str:
    """Runs a shell script in its own space of mounts; $PYTHON and $CODE are at hand."""
    done = subprocess.run(
        ["unshare", "--map-root-user", "--mount", "sh", "-ec", dedent(script), "sh"]
        + [str(argument) for argument in arguments],
        env=os.environ | {"PYTHON": sys.executable, "CODE": dedent(TRY), "FILL": dedent(FILL)},
        stdout=subprocess.PIPE,
        encoding="utf-8",
        check=True,
    )
    return done.stdout


FILL = """
    import os, sys
    from contextlib import closing
    from assent.core.errors import StoreError
    from assent.core.event import PlanSelected
    from assent.ports import EventBatch
    from assent.store.sqlite import SqliteEventStore

    with closing(SqliteEventStore(sys.argv[1])) as store:
        stored = 0
        try:
            while True:
                store.append(EventBatch("a", stored, "now", (PlanSelected("x" * 5000),)))
                stored += 1
        except StoreError as error:
            print(error.message)
            print(error.next)
        print(stored > 10, len(store.read("a")) == stored)
        os.unlink(f"{os.path.dirname(sys.argv[1])}/ballast")
        store.append(EventBatch("a", stored, "now", (PlanSelected("room again"),)))
        print(len(store.read("a")) == stored + 1)
"""


@pytest.mark.skipif(not can_mount(), reason="this process may not mount anything")
def test_full_disk(tmp_path: Path) -> None:
    printed = mounted(
        """
        mount -t tmpfs -o size=600k,mode=700 none "$1"
        head -c 100000 /dev/zero > "$1/ballast"
        "$PYTHON" -c "$FILL" "$1/store.db"
        """,
        tmp_path,
    ).splitlines()
    assert printed == [
        f"Could not write the log {tmp_path}/store.db: no space left on the disk (database or "
        "disk is full). Existing data is unchanged.",
        f"df -h {tmp_path}",
        "True True",
        "True",
    ]


@pytest.mark.skipif(not can_mount(), reason="this process may not mount anything")
def test_disk_mounted_read_only(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    filled(path, 2)
    printed = mounted(
        """
        mount --bind "$1" "$1"
        mount -o remount,bind,ro "$1"
        "$PYTHON" -c "$CODE" "$1/store.db" "as root"
        """,
        tmp_path,
    ).splitlines()
    assert printed == [
        "['0000', '0001']",
        f"Could not write the log {path}: permission denied for its folder or file (Read-only "
        "file system). Existing data is unchanged.",
        f"ls -ld {tmp_path} {path}",
    ]
