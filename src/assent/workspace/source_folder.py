"""The source folder: another checkout to compare the workspace with, for reading only."""

from collections.abc import Iterable
from stat import S_ISDIR
from typing import BinaryIO

from assent.core.errors import Refused, UsageError
from assent.core.paths import display_path, is_inside
from assent.core.run.slot_move import PathState
from assent.executor.disk import Disk, readable_error, readable_errors
from assent.executor.file_states import FileStates
from assent.executor.folder_handles import FolderHandles
from assent.ports import FolderEntryKind
from assent.workspace.files import LocalWorkspaceFiles
from assent.workspace.root import real_path

_HELP = "assent stage from --help"


class LocalSourceFolder:
    """Implements SourceFolder for one folder; no symlink in it is followed."""

    def __init__(self, root: bytes, disk: Disk | None = None) -> None:
        self._root = root
        self._disk = disk or Disk()
        self._folders = FolderHandles(self._disk, root)
        self._states = FileStates(self._disk, self._folders)
        self._files = LocalWorkspaceFiles(root, root, self._disk)

    def read_states(self, paths: Iterable[bytes]) -> dict[bytes, PathState]:
        """Returns the state of each path."""
        seen: dict[bytes, PathState] = {}
        for path in paths:
            with readable_errors(self._root + b"/" + path):
                seen[path] = self._states.of(path)
        return seen

    def entries(self, folder: bytes) -> dict[bytes, FolderEntryKind]:
        """Lists the names in a folder, sorted, and the kind of each."""
        with readable_errors(self._root + b"/" + folder):
            return dict(sorted(self._disk.scan(self._folders.open_now(folder))))

    def open(self, path: bytes) -> BinaryIO:
        """Opens a file's content; for a symlink, its target."""
        return self._files.open(path)


def open_source_folder(root: bytes, cwd: bytes, argument: bytes) -> LocalSourceFolder:
    """Opens a folder that a user named; refuses the workspace, and folders in or around it."""
    if not argument:
        raise UsageError("The name of the source folder is empty.", _HELP)
    disk = Disk()
    typed = argument if argument.startswith(b"/") else cwd + b"/" + argument
    try:
        other = real_path(disk, typed)
        is_folder = S_ISDIR(disk.lstat(other).st_mode)
    except OSError as error:
        told = readable_error(error, argument)
        raise type(told)(told.message, _HELP) from error
    if not is_folder:
        raise UsageError(f"{display_path(argument)} is not a folder.", "assent stage patch FILE")
    same = _identity(disk, other) == _identity(disk, root)
    if same or _within(disk, other, root) or _within(disk, root, other):
        relation = "is" if same else "contains" if _within(disk, root, other) else "is inside"
        raise Refused(
            f"{display_path(argument)} {relation} the workspace; name a copy that is elsewhere. "
            "Nothing was staged.",
            _HELP,
        )
    return LocalSourceFolder(other, disk)


def _within(disk: Disk, path: bytes, folder: bytes) -> bool:
    """Tells whether a real path is in a folder, by name or by the identity of its parents."""
    if is_inside(path, folder.rstrip(b"/")):
        return True
    home = _identity(disk, folder)
    while path := path.rpartition(b"/")[0]:
        if _identity(disk, path) == home:
            return True
    return False


def _identity(disk: Disk, path: bytes) -> tuple[int, int]:
    found = disk.lstat(path)
    return found.st_dev, found.st_ino
