"""Finds trusted programs by name, in folders where no one else could have put another one."""

import os
from collections.abc import Iterator, Mapping, Sequence
from stat import S_ISLNK, S_ISREG, S_IWGRP, S_IWOTH
from typing import Final

from assent.core.paths import is_inside
from assent.sandbox.profile.file_system import symlink_chain
from assent.sandbox.profile.profile import SandboxProfile
from assent.sandbox.profile.toolchains import PROGRAMS, known_folders, named_folders, path_folders

# These are many programs in one, and their options are not those that the tables describe.
_MANY: Final = (b"busybox", b"toybox")
_FOLDERS: Final = (b"bin", b"shims")
# Builders of packages may add to a store, but its sticky bit keeps them from replacing anything.
_STORES: Final = (b"/nix/store", b"/gnu/store")
_ANYBODY: Final = S_IWGRP | S_IWOTH


class ProgramFinder:
    """Looks for programs in the system's folders first, then in the user's own.

    Folders above `top` are taken as trusted; there are none above `/`.
    """

    def __init__(
        self, profile: SandboxProfile, environment: Mapping[str, str], *, top: bytes = b"/"
    ) -> None:
        self._profile = profile
        self._environment = environment
        self._top = top
        self._owners = (0, os.getuid())

    def find(self, names: Sequence[str], *, own: bool = False) -> bytes | None:
        """Returns the path of the first of these names that is a trusted program.

        The path is not resolved, because a program may look at the name it was started by.
        """
        wanted = [os.fsencode(name) for name in names if name and "/" not in name]
        mine = path_folders(self._environment) if own else []
        folders = list(dict.fromkeys((*mine, *self._folders())))
        paths = (folder + b"/" + name for name in wanted for folder in folders)
        return next((path for path in paths if self.trusts(path)), None)

    def trusts(self, path: bytes) -> bool:
        """Tells whether only root or the user can change any step of a path to a program."""
        steps = symlink_chain(path)
        if not steps or not all(self._profile.shows(step) for step in steps):
            return False
        if any(is_inside(step, self._profile.root) for step in steps):
            return False
        return _is_program(steps[-1]) and all(map(self._is_safe, self._all_above(steps)))

    def _folders(self) -> Iterator[bytes]:
        yield from PROGRAMS
        yield from path_folders(self._environment)
        for folder in (*known_folders(self._profile.home), *named_folders(self._environment)):
            if folder.rpartition(b"/")[2] in _FOLDERS:
                yield folder
            else:
                yield from (folder + b"/" + name for name in _FOLDERS)

    def _all_above(self, steps: Sequence[bytes]) -> set[bytes]:
        """Returns the steps and every folder above them: who can change one can change all."""
        found = set(steps)
        for step in steps:
            while step not in (b"/", self._top):
                step = os.path.dirname(step)
                found.add(step)
        return found

    def _is_safe(self, path: bytes) -> bool:
        state = _state(path)
        if state is None:
            return False
        open_to_others = state.st_mode & _ANYBODY and not S_ISLNK(state.st_mode)
        return state.st_uid in self._owners and (not open_to_others or path in _STORES)


def _is_program(path: bytes) -> bool:
    folder, _, name = path.rpartition(b"/")
    state = _state(path)
    if state is None or not S_ISREG(state.st_mode) or not state.st_mode & 0o111:
        return False
    many = (_state(place + b"/" + one) for place in (folder, *PROGRAMS) for one in _MANY)
    linked = any(other and os.path.samestat(state, other) for other in many)
    return not linked and not name.startswith(_MANY)


def _state(path: bytes) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except OSError:
        return None
