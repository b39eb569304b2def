"""Composes an engine: chooses the concrete class for each port.

The rules, hooks and commands of the engine's workspace are part of it.
"""

import getpass
import hashlib
import os
import pwd
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from functools import cached_property, partial
from pathlib import Path
from typing import Protocol

import msgspec

from assent.app.engine import Engine
from assent.app.settings import load_settings, locate_workspace, user_paths
from assent.config.loader import LoadedSettings
from assent.config.paths import AppPaths, private_paths
from assent.config.settings import Settings
from assent.core.errors import AssentError, UsageError
from assent.core.paths import normalize
from assent.core.permission.command_analysis import CommandAnalysis
from assent.core.permission.rule import CommandLimits, PathLimits, PermissionPolicy
from assent.core.plan.operation import RunCommand
from assent.core.run.workspace_changes import (
    NO_FILES,
    FileStateChanges,
    SnapshotLimits,
    WorkspaceChanges,
)
from assent.core.shell.process import (
    OutputChunk,
    ProcessResult,
    SandboxState,
    SandboxStatus,
    never_stopped,
)
from assent.executor.command import NoPlanCommandRunner
from assent.executor.executor import Executor
from assent.planning.ports import NoHookRunner, Ports, RetentionLimits, WorkspaceConfig
from assent.ports import HookRunner, LogCheck, PlanCommandRunner, ProcessRunner, Signer, TrustedKeys
from assent.sandbox.status import FILE, cached_status, find_bwrap, install_command

# What records take from the machine: a folder's identity, the user and the time.
#
# It cannot be set from outside the process. A test that opens a recorded state directory uses it
# to say where, when and for whom that state was written.


def _identity(root: bytes) -> tuple[bytes, int]:
    """Returns the path and the inode by which the log knows the folder of a workspace."""
    return root, os.stat(root).st_ino


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return str(os.getuid())


def _account() -> str:
    """Returns whose process this is; variables that anybody can set do not count."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())


class HostIdentity(msgspec.Struct, frozen=True):
    """The machine as records name it; this one, unless a test says otherwise."""

    identity: Callable[[bytes], tuple[bytes, int]] = _identity
    user: Callable[[], str] = _user
    account: Callable[[], str] = _account
    nanoseconds: Callable[[], int] = time.time_ns


THIS_HOST = HostIdentity()
HOST: ContextVar[HostIdentity] = ContextVar("machine", default=THIS_HOST)


# Chooses the concrete classes behind the ports of an engine.


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


# Runs the commands of plans; loaded with the first one, as most builds have none.


class LazyPlanCommandRunner:
    """Implements ports.PlanCommandRunner; loads the sandbox with a plan's first command."""

    def __init__(self, make: Callable[[], PlanCommandRunner]) -> None:
        self._make = make
        self._stopped: Callable[[], bool] = never_stopped

    def check(self, command: RunCommand, meant: FileStateChanges = NO_FILES) -> None:
        self._real.check(command, meant)

    def check_allowed(self, command: RunCommand) -> None:
        self._real.check_allowed(command)

    def check_at_rest(self) -> None:
        self._real.check_at_rest()

    def clean_up(self, command: RunCommand, left: FileStateChanges) -> str:
        return self._real.clean_up(command, left)

    def record(self) -> str:
        return self._real.record()

    def run(
        self, command: RunCommand, digest: str, left: FileStateChanges
    ) -> Iterator[OutputChunk | ProcessResult]:
        return self._real.run(command, digest, left)

    def stop_when(self, stopped: Callable[[], bool]) -> None:
        self._stopped = stopped

    def changes(self, before: str) -> WorkspaceChanges:
        return self._real.changes(before)

    @cached_property
    def _real(self) -> PlanCommandRunner:
        made = self._make()
        made.stop_when(lambda: self._stopped())
        return made


# Opens the rules that apply to plans; they are read again for each use.


class SandboxRules(Protocol):
    """Rules that can be passed to a sandbox."""

    def command_limits(self, line: str) -> CommandLimits: ...

    def denials(self, paths: Iterable[bytes]) -> Mapping[bytes, str]: ...

    def path_limits(self) -> PathLimits | None:
        """Returns what they keep from every confined command; None if they keep nothing."""


