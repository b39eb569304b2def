"""Attempts to read a secret, or to approve a plan as only a user may."""

import ctypes
import os
import subprocess
from contextlib import suppress
from functools import partial

from assent.sandbox.selftest.probes.request import (
    MAX_READ_BYTES,
    Probe,
    ProbeRequest,
    check_errno,
    first_success,
    libc,
)

SESSION = -3
KEYCTL_SEARCH, KEYCTL_READ = 10, 11
KEYCTL = {"x86_64": 250}.get(os.uname().machine, 219)
TIMEOUT_S = 30


def _read(name: str, ask: ProbeRequest) -> str:
    """Reads a file by its path and by the other names that the kernel has for it."""
    path = ask.secrets[name]
    ways = {"its path": path, "/proc/self/root": f"/proc/self/root{path}"}
    ways["/proc/1/root"] = f"/proc/1/root{path}"
    return "read it through " + first_success(
        [(way, partial(_compare, ask, name, place)) for way, place in ways.items()]
    )


def _compare(ask: ProbeRequest, name: str, place: str) -> None:
    with open(place, "rb") as file:
        ask.found(name, file.read(MAX_READ_BYTES))


def _variable(ask: ProbeRequest) -> str:
    """Looks for a variable of the process that started this, in every visible process."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        if pid == str(ask.pid):
            continue  # that one is another attempt
        for value in _values(pid):
            with suppress(OSError):
                return f"{ask.found('token', value)} in process {pid}"
    raise FileNotFoundError(2, "no visible process has it")


def _values(pid: str) -> list[bytes]:
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return [entry.partition(b"=")[2] for entry in file.read().split(b"\0")]
    except OSError:
        return []


def _keyring(ask: ProbeRequest) -> str:
    kind, named = ctypes.c_char_p(b"user"), ctypes.c_char_p(ask.secrets["keyring"].encode())
    key = check_errno(libc.syscall(KEYCTL, KEYCTL_SEARCH, SESSION, kind, named, 0))
    buffer = ctypes.create_string_buffer(MAX_READ_BYTES)
    size = check_errno(libc.syscall(KEYCTL, KEYCTL_READ, key, buffer, MAX_READ_BYTES))
    return ask.found("token", buffer.raw[:size])


def _approve(ask: ProbeRequest) -> str:
    done = subprocess.run(
        ask.approve,
        env=ask.environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        timeout=TIMEOUT_S,
    )
    if done.returncode:
        words = done.stderr.decode("utf-8", "replace").strip().splitlines() or ["no message"]
        raise PermissionError(1, f"exit {done.returncode}: {words[0][:200]}")
    return "approved a plan"


SECRET_PROBES: dict[str, Probe] = {
    "read_key": partial(_read, "read_key"),
    "read_log": partial(_read, "read_log"),
    "read_configuration": partial(_read, "read_configuration"),
    "read_env_file": partial(_read, "read_env_file"),
    "read_ssh_key": partial(_read, "read_ssh_key"),
    "read_credential": partial(_read, "read_credential"),
    "read_tool_secret": partial(_read, "read_tool_secret"),
    "read_beside": partial(_read, "read_beside"),
    "variable": _variable,
    "keyring": _keyring,
    "approve": _approve,
}
