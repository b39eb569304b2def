"""Plan commands in memory: scripts that change a workspace step by step, and can be cut."""

from collections.abc import Callable, Iterator, Mapping
from copy import copy
from typing import TypeAlias

import msgspec

from assent.core.decoding import decode_json
from assent.core.errors import Refused, RunUnfinished
from assent.core.paths import TREE, ancestors, is_inside
from assent.core.plan.operation import DeleteFile, FileOperation, FileState, RunCommand, WriteFile
from assent.core.run.workspace_changes import (
    NO_FILES,
    ChangeKind,
    FileStateChanges,
    SkippedFile,
    WorkspaceChanges,
)
from assent.core.shell.process import INTERRUPTED_RESULT, OutputChunk, ProcessResult, never_stopped
from assent.ports import BlobStore
from assent.testing.memory_workspace import MemoryFileWriter, MemoryNode

MemorySnapshot: TypeAlias = dict[str, FileState]


class CommandScript(msgspec.Struct, frozen=True):
    """What a command does: files that it creates, changes or removes, its output and its end."""

    writes: tuple[tuple[bytes, MemoryNode | None], ...] = ()
    said: bytes = b""
    code: int = 0
    cut: str = ""


class MemoryPlanCommandRunner:
    """Implements ports.PlanCommandRunner by scripts, named by a command's first word.

    Every change of a file is one step of the workspace's crash injector; `began` lists every start
    of a command. Files in `unseen` are changed without keeping their old content.
    """

    def __init__(
        self, writer: MemoryFileWriter, blobs: BlobStore, scripts: Mapping[bytes, CommandScript]
    ) -> None:
        self.writer = writer
        self.scripts = dict(scripts)
        self.unseen: frozenset[bytes] = frozenset()
        self.began: list[bytes] = []
        self.asked: list[tuple[str, tuple[bytes, ...]]] = []  # digest and paths of each
        self.denied: frozenset[bytes] = frozenset()  # what rules deny now
        self.outlived = ""  # what still runs of a command whose starter died
        self._blobs = blobs
        self._stopped: Callable[[], bool] = never_stopped

    def twin(self, hands: MemoryFileWriter, blobs: BlobStore) -> "MemoryPlanCommandRunner":
        """Returns a separate copy of these commands, on a copy of their workspace."""
        twin = copy(self)
        twin.writer, twin._blobs = hands, blobs
        twin.began, twin.asked = list(self.began), list(self.asked)
        return twin

    def check(self, command: RunCommand, meant: FileStateChanges = NO_FILES) -> None:
        if command.argv[0] not in self.scripts:
            raise Refused(f"Program {command.argv[0]!a} not found.")

    def check_allowed(self, command: RunCommand) -> None:
        if command.argv[0] in self.denied:
            raise Refused(f"A rule denies {command.argv[0]!a}.")

    def check_at_rest(self) -> None:
        if self.outlived:
            raise RunUnfinished(f"{self.outlived} is still running.")

    def clean_up(self, command: RunCommand, left: FileStateChanges) -> str:
        return ""

    def record(self) -> str:
        self.writer.fuse.step()
        found = self._snapshot()
        for path, node in self.writer.files.items():
            if path.decode() in found and path not in self.unseen:
                self._blobs.keep([node.content])  # the old content is all that an undo needs
        blob, _ = self._blobs.keep([msgspec.json.encode(found)])
        self._blobs.flush()
        return blob

    def run(
        self, command: RunCommand, digest: str, left: FileStateChanges
    ) -> Iterator[OutputChunk | ProcessResult]:
        script = self.scripts[command.argv[0]]
        self.began.append(command.argv[0])
        self.asked.append((digest, tuple(sorted(left))))
        self.writer.fuse.step()
        if script.said:
            yield OutputChunk(script.said)
        for path, node in script.writes:
            self._write(path, node)
        self.writer.fuse.step()
        yield INTERRUPTED_RESULT if self._stopped() else ProcessResult(script.code, script.cut)

    def stop_when(self, stopped: Callable[[], bool]) -> None:
        self._stopped = stopped

    def changes(self, before: str) -> WorkspaceChanges:
        self.writer.fuse.step()
        old = decode_json(self._blobs.read(before), MemorySnapshot)
        new = self._snapshot()
        other = sorted(path for path in {*old, *new} if old.get(path) != new.get(path))
        rows = [(path.encode(), old.get(path), new.get(path)) for path in other]
        return WorkspaceChanges(
            tuple(_operation(*row) for row in rows if row[0] not in self.unseen),
            tuple(
                SkippedFile(row[0], _how(*row[1:]), "large")
                for row in rows
                if row[0] in self.unseen
            ),
        )

    def _snapshot(self) -> MemorySnapshot:
        files = self.writer.files.items()
        return {path.decode(): node.state for path, node in files if not is_inside(path, TREE)}

    def _write(self, path: bytes, node: MemoryNode | None) -> None:
        self.writer.fuse.step()
        self.writer.foreign.add(path)
        if node is None:
            self.writer.files.pop(path, None)
            return
        self.writer.folders.update(ancestors(path))
        self.writer.files[path] = node


def _operation(path: bytes, old: FileState | None, new: FileState | None) -> FileOperation:
    if new is not None:
        return WriteFile(path, old, new)
    assert old is not None, "something changed"
    return DeleteFile(path, old)


def _how(old: FileState | None, new: FileState | None) -> ChangeKind:
    return "new" if old is None else "gone" if new is None else "changed"
