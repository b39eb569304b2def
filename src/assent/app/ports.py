"""Opens the ports of a workspace: chooses the concrete class for each of them."""

import getpass
import hashlib
import os
import pwd
import time
from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar
from functools import cache, cached_property, partial
from pathlib import Path
from stat import S_ISLNK
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from assent.app.settings import load_settings, open_workspace_trust, user_paths
from assent.config.loader import LoadedSettings
from assent.config.paths import AppPaths, private_paths
from assent.config.settings import Settings
from assent.core.errors import AssentError, UsageError
from assent.core.paths import normalize
from assent.core.permission.rule import CommandLimits, PathLimits, PermissionPolicy, PermissionRule
from assent.core.run.workspace_changes import SnapshotLimits
from assent.core.shell.process import SandboxState, SandboxStatus
from assent.planning.ports import NoPlanRules, Ports, RetentionLimits, WorkspaceConfig
from assent.ports import (
    BlobStore,
    CacheFile,
    GarbageCollector,
    Journal,
    LogCheck,
    PlanCommandRunner,
    PlanRules,
    WorkspaceFiles,
)
from assent.ports.external import NoPlanCommandRunner

if TYPE_CHECKING:
    from assent.config.keyring import KeyringReader
    from assent.core.permission.command_analysis import CommandAnalysis
    from assent.core.plan.keyring import Keyring
    from assent.core.scratch import ScratchBackend
    from assent.executor.executor import Executor
    from assent.permissions.plan_rules import PolicyPlanRules
    from assent.ports.file_writer import FileWriter

# What records take from the machine: a folder's identity, the user and the time.
#
# It cannot be set from outside the process. A test that opens a recorded state directory uses it
# to say where, when and for whom that state was written.


def _identity(root: bytes) -> tuple[bytes, int]:
    """Returns the path and the inode that identify the folder of a workspace in the log."""
    return root, os.stat(root).st_ino


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return str(os.getuid())


def _account() -> str:
    """Returns the user of this process; variables that anyone can set do not count."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())


class HostIdentity(msgspec.Struct, frozen=True):
    """The machine as records name it; a test can set another one."""

    identity: Callable[[bytes], tuple[bytes, int]] = _identity
    user: Callable[[], str] = _user
    account: Callable[[], str] = _account
    nanoseconds: Callable[[], int] = time.time_ns


THIS_HOST = HostIdentity()
HOST: ContextVar[HostIdentity] = ContextVar("machine", default=THIS_HOST)


# Chooses the concrete classes for the ports of an engine.


MOUNT_POINTS = "mountpoints"  # where the state records which ones are in which workspace

SCRATCH = "scratch"  # copies, by workspace

SNAPSHOTS = "snapshots"  # caches, by workspace
SCANS = "scans"  # caches, by workspace and by what is searched for

NO_RULES = NoPlanRules()

CommanderOpener: TypeAlias = Callable[
    [WorkspaceFiles, BlobStore, WorkspaceConfig], PlanCommandRunner
]


def _no_commander(
    files: WorkspaceFiles, blobs: BlobStore, config: WorkspaceConfig
) -> PlanCommandRunner:
    return NoPlanCommandRunner()


def open_ports(
    cwd: bytes,
    root: bytes,
    here: AppPaths,
    settings: Settings,
    rules: PlanRules = NO_RULES,
    open_commander: CommanderOpener = _no_commander,
) -> tuple[Ports, WorkspaceConfig]:
    """Opens them for a person in the folder `cwd` of the workspace `root`; no hook yet.

    Without `open_commander` no command of a plan can run.
    """
    from assent.executor.displaced_files import LocalDisplacedFiles
    from assent.executor.file_states import DigestCache
    from assent.executor.projection import LocalProjection
    from assent.store.blobs import FileBlobStore
    from assent.store.clock import SystemClock
    from assent.store.locks import FileLocks
    from assent.store.signing_key import FileSigner
    from assent.store.sqlite import SqliteEventStore
    from assent.workspace.files import LocalWorkspaceFiles
    from assent.workspace.git_state import git_state

    plan_dir = normalize(os.fsencode(settings.plan.dir))
    blobs = FileBlobStore(here.state / "blobs")
    digests = DigestCache()  # what reading has hashed, applying need not hash again
    config = _workspace_config(root, plan_dir, here, settings)
    spares = LocalDisplacedFiles(
        os.fsencode(here.state / "spares"), config.retention.displaced_bytes
    )
    files = LocalWorkspaceFiles(root, cwd, digests=digests)
    projection = LocalProjection(root, plan_dir)
    commander = cache(partial(open_commander, files, blobs, config))

    @cache
    def writer() -> "FileWriter":
        from assent.executor.file_writer import LocalFileWriter

        return LocalFileWriter(root, digests=digests, spares=spares)

    @cache
    def collector() -> GarbageCollector:
        from assent.store.garbage_collector import BlobGarbageCollector  # after a run at most

        return BlobGarbageCollector(here.state / "blobs")

    def open_executor(journal: Journal) -> "Executor":
        from assent.executor.executor import Executor  # most commands change nothing

        return Executor(writer(), blobs, journal, commander=commander())

    def close_folders() -> None:
        files.close()
        projection.close()

    ports = Ports(
        store=SqliteEventStore(here.state / "log.db"),
        blobs=blobs,
        signer=FileSigner(here.state / "key"),
        locks=FileLocks(here.state / "locks"),
        clock=SystemClock(HOST.get().nanoseconds),
        files=files,
        projection=projection,
        executor=open_executor,
        open_command_runner=commander,
        open_garbage_collector=collector,
        displaced_files=spares,
        rules=rules,
        keys=KeyringTrustedKeys(here, root, settings.keys),
        classify_command_line=line_classifier(os.fsdecode(root), str(Path.home())),
        no_sandbox_reason=_unheld,
        git_state=partial(git_state, root),
        snapshot_cache=snapshot_cache(root, here),
        close_folders=close_folders,
    )
    return ports, config


def snapshot_cache(root: bytes, here: AppPaths) -> Callable[[], CacheFile]:
    """Returns what opens the cache of a workspace's snapshots: most commands take none."""
    return cache(lambda: _cache_file(root, here.state / SNAPSHOTS / folder_name(root)))


