"""Profile variants: with the machine's network, or with the access that a commit needs."""

import os
from collections.abc import Iterable
from typing import Final

import msgspec

from assent.core.errors import Refused
from assent.core.paths import display_path, is_inside
from assent.sandbox.profile.git_dirs import GitDir, commit_git_dir
from assent.sandbox.profile.profile import SandboxProfile
from assent.sandbox.profile.symlinks import outermost_paths, symlink_chain

RESOLVER_FILES: Final = (
    b"/etc/resolv.conf",
    b"/etc/gai.conf",
)  # who is who; certificates are always shown

# By these the next git command of the person would run something else, or work somewhere else.
_SEALED: Final = (
    b"hooks", b"info", b"commondir", b"gitdir", b"modules", b"worktrees", b"branches", b"remotes",
    b"objects/info",
)  # fmt: skip
_SETTINGS: Final = b"config"  # and `config.worktree`
_SHARED: Final = (b"objects", b"refs", b"logs", b"reftable")  # that worktrees write to


def with_network(profile: SandboxProfile) -> SandboxProfile:
    """Returns the profile with the machine's network, and how it finds names there."""
    ways = [
        step
        for path in RESOLVER_FILES
        for step in symlink_chain(path)
        if not is_inside(step, profile.root)
    ]
    return msgspec.structs.replace(
        profile, shown=outermost_paths((*profile.shown, *ways)), network=True
    )


def with_commit_access(profile: SandboxProfile) -> SandboxProfile:
    """Returns a profile that reads the workspace and writes what a commit needs, nothing else."""
    found = commit_git_dir(profile.root)
    if found is None:
        raise Refused(
            "There is no git repository here whose own folder names this workspace; nothing can be "
            "committed.",
            "git init",
        )
    if not os.path.lexists(profile.root + b"/.git"):
        # Git looks at every file when it writes its list of them; those beyond it cannot see here.
        raise Refused(
            "The workspace lies in a larger repository; only its top can be committed in.",
            "git rev-parse --show-toplevel",
        )
    opened = _opened(found)
    if hidden := [path for path in opened if not profile.shows(path)]:
        raise Refused(
            f"{display_path(hidden[0])} is hidden in the sandbox; nothing can be committed."
        )
    return msgspec.structs.replace(profile, writable=False, opened=opened, sealed=_sealed(opened))


def _opened(git: GitDir) -> tuple[bytes, ...]:
    if git.own == git.common:
        return (git.own, git.own + b"/objects")  # a mount of its own cannot be renamed away
    shared = [git.common + b"/" + name for name in _SHARED]
    return (git.own, *(path for path in shared if os.path.isdir(path)))


def _sealed(opened: Iterable[bytes]) -> tuple[bytes, ...]:
    found: list[bytes] = []
    for folder in opened:
        settings = [name for name in os.listdir(folder) if name.startswith(_SETTINGS)]
        names = (*settings, *_SEALED, *((b"info",) if folder.endswith(b"/objects") else ()))
        found += [folder + b"/" + name for name in names]
    return tuple(path for path in dict.fromkeys(found) if os.path.lexists(path))
