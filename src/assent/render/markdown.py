"""Markdown: what each line of a text is, and which parts of it are signs, links, code or strong.

It reads line by line, so that a text that grows costs only what is new, and it takes no character
away: those who show a text leave out the signs, or keep them (`render/plan_source.py`).
"""

import re
from collections.abc import Iterator
from typing import Final, Literal

import msgspec

from assent.render.lines import Role, Span, Spans, merged_spans

MAX_INLINE: Final = 4000  # characters of a line beyond which its parts are not looked for
MAX_DEPTH: Final = 4  # of strong in emphasis in links

LineKind = Literal[
    "text", "heading", "rule", "fence", "code", "comment", "front", "table", "definition"
]


class SourceLine(msgspec.Struct, frozen=True):
    """A line by its parts: quote signs, what begins a heading or an item, and the rest."""

    kind: LineKind
    lead: str  # blanks and the signs of quotes
    sign: str  # of a heading, an item with its task box, a fence
    rest: str
    level: int = 0  # of a heading
    language: str = ""  # named after an opening fence
    opens: bool = False  # a fence begins here


_LEAD: Final = re.compile(r"(?: {0,3}>[ ]?)*[ \t]*")
_HEADING: Final = re.compile(r"(#{1,6})(?:[ \t]+|$)")
_ITEM: Final = re.compile(r"(?:[-*+]|\d{1,9}[.)])(?:[ \t]+|$)(?:\[[ xX]\](?:[ \t]+|$))?")
_RULE: Final = re.compile(r"(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$")
_FENCE: Final = re.compile(r"(`{3,}|~{3,})[ \t]*(.*)$")
_DEFINITION: Final = re.compile(r"\[[^\]]+\]:[ \t]")
_TABLE: Final = re.compile(r"\|.*\|[ \t]*$")
_DELIMITER: Final = re.compile(r"\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$")
_COMMENT, _COMMENT_END = "<!--", "-->"
FRONT: Final = "---"


class MarkdownReader(msgspec.Struct):
    """Reads a text line after line: what is open from one to the next is a fence or a comment."""

    front: bool = False  # the text may begin with front matter
    fence: str = ""  # what the open code began with
    language: str = ""  # of the open code
    comment: bool = False
    _first: bool = True

    def read(self, line: str) -> SourceLine:
        """Returns the parts of the next line."""
        first, self._first = self._first, False
        if self.front:
            if first and line.rstrip() == FRONT:
                return SourceLine("front", "", line, "", opens=True)
            if not first:
                self.front = line.rstrip() != FRONT
                return SourceLine("front", *(("", "", line) if self.front else ("", line, "")))
            self.front = False
        found = _LEAD.match(line)
        lead = found[0] if found else ""
        body = line[len(lead) :]
        if self.fence:
            return self._in_code(line, lead, body)
        if self.comment:
            self.comment = _COMMENT_END not in body
            return SourceLine("comment", lead, "", body)
        if body.startswith(_COMMENT):
            self.comment = _COMMENT_END not in body
            return SourceLine("comment", lead, "", body)
        if (fence := _FENCE.match(body)) and not (fence[1][0] == "`" and "`" in fence[2]):
            self.fence, self.language = fence[1], fence[2].strip()
            return SourceLine("fence", lead, body, "", language=self.language, opens=True)
        return _plain_line(lead, body)

    def copy(self) -> "MarkdownReader":
        """Returns a reader at the same place, for a line that may still grow."""
        return MarkdownReader(self.front, self.fence, self.language, self.comment, self._first)

    def _in_code(self, line: str, lead: str, body: str) -> SourceLine:
        end = body.rstrip()
        if end.startswith(self.fence) and not end.strip(self.fence[0]):
            self.fence = self.language = ""
            return SourceLine("fence", lead, body, "")
        return SourceLine("code", "", "", line)


def _plain_line(lead: str, body: str) -> SourceLine:
    if heading := _HEADING.match(body):
        return SourceLine("heading", lead, heading[0], body[heading.end() :], level=len(heading[1]))
    if body and _RULE.match(body):
        return SourceLine("rule", lead, body, "")
    if item := _ITEM.match(body):
        return SourceLine("text", lead, item[0], body[item.end() :])
    if _TABLE.match(body):
        return SourceLine("table", lead, "", body)
    if _DEFINITION.match(body):
        return SourceLine("definition", lead, "", body)
    return SourceLine("text", lead, "", body)


def is_table_delimiter(body: str) -> bool:
    """Tells whether a line separates the head of a table from its rows."""
    return "-" in body and "|" in body and _DELIMITER.match(body) is not None


# Parts of a line.


