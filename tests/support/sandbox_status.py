"""What the sandbox's self-test finds on this machine, found once for all tests of a run.

The self-test costs more than most tests that need its result, and a state folder that is new, as
almost every test has one, does not know it. What is about the self-test itself does without this.
"""

import fcntl
import os
import shutil
from pathlib import Path

from assent.app.shell import sandbox_checker_at
from assent.sandbox.status import FILE

SHARED = "ASSENT_TESTS_SHARED"  # names a folder for everything that one run of the tests shares


def remember_sandbox(state: Path) -> None:
    """Gives a state folder what the self-test found before, as on a machine in use."""
    shared = os.environ.get(SHARED)
    if shared is None or (state / FILE).exists():
        return  # what is started by hand tests the sandbox by itself
    mounts = os.readlink("/proc/self/ns/mnt")  # among others the result is of no use
    known = Path(shared, mounts, FILE)
    with open(Path(shared, "lock"), "wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # several workers begin at once
        if not known.exists():
            sandbox_checker_at(known.parent).status()
    if known.exists():  # where there can be no sandbox, nothing is kept
        state.mkdir(parents=True, mode=0o700, exist_ok=True)
        shutil.copy(known, state / FILE)
