"""Loads the settings, locates their workspace, and finds the secret values to redact."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from assent.config.loader import LoadedSettings, SettingsLoader
from assent.config.paths import AppPaths, app_paths, leads_within
from assent.config.settings import Settings
from assent.config.trust_list import FILE, WorkspaceTrust
from assent.core.errors import StoreError, UsageError
from assent.core.llm import PROVIDERS, ProviderSettings
from assent.core.text.secrets import looks_like_secret, remember_secrets

if TYPE_CHECKING:
    from assent.store.credentials import CredentialStore


def user_paths() -> AppPaths:
    """Returns the state and configuration folders of the current user."""
    environment = [os.environ.get(name, "") for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME")]
    return _paths(*environment, os.path.expanduser("~"))


@lru_cache(maxsize=8)
def _paths(state: str, config: str, home: str) -> AppPaths:
    return app_paths({"XDG_STATE_HOME": state, "XDG_CONFIG_HOME": config}, Path(home))


def locate_workspace(folder: str) -> tuple[bytes, bytes]:
    """Returns the real folder that a user means, and the root of its workspace."""
    from assent.workspace.root import find_root

    cwd = os.path.realpath(os.fsencode(folder or "."))
    if not os.path.isdir(cwd):
        raise UsageError(f"{folder.rstrip('/') or '/'} is not a folder.", "pwd")
    return cwd, find_root(cwd)


def load_settings(root: bytes, here: AppPaths, *, lenient: bool) -> LoadedSettings:
    """Reads the user's file and the project's, as far as the user trusts the latter.

    With `lenient`, an unusable project configuration is a warning, not an error.
    """
    from assent.executor.disk import Disk

    def check_plan_dir(folder: str) -> object:
        from assent.executor.projection import LocalProjection

        return LocalProjection(root, os.fsencode(folder))

    trusted = open_workspace_trust(root, here)
    loader = SettingsLoader(here.file, root, Disk().open, check_plan_dir, trusted.holds)
    loaded = loader.load(lenient=lenient)
    warnings = (*loaded.warnings, *trusted.warnings)
    _redact_configured_keys(loaded.settings, _stored_keys(here, root))
    return msgspec.structs.replace(loaded, warnings=warnings)


def _redact_configured_keys(settings: Settings, stored: list[str]) -> None:
    """Makes every face mask the configured keys in everything it shows from now on."""
    servers = [server.environment for server in settings.mcp.values()]
    remember_secrets([*stored, *known_secrets(dict(os.environ), settings.providers, servers)])


def stored_credentials(here: AppPaths, root: bytes) -> "CredentialStore | None":
    """Returns the keys that `assent login` stored; None where there are none for this workspace.

    A file in the workspace never counts: plans and agents can write there.
    """
    if not os.path.lexists(here.credentials):
        return None
    if leads_within(root, os.fsencode(os.path.abspath(here.credentials))):
        return None
    from assent.store.credentials import CredentialStore

    return CredentialStore(here.credentials, here.state / "locks")


def _stored_keys(here: AppPaths, root: bytes) -> list[str]:
    """Returns the keys in the credentials file, for redaction; those in a keyring are not asked."""
    store = stored_credentials(here, root)
    if store is None:
        return []
    try:
        return list(store.read().keys.values())
    except StoreError:  # the commands that need a key report it
        return []


def open_workspace_trust(root: bytes, here: AppPaths) -> WorkspaceTrust:
    """Returns the trust list for a workspace's files; it is read on first use."""
    from assent.executor.disk import Disk

    return WorkspaceTrust(here.state / FILE, root, Disk().open)


# Finds secret values to mask: API keys, and variables whose names say they are secret.


_NAMED = re.compile(r"(?i)(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)$")
_PROVING = r"(?i)authorization|cookie|key|token|secret|password|credential"


def known_secrets(
    environment: Mapping[str, str],
    providers: Mapping[str, ProviderSettings],
    servers: Iterable[Mapping[str, str]] = (),
) -> list[str]:
    """Returns every secret value in settings and environment, for redaction.

    `servers` are the variables that are set for MCP servers. Keys of all providers count, used or
    not, and headers that are named like credentials. Other headers, and variables that only have a
    secret's name, count if their value looks like a secret: masking a word such as `development`
    would make much text unreadable.
    """
    names = [name for provider in PROVIDERS for name in provider.keys]
    names += [settings.key_env for settings in providers.values()]
    keys = [environment.get(name, "").strip() for name in names if name]
    headers = [pair for settings in providers.values() for pair in settings.headers.items()]
    variables = [pair for variables in (environment, *servers) for pair in variables.items()]
    named = [value for name, value in variables if _NAMED.search(name)]
    proofs = [proof for name, value in headers for proof in _proofs(name, value)]
    return [*filter(None, keys), *proofs, *filter(looks_like_secret, named)]


def _proofs(name: str, value: str) -> Iterator[str]:
    """Yields the credentials in a header; for `Bearer abc` the second word by itself too."""
    if re.search(_PROVING, name):
        yield value
        yield from value.split(" ")[1:]
    elif looks_like_secret(value):
        yield value
