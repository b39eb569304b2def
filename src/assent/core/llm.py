"""What a model is sent and what it answers: messages, requests, streams, provider settings."""

from collections.abc import Iterable
from enum import StrEnum
from typing import Annotated, Any, Literal, TypeAlias

import msgspec

from assent.core.errors import nearest

# Messages: what a person, a model and tools said to each other, made of typed parts.


class TextPart(msgspec.Struct, frozen=True, tag="text"):
    """Text."""

    text: str


class ReasoningPart(msgspec.Struct, frozen=True, tag="reasoning"):
    """What a model reasoned before its answer.

    `extra` belongs to the wire that created it, which needs it back unchanged; no other reads it.
    """

    text: str
    extra: dict[str, Any] = {}


class ImagePart(msgspec.Struct, frozen=True, tag="image"):
    """An image for the model."""

    media_type: str
    content: bytes


MAX_IMAGE_BYTES = 3_750_000  # of one image; what the wires carry grows by a third
MAX_IMAGES_BYTES = 8 << 20  # of all images of one message
_IMAGES = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
}


def image_type(first: bytes) -> str:
    """Returns the media type of an image by its first bytes; empty: no model reads it."""
    if first[:4] == b"RIFF" and first[8:12] == b"WEBP":
        return "image/webp"
    return next((media for mark, media in _IMAGES.items() if first.startswith(mark)), "")


class ToolCall(msgspec.Struct, frozen=True, tag="call"):
    """A model's request to use a tool.

    `args` is None where the arguments could not be read; `raw` has them as they came.
    """

    id: str
    tool: str
    args: dict[str, Any] | None
    raw: str = ""


class ToolResult(msgspec.Struct, frozen=True, tag="result"):
    """The result of a call, as text for the model."""

    call: str
    text: str
    failed: bool = False
    images: tuple[ImagePart, ...] = ()


MessagePart: TypeAlias = TextPart | ReasoningPart | ImagePart | ToolCall | ToolResult


class ChatMessage(msgspec.Struct, frozen=True):
    """A message of one side. Results of calls are in the user's message after the model's."""

    role: Literal["user", "assistant"]
    parts: tuple[MessagePart, ...]
    model: str = ""  # which model said it; its reasoning means nothing to another


# Requests to a model, and the stream of parts that it answers with.


class ToolDefinition(msgspec.Struct, frozen=True):
    """A tool as it is described to a model."""

    name: str
    description: str
    schema: dict[str, Any]


class ModelRequest(msgspec.Struct, frozen=True):
    """Everything that is sent to a model; what changes least comes first, for prompt caching."""

    system: tuple[str, ...]
    messages: tuple[ChatMessage, ...]
    tools: tuple[ToolDefinition, ...] = ()
    output: int = 0  # most tokens of the answer; 0: what the catalogue knows
    kind: str = "main"  # main, title, compact, critic, or a child's kind: what the answer is for
    turn: int = (
        0  # which main request of the session it is; 0: as many answers as it holds, and one
    )
    temperature: float | None = None  # None: what the provider finds best


class StopReason(StrEnum):
    """Why a model stopped."""

    END = "end"
    CALLS = "calls"
    LENGTH = "length"
    REFUSED = "refused"


class TokenUsage(msgspec.Struct, frozen=True):
    """Token counts; `input` includes cached tokens."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    reasoning: int = 0


class StreamDelta(msgspec.Struct, frozen=True):
    """A piece of a part that is arriving: shown, never stored, void after `RequestRetried`."""

    kind: str  # text, reasoning or call
    text: str
    call: str = ""  # the id of the call that it belongs to, if it is known
    tool: str = ""


class PartCompleted(msgspec.Struct, frozen=True):
    """A complete part; also void after `RequestRetried`."""

    part: MessagePart


class StreamPaused(msgspec.Struct, frozen=True):
    """No more data has arrived yet: the moment to store what has."""


class RequestRetried(msgspec.Struct, frozen=True):
    """An attempt failed and another follows; the output of the failed one is discarded."""

    attempt: int
    wait: float
    reason: str


class StreamEnded(msgspec.Struct, frozen=True):
    """The end of an answer."""

    stop: StopReason
    usage: TokenUsage = TokenUsage()
    words: str = ""  # of a refusal, where the provider gives some


StreamEvent: TypeAlias = StreamDelta | PartCompleted | StreamPaused | RequestRetried | StreamEnded


# Settings of model providers: endpoints, retries, HTTP, answer limits, prices and models.


MILLION = 1_000_000

WireName: TypeAlias = Literal["anthropic", "chat", "responses"]


PositiveFloat = Annotated[float, msgspec.Meta(gt=0, le=10**9)]  # so neither inf nor nan


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
    """`[answer]`: limits for one answer of a model; a larger answer ends the turn."""

    text_mb: PositiveFloat = 2.0
    reasoning_mb: PositiveFloat = 4.0
    arguments_mb: PositiveFloat = 8.0  # of all calls together
    calls: Annotated[int, msgspec.Meta(ge=1)] = 500
    events: Annotated[int, msgspec.Meta(ge=1)] = 500_000
    total_mb: PositiveFloat = 256.0  # as it comes over the wire


Price = Annotated[float, msgspec.Meta(ge=0, le=10**9)]


class Prices(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """US dollars for a million tokens."""

    input: Price
    output: Price
    cache_read: Price
    cache_write: Price

    def of(self, usage: TokenUsage) -> float:
        """Returns the cost of tokens; cached tokens are part of the input tokens."""
        fresh = max(0, usage.input - usage.cache_read - usage.cache_write)
        cached = usage.cache_read * self.cache_read + usage.cache_write * self.cache_write
        return (fresh * self.input + cached + usage.output * self.output) / MILLION


class ModelSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[models."PROVIDER/NAME"]`: known properties of a model; 0 or empty means unknown."""

    context: Annotated[int, msgspec.Meta(ge=0)] = 0
    output: Annotated[int, msgspec.Meta(ge=0)] = 0
    prices: Prices | None = None
    images: bool | None = None