def scan_cache(root: bytes, here: AppPaths) -> Callable[[bytes], CacheFile]:
    """Returns what opens the cache of a search of a workspace, by what is searched for."""

    def opened(kind: bytes) -> CacheFile:
        return _cache_file(root, here.state / SCANS / folder_name(root + b"\0" + kind))

    return opened


def _cache_file(root: bytes, path: Path) -> CacheFile:
    from assent.store.cache_file import LocalCacheFile

    def about() -> bytes:
        found = os.stat(root)  # another folder, or disk, may be under this path since
        return repr((root, found.st_dev, found.st_ino)).encode()

    return LocalCacheFile(os.fspath(path), about)


def folder_name(root: bytes) -> str:
    """Returns the name of a workspace's folder in the state directory."""
    return hashlib.sha256(root).hexdigest()[:32]


def _workspace_config(
    root: bytes, plan_dir: bytes, here: AppPaths, settings: Settings
) -> WorkspaceConfig:
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
        model=settings.model,
        models=settings.models,
    )


def _unheld() -> str:
    """Returns why the sandbox does not work here; empty if it does, or is not tested yet."""

    standing = known_sandbox_status()
    return "" if standing is None or standing.hold is SandboxState.HELD else standing.reason


def line_classifier(root: str, home: str) -> "Callable[[str], CommandAnalysis]":
    """Returns what judges command lines, by tables and a grammar that the first one loads."""

    def classify(text: str) -> "CommandAnalysis":
        from assent.permissions.commands.read_only_line import read_only_line

        if (found := read_only_line(text)) is not None:
            return found  # without the grammar, which takes long to load
        from assent.permissions.commands.classifier import classify_command_line

        return classify_command_line(text, root=root, home=home)

    return classify


def files_read_by(text: str) -> tuple[str, ...]:
    """Returns the files that a read-only command line names, by the same tables."""
    from assent.permissions.commands.read_only.classifier import files_read_by

    return files_read_by(text)


def _independent(root: bytes, here: AppPaths, settings: Settings) -> bool | tuple[str, ...]:
    """Returns the risks for which two people are needed; the system's file is rarely there."""
    own = settings.approve.independent
    try:
        if own is True or not here.system.exists():
            return own
        return independence_risks(root, here, own)
    except (UsageError, OSError):
        return True  # what cannot be read could say anything: require another approver


