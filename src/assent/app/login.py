"""Stores and removes the API keys of providers for a user, and tells where each key comes from."""

import os
from collections.abc import Mapping

import msgspec

from assent.app.settings import load_settings, locate_workspace, user_paths
from assent.config.config_file import path_text
from assent.config.paths import leads_within
from assent.core.errors import Refused, UsageError, nearest
from assent.core.llm import PROVIDERS, Provider
from assent.core.text.hidden_chars import visible_line
from assent.store.credentials import CredentialStore, KeyPlace, checked_key, keyring_problem

PLACES = {
    "environment": "environment",
    "keyring": "system keyring",
    "file": "credentials file",
    "": "-",
}


class ProviderKey(msgspec.Struct, frozen=True):
    """A provider, and where its API key is: `environment`, `keyring`, `file`, or empty."""

    provider: str
    source: str
    variable: str
    default: bool = False  # one that works without naming a model


class LoginManager:
    """The keys of a user, as seen from a folder; a file in its workspace does not count."""

    def __init__(self, folder: str, environment: Mapping[str, str]) -> None:
        here = user_paths()
        _, root = locate_workspace(folder)
        self._settings = load_settings(root, here, lenient=True).settings
        self._environment = environment
        self._root = root
        self._store = CredentialStore(here.credentials, here.state / "locks")

    @property
    def path(self) -> str:
        """The file in which keys are stored if there is no keyring."""
        return path_text(self._store.path)

    def providers(self) -> list[ProviderKey]:
        """Lists every provider; those with a key first."""
        stored = self._store.read()
        rows = [self._row(each, stored.place(each.name)) for each in self._known().values()]
        return sorted(rows, key=lambda row: not row.source)

    def checked(self, provider: str) -> str:
        """Returns the name of a provider that is known here; raises UsageError."""
        known = self._known()
        if provider in known:
            return provider
        near = nearest(provider, known)
        hint = f" Did you mean {near}?" if near else f" Known: {', '.join(known)}."
        raise UsageError(
            f"There is no provider {provider!a}.{hint} For another one, add [providers.NAME] with "
            "a base_url to your config first.",
            f"assent login {near}" if near else "assent login --list",
        )

    def check_writable(self) -> None:
        """Refuses to store a key in a project, or where others could read it."""
        if leads_within(self._root, os.fsencode(os.path.abspath(self._store.path))):
            raise Refused(
                f"{self.path} is in this workspace, where plans and agents can write. Keys are "
                "never stored in a project. Nothing was stored.",
                "cd / && assent login",
            )
        self._store.read()

    def login(self, provider: str, key: str, *, file: bool) -> tuple[KeyPlace, str]:
        """Stores a key; returns where, and why not in the keyring."""
        self.check_writable()
        checked_key(key)
        why = "" if file else keyring_problem()
        use_keyring = not file and not why
        self._store.save(provider, key, keyring=use_keyring)
        return ("keyring" if use_keyring else "file"), why

    def logout(self, provider: str) -> KeyPlace | None:
        """Removes a stored key; returns where it was."""
        return self._store.remove(provider)

    def variable(self, provider: str) -> str:
        """Returns the environment variable that has a key for a provider; empty if none has."""
        return next((name for name in self._variables(provider) if self._environment.get(name)), "")

    def _variables(self, provider: str) -> tuple[str, ...]:
        settings = self._settings.providers.get(provider)
        if settings is not None and settings.key_env:
            return (settings.key_env,)
        return next((each.keys for each in PROVIDERS if each.name == provider), ())

    def _known(self) -> dict[str, Provider]:
        own = {name: Provider(name, "") for name in self._settings.providers}
        return own | {each.name: each for each in PROVIDERS}

    def _row(self, provider: Provider, place: KeyPlace | None) -> ProviderKey:
        variable = self.variable(provider.name)
        source = "environment" if variable else place or ""
        names = self._variables(provider.name)
        return ProviderKey(
            provider.name, source, variable or "".join(names[:1]), bool(provider.default)
        )


def stored_text(manager: LoginManager, name: str, place: str) -> str:
    """Says where a key was stored, and which variable is used instead of it, if any."""
    where = f"{PLACES[place]} ({manager.path})" if place == "file" else PLACES[place]
    variable = manager.variable(name)
    instead = f"\n{variable} is set and is used instead; unset it to use this key."
    return f"Key for {visible_line(name)} stored in the {where}.{instead if variable else ''}"
