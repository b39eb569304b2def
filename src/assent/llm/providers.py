"""Which providers can be used here, and why, by environment and configuration."""

from collections.abc import Iterable, Mapping
from typing import Literal, TypeAlias

import msgspec

from assent.core.errors import UsageError
from assent.core.llm import PROVIDERS, Provider, ProviderSettings, WireName
from assent.llm.http.url import HttpUrl, parse_url

AccountBasis: TypeAlias = Literal["key", "base_url", "configured", "local", ""]


class ProviderAccount(msgspec.Struct, frozen=True):
    """A provider as configured here; without a basis it cannot be used."""

    name: str
    base: HttpUrl
    wire: WireName
    default: str = ""
    headers: dict[str, str] = {}
    options: dict[str, object] = {}
    key_env: str = ""
    key: str = ""
    basis: AccountBasis = ""
    local: bool = False

    @property
    def has_custom_url(self) -> bool:
        """Whether its URL is not the well-known one, so that its models are unknown."""
        return self.basis in ("base_url", "configured")

    @property
    def bearer(self) -> bool:
        return not self.key_env.endswith("_API_KEY") or self.wire != "anthropic"


def provider_accounts(
    environment: Mapping[str, str], settings: Mapping[str, ProviderSettings]
) -> dict[str, ProviderAccount]:
    """Returns every provider by name, configured ones first."""
    for name in settings:
        _check_name(name)
    known = {provider.name: provider for provider in PROVIDERS}
    own = [known.get(name, Provider(name, "")) for name in settings]
    rest = [provider for provider in PROVIDERS if provider.name not in settings]
    nothing = ProviderSettings()
    return {
        provider.name: _account(provider, settings.get(provider.name, nothing), environment)
        for provider in (*own, *rest)
    }


def _account(
    provider: Provider, settings: ProviderSettings, environment: Mapping[str, str]
) -> ProviderAccount:
    from_env = _url(provider, environment)
    url = settings.base_url or from_env or provider.url
    if not url:
        told = f"[providers.{provider.name}] has no base_url."
        raise UsageError(told, "add base_url to it in your user config")
    setting = f"providers.{provider.name}.base_url"
    base = parse_url(url, setting if settings.base_url else provider.url_env)
    names = (settings.key_env,) if settings.key_env else provider.keys
    key_env = next((name for name in names if environment.get(name)), "".join(names[:1]))
    key = environment.get(key_env, "").strip()
    moved = bool(settings.base_url or from_env)
    return ProviderAccount(
        name=provider.name,
        base=base,
        wire=settings.wire or ("chat" if moved and provider.wire == "responses" else provider.wire),
        default=provider.default,
        headers=_checked(provider.name, settings.headers),
        options=settings.options,
        key_env=key_env,
        key=_plain(key, key_env),
        basis=_basis(provider, settings, from_env, key),
        local=provider.local,
    )


def _basis(provider: Provider, settings: ProviderSettings, from_env: str, key: str) -> AccountBasis:
    """Returns what makes an account usable."""
    if settings.base_url:
        return "configured" if key or not settings.key_env else ""
    if provider.local:
        return "local"
    if from_env:
        return "base_url"
    return "key" if key else ""


def _url(provider: Provider, environment: Mapping[str, str]) -> str:
    """Returns the base URL from the environment, as each program spells it."""
    host = environment.get("OLLAMA_HOST", "").strip() if provider.name == "ollama" else ""
    if host:
        host = host if "://" in host else f"http://{host}"
        has_port = host.rpartition(":")[2].rstrip("/").isdecimal()
        usual = host.replace("//0.0.0.0", "//127.0.0.1")
        return f"{usual.rstrip('/')}{'' if has_port else ':11434'}/v1"
    return environment.get(provider.url_env, "").strip()


def _check_name(name: str) -> None:
    if not name or "/" in name or ":" in name or name != name.strip():
        told = f"{name!r} is not a valid provider name."
        raise UsageError(told, "rename [providers.NAME] in your user config")


def _checked(provider: str, headers: Mapping[str, str]) -> dict[str, str]:
    """Refuses headers that would inject other headers."""
    for name, value in headers.items():
        _plain(f"{name}{value}", f"A header of [providers.{provider}]")
    return dict(headers)


def _plain(value: str, whose: str) -> str:
    if not value.isascii() or not value.isprintable():
        raise UsageError(f"{whose} contains characters that HTTP headers cannot contain.")
    return value


def usable_accounts(found: Iterable[ProviderAccount]) -> list[ProviderAccount]:
    """Returns the accounts that can be used without searching for a server."""
    return [account for account in found if account.basis not in ("", "local")]
