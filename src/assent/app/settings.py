"""Loads the settings, and locates the workspace that they are for."""

import os
from pathlib import Path

import msgspec

from assent.config.loader import LoadedSettings, SettingsLoader
from assent.config.paths import AppPaths, app_paths
from assent.config.settings import Settings
from assent.config.trust_list import FILE, WorkspaceTrust
from assent.core.errors import UsageError


def user_paths() -> AppPaths:
    """Returns where state and configuration of whoever runs this lie."""
    return app_paths(os.environ, Path.home())


def locate_workspace(folder: str) -> tuple[bytes, bytes]:
    """Returns the real folder that a person means, and the root of its workspace."""
    from assent.workspace.root import find_root

    cwd = os.path.realpath(os.fsencode(folder or "."))
    if not os.path.isdir(cwd):
        raise UsageError(f"{folder} is no folder.")
    return cwd, find_root(cwd)


def load_settings(root: bytes, here: AppPaths, *, lenient: bool) -> LoadedSettings:
    """Reads the user's file and the project's, which has its say as far as the person trusts it.

    Leniently, a project's configuration that cannot be used is a warning and no error.
    """
    from assent.executor.disk import Disk

    def check_plan_dir(folder: str) -> object:
        from assent.executor.projection import LocalProjection

        return LocalProjection(root, os.fsencode(folder))

    trusted = open_workspace_trust(root, here)
    loader = SettingsLoader(here.file, root, Disk().open, check_plan_dir, trusted.holds)
    loaded = loader.load(lenient=lenient)
    warnings = (*loaded.warnings, *trusted.warnings)
    redact_configured_keys(loaded.settings)
    return msgspec.structs.replace(loaded, warnings=warnings)


def redact_configured_keys(settings: Settings) -> None:
    """Has every face mask the keys that are configured, in whatever it shows from now on."""
    from assent.app.secrets import known_secrets
    from assent.core.text.secrets import remember_secrets

    servers = [server.environment for server in settings.mcp.values()]
    remember_secrets(known_secrets(os.environ, settings.providers, servers))


def open_workspace_trust(root: bytes, here: AppPaths) -> WorkspaceTrust:
    """Returns what the person trusts of a workspace's files; nothing is read before it is asked."""
    from assent.executor.disk import Disk

    return WorkspaceTrust(here.state / FILE, root, Disk().open)
