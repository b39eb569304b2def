"""Where API keys are stored: the system's keyring, or a file that only its user can read.

The file lists which providers have their key in the keyring, so that the keyring is asked for those
alone, and never by a command that needs no key.
"""

import errno
import os
import shlex
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, TypeAlias

import msgspec

from assent.core.decoding import json_decoder
from assent.core.errors import AssentError, StoreError, UsageError
from assent.store.files import refuse_shared, store_errors, write_atomically
from assent.store.locks import FileLocks

KeyPlace: TypeAlias = Literal["keyring", "file"]

SERVICE = "assent"  # under which the keyring has the keys, each by the name of its provider
MAX_FILE_BYTES = 64 * 1024
MAX_KEY_CHARS = 4096
OTHERS = 0o077  # rights of anyone but the owner
UNSAFE = "No key was read from it."
NO_KEYRING = (
    "The system keyring cannot be used: {}. Without it, the key is stored in a file that only you "
    "can read."
)
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class CredentialsFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The content of the file: keys by provider, and whose keys are in the keyring."""

    keys: dict[str, str] = {}
    keyring: tuple[str, ...] = ()

    def place(self, provider: str) -> KeyPlace | None:
        """Returns where a provider's key is; None if none is stored."""
        if provider in self.keyring:
            return "keyring"
        return "file" if provider in self.keys else None

    def without(self, provider: str) -> "CredentialsFile":
        """Returns the content without a provider."""
        keys = {name: key for name, key in self.keys.items() if name != provider}
        return CredentialsFile(keys, tuple(name for name in self.keyring if name != provider))


_decode = json_decoder(CredentialsFile).decode


class CredentialStore:
    """Reads and writes the stored keys of one user; refuses files that others can read."""

    def __init__(self, path: Path, locks: Path) -> None:
        self.path = path
        self._locks = FileLocks(locks)

    def read(self) -> CredentialsFile:
        """Returns what is stored; raises StoreError if others could have read or written it."""
        path, quoted = str(self.path), shlex.quote(str(self.path))
        refuse_shared("The folder", str(self.path.parent))
        try:
            with _opened(path) as file:
                _refuse_exposed(path, os.fstat(file))
                text = os.read(file, MAX_FILE_BYTES + 1)
        except FileNotFoundError:
            return CredentialsFile()
        try:
            if len(text) > MAX_FILE_BYTES:
                raise StoreError(f"it is longer than {MAX_FILE_BYTES} bytes")
            return _decode(text) if text else CredentialsFile()
        except (msgspec.DecodeError, UnicodeDecodeError, StoreError):
            raise StoreError(
                f"{path} is damaged. {UNSAFE} Remove it and log in again.", f"rm {quoted}"
            ) from None

    def key(self, provider: str) -> tuple[str, KeyPlace] | None:
        """Returns a provider's key and where it is; raises AssentError if it cannot be read."""
        stored = self.read()
        match stored.place(provider):
            case "keyring":
                return self._from_keyring(provider), "keyring"
            case "file":
                return stored.keys[provider], "file"
            case None:
                return None

    def save(self, provider: str, key: str, *, keyring: bool) -> None:
        """Stores a key, replacing an earlier one wherever that is."""
        checked_key(key)
        with self._locks.hold("credentials", "assent login"):
            before = self.read()
            rest = before.without(provider)
            if keyring:
                _keyring_call(
                    "store the key", lambda ring: ring.set_password(SERVICE, provider, key)
                )
                now = CredentialsFile(rest.keys, (*rest.keyring, provider))
            else:
                if before.place(provider) == "keyring":
                    self._forget(provider)
                now = CredentialsFile({**rest.keys, provider: key}, rest.keyring)
            self._write(now)

    def remove(self, provider: str) -> KeyPlace | None:
        """Removes a key and returns where it was; None if none was stored."""
        with self._locks.hold("credentials", "assent logout"):
            before = self.read()
            place = before.place(provider)
            if place == "keyring":
                self._forget(provider)
            if place is not None:
                self._write(before.without(provider))
            return place

    def _write(self, content: CredentialsFile) -> None:
        if content == CredentialsFile():
            with store_errors("remove", str(self.path)):
                self.path.unlink(missing_ok=True)
            return
        text = msgspec.json.format(msgspec.json.encode(content), indent=2) + b"\n"
        write_atomically(str(self.path), text)

    def _from_keyring(self, provider: str) -> str:
        found = _keyring_call("read the key", lambda ring: ring.get_password(SERVICE, provider))
        if not isinstance(found, str) or not found:
            raise StoreError(
                f"The system keyring no longer has a key for {provider}.",
                f"assent login {provider}",
            )
        return checked_key(found)

    @staticmethod
    def _forget(provider: str) -> None:
        def forget(ring: Any) -> None:
            if ring.get_password(SERVICE, provider) is not None:
                ring.delete_password(SERVICE, provider)

        _keyring_call("remove the key", forget)