class LazyPlanRules:
    """Implements ports.PlanRules; an unreadable rule file raises, so nothing runs (law 9)."""

    def __init__(self, root: bytes, here: AppPaths) -> None:
        self._root = root
        self._here = here
        self._known: tuple[PermissionPolicy, SandboxRules] | None = None

    def command_limits(self, line: str) -> CommandLimits:
        return self._now().command_limits(line)

    def denials(self, paths: Iterable[bytes], *, lenient: bool = False) -> Mapping[bytes, str]:
        return self._now(lenient=lenient).denials(paths)

    def process(self) -> ProcessRunner:
        """Returns what starts programs that hold to these rules; it is opened when first used."""
        from assent.app.lazy import LazyProcessRunner

        return LazyProcessRunner(os.fsdecode(self._root), self._fenced)

    def _fenced(self) -> ProcessRunner:
        from assent.app.shell import open_process_at

        process = open_process_at(os.fsdecode(self._root), self._here)
        fence = self._now().path_limits()
        return process.with_path_limits(fence) if fence else process

    def _now(self, *, lenient: bool = False) -> SandboxRules:
        """Reads the rules; where they are as they were, what was worked out for them stays."""
        from assent.app.rules import plan_rules

        try:
            policy = self._policy(load_settings(self._root, self._here, lenient=False))
        except AssentError:
            if not lenient:
                raise
            loaded = load_settings(self._root, self._here, lenient=True)
            policy = self._policy(msgspec.structs.replace(loaded, project=Settings()))
        known = self._known  # others may ask at the same time
        if known is None or known[0] != policy:
            known = self._known = (policy, plan_rules(policy))
        return known[1]

    def _policy(self, loaded: LoadedSettings) -> PermissionPolicy:
        from assent.app.rules import open_policy

        return open_policy(self._root, self._here, loaded)[0]


def open_engine(folder: str, *, lenient: bool = False) -> tuple[Engine, tuple[str, ...]]:
    """Opens the engine for the workspace around a folder, with what a person should know.

    Leniently, a project's configuration that cannot be used is a warning and no error.
    """
    return open_engine_at(folder, user_paths(), lenient=lenient)


def open_engine_at(
    folder: str, here: AppPaths, *, lenient: bool = False
) -> tuple[Engine, tuple[str, ...]]:
    """Opens the engine with state and configuration at given places."""
    cwd, root = locate_workspace(folder)
    loaded = load_settings(root, here, lenient=lenient)
    return engine_of(cwd, root, here, loaded.settings), loaded.warnings


def engine_of(cwd: bytes, root: bytes, here: AppPaths, settings: Settings) -> Engine:
    """Puts an engine together: for a person in the folder `cwd` of the workspace `root`."""
    rules = LazyPlanRules(root, here)

    def commander() -> PlanCommandRunner:  # most builds run no command, and never load it
        from assent.runs.plan_commands import LocalPlanCommandRunner

        return LocalPlanCommandRunner(rules.process(), doors.files, doors.blobs, place, rules)

    doors, place = open_ports(cwd, root, here, settings, LazyPlanCommandRunner(commander))
    hooks = _hooks(root, here, settings, place.user) if settings.hooks else NoHookRunner()
    doors = msgspec.structs.replace(doors, rules=rules, hooks=hooks)
    engine = Engine(doors, place)
    engine.swept = _swept(root, here)
    return engine


def _swept(root: bytes, here: AppPaths) -> tuple[bytes, ...]:
    """Removes the empty folders that a command left which was killed; returns what it removed."""
    folder = here.state / MOUNT_POINTS / folder_name(root)
    try:
        if not os.listdir(folder):
            return ()
    except OSError:
        return ()
    from assent.sandbox.runner.mount_points import MountPoints

    found = MountPoints(os.fspath(folder)).sweep()
    return tuple(path[len(root) :].lstrip(b"/") for path in found)


def _hooks(root: bytes, here: AppPaths, settings: Settings, user: str) -> HookRunner:
    """Returns hooks that are loaded with the first thing to hear, and where there are any."""
    from assent.app.lazy import LazyHookRunner

    def make() -> HookRunner:
        from assent.app.shell import open_hooks

        return open_hooks(root, here, settings, user)

    return LazyHookRunner(make)


def may_approve_without_terminal(folder: str, *, lenient: bool = False) -> bool:
    """Tells whether the user's configuration lets a full digest approve without a question."""
    _, root = locate_workspace(folder)
    return load_settings(root, user_paths(), lenient=lenient).settings.approve.without_terminal


# What the last self-test found out about the sandbox, without running anything.


def known_sandbox_status() -> SandboxStatus | None:
    """Tells what the last self-test found; None before the first."""
    tool = find_bwrap()
    if tool is None:
        return SandboxStatus(
            SandboxState.NONE, "bubblewrap is not installed.", install_command("bubblewrap")
        )
    return cached_status(user_paths().state / FILE, tool)


# Verifies the whole event log of the person on this machine.


def verify_log() -> LogCheck:
    """Follows the chain through the whole log; changes nothing."""
    from assent.store.sqlite import SqliteEventStore

    state = user_paths().state
    store = SqliteEventStore(state / "log.db")
    try:
        checked = store.verify()
    finally:
        store.close()
    if checked.events or not _has_leftovers(state):
        return checked
    return msgspec.structs.replace(checked, leftovers=True)


def _has_leftovers(state: Path) -> bool:
    """Tells whether the key, contents or locks of sessions are there, which no empty log has."""
    return any(next(state.glob(each), None) for each in ("key", "blobs/??", "locks/session-*"))
