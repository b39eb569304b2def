"""Repeated calls: the same call again without a change is shown once, with a count."""

from collections.abc import Iterable, Iterator
from itertools import groupby

import msgspec

from assent.core.event import StoredEvent
from assent.core.llm import ToolCall
from assent.core.session.event import CallEnded, CallStarted, PartSaid, StepStarted
from assent.render.rows import Row


def times_suffix(count: int) -> str:
    """Returns how often something is there, behind its name; nothing for once."""
    return f" ({count:,} times)" if count > 1 else ""


def count_repeated_rows(rows: Iterable[Row], but: str) -> list[Row]:
    """Returns rows that differ in more than one field; those that do not become a `count`."""
    found: dict[str, tuple[Row, int]] = {}
    for row in rows:
        rest = {name: value for name, value in row.items() if name != but}
        key = repr(rest)
        first, count = found.get(key, (row, 0))
        found[key] = (first, count + 1)
    return [{**row, "count": count} if count > 1 else row for row, count in found.values()]


def collapse_repeats(said: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Yields heads and texts; the same ones in a row once, with their number in the head."""
    for (head, text), same in groupby(said):
        yield head + times_suffix(sum(1 for _ in same)), text


class RepeatedCallFilter:
    """Events as they come, those about a call like the one before it only counted."""

    def __init__(self) -> None:
        self._calls: dict[str, str] = {}  # what was called, by the id of the call
        self._last: tuple[object, ...] | None = None
        self._held: StoredEvent | None = None
        self._count = 0

    def take(self, heard: StoredEvent) -> Iterator[tuple[StoredEvent, int]]:
        """Yields what is to be shown now, each with the number of events that it stands for."""
        key = self._key(heard)
        if key is not None and key == self._last:
            self._held, self._count = heard, self._count + 1
            return
        yield from self.rest()
        self._last = key
        yield heard, 1

    def rest(self) -> Iterator[tuple[StoredEvent, int]]:
        """Yields what was counted and not shown, because something else comes, or nothing more."""
        held, count = self._held, self._count
        self._held, self._count, self._last = None, 0, None
        if held is not None:
            yield held, count

    def _key(self, heard: StoredEvent) -> tuple[object, ...] | None:
        match heard.event:
            case StepStarted():
                self._calls.clear()
                return None
            case PartSaid(part=ToolCall(id, tool, args, raw)):
                said = raw if args is None else msgspec.json.encode(args).decode()
                self._calls[id] = f"{tool} {said}"
                return heard.stream, "said", self._calls[id]
            case CallStarted(call):
                return self._about(heard, call, "started")
            case CallEnded(call=call, result=result, verdict=verdict):
                return self._about(heard, call, "ended", result.text, result.failed, verdict)
            case _:
                return None

    def _about(self, heard: StoredEvent, call: str, *more: object) -> tuple[object, ...] | None:
        known = self._calls.get(call)
        return None if known is None else (heard.stream, known, *more)
