"""Attempts on the kernel: settings, system calls, mounts and namespaces."""

import ctypes
import errno
import fcntl
import mmap
import os
import resource
import signal
import termios
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from assent.sandbox.selftest.probes.request import (
    Probe,
    ProbeRequest,
    check_errno,
    first_success,
    libc,
)

SETTINGS = ("core_pattern", "domainname", "modprobe", "printk", "randomize_va_space")
KNOBS = (
    "/sys/kernel/mm/transparent_hugepage/enabled",
    "/sys/kernel/mm/ksm/run",
    "/sys/kernel/profiling",
    "/sys/power/state",
    "/sys/fs/cgroup/cgroup.procs",
)
LIMITS = ("NOFILE", "NPROC", "AS", "CPU", "FSIZE", "CORE")
PR_GET_NO_NEW_PRIVS = 39


def _proc_sys(ask: ProbeRequest) -> str:
    places = [f"/proc/sys/kernel/{name}" for name in SETTINGS]
    return "wrote " + first_success([(place, partial(_write_back, place)) for place in places])


def _write_back(place: str) -> None:
    """Writes what is there already: the attempt must not do harm even where it works."""
    with open(place, "r+b", buffering=0) as file:
        value = file.read()
        file.write(value)


def _sysrq(ask: ProbeRequest) -> str:
    _open_for_writing("/proc/sysrq-trigger")
    return "opened /proc/sysrq-trigger for writing"


def _sys(ask: ProbeRequest) -> str:
    opened = [(place, partial(_open_for_writing, place)) for place in KNOBS]
    return f"opened {first_success(opened)} for writing"


def _open_for_writing(place: str) -> None:
    os.close(os.open(place, os.O_WRONLY | os.O_CLOEXEC))


def _raise_limits(ask: ProbeRequest) -> str:
    kinds = [(name, partial(_raise, getattr(resource, f"RLIMIT_{name}"))) for name in LIMITS]
    return f"raised the limit {first_success(kinds)}"


def _raise(kind: int) -> None:
    soft, hard = resource.getrlimit(kind)
    if hard == resource.RLIM_INFINITY:
        raise OSError(22, "there is no such limit")
    try:
        resource.setrlimit(kind, (soft, hard + 1))
    except ValueError as error:
        raise PermissionError(1, str(error)) from error


def _terminal(ask: ProbeRequest) -> str:
    """Opens the terminal of the process that started this."""
    os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC))
    return "opened the terminal"


def _type(ask: ProbeRequest) -> str:
    """Types into a terminal: a NUL, which does nothing there."""
    terminals: list[tuple[str, int]] = [(f"descriptor {n}", n) for n in range(3) if os.isatty(n)]
    with suppress(OSError):
        terminals.append(("/dev/tty", os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)))
    tried = [(name, partial(_type_into, number)) for name, number in terminals]
    return "typed into " + first_success([*tried, ("a terminal of its own", _type_into_own)])


