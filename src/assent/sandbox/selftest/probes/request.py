"""The request to the self-test's probe: where the canaries are, and what counts as found."""

import ctypes
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256

Probe = Callable[["ProbeRequest"], str]  # says what worked, or raises OSError

MAX_READ_BYTES = 1 << 22


@dataclass(frozen=True)
class ProbeRequest:
    """Everything that a probe is given. It knows secrets only by digest and cannot make them up."""

    workspace: str
    names: list[str]  # what to attempt
    outside: dict[str, str] = field(default_factory=dict)  # files that it should not manage to make
    secrets: dict[str, str] = field(default_factory=dict)  # files that it should not manage to read
    digests: dict[str, str] = field(default_factory=dict)  # of what the secrets hold
    ports: dict[str, int] = field(default_factory=dict)
    sockets: dict[str, str] = field(default_factory=dict)
    pid: int = 0  # a process outside, and in it:
    address: int = 0  # where a secret is in its memory
    descriptor: int = 0  # a descriptor of it that leads to a secret
    places: dict[str, list[str]] = field(default_factory=dict)  # of the machine, by attempt
    folders: dict[str, list[int]] = field(default_factory=dict)  # not to be seen: device and inode
    shared_memory: int = -1
    message_queue: int = -1
    approve: list[str] = field(default_factory=list)
    environment: dict[str, str] = field(default_factory=dict)  # for `approve`

    def found(self, name: str, content: bytes) -> str:
        """Reports that a secret was read; raises OSError if the content is something else."""
        if sha256(content).hexdigest() != self.digests.get(name):
            raise OSError(0, "what was read is not the secret")
        return f"read {len(content)} bytes"


class NothingToTry(FileNotFoundError):
    """An attempt is not possible here, which proves nothing."""


libc = ctypes.CDLL(None, use_errno=True)


def check_errno(result: int) -> int:
    """Returns the result of a C library function; raises OSError if it is an error."""
    if result == -1:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


def first_success(attempts: Sequence[tuple[str, Callable[[], object]]]) -> str:
    """Tries several ways in turn, and names the first that works; raises OSError if none does."""
    failures = []
    for way, attempt in attempts:
        try:
            attempt()
        except OSError as error:
            failures.append(error)
            continue
        return way
    if not failures:
        raise NothingToTry(2, "nothing to test")
    raise failures[0]
