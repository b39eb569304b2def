"""The keyring: which public keys, in addition to this machine's, may approve plans here."""

import re
from collections.abc import Iterable
from typing import Literal, TypeAlias

import msgspec

from assent.core.errors import UsageError

KeySource: TypeAlias = Literal[
    "keys", "user", "system"
]  # keys.toml, config.toml, the system's file

_KEY = re.compile(r"[0-9a-f]{64}")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9@._+-]{0,79}")
_GROUP = 4


class TrustedKey(msgspec.Struct, frozen=True):
    """A public key, its label, and where it is listed."""

    key: str
    name: str
    source: KeySource


class Keyring(msgspec.Struct, frozen=True):
    """Every listed key; a revoked key does not count, wherever it is listed."""

    listed: tuple[TrustedKey, ...] = ()
    revoked: tuple[str, ...] = ()

    @property
    def trusted(self) -> tuple[TrustedKey, ...]:
        """The keys that count."""
        return tuple(each for each in self.listed if each.key not in self.revoked)

    def counts(self, key: str) -> bool:
        """Tells whether a key counts; keys are compared in full, names never (law 9)."""
        return any(each.key == key for each in self.trusted)

    def name(self, key: str) -> str:
        """Returns a key's label, for people to read; empty if it has none."""
        return next((each.name for each in self.listed if each.key == key), "")


def public_key(text: str) -> str:
    """Returns a valid public key unchanged; raises UsageError for anything else."""
    if not _KEY.fullmatch(text):
        raise UsageError(
            f"A key must be 64 hex digits (0-9, a-f), not {text[:80]!a}.", "assent keys show"
        )
    return text


def key_name(text: str) -> str:
    """Returns a valid label for a key unchanged; raises UsageError for anything else."""
    if not _NAME.fullmatch(text):
        raise UsageError(
            f"A key name may contain only letters, digits and @._+-, not {text[:80]!a}.",
            "assent keys trust KEY --name NAME",
        )
    return text


def grouped_key(key: str) -> str:
    """Returns a key in groups of characters, for two people to compare aloud."""
    return " ".join(key[at : at + _GROUP] for at in range(0, len(key), _GROUP))


def listed_keys(table: Iterable[tuple[str, str]], source: KeySource) -> tuple[TrustedKey, ...]:
    """Returns the keys of one NAME = KEY table; refuses invalid ones."""
    return tuple(TrustedKey(public_key(key), key_name(name), source) for name, key in table)
