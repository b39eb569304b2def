"""Shows that a cut loses what nobody synced: without that, the other cuts would prove nothing.

python -m tests.disks.losing TYPE FOLDER
"""

import os
import sys
from pathlib import Path

from tests.crash.sweep import killed
from tests.disks.power import Machine, started, unshare_mounts

from assent.testing.call_trace import CallListener, CallTrigger


def write(machine: Machine, listen: CallListener) -> None:
    """Writes a file that is synced and one that is not, and tells when that is done."""
    for name in ("synced", "unsynced"):
        fd = os.open(machine.disk / name, os.O_WRONLY | os.O_CREAT)
        os.write(fd, b"content")
        if name == "synced":
            os.fsync(fd)
        os.close(fd)
    listen("disk.fsync", ())


if __name__ == "__main__":
    unshare_mounts()
    with started(sys.argv[1], Path(sys.argv[2])) as machine:
        assert killed(lambda listen: write(machine, listen), CallTrigger(at=0, act=machine.cut))
        machine.restart()
        found = [path for path in machine.disk.iterdir() if path.is_file()]
        print(*[path.name for path in found if path.stat().st_size])
