"""What all wire protocols share: the interface, a cache, limits and argument parsing.

The cache has encoded messages, the limits are those of an answer, and the arguments are those of
tool calls.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from io import StringIO
from operator import is_
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from assent.core.decoding import is_too_deep
from assent.core.llm import (
    AnswerSettings,
    ChatMessage,
    ImagePart,
    ModelRequest,
    StreamEnded,
    StreamEvent,
    ToolCall,
    ToolDefinition,
)
from assent.llm.http_response import SseEvent
from assent.llm.limits import JOINED_BLOCK_BYTES, MAX_ANSWER_PARTS, UNSETTLED_MESSAGES

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
        """The name under which messages record their author."""
        return f"{self.provider}/{self.name}"


class ResponseFailed(Exception):
    """The answer itself reports an error."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class StreamDecoder(Protocol):
    """Decodes one answer."""

    @property
    def done(self) -> bool:
        """Whether nothing relevant can follow."""

    def feed(self, event: SseEvent) -> Iterable[StreamEvent]:
        """Raises ResponseFailed, ResponseLimitExceeded or msgspec.MsgspecError for a bad event."""

    def unfinished_parts(self) -> Iterable[StreamEvent]:
        """Returns the unfinished parts of text and reasoning."""

    def ended(self) -> tuple[Iterable[StreamEvent], StreamEnded] | None:
        """Returns the remaining parts, and the end; None if the answer was cut off."""


class WireProtocol(Protocol):
    """One protocol with one model."""

    path: str

    @property
    def answer_limits(self) -> AnswerSettings:
        """The limits of one answer."""

    def headers(self, key: str, *, bearer: bool) -> dict[str, str]: ...

    def body(self, prompt: ModelRequest) -> list[bytes]:
        """Returns the request in pieces, to avoid copying a long conversation."""

    def decoder(self, serial: str) -> StreamDecoder:
        """Returns a new decoder; `serial` makes ids for calls without one."""


class BaseWire:
    """What the wires share: values are encoded once, and some members are in every request."""

    def __init__(self, asked: WireTarget) -> None:
        self._asked = asked
        self._messages = EncodingCache(self._message)
        self._tools = EncodingCache(self._tool)
        self._joined = JoinedItems()

    @property
    def answer_limits(self) -> AnswerSettings:
        return self._asked.answer_limits

    def headers(self, key: str, *, bearer: bool) -> dict[str, str]:
        """Returns the headers for authentication."""
        return {"authorization": f"Bearer {key}"} if key else {}

    def _joined_messages(self, prompt: ModelRequest, messages: list[bytes]) -> list[bytes]:
        return self._joined.pieces(messages, forget=is_of_conversation(prompt))

    def _members(self, prompt: ModelRequest) -> dict[str, Any]:
        """Returns the simple members; a reasoning model takes no temperature."""
        members = {**self._asked.options, "model": self._asked.name, "stream": True}
        if prompt.temperature is not None and not self._asked.reasons:
            members["temperature"] = prompt.temperature
        return members

    def _message(self, message: ChatMessage) -> bytes:
        raise NotImplementedError

    def _tool(self, offer: ToolDefinition) -> bytes:
        raise NotImplementedError


class EncodingCache(Generic[Made]):
    """Encodes each value only once, however many prompts contain it.

    Values are compared by identity, which costs nothing; those not in the newest prompt of the
    conversation are forgotten.
    """

    def __init__(self, make: Callable[[Made], bytes]) -> None:
        self._make = make
        # The newest prompt: its values, kept alive so that ids are unique, what each became, and
        # what of that is not empty. Replaced as one, because children may ask at the same time.
        self._known: tuple[list[Made], list[bytes], list[bytes]] = [], [], []

    def all(self, values: Sequence[Made], *, forget: bool = True) -> list[bytes]:
        old, made, shown = self._known
        # A prompt is nearly always the one before it with more at its end.
        if len(values) >= len(old) and all(map(is_, old, values)):
            more = [self._make(value) for value in values[len(old) :]]
            made, shown = made + more, shown + [content for content in more if content]
        else:
            known = {id(value): content for value, content in zip(old, made, strict=True)}
            made = [known[id(v)] if id(v) in known else self._make(v) for v in values]
            shown = [content for content in made if content]
        if forget:
            self._known = list(values), made, shown
        return list(shown)


