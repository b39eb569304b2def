"""Exposure limits: what a variable never makes visible, and which folders are harmless to show."""

import os
import re
from collections.abc import Sequence
from typing import Final

import msgspec

from assent.core.errors import Refused
from assent.core.paths import display_path, is_inside
from assent.core.permission.sensitive_paths import SECRET_FOLDERS
from assent.sandbox.profile.credentials import credential_paths
from assent.sandbox.profile.symlinks import is_covered

MACHINE: Final = (b"/proc", b"/sys", b"/dev")

_SHALLOW: Final = 2  # `/opt` is a folder of folders; a program's own folder lies deeper
_WINDOWS: Final = re.compile(rb"/mnt/[a-z](?:/.*)?", re.DOTALL)  # its programs would run outside


class ExposureLimits(msgspec.Struct, frozen=True):
    """The workspace, the home, what the caller hides, and where credentials lie; all real paths.

    `places` holds a credential place under its name and under the path that it leads to.
    """

    root: bytes
    home: bytes
    hidden: tuple[bytes, ...]
    places: frozenset[bytes]
    user: int

    def may_expose_chain(self, steps: Sequence[bytes], *, known: bool) -> bool:
        """Tells whether a folder may be shown that is reached by these steps, itself the last.

        A symlink in the workspace, or of somebody else, must not choose what is shown.
        """
        *links, folder = steps
        if any(is_covered(step, MACHINE) for step in steps):
            return False
        if any(is_inside(link, self.root) or not self._is_ours(link) for link in links):
            return False
        return self.may_expose(folder, known=known)

    def may_expose(self, folder: bytes, *, known: bool) -> bool:
        """Tells whether a real folder may be shown; of a known one, what it holds is masked."""
        if folder.count(b"/") < _SHALLOW or _WINDOWS.fullmatch(folder):
            return False
        if is_covered(folder, self.hidden) or is_covered(folder, self.places):
            return False
        below = folder + b"/"
        private = (self.root, self.home, *self.hidden, *(() if known else self.places))
        if folder in private or any(one.startswith(below) for one in private):
            return False
        return os.path.isdir(folder) and self._is_ours(folder)

    def _is_ours(self, path: bytes) -> bool:
        try:
            return os.lstat(path).st_uid in (0, self.user)
        except OSError:
            return False


def exposure_limits(root: bytes, home: bytes, hidden: Sequence[bytes]) -> ExposureLimits:
    """Looks where everything really lies; refuses a workspace that no program should be given."""
    real = os.path.realpath(root)
    own = os.path.realpath(home)
    behind = tuple(os.path.realpath(path) for path in hidden)
    _refuse(real, behind)
    named = credential_paths(own)
    led = [os.path.realpath(place) for place in named if os.path.lexists(place)]
    return ExposureLimits(real, own, behind, frozenset((*named, *led)), os.getuid())


def _refuse(root: bytes, hidden: Sequence[bytes]) -> None:
    if root == b"/" or any(is_inside(root, folder) for folder in MACHINE):
        raise Refused(
            f"{display_path(root)} shows the machine and not a project; no program is run on it.",
            "assent -C PROJECT status",
        )
    if any(is_inside(root, path) for path in hidden):
        raise Refused(
            f"{display_path(root)} lies in Assent's own folders; no program may look there.",
            "assent -C PROJECT status",
        )
    if any(part.lower() in SECRET_FOLDERS for part in root.split(b"/")):
        raise Refused(
            f"{display_path(root)} is a place for keys; no program may look there.",
            "assent -C PROJECT status",
        )
