"""Each message is encoded once, however long the conversation grows."""

from collections.abc import Iterator

import pytest
from tests.llm.http_models import NAMES, wire

from assent.core.llm import ChatMessage, MessagePart, ModelRequest, TextPart, ToolResult
from assent.llm.wires.wire import EncodingCache

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
