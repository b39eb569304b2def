"""A real repository in a room, and commits made there as a plan's last command makes them."""

import os
import subprocess
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import msgspec
from tests.sandbox.profiles import Outcome, gathered
from tests.sandbox.workspace import Room

from assent.core.plan.git_commit import commit_command
from assent.core.plan.operation import FileState
from assent.core.run.workspace_changes import FileStateChange, FileStateChanges
from assent.planning.ports import WorkspaceConfig
from assent.runs.plan_commands import LocalPlanCommandRunner
from assent.store.memory import MemoryBlobStore
from assent.workspace.files import LocalWorkspaceFiles

DIGEST = "d" * 64
IDENTITY = "[user]\n\tname = Ada Person\n\temail = ada@example.org\n"


class Repository(msgspec.Struct, frozen=True):
    """A room whose workspace git knows; `git` runs outside of any sandbox, as the person."""

    room: Room
    blobs: MemoryBlobStore = msgspec.field(default_factory=MemoryBlobStore)

    @property
    def root(self) -> Path:
        return self.room.root

    def commander(self, **variables: str) -> LocalPlanCommandRunner:
        root = os.fsencode(self.root)
        place = WorkspaceConfig(root, 0, b".opencode/plans", "ada")
        files = LocalWorkspaceFiles(root, root)
        return LocalPlanCommandRunner(
            partial(self.room.process, **variables), files, self.blobs, place
        )

    def left(self, paths: Sequence[bytes | str]) -> dict[bytes, FileStateChange]:
        """Returns these files as they stand, as if a run had met them as committed."""
        found = self.standing(paths)
        return {path: (self._committed(path), state) for path, state in found.items()}

    def standing(self, paths: Sequence[bytes | str]) -> dict[bytes, FileState | None]:
        root = os.fsencode(self.root)
        seen = LocalWorkspaceFiles(root, root).read_states([os.fsencode(path) for path in paths])
        return {path: state for path, state in seen.items() if state != "folder"}

    def _committed(self, path: bytes) -> FileState | None:
        """Returns what the last commit holds, and keeps it as a run would."""
        rows = self.git("ls-tree", "-r", "-z", "--full-tree", "HEAD", check=False).split("\0")
        modes = {os.fsencode(path): about for about, _, path in (r.partition("\t") for r in rows)}
        if not modes.get(path, "").startswith("100"):
            return None
        content = os.fsencode(self.git("cat-file", "blob", b"HEAD:" + path))
        digest, size = self.blobs.keep([content])
        return FileState(digest, size, int(modes[path][3:6], 8))

    def commit(self, paths: Sequence[bytes | str], title: str = "Say hello") -> Outcome:
        return self.commit_as_left(self.left(paths), title)

    def commit_as_left(self, left: FileStateChanges, title: str = "Say hello") -> Outcome:
        return gathered(self.commander().run(commit_command(title), DIGEST, left))

    def git(self, *words: str | bytes, folder: str = "", check: bool = True) -> str:
        home = self.room.base / "home"
        done = subprocess.run(
            ["git", *words],
            cwd=self.root / folder,
            env={"PATH": os.defpath, "HOME": str(home), "GIT_CONFIG_NOSYSTEM": "1"},
            capture_output=True,
            check=check,
            timeout=60,
        )
        return done.stdout.decode("utf-8", "surrogateescape")

    def put(self, files: dict[str, str]) -> None:
        for name, content in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, encoding="utf-8")

    def committed(self, revision: str = "HEAD") -> list[str]:
        """Returns what a commit changed, each with its letter."""
        rows = self.git("show", "--format=", "--name-status", "--no-renames", "-z", revision)
        words = rows.split("\0")[:-1]
        return [" ".join(pair) for pair in zip(words[::2], words[1::2], strict=True)]


def repository(base: Path, files: dict[str, str] | None = None) -> Repository:
    """Makes a repository with one commit, if it is given files."""
    for folder in ("work", "home", "state"):
        (base / folder).mkdir()
    (base / "home/.gitconfig").write_text(IDENTITY, encoding="utf-8")
    made = Repository(Room(base))
    made.git("init", "--quiet", "--initial-branch=main")
    if files:
        made.put(files)
        made.git("add", "--all")
        made.git("commit", "--quiet", "--message=First")
    return made
