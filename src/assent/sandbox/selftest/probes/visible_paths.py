"""Attempts on what is shown of the machine: to write there, and to see what lies beside it."""

import errno
import os
from contextlib import suppress
from functools import partial

from assent.sandbox.selftest.probes.request import Probe, ProbeRequest, first_success


def _writable(name: str, ask: ProbeRequest) -> str:
    """Looks for a place that may be written to; where the mount allows it, nothing is written.

    A person who is not root may not write to most of them anyway, so the mount is asked first.
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
        raise OSError(errno.ENOENT, "it is not the folder that is outside")
    os.listdir(path)


def _device_mode(ask: ProbeRequest) -> str:
    """Sets the mode of a device to the one it has."""
    os.chmod(os.devnull, os.stat(os.devnull).st_mode & 0o7777)
    return f"set the mode of {os.devnull}"


def _key_names(ask: ProbeRequest) -> str:
    with open("/proc/keys", "rb") as file:
        lines = file.read().splitlines()
    if not lines:
        raise OSError(errno.ENODATA, "no key is named there")
    return f"read the names of {len(lines)} keys"


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
        raise OSError(errno.ENODATA, "nothing is there")


VISIBLE_PATH_PROBES: dict[str, Probe] = {
    "write_system": partial(_writable, "write_system"),
    "write_etc": partial(_writable, "write_etc"),
    "look_around": _look_around,
    "device_mode": _device_mode,
    "key_names": _key_names,
    "machine_secrets": _machine_secrets,
}
