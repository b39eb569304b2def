"""The cache of searches: the program writes it, and a later secret is hidden all the same.

Each command is by what a process just started would open.
"""

import os
import time
from pathlib import Path

from tests.sandbox.profiles import gathered, needs_bubblewrap

from assent.app.ports import SCANS
from assent.app.shell import open_process_at, open_shell_at
from assent.config.paths import AppPaths
from assent.core.file_times import MTIME_GRANULARITY_NS
from assent.core.shell.process import CommandSpec, ProcessLimits

SECRET = b"PASSWORD=hunter2\n"
KEY = b"-----BEGIN OPENSSH PRIVATE KEY-----\n"


def read(root: Path, here: AppPaths, name: str) -> bytes:
    """Returns what a read-only command of plan mode sees of a file."""
    parts = open_shell_at(os.fspath(root), here, here.state).run(f"cat {name}", os.fsencode(root))
    return gathered(parts).output


def copied(root: Path, here: AppPaths, name: str) -> bytes:
    """Returns what a command sees that may write the workspace."""
    process, limits = open_process_at(os.fspath(root), here), ProcessLimits(seconds=30)
    return gathered(
        process.run_command(CommandSpec(f"sh -c 'cat {name}'"), os.fsencode(root), limits)
    ).output


@needs_bubblewrap
def test_a_secret_created_between_two_commands_is_not_seen_by_the_second(tmp_path: Path) -> None:
    root, here = tmp_path / "work", AppPaths(tmp_path / "state", tmp_path / "config")
    (root / ".git").mkdir(parents=True)
    for folder in ("a", "a/b", "c"):
        (root / folder).mkdir()
        (root / folder / "readme").write_bytes(b"read me\n")
    (root / "c" / "server.key").write_bytes(b"no key here, " * 4)
    wait_until_settled(root)
    for see in (read, copied):
        assert see(root, here, "a/b/readme") == b"read me\n"
    caches = {path: path.read_bytes() for path in (here.state / SCANS).iterdir()}
    assert len(caches) == 2  # of secrets, and of repositories below
    assert {path.stat().st_mode & 0o777 for path in caches} == {0o600}
    for see in (read, copied):
        (root / "a/b/.env").write_bytes(SECRET)
        (root / "a/old.env").write_bytes(SECRET)
        (root / "a/old.env").rename(root / "c/prod.env")
        (root / "c/server.key").write_bytes(KEY)
        for name in ("a/b/.env", "c/prod.env", "c/server.key"):
            assert SECRET not in see(root, here, name)
            assert KEY not in see(root, here, name)
        assert see(root, here, "a/b/readme") == b"read me\n"
        for name in ("a/b/.env", "c/prod.env"):
            (root / name).unlink()
    for path in caches:
        path.write_bytes(b"damaged")
    (root / "a/b/.env").write_bytes(SECRET)
    assert SECRET not in read(root, here, "a/b/.env")


def wait_until_settled(root: Path) -> None:
    """Waits until folders are old enough to be remembered: times of change cannot be set."""
    while time.time_ns() - (root / "c").stat().st_ctime_ns <= MTIME_GRANULARITY_NS:
        time.sleep(0.05)
