"""A place to try the tools that read: real files, a draft in memory, real programs if wanted."""

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec

from assent.core.digest import sha256
from assent.core.plan.operation import DeleteFile, FileState, MoveFile, Operation, WriteFile
from assent.core.shell.process import (
    CommandSpec,
    OutputChunk,
    ProcessLimits,
    ProcessResult,
    Program,
    SandboxState,
    SandboxStatus,
)
from assent.core.tool import PermissionContext, ToolOutcome
from assent.ports import FetchResponse
from assent.sandbox.profile.profile import ProfileBuilder
from assent.sandbox.read_only_shell import LocalReadOnlyShell
from assent.sandbox.runner.bubblewrap import BubblewrapRunner
from assent.sandbox.runner.unconfined import NoSandboxRunner
from assent.sandbox.status import find_bwrap
from assent.store.memory import MemoryBlobStore
from assent.tools.overlay import Overlay
from assent.tools.tool import Tool, ToolContext
from assent.workspace.files import LocalWorkspaceFiles

PATH = "/usr/local/bin:/usr/bin:/bin"


class Programs:
    """Implements ports.ProcessRunner: the system's programs, in the real sandbox if `held`."""

    def __init__(self, root: bytes, hold: SandboxState) -> None:
        self.ran: list[tuple[bytes, ...]] = []
        self._hold = hold
        self._sight = ProfileBuilder(root, b"/nonexistent", (), {"PATH": PATH})

    def sandbox_status(self) -> SandboxStatus:
        return SandboxStatus(self._hold)

    def program(self, names: Sequence[str], *, own: bool = False) -> bytes | None:
        paths = [os.fsencode(f"{folder}/{names[0]}") for folder in PATH.split(":")]
        return next((path for path in paths if os.path.exists(path)), None)

    def home(self) -> bytes:
        return b"/home/ada"

    def visible(self, path: bytes) -> bool:
        return True

    def chosen(self) -> tuple[bytes, ...]:
        return ()

    def visibility_notes(self, line: str, folder: bytes) -> tuple[str, ...]:
        return ()

    def hidden_below(self, folder: bytes) -> bytes | None:
        return None

    def still_running(self) -> str:
        return ""

    def entries(self, folder: bytes) -> dict[bytes, bool]:
        with os.scandir(folder) as found:
            return {entry.name: entry.is_dir() for entry in found}

    def run(
        self, pipeline: Sequence[Program], folder: bytes, limits: ProcessLimits
    ) -> Iterator[OutputChunk | ProcessResult]:
        self.ran += [program.argv for program in pipeline]
        if self._hold is SandboxState.NONE:
            return NoSandboxRunner().run(pipeline, folder, limits)
        tool = find_bwrap()
        assert tool is not None, "bubblewrap is not installed."
        return BubblewrapRunner(self._sight.profile, tool).run(pipeline, folder, limits)

    def run_command(
        self, errand: CommandSpec, folder: bytes, limits: ProcessLimits, *, confined: bool = True
    ) -> Iterator[OutputChunk | ProcessResult]:
        raise AssertionError("a tool runs no command that may write")


class NoFetch:
    """Implements ports.PageFetcher: gives back what it was made with, and remembers."""

    def __init__(self, page: FetchResponse | None = None) -> None:
        self.page = page
        self.allowed: Callable[[str], bool] = lambda host: False

    def get(self, url: str, limit: int, allowed: Callable[[str], bool]) -> FetchResponse:
        self.allowed = allowed
        assert self.page is not None
        return self.page


class Place:
    """A workspace with a draft. Each verb of staging changes what the tools see, not the disk."""

    def __init__(self, base: Path, hold: SandboxState = SandboxState.OFF) -> None:
        self.root = base / "ws"
        self.root.mkdir()
        self.blobs = MemoryBlobStore()
        self.operations: list[Operation] = []
        self.files = LocalWorkspaceFiles(os.fsencode(self.root), os.fsencode(self.root))
        self.process = Programs(os.fsencode(self.root), hold)
        self.fetch = NoFetch()
        self.posture = PermissionContext("plan")
        self.seen: dict[str, str] = {}
        self.secret: tuple[bytes, ...] = ()
        self.private: tuple[bytes, ...] = ()
        self.tested = True  # the sandbox, so that programs start at once

    @property
    def overlay(self) -> Overlay:
        return Overlay(self.files, self.blobs, self.operations)

    @property
    def around(self) -> ToolContext:
        return ToolContext(
            self.overlay, lambda: self.process, lambda: LocalReadOnlyShell(self.process),
            self.fetch, self.posture,
            os.fsencode(self.root), private=self.private, seen=self.seen,
            readable=lambda path: path not in self.secret, is_tested=lambda: self.tested,
        )  # fmt: skip

    def put(self, path: str, content: str | bytes = "") -> Path:
        """Puts a file on disk."""
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content.encode() if isinstance(content, str) else content)
        return target

    def stage(self, path: str, content: str, kind: str = "file") -> None:
        """Drafts a file or symlink."""
        self.blobs.keep([content.encode()])
        after = FileState(sha256(content.encode()), len(content.encode()), 0o644)
        if kind == "link":
            after = msgspec.structs.replace(after, mode=0o777, kind="link")
        self.operations.append(WriteFile(path.encode(), self._before(path), after))

    def drop(self, path: str, prune: int = 0) -> None:
        """Drafts a deletion."""
        before = self._before(path)
        assert before is not None
        self.operations.append(DeleteFile(path.encode(), before, prune))

    def move(self, path: str, to: str) -> None:
        """Drafts a rename."""
        before = self._before(path)
        assert before is not None
        self.operations.append(MoveFile(path.encode(), to.encode(), before))

    def call(self, tool: Tool, **args: object) -> ToolOutcome:
        """Runs a tool as the toolbox would, once the gate let it pass."""
        decoded = msgspec.convert(args, tool.args)
        tool.touches(decoded, self.around)
        outcome: ToolOutcome = tool.run(decoded, self.around)
        return outcome

    def touched(self, tool: Tool, **args: object) -> list[str]:
        """Returns the resources that a call touches."""
        decoded = msgspec.convert(args, tool.args)
        return [request.resource for request in tool.touches(decoded, self.around)]

    def _before(self, path: str) -> FileState | None:
        seen = self.overlay.state(path.encode())
        assert seen != "folder"
        return seen
