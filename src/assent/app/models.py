"""Opens models: chooses wire, client and retries for a name or for the default."""

import os
from collections.abc import Mapping
from contextlib import closing
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from assent.app.settings import (
    load_settings,
    locate_workspace,
    stored_credentials,
    user_paths,
)
from assent.config.settings import Settings
from assent.core.errors import AssentError, ModelError, UsageError
from assent.core.text.secrets import remember_read_key
from assent.llm.catalog import (
    ModelCatalog,
    ModelInfo,
    ModelSelector,
    ProviderAccount,
    StoredKey,
    provider_accounts,
    usable_accounts,
)
from assent.llm.errors import ErrorContext, RetryingModel
from assent.llm.http_client import HttpClient, wrap_tls
from assent.llm.http_model import HttpModel, ProviderEndpoint
from assent.llm.wires.wire import WireProtocol, WireTarget
from assent.ports import OpenedModel

if TYPE_CHECKING:
    from assent.store.credentials import CredentialStore

SCRIPTED = "scripted:"
KEY_PLACES = {"keyring": "system keyring", "file": "credentials file"}
PROBE_S, LIST_S = 0.5, 10.0


class AvailableModel(msgspec.Struct, frozen=True):
    """A model that can be used here, and why."""

    model: str
    provider: str
    why: str
    context: int = 0
    output: int = 0
    default: bool = False
    images: bool | None = None  # whether it can see images, where that is known


class StoredKeys:
    """The keys that `assent login` stored, each read when its provider is looked at."""

    def __init__(self, store: "CredentialStore | None") -> None:
        self._store = store
        self.problem: AssentError | None = None  # with the one that could not be read

    def find(self, provider: str) -> StoredKey | None:
        """Returns a stored key, which is masked everywhere from now on."""
        try:
            found = self._store.key(provider) if self._store else None
        except AssentError as error:
            self.problem = error
            return None
        if found is not None:
            remember_read_key(found[0])
        return found


class ModelRegistry:
    """Every model that can be used here; one client keeps the connections of all of them."""

    def __init__(
        self,
        settings: Settings,
        environment: Mapping[str, str],
        folder: bytes,
        stored: StoredKeys | None = None,
        accounts: Mapping[str, ProviderAccount] | None = None,
        client: HttpClient | None = None,
    ) -> None:
        """`accounts` are those of these settings, if they are known; a `client` stays open."""
        self._settings = settings
        self._folder = Path(os.fsdecode(folder))
        self._stored = stored or StoredKeys(None)
        self._accounts = accounts or provider_accounts(
            environment, settings.providers, self._stored.find
        )
        self._shared = client
        self._catalog = ModelCatalog(settings.models)
        self._environment = environment
        self._names: dict[str, list[str]] = {}
        self._chooser = ModelSelector(self._accounts, self._catalog, self._names_at)

    def open(self, name: str = "") -> OpenedModel:
        """Opens the model of that name, else the one in the settings, else the default."""
        name = name or self._settings.model
        if name.startswith(SCRIPTED):
            return self._scripted(name)
        account, known = self._choose(name)
        model = self._asked(account, known)
        retrying = RetryingModel(model, self._settings.retry, random=_chance)
        return OpenedModel(
            retrying, known.full, known.context, known.output, known.prices, model.connect_early,
            known.images is not False,
        )  # fmt: skip

    def _choose(self, name: str) -> tuple[ProviderAccount, ModelInfo]:
        """Chooses; where a stored key could not be read, its absence is not the user's error."""
        try:
            return self._chooser.choose(name)
        except UsageError:
            if self._stored.problem:
                raise self._stored.problem from None
            raise

    def found(self) -> tuple[list[AvailableModel], list[str]]:
        """Lists the models that can be used now, and what did not answer."""
        rows: list[AvailableModel] = []
        troubles: list[str] = []
        for account in self._accounts.values():
            try:
                rows += [self._row(account, known) for known in self._offered(account)]
            except ModelError as error:
                troubles += [] if account.basis == "local" else [error.message]
        default = self.default()
        marked = [msgspec.structs.replace(row, default=row.model == default) for row in rows]
        if self._stored.problem:
            troubles.append(self._stored.problem.message)
        return marked, troubles

    def default(self) -> str:
        """Returns the name of the default model; empty if there is none."""
        if self._settings.model.startswith(SCRIPTED):
            return self._settings.model
        try:
            return self._chooser.choose(self._settings.model)[1].full
        except (ModelError, UsageError):
            return ""

    def critic_problem(self) -> str:
        """Returns why the model of `plan.critic` cannot be used; empty if nothing is wrong."""
        name = self._settings.plan.critic
        try:
            if name:
                self.open(name)
        except (ModelError, UsageError) as error:
            return f"plan.critic is {name}, but no plan will be commented on: {error.message}"
        return ""

    def close(self) -> None:
        if "_client" in self.__dict__:
            self._client.close()

    def _asked(self, account: ProviderAccount, known: ModelInfo) -> HttpModel:
        asked = WireTarget(account.name, known.name, known.output, known.reasons, account.options)
        asked = msgspec.structs.replace(asked, answer_limits=self._settings.answer)
        where = account.base.origin + account.base.path
        who = ErrorContext(
            account.name, known.name, where, account.key_env, account.key,
            account.is_stored,
        )  # fmt: skip
        door = ProviderEndpoint(who, account.base, account.headers, account.bearer)
        return HttpModel(_wire(account, asked), door, self._shared or self._client)

    def _scripted(self, name: str) -> OpenedModel:
        from assent.llm.scripted import ScriptedModel, read_script

        script = read_script(self._folder / name.removeprefix(SCRIPTED), name)
        return OpenedModel(RetryingModel(ScriptedModel(script, name), self._settings.retry), name)

    def _offered(self, account: ProviderAccount) -> list[ModelInfo]:
        if account not in usable_accounts([account]) and account.basis != "local":
            return []
        if not account.has_custom_url and not account.local:
            return self._catalog.of(account.name)
        return [self._catalog.find(account.name, name) for name in self._names_at(account)]

    def _row(self, account: ProviderAccount, known: ModelInfo) -> AvailableModel:
        return AvailableModel(
            known.full, account.name, _why(account), known.context, known.output,
            images=known.images,
        )  # fmt: skip

    def _names_at(self, account: ProviderAccount) -> list[str]:
        """Asks a server once; one that is only guessed gets a short timeout."""
        from assent.llm.model_list import list_model_names

        if account.name not in self._names:
            seconds = PROBE_S if account.basis == "local" else LIST_S
            with closing(HttpClient(wrap_tls, self._environment, seconds, seconds)) as client:
                self._names[account.name] = list_model_names(account, client)
        return self._names[account.name]

    @cached_property
    def _client(self) -> HttpClient:
        return HttpClient(wrap_tls, self._environment, self._settings.http.idle_s)


