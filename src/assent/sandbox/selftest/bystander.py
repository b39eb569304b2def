"""A bystander: a process outside the sandbox that nothing inside may signal, trace or read."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from assent.sandbox.selftest.interpreter import COMMAND

VARIABLE = "ASSENT_CANARY"
WATCHED = {
    "signal": signal.SIGUSR1,
    "signal_by_descriptor": signal.SIGUSR2,
    "signal_by_pipe": signal.SIGIO,
}

# It holds a secret in its memory, its environment and a descriptor, and lets others of its user
# trace it, where the system asks for that. Signals wait until they are counted.
SCRIPT = """
import ctypes, json, os, signal, sys
token = os.environ[sys.argv[1]].encode()
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1, signal.SIGUSR2, signal.SIGIO})
ctypes.CDLL(None).prctl(0x59616D61, ctypes.c_ulong(-1), 0, 0, 0)
buffer = ctypes.create_string_buffer(token)
file = os.memfd_create("canary")
os.write(file, token)
print(json.dumps([ctypes.addressof(buffer), file]), flush=True)
sys.stdin.read()
print(json.dumps([int(number) for number in signal.sigpending()]), flush=True)
"""


class Bystander:
    """The running process, and what a probe must be told to aim at it."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self._process = process
        self.pid = process.pid
        found: list[int] = msgspec.json.decode(self._answer(), type=list[int])
        self.address, self.descriptor = found

    def signalled(self) -> list[str]:
        """Ends the process and returns the attempts that reached it; all of them if it is gone."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.close()
            pending = json.loads(self._answer())
        except (OSError, ValueError):
            return list(WATCHED)
        return [name for name, number in WATCHED.items() if number in pending]

    def _answer(self) -> bytes:
        assert self._process.stdout is not None
        return self._process.stdout.readline()


@contextmanager
def bystander(token: str) -> Iterator[Bystander]:
    """Starts a process with a secret, and ends it in any case."""
    with subprocess.Popen(
        [*COMMAND, "-c", SCRIPT, VARIABLE],
        env={**os.environ, VARIABLE: token},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as process:
        try:
            yield Bystander(process)
        finally:
            process.kill()
