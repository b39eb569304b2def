"""Runs inside a copy: tries every system call that could lead to a layer; says which were let.

python3 -c THIS ROOT STATE
"""

import ctypes
import os
import sys
from collections.abc import Callable
from contextlib import suppress

AT_FDCWD = -100
CLONE_NEWNS, CLONE_NEWUSER = 0x20000, 0x10000000
# The same numbers on every machine that has them.
IO_URING_SETUP, OPEN_TREE, MOVE_MOUNT, FSOPEN, FSPICK, PIDFD_OPEN, PIDFD_GETFD, MOUNT_SETATTR = (
    425, 428, 429, 430, 433, 434, 438, 442,
)  # fmt: skip

libc = ctypes.CDLL(None, use_errno=True)
root, state = (word.encode() for word in sys.argv[1:])


def handle(path: bytes) -> int:
    """Opens a path by the handle of its file, for which no mount is needed."""
    buffer, mount = ctypes.create_string_buffer(128 + 8), ctypes.c_int()
    ctypes.memmove(buffer, (128).to_bytes(4, sys.byteorder), 4)
    if libc.name_to_handle_at(AT_FDCWD, path, buffer, ctypes.byref(mount), 0):
        return -1
    at = os.open(path, os.O_RDONLY)
    return int(libc.open_by_handle_at(at, buffer, os.O_RDONLY))


def stolen(number: int) -> int:
    """Takes a descriptor of the process that set the sandbox up."""
    first = int(libc.syscall(PIDFD_OPEN, 1, 0))
    return -1 if first < 0 else int(libc.syscall(PIDFD_GETFD, first, number, 0))


def entered(kind: str) -> int:
    return int(libc.setns(os.open(f"/proc/1/ns/{kind}", os.O_RDONLY), 0))


TRIES: dict[str, Callable[[], int]] = {
    "umount the copy": lambda: libc.umount2(root, 2),
    "umount proc": lambda: libc.umount2(b"/proc", 2),
    "mount a bind": lambda: libc.mount(b"/", root, None, 4096, None),
    "mount an overlay": lambda: libc.mount(
        b"o", root, b"overlay", 0, b"lowerdir=/,upperdir=/tmp,workdir=/run"
    ),
    "make it writable": lambda: libc.mount(None, b"/", None, 32 | 4096, None),
    "a user namespace": lambda: libc.unshare(CLONE_NEWUSER),
    "a mount namespace": lambda: libc.unshare(CLONE_NEWNS),
    "enter a mount namespace": lambda: entered("mnt"),
    "enter a user namespace": lambda: entered("user"),
    "chroot": lambda: libc.chroot(b"/proc/1/root"),
    "open a tree": lambda: libc.syscall(OPEN_TREE, AT_FDCWD, root, 1),
    "move a mount": lambda: libc.syscall(MOVE_MOUNT, AT_FDCWD, root, AT_FDCWD, b"/tmp", 0),
    "open a file system": lambda: libc.syscall(FSOPEN, b"overlay", 0),
    "pick a file system": lambda: libc.syscall(FSPICK, AT_FDCWD, root, 0),
    "set a mount": lambda: libc.syscall(MOUNT_SETATTR, AT_FDCWD, b"/", 0, b"\0" * 32, 32),
    "a ring": lambda: libc.syscall(IO_URING_SETUP, 1, b"\0" * 120),
    "open by handle": lambda: handle(root),
    "trace the first process": lambda: libc.ptrace(16, 1, None, None),
    "a whiteout": lambda: libc.mknod(b"white", 0o020000, ctypes.c_ulong(0)),
    "a mark": lambda: libc.setxattr(b"docs", b"user.overlay.opaque", b"y", ctypes.c_size_t(1), 0),
    "the state by a descriptor": lambda: os.open(
        b"../" * 40 + state, os.O_RDONLY, dir_fd=os.open(root, os.O_RDONLY)
    ),
}

if __name__ == "__main__":
    for name, attempt in TRIES.items():
        try:
            result = attempt()
        except OSError:
            result = -1
        if result >= 0:
            print("let:", name)
    for number in range(20):
        found = stolen(number)
        if found >= 0:
            print("stolen:", os.readlink(f"/proc/self/fd/{found}").partition(":")[0])
    for path in (b"/proc/1/root", b"/proc/1/cwd/..", b"/proc/self/root"):
        with suppress(OSError):
            print("seen:", os.listdir(path + state))
    print("over")
