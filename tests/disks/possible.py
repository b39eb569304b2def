"""What a machine must let a test do to real disks; where it does not, the test says so.

Everything that can be installed is a failure in CI. A privilege cannot be installed.
"""

import os
import shutil
import subprocess
from collections.abc import Sequence
from functools import cache

import pytest

PRIVILEGE = "This machine does not let us"  # how a reason begins that CI accepts
NAMESPACE = ("unshare", "--mount")


def needs_mounts(*programs: str) -> None:
    """Skips a test where images cannot be mounted; fails it where only a program is missing."""
    missing = [program for program in programs if shutil.which(program) is None]
    assert not missing, f"{', '.join(missing)} is missing; `make system` installs it."
    if not _allowed((*NAMESPACE, "mount", "-t", "tmpfs", "assent", "/mnt")):
        pytest.skip(f"{PRIVILEGE} mount file systems: it takes root.")
    if "losetup" in programs and not _allowed(("losetup", "--find")):
        pytest.skip(f"{PRIVILEGE} use loop devices.")


def needs_fuse() -> None:
    """Skips a test where no file system of our own can be mounted."""
    assert shutil.which("fusermount3"), "fusermount3 is missing; `make system` installs it."
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        pytest.skip(f"{PRIVILEGE} use /dev/fuse.")


@cache
def _allowed(command: Sequence[str]) -> bool:
    return subprocess.run(command, capture_output=True, check=False).returncode == 0
