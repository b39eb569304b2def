"""Reads JSON, MessagePack and plain values into types, and tells what is nested too deeply.

msgspec looks at a type when it is first used. A second thread that uses it meanwhile finds it half
done, and the whole process ends by a segmentation fault (decision 0094). So one thread looks at a
time, and nothing else makes a decoder.
"""

from threading import RLock
from typing import Any, Final, TypeVar, overload

import msgspec

T = TypeVar("T")
MAX_DEPTH: Final = 100  # lists and tables in each other
TOO_DEEP: Final = f"it is nested more than {MAX_DEPTH} levels deep"
_LOOKING: Final = RLock()
_decoders: Final = dict[Any, msgspec.json.Decoder[Any]]()  # of what is read with no decoder at hand
_converted: Final = set[Any]()  # types that were looked at


@overload
def json_decoder(kind: type[T]) -> msgspec.json.Decoder[T]: ...
@overload
def json_decoder(kind: Any) -> msgspec.json.Decoder[Any]: ...
def json_decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    """Returns a decoder of JSON."""
    with _LOOKING:
        return msgspec.json.Decoder(kind)


@overload
def msgpack_decoder(kind: type[T]) -> msgspec.msgpack.Decoder[T]: ...
@overload
def msgpack_decoder(kind: Any) -> msgspec.msgpack.Decoder[Any]: ...
def msgpack_decoder(kind: Any) -> msgspec.msgpack.Decoder[Any]:
    """Returns a decoder of MessagePack."""
    with _LOOKING:
        return msgspec.msgpack.Decoder(kind)


def decode_json(content: bytes | str, kind: type[T]) -> T:
    """Reads JSON into a type; raises msgspec.DecodeError."""
    decoder = _decoders.get(kind)
    if decoder is None:
        decoder = _decoders[kind] = json_decoder(kind)
    found: T = decoder.decode(content)
    return found


def convert(found: object, kind: type[T], *, strict: bool = True) -> T:
    """Makes plain values a type; raises msgspec.ValidationError."""
    if kind in _converted:
        return msgspec.convert(found, kind, strict=strict)
    with _LOOKING:
        try:
            return msgspec.convert(found, kind, strict=strict)
        finally:
            _converted.add(kind)


def is_too_deep(value: object, most: int = MAX_DEPTH) -> bool:
    """Tells whether lists and tables are nested too deeply, without recursing."""
    level: list[object] = [value]
    for _ in range(most):
        level = [each for one in level for each in _inside(one)]
        if not level:
            return False
    return True


def _inside(value: object) -> "list[object]":
    if isinstance(value, dict):
        return [each for each in value.values() if isinstance(each, dict | list)]
    if isinstance(value, list):
        return [each for each in value if isinstance(each, dict | list)]
    return []
