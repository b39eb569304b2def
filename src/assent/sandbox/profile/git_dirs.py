"""Git directories outside the workspace: which of them belong to it, proved from both sides.

A `.git` file may name any folder, even one with keys; so that folder must name it back.
"""

import os
import re
from collections.abc import Callable
from stat import S_ISDIR, S_ISREG
from typing import Final

import msgspec

from assent.sandbox.profile.file_system import read_small_text

_NAMES: Final = re.compile(rb"gitdir: ([^\0\n]+)\n?")
_SECTION: Final = re.compile(rb"\s*\[([^\]]*)\]\s*")
_WORKTREE: Final = re.compile(rb"\s*worktree\s*=\s*(\"?)([^\"\\#;\0]+?)\1\s*", re.IGNORECASE)
_PARTS: Final[tuple[tuple[bytes, Callable[[int], bool]], ...]] = (
    (b"HEAD", S_ISREG),
    (b"objects", S_ISDIR),
    (b"refs", S_ISDIR),
)


class GitDir(msgspec.Struct, frozen=True):
    """The folder of one checkout's own state, and the one that all checkouts share."""

    own: bytes
    common: bytes


def gitdirs(root: bytes) -> tuple[bytes, ...]:
    """Returns what git needs to see of the repository around a workspace, beyond it."""
    mark = _mark(root)
    found = _behind(mark) if mark else ()
    if os.path.dirname(mark) == root or not found:
        return found
    return tuple(dict.fromkeys((mark, *found)))


def commit_git_dir(root: bytes) -> GitDir | None:
    """Returns the folders that a commit writes to; None for a `.git` that cannot be verified."""
    mark = _mark(root)
    found = _behind(mark) if mark else ()
    if not found:
        return None
    if _is(mark, S_ISDIR):
        return GitDir(mark, mark)
    named = _named(mark)
    return GitDir(named, found[0])


def _mark(root: bytes) -> bytes:
    """Returns the nearest `.git` at or above a folder; nothing if there is none."""
    folder = root
    while True:
        mark = folder.rstrip(b"/") + b"/.git"
        if os.path.lexists(mark):
            return mark
        if folder in (b"", b"/"):
            return b""
        folder = os.path.dirname(folder)


def is_gitdir(path: bytes) -> bool:
    """Tells whether a folder looks like a git directory, as git itself decides it."""
    return all(_is(path + b"/" + name, kind) for name, kind in _PARTS)


def _behind(mark: bytes) -> tuple[bytes, ...]:
    """Returns the folders that a `.git` leads to; none if it proves nothing, or is a symlink."""
    if _is(mark, S_ISDIR):
        return (mark,) if is_gitdir(mark) else ()
    gitdir = _named(mark)
    if not gitdir:
        return ()
    common = _owner_of_worktree(gitdir, mark)
    if common:
        return (common,)
    return (gitdir,) if is_gitdir(gitdir) and _leads_back(gitdir, mark) else ()


def _named(mark: bytes) -> bytes:
    """Returns the folder that a file `.git` names, as it really lies; nothing if it names none."""
    named = _NAMES.fullmatch(read_small_text(mark))
    return os.path.realpath(os.path.join(os.path.dirname(mark), named[1])) if named else b""


def _owner_of_worktree(gitdir: bytes, mark: bytes) -> bytes | None:
    """Returns the repository that a worktree belongs to, if it keeps that worktree itself."""
    back = _line(gitdir + b"/gitdir")
    up = _line(gitdir + b"/commondir")
    if not back or not up or not _same(os.path.join(gitdir, back), mark):
        return None
    common = os.path.realpath(os.path.join(gitdir, up))
    kept = os.path.dirname(gitdir) == common + b"/worktrees"
    return common if kept and is_gitdir(common) else None


def _leads_back(gitdir: bytes, mark: bytes) -> bool:
    """Tells whether a submodule's settings name the folder of the `.git` file as its worktree."""
    settings = (read_small_text(gitdir + b"/" + name) for name in (b"config", b"config.worktree"))
    trees = [tree for text in settings for tree in _worktrees(text)]
    return any(_same(os.path.join(gitdir, tree), os.path.dirname(mark)) for tree in trees)


def _worktrees(settings: bytes) -> list[bytes]:
    found, core = list[bytes](), False
    for line in settings.splitlines():
        if section := _SECTION.fullmatch(line):
            core = section[1].strip().lower() == b"core"
        elif core and (worktree := _WORKTREE.fullmatch(line)):
            found.append(worktree[2])
    return found


def _same(one: bytes, other: bytes) -> bool:
    try:
        return os.path.samestat(os.stat(one), os.lstat(other))
    except OSError:
        return False


def _is(path: bytes, kind: Callable[[int], bool]) -> bool:
    try:
        return kind(os.lstat(path).st_mode)
    except OSError:
        return False


def _line(path: bytes) -> bytes:
    """Returns the path that a file of git's names; nothing if that can be none."""
    line = read_small_text(path).rstrip(b"\n")
    return b"" if b"\0" in line else line
