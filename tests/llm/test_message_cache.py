"""Each message is encoded once, however long the conversation grows."""

from collections.abc import Iterator

import pytest
from tests.llm.http_models import NAMES, wire

from assent.core.llm import ChatMessage, MessagePart, ModelRequest, TextPart, ToolResult
from assent.llm.limits import JOINED_BLOCK_BYTES
from assent.llm.wires.wire import EncodingCache, JoinedItems

STEPS = 50


def test_values_are_made_once() -> None:
    made: list[str] = []

    def make(value: ChatMessage) -> bytes:
        made.append(value.role)
        return b"x"

    once = EncodingCache(make)
    history: tuple[ChatMessage, ...] = ()
    for _ in range(STEPS):
        history = (*history, ChatMessage("user", ()), ChatMessage("assistant", ()))
        assert len(once.all(history)) == len(history)
    assert len(made) == 2 * STEPS


def test_what_left_the_conversation_is_forgotten_but_not_for_a_title() -> None:
    made: list[ChatMessage] = []

    def make(value: ChatMessage) -> bytes:
        made.append(value)
        return b"x"

    first, second = ChatMessage("user", (TextPart("1"),)), ChatMessage("user", (TextPart("2"),))
    once = EncodingCache(make)
    once.all((first, second))
    once.all((first,), forget=False)
    once.all((first, second))
    assert made == [first, second]
    once.all((first,))
    once.all((first, second))
    assert made == [first, second, second]


def test_a_history_that_was_replaced_is_sent_as_it_is_now() -> None:
    made: list[str] = []

    def make(value: ChatMessage) -> bytes:
        made.append(text(value))
        return text(value).encode()

    def text(value: ChatMessage) -> str:
        return "".join(part.text for part in value.parts if isinstance(part, TextPart))

    one, empty, two, new = [ChatMessage("user", (TextPart(word),)) for word in ("1", "", "2", "3")]
    once = EncodingCache(make)
    assert once.all((one, empty, two)) == [b"1", b"2"]
    assert once.all((new, two, one)) == [b"3", b"2", b"1"]
    assert once.all((new, two, one, one)) == [b"3", b"2", b"1", b"1"]
    assert once.all((one, two, new), forget=False) == [b"1", b"2", b"3"]
    once.all((new, two, one, one))[0] = b"changed by the caller"
    assert once.all((new, two, one, one)) == [b"3", b"2", b"1", b"1"]
    assert once.all(()) == []
    assert made == ["1", "", "2", "3", "1"]


class Watched(tuple[MessagePart, ...]):
    """The parts of a message; it knows how often they were looked at."""

    looks = 0

    def __iter__(self) -> Iterator[MessagePart]:
        self.looks += 1
        return super().__iter__()


@pytest.mark.parametrize("name", NAMES)
def test_a_step_looks_only_at_what_is_new(name: str) -> None:
    speaker = wire(name)
    history: tuple[ChatMessage, ...] = ()
    looks: list[int] = []
    for step in range(STEPS):
        history = (*history, ChatMessage("user", Watched([ToolResult(f"c{step}", "found")])))
        body = speaker.body(ModelRequest(("Base.",), history))
        looks.append(sum(message.parts.looks for message in history))  # type: ignore[attr-defined]
    assert looks == [looks[0] * step for step in range(1, STEPS + 1)]
    assert body == wire(name).body(ModelRequest(("Base.",), history))


def test_a_long_conversation_is_joined_once() -> None:
    joined, items = JoinedItems(), list[bytes]()
    large: list[bytes] = []
    joins = 0
    for number in range(200):
        items.append(b"%d" % number + b"x" * (JOINED_BLOCK_BYTES // 20))
        pieces = joined.pieces(list(items))
        assert b"".join(pieces) == b",".join(items)
        *kept, rest = pieces[::2]
        joins += sum(len(piece) for piece in kept if not any(piece is each for each in large))
        assert len(rest) < 2 * JOINED_BLOCK_BYTES
        large = kept
    whole = sum(map(len, items))
    assert whole > 9 * JOINED_BLOCK_BYTES
    assert joins < 5 * whole  # once for each doubling, instead of once for each request
    assert len(large) < 6
    other = [items[0], b"another", *items[2:]]
    assert b"".join(joined.pieces(other, forget=False)) == b",".join(other)
    assert all(old is new for old, new in zip(large, joined.pieces(items)[::2], strict=False))
    assert b"".join(joined.pieces(items[:3])) == b",".join(items[:3])
    assert joined.pieces([]) == []


@pytest.mark.parametrize("name", NAMES)
def test_a_long_conversation_is_sent_as_if_it_was_new(name: str) -> None:
    old, history = wire(name), list[ChatMessage]()
    for number in range(60):
        text = f"{number} " + "word " * (JOINED_BLOCK_BYTES // 50)
        role = "assistant" if number % 2 else "user"
        history.append(ChatMessage(role, (TextPart(text),)))
        prompt = ModelRequest(("Be brief.",), tuple(history))
        body = b"".join(old.body(prompt))
    assert len(body) > 3 * JOINED_BLOCK_BYTES
    assert body == b"".join(wire(name).body(prompt))
