"""Reads the branch, and the operation in progress, from git's own files.

No program is started for it.
"""

import os
import re
from stat import S_ISREG
from typing import Final

from assent.core.paths import display_path
from assent.ports import DETACHED_HEAD, GitState

_HEAD = rb"ref: refs/heads/([^\n]{1,200})\n?"
_COMMIT = rb"[0-9a-f]{40,64}\n?"
_GITDIR = rb"gitdir: ([^\0\n]+)\n?"
_PLAIN = r"[!-~]+"
_LONGEST: Final = 4096
# It might be a pipe, and a link might lead to a file that must not be read.
_CAREFULLY: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
# What git leaves in its folder until something is finished or aborted.
_MARKS: Final = (
    (b"MERGE_HEAD", "merge"),
    (b"rebase-merge", "rebase"),
    (b"rebase-apply/applying", "am"),
    (b"rebase-apply", "rebase"),
    (b"CHERRY_PICK_HEAD", "cherry-pick"),
    (b"REVERT_HEAD", "revert"),
    (b"sequencer", "cherry-pick or revert"),
    (b"BISECT_LOG", "bisect"),
)
# Each of these explains marks of the others, too.
_EXPLAINS: Final = {
    "rebase": ("cherry-pick", "revert", "cherry-pick or revert"),
    "am": ("rebase",),
    "cherry-pick": ("cherry-pick or revert",),
    "revert": ("cherry-pick or revert",),
}


def current_branch(root: bytes) -> str:
    """Returns the branch that is checked out in a folder; empty if that is unclear."""
    found = git_state(root).branch
    return found if found != DETACHED_HEAD and re.fullmatch(_PLAIN, found) else ""


def git_state(root: bytes) -> GitState:
    """Returns what git has checked out in a folder, and its operation in progress."""
    folder = _folder(root)
    if folder is None:
        return GitState()
    marked = [word for mark, word in _MARKS if os.path.lexists(os.path.join(folder, mark))]
    known = {other for word in marked for other in _EXPLAINS.get(word, ())}
    return GitState(_branch(folder), tuple(dict.fromkeys(w for w in marked if w not in known)))


def _folder(root: bytes) -> bytes | None:
    """Returns git's own folder; for a linked worktree a file names it."""
    git = os.path.join(root, b".git")
    if os.path.islink(git):
        return None
    if os.path.isdir(git):
        return git
    found = re.fullmatch(_GITDIR, _read(git))
    return os.path.join(root, found[1]) if found else None


def _branch(folder: bytes) -> str:
    head = _read(os.path.join(folder, b"HEAD"))
    if found := re.fullmatch(_HEAD, head):
        return display_path(found[1])
    return DETACHED_HEAD if re.fullmatch(_COMMIT, head) else ""


def _read(path: bytes) -> bytes:
    """Returns the start of a small file; empty if it is not a file or cannot be read."""
    try:
        fd = os.open(path, _CAREFULLY)
    except OSError:
        return b""
    try:
        return os.read(fd, _LONGEST) if S_ISREG(os.fstat(fd).st_mode) else b""
    except OSError:
        return b""
    finally:
        os.close(fd)
