"""Attempts on files: to change them, and to see what is not shown of the machine."""

import errno
import os
from contextlib import suppress
from functools import partial

from assent.sandbox.selftest.probes.request import Probe, ProbeRequest, first_success

LOWEST, HIGHEST = 3, 1024  # descriptors that a program could have inherited


def write(path: str, flags: int = os.O_CREAT | os.O_EXCL) -> None:
    """Writes a few bytes into a file."""
    file = os.open(path, os.O_WRONLY | os.O_CLOEXEC | flags, 0o600)
    try:
        os.write(file, b"changed")
    finally:
        os.close(file)


def _at(ask: ProbeRequest, name: str) -> str:
    return os.path.join(ask.workspace, "victims", name)


def _create(ask: ProbeRequest) -> str:
    write(_at(ask, "made"))
    return "created a file"


def _overwrite(ask: ProbeRequest) -> str:
    write(_at(ask, "overwrite"), os.O_TRUNC)
    return "overwrote a file"


def _append(ask: ProbeRequest) -> str:
    write(_at(ask, "append"), os.O_APPEND)
    return "appended to a file"


def _truncate(ask: ProbeRequest) -> str:
    os.truncate(_at(ask, "truncate"), 1)
    return "truncated a file"


def _delete(ask: ProbeRequest) -> str:
    os.unlink(_at(ask, "delete"))
    return "deleted a file"


def _rename(ask: ProbeRequest) -> str:
    os.rename(_at(ask, "rename"), _at(ask, "renamed"))
    return "renamed a file"


def _make_folder(ask: ProbeRequest) -> str:
    os.mkdir(_at(ask, "folder"))
    return "created a folder"


def _chmod(ask: ProbeRequest) -> str:
    os.chmod(_at(ask, "chmod"), 0o777)
    return "changed a mode"


def _chown(ask: ProbeRequest) -> str:
    os.chown(_at(ask, "chown"), os.getuid(), os.getgid())
    return "changed an owner"


def _utime(ask: ProbeRequest) -> str:
    os.utime(_at(ask, "utime"), (1, 1))
    return "changed a time"


def _setxattr(ask: ProbeRequest) -> str:
    os.setxattr(_at(ask, "setxattr"), "user.assent", b"changed")
    return "set an attribute"


def _hard_link(ask: ProbeRequest) -> str:
    os.link(_at(ask, "overwrite"), _at(ask, "linked"))
    return "created a hard link"


def _symlink(ask: ProbeRequest) -> str:
    os.symlink("overwrite", _at(ask, "symlinked"))
    return "created a symlink"


def _fifo(ask: ProbeRequest) -> str:
    os.mkfifo(_at(ask, "fifo"))
    return "created a pipe"