class InlinePart(msgspec.Struct, frozen=True, gc=False):
    """A part of a line, and what is shown of it without the signs of Markdown, such as `**`."""

    text: str
    role: Role = "plain"
    bare: str | None = None  # None: the text


def _sign(text: str, bare: str = "") -> InlinePart:
    return InlinePart(text, "marker", bare)


# A part ends where it can first, so that a search takes little more than the length of a line.
_PARTS: Final = re.compile(
    r"(?P<escape>\\[!-/:-@\[-`{-~])"
    r"|(?P<code>(?<!`)(?P<ticks>`{1,3})(?!`)(?P<quoted>[^`]|[^`].*?[^`])(?P=ticks)(?!`))"
    r"|(?P<comment><!--.*?-->)"
    r"|<(?P<auto>(?:https?://|mailto:)[^<>\s]+)>"
    r"|(?P<tag></?[A-Za-z][A-Za-z0-9-]*(?:\s[^<>]*)?/?>)"
    r"|(?P<link>!?\[)(?P<words>[^\[\]]*)\]\((?P<target>[^()\s]*(?:\([^()\s]*\)[^()\s]*)?)"
    r"(?P<title>[ \t]+\"[^\"]*\")?\)"
    r"|(?P<bare>https?://[^\s<>()\[\]\"'`]*[^\s<>()\[\]\"'`.,:;!?*_])"
    r"|(?P<strong>\*\*|(?<!\w)__)(?=\S)(?P<strongly>.+?)(?<=\S)(?P=strong)(?!\*)"
    r"|(?P<struck>~~)(?=\S)(?P<gone>.+?)(?<=\S)~~"
    r"|(?P<emphasis>(?<![\w*])\*(?!\*)|(?<!\w)_(?!_))(?=\S)(?P<stressed>.+?)(?<=\S)(?P=emphasis)"
    r"(?![\w*])"
)
_SIGNS: Final = re.compile(r"[*_`~\\<]")
_AROUND: Final[tuple[tuple[str, str, Role], ...]] = (
    ("strong", "strongly", "strong"),
    ("struck", "gone", "struck"),
    ("emphasis", "stressed", "emphasis"),
)


def inline_parts(text: str, role: Role = "plain", depth: int = 0) -> Iterator[InlinePart]:
    """Yields the parts of a line, which make up the line exactly."""
    if depth >= MAX_DEPTH or len(text) > MAX_INLINE:
        yield InlinePart(text, role)
        return
    at = 0
    for found in _PARTS.finditer(text):
        yield InlinePart(text[at : found.start()], role)
        at = found.end()
        yield from _parts(found, role, depth)
    yield InlinePart(text[at:], role)


def _parts(found: re.Match[str], role: Role, depth: int) -> Iterator[InlinePart]:
    whole = found[0]
    if found["escape"]:
        yield _sign(whole[0])
        yield InlinePart(whole[1], role)
    elif found["code"]:
        sign = _sign(found["ticks"])
        yield from (sign, InlinePart(found["quoted"], "code"), sign)
    elif found["comment"] or found["tag"]:
        yield InlinePart(whole, "comment" if found["comment"] else "tag")
    elif found["auto"]:
        yield _sign("<")
        yield InlinePart(found["auto"], "target")
        yield _sign(">")
    elif found["link"]:
        yield from _link(found, depth)
    elif found["bare"]:
        yield InlinePart(whole, "target")
    else:
        yield from _around(found, role, depth)


def _link(found: re.Match[str], depth: int) -> Iterator[InlinePart]:
    """Yields words, and the target in brackets: a link is always shown with where it leads."""
    yield _sign(found["link"])
    yield from inline_parts(found["words"], "link", depth + 1)
    same = found["words"] == found["target"] and not _SIGNS.search(found["words"])
    yield _sign("](", "" if same else " (")
    yield InlinePart(found["target"], "target", "" if same else None)
    yield InlinePart(found["title"] or "", "marker")
    yield _sign(")", "" if same else ")")


def _around(found: re.Match[str], role: Role, depth: int) -> Iterator[InlinePart]:
    for sign, inside, inner in _AROUND:
        if found[sign]:
            yield _sign(found[sign])
            yield from inline_parts(found[inside], inner if role == "plain" else role, depth + 1)
            yield _sign(found[sign])


def inline_spans(text: str, role: Role = "plain", *, signs: bool = True) -> Spans:
    """Returns the spans of a line, with the signs of Markdown or without."""
    parts = inline_parts(text, role)
    if signs:
        return merged_spans(Span(one.text, one.role) for one in parts)
    shown = ((one.text if one.bare is None else one.bare, one.role) for one in parts)
    return merged_spans(Span(text, of) for text, of in shown)