class KeyringTrustedKeys:
    """Implements ports.TrustedKeys with the lists of the user's and the system's files."""

    def __init__(self, here: AppPaths, root: bytes, of_user: Mapping[str, str]) -> None:
        self._here = here
        self._root = root
        self._of_user = of_user

    def trusted(self, key: str) -> bool:
        return self._ring.counts(key)

    def verify(self, key: str, payload: bytes, signature: str) -> bool:
        from assent.store.signing_key import is_signed_by

        return is_signed_by(key, payload, signature)

    @cached_property
    def _ring(self) -> "Keyring":
        return keyring_reader(self._here, self._root).keyring(self._of_user)


def keyring_reader(here: AppPaths, root: bytes) -> "KeyringReader":
    """Returns the reader of key lists, for a user in a workspace."""
    from assent.config.keyring import KeyringReader
    from assent.executor.disk import Disk

    return KeyringReader(here, root, Disk().open)


def independence_risks(
    root: bytes, here: AppPaths, of_user: bool | tuple[str, ...]
) -> bool | tuple[str, ...]:
    """Returns the risks for which two people are needed, by the user's and the system's files."""
    said = (of_user, keyring_reader(here, root).system().approve.independent)
    if True in said:
        return True
    codes = [code for each in said if isinstance(each, tuple) for code in each]
    return tuple(dict.fromkeys(codes))


# The rules that apply to plans; they are read again for each use.


class PlanRulesReader:
    """Implements ports.PlanRules; an unreadable rule file raises, so nothing runs (law 9).

    What was read is used again as long as every file that it came from, or could have come from, is
    the same file, unchanged, in the same folders.
    """

    def __init__(self, root: bytes, here: AppPaths) -> None:
        self._root = root
        self._here = here
        self._known: tuple[PermissionPolicy, PolicyPlanRules] | None = None
        self._read: tuple[RuleFileStamps, PolicyPlanRules] | None = None

    def command_limits(self, line: str) -> CommandLimits:
        return self._now().command_limits(line)

    def denials(self, paths: Iterable[bytes], *, lenient: bool = False) -> Mapping[bytes, str]:
        return self._now(lenient=lenient).denials(paths)

    def path_limits(self) -> PathLimits | None:
        """Returns what they hide from every confined command; None if they hide nothing."""
        return self._now().path_limits()

    def _now(self, *, lenient: bool = False) -> "PolicyPlanRules":
        """Reads the rules; if they are unchanged, earlier results are kept."""
        stamps = rule_file_stamps(self._root, self._here)  # before anything is read
        read = self._read
        if stamps is not None and read is not None and read[0] == stamps:
            return read[1]
        rules = self._current(lenient=lenient)
        self._read = (stamps, rules) if stamps is not None and not lenient else None
        return rules

    def _current(self, *, lenient: bool) -> "PolicyPlanRules":
        from assent.permissions.plan_rules import PolicyPlanRules

        try:
            policy = self._policy(load_settings(self._root, self._here, lenient=False))
        except AssentError:
            if not lenient:
                raise
            loaded = load_settings(self._root, self._here, lenient=True)
            policy = self._policy(msgspec.structs.replace(loaded, project=Settings()))
        known = self._known  # others may ask at the same time
        if known is None or known[0] != policy:
            known = self._known = (
                policy,
                PolicyPlanRules(policy, line_classifier(policy.root, policy.home)),
            )
        return known[1]

    def _policy(self, loaded: LoadedSettings) -> PermissionPolicy:
        return load_rules(self._root, self._here, loaded)[0]


RuleFileStamps: TypeAlias = tuple[tuple[int, ...], ...]

# A file that changed less than this ago could change again without a new time.
_SETTLED_NS = 100_000_000


def rule_file_stamps(
    root: bytes, here: AppPaths, more: Iterable[str] = ()
) -> RuleFileStamps | None:
    """Returns what shows a change of any file that rules are read from, or of a folder on its way.

    None if one of the files, or of the paths in `more`, is so young that a change might not show.
    """
    files, folders = _rule_files(root, here)
    stamps = [_stamp(name) for name in (*files, *more)]
    newest = max((at for found in stamps for at in found[-2:]), default=0)
    if newest > time.time_ns() - _SETTLED_NS:
        return None
    return (*stamps, *[_stamp(each)[:_IDENTITY] for each in folders])