def _type_into_own() -> None:
    """Makes a terminal: even if there is none, this shows whether typing is refused."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # it comes when the terminal is closed
    ours, theirs = os.openpty()
    try:
        os.setsid()  # this is a child: who leads a session may have a terminal
        fcntl.ioctl(theirs, termios.TIOCSCTTY, 0)
        _type_into(theirs)
    finally:
        os.close(theirs)
        os.close(ours)


def _type_into(terminal: int) -> None:
    fcntl.ioctl(terminal, termios.TIOCSTI, b"\0")


def _capabilities(ask: ProbeRequest) -> str:
    """Looks for any capability, held now or to be had by starting a program."""
    with open("/proc/self/status", encoding="utf-8") as file:
        lines = dict(line.split(":\t", 1) for line in file if line.startswith("Cap"))
    held = {name: int(lines[name], 16) for name in ("CapInh", "CapPrm", "CapEff", "CapAmb")}
    if any(held.values()):
        return "holds " + ", ".join(f"{name} {value:x}" for name, value in held.items() if value)
    raise PermissionError(1, "no capability is held")


def _new_privileges(ask: ProbeRequest) -> str:
    if check_errno(libc.prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)) == 1:
        raise PermissionError(1, "programs started here cannot gain privileges")
    return "a setuid program could gain privileges"


KERNEL_PROBES: dict[str, Probe] = {
    "proc_sys": _proc_sys,
    "sysrq": _sysrq,
    "sys": _sys,
    "raise_limits": _raise_limits,
    "terminal": _terminal,
    "type": _type,
    "capabilities": _capabilities,
    "new_privileges": _new_privileges,
}


# Attempts to have system calls reach the kernel that a filter should have kept from it.


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
    # On aarch64 a folder comes before the name; a name at no address fails there too.
    name = (null,) if os.uname().machine == "x86_64" else (ctypes.c_int(-100), null)
    calls: dict[str, Callable[[], int]] = {
        "chmod": partial(libc.syscall, chmod, *name, 0),
        "setxattr": partial(libc.syscall, setxattr, null, null, null, 0, 0),
        "TIOCSTI": partial(libc.syscall, ioctl, no_file, TIOCSTI, null),
        "memfd_create": partial(libc.syscall, memfd, null, 0),
        "keyctl": partial(libc.syscall, keyctl, -1, 0, 0, 0, 0),
    }
    return "reached the kernel with " + first_success(
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
        raise OSError(errno.ENOSYS, "the call does not exist")
    return "made an x32 system call"


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
        raise PermissionError(errno.EPERM, "the call is not supported")
    return "made a 32-bit system call"


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


# Attempts to change what is mounted, or to enter another namespace. Each runs in its own child.


MS_RDONLY, MS_REMOUNT, MS_BIND, MS_PRIVATE = 1, 32, 4096, 1 << 18
MNT_DETACH = 2
CLONE_NEWNS, CLONE_NEWUSER = 0x20000, 0x10000000
AT_FDCWD = -100
OPEN_TREE, MOVE_MOUNT, MOUNT_SETATTR = 428, 429, 442  # these numbers are the same everywhere
OPEN_TREE_CLONE, MOVE_MOUNT_F_EMPTY_PATH, MOUNT_ATTR_RDONLY = 1, 4, 1
PIVOT_ROOT = {"x86_64": 155}.get(os.uname().machine, 41)


class _MountAttributes(ctypes.Structure):
    _fields_ = (
        ("set", ctypes.c_uint64),
        ("clear", ctypes.c_uint64),
        ("propagation", ctypes.c_uint64),
        ("namespace", ctypes.c_uint64),
    )


def _mount(source: str, target: str, kind: str, flags: int) -> int:
    names = [os.fsencode(name) or None for name in (source, target, kind)]
    return check_errno(libc.mount(*names, ctypes.c_ulong(flags), None))


def _remount(ask: ProbeRequest) -> str:
    _mount("", ask.workspace, "", MS_REMOUNT | MS_BIND)
    return "made the workspace writable"


def _bind(ask: ProbeRequest) -> str:
    target = os.path.join(ask.workspace, "victims")
    _mount(target, target, "", MS_BIND)
    with suppress(OSError):
        check_errno(libc.umount2(os.fsencode(target), MNT_DETACH))
    return "mounted a folder of the workspace"


def _tmpfs(ask: ProbeRequest) -> str:
    target = os.path.join(ask.workspace, "victims")
    _mount("tmpfs", target, "tmpfs", 0)
    with suppress(OSError):
        check_errno(libc.umount2(os.fsencode(target), MNT_DETACH))
    return "mounted a file system"


def _make_private(ask: ProbeRequest) -> str:
    _mount("", ask.workspace, "", MS_PRIVATE)
    return "changed mount propagation"


def _unmask(ask: ProbeRequest) -> str:
    """Unmounts what hides a secret, or the folder that contains it."""
    hidden = [*ask.secrets.values(), *ask.outside.values()]
    places = {place for path in hidden for place in (path, os.path.dirname(path))}
    places |= {os.path.dirname(place) for place in places}
    away = [(place, partial(_unmount, place)) for place in sorted(places) if place != "/"]
    return "unmounted " + first_success(away)


def _unmount(place: str) -> None:
    check_errno(libc.umount2(os.fsencode(place), MNT_DETACH))


def _clone_tree(ask: ProbeRequest) -> str:
    place = ctypes.c_char_p(os.fsencode(ask.workspace))
    tree = check_errno(libc.syscall(OPEN_TREE, AT_FDCWD, place, OPEN_TREE_CLONE))
    nothing = ctypes.c_char_p(b"")
    moved = libc.syscall(MOVE_MOUNT, tree, nothing, AT_FDCWD, place, MOVE_MOUNT_F_EMPTY_PATH)
    if moved == 0:
        with suppress(OSError):
            _unmount(ask.workspace)
    return "copied a mount"


def _set_attributes(ask: ProbeRequest) -> str:
    wanted = _MountAttributes(0, MOUNT_ATTR_RDONLY, 0, 0)
    place, size = ctypes.c_char_p(os.fsencode(ask.workspace)), ctypes.sizeof(wanted)
    check_errno(libc.syscall(MOUNT_SETATTR, AT_FDCWD, place, 0, ctypes.byref(wanted), size))
    return "changed a mount's attributes"


def _new_namespace(ask: ProbeRequest) -> str:
    ways = {"user": CLONE_NEWUSER, "mount": CLONE_NEWNS, "both": CLONE_NEWUSER | CLONE_NEWNS}
    tried = [(way, partial(_unshare, flags)) for way, flags in ways.items()]
    return f"created a {first_success(tried)} namespace"


def _unshare(flags: int) -> None:
    check_errno(libc.unshare(flags))


def _enter_namespace(ask: ProbeRequest) -> str:
    places = [f"/proc/{pid}/ns/{kind}" for pid in (1, ask.pid) for kind in ("user", "mnt", "pid")]
    return "entered " + first_success([(place, partial(_enter, place)) for place in places])


def _enter(place: str) -> None:
    if os.stat(place).st_ino == os.stat(f"/proc/self/ns/{os.path.basename(place)}").st_ino:
        raise OSError(22, "it is the probe's own namespace")
    file = os.open(place, os.O_RDONLY | os.O_CLOEXEC)
    try:
        check_errno(libc.setns(file, 0))
    finally:
        os.close(file)


def _chroot(ask: ProbeRequest) -> str:
    os.chroot(ask.workspace)
    return "changed the root"


def _pivot_root(ask: ProbeRequest) -> str:
    folders = [
        ctypes.c_char_p(os.fsencode(os.path.join(ask.workspace, name))) for name in ("", "victims")
    ]
    check_errno(libc.syscall(PIVOT_ROOT, *folders))
    return "swapped the root"


def _device(ask: ProbeRequest) -> str:
    places = [os.path.join(ask.workspace, "victims", "device"), f"/tmp/assent-{os.getpid()}"]
    return "created a device " + first_success(
        [(place, partial(_make_device, place)) for place in places]
    )


def _make_device(place: str) -> None:
    os.mknod(place, 0o600 | 0o060000, os.makedev(7, 0))
    os.unlink(place)


# Those that change what is mounted come last: where one works, the others see its work.
MOUNT_PROBES: dict[str, Probe] = {
    "new_namespace": _new_namespace,
    "enter_namespace": _enter_namespace,
    "chroot": _chroot,
    "device": _device,
    "remount": _remount,
    "make_private": _make_private,
    "mount_attributes": _set_attributes,
    "bind": _bind,
    "mount": _tmpfs,
    "clone_tree": _clone_tree,
    "unmask": _unmask,
    "pivot_root": _pivot_root,
}
