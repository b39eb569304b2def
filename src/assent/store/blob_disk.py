"""The disk calls of the blob store, in one object that a test can make fail."""

import ctypes
import errno
import os


class BlobDisk:
    """The real disk. Every call raises OSError on failure."""

    open = staticmethod(os.open)
    read = staticmethod(os.read)
    pread = staticmethod(os.pread)
    write = staticmethod(os.write)
    close = staticmethod(os.close)
    fsync = staticmethod(os.fsync)
    rename = staticmethod(os.rename)
    mkdir = staticmethod(os.mkdir)
    stat = staticmethod(os.stat)
    utime = staticmethod(os.utime)
    unlink = staticmethod(os.unlink)
    listdir = staticmethod(os.listdir)

    def syncfs(self, fd: int) -> None:
        """Returns when everything on the file system of a descriptor is on disk."""
        libc = ctypes.CDLL(None, use_errno=True)
        call = getattr(libc, "syncfs", None)
        if call is None:
            raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
        if call(fd) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
