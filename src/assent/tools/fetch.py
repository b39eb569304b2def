"""fetch: a page over HTTP, as plain text; only follows redirects to an allowed host."""

import re
from collections.abc import Callable, Sequence
from typing import Annotated

import msgspec

from assent.core.errors import Refused
from assent.core.tool import Action, ResourceAccess, ToolOutcome
from assent.ports import FetchResponse
from assent.tools.outcome import limited_outcome
from assent.tools.tool import Tool, ToolContext

# HTML to plain text, with headings, lists, links and code kept.


_HIDDEN = frozenset(("script", "style", "noscript", "template", "svg", "head", "iframe"))
_BLOCKS = frozenset(
    ("p", "div", "section", "article", "header", "footer", "main", "aside", "nav", "ul", "ol", "dl",
     "dt", "dd", "table", "tr", "blockquote", "form", "figure", "figcaption", "hr", "br", "details",
     "summary", "fieldset", "address", "title")
)  # fmt: skip
_ENTITIES = {
    "amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'", "nbsp": " ", "copy": "©",
    "reg": "®", "hellip": "…", "mdash": "-", "ndash": "-", "lsquo": "'", "rsquo": "'",
    "ldquo": '"', "rdquo": '"', "bull": "•", "middot": "·", "rarr": "→", "larr": "←",
    "times": "x", "laquo": "«", "raquo": "»", "shy": "", "zwnj": "", "ensp": " ", "emsp": " ",
    "thinsp": " ", "euro": "€", "pound": "£", "deg": "°", "para": "¶", "sect": "§",
}  # fmt: skip
_NAME = r"[a-zA-Z][a-zA-Z0-9:-]*"


def html_to_text(html: str) -> str:
    """Returns the readable text of a page, in a single pass."""
    reader = _HtmlTextReader()
    at = 0
    while at < len(html):
        start = html.find("<", at)
        if start < 0:
            start = len(html)
        reader.text(html[at:start])
        at = _passed(html, start, reader)
    return reader.finished()


def _passed(html: str, start: int, reader: "_HtmlTextReader") -> int:
    """Handles the tag or comment at a position; returns where it ends."""
    if html.startswith("<!--", start):
        return _after(html, "-->", start + 4)
    name = re.match(rf"<(/?)({_NAME})", html[start : start + 40])
    if name is None and html[start : start + 2] not in ("<!", "<?"):
        reader.text(html[start : start + 1])
        return start + 1
    end = _after(html, ">", start)
    if name is None:
        return end
    tag = name[2].lower()
    if name[1]:
        reader.close(tag)
    elif tag in _HIDDEN:
        return _after_tag(html, tag, end)
    else:
        reader.open(tag, html[start : min(end, start + 4000)])
    return end


def _after(html: str, mark: str, start: int) -> int:
    found = html.find(mark, start)
    return len(html) if found < 0 else found + len(mark)


def _after_tag(html: str, tag: str, start: int) -> int:
    """Returns where a hidden element ends; an unclosed one hides the rest."""
    found = re.compile(rf"</{tag}\b", re.IGNORECASE).search(html, start)
    return len(html) if found is None else _after(html, ">", found.start())


class _HtmlTextReader:
    """The text so far."""

    def __init__(self) -> None:
        self._out: list[str] = []
        self._verbatim = 0
        self._links: list[str] = []

    def text(self, text: str) -> None:
        if not text:
            return
        text = re.sub(r"&(#?\w{1,10});", _entity, text)
        self._out.append(text if self._verbatim else re.sub(r"\s+", " ", text))

    def open(self, tag: str, whole: str) -> None:
        if tag == "pre":
            self._verbatim += 1
            self._out.append("\n```\n")
        elif tag in ("h1", "h2", "h3", "h4", "h5", "h6"):
            self._out.append("\n\n" + "#" * int(tag[1]) + " ")
        elif tag == "li":
            self._out.append("\n- ")
        elif tag == "a":
            self._links.append(_target(whole))
        elif tag in ("td", "th"):
            self._out.append(" | ")
        elif tag in _BLOCKS:
            self._out.append("\n")

    def close(self, tag: str) -> None:
        if tag == "pre" and self._verbatim:
            self._verbatim -= 1
            self._out.append("\n```\n")
        elif tag == "a" and self._links:
            target = self._links.pop()
            self._out.append(f" ({target})" if target else "")
        elif tag in _BLOCKS or tag[:1] == "h":
            self._out.append("\n")

    def finished(self) -> str:
        lines = [line.rstrip() for line in "".join(self._out).split("\n")]
        return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


def _target(whole: str) -> str:
    """Returns the target of a link, if that is another page."""
    found = re.search(r"""\shref\s*=\s*["']?([^"'\s>]+)""", whole)
    return found[1] if found and not found[1].startswith(("#", "javascript:")) else ""


def _entity(found: re.Match[str]) -> str:
    name = found[1]
    if not name.startswith("#"):
        return _ENTITIES.get(name, found[0])
    try:
        number = int(name[2:], 16) if name[1:2] in ("x", "X") else int(name[1:])
        char = chr(number)
    except (ValueError, OverflowError):
        return found[0]
    return char if char.isprintable() or char in "\n\t" else ""


LIMIT = 5 << 20  # bytes
TEXTS = ("text/", "application/json", "application/xml", "application/javascript")
ENDS = ("+json", "+xml", "/x-yaml", "/yaml", "/toml", "/x-sh")
SUCCESS_STATUSES = range(200, 300)

_HOST = r"(?i)https?://(?:[^/?#@]*@)?(\[[^\]]*\]|[^/?#:]*)"
_CHARSET = r"(?i)charset\s*=\s*[\"']?([\w-]+)"


class FetchArgs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    url: Annotated[str, msgspec.Meta(description="address")]


def touches(args: FetchArgs, context: ToolContext) -> Sequence[ResourceAccess]:
    return (ResourceAccess(Action.FETCH, args.url.strip()),)


def run(args: FetchArgs, context: ToolContext) -> ToolOutcome:
    url = args.url.strip()
    got = context.fetch.get(url, LIMIT, _allowed(url, context.posture.hosts))
    media = got.media_type.partition(";")[0].strip().lower()
    if not (media.startswith(TEXTS) or media.endswith(ENDS)):
        raise Refused(f"{got.url} is {media or 'of no known kind'}, not text; it was not read.")
    text = _decoded(got)
    if "html" in media:
        text = html_to_text(text)
    notes = [f"[{got.url}, status {got.status}]"] if got.url != url or _failed(got) else []
    notes += [f"[Only the first {LIMIT >> 20} MiB were read.]"] if got.cut else []
    return limited_outcome("\n".join([*notes, text]), url, failed=_failed(got), status=got.status)


def _allowed(url: str, hosts: Sequence[str]) -> Callable[[str], bool]:
    own = re.match(_HOST, url)
    known = {_plain(host) for host in (own[1] if own else "", *hosts)}
    return lambda other: _plain(other) in known


def _plain(host: str) -> str:
    return host.strip("[]").rstrip(".").lower()


def _failed(got: FetchResponse) -> bool:
    return got.status not in SUCCESS_STATUSES


def _decoded(got: FetchResponse) -> str:
    named = re.search(_CHARSET, got.media_type)
    try:
        return got.content.decode(named[1] if named else "utf-8", "replace")
    except LookupError:
        return got.content.decode("utf-8", "replace")


FETCH = Tool("fetch", FetchArgs, touches, run, Action.FETCH, on_demand="web pages")
