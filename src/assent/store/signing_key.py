"""The Ed25519 key that signs approvals: created once, readable by its owner only."""

import os
import shlex
import stat
from contextlib import suppress

from assent.core.errors import StoreError
from assent.core.text import counted
from assent.store.files import make_folder, refuse_shared_stat, store_errors, sync_folder

_SEED = 32
_SIGNATURE = 64
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class FileSigner:
    """Implements ports.Signer with Ed25519; the file contains the 32 bytes of the seed."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = os.path.abspath(path)
        self._pair: tuple[bytes, bytes] | None = None

    def key(self) -> str:
        """Returns the public key as hex; creates the pair if there is none."""
        return (self._loaded() or self._made())[0].hex()

    def sign(self, payload: bytes) -> str:
        """Returns the signature as hex; creates the pair if there is none."""
        from nacl.bindings import crypto_sign

        _, secret = self._loaded() or self._made()
        return crypto_sign(payload, secret)[:_SIGNATURE].hex()

    def verify(self, key: str, payload: bytes, signature: str) -> bool:
        """Tells whether this machine's key made the signature; malformed input is False."""
        pair = self._loaded()
        return pair is not None and key == pair[0].hex() and is_signed_by(key, payload, signature)

    def _loaded(self) -> tuple[bytes, bytes] | None:
        if self._pair is None:
            with store_errors("read the key", self._path), suppress(FileNotFoundError):
                self._pair = _key_pair(self._seed())
        return self._pair

    def _made(self) -> tuple[bytes, bytes]:
        with store_errors("create the key", self._path):
            _create(self._path, os.urandom(_SEED))
            self._pair = _key_pair(self._seed())
        return self._pair

    def _seed(self) -> bytes:
        file = os.open(self._path, _OPEN)
        try:
            found = os.fstat(file)
            self._refuse(found)
            return os.read(file, _SEED)
        finally:
            os.close(file)

    def _refuse(self, found: os.stat_result) -> None:
        quoted = shlex.quote(self._path)
        refuse_shared_stat("The key", self._path, found, 0)
        if stat.S_IMODE(found.st_mode) & 0o077:
            raise StoreError(
                f"The key {self._path} is readable by other users, so it is not used. If someone "
                "may have copied it, delete it and approve again.",
                f"chmod 600 {quoted}",
            )
        if not stat.S_ISREG(found.st_mode) or found.st_size != _SEED:
            raise StoreError(
                f"The key {self._path} is damaged: it has {counted(found.st_size, 'byte')} instead "
                f"of {_SEED}. Move it away to get a new key; what the old key approved must be "
                "approved again.",
                f"mv {quoted} {quoted}.damaged",
            )


def is_signed_by(key: str, payload: bytes, signature: str) -> bool:
    """Tells whether a public key's owner made the signature; malformed input is False."""
    from nacl.bindings import crypto_sign_open
    from nacl.exceptions import CryptoError

    try:
        public, raw = bytes.fromhex(key), bytes.fromhex(signature)
        if (public.hex(), raw.hex(), len(raw)) != (key, signature, _SIGNATURE):
            return False  # one spelling only
        crypto_sign_open(raw + payload, public)
    except (ValueError, TypeError, CryptoError):
        return False
    return True


def _key_pair(seed: bytes) -> tuple[bytes, bytes]:
    """Returns the public and the secret key of a seed."""
    from nacl.bindings import crypto_sign_seed_keypair

    return crypto_sign_seed_keypair(seed)


def _create(path: str, seed: bytes) -> None:
    """Creates the key file completely or not at all; of two processes that try, one succeeds."""
    folder = os.path.dirname(path)
    make_folder(folder)
    young = f"{path}.{os.urandom(8).hex()}"
    try:
        file = os.open(young, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            os.write(file, seed)
            os.fsync(file)
        finally:
            os.close(file)
        with suppress(FileExistsError):
            os.link(young, path)
        sync_folder(folder)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(young)
