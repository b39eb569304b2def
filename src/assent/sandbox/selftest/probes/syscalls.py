"""Attempts to have system calls reach the kernel that a filter should have kept from it."""

import ctypes
import errno
import mmap
import os
import signal
from collections.abc import Callable
from functools import partial

from assent.sandbox.selftest.probes.request import Probe, ProbeRequest, first_success, libc

TIOCSTI = 0x5412
X32 = 0x40000000
GETPID = 39
# By machine: chmod of a name, setxattr, ioctl, memfd_create, keyctl.
NUMBERS = {"x86_64": (90, 188, 16, 319, 250), "aarch64": (53, 5, 29, 279, 219)}
CODE = b"\xb8\x14\x00\x00\x00\xcd\x80\xc3"  # asks a 32-bit kernel for the process's own number


def _refused_calls(ask: ProbeRequest) -> str:
    """Makes calls that cannot do anything: how they fail tells who refused them."""
    if os.uname().machine not in NUMBERS:
        return first_success([])
    chmod, setxattr, ioctl, memfd, keyctl = NUMBERS[os.uname().machine]
    null, no_file = ctypes.c_void_p(0), ctypes.c_int(-1)
    # On aarch64 a folder comes before the name; a name at no address fails there all the same.
    name = (null,) if os.uname().machine == "x86_64" else (ctypes.c_int(-100), null)
    calls: dict[str, Callable[[], int]] = {
        "chmod": partial(libc.syscall, chmod, *name, 0),
        "setxattr": partial(libc.syscall, setxattr, null, null, null, 0, 0),
        "TIOCSTI": partial(libc.syscall, ioctl, no_file, TIOCSTI, null),
        "memfd_create": partial(libc.syscall, memfd, null, 0),
        "keyctl": partial(libc.syscall, keyctl, -1, 0, 0, 0, 0),
    }
    return "the kernel was asked for " + first_success(
        [(name, partial(_reaches, call)) for name, call in calls.items()]
    )


def _reaches(call: Callable[[], int]) -> None:
    """Raises unless the kernel itself looked at the arguments, and did not like them."""
    ctypes.set_errno(0)
    if call() != -1:
        return
    code = ctypes.get_errno()
    if code not in (errno.EFAULT, errno.EBADF, errno.EINVAL, errno.EOPNOTSUPP):
        raise OSError(code, os.strerror(code))


def _x32(ask: ProbeRequest) -> str:
    if os.uname().machine != "x86_64":
        return first_success([])
    if libc.syscall(X32 | GETPID) != os.getpid():
        raise OSError(errno.ENOSYS, "the call is not there")
    return "made a call of the x32 interface"


def _i386(ask: ProbeRequest) -> str:
    """Makes a 32-bit call in a child: a filter, or a kernel without such calls, ends it."""
    if os.uname().machine != "x86_64":
        return first_success([])
    child = os.fork()
    if child == 0:
        signal.alarm(2)
        os._exit(0 if _asked_in_32_bits() else 1)
    _, status = os.waitpid(child, 0)
    if status:
        raise PermissionError(errno.EPERM, "the call is not answered")
    return "made a 32-bit call"


def _asked_in_32_bits() -> bool:
    page = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(CODE)
    code = ctypes.addressof(ctypes.c_char.from_buffer(page))
    return bool(ctypes.CFUNCTYPE(ctypes.c_int)(code)() == os.getpid())


SYSCALL_PROBES: dict[str, Probe] = {
    "refused_calls": _refused_calls,
    "x32": _x32,
    "i386": _i386,
}