class JoinedItems:
    """Joins encoded items with commas; a conversation that only grows is joined once.

    Comparing costs little, as items that come from an EncodingCache are the same objects.
    """

    def __init__(self) -> None:
        # What was joined, in blocks: the items of each, and their text. Replaced as one, because
        # children may ask at the same time.
        self._blocks: tuple[tuple[list[bytes], bytes], ...] = ()

    def pieces(self, items: list[bytes], *, forget: bool = True) -> list[bytes]:
        """Returns the pieces of the joined text; large ones are never copied again."""
        blocks: list[tuple[list[bytes], bytes]] = []
        at = 0
        for block in self._blocks:
            end = at + len(block[0])
            if block[0] != items[at:end]:
                break
            blocks.append(block)
            at = end
        settled = items[at : max(at, len(items) - UNSETTLED_MESSAGES)]
        if sum(map(len, settled)) >= JOINED_BLOCK_BYTES:
            blocks.append((settled, b",".join(settled)))
            at += len(settled)
            # Fewer and larger pieces are sent faster; each item is joined a few times at most.
            while len(blocks) > 1 and len(blocks[-2][1]) < 2 * len(blocks[-1][1]):
                (items_before, before), (items_after, after) = blocks[-2:]
                blocks[-2:] = [(items_before + items_after, b"%b,%b" % (before, after))]
        if forget:
            self._blocks = tuple(blocks)
        rest = items[at:]
        texts = [text for _, text in blocks] + ([b",".join(rest)] if rest else [])
        return [piece for text in texts for piece in (b",", text)][1:]


def encoded_messages(once: EncodingCache[ChatMessage], prompt: ModelRequest) -> list[bytes]:
    """Returns the encoded messages; a title or summary request keeps the others cached."""
    return once.all(prompt.messages, forget=is_of_conversation(prompt))


def is_of_conversation(prompt: ModelRequest) -> bool:
    """Tells whether a request continues a conversation, instead of being about it."""
    return prompt.kind not in ("title", "compact")


