"""Each message is encoded once, however long the conversation grows."""

from collections.abc import Iterator

import pytest
from tests.models.asking import NAMES, wire

from assent.core.message import Message, Part, Result, Text
from assent.core.model import Prompt
from assent.models.wires.wire import Once

STEPS = 50


def test_values_are_made_once() -> None:
    made: list[str] = []

    def make(value: Message) -> bytes:
        made.append(value.role)
        return b"x"

    once = Once(make)
    history: tuple[Message, ...] = ()
    for _ in range(STEPS):
        history = (*history, Message("user", ()), Message("assistant", ()))
        assert len(once.all(history)) == len(history)
    assert len(made) == 2 * STEPS


def test_what_left_the_conversation_is_forgotten_but_not_for_a_title() -> None:
    made: list[Message] = []

    def make(value: Message) -> bytes:
        made.append(value)
        return b"x"

    first, second = Message("user", (Text("1"),)), Message("user", (Text("2"),))
    once = Once(make)
    once.all((first, second))
    once.all((first,), forget=False)
    once.all((first, second))
    assert made == [first, second]
    once.all((first,))
    once.all((first, second))
    assert made == [first, second, second]


class Watched(tuple[Part, ...]):
    """The parts of a message; it knows how often they were looked at."""

    looks = 0

    def __iter__(self) -> Iterator[Part]:
        self.looks += 1
        return super().__iter__()


@pytest.mark.parametrize("name", NAMES)
def test_a_step_looks_only_at_what_is_new(name: str) -> None:
    speaker = wire(name)
    history: tuple[Message, ...] = ()
    looks: list[int] = []
    for step in range(STEPS):
        history = (*history, Message("user", Watched([Result(f"c{step}", "found")])))
        body = speaker.body(Prompt(("Base.",), history))
        looks.append(sum(message.parts.looks for message in history))  # type: ignore[attr-defined]
    assert looks == [looks[0] * step for step in range(1, STEPS + 1)]
    assert body == wire(name).body(Prompt(("Base.",), history))
