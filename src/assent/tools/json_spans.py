"""JSON spans: where the values of a JSON text stand, so that only one value's bytes change."""

import re
from collections.abc import Iterator
from functools import cache
from typing import TypeAlias

import msgspec

from assent.core.errors import UsageError

JsonSpan: TypeAlias = tuple[int, int]
_TOKEN = r'\s*([{}\[\],:]|"[^"\\]*(?:\\.[^"\\]*)*"|[^\s{}\[\],:"]+)'
_OPENING, _CLOSING = "{[", "}]"


def members(text: str, start: int) -> dict[str, JsonSpan]:
    """Returns the span of each value of the object that begins at a position."""
    found: dict[str, JsonSpan] = {}
    spans = _values(text, _opened(text, start, "{"))
    for key in spans:
        name = msgspec.json.decode(text[key[0] : key[1]], type=str)
        value = next(spans, None)
        if value is None:
            raise _broken(key[1])
        found[name] = value
    return found


def elements(text: str, start: int) -> list[JsonSpan]:
    """Returns the span of each element of the array that begins at a position."""
    return list(_values(text, _opened(text, start, "[")))


def _opened(text: str, start: int, sign: str) -> int:
    token = _token().match(text, start)
    if token is None or token[1] != sign:
        raise _broken(start)
    return token.end()


def _values(text: str, at: int) -> Iterator[JsonSpan]:
    """Yields the values up to the end of what is open; keys are values, too."""
    depth, begun = 0, 0
    match = _token().match
    while (token := match(text, at)) is not None:
        at, sign = token.end(), token[1]
        if sign in _OPENING:
            begun = token.start(1) if not depth else begun
            depth += 1
        elif sign in _CLOSING:
            if not depth:
                return
            depth -= 1
            if not depth:
                yield (begun, at)
        elif not depth and sign not in ",:":
            yield (token.start(1), at)
    raise _broken(at)


@cache
def _token() -> re.Pattern[str]:
    return re.compile(_TOKEN, re.DOTALL)


def _broken(at: int) -> UsageError:
    return UsageError(f"The file is no JSON as notebooks have it, near character {at}.")
