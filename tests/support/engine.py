"""An engine for tests: real files in a temporary folder, everything else in memory."""

import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import TypeVar

from assent.app.engine import Engine
from assent.core.digest import sha256
from assent.core.event import Event, StoredEvent
from assent.core.ids import format_id
from assent.core.permission.mode import CustomModes
from assent.core.plan.record import PlanRecord
from assent.core.run.journal import drive_to_end
from assent.executor.disk import Disk
from assent.executor.displaced_files import LocalDisplacedFiles
from assent.executor.executor import Executor
from assent.executor.file_writer import LocalFileWriter
from assent.executor.projection import PLANS, LocalProjection
from assent.planning.ports import (
    NoGarbageCollector,
    NoHookRunner,
    Ports,
    RetentionLimits,
    WorkspaceConfig,
)
from assent.ports import (
    EventBatch,
    EventStore,
    GarbageCollector,
    HookRunner,
    Locks,
    LogCheck,
    Projection,
    Signer,
    StreamTrace,
)
from assent.runs.run_status import RunReport
from assent.store.memory import MemoryBlobStore, MemoryEventStore
from assent.workspace.files import LocalWorkspaceFiles

R = TypeVar("R")


class SetClock:
    """Implements ports.Clock; a test sets the hour."""

    def __init__(self) -> None:
        self.hour = 12
        self._ids = 0

    def now(self) -> str:
        return self.later(0)

    def later(self, seconds: int) -> str:
        return f"2026-01-01T{self.hour + seconds // 3600:02}:00:00.000Z"

    def new_id(self) -> str:
        self._ids += 1
        return format_id(self._ids, 0)


class NamedSigner:
    """Implements ports.Signer without cryptography: whoever knows the name can sign."""

    def __init__(self, name: str = "ours") -> None:
        self.name = name

    def key(self) -> str:
        return self.name

    def sign(self, payload: bytes) -> str:
        return sha256(self.name.encode() + payload)

    def verify(self, key: str, payload: bytes, signature: str) -> bool:
        return (key, signature) == (self.name, self.sign(payload))


class OpenLocks:
    """Implements ports.Locks for tests in which two really are at work at once."""

    def is_held(self, name: str) -> bool:
        return False

    def holder(self, name: str) -> str:
        return "somebody" if self.is_held(name) else ""

    def hold(self, name: str, owner: str) -> AbstractContextManager[None]:
        return nullcontext()


class PassedOn:
    """Implements ports.Store by passing everything on to another one."""

    def __init__(self, store: EventStore) -> None:
        self._store = store

    def append(self, *batches: EventBatch) -> tuple[StoredEvent, ...]:
        return self._store.append(*batches)

    def read(self, stream: str, after: int = 0) -> list[StoredEvent]:
        return self._store.read(stream, after)

    def read_all(
        self, prefixes: Sequence[str], after: int = 0, kinds: Sequence[type[Event]] = ()
    ) -> list[StoredEvent]:
        return self._store.read_all(prefixes, after, kinds)

    def last(self) -> int:
        return self._store.last()

    def latest(self, stream: str, seq: int) -> str:
        return self._store.latest(stream, seq)

    def stamp(self) -> tuple[int, ...]:
        return self._store.stamp()

    def changed_streams(self, prefix: str, after: int) -> list[str]:
        return self._store.changed_streams(prefix, after)

    def read_after(self, position: int, limit: int) -> list[StoredEvent]:
        return self._store.read_after(position, limit)

    def streams(self, prefix: str) -> list[str]:
        return self._store.streams(prefix)

    def verify(self) -> LogCheck:
        return self._store.verify()

    def trace(self, stream: str) -> StreamTrace:
        return self._store.trace(stream)

    def head(self, stream: str) -> tuple[int, bytes] | None:
        return self._store.head(stream)

    def heads(self, prefix: str) -> dict[str, tuple[int, bytes]]:
        return self._store.heads(prefix)

    def close(self) -> None:
        self._store.close()


class RacingStore(PassedOn):
    """A store where somebody else acts just before a chosen event."""

    def __init__(self, store: EventStore, before: type, act: Callable[[], object]) -> None:
        super().__init__(store)
        self._before = before
        self._act: Callable[[], object] | None = act

    def append(self, *batches: EventBatch) -> tuple[StoredEvent, ...]:
        events: list[Event] = [event for batch in batches for event in batch.events]
        if self._act and any(isinstance(event, self._before) for event in events):
            act, self._act = self._act, None
            act()
        return super().append(*batches)


class World:
    """A workspace, what outlives a process, and as many engines over them as a test likes."""

    def __init__(self, base: Path) -> None:
        self.root = base / "project"
        self.root.mkdir()
        self.store: EventStore = MemoryEventStore()
        self.blobs = MemoryBlobStore()
        self.clock = SetClock()
        self.signer: Signer = NamedSigner()
        self.locks: Locks = OpenLocks()
        self.projection: Projection | None = None  # another than the real one
        self.hooks: HookRunner = NoHookRunner()
        self.collector: GarbageCollector = NoGarbageCollector()
        self.retention = RetentionLimits()
        self.spares = LocalDisplacedFiles(os.fsencode(base / "spares"), 1 << 20)
        self.expires_s = 0
        self.export = b""
        self.modes: CustomModes = {}

    def engine(self, store: EventStore | None = None, disk: Disk | None = None) -> Engine:
        root = os.fsencode(self.root)
        doors = Ports(
            store=store or self.store,
            blobs=self.blobs,
            signer=self.signer,
            locks=self.locks,
            clock=self.clock,
            files=LocalWorkspaceFiles(root, root),
            projection=self.projection or LocalProjection(root),
            executor=partial(Executor, LocalFileWriter(root, disk, spares=self.spares), self.blobs),
            hooks=self.hooks,
            open_garbage_collector=lambda: self.collector,
            displaced_files=self.spares,
        )
        inode = os.stat(root).st_ino
        place = WorkspaceConfig(
            root, inode, PLANS, "tester", self.expires_s, (), self.export, modes=self.modes,
            retention=self.retention,
        )  # fmt: skip
        return Engine(doors, place)

    def propose(self, files: dict[str, bytes]) -> PlanRecord:
        """Makes a plan that writes files, and proposes it."""
        engine = self.engine()
        record = engine.plans.new("work", "tests", "A goal")
        for path, content in files.items():
            record = engine.drafts.write(record, path.encode(), [content], None).record
        return engine.approvals.propose(record)

    def approve(self, files: dict[str, bytes]) -> PlanRecord:
        """Makes a plan that writes files, and approves it."""
        record = self.propose(files)
        return self.engine().approvals.approve(record, record.digest, "", "test")

    def build(self, record: PlanRecord, disk: Disk | None = None) -> RunReport:
        return drive_to_end(self.engine(disk=disk).runs.build(record.plan_id))

    def put(self, files: dict[str, bytes]) -> None:
        for path, content in files.items():
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).write_bytes(content)

    def files(self) -> dict[str, bytes]:
        """The person's files."""
        found = [path for path in self.root.rglob("*") if path.is_file()]
        named = {str(path.relative_to(self.root)): path.read_bytes() for path in found}
        return {path: content for path, content in named.items() if ".opencode" not in path}

    def kinds(self) -> list[str]:
        """The kinds of all events, in order."""
        streams: Iterable[StoredEvent] = self.store.read_all(["plan/"])
        return [type(recorded.event).__name__ for recorded in streams]
