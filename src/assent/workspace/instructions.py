"""Instruction files: what users tell agents about working here, in AGENTS.md or CLAUDE.md."""

import os
from stat import S_ISREG

from assent.core.paths import display_path
from assent.core.permission.sensitive_paths import secret_reason
from assent.core.session.agent import InstructionFile
from assent.executor.disk import Disk
from assent.executor.file_states import OPEN_READ
from assent.executor.folder_handles import FolderHandles
from assent.workspace.root import real_path

NAMES = (b"AGENTS.md", b"CLAUDE.md")  # the second counts where the first is missing
LIMIT = 32 << 10  # bytes of one file
MAX_DEPTH = 40  # folders between the root and where the user is


def read_instructions(
    root: bytes, cwd: bytes, config: bytes, disk: Disk | None = None
) -> tuple[InstructionFile, ...]:
    """Returns the user's own, the root's and those down to `cwd`: the nearest last."""
    disk = disk or Disk()
    found = [_users(disk, config)]
    folders = FolderHandles(disk, root)
    for folder in _way(root, cwd):
        names = (folder + b"/" + name if folder else name for name in NAMES)
        found.append(
            next((told for path in names if (told := _told(disk, folders, root, path))), None)
        )
    folders.forget()
    return tuple(told for told in found if told is not None)


def _way(root: bytes, cwd: bytes) -> list[bytes]:
    """Returns the folders from the root down, as workspace paths; only the root if elsewhere."""
    prefix = root.rstrip(b"/") + b"/"
    names = cwd[len(prefix) :].split(b"/") if cwd.startswith(prefix) else []
    return [b"/".join(names[:depth]) for depth in range(min(len(names), MAX_DEPTH) + 1)]


def _users(disk: Disk, config: bytes) -> InstructionFile | None:
    path = config + b"/" + NAMES[0]
    try:
        fd = disk.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    return _read(disk, fd, path)


def _told(disk: Disk, folders: FolderHandles, root: bytes, path: bytes) -> InstructionFile | None:
    """Reads one file; a symlink may point to another Markdown file of the workspace."""
    prefix = root.rstrip(b"/") + b"/"
    try:
        real = real_path(disk, prefix + path)
        below = real[len(prefix) :]
        if not real.startswith(prefix) or not below.endswith(b".md") or secret_reason(below):
            return None
        folder, _, name = below.rpartition(b"/")
        fd = disk.open(name, OPEN_READ, 0, folders.open(folder))
    except OSError:
        return None
    return _read(disk, fd, path)


def _read(disk: Disk, fd: int, path: bytes) -> InstructionFile | None:
    try:
        if not S_ISREG(disk.stat(fd).st_mode):
            return None
        content = b""
        while len(content) <= LIMIT and (piece := disk.read(fd, LIMIT + 1 - len(content))):
            content += piece
    except OSError:
        return None
    finally:
        disk.close(fd)
    return _instruction(path, content)


def _instruction(path: bytes, content: bytes) -> InstructionFile | None:
    text = content[:LIMIT].decode("utf-8-sig", "replace").strip()
    if not text:
        return None
    cut = f"\n(Truncated after {LIMIT} bytes; read the file for the rest.)"
    return InstructionFile(display_path(path), text + cut if len(content) > LIMIT else text)
