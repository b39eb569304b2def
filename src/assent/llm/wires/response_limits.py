"""Measures an answer while it streams, and stops one that exceeds the limits."""

from io import StringIO

import msgspec

from assent.core.llm import AnswerSettings
from assent.llm.limits import MAX_ANSWER_PARTS

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
            what = {"arguments": "arguments of calls"}.get(kind, kind)
            raise ResponseLimitExceeded(f"more than {mb:g} MB of {what}", f"answer.{kind}_mb")

    def add_value(self, kind: str, value: object) -> None:
        """Counts a value that is kept as it came."""
        self.add(kind, msgspec.json.encode(value).decode("ascii", "replace"))

    def part(self) -> None:
        """Counts a part that begins, whatever it holds."""
        self._parts += 1
        if self._parts > MAX_ANSWER_PARTS:
            raise ResponseLimitExceeded(f"more than {MAX_ANSWER_PARTS} parts", "")

    def call(self) -> None:
        """Counts a call that begins."""
        self._calls += 1
        if self._calls > self._most.calls:
            raise ResponseLimitExceeded(f"more than {self._most.calls} calls", "answer.calls")

    def check_stream(self, events: int, received: int) -> None:
        """Holds what came over the wire so far against the limits."""
        if events > self._most.events:
            raise ResponseLimitExceeded(f"more than {self._most.events} events", "answer.events")
        if received > self._most.total_mb * MB:
            raise ResponseLimitExceeded(
                f"more than {self._most.total_mb:g} MB of data", "answer.total_mb"
            )


class TextBuffer:
    """A text that grows by pieces, in little more memory than it has characters."""

    def __init__(self, first: str = "") -> None:
        self._text = StringIO()
        self._text.write(first)

    def __bool__(self) -> bool:
        return self._text.tell() > 0

    def append(self, piece: str) -> None:
        self._text.write(piece)

    def joined(self) -> str:
        return self._text.getvalue()