def checked_key(key: str) -> str:
    """Returns a key that an HTTP header can carry; raises UsageError otherwise."""
    why = ""
    if not key:
        why = "it is empty"
    elif len(key) > MAX_KEY_CHARS:
        why = f"it is longer than {MAX_KEY_CHARS} characters"
    elif not key.isascii() or not key.isprintable() or " " in key:
        why = "it contains spaces or characters that HTTP headers cannot contain"
    if why:
        raise UsageError(f"This is not an API key: {why}. Nothing was stored.", "assent login")
    return key


def keyring_problem() -> str:
    """Returns why the system keyring cannot be used here; empty if it can."""
    try:
        import keyring
    except ImportError:
        return "the package `keyring` is not installed (pip install 'assent[keyring]')"
    try:
        ring = keyring.get_keyring()
        usable = ring.priority > 0
    except Exception as error:  # a backend may raise anything
        return f"it failed with {type(error).__name__}"
    return "" if usable else "no keyring service is running"


def _keyring_call(doing: str, call: Callable[[Any], object]) -> object:
    """Asks the keyring; whatever a backend raises becomes one error that names no key."""
    if why := keyring_problem():
        raise StoreError(f"Could not {doing}: {why}.", "assent login --list")
    import keyring

    try:
        return call(keyring.get_keyring())
    except AssentError:
        raise
    except Exception as error:  # a backend may raise anything, the key in its text
        raise StoreError(
            f"Could not {doing}: the system keyring failed with {type(error).__name__}.",
            "assent login --list",
        ) from None


@contextmanager
def _opened(path: str) -> Iterator[int]:
    quoted = shlex.quote(path)
    try:
        file = os.open(path, _OPEN)
    except FileNotFoundError:
        raise
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise StoreError(f"{path} is a symlink. {UNSAFE}", f"rm {quoted}") from None
        raise StoreError(
            f"{path} cannot be read: {error.strerror}. {UNSAFE}", f"ls -ld {quoted}"
        ) from None
    try:
        yield file
    finally:
        os.close(file)


def _refuse_exposed(path: str, found: os.stat_result) -> None:
    """Refuses a file of keys that anyone but its user could read or change."""
    quoted = shlex.quote(path)
    if not stat.S_ISREG(found.st_mode):
        raise StoreError(f"{path} is not a regular file. {UNSAFE}", f"ls -ld {quoted}")
    if found.st_uid != os.geteuid():
        raise StoreError(
            f"{path} belongs to another user (uid {found.st_uid}). {UNSAFE}", f"ls -ld {quoted}"
        )
    if found.st_mode & OTHERS:
        raise StoreError(
            f"Other users can read {path}. {UNSAFE} If they may have, replace the keys in it.",
            f"chmod 600 {quoted}",
        )
    if found.st_nlink > 1:
        raise StoreError(
            f"{path} has another name (a hard link), under which it could be read. {UNSAFE}",
            f"find / -xdev -samefile {quoted}",
        )
