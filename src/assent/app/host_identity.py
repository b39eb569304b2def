"""What records take from the machine: a folder's identity, the user and the time.

It cannot be set from outside the process. A test that opens a recorded state directory uses it to
say where, when and for whom that state was written.
"""

import getpass
import os
import pwd
import time
from collections.abc import Callable
from contextvars import ContextVar

import msgspec


def _identity(root: bytes) -> tuple[bytes, int]:
    """Returns the path and the inode by which the log knows the folder of a workspace."""
    return root, os.stat(root).st_ino


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return str(os.getuid())


def _account() -> str:
    """Returns whose process this is; variables that anybody can set do not count."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())


class HostIdentity(msgspec.Struct, frozen=True):
    """The machine as records name it; this one, unless a test says otherwise."""

    identity: Callable[[bytes], tuple[bytes, int]] = _identity
    user: Callable[[], str] = _user
    account: Callable[[], str] = _account
    nanoseconds: Callable[[], int] = time.time_ns


THIS_HOST = HostIdentity()
HOST: ContextVar[HostIdentity] = ContextVar("machine", default=THIS_HOST)
