"""Which branch a repository is on, read from its own files; no program is started for it."""

import os
from stat import S_ISREG

_HEAD = b"ref: refs/heads/"
_LONGEST = 4096
_WITHOUT_WAITING = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC  # it might be a pipe


def branch(root: bytes) -> str:
    """Returns the branch that is checked out in a folder; empty where that is not plain."""
    try:
        fd = os.open(os.path.join(root, b".git", b"HEAD"), _WITHOUT_WAITING)
    except OSError:
        return ""
    try:
        head = os.read(fd, _LONGEST) if S_ISREG(os.fstat(fd).st_mode) else b""
    except OSError:
        return ""
    finally:
        os.close(fd)
    if not head.startswith(_HEAD):
        return ""
    return head.removeprefix(_HEAD).strip().decode("utf-8", "backslashreplace")
