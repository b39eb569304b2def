"""A real engine for tests: on disk, with every call traced and a clock that can be set."""

import os
from functools import partial
from pathlib import Path

import msgspec

from assent.app.engine import Engine
from assent.app.shell import open_process_at
from assent.config.paths import AppPaths
from assent.executor.disk import Disk
from assent.executor.displaced_files import LocalDisplacedFiles
from assent.executor.executor import Executor
from assent.executor.file_states import DigestCache
from assent.executor.file_writer import LocalFileWriter
from assent.executor.projection import LocalProjection
from assent.planning.ports import Ports, WorkspaceConfig
from assent.ports import BlobStore, Clock, EventStore, PlanCommandRunner, WorkspaceFiles
from assent.runs.plan_commands import LocalPlanCommandRunner
from assent.store.blobs import FileBlobStore
from assent.store.clock import SystemClock
from assent.store.locks import FileLocks
from assent.store.packs import BlobDisk
from assent.store.signing_key import FileSigner
from assent.store.sqlite import SqliteEventStore
from assent.testing.call_trace import CallListener, ignore_call, trace_calls
from assent.workspace.files import LocalWorkspaceFiles
from assent.workspace.git_state import git_state

PLANS = b".opencode/plans"


class EngineFixture(msgspec.Struct, frozen=True):
    """The workspace and the state folder of an engine."""

    root: Path
    state: Path


def open_engine_fixture(
    site: EngineFixture,
    listen: CallListener = ignore_call,
    clock: Clock | None = None,
    expires_s: int = 0,
    store: EventStore | None = None,
) -> Engine:
    """Composes an engine as `app` does, with disks and a store that report every call."""
    root = os.fsencode(site.root)

    def disk(who: str) -> Disk:
        return trace_calls(Disk(), who, listen)

    digests = DigestCache()
    files = LocalWorkspaceFiles(root, root, disk("files"), digests=digests)
    config = WorkspaceConfig(root, os.stat(root).st_ino, PLANS, "tester", expires_s)
    blobs = FileBlobStore(site.state / "blobs", trace_calls(BlobDisk(), "blobs", listen))
    commander = _commander(site, files, blobs, config)
    spares = LocalDisplacedFiles(os.fsencode(site.state / "spares"), 1 << 30, disk("hands"))
    writer = LocalFileWriter(root, disk("hands"), digests=digests, spares=spares)
    ports = Ports(
        store=trace_calls(store or SqliteEventStore(site.state / "log.db"), "store", listen),
        blobs=blobs,
        signer=FileSigner(site.state / "key"),
        locks=FileLocks(site.state / "locks", patience=60),  # many tests run at once
        clock=clock or SystemClock(),
        files=files,
        projection=LocalProjection(root, PLANS, disk("projection")),
        executor=partial(Executor, writer, blobs, commander=commander),
        open_command_runner=lambda: commander,
        displaced_files=spares,
        git_state=partial(git_state, root),
    )
    return Engine(ports, config)


def _commander(
    site: EngineFixture, files: WorkspaceFiles, blobs: BlobStore, config: WorkspaceConfig
) -> PlanCommandRunner:
    """Returns what runs the commands of plans; the first one opens the sandbox."""
    here = AppPaths(site.state, site.state.parent / "config")
    return LocalPlanCommandRunner(
        partial(open_process_at, str(site.root), here), files, blobs, config
    )
