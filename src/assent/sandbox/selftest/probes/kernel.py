"""Attempts on the kernel's own knobs: /proc/sys, /sys, limits, terminals, dangerous calls."""

import fcntl
import os
import resource
import signal
import termios
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
    """Opens the terminal of whoever started this."""
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
    """Makes a terminal: where nobody has one, this still shows whether typing is refused."""
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
        raise PermissionError(1, "no program started here gains any")
    return "a program with set-user-id could gain privileges"


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
