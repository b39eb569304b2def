"""A file system that keeps the case of names and takes no notice of it, as on other systems.

    python -m tests.disks.caseless SOURCE MOUNT

It shows a folder under another name until it is unmounted. Names are found by folding their case;
a new one keeps the case in which it was written.
"""

import errno
import os
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

from mfusepy import FUSE, Operations

MOUNTED = b"mounted\n"  # told on stdout, once it is there
_STATED = ("st_mode", "st_ino", "st_nlink", "st_uid", "st_gid", "st_size")
_TIMES = ("st_atime_ns", "st_mtime_ns", "st_ctime_ns")


class Caseless(Operations):
    """Every call goes to the folder that is shown, under the name that stands there."""

    use_ns = True

    def __init__(self, source: str) -> None:
        self._source = source

    def init(self, path: str) -> None:
        """Says that it is there: the system calls this first, once it is mounted."""
        os.write(sys.stdout.fileno(), MOUNTED)

    def _real(self, path: str) -> str:
        """Returns the path that stands there under these names; case makes no difference."""
        real = self._source
        for name in filter(None, path.split("/")):
            real = f"{real}/{self._found(real, name)}"
        return real

    def _found(self, folder: str, name: str) -> str:
        try:
            names = os.listdir(folder)
        except OSError:
            return name
        return next((other for other in names if other.casefold() == name.casefold()), name)

    def getattr(self, path: str, fh: int | None = None) -> dict[str, Any]:
        found = os.lstat(self._real(path))
        times = {name.removesuffix("_ns"): getattr(found, name) for name in _TIMES}
        return {name: getattr(found, name) for name in _STATED} | times

    def readdir(self, path: str, fh: int) -> list[tuple[str, dict[str, int], int]]:
        with os.scandir(self._real(path)) as found:
            entries = [(one.name, one.stat(follow_symlinks=False)) for one in found]
        return [(n, {"st_ino": one.st_ino, "st_mode": one.st_mode}, 0) for n, one in entries]

    def open(self, path: str, flags: int) -> int:
        return os.open(self._real(path), flags & ~os.O_CREAT)

    def create(self, path: str, mode: int, fi: Any = None) -> int:
        return os.open(self._real(path), os.O_RDWR | os.O_CREAT | os.O_EXCL, mode)

    def read(self, path: str, size: int, offset: int, fh: int) -> bytes:
        return os.pread(fh, size, offset)

    def write(self, path: str, data: bytes, offset: int, fh: int) -> int:
        return os.pwrite(fh, data, offset)

    def truncate(self, path: str, length: int, fh: int | None = None) -> int:
        os.truncate(self._real(path), length)
        return 0

    def release(self, path: str, fh: int) -> int:
        os.close(fh)
        return 0

    def fsync(self, path: str, datasync: int, fh: int) -> int:
        os.fsync(fh)
        return 0

    def rename(self, old: str, new: str) -> int:
        """Renames; where only the case differs, the name that was written counts."""
        source, folder = self._real(old), self._real(os.path.dirname(new))
        target = self._real(new)
        if target == source:
            target = f"{folder}/{os.path.basename(new)}"
        os.rename(source, target)
        return 0

    def link(self, target: str, source: str) -> int:
        os.link(self._real(source), self._real(target), follow_symlinks=False)
        return 0

    def symlink(self, target: str, source: str) -> int:
        os.symlink(source, self._real(target))
        return 0

    def readlink(self, path: str) -> str:
        return os.readlink(self._real(path))

    def chmod(self, path: str, mode: int) -> int:
        return self._do(os.chmod, path, mode)

    def chown(self, path: str, uid: int, gid: int) -> int:
        return self._do(os.lchown, path, uid, gid)

    def mkdir(self, path: str, mode: int) -> int:
        return self._do(os.mkdir, path, mode)

    def rmdir(self, path: str) -> int:
        return self._do(os.rmdir, path)

    def unlink(self, path: str) -> int:
        return self._do(os.unlink, path)

    def utimens(self, path: str, times: tuple[int, int] | None = None) -> int:
        return self._do(partial(os.utime, ns=times, follow_symlinks=False), path)

    def _do(self, call: Callable[..., None], path: str, *arguments: int) -> int:
        call(self._real(path), *arguments)
        return 0


class Plain(FUSE):
    """Has no renames with flags: what was not asked for must not happen silently."""

    def rename_fuse_3(self, old: bytes, new: bytes, flags: int) -> int:
        return -errno.EINVAL if flags else int(self.rename_fuse_2(old, new))


if __name__ == "__main__":
    shown, place = sys.argv[1:]
    Plain(Caseless(shown), place, foreground=True, nothreads=True, use_ino=True, raw_fi=False)
