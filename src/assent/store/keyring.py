"""Writes the file of trusted keys: under a lock, as a whole, readable by its owner only."""

import os
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager

from assent.store.atomic_file import write_atomically
from assent.store.locks import TIMEOUT_S, FileLocks

HEAD = "# Written by `assent keys`; whose approvals of bundles count here.\n"


class KeyFileWriter:
    """Writes which keys a person trusts; whether they count is decided where they are read."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        locks: str | os.PathLike[str],
        patience: float = TIMEOUT_S,
    ) -> None:
        self._path = os.path.abspath(path)
        self._locks = FileLocks(os.fspath(locks), patience)

    def locked(self) -> AbstractContextManager[None]:
        """Keeps others from changing it, from before it is read until it is written."""
        return self._locks.hold("keys", "assent keys")

    def write(self, keys: Mapping[str, str], revoked: Sequence[str]) -> None:
        """Puts new lists in the place of the old ones; names and keys need no escapes."""
        rows = [f'"{name}" = "{key}"\n' for name, key in sorted(keys.items())]
        gone = ", ".join(f'"{key}"' for key in revoked)
        text = f"{HEAD}revoked = [{gone}]\n\n[keys]\n{''.join(rows)}"
        write_atomically(self._path, text.encode())
