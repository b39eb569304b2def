"""A profile: what a program inside the sandbox gets to see, as plain paths."""

import os

import msgspec

from assent.core.paths import is_inside, one_line
from assent.core.permission.sensitive_paths import configures_agents


class SandboxProfile(msgspec.Struct, frozen=True):
    """Everything else is not there at all. All paths are absolute and without a final `/`.

    The parents of each path are real folders; only a path of `shown` may itself be a symlink,
    which is made anew inside and leads to something that is shown too.
    What `masks` names is hidden last, over every other entry, so that nothing shows it again.
    """

    root: bytes
    home: bytes
    shown: tuple[bytes, ...] = ()
    masks: tuple[bytes, ...] = ()
    writable: bool = False
    # Of a writable workspace only: these stay read-only. They may be missing, because what can be
    # made later needs protection too. A mount needs something to stand on, so whoever runs the
    # program makes an empty folder for a missing one, mounts it read-only, and removes it after
    # the run. A folder above a mount can still be renamed away with all that is in it; so each
    # folder between the root and an entry of `kept` or `masks` is mounted on itself first.
    kept: tuple[bytes, ...] = ()
    ruled: frozenset[bytes] = frozenset()  # entries of `masks` and `kept` that a rule put there
    # To commit, without a writable workspace: git's own folders, and what in them stays as it is.
    opened: tuple[bytes, ...] = ()
    sealed: tuple[bytes, ...] = ()
    network: bool = False  # that of the machine, with its names and certificates

    def visible(self, path: bytes) -> bool:
        """Tells whether a program inside could read what a path leads to."""
        return self.shows(os.path.realpath(path))

    def shows(self, path: bytes) -> bool:
        """Tells whether a path stands inside under this very name; no symlink is followed."""
        if any(is_inside(path, mask) for mask in self.masks):
            return False
        return any(is_inside(path, folder) for folder in (self.root, *self.shown))

    def hidden_below(self, folder: bytes) -> bytes | None:
        """Returns the first masked path in a folder; the mask over it, if it is masked itself."""
        real = os.path.realpath(folder)
        return next((m for m in self.masks if is_inside(m, real) or is_inside(real, m)), None)

    def closed(self) -> tuple[str, ...]:
        """Says what of a writable workspace cannot change, or by a rule cannot be read."""
        orders = {path for path in self.kept if configures_agents(path[len(self.root) + 1 :])}
        kept = [(path, "a rule denies edits there") for path in self.kept if path not in orders]
        masked = [(path, "a rule hides it") for path in self.masks if path in self.ruled]
        ruled = [
            self._name(path) + (f" ({why})" if path in self.ruled else "")
            for path, why in (*kept, *masked)
        ]
        return (*ruled, *map(self._name, sorted(orders)))

    def _name(self, path: bytes) -> str:
        return one_line(path[len(self.root) + 1 :]) if path != self.root else "the workspace"
