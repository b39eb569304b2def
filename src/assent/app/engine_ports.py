"""Chooses the concrete classes behind the ports of an engine."""

import hashlib
import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from assent.app.host_identity import HOST
from assent.config.paths import AppPaths, private_paths
from assent.config.settings import Settings
from assent.core.errors import UsageError
from assent.core.paths import normalize
from assent.core.permission.command_analysis import CommandAnalysis
from assent.core.run.workspace_changes import SnapshotLimits
from assent.core.shell.process import SandboxState
from assent.executor.command import NoPlanCommandRunner
from assent.executor.executor import Executor
from assent.planning.ports import Ports, RetentionLimits, WorkspaceConfig
from assent.ports import PlanCommandRunner, Signer, TrustedKeys

MOUNT_POINTS = "mountpoints"  # where the state keeps which ones stand in which workspace

NO_COMMANDS = NoPlanCommandRunner()


def open_ports(
    cwd: bytes,
    root: bytes,
    here: AppPaths,
    settings: Settings,
    commander: PlanCommandRunner = NO_COMMANDS,
) -> tuple[Ports, WorkspaceConfig]:
    """Opens them for a person in the folder `cwd` of the workspace `root`; no rule or hook yet."""
    from assent.executor.displaced_files import LocalDisplacedFiles
    from assent.executor.file_states import DigestCache
    from assent.executor.file_writer import LocalFileWriter
    from assent.executor.projection import LocalProjection
    from assent.store.blobs import FileBlobStore
    from assent.store.clock import SystemClock
    from assent.store.garbage_collector import BlobGarbageCollector
    from assent.store.locks import FileLocks
    from assent.store.sqlite import SqliteEventStore
    from assent.workspace.files import LocalWorkspaceFiles
    from assent.workspace.git_state import git_state

    plan_dir = normalize(os.fsencode(settings.plan.dir))
    blobs = FileBlobStore(here.state / "blobs")
    digests = DigestCache()  # what reading has hashed, applying need not hash again
    place = _place(root, plan_dir, here, settings)
    spares = LocalDisplacedFiles(
        os.fsencode(here.state / "spares"), place.retention.displaced_bytes
    )
    hands = LocalFileWriter(root, digests=digests, spares=spares)
    doors = Ports(
        store=SqliteEventStore(here.state / "log.db"),
        blobs=blobs,
        signer=LazySigner(here.state / "key"),
        locks=FileLocks(here.state / "locks"),
        clock=SystemClock(HOST.get().nanoseconds),
        files=LocalWorkspaceFiles(root, cwd, digests=digests),
        projection=LocalProjection(root, plan_dir),
        executor=partial(Executor, hands, blobs, commander=commander),
        command_runner=commander,
        garbage_collector=BlobGarbageCollector(here.state / "blobs"),
        displaced_files=spares,
        keys=LazyTrustedKeys(here, root, settings.keys),
        classify_command_line=partial(_read_line, os.fsdecode(root)),
        no_sandbox_reason=_unheld,
        git_state=partial(git_state, root),
    )
    return doors, place


def folder_name(root: bytes) -> str:
    """Returns the name of a workspace's folder where the state keeps one for each."""
    return hashlib.sha256(root).hexdigest()[:32]


def _place(root: bytes, plan_dir: bytes, here: AppPaths, settings: Settings) -> WorkspaceConfig:
    undo, machine = settings.undo, HOST.get()
    known_as, inode = machine.identity(root)
    return WorkspaceConfig(
        root=root,
        inode=inode,
        plan_dir=plan_dir,
        user=machine.user(),
        expires_s=settings.approve.expires_s,
        private=private_paths(here, root, Path.home() / ".config" / "opencode"),
        export=os.fsencode(settings.plan.export),
        staging=settings.plan.staging,
        max_file=settings.stage.max_file_mb << 20,
        commit=settings.plan.commit,
        snapshot_limits=SnapshotLimits(undo.file_mb << 20, undo.total_mb << 20, undo.files),
        modes=settings.modes,
        retention=RetentionLimits(undo.keep_days, undo.keep_mb << 20, undo.spare_mb << 20),
        independent=_independent(root, here, settings),
        account=machine.account(),
        known_as=known_as,
    )


def _unheld() -> str:
    """Says why no sandbox holds here; nothing where one does, or nobody has tried yet."""
    from assent.app.sandbox_status import known_sandbox_status

    standing = known_sandbox_status()
    return "" if standing is None or standing.hold is SandboxState.HELD else standing.reason


def _read_line(root: str, text: str) -> CommandAnalysis:
    """Reads a command line by tables and a grammar that are loaded for the first one."""
    from assent.permissions.commands.classifier import classify_command_line

    return classify_command_line(text, root=root, home=str(Path.home()))


def _independent(root: bytes, here: AppPaths, settings: Settings) -> bool | tuple[str, ...]:
    """Returns for which risks two people are needed; the system's file is rarely there."""
    own = settings.approve.independent
    try:
        if own is True or not here.system.exists():
            return own
        from assent.app.keyring import independence_risks

        return independence_risks(root, here, own)
    except (UsageError, OSError):
        return True  # what cannot be read could say anything: nobody approves alone


class LazyTrustedKeys:
    """Implements ports.TrustedKeys; reads lists and loads the library with the first question."""

    def __init__(self, here: AppPaths, root: bytes, of_user: Mapping[str, str]) -> None:
        self._made = (here, root, of_user)
        self._keys: TrustedKeys | None = None

    def trusted(self, key: str) -> bool:
        return self._real().trusted(key)

    def verify(self, key: str, payload: bytes, signature: str) -> bool:
        return self._real().verify(key, payload, signature)

    def _real(self) -> TrustedKeys:
        if self._keys is None:
            from assent.app.keyring import KeyringTrustedKeys

            self._keys = KeyringTrustedKeys(*self._made)
        return self._keys


class LazySigner:
    """Implements ports.Signer; loads the library when something is signed or verified."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._signer: Signer | None = None

    def key(self) -> str:
        return self._real().key()

    def sign(self, payload: bytes) -> str:
        return self._real().sign(payload)

    def verify(self, key: str, payload: bytes, signature: str) -> bool:
        return self._real().verify(key, payload, signature)

    def _real(self) -> Signer:
        if self._signer is None:
            from assent.store.signing_key import FileSigner

            self._signer = FileSigner(self._path)
        return self._signer
