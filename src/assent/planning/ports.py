"""The ports and the workspace configuration that planning and run services are built with."""

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from assent.core.errors import without_scratch_copy
from assent.core.llm import ModelSettings
from assent.core.permission.mode import CustomModes
from assent.core.permission.rule import NO_COMMAND_LIMITS, CommandLimits, PathLimits
from assent.core.run.workspace_changes import SnapshotLimits
from assent.ports import (
    BlobStore,
    CacheFile,
    Clock,
    CollectionResult,
    DisplacedFiles,
    EventStore,
    GarbageCollector,
    GitState,
    HookResults,
    HookRunner,
    Journal,
    Locks,
    NoCacheFile,
    PlanCommandRunner,
    PlanRules,
    Projection,
    Signer,
    TrustedKeys,
    WorkspaceFiles,
)
from assent.ports.external import NoPlanCommandRunner

if TYPE_CHECKING:
    from assent.core.permission.command_analysis import CommandAnalysis
    from assent.executor.executor import Executor
    from assent.ports.scratch import ScratchCopy, ScratchOpener

NO_HOOK_RESULT = HookResults()


class NoHookRunner:
    """Implements ports.HookRunner where no hooks are configured."""

    def fire(self, on: str, facts: Mapping[str, Any]) -> HookResults:
        return NO_HOOK_RESULT

    def listens(self, on: str) -> bool:
        return False


class NoTrustedKeys:
    """Implements ports.TrustedKeys where no other key is trusted."""

    def trusted(self, key: str) -> bool:
        return False

    def verify(self, key: str, payload: bytes, signature: str) -> bool:
        return False


class NoPlanRules:
    """Implements ports.PlanRules where there are no rules."""

    def command_limits(self, line: str) -> CommandLimits:
        return NO_COMMAND_LIMITS

    def denials(self, paths: Iterable[bytes], *, lenient: bool = False) -> Mapping[bytes, str]:
        return {}


class NoGarbageCollector:
    """Implements ports.GarbageCollector where contents are never removed."""

    def due(self) -> bool:
        return False

    def collect(self, needed: Callable[[str], bool]) -> CollectionResult:
        return CollectionResult()


class NoDisplacedFiles:
    """Implements ports.DisplacedFiles where none are kept."""

    def trim(self, limit: int) -> list[str]:
        return []

    def drop(self, runs: Iterable[str]) -> list[str]:
        return []


def no_scratch_copy(name: str, hidden: PathLimits | None = None, /) -> "ScratchCopy":
    """Opens no scratch copy: where nothing may be run."""
    raise without_scratch_copy(
        "There is no scratch copy here, so nothing was run.", "assent doctor"
    )


class RetentionLimits(msgspec.Struct, frozen=True):
    """How long, and how much, runs keep for an undo; 0: no limit."""

    days: int = 0
    size: int = 0
    displaced_bytes: int = 0  # additional bytes of displaced files; 0: none


class VerificationConfig(msgspec.Struct, frozen=True):
    """`[verify]` of the user's file and of the project's, and whether approvals require it."""

    user: tuple[str, ...] = ()
    project: tuple[str, ...] = ()
    required: bool = False  # approve.require_rehearsal


class Ports(msgspec.Struct, frozen=True):
    """What `assent.app` passes to the services; nothing below it knows the concrete classes."""

    store: EventStore
    blobs: BlobStore
    signer: Signer
    locks: Locks
    clock: Clock
    files: WorkspaceFiles
    projection: Projection
    executor: "Callable[[Journal], Executor]"  # the engine itself writes no files (law 1)
    hooks: HookRunner = NoHookRunner()
    open_garbage_collector: Callable[[], GarbageCollector] = NoGarbageCollector
    displaced_files: DisplacedFiles = NoDisplacedFiles()
    open_command_runner: Callable[[], PlanCommandRunner] = NoPlanCommandRunner  # for builds
    # By its text; where there is none, no command line counts as read.
    classify_command_line: "Callable[[str], CommandAnalysis] | None" = None
    keys: TrustedKeys = NoTrustedKeys()
    rules: PlanRules = NoPlanRules()  # of person and project, for plans
    no_sandbox_reason: Callable[[], str] = lambda: (
        ""
    )  # why no sandbox holds here, as far as that is known
    git_state: Callable[[], GitState] = GitState  # as git's own files tell it now
    snapshot_cache: Callable[[], CacheFile] = NoCacheFile  # what snapshots need not read again
    open_scratch: "ScratchOpener" = no_scratch_copy
    close_folders: Callable[[], None] = lambda: None  # that are open to look into; for the end

    @property
    def command_runner(self) -> PlanCommandRunner:
        """What runs the commands of plans."""
        return self.open_command_runner()


class WorkspaceConfig(msgspec.Struct, frozen=True):
    """Where the services work, and for whom."""

    root: bytes
    inode: int
    plan_dir: bytes
    user: str
    expires_s: int = 0
    private: tuple[bytes, ...] = ()  # state and configuration, if they are in the workspace
    export: bytes = b""  # plan.export: a file that gets a proposed plan's text
    staging: bool = True  # plan.staging
    max_file: int = 512 << 20  # stage.max_file_mb, in bytes
    commit: bool = False  # plan.commit
    snapshot_limits: SnapshotLimits = SnapshotLimits()  # [undo]: what is kept while a command runs
    modes: CustomModes = {}  # the user's and the project's
    retention: RetentionLimits = RetentionLimits()  # undo.keep_days, undo.keep_mb
    independent: bool | tuple[str, ...] = False  # approve.independent
    account: str = ""  # the account that runs the process, whatever name it uses
    known_as: bytes = b""  # the path that the log knows the folder by; empty: the root
    model: str = ""  # model: what is used unless another one is named
    models: Mapping[str, ModelSettings] = {}  # [models]: known properties, with prices
    verification: VerificationConfig = VerificationConfig()

    @property
    def recorded_root(self) -> bytes:
        """The workspace's path as it is recorded."""
        return self.known_as or self.root
