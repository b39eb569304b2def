"""Writes the list of trusted project files: under a lock, as a whole, private to its owner."""

import os
from collections.abc import Callable

import msgspec

from assent.core.permission.trust import TrustedFile, TrustList
from assent.store.atomic_file import write_atomically
from assent.store.errors import damaged_log, store_errors
from assent.store.locks import TIMEOUT_S, FileLocks

BROKEN = "it is damaged; set it aside, and what was trusted is to be trusted again"
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC

_decode = msgspec.json.Decoder(TrustList).decode


class TrustListFile:
    """Writes what a person trusts; whether it counts is decided where it is read."""

    def __init__(self, path: str | os.PathLike[str], patience: float = TIMEOUT_S) -> None:
        self._path = os.path.abspath(path)
        self._locks = FileLocks(os.path.join(os.path.dirname(self._path), "locks"), patience)

    def give(self, trust: TrustedFile) -> None:
        """Adds a trust, in place of an earlier one in the same file."""
        self._change(lambda book: book.with_trusted(trust))

    def revoke(self, root: bytes, path: str) -> None:
        """Takes the trust in a file away."""
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
