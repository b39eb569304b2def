"""The interface of a wire protocol: encodes a request, and decodes the events of its answer."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from assent.core.llm import (
    AnswerSettings,
    ChatMessage,
    ImagePart,
    ModelRequest,
    StreamEnded,
    StreamEvent,
    ToolDefinition,
)
from assent.llm.http.sse import SseEvent

Made = TypeVar("Made")


class WireTarget(msgspec.Struct, frozen=True):
    """The model that is asked, and what is known about it."""

    provider: str
    name: str  # as the provider calls it
    output: int = 0  # most tokens that it says at once; 0: unknown
    reasons: bool = False
    options: dict[str, Any] = {}  # more members of the request, from the user's configuration
    answer_limits: AnswerSettings = AnswerSettings()  # that one answer may hold

    @property
    def full(self) -> str:
        """The name by which messages remember who said them."""
        return f"{self.provider}/{self.name}"


class ResponseFailed(Exception):
    """The answer itself says that something went wrong."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class StreamDecoder(Protocol):
    """Reads one answer."""

    @property
    def done(self) -> bool:
        """Whether nothing of interest can follow."""

    def feed(self, event: SseEvent) -> Iterable[StreamEvent]:
        """Raises Failed, OverLimit, or msgspec.MsgspecError for an event that cannot be read."""

    def unfinished_parts(self) -> Iterable[StreamEvent]:
        """Returns the parts of text and reasoning that were begun and have no end yet."""

    def ended(self) -> tuple[Iterable[StreamEvent], StreamEnded] | None:
        """Returns what is left to say, and the end; None if the answer was cut off."""


class WireProtocol(Protocol):
    """Speaks one protocol with one model."""

    path: str

    @property
    def answer_limits(self) -> AnswerSettings:
        """What one answer may hold."""

    def headers(self, key: str, *, bearer: bool) -> dict[str, str]: ...

    def body(self, prompt: ModelRequest) -> list[bytes]:
        """Returns the request in pieces, because a long conversation is not copied for fun."""

    def decoder(self, serial: str) -> StreamDecoder:
        """Returns a fresh one; `serial` makes ids for calls that come without."""


class BaseWire:
    """What the wires share: values are encoded once, and some members are in every request."""

    def __init__(self, asked: WireTarget) -> None:
        self._asked = asked
        self._messages = EncodingCache(self._message)
        self._tools = EncodingCache(self._tool)

    @property
    def answer_limits(self) -> AnswerSettings:
        return self._asked.answer_limits

    def headers(self, key: str, *, bearer: bool) -> dict[str, str]:
        """Returns what proves who asks."""
        return {"authorization": f"Bearer {key}"} if key else {}

    def _members(self, prompt: ModelRequest) -> dict[str, Any]:
        """Returns the simple members; a model that reasons takes no temperature."""
        members = {**self._asked.options, "model": self._asked.name, "stream": True}
        if prompt.temperature is not None and not self._asked.reasons:
            members["temperature"] = prompt.temperature
        return members

    def _message(self, message: ChatMessage) -> bytes:
        raise NotImplementedError

    def _tool(self, offer: ToolDefinition) -> bytes:
        raise NotImplementedError


class EncodingCache(Generic[Made]):
    """Makes bytes of each value only once, however many prompts it stands in.

    Values are told apart by identity, which costs nothing; those not in the newest prompt of the
    conversation are forgotten.
    """

    def __init__(self, make: Callable[[Made], bytes]) -> None:
        self._make = make
        self._known: dict[int, tuple[Made, bytes]] = {}

    def all(self, values: Sequence[Made], *, forget: bool = True) -> list[bytes]:
        known, make = self._known, self._make
        found = {
            id(value): known.get(id(value)) or (value, make(value))  # kept alive, so ids are unique
            for value in values
        }
        if forget:
            self._known = found
        return [content for value in values if (content := found[id(value)][1])]


def encoded_messages(once: EncodingCache[ChatMessage], prompt: ModelRequest) -> list[bytes]:
    """Returns the encoded messages; a title or summary on the side forgets none of the others."""
    return once.all(prompt.messages, forget=prompt.kind not in ("title", "compact"))


def encode_json(value: object) -> bytes:
    """Encodes; half characters, which file names may have, become question marks."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return msgspec.json.encode(_valid(value))


def open_object(members: dict[str, Any]) -> bytes:
    """Encodes an object that more members will follow in."""
    return encode_json(members)[:-1]


def list_member(name: bytes, items: Sequence[bytes]) -> tuple[bytes, bytes, bytes]:
    """Returns a further member of an object: a list of encoded items."""
    return b',"%b":[' % name, b",".join(items), b"]"


def data_url(image: ImagePart) -> str:
    """Returns an image as an address that contains it."""
    content = msgspec.json.encode(image.content)[1:-1].decode("ascii")
    return f"data:{image.media_type};base64,{content}"


def _valid(value: object) -> object:
    match value:
        case str():
            return value.encode("utf-8", "replace").decode()
        case dict():
            return {_valid(key): _valid(item) for key, item in value.items()}
        case list() | tuple():
            return [_valid(item) for item in value]
        case _:
            return value
