"""Markdown as HTML: only elements of ours, no image, and no link that loads by itself."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Final
from urllib.parse import urlsplit

import msgspec
from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup, escape

from assent.core.text.hidden_chars import visible_text

MAX_CHARS: Final = 60_000  # of a text that is parsed; a longer one is shown as it is
FRONT: Final = "---\n"
# What a task item begins with, the sign shown instead, and what a screen reader says.
_BOXES: Final = {"[ ] ": ("☐", "to do:"), "[x] ": ("☑", "done:"), "[X] ": ("☑", "done:")}
SCHEMES: Final = ("http", "https", "mailto")
# Tokens that open or close an element of the same name, without any attribute of the text's.
_ELEMENTS: Final = {
    "paragraph": "p", "blockquote": "blockquote", "bullet_list": "ul", "ordered_list": "ol",
    "list_item": "li", "table": "table", "thead": "thead", "tbody": "tbody", "tr": "tr", "th": "th",
    "td": "td", "em": "em", "strong": "strong", "s": "s",
}  # fmt: skip
_PARSER: Final = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
_PARSER.disable("entity")  # it could stand for a hidden character, so it is shown as it is written


class Heading(msgspec.Struct, frozen=True):
    """A heading of a text, as a table of contents has it."""

    level: int
    text: str
    id: str


class Preview(msgspec.Struct, frozen=True):
    """A document as HTML with its front matter, and its headings."""

    html: Markup
    headings: tuple[Heading, ...] = ()


@lru_cache(maxsize=256)
def markdown_html(text: str, top: int = 2) -> Markup:
    """Returns a text as HTML; its first level of headings becomes `top`.

    Hidden characters are written out before anything is parsed.
    """
    shown = visible_text(text)
    if len(shown) > MAX_CHARS:
        return Markup("<pre>{}</pre>").format(shown)
    return Markup("").join(_blocks(_PARSER.parse(shown), top))


@lru_cache(maxsize=64)
def preview_markdown(text: str) -> Preview:
    """Returns a document as HTML; front matter is shown as it is, and headings have ids."""
    shown = visible_text(text)
    if len(shown) > MAX_CHARS:
        return Preview(Markup("<pre>{}</pre>").format(shown))
    front, body = _front_matter(shown)
    tokens = _PARSER.parse(body)
    headings: list[Heading] = []
    for at, token in enumerate(tokens):
        if token.type == "heading_open":
            id = f"h-{len(headings) + 1}"
            token.attrSet("id", id)
            headings.append(Heading(int(token.tag[1:]), tokens[at + 1].content, id))
    before = Markup('<pre class="front">{}</pre>').format(front) if front else Markup("")
    return Preview(before + Markup("").join(_blocks(tokens, 2)), tuple(headings))


def _front_matter(text: str) -> tuple[str, str]:
    if not text.startswith(FRONT):
        return "", text
    inside, end, body = text[len(FRONT) :].partition("\n---\n")
    return (f"{FRONT}{inside}\n---", body) if end else ("", text)


def _blocks(tokens: Sequence[Token], top: int) -> list[Markup]:
    found: list[Markup] = []
    for at, token in enumerate(tokens):
        name = token.type.removesuffix("_open").removesuffix("_close")
        if token.type == "inline":
            inline = _inline(token.children or ())
            if _is_task(tokens, at - 2):
                sign, said = _BOXES[token.content[:4]]
                box = Markup(
                    '<span class="box" aria-hidden="true">{}</span><span class="hidden">{}</span>'
                )
                inline = box.format(sign, f"{said} ") + inline[4:]
            found.append(inline)
        elif _is_task(tokens, at):
            found.append(Markup('<li class="task">'))
        elif name == "heading":
            level = min(int(token.tag[1:]) + top - 1, 6)
            found.append(_heading(token, level))
        elif token.type in ("fence", "code_block"):
            found.append(Markup("<pre tabindex='0'><code>{}</code></pre>").format(token.content))
        elif token.type == "hr":
            found.append(Markup("<hr>"))
        elif name in _ELEMENTS and not token.hidden:
            found.append(_element(name, token))
    return found


def _is_task(tokens: Sequence[Token], at: int) -> bool:
    """Tells whether a task item begins there: an item of a list, whose words begin with a box."""
    if at < 0 or tokens[at].type != "list_item_open" or tokens[at + 1].type != "paragraph_open":
        return False
    first = next(iter(tokens[at + 2].children or ()), None)
    return first is not None and first.type == "text" and first.content[:4] in _BOXES


def _inline(tokens: Sequence[Token]) -> Markup:
    found: list[Markup] = []
    href, at = "", 0  # of the link that is open, and where its words begin; links do not nest
    for token in tokens:
        name = token.type.removesuffix("_open").removesuffix("_close")
        if token.type == "code_inline":
            found.append(Markup("<code>{}</code>").format(token.content))
        elif token.type == "softbreak":
            found.append(Markup("\n"))
        elif token.type == "hardbreak":
            found.append(Markup("<br>"))
        elif token.type == "image":
            shown = f"[image: {token.content}, {token.attrGet('src')}]"
            found.append(Markup('<span class="quiet">{}</span>').format(shown))
        elif token.type == "link_open":
            href, at = str(token.attrGet("href") or ""), len(found)
        elif token.type == "link_close":
            words = Markup("").join(found[at:])
            found[at:] = [_link(href, words)]
        elif name in _ELEMENTS:
            found.append(_element(name, token))
        else:
            found.append(escape(token.content))
    return Markup("").join(found)


def _heading(token: Token, level: int) -> Markup:
    """Returns one end of a heading; an id is ours, as a parser gives none."""
    if token.nesting < 0:
        return Markup("</h{}>").format(level)
    id = token.attrGet("id")
    return Markup('<h{} id="{}">').format(level, id) if id else Markup("<h{}>").format(level)


def _element(name: str, token: Token) -> Markup:
    start = token.attrGet("start") if name == "ordered_list" and token.nesting > 0 else None
    if start is not None:
        return Markup('<ol start="{}">').format(int(start))
    return Markup("</{}>" if token.nesting < 0 else "<{}>").format(_ELEMENTS[name])


def _link(href: str, words: Markup) -> Markup:
    """Returns a link that says where it leads; one with another scheme is only said."""
    try:
        parts = urlsplit(href)
    except ValueError:
        parts = urlsplit("")
    if parts.scheme not in SCHEMES:
        return Markup('{} <span class="quiet">({})</span>').format(words, href)
    opened = Markup('<a href="{}" rel="noreferrer noopener nofollow" target="_blank">{}</a>')
    told = "" if words.striptags() == href else Markup(' <span class="quiet">({})</span>')
    return opened.format(href, words) + (told.format(parts.netloc or href) if told else "")
