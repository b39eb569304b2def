"""Attempts to change what is mounted, or to enter another namespace. Each runs in its own child."""

import ctypes
import os
from contextlib import suppress
from functools import partial

from assent.sandbox.selftest.probes.request import (
    Probe,
    ProbeRequest,
    check_errno,
    first_success,
    libc,
)

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
    return "changed how mounts spread"


def _unmask(ask: ProbeRequest) -> str:
    """Takes away whatever hides a secret, or the folder that it lies in."""
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
    return f"made a {first_success(tried)} namespace"


def _unshare(flags: int) -> None:
    check_errno(libc.unshare(flags))


def _enter_namespace(ask: ProbeRequest) -> str:
    places = [f"/proc/{pid}/ns/{kind}" for pid in (1, ask.pid) for kind in ("user", "mnt", "pid")]
    return "entered " + first_success([(place, partial(_enter, place)) for place in places])


def _enter(place: str) -> None:
    if os.stat(place).st_ino == os.stat(f"/proc/self/ns/{os.path.basename(place)}").st_ino:
        raise OSError(22, "it is the namespace that the probe is in")
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
    return "made a device " + first_success(
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