def may_choose(own: str, wish: str) -> bool:
    """Tells whether a project may name a model: the provider is the user's choice (law 9).

    `own` is the user's model; a project may choose another one of the same provider. If the user
    named none, it may be any for which they have a key or an address.
    """
    return not own or own.partition("/")[0] == wish.partition("/")[0]


class Provider(msgspec.Struct, frozen=True):
    """A well-known provider."""

    name: str
    url: str
    keys: tuple[str, ...] = ()  # variables, the first that is set counts
    wire: WireName = "chat"
    default: str = ""
    local: bool = False

    @property
    def url_env(self) -> str:
        return f"{self.name.upper()}_BASE_URL"


PROVIDERS = (
    Provider(
        "anthropic",
        "https://api.anthropic.com",
        ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"),
        "anthropic",
        "claude-sonnet-5-5",
    ),
    Provider(
        "openai", "https://api.openai.com/v1", ("OPENAI_API_KEY",), "responses", "gpt-6.1-sol"
    ),
    Provider("openrouter", "https://openrouter.ai/api/v1", ("OPENROUTER_API_KEY",)),
    Provider(
        "gemini",
        "https://generativelanguage.googleapis.com/v1beta/openai",
        ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    ),
    Provider("groq", "https://api.groq.com/openai/v1", ("GROQ_API_KEY",)),
    Provider("mistral", "https://api.mistral.ai/v1", ("MISTRAL_API_KEY",)),
    Provider("deepseek", "https://api.deepseek.com/v1", ("DEEPSEEK_API_KEY",)),
    Provider("xai", "https://api.x.ai/v1", ("XAI_API_KEY",)),
    Provider("together", "https://api.together.xyz/v1", ("TOGETHER_API_KEY",)),
    Provider("fireworks", "https://api.fireworks.ai/inference/v1", ("FIREWORKS_API_KEY",)),
    Provider("cerebras", "https://api.cerebras.ai/v1", ("CEREBRAS_API_KEY",)),
    Provider("ollama", "http://127.0.0.1:11434/v1", ("OLLAMA_API_KEY",), local=True),
    Provider("lmstudio", "http://127.0.0.1:1234/v1", ("LMSTUDIO_API_KEY",), local=True),
    Provider("llamacpp", "http://127.0.0.1:8080/v1", ("LLAMACPP_API_KEY",), local=True),
)


def model_hint(name: str, providers: Iterable[str]) -> str:
    """Returns which PROVIDER/MODEL was probably meant by one with another provider."""
    provider, slash, model = name.partition("/")
    near = nearest(provider, providers) if slash else ""
    return f" Did you mean {near}/{model}?" if near and near != provider else ""


def unknown_provider(name: str, custom: Iterable[str], models: Iterable[str]) -> str:
    """Returns what is wrong with the name of a model, as far as that is known without asking.

    `custom` are the providers and `models` the models, as PROVIDER/MODEL, that settings add.
    """
    provider, slash, _ = name.partition("/")
    known = list(dict.fromkeys([*(each.name for each in PROVIDERS), *custom]))
    named = {model.partition("/")[2] for model in models}
    if not slash or provider.startswith("scripted:") or provider in known or name in named:
        return ""
    hint = model_hint(name, known) or f" Known: {', '.join(known)}."
    return f"there is no provider {provider!a}.{hint}"
