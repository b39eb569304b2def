"""A build that dies: `python -m tests.cli.killed_build ROOT PLAN CALL AT` is killed in the middle.

CALL is `write` or `rename`, AT how many of those calls on the person's side happen before; or it is
`probe`, with which a start asks whether the kernel can exchange two files.
"""

import os
import signal
import sys
from functools import partial
from pathlib import Path

from tests.cli.harness import World
from tests.support import forked_python

from assent.app.engine import Engine
from assent.app.ports import THIS_HOST, HostIdentity, PlanRulesReader
from assent.config.paths import app_paths
from assent.executor.disk import Disk
from assent.executor.executor import Executor
from assent.executor.file_writer import LocalFileWriter
from assent.executor.projection import PLANS, LocalProjection
from assent.planning.ports import Ports, WorkspaceConfig
from assent.store.blobs import FileBlobStore
from assent.store.clock import SystemClock
from assent.store.locks import FileLocks
from assent.store.signing_key import FileSigner
from assent.store.sqlite import SqliteEventStore
from assent.workspace.files import LocalWorkspaceFiles

PROJECT = Path(__file__).resolve().parents[2]


class DyingDisk(Disk):
    """Kills its own process before a chosen call."""

    def __init__(self, call: str, at: int) -> None:
        self._call = call
        self._left = at

    def write(self, fd: int, content: bytes | memoryview) -> int:
        self._came("write")
        return super().write(fd, content)

    def rename_noreplace(
        self, source: bytes, source_at: int, target: bytes, target_at: int
    ) -> None:
        self._came("rename")
        super().rename_noreplace(source, source_at, target, target_at)

    def rename_exchange(self, one: bytes, one_at: int, other: bytes, other_at: int) -> None:
        self._came("probe" if one.startswith(b"probe") else "rename")
        super().rename_exchange(one, one_at, other, other_at)

    def _came(self, call: str) -> None:
        if call != self._call:
            return
        if self._left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        self._left -= 1


def kill_build(world: World, call: str, at: int) -> None:
    """Builds the current plan in a process that is killed before call number `at`."""
    plan_id = str(world.ok("plan", "show")["plan_id"])
    dies(world, "tests.cli.killed_build", plan_id, call, str(at))


def dies(world: World, module: str, *words: str) -> None:
    """Runs a module in the workspace of a world, which has to be killed there."""
    done = forked_python.run(
        [sys.executable, "-m", module, str(world.root), *words],
        cwd=PROJECT,
        env=world.env,
        capture_output=True,
        check=False,
    )
    assert done.returncode == -signal.SIGKILL, done


def engine(root: bytes, disk: Disk, machine: HostIdentity = THIS_HOST) -> Engine:
    """Opens the engine as the program does, with hands that use another disk."""
    here = app_paths(os.environ, Path.home())
    known_as, inode = machine.identity(root)
    blobs = FileBlobStore(here.state / "blobs")
    doors = Ports(
        store=SqliteEventStore(here.state / "log.db"),
        blobs=blobs,
        signer=FileSigner(here.state / "key"),
        locks=FileLocks(here.state / "locks"),
        clock=SystemClock(machine.nanoseconds),
        files=LocalWorkspaceFiles(root, root),
        projection=LocalProjection(root, PLANS),
        executor=partial(Executor, LocalFileWriter(root, disk), blobs),
        rules=PlanRulesReader(root, here),
    )
    return Engine(doors, WorkspaceConfig(root, inode, PLANS, "tester", known_as=known_as))


if __name__ == "__main__":
    disk = DyingDisk(sys.argv[3], int(sys.argv[4]))
    for _ in engine(os.fsencode(sys.argv[1]), disk).runs.build(sys.argv[2]):
        pass
