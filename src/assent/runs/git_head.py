"""Compares a run's files with the last commit, to find changes that are the person's own.

Git's status is not enough: git may have been told not to look at some files, and others may have
changed since. So contents are compared with the commit itself.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from contextlib import suppress
from typing import Final

from assent.core.errors import AssentError
from assent.core.plan.operation import FileState
from assent.core.run.workspace_changes import FileStateChanges
from assent.ports import BlobStore, WorkspaceFiles

CHUNK: Final = 1 << 20
_LINK, _PROGRAM = b"120000", b"100755"
_KINDS: Final = {40: "sha1", 64: "sha256"}  # by the length of an id

TreeEntry = tuple[bytes, bytes]  # mode, id
RunGit = Callable[[tuple[bytes, ...], bytes], bytes]  # words and input to what it said


def tree_entries(said: bytes) -> dict[bytes, TreeEntry]:
    """Reads the list of a tree: what is committed under each path."""
    rows = [row.partition(b"\t") for row in said.split(b"\0") if row]
    words = [(path, about.split()) for about, _, path in rows]
    return {path: (mode, id) for path, (mode, _, id) in words}


class HeadCommit:
    """The last commit, compared with files as a run met them; `git` reads as the person does."""

    def __init__(
        self, head: Mapping[bytes, TreeEntry], git: RunGit, files: WorkspaceFiles, blobs: BlobStore
    ) -> None:
        self._head = head
        self._git = git
        self._files = files
        self._blobs = blobs

    @property
    def paths(self) -> Set[bytes]:
        return self._head.keys()

    def others(self, left: FileStateChanges, paths: Iterable[bytes]) -> set[bytes]:
        """Returns those of some paths that a commit would take something else from than the run's.

        That is what was not committed when the run met it, also under another name by now.
        """
        odd = {path for path in paths if not self._holds(path, left[path][0], left)}
        foreign = {met.digest for met, _ in map(left.__getitem__, odd) if met and met.size}
        moved = {path for path, (_, now) in left.items() if now and now.digest in foreign}
        # What is committed as it was left needs no commit: an earlier attempt got so far.
        return {path for path in odd | moved if not self._holds(path, left[path][1], left)}

    def _holds(self, path: bytes, state: FileState | None, left: FileStateChanges) -> bool:
        if state is None or path not in self._head:
            return state is None and path not in self._head
        mode, id = self._head[path]
        if (mode == _LINK) != (state.kind == "link"):
            return False
        other = mode != _LINK and (mode == _PROGRAM) != bool(state.mode & 0o100)
        if other and self._git((b"config", b"--type=bool", b"core.fileMode"), b"") != b"false\n":
            return False
        content = self._content(path, state, left)
        if content is None:
            return False  # whoever cannot be asked knows nothing
        return _id(content, id) == id or self._stored(path, mode, content) == id

    def _stored(self, path: bytes, mode: bytes, content: bytes) -> bytes:
        """Returns the id that git gives a content; the ends of its lines may be others there."""
        if mode == _LINK:
            return b""
        return self._git((b"hash-object", b"--stdin", b"--path=" + path), content).strip()

    def _content(self, path: bytes, state: FileState, left: FileStateChanges) -> bytes | None:
        """Reads a content; of what was moved there is no copy but the file under its new name."""
        with suppress(AssentError):
            return self._blobs.read(state.digest)
        for name in self._places(path, state, left):
            with suppress(AssentError, OSError), self._files.open(name) as file:
                content = file.read()
                if hashlib.sha256(content).hexdigest() == state.digest:
                    return content
        return None

    def _places(self, path: bytes, state: FileState, left: FileStateChanges) -> Iterator[bytes]:
        yield path
        yield from (name for name, (_, now) in left.items() if now == state and name != path)


def _id(content: bytes, like: bytes) -> bytes:
    """Returns the id that git gives a content as it is."""
    kind = _KINDS.get(len(like), "sha1")
    found = hashlib.new(kind, b"blob %d\0" % len(content), usedforsecurity=False)
    found.update(content)
    return found.hexdigest().encode()
