"""Live output of a command as lines, with hidden characters shown and secrets redacted."""

from codecs import IncrementalDecoder, getincrementaldecoder
from collections.abc import Iterator
from typing import Final

import msgspec

from assent.core.run.journal import CommandProgress, LiveCommandOutput
from assent.core.text.hidden_chars import VisibleStream, fold_long, visible, visible_line
from assent.core.text.secrets import redact
from assent.render.rows import BRIEF_LENGTH, StreamRedactor, operation_subject

_WORDS: Final = {
    "before": "recording files before",
    "command": "$",
    "after": "checking what changed after",
}


def progress_line(doing: CommandProgress) -> str:
    """Returns the current command of a run, its number of operations, and what is being done."""
    return f"[{doing.index + 1}/{doing.total}] {_WORDS[doing.what]} {progress_brief(doing)}"


def progress_brief(doing: CommandProgress) -> str:
    """Returns a short form of a run's current command, without secrets."""
    line = redact(operation_subject(doing.command))
    return line if len(line) <= BRIEF_LENGTH else f"{line[:BRIEF_LENGTH]}…"


class CommandOutputChunk(msgspec.Struct, frozen=True):
    """What a command wrote to stdout or stderr, as far as it can be shown."""

    index: int
    error: bool
    text: str


class CommandOutputRedactor:
    """Takes output in pieces and returns text without secrets; keeps stdout and stderr separate."""

    def __init__(self) -> None:
        self._index = -1  # of the command that speaks
        self._voices: dict[bool, tuple[IncrementalDecoder, StreamRedactor]] = {}

    def take(self, said: LiveCommandOutput) -> Iterator[CommandOutputChunk]:
        """Adds a piece, and returns what can be shown now."""
        if said.index != self._index:
            yield from self.rest()
            self._index = said.index
        if said.error not in self._voices:
            made = getincrementaldecoder("utf-8")("backslashreplace")
            self._voices[said.error] = (made, StreamRedactor())
        decoder, speech = self._voices[said.error]
        yield CommandOutputChunk(said.index, said.error, speech.take(decoder.decode(said.content)))

    def rest(self) -> Iterator[CommandOutputChunk]:
        """Returns the rest at the end of the output."""
        voices, self._voices = self._voices, {}
        for error, (decoder, speech) in voices.items():
            text = speech.take(decoder.decode(b"", final=True)) + speech.rest()
            yield CommandOutputChunk(self._index, error, text)


class CommandOutputLines:
    """Takes output in pieces and returns whole lines, or long ones in parts."""

    def __init__(self) -> None:
        self._voices = CommandOutputRedactor()
        self._flow = VisibleStream(visible_output)

    def take(self, said: LiveCommandOutput) -> Iterator[str]:
        """Adds a piece, and returns what can be shown now."""
        for one in self._voices.take(said):
            yield from _folded(self._flow.take(one.text))

    def rest(self) -> Iterator[str]:
        """Returns the rest at the end of the output."""
        for one in self._voices.rest():
            yield from _folded(self._flow.take(one.text))
        yield from _folded(self._flow.rest())


def visible_output(text: str) -> str:
    """Returns a program's output as visible text: any line ending breaks lines, tabs expand."""
    end = "\n" if text.endswith("\n") else ""
    lines = text.splitlines()
    if not text.isascii() or "\t" in text or visible(text) != text:
        lines = list(map(visible_line, lines))  # line by line takes longer, and is seldom needed
    return "\n".join(lines) + end


def _folded(text: str) -> Iterator[str]:
    for line in text.removesuffix("\n").split("\n") if text else ():
        yield from fold_long(line)
