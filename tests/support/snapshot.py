"""A folder that is recorded, and what operations would make of it again."""

import errno
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from assent.core.digest import sha256
from assent.core.plan.operation import DeleteFile, FileState, WriteFile, inverse
from assent.core.run.workspace_changes import SnapshotLimits, WorkspaceChanges
from assent.executor.disk import Disk
from assent.planning.ports import WorkspaceConfig
from assent.planning.snapshot.recorder import SnapshotRecorder
from assent.ports import BlobStore, CacheFile, NoCacheFile
from assent.workspace.files import LocalWorkspaceFiles

Act = Callable[[Path], object]
Found = tuple[str, int, bytes]  # kind, mode, content


def later() -> int:
    """Tells the time a minute ahead: every file looks settled."""
    return time.time_ns() + 60_000_000_000


class Closing(Disk):
    """A disk on which one name cannot be opened, whoever asks."""

    def __init__(self, closed: bytes) -> None:
        self._closed = closed

    def open(self, name: bytes, flags: int, mode: int = 0o666, at: int | None = None) -> int:
        if name == self._closed:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return super().open(name, flags, mode, at)


class Folder(msgspec.Struct, frozen=True):
    """A workspace of plain files."""

    root: Path
    blobs: BlobStore
    closed: bytes = b""  # a name that nobody may open
    plans: bytes = b".opencode/plans"

    def recorder(
        self,
        bounds: SnapshotLimits | None = None,
        clock: Callable[[], int] = time.time_ns,
        cache: CacheFile | None = None,
        disk: Disk | None = None,
    ) -> SnapshotRecorder:
        root = os.fsencode(self.root)
        place = WorkspaceConfig(
            root, 0, self.plans, "me", snapshot_limits=bounds or SnapshotLimits()
        )
        return SnapshotRecorder(
            LocalWorkspaceFiles(root, root, disk or Closing(self.closed)),
            self.blobs,
            place,
            clock,
            lambda: cache or NoCacheFile(),
        )

    def put(self, files: dict[str, bytes]) -> None:
        for name, content in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)

    def seen(self) -> dict[bytes, Found]:
        """Returns every file and symlink; folders do not count."""
        found: dict[bytes, Found] = {}
        for folder, folders, names in os.walk(os.fsencode(self.root)):
            for name in (*names, *folders):
                path = os.path.join(folder, name)
                below = os.path.relpath(path, os.fsencode(self.root))
                if os.path.islink(path):
                    found[below] = ("link", 0o777, os.readlink(path))
                elif os.path.isfile(path):
                    found[below] = (
                        "file",
                        os.stat(path).st_mode & 0o7777,
                        Path(os.fsdecode(path)).read_bytes(),
                    )
        return found

    def put_back(self, changes: WorkspaceChanges) -> None:
        """Takes operations back, the newest first, as an undo would."""
        for op in reversed(changes.operations):
            back = inverse(op)
            assert isinstance(back, WriteFile | DeleteFile)
            path = os.path.join(os.fsencode(self.root), back.path)
            if isinstance(back, DeleteFile):
                os.unlink(path)
                _prune(os.path.dirname(path), os.fsencode(self.root))
                continue
            self._write(path, back.after)

    def _write(self, path: bytes, state: FileState) -> None:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if os.path.isdir(path) and not os.path.islink(path):
            assert not any(files for *_, files in os.walk(path)), "only empty folders may be left"
            shutil.rmtree(path)
        elif os.path.lexists(path):
            os.unlink(path)
        content = self.blobs.read(state.digest)
        if state.kind == "link":
            os.symlink(content, path)
            return
        Path(os.fsdecode(path)).write_bytes(content)
        os.chmod(path, state.mode)


def _prune(folder: bytes, root: bytes) -> None:
    while folder != root and not os.listdir(folder):
        os.rmdir(folder)
        folder = os.path.dirname(folder)


def state(content: bytes, mode: int = 0o644, *, link: bool = False) -> FileState:
    return FileState(sha256(content), len(content), mode, "link" if link else "file")


def changed(folder: Folder, act: Act, bounds: SnapshotLimits | None = None) -> WorkspaceChanges:
    """Records, acts, and returns what changed; by a blob, as another process would."""
    recorder = folder.recorder(bounds)
    before = recorder.store(recorder.take())
    act(folder.root)
    other = folder.recorder(bounds)
    return other.changes(other.load(before))
