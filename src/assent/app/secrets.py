"""Finds secret values to mask: API keys, and variables whose names say they are secret."""

import re
from collections.abc import Iterable, Iterator, Mapping

from assent.core.llm import ProviderSettings
from assent.core.text.secrets import looks_like_secret
from assent.llm.providers import PROVIDERS

_NAMED = re.compile(r"(?i)(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)$")
_PROVING = re.compile(r"(?i)authorization|cookie|key|token|secret|password|credential")


def known_secrets(
    environment: Mapping[str, str],
    providers: Mapping[str, ProviderSettings],
    servers: Iterable[Mapping[str, str]] = (),
) -> list[str]:
    """Returns every secret value that settings and environment hold, for a Masker.

    `servers` are the variables that are set for servers of tools. Keys of all providers count,
    used or not, and headers that are named like a proof. Of others, and of variables that only
    have a secret's name, those count that look like one: without a word such as `development`
    much could not be read any more.
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
    """Yields what proves who asks in a header; of `Bearer abc` the second word alone, too."""
    if _PROVING.search(name):
        yield value
        yield from value.split(" ")[1:]
    elif looks_like_secret(value):
        yield value
