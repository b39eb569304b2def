"""Slash commands: templates of the user's own, with arguments, attached files and shell output."""

import re
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import msgspec

from assent.core.plan.comment import fenced_block
from assent.core.shell.process import shell_quoted as as_word


class SlashCommand(msgspec.Struct, frozen=True):
    """The template for `/name arguments`, and the agent and model to use."""

    name: str
    template: str
    description: str = ""
    agent: str = ""
    model: str = ""
    source: str = "user"  # user or project


class TemplateText(msgspec.Struct, frozen=True):
    text: str


class TemplateFile(msgspec.Struct, frozen=True):
    """A file whose content is attached, written as `@path` or `@"path"`."""

    path: str


class TemplateShell(msgspec.Struct, frozen=True):
    """A command line that is replaced by its output, written as !`line`."""

    line: str


TemplatePart: TypeAlias = TemplateText | TemplateFile | TemplateShell

_TOKEN = re.compile(r"!`([^`\n]+)`|(?<![\w`@/.\"'])@(?:\"([^\"\n]+)\"|([^\s`'\"<>()\[\]{},;]+))")
_PLACE = re.compile(r"\$(ARGUMENTS\b|[1-9](?!\d))")
_WORD = re.compile(r'"([^"]*)"|\'([^\']*)\'|(\S+)')


def template_parts(template: str, arguments: str) -> tuple[TemplatePart, ...]:
    """Splits a template into parts, with the user's arguments filled in.

    What a user typed is not parsed here: it runs nothing, and what it attaches is found like the
    `@path` of any other message.
    """
    given = _TemplateArguments(template, arguments.strip())
    found: list[TemplatePart] = []
    at = 0
    for token in _TOKEN.finditer(template):
        found.append(TemplateText(given.put_into(template[at : token.start()])))
        at = token.end()
        if token[1]:
            found.append(TemplateShell(given.put_into(token[1], quoted=True)))
            continue
        if token[2]:
            found.append(TemplateFile(given.put_into(token[2])))
            continue
        path = token[3].rstrip(".:!?")
        at -= len(token[3]) - len(path)
        found.append(TemplateFile(given.put_into(path)))
    found.append(TemplateText(given.put_into(template[at:])))
    if given.text and not _PLACE.search(template):
        found.append(TemplateText(f"\n\n{given.text}"))
    return tuple(piece for piece in found if piece != TemplateText(""))


def joined_template(parts: Sequence[TemplatePart], contents: Mapping[TemplatePart, str]) -> str:
    """Returns the whole text: outputs in their places, files below it, the rest unchanged."""
    said = "".join(_in_place(part, contents) for part in parts).strip()
    files = [part for part in dict.fromkeys(parts) if isinstance(part, TemplateFile)]
    fences = [fenced_block(f"{file.path}:", contents[file]) for file in files if file in contents]
    return "\n\n".join((said, *fences))


class _TemplateArguments:
    """What a user typed after a command, and what each placeholder stands for."""

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


def _in_place(part: TemplatePart, contents: Mapping[TemplatePart, str]) -> str:
    match part:
        case TemplateText(text):
            return text
        case TemplateFile(path):
            return f"@{path}"
        case TemplateShell():
            return contents[part]
