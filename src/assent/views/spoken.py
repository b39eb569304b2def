"""Spoken: what a command says while it runs, as lines that hide nothing and tell no secret."""

from codecs import IncrementalDecoder, getincrementaldecoder
from collections.abc import Iterator

from assent.core.journal import Said
from assent.views.masks import MaskedSpeech
from assent.views.visible import fold_long, visible_line


class Spoken:
    """Takes pieces as they come and gives whole lines, or long ones in parts."""

    def __init__(self) -> None:
        self._index = -1  # of the command that speaks
        self._voices: dict[bool, tuple[IncrementalDecoder, MaskedSpeech]] = {}

    def take(self, said: Said) -> Iterator[str]:
        """Returns what can be shown after one more piece."""
        if said.index != self._index:
            yield from self.rest()
            self._index = said.index
        if said.error not in self._voices:
            made = getincrementaldecoder("utf-8")("backslashreplace")
            self._voices[said.error] = (made, MaskedSpeech())
        decoder, speech = self._voices[said.error]
        yield from _lines(speech.take(decoder.decode(said.content)))

    def rest(self) -> Iterator[str]:
        """Returns what is left, because nothing more comes."""
        for decoder, speech in self._voices.values():
            yield from _lines(speech.take(decoder.decode(b"", final=True)) + speech.rest())
        self._voices = {}


def _lines(text: str) -> Iterator[str]:
    for line in text.splitlines():
        yield from fold_long(visible_line(line))
