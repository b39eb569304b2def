"""The probe: runs inside the sandbox, tries every known way out, and reports what worked.

It uses the standard library alone. It answers with one JSON object a line, and a last one that
counts them, so that an answer that was cut short is not taken for a whole one.
"""

import json
import os
import signal
import sys

from assent.sandbox.selftest.probes import files, kernel, network, secrets
from assent.sandbox.selftest.probes import files as visible_paths
from assent.sandbox.selftest.probes import kernel as mounts
from assent.sandbox.selftest.probes import kernel as syscalls
from assent.sandbox.selftest.probes import network as ipc
from assent.sandbox.selftest.probes.request import NothingToTry, Probe, ProbeRequest

PROBES: dict[str, Probe] = {
    **files.FILE_PROBES,
    **visible_paths.VISIBLE_PATH_PROBES,
    **kernel.KERNEL_PROBES,
    **syscalls.SYSCALL_PROBES,
    **mounts.MOUNT_PROBES,
    **network.NETWORK_PROBES,
    **ipc.IPC_PROBES,
    **secrets.SECRET_PROBES,
}
# They change what the process itself is, or may stop it: each gets a separate process.
SEPARATE_PROCESS_PROBES = frozenset(
    {*mounts.MOUNT_PROBES, *syscalls.SYSCALL_PROBES, "raise_limits", "trace", "type"}
)
TIMEOUT_S = 15  # seconds of one attempt, on a machine that may be busy


def main(arguments: list[str]) -> int:
    """Makes every attempt of a request, in the order of the table."""
    ask = ProbeRequest(**json.loads(arguments[0]))
    for quiet in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGIO):
        signal.signal(quiet, signal.SIG_IGN)  # where a number outside is by chance our own
    answers = 0
    for name in filter(ask.names.__contains__, PROBES):
        _say({"name": name, **(_apart if name in SEPARATE_PROCESS_PROBES else _tried)(name, ask)})
        answers += 1
    _say({"answers": answers})
    return 0


def _say(answer: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


def _tried(name: str, ask: ProbeRequest) -> dict[str, object]:
    try:
        return {"worked": True, "detail": PROBES[name](ask)}
    except NothingToTry as error:
        return {"absent": True, "detail": error.strerror}
    except OSError as error:
        return {"worked": False, "detail": error.strerror or str(error), "errno": error.errno}
    except Exception as error:  # an attempt that could not be made proves nothing
        return {"broken": True, "detail": f"{type(error).__name__}: {error}"}


def _apart(name: str, ask: ProbeRequest) -> dict[str, object]:
    """Makes an attempt in a child process, so that its success harms no other attempt."""
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            signal.alarm(TIMEOUT_S)
            os.write(theirs, json.dumps(_tried(name, ask)).encode())
        finally:
            os._exit(0)
    os.close(theirs)
    with open(ours, "rb") as answers:
        answer = answers.read()
    os.waitpid(child, 0)
    if not answer:
        return {"broken": True, "detail": "The test ended without a result."}
    found: dict[str, object] = json.loads(answer)
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