def encode_json(value: object) -> bytes:
    """Encodes a value; lone surrogates, which file names may have, become question marks."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return msgspec.json.encode(_valid(value))


def open_object(members: dict[str, Any]) -> bytes:
    """Encodes an object to which more members will be added."""
    return encode_json(members)[:-1]


def list_member(name: bytes, items: Sequence[bytes]) -> tuple[bytes, bytes, bytes]:
    """Returns a further member of an object: a list of encoded items."""
    return b',"%b":[' % name, b",".join(items), b"]"


def long_list_member(name: bytes, joined: list[bytes], first: bytes = b"") -> list[bytes]:
    """Returns a further member of an object: a list of items that are joined already."""
    between = b"," if first and joined else b""
    return [b',"%b":[%b%b' % (name, first, between), *joined, b"]"]


def data_url(image: ImagePart) -> str:
    """Returns an image as a data URL."""
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


# Measures an answer while it streams, and stops one that exceeds the limits.


MB = 1 << 20


class ResponseLimitExceeded(Exception):
    """An answer is larger than a setting allows."""

    def __init__(self, what: str, setting: str) -> None:
        super().__init__(what)
        self.setting = setting


class ResponseMeter:
    """Counts one answer; raises ResponseLimitExceeded before more than a limit is kept."""

    def __init__(self, most: AnswerSettings | None = None) -> None:
        self._most = most or AnswerSettings()
        self._bytes = {"text": 0, "reasoning": 0, "arguments": 0}
        self._parts = self._calls = 0

    def add(self, kind: str, said: str) -> None:
        """Counts a piece of text, reasoning or arguments."""
        self._bytes[kind] += len(said) if said.isascii() else len(said.encode("utf-8", "replace"))
        mb: float = getattr(self._most, f"{kind}_mb")
        if self._bytes[kind] > mb * MB:
            what = {"arguments": "tool call arguments"}.get(kind, kind)
            raise ResponseLimitExceeded(f"more than {mb:g} MB of {what}", f"answer.{kind}_mb")

    def add_value(self, kind: str, value: object) -> None:
        """Counts a value that is kept unchanged."""
        self.add(kind, msgspec.json.encode(value).decode("ascii", "replace"))

    def part(self) -> None:
        """Counts a part that begins."""
        self._parts += 1
        if self._parts > MAX_ANSWER_PARTS:
            raise ResponseLimitExceeded(f"more than {MAX_ANSWER_PARTS} parts", "")

    def call(self) -> None:
        """Counts a call that begins."""
        self._calls += 1
        if self._calls > self._most.calls:
            raise ResponseLimitExceeded(f"more than {self._most.calls} tool calls", "answer.calls")

    def check_stream(self, events: int, received: int) -> None:
        """Checks what was received so far against the limits."""
        if events > self._most.events:
            raise ResponseLimitExceeded(f"more than {self._most.events} events", "answer.events")
        if received > self._most.total_mb * MB:
            raise ResponseLimitExceeded(
                f"more than {self._most.total_mb:g} MB of data", "answer.total_mb"
            )


class TextBuffer:
    """A text that grows in pieces, using little more memory than its characters."""

    def __init__(self, first: str = "") -> None:
        self._text = StringIO()
        self._text.write(first)

    def __bool__(self) -> bool:
        return self._text.tell() > 0

    def append(self, piece: str) -> None:
        self._text.write(piece)

    def joined(self) -> str:
        return self._text.getvalue()


# Parses the arguments of a tool call, and repairs what is unambiguous.


_FENCE = "```"
# A string that has no end reaches to the end: so no part of it is looked at twice.
_STRING_OR_COMMA = re.compile(r'("(?:[^"\\]|\\.)*(?:"|\\?\Z))|,(?=\s*+[}\]])', re.DOTALL)
_CONTROL = r"[\x00-\x1f]"
_DEPTH = 2  # a string that contains JSON; deeper nesting is not an accident


def tool_call(id: str, tool: str, raw: str) -> ToolCall:
    """Returns a call; arguments that cannot be parsed are None, and kept as raw text."""
    args = parse_arguments(raw)
    return ToolCall(id, tool, args, raw if args is None else "")


def parse_arguments(raw: str) -> dict[str, Any] | None:
    """Returns the arguments, or None if they could only be guessed."""
    for mend in _MENDINGS:
        found = _read(mend(raw), _DEPTH)
        if found is not None:
            return found
    return None


def _read(text: str, depth: int) -> dict[str, Any] | None:
    try:
        value = msgspec.json.decode(text) if text.strip() else {}
    except (msgspec.DecodeError, RecursionError):
        return None
    match value:
        case dict():
            return None if is_too_deep(value) else value
        case None:
            return {}
        case str() if depth:
            return _read(value, depth - 1)
        case _:
            return None


def _as_it_is(raw: str) -> str:
    return raw


def _unfenced(raw: str) -> str:
    text = raw.strip()
    if len(text) < 2 * len(_FENCE) or not (text.startswith(_FENCE) and text.endswith(_FENCE)):
        return raw
    first, line_end, rest = text[len(_FENCE) : -len(_FENCE)].partition("\n")
    return rest if line_end and first.strip() in ("", "json") else raw


def _tidied(raw: str) -> str:
    """Removes commas before a closing bracket, and escapes line endings in strings."""
    return _STRING_OR_COMMA.sub(lambda found: _escaped(found[1] or ""), _unfenced(raw))


def _escaped(string: str) -> str:
    return re.sub(_CONTROL, lambda found: f"\\u{ord(found[0]):04x}", string)


_MENDINGS: tuple[Callable[[str], str], ...] = (_as_it_is, _unfenced, _tidied)
