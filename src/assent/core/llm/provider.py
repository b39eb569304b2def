"""Settings of model providers: endpoints, retries, HTTP, answer limits, prices and models."""

from typing import Annotated, Any, Literal, TypeAlias

import msgspec

from assent.core.llm.request import TokenUsage

MILLION = 1_000_000

WireName: TypeAlias = Literal["anthropic", "chat", "responses"]


PositiveFloat = Annotated[float, msgspec.Meta(gt=0)]


class ProviderSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[providers.NAME]`: changes a provider that is known, or adds one."""

    base_url: str = ""
    wire: WireName | None = None
    headers: dict[str, str] = {}
    key_env: str = ""
    options: dict[str, Any] = {}  # more members of every request's body


class RetrySettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[retry]`"""

    first_s: PositiveFloat = 2.0
    max_s: PositiveFloat = 30.0
    tries: Annotated[int, msgspec.Meta(ge=1)] = 5


class HttpSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[http]`"""

    idle_s: PositiveFloat = 120.0


class AnswerSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[answer]`: the most that one answer of a model may hold; more ends the turn."""

    text_mb: PositiveFloat = 2.0
    reasoning_mb: PositiveFloat = 4.0
    arguments_mb: PositiveFloat = 8.0  # of all calls together
    calls: Annotated[int, msgspec.Meta(ge=1)] = 500
    events: Annotated[int, msgspec.Meta(ge=1)] = 500_000
    total_mb: PositiveFloat = 256.0  # as it comes over the wire


class Prices(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """US dollars for a million tokens."""

    input: float
    output: float
    cache_read: float
    cache_write: float

    def of(self, usage: TokenUsage) -> float:
        """Returns what tokens cost; those that came from a cache or went there are no others."""
        fresh = max(0, usage.input - usage.cache_read - usage.cache_write)
        cached = usage.cache_read * self.cache_read + usage.cache_write * self.cache_write
        return (fresh * self.input + cached + usage.output * self.output) / MILLION


class ModelSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[models."PROVIDER/NAME"]`: what is known of a model; 0 and nothing: unknown."""

    context: int = 0
    output: int = 0
    prices: Prices | None = None


def may_choose(own: str, wish: str) -> bool:
    """Tells whether a project may name a model: where it is asked is the user's choice (law 9).

    `own` is the user's model; beside it a project may choose another one of the same provider.
    Where the user named none, it may be any for which they have a key or an address.
    """
    return not own or own.partition("/")[0] == wish.partition("/")[0]
