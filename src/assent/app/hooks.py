"""Opens the configured hooks, with the person's environment but without API keys."""

import os
from collections.abc import Mapping
from functools import cache, partial

import msgspec

from assent.app.shell import open_process_at
from assent.config.paths import AppPaths
from assent.config.settings import Settings
from assent.core.hook import Hook
from assent.llm.providers import PROVIDERS
from assent.sandbox.hooks import HookEnvironment, LocalHookRunner


def open_hooks(root: bytes, here: AppPaths, settings: Settings, user: str) -> LocalHookRunner:
    """Returns the configured hooks; the sandbox is looked at when the first confined one runs."""
    hooks = [Hook(*msgspec.structs.astuple(each)) for each in settings.hooks]
    site = HookEnvironment(root, user, without_api_keys(os.environ, settings))
    return LocalHookRunner(hooks, site, cache(partial(open_process_at, os.fsdecode(root), here)))


def without_api_keys(environment: Mapping[str, str], settings: Settings) -> dict[str, str]:
    """Returns an environment without the variables that hold keys of providers."""
    keys = {name for provider in PROVIDERS for name in provider.keys}
    keys |= {each.key_env for each in settings.providers.values()}
    return {name: value for name, value in environment.items() if name not in keys}
