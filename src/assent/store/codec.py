"""Encodes events as rows of the log, and decodes them."""

from typing import TypeAlias, get_args

import msgspec

from assent.core.errors import StoreError
from assent.core.event import Event, StoredEvent, event_tag

EventRow: TypeAlias = tuple[int, str, int, str, str, str]

KINDS = frozenset(str(cls.__struct_config__.tag) for cls in get_args(Event))

_encoder = msgspec.json.Encoder()
_decoder: msgspec.json.Decoder[Event] = msgspec.json.Decoder(Event)


def encode_event(event: Event) -> tuple[str, str]:
    """Returns the kind and the body of an event as the log keeps them."""
    return event_tag(event), _encoder.encode(event).decode()


def decode_event(row: EventRow) -> StoredEvent:
    """Returns the event of a row: position, stream, seq, at, kind and body."""
    position, stream, seq, at, word, body = row
    if not type(stream) is type(at) is type(word) is type(body) is str or type(seq) is not int:
        raise _unreadable(row, "its values are of other kinds than were written")
    try:
        return StoredEvent(position, stream, seq, at, _decoder.decode(body))
    except (msgspec.DecodeError, UnicodeError) as error:
        raise _unreadable(row, str(error)) from error


def _unreadable(row: EventRow, details: str) -> StoreError:
    position, stream, seq, _, word, _ = row
    name = f"Event {seq} of {stream} (number {position} of the log)"
    safe = "Nothing was changed."
    if isinstance(word, str) and word not in KINDS:
        return StoreError(
            f"{name} is of the kind {word!a}, which this version of Assent does not know: a newer "
            f"one wrote it. {safe}",
            "pip install --upgrade assent",
        )
    return StoreError(
        f"{name} cannot be read ({details}): it is damaged, or a newer version of Assent wrote it. "
        f"{safe}",
        "assent log --verify",
    )
