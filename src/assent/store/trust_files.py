"""Writes the files of trusted keys and trusted project files.

Each is written under a lock, as a whole, and is readable by its owner only.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager

import msgspec

from assent.core.decoding import json_decoder
from assent.core.permission.trust import TrustedFile, TrustList
from assent.store.files import damaged_log, store_errors, write_atomically
from assent.store.locks import TIMEOUT_S, FileLocks

# Writes the list of trusted project files: under a lock, as a whole, private to its owner.


BROKEN = "it is damaged; move it away and trust the files again"
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC

_decode = json_decoder(TrustList).decode


class TrustListFile:
    """Writes the files that a user trusts; readers decide whether an entry is valid."""

    def __init__(self, path: str | os.PathLike[str], patience: float = TIMEOUT_S) -> None:
        self._path = os.path.abspath(path)
        self._locks = FileLocks(os.path.join(os.path.dirname(self._path), "locks"), patience)

    def give(self, trust: TrustedFile) -> None:
        """Adds trust in a file, replacing an earlier entry for it."""
        self._change(lambda book: book.with_trusted(trust))

    def revoke(self, root: bytes, path: str) -> None:
        """Removes the trust in a file."""
        self._change(lambda book: book.without(root, path))

    def _change(self, changed: Callable[[TrustList], TrustList]) -> None:
        with self._locks.hold("trust", "trust"):
            book = self._book()
            other = changed(book)
            if other != book:
                write_atomically(self._path, msgspec.json.encode(other) + b"\n")

    def _book(self) -> TrustList:
        try:
            with store_errors("read", self._path):
                text = self._text()
            return _decode(text) if text else TrustList()
        except msgspec.DecodeError as error:
            raise damaged_log("read", self._path, str(error), BROKEN) from None

    def _text(self) -> bytes:
        try:
            file = os.open(self._path, _OPEN)
        except FileNotFoundError:
            return b""
        with os.fdopen(file, "rb") as stream:
            return stream.read()


# Writes the file of trusted keys: under a lock, as a whole, readable by its owner only.


HEAD = "# Written by `assent keys`: keys whose approvals of bundles count here.\n"


class KeyFileWriter:
    """Writes the keys that a user trusts; readers decide whether they are valid."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        locks: str | os.PathLike[str],
        patience: float = TIMEOUT_S,
    ) -> None:
        self._path = os.path.abspath(path)
        self._locks = FileLocks(os.fspath(locks), patience)

    def locked(self) -> AbstractContextManager[None]:
        """Prevents others from changing it, from before it is read until it is written."""
        return self._locks.hold("keys", "assent keys")

    def write(self, keys: Mapping[str, str], revoked: Sequence[str]) -> None:
        """Replaces the lists; names and keys need no escapes."""
        rows = [f'"{name}" = "{key}"\n' for name, key in sorted(keys.items())]
        gone = ", ".join(f'"{key}"' for key in revoked)
        text = f"{HEAD}revoked = [{gone}]\n\n[keys]\n{''.join(rows)}"
        write_atomically(self._path, text.encode())