@cache
def _rule_files(root: bytes, here: AppPaths) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Returns every file that rules are read from where it exists, and all folders above them."""
    from assent.config.loader import PROJECT
    from assent.config.permissions import OPENCODE, PROJECT_FILES
    from assent.config.trust_list import FILE

    project = os.fsdecode(root)
    files = [here.file, here.state / FILE]
    files += [here.config.parent / "opencode" / name for name in OPENCODE]
    names = [*map(os.fspath, files), *[f"{project}/{each}" for each in (PROJECT, *PROJECT_FILES)]]
    folders: dict[str, None] = {}
    for name in names:
        folder = os.path.dirname(name)
        while folder not in folders and folder != "/":
            folders[folder] = None
            folder = os.path.dirname(folder)
    return tuple(names), tuple(folders)


_IDENTITY = 4  # numbers of a stamp that tell one file from another


def _stamp(path: str) -> tuple[int, ...]:
    """Returns what tells a file and its content from others, its times last; empty if none.

    Of a symlink it is its own identity, and everything of the file that it leads to.
    """
    try:
        found = os.lstat(path)
        file = os.stat(path) if S_ISLNK(found.st_mode) else found
    except OSError:
        return ()
    return (
        found.st_dev, found.st_ino, found.st_mode, found.st_uid,
        file.st_dev, file.st_ino, file.st_mode, file.st_uid,
        file.st_size, file.st_mtime_ns, file.st_ctime_ns,
    )  # fmt: skip


def load_rules(
    root: bytes,
    here: AppPaths,
    loaded: LoadedSettings,
    command_line: tuple[PermissionRule, ...] = (),
    *,
    check: bool = True,
) -> tuple[PermissionPolicy, tuple[str, ...]]:
    """Reads every layer of rules but the agents', with warnings; unchecked, examples may fail."""
    from assent.config.permissions import RuleSources, load_policy
    from assent.executor.disk import Disk

    trusted = open_workspace_trust(root, here)
    sources = RuleSources(
        loaded, here, root, str(Path.home()), Disk().open, trusted.holds, command_line, check
    )
    policy, warnings = load_policy(sources)
    return policy, (*warnings, *trusted.warnings)


def remove_leftover_folders(root: bytes, here: AppPaths) -> tuple[bytes, ...]:
    """Removes the empty folders of a killed command; returns what it removed."""
    folder = here.state / MOUNT_POINTS / folder_name(root)
    try:
        if not os.listdir(folder):
            return ()
    except OSError:
        return ()
    from assent.sandbox.runner.mount_points import MountPoints

    found = MountPoints(os.fspath(folder)).sweep()
    return tuple(path[len(root) :].lstrip(b"/") for path in found)


# What the last self-test found out about the sandbox, without running anything.


def known_sandbox_status() -> SandboxStatus | None:
    """Returns the result of the last self-test; None before the first."""
    from assent.sandbox.status import FILE, cached_status, find_bwrap, install_command

    tool = find_bwrap()
    if tool is None:
        return SandboxStatus(
            SandboxState.NONE, "bubblewrap is not installed.", install_command("bubblewrap")
        )
    return cached_status(user_paths().state / FILE, tool)


def known_scratch_backend(root: bytes) -> "ScratchBackend | None":
    """Returns how copies of a workspace are made, as an earlier trial found; None before it."""
    folder = user_paths().state / SCRATCH / folder_name(root)
    if not folder.is_dir():  # as nearly always: no copy was ever made here
        return None
    from assent.sandbox.scratch.choice import known_choice, scratch_places

    found = known_choice(root, scratch_places(os.fsencode(folder.parents[1]), folder.name))
    return found.backend if found is not None else None


def verify_log() -> LogCheck:
    """Follows the hash chain through the whole log; changes nothing."""
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
    """Tells whether a key, blobs or session locks exist, which an empty log does not have."""
    return any(next(state.glob(each), None) for each in ("key", "blobs/??", "locks/session-*"))
