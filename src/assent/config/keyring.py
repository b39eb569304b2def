"""Reads the keyring from files that only the user or the system can write."""

import os
from collections.abc import Mapping
from pathlib import Path
from stat import S_IWGRP, S_IWOTH
from typing import TypeVar

import msgspec

from assent.config.config_file import (
    OTHERS_CAN_WRITE,
    ConfigFile,
    Opener,
    config_error,
    ownership_problem,
    path_text,
    read_config,
    setting_error,
)
from assent.config.paths import AppPaths
from assent.core.decoding import convert
from assent.core.errors import UsageError
from assent.core.plan.keyring import Keyring, TrustedKey, listed_keys
from assent.core.plan.keyring import KeySource as Origin

ROOT = 0
NOTHING = "No key in it is trusted; keys it revokes stay revoked."
ONLY_INDEPENDENCE_APPLIES = (
    "No key in it is trusted; approve.independent still applies, because it only restricts."
)
T = TypeVar("T")


class KeyFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`keys.toml`, which `assent keys` maintains."""

    keys: dict[str, str] = {}
    revoked: tuple[str, ...] = ()


class SystemApprove(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[approve]` of the system's file."""

    independent: bool | tuple[str, ...] = False


class SystemFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The system's file: what applies to everyone on this machine."""

    keys: dict[str, str] = {}
    approve: SystemApprove = SystemApprove()


class KeyringReader:
    """Reads the keyring of a user in a workspace; the workspace's own files never count."""

    def __init__(self, here: AppPaths, root: bytes, opener: Opener, owner: int = ROOT) -> None:
        self._here = here
        self._root = root
        self._opener = opener
        self._owner = owner  # of a file that speaks for the system
        self.warnings: list[str] = []

    def keyring(self, of_user: Mapping[str, str]) -> Keyring:
        """Returns every listed key; `of_user` is the table in the user's settings."""
        own, system = self.user_keys(), self.system()
        return Keyring(
            (
                *_listed(self._here.keys, own.keys, "keys"),
                *_listed(self._here.file, of_user, "user"),
                *_listed(self._here.system, system.keys, "system"),
            ),
            own.revoked,
        )

    def user_keys(self) -> KeyFile:
        """Returns what `assent keys` wrote; a file that others could have written only revokes."""
        source = read_config(self._here.keys, self._opener, follow=False)
        found = _converted(source, KeyFile)
        if source.table and (why := ownership_problem(source, self._root)):
            self._warn(source, f"{why}. {NOTHING}")
            return KeyFile(revoked=found.revoked)
        return found

    def system(self) -> SystemFile:
        """Returns the system's file; if others could write it, only its restrictions."""
        source = read_config(self._here.system, self._opener, follow=False)
        why = ""
        if source.table and source.owner != self._owner:
            why = "it is not owned by root"
        elif source.mode & (S_IWGRP | S_IWOTH):
            why = OTHERS_CAN_WRITE
        found = _converted(source, SystemFile)
        if why:
            self._warn(source, f"{why}. {ONLY_INDEPENDENCE_APPLIES}")
            return SystemFile(approve=found.approve)
        return found

    def _warn(self, source: ConfigFile, why: str) -> None:
        self.warnings.append(f"{path_text(source.path)} cannot be trusted: {why}")


def key_file_problem(here: AppPaths, root: bytes) -> str:
    """Returns why a key in keys.toml would not count here; mostly nothing."""
    return ownership_problem(ConfigFile(here.keys, {}, os.geteuid(), 0o600), root)


def _listed(path: Path, table: Mapping[str, str], source: Origin) -> tuple[TrustedKey, ...]:
    try:
        return listed_keys(table.items(), source)
    except UsageError as error:
        raise config_error(path, error.message.removesuffix(".")) from None


def _converted(source: ConfigFile, kind: type[T]) -> T:
    try:
        return convert(source.table, kind)
    except msgspec.ValidationError as error:
        raise setting_error(source, kind, error) from None
