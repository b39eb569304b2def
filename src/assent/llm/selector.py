"""Selects the model that a name means, or the default where none is named."""

from collections.abc import Callable, Mapping

from assent.core.errors import ModelError, UsageError
from assent.llm.catalog import ModelCatalog, ModelInfo
from assent.llm.providers import ProviderAccount, usable_accounts

NO_MODEL = (
    "No model can be used here: no key is set, no provider is configured, and no local server "
    "(Ollama, LM Studio, llama.cpp) answers."
)
SET_A_KEY = "export ANTHROPIC_API_KEY=... (or OPENAI_API_KEY and others: docs/models.md)"


class ModelSelector:
    """Knows the accounts and the catalogue, and asks a server only where it must."""

    def __init__(
        self,
        accounts: Mapping[str, ProviderAccount],
        catalog: ModelCatalog,
        names_at: Callable[[ProviderAccount], list[str]],
    ) -> None:
        self._accounts = accounts
        self._catalog = catalog
        self._names_at = names_at  # raises ModelError

    def choose(self, name: str = "") -> tuple[ProviderAccount, ModelInfo]:
        """Returns the account and the model for a name; without one, by the rules for that."""
        if not name:
            return self._default()
        provider, slash, model = name.partition("/")
        if slash and provider in self._accounts and model:
            return self._ready(self._accounts[provider], model)
        if not slash and name in self._accounts:
            account = self._accounts[name]
            return self._ready(account, self._first(account))
        return self._by_bare_name(name)

    def _by_bare_name(self, name: str) -> tuple[ProviderAccount, ModelInfo]:
        having = [p for p in self._catalog.providers_of(name) if p in self._accounts]
        if len(having) == 1:
            return self._ready(self._accounts[having[0]], name)
        known = ", ".join(self._accounts)
        raise UsageError(
            f"{name} names no model: write PROVIDER/MODEL, with one of {known}, "
            "or add [providers.NAME] to your configuration.",
            "assent models list",
        )

    def _ready(self, account: ProviderAccount, model: str) -> tuple[ProviderAccount, ModelInfo]:
        """Refuses to ask without a key where one is needed."""
        if not account.basis:
            told = f"{account.name} needs a key, and {account.key_env} is not set."
            raise UsageError(told, f"export {account.key_env}=...")
        return account, self._catalog.find(account.name, model)

    def _default(self) -> tuple[ProviderAccount, ModelInfo]:
        for account in usable_accounts(self._accounts.values()):
            if account.has_custom_url or account.default:
                return self._ready(account, self._first(account))
        for account in self._accounts.values():
            if account.basis == "local" and (names := self._served(account)):
                return self._ready(account, names[0])
        waiting = usable_accounts(self._accounts.values())
        if waiting:
            name = waiting[0].name
            told = f"{waiting[0].key_env} is set, but {name} has no default model: name one."
            raise UsageError(told, f"assent models list {name}")
        raise UsageError(NO_MODEL, SET_A_KEY)

    def _first(self, account: ProviderAccount) -> str:
        """Returns the default of a provider; of a server that is somewhere else, its first."""
        if account.default and not account.has_custom_url:
            return account.default
        names = self._names_at(account)
        if not names:
            told = f"{account.base.origin} lists no models: name one as {account.name}/MODEL."
            raise UsageError(told, f"assent models ask {account.name}/MODEL 'Hello'")
        return names[0]

    def _served(self, account: ProviderAccount) -> list[str]:
        try:
            return self._names_at(account)
        except ModelError:
            return []  # nobody is there
