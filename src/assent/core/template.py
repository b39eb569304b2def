"""Templates: a command of a person's own, what its placeholders stand for, and what it attaches."""

import re
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import msgspec

from assent.core.quoting import quoted as as_word


class SlashCommand(msgspec.Struct, frozen=True):
    """A text that `/name words` stands for, and who is to read it."""

    name: str
    template: str
    description: str = ""
    agent: str = ""
    model: str = ""
    source: str = "user"  # user or project


class Words(msgspec.Struct, frozen=True):
    text: str


class Attached(msgspec.Struct, frozen=True):
    """A file whose content goes along, as `@path`."""

    path: str


class Printed(msgspec.Struct, frozen=True):
    """A command line whose output stands in its place, as !`line`."""

    line: str


Piece: TypeAlias = Words | Attached | Printed

_TOKEN = re.compile(r"!`([^`\n]+)`|(?<![\w`@/.])@([^\s`'\"<>()\[\]{},;]+)")
_PLACE = re.compile(r"\$(ARGUMENTS\b|[1-9](?!\d))")
_WORD = re.compile(r'"([^"]*)"|\'([^\']*)\'|(\S+)')
_FENCE = re.compile(r"`{3,}")


def pieces(template: str, arguments: str) -> tuple[Piece, ...]:
    """Takes a template apart, with the words of a person in their places.

    What a person typed is never taken apart: it attaches no file and runs nothing.
    """
    given = _Given(template, arguments.strip())
    found: list[Piece] = []
    at = 0
    for token in _TOKEN.finditer(template):
        found.append(Words(given.put_into(template[at : token.start()])))
        at = token.end()
        if token[1]:
            found.append(Printed(given.put_into(token[1], quoted=True)))
            continue
        path = token[2].rstrip(".:!?")
        at -= len(token[2]) - len(path)
        found.append(Attached(given.put_into(path)))
    found.append(Words(given.put_into(template[at:])))
    if given.text and not _PLACE.search(template):
        found.append(Words(f"\n\n{given.text}"))
    return tuple(piece for piece in found if piece != Words(""))


def joined(parts: Sequence[Piece], contents: Mapping[Piece, str]) -> str:
    """Returns the whole text: outputs in their places, files below it; the rest stays as it is."""
    said = "".join(_in_place(part, contents) for part in parts).strip()
    files = [part for part in dict.fromkeys(parts) if isinstance(part, Attached)]
    fences = [fenced(f"{file.path}:", contents[file]) for file in files if file in contents]
    return "\n\n".join((said, *fences))


def fenced(title: str, content: str) -> str:
    """Returns a text under a title, in a fence that it cannot end."""
    fence = "`" * (max(map(len, _FENCE.findall(content)), default=2) + 1)
    end = "" if content.endswith("\n") else "\n"
    return f"{title}\n{fence}\n{content}{end}{fence}"


class _Given:
    """What a person typed behind a command, and what each placeholder stands for."""

    def __init__(self, template: str, text: str) -> None:
        self.text = text
        self._words = [one or two or three for one, two, three in _WORD.findall(text)]
        numbers = [int(place) for place in _PLACE.findall(template) if place != "ARGUMENTS"]
        self._last = max(numbers, default=0)

    def put_into(self, text: str, *, quoted: bool = False) -> str:
        """Returns a text with its placeholders filled in; quoted, each word stays one word."""

        def value(place: re.Match[str]) -> str:
            words = self._values(place[1])
            return " ".join(map(as_word, words)) if quoted else self._plain(place[1], words)

        return _PLACE.sub(value, text)

    def _values(self, place: str) -> list[str]:
        """Returns the words of a place; the last one with a number takes all that are left."""
        if place == "ARGUMENTS":
            return self._words
        number = int(place)
        return self._words[number - 1 :] if number == self._last else self._words[number - 1 :][:1]

    def _plain(self, place: str, words: Sequence[str]) -> str:
        return self.text if place == "ARGUMENTS" else " ".join(words)


def _in_place(part: Piece, contents: Mapping[Piece, str]) -> str:
    match part:
        case Words(text):
            return text
        case Attached(path):
            return f"@{path}"
        case Printed():
            return contents[part]
