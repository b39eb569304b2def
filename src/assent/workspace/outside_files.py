"""Files outside the workspace, for reading only, and which of them are never shown."""

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from functools import cached_property
from stat import S_ISDIR, S_ISREG
from threading import Lock
from typing import TypeAlias

from assent.core.errors import NotFound, Refused
from assent.core.paths import base_name, casefolded, is_inside, one_line, parent
from assent.core.permission.sensitive_paths import SECRET_FOLDERS
from assent.executor.disk import Disk, readable_errors
from assent.executor.file_states import OPEN_READ
from assent.executor.folder_handles import FolderHandles
from assent.workspace.root import real_path

SYSTEM_FOLDERS = (b"/proc", b"/sys", b"/dev")
CHUNK = 1 << 20

Identity: TypeAlias = tuple[int, int]  # device and inode


class LocalOutsideFiles:
    """Implements OutsideFiles for the workspace `root`; files in `refused` are never shown."""

    def __init__(
        self, root: bytes, refused: Callable[[], Sequence[bytes]], disk: Disk | None = None
    ) -> None:
        """`refused` lists places of every home, so it is asked with the first path only."""
        self._root = root
        self._list_refused = refused
        self._disk = disk or Disk()
        self._folders = FolderHandles(self._disk, b"/")  # enters no symlink
        self._alone = Lock()  # a descriptor of a folder is good until the next call only

    def real(self, path: bytes) -> bytes:
        """Returns the real path; raises Refused for files that are never shown, such as keys."""
        with readable_errors(path):
            real = real_path(self._disk, path)
            if why := self._why_not(real):
                raise Refused(f"{one_line(real)} {why} Nothing was read.")
        return real

    def exists(self, path: bytes) -> bool:
        """Tells whether anything is at a real path, without opening it."""
        with readable_errors(path):
            return self._kind(path) != "nothing"

    def is_folder(self, path: bytes) -> bool:
        """Tells whether a real path is a folder, without listing it."""
        with readable_errors(path):
            return self._kind(path) == "folder"

    def read(self, path: bytes, limit: int) -> bytes:
        """Reads a real path; raises Refused if it is not a file, or is too large."""
        self._check(path, "file")
        content = bytearray()
        with self._alone, readable_errors(path):
            at = self._folders.open_now(parent(path)[1:])
            fd = self._disk.open(base_name(path), OPEN_READ, 0, at)
            try:
                _check_file(self._disk.stat(fd).st_mode, path)
                while len(content) <= limit and (chunk := self._disk.read(fd, CHUNK)):
                    content += chunk
            finally:
                self._disk.close(fd)
        if len(content) > limit:
            raise Refused(f"{one_line(path)} is larger than {limit} bytes, which is the limit.")
        return bytes(content)

    def names(self, folder: bytes) -> dict[bytes, bool]:
        """Lists the names in a folder, and whether each is a folder; raises NotFound."""
        self._check(folder, "folder")
        with self._alone, readable_errors(folder):
            found = self._disk.scan(self._folders.open_now(folder[1:]))
        return {each: kind == "folder" for each, kind in sorted(found)}

    def _check(self, path: bytes, kind: str) -> None:
        """Refuses a path that became a symlink since it was resolved, or is of another kind."""
        if self.real(path) != path:
            raise Refused(f"{one_line(path)} was replaced by a symlink. Nothing was read.")
        with readable_errors(path):
            found = self._kind(path)
        if found == "nothing":
            raise NotFound(f"{one_line(path)} does not exist.")
        if found != kind:
            raise Refused(f"{one_line(path)} is not a {kind}. Nothing was read.")

    def _kind(self, path: bytes) -> str:
        try:
            mode = self._disk.lstat(path).st_mode
        except (FileNotFoundError, NotADirectoryError):
            return "nothing"
        if S_ISDIR(mode):
            return "folder"
        return "file" if S_ISREG(mode) else "other"

    def _why_not(self, path: bytes) -> str:
        """Returns why a real path is never shown; empty if the user may decide."""
        way = [*_way(path)]
        if any(is_inside(path, folder) for folder in SYSTEM_FOLDERS) or self._is_machine(way):
            return "is a system path without regular files."
        if not way or (len(way) == 1 and self._kind(path) != "folder"):
            return "is at the top of the disk, where one permission would cover everything."
        if SECRET_FOLDERS.intersection(casefolded(path).split(b"/")):
            return "is in a folder of keys, which models may not read."
        if self._leads_to(way, (casefolded(self._root),), {self._identity(self._root)}):
            return "is in the workspace; use its path relative to the workspace."
        if self._leads_to(way, self._named, self._known):
            return "is where keys and passwords are kept, or belongs to Assent."
        return ""

    def _leads_to(
        self, way: Sequence[bytes], named: Container[bytes], known: set[Identity | None]
    ) -> bool:
        """Tells whether one of the steps is one of some locations, by its name or its identity."""
        if any(casefolded(step) in named for step in way):
            return True
        return not (known - {None}).isdisjoint(map(self._identity, way))

    @cached_property
    def _refused(self) -> tuple[bytes, ...]:
        return tuple(self._list_refused())

    @cached_property
    def _named(self) -> frozenset[bytes]:
        return frozenset(map(casefolded, self._refused))

    @cached_property
    def _known(self) -> set[Identity | None]:
        """The identities of refused locations, symlinks followed; computed once for all."""
        return {self._identity(real_path(self._disk, place)) for place in self._refused}

    def _identity(self, path: bytes) -> Identity | None:
        """Returns what identifies a file under any of its names."""
        try:
            found = self._disk.lstat(path)
        except OSError:
            return None
        return found.st_dev, found.st_ino

    def _is_machine(self, way: Sequence[bytes]) -> bool:
        """Tells whether a path is in a file system such as /proc that is mounted elsewhere."""
        return not (self._devices(SYSTEM_FOLDERS) - self._devices((b"/",))).isdisjoint(
            self._devices(way)
        )

    def _devices(self, paths: Iterable[bytes]) -> set[int]:
        return {found[0] for path in paths if (found := self._identity(path))}


def _check_file(mode: int, path: bytes) -> None:
    if not S_ISREG(mode):
        raise Refused(f"{one_line(path)} is not a file. Nothing was read.")


def _way(path: bytes) -> Iterator[bytes]:
    """Yields a path and the folders above it, nearest first, without the top."""
    while base_name(path):
        yield path
        path = parent(path)
