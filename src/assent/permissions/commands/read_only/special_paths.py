"""Special paths that no read-only command may name: devices, processes, the whole machine."""

from collections.abc import Iterable
from posixpath import normpath

from assent.core.shell.parser import GLOB_CHARS, ShellWord
from assent.permissions.commands.read_only.spec import words_in
from assent.permissions.commands.read_only.special_file import SpecialFileRefused

SPECIAL = ("dev", "proc", "sys")
HARMLESS = words_in(
    "/dev/null /dev/stdin /proc/cpuinfo /proc/filesystems /proc/loadavg /proc/meminfo /proc/stat "
    "/proc/uptime /proc/version /proc/vmstat"
)


def check_special_paths(words: Iterable[ShellWord], *, away: bool) -> None:
    """Raises NoFile for a word that names a device or process, however it is spelled.

    `away` says that a `cd` before may have left the workspace. Symlinks are not seen here.
    """
    for word in words:
        if word.pattern or word.text not in HARMLESS:
            _check(word.text, at_root=away or word.text.startswith("/"))


def is_filesystem_root(path: str) -> bool:
    """Tells whether a path is the root of the whole machine."""
    return path.startswith("/") and not normpath(path).strip("/")


def may_leave_workspace(folder: str) -> bool:
    """Tells whether `cd` to this folder may lead out of the workspace."""
    return folder.startswith(("/", "..")) or "/.." in folder


def _check(text: str, *, at_root: bool) -> None:
    """Goes through a path part by part; one that climbs out of its folder may reach the root."""
    stack: list[str] = []
    climbed, last = False, ""
    for part in text.split("/"):
        if part == "..":
            climbed = climbed or not stack
            stack = stack[:-1]
        elif part not in ("", "."):
            stack.append(part)
        if part in SPECIAL and last == "..":  # what stood before `..` may have been a symlink
            climbed, stack = True, [part]
        last = part or last
        first = stack[0] if stack else ""
        wild = at_root and any(sign in first for sign in GLOB_CHARS)
        if wild or ((at_root or climbed) and first in SPECIAL):
            raise SpecialFileRefused(
                f"`{text}` could be a device or a process, not a file; name a file."
            )
