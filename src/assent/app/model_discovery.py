"""Searches for usable models: API keys in the environment, servers on this machine.

Keys are reported by the names of their variables; no value ever leaves this file.
"""

import os
from concurrent.futures import ThreadPoolExecutor

from assent.app.models import PROBE_S, open_models
from assent.app.settings import load_settings, locate_workspace, user_paths
from assent.core.errors import AssentError, ModelError
from assent.core.llm import PROVIDERS
from assent.llm.catalog import ProviderAccount, provider_accounts
from assent.llm.http_client import HttpClient, wrap_tls
from assent.llm.model_list import list_model_names
from assent.render.onboarding import LocalModelServer, SetupFindings


def discover_models(folder: str) -> SetupFindings:
    """Returns what was found; asks the servers of this machine, with a short timeout."""
    variables = [name for each in PROVIDERS if not each.local for name in each.keys]
    keys = tuple(name for name in variables if os.environ.get(name, "").strip())
    try:
        settings = load_settings(locate_workspace(folder)[1], user_paths(), lenient=False).settings
        known = provider_accounts(dict(os.environ), settings.providers)
        local = [account for account in known.values() if account.local]
        with ThreadPoolExecutor(max_workers=max(len(local), 1)) as pool:
            servers = tuple(pool.map(_server, local))
    except AssentError as error:
        return SetupFindings(keys, (), error.message)
    return SetupFindings(keys, servers, _trouble(folder) if keys or settings.model else "")


def _server(account: ProviderAccount) -> LocalModelServer:
    client = HttpClient(wrap_tls, dict(os.environ), PROBE_S, PROBE_S)
    try:
        return LocalModelServer(account.name, len(list_model_names(account, client)))
    except ModelError:
        return LocalModelServer(account.name)
    finally:
        client.close()


def _trouble(folder: str) -> str:
    """Returns why no model is selected, although there seems to be one."""
    models, _ = open_models(folder)
    try:
        models.open()
    except AssentError as error:
        return error.message
    finally:
        models.close()
    return ""
