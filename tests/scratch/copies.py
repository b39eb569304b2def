"""A workspace with its own state, and copies of it, for both backends."""

import hashlib
import os
import stat
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import msgspec
from tests.sandbox.profiles import Outcome, gathered
from tests.sandbox.workspace import Known

from assent.core.plan.operation import FileState
from assent.core.scratch import ScratchBackendName, ScratchDraft, ScratchLimits, ScratchResult
from assent.core.shell.process import CommandSpec, ProcessLimits, SandboxState, SandboxStatus
from assent.sandbox.process_runner import LocalProcessRunner
from assent.sandbox.profile.profile import ProfileBuilder
from assent.sandbox.scratch.backend import ScratchCopies
from assent.sandbox.scratch.caches import cache_folders
from assent.sandbox.scratch.choice import ScratchPlaces
from assent.sandbox.scratch.scratch import CopyPaths, LocalScratchCopy

HELD = SandboxStatus(SandboxState.HELD)
PLANS = b".opencode/plans"
Seen = dict[str, tuple[object, ...]]


class Place(msgspec.Struct, frozen=True):
    """`work` is the workspace in a base folder, `home` the person's, `state` Assent's."""

    base: Path
    only: ScratchBackendName | None = None
    limits: ScratchLimits = ScratchLimits(reserve_bytes=1 << 20)
    status: SandboxStatus = HELD
    name: str = "work"
    memory: bytes = b""
    variables: Mapping[str, str] = {}  # more of the person's environment

    @property
    def root(self) -> Path:
        return self.base / self.name

    @property
    def folder(self) -> Path:
        """Where copies are."""
        return self.base / "state/scratch/w"

    def process(self) -> LocalProcessRunner:
        home = os.fsencode(self.base / "home")
        environment = {"PATH": os.defpath, "HOME": os.fsdecode(home), **self.variables}
        hidden = [os.fsencode(self.base / "state")]
        caches = cache_folders(home, environment)
        sight = ProfileBuilder(os.fsencode(self.root), home, hidden, environment, caches=caches)
        return LocalProcessRunner(sight, Known(self.status), environment)

    def copies(self) -> ScratchCopies:
        places = ScratchPlaces(os.fsencode(self.folder), self.memory)
        paths = CopyPaths(os.fsencode(self.root), (PLANS,))
        return ScratchCopies(paths, places, self.limits, self.process, only=self.only)

    def open(self, name: str = "s1") -> LocalScratchCopy:
        return self.copies().open(name)

    def seen(self) -> Seen:
        """Returns everything about the real tree, and the home, in detail."""
        return {
            **tree_seen(self.root),
            **{f"home/{name}": one for name, one in tree_seen(self.base / "home").items()},
        }


def unfurnished(base: Path, **changes: object) -> Place:
    """Makes an empty workspace, a home and a state directory."""
    place = msgspec.structs.replace(Place(base), **changes)  # type: ignore[arg-type]
    place.root.mkdir(parents=True)
    for folder in ("home", "state/scratch"):
        (base / folder).mkdir(parents=True)
        (base / folder).chmod(0o700)
    (base / "state").chmod(0o700)
    return place


def furnished(base: Path, **changes: object) -> Place:
    """Makes a workspace with a repository, ignored files, a secret and a home."""
    place = unfurnished(base, **changes)
    for folder in ("src/deep", "node_modules/left", ".opencode/plans", "docs"):
        (place.root / folder).mkdir(parents=True)
    files = {
        "a.txt": "a\n", "src/main.py": "print('main')\n", "src/deep/b.txt": "b\n",
        "docs/one.md": "one\n", "docs/two.md": "two\n",
        ".gitignore": "node_modules/\n*.pyc\nout/\n",
        "node_modules/left/index.js": "left\n", ".env": "TOKEN=secret-canary\n",
        ".opencode/plans/PLAN_x.md": "plan\n",
    }  # fmt: skip
    for name, text in files.items():
        (place.root / name).write_text(text, encoding="utf-8")
    (place.root / "run.sh").write_text("#!/bin/sh\necho run\n", encoding="utf-8")
    (place.root / "run.sh").chmod(0o755)
    (place.root / "link").symlink_to("a.txt")
    git = ["git", "-c", "user.name=x", "-c", "user.email=x@x", "-C", str(place.root)]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "first"]):
        subprocess.run([*git, *words], check=True, capture_output=True)
    settle()
    return place


def settle() -> None:
    """Waits until what was written before lies before whatever begins now, by the coarse clock."""
    until = time.clock_gettime_ns(5) + 2 * int(time.clock_getres(5) * 1e9)
    while time.clock_gettime_ns(5) <= until:
        time.sleep(0.002)


def tree_seen(top: Path) -> Seen:
    """Returns content, mode, owner, times and inode of everything in a folder."""
    found: Seen = {}
    for folder, folders, names in os.walk(top):
        for name in [".", *folders, *names]:
            path = os.path.join(folder, name)
            state = os.lstat(path)
            content: object = None
            if stat.S_ISREG(state.st_mode):
                content = Path(path).read_bytes()
            elif stat.S_ISLNK(state.st_mode):
                content = os.readlink(path)
            elif stat.S_ISDIR(state.st_mode):
                content = tuple(sorted(os.listdir(path)))
            found[os.path.relpath(path, top)] = (
                state.st_mode, state.st_uid, state.st_gid, state.st_ino, state.st_nlink,
                state.st_mtime_ns, state.st_ctime_ns, content,
            )  # fmt: skip
    return found


def line(copy: LocalScratchCopy, place: Place, text: str, **limits: float) -> Outcome:
    """Runs a line in a copy."""
    wanted = ProcessLimits(**{"seconds": 30, **limits})  # type: ignore[arg-type]
    return gathered(copy.run(CommandSpec(text), os.fsencode(place.root), wanted))


def kinds(result: ScratchResult) -> dict[str, str]:
    """Returns the changes by path."""
    return {os.fsdecode(change.path): change.kind for change in result.changes}


class Contents:
    """Contents by digest, as a store of blobs has them."""

    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}

    def file(self, content: bytes, mode: int = 0o644) -> FileState:
        digest = hashlib.sha256(content).hexdigest()
        self.kept[digest] = content
        return FileState(digest, len(content), mode)

    def link(self, target: bytes) -> FileState:
        return msgspec.structs.replace(self.file(target, 0o777), kind="link")

    def read(self, digest: str) -> Iterator[bytes]:
        yield self.kept[digest]


def draft(files: Mapping[bytes, FileState | None], pruned: Iterable[bytes] = ()) -> ScratchDraft:
    return ScratchDraft(dict(files), tuple(pruned))