def _through_proc(ask: ProbeRequest) -> str:
    """Goes to the workspace by every other name that the kernel has for it."""
    folder = os.open(_at(ask, ""), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    here = os.path.relpath(_at(ask, ""), os.getcwd())
    names = {
        "/proc/self/root": f"/proc/self/root{_at(ask, 'by_root')}",
        "/proc/1/root": f"/proc/1/root{_at(ask, 'by_first_root')}",
        "/proc/self/cwd": f"/proc/self/cwd/{here}/by_cwd",
        "/proc/self/fd": f"/proc/self/fd/{folder}/by_descriptor",
        "/proc/thread-self/root": f"/proc/thread-self/root{_at(ask, 'by_thread')}",
    }
    try:
        return "wrote through " + first_success(
            [(way, partial(write, path)) for way, path in names.items()]
        )
    finally:
        os.close(folder)


def _reopen(ask: ProbeRequest) -> str:
    """Opens a file for reading, then the descriptor for writing."""
    file = os.open(_at(ask, "reopen"), os.O_RDONLY | os.O_CLOEXEC)
    try:
        write(f"/proc/self/fd/{file}", 0)
    finally:
        os.close(file)
    return "wrote to a file that was open for reading"


def _outside(name: str, ask: ProbeRequest) -> str:
    """Makes a file by its absolute path, and as the machine's first process would name it."""
    path = ask.outside[name]
    ways = {"its path": path, "/proc/self/root": f"/proc/self/root{path}-2"}
    ways["/proc/1/root"] = f"/proc/1/root{path}-3"
    ways["/proc/1/cwd"] = f"/proc/1/cwd/{os.path.relpath(path, '/')}-4"
    worked = []
    for way, target in ways.items():
        with suppress(OSError):
            os.makedirs(os.path.dirname(target), exist_ok=True)
            write(target)
            worked.append(way)
    if not worked:
        write(path)
    return f"wrote through {', '.join(worked)}"


def _descriptors(ask: ProbeRequest) -> str:
    """Writes to every descriptor that was left open, or into it if it is a folder."""
    opened = []
    for number in range(LOWEST, HIGHEST):
        with suppress(OSError):
            os.fstat(number)
            opened.append(number)
    for number in opened:
        with suppress(OSError):
            os.write(number, b"changed")
        with suppress(OSError):
            os.mkdir("by_descriptor", dir_fd=number)
    if not opened:
        raise OSError(9, "no descriptor is open")
    return f"{len(opened)} descriptors are open"


FILE_PROBES: dict[str, Probe] = {
    "descriptors": _descriptors,  # first: the probe itself has not opened anything yet
    "create": _create,
    "overwrite": _overwrite,
    "append": _append,
    "truncate": _truncate,
    "delete": _delete,
    "rename": _rename,
    "make_folder": _make_folder,
    "chmod": _chmod,
    "chown": _chown,
    "utime": _utime,
    "setxattr": _setxattr,
    "hard_link": _hard_link,
    "symlink": _symlink,
    "fifo": _fifo,
    "through_proc": _through_proc,
    "reopen": _reopen,
    "write_home": partial(_outside, "write_home"),
    "write_state": partial(_outside, "write_state"),
    "write_temporary": partial(_outside, "write_temporary"),
    "write_programs": partial(_outside, "write_programs"),
    "write_tool": partial(_outside, "write_tool"),
    "write_repository": partial(_outside, "write_repository"),
}


# Attempts on what is shown of the machine: to write there, and to see what is next to it.


def _writable(name: str, ask: ProbeRequest) -> str:
    """Looks for a place that may be written to; where the mount allows it, nothing is written.

    A user who is not root may not write to most of them anyway, so the mount is checked first.
    """
    tried = [(place, partial(_write_to, place)) for place in ask.places[name]]
    return "can write to " + first_success(tried)


def _write_to(place: str) -> None:
    if not os.statvfs(place).f_flag & os.ST_RDONLY:
        return
    if not os.path.isdir(place):
        os.close(os.open(place, os.O_WRONLY | os.O_APPEND | os.O_NONBLOCK | os.O_CLOEXEC))
        return
    made = os.path.join(place, f"assent-{os.getpid()}")
    os.close(os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    with suppress(OSError):
        os.unlink(made)


def _look_around(ask: ProbeRequest) -> str:
    """Looks for folders of the machine that are the very ones which are outside."""
    tried = [(path, partial(_list, path, known)) for path, known in ask.folders.items()]
    return "listed " + first_success(tried)


def _list(path: str, known: list[int]) -> None:
    found = os.stat(path)
    if [found.st_dev, found.st_ino] != known:
        raise OSError(errno.ENOENT, "it is not the outside folder")
    os.listdir(path)


def _device_mode(ask: ProbeRequest) -> str:
    """Sets the mode of a device to the one it has."""
    os.chmod(os.devnull, os.stat(os.devnull).st_mode & 0o7777)
    return f"set the mode of {os.devnull}"


def _key_names(ask: ProbeRequest) -> str:
    with open("/proc/keys", "rb") as file:
        lines = file.read().splitlines()
    if not lines:
        raise OSError(errno.ENODATA, "no keys are listed there")
    return f"read the names of keys: {len(lines)}"


def _machine_secrets(ask: ProbeRequest) -> str:
    tried = [(place, partial(_read_or_list, place)) for place in ask.places["machine_secrets"]]
    return "read " + first_success(tried)


def _read_or_list(place: str) -> None:
    if os.path.isdir(place):
        found = bool(os.listdir(place))
    else:
        with open(place, "rb") as file:
            found = bool(file.read(1))
    if not found:
        raise OSError(errno.ENODATA, "nothing found")


VISIBLE_PATH_PROBES: dict[str, Probe] = {
    "write_system": partial(_writable, "write_system"),
    "write_etc": partial(_writable, "write_etc"),
    "look_around": _look_around,
    "device_mode": _device_mode,
    "key_names": _key_names,
    "machine_secrets": _machine_secrets,
}
