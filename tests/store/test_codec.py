"""Every event survives the way into the log and back."""

from enum import Enum
from functools import cache
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assent.core.errors import StoreError
from assent.core.event import Event, RunHalted, StoredEvent, event_tag
from assent.store.hash_chain import KINDS, decode_event, encode_event

EVENTS = get_args(Event)
PLAIN = st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.text(max_size=20)
JSON = st.recursive(
    PLAIN,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3)
    ),
    max_leaves=5,
)
LEAVES: dict[object, st.SearchStrategy[Any]] = {
    Any: JSON,
    float: st.floats(allow_nan=False, allow_infinity=False),
    str: st.text(max_size=20),
    bytes: st.binary(max_size=20),
    int: st.integers(-(2**63), 2**64 - 1),
    bool: st.booleans(),
    type(None): st.none(),
}


@cache  # hypothesis prepares a strategy when it first draws from it
def values(wanted: Any) -> st.SearchStrategy[Any]:
    """Values of any type that an event is made of."""
    if wanted in LEAVES:
        return LEAVES[wanted]
    parts = get_args(wanted)
    match get_origin(wanted):
        case None:
            return _made(wanted)
        case origin if origin is Literal:
            return st.sampled_from(parts)
        case origin if origin in (Union, UnionType):
            present = [part for part in parts if part is not msgspec.UnsetType]
            return st.one_of([values(part) for part in present])
        case origin if origin is dict:
            return st.dictionaries(values(parts[0]), values(parts[1]), max_size=3)
        case _:
            return _tuples(parts)


def _made(cls: type[Any]) -> st.SearchStrategy[Any]:
    if issubclass(cls, Enum):
        return st.sampled_from(cls)
    fields = msgspec.structs.fields(cls)
    return st.builds(cls, **{field.name: values(field.type) for field in fields})


def _tuples(parts: tuple[Any, ...]) -> st.SearchStrategy[Any]:
    if parts[1:] == (...,):
        return st.lists(values(parts[0]), max_size=3).map(tuple)
    return st.tuples(*[values(part) for part in parts])


@pytest.mark.parametrize("cls", EVENTS, ids=lambda cls: cls.__name__)
@settings(max_examples=60, deadline=None)
@given(choice=st.data())
def test_event_round_trips(cls: type[Event], choice: st.DataObject) -> None:
    event = choice.draw(values(cls))
    word, body = encode_event(event)
    assert word == event_tag(event)
    found = decode_event((7, "plan/a", 3, "now", word, body))
    assert found == StoredEvent(7, "plan/a", 3, "now", event)
    assert type(found.event) is cls


def test_every_kind_has_its_own_word() -> None:
    assert len(KINDS) == len(EVENTS)


def test_newer_kind_is_named_as_such() -> None:
    with pytest.raises(StoreError) as caught:
        decode_event((7, "plan/a", 3, "now", "plan_sung", '{"type":"plan_sung"}'))
    assert caught.value.message == (
        "Event 3 of plan/a (number 7 in the log) has the kind 'plan_sung', which this version of "
        "Assent does not know; a newer version wrote it. Nothing was changed."
    )
    assert caught.value.next == "pip install --upgrade assent"


@pytest.mark.parametrize("body", ["", "{", '{"type":"run_halted"}', '{"type":"plan_sung"}', "[]"])
def test_damaged_body_is_an_error(body: str) -> None:
    with pytest.raises(StoreError, match=r"Event 3 of plan/a .* cannot be read") as caught:
        decode_event((7, "plan/a", 3, "now", event_tag(RunHalted("r")), body))
    assert caught.value.next == "assent log --verify"