def open_models(folder: str) -> tuple[ModelRegistry, tuple[str, ...]]:
    """Opens the models for the workspace around a folder, with warnings for the user."""
    cwd, root = locate_workspace(folder)
    loaded = load_settings(root, user_paths(), lenient=False)
    stored = StoredKeys(stored_credentials(user_paths(), root))
    return ModelRegistry(loaded.settings, dict(os.environ), cwd, stored), loaded.warnings


def default_model(folder: str) -> str:
    """Returns the default model of a folder; empty if there is none."""
    opened, _ = open_models(folder)
    try:
        return opened.default()
    finally:
        opened.close()


def critic_warnings(folder: str) -> list[str]:
    """Warns of a critic that cannot be used, for commands that check what is set up."""
    try:
        opened, _ = open_models(folder)
    except AssentError:  # about the configuration, which others report
        return []
    try:
        return [problem] if (problem := opened.critic_problem()) else []
    finally:
        opened.close()


def _wire(account: ProviderAccount, asked: WireTarget) -> WireProtocol:
    """Loads one of the wires."""
    match account.wire:
        case "anthropic":
            from assent.llm.wires.anthropic import AnthropicWire

            return AnthropicWire(asked)
        case "chat":
            from assent.llm.wires.chat import ChatWire

            return ChatWire(asked)
        case "responses":
            from assent.llm.wires.responses import ResponsesWire

            return ResponsesWire(asked)


def _chance() -> float:
    return int.from_bytes(os.urandom(2), "big") / (1 << 16)


def _why(account: ProviderAccount) -> str:
    where = account.base.origin + account.base.path
    match account.basis:
        case "key" if account.is_stored:
            return f"key stored in the {KEY_PLACES[account.key_source]}"
        case "key":
            return f"{account.key_env} is set"
        case "base_url":
            return f"{account.name.upper()}_BASE_URL is {where}"
        case "configured":
            return f"[providers.{account.name}] is {where}"
        case "local":
            return f"server running at {where}"
        case _:
            return ""
