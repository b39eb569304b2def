"""fetch: a page over HTTP, as text; redirects lead only to the same or an allowed host."""

import re
from collections.abc import Callable, Sequence

import msgspec

from assent.core.errors import Refused
from assent.core.tool import Action, ResourceAccess, ToolOutcome
from assent.ports import FetchResponse
from assent.tools.html_text import html_to_text
from assent.tools.output_limits import limited_outcome
from assent.tools.tool import Tool, ToolContext

LIMIT = 5 << 20  # bytes
TEXTS = ("text/", "application/json", "application/xml", "application/javascript")
ENDS = ("+json", "+xml", "/x-yaml", "/yaml", "/toml", "/x-sh")
SUCCESS_STATUSES = range(200, 300)

_HOST = r"(?i)https?://(?:[^/?#@]*@)?(\[[^\]]*\]|[^/?#:]*)"
_CHARSET = r"(?i)charset\s*=\s*[\"']?([\w-]+)"


class FetchArgs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    url: str


def touches(args: FetchArgs, around: ToolContext) -> Sequence[ResourceAccess]:
    return (ResourceAccess(Action.FETCH, args.url.strip()),)


def run(args: FetchArgs, around: ToolContext) -> ToolOutcome:
    url = args.url.strip()
    got = around.fetch.get(url, LIMIT, _allowed(url, around.posture.hosts))
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


FETCH = Tool("fetch", FetchArgs, touches, run, action=Action.FETCH)
