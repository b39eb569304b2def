"""fetch: which hosts a redirect may lead to, and what a model gets to read of a page."""

from pathlib import Path

import msgspec
import pytest
from tests.tools.read_harness import NoFetch, Place

from assent.core.errors import Refused
from assent.core.tool import PermissionContext
from assent.ports import FetchResponse
from assent.tools.fetch import FETCH, html_to_text

URL = "https://Docs.example.org/a"


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def got(place: Place, content: bytes, media: str, status: int = 200, *, cut: bool = False) -> None:
    place.fetch = NoFetch(FetchResponse(URL, status, media, content, cut))


def test_f12_fetch_gives_text_and_touches_the_url(place: Place) -> None:
    got(place, "héllo".encode("latin-1"), "text/plain; charset=ISO-8859-1")
    outcome = place.call(FETCH, url=f" {URL} ")
    assert (outcome.text, outcome.failed, outcome.metadata) == ("héllo", False, {"status": 200})
    assert place.touched(FETCH, url=URL) == [URL]


def test_only_the_own_and_the_allowed_hosts_are_reached_by_redirects(place: Place) -> None:
    got(place, b"x", "text/plain; charset=nonsense")
    place.posture = msgspec.structs.replace(PermissionContext("plan"), hosts=("other.org", "[::1]"))
    place.call(FETCH, url=URL)
    allowed = place.fetch.allowed
    yes = ("docs.example.org", "DOCS.EXAMPLE.ORG.", "other.org", "::1")
    no = ("example.org", "evil.org", "docs.example.org.evil.org", "xother.org", "")
    assert [allowed(host) for host in yes] == [True] * len(yes)
    assert [allowed(host) for host in no] == [False] * len(no)


def test_errors_and_cuts_are_told(place: Place) -> None:
    got(place, b"nope", "text/plain", 404, cut=True)
    outcome = place.call(FETCH, url=URL)
    assert outcome.failed
    assert outcome.text == f"[{URL}, status 404]\n[Only the first 5 MiB were read.]\nnope"


@pytest.mark.parametrize("media", ["application/octet-stream", "image/png", "", "video/mp4"])
def test_what_is_no_text_is_refused(place: Place, media: str) -> None:
    got(place, b"\0\1", media)
    with pytest.raises(Refused, match="not text"):
        place.call(FETCH, url=URL)


def test_a_page_becomes_readable(place: Place) -> None:
    page = (
        "<!doctype html><html><head><title>T</title><script>evil()</script></head><body>"
        "<h1>Head &amp; more</h1><p>Some\n <b>bold</b> text&nbsp;&#x2713;\n"
        "<a href='/x'>link</a>.</p>"
        "<ul><li>one<li>two</ul><pre>a\n  b</pre><script>x < y</script>"
        "<!-- hidden <p> --><table><tr><td>1<td>2</table><style>p{}</style>1 < 2</body>"
    )
    got(place, page.encode(), "text/html; charset=utf-8")
    assert place.call(FETCH, url=URL).text == (
        "# Head & more\n\nSome bold text \u2713 link (/x).\n\n- one\n- two\n\n```\na\n  b\n```\n\n"
        " | 1 | 2\n1 < 2"
    )


@pytest.mark.parametrize(
    "page", ["<" * 50_000, "<!--" * 50_000, "<script>" * 50_000, "&#" * 50_000, "<a href=" * 50_000,
             "<p><script", "</" * 9, "<a", "&#99999999999;", "<pre>" * 1000],
    ids=range(10),
)  # fmt: skip
def test_broken_pages_neither_fail_nor_take_long(page: str) -> None:
    assert isinstance(html_to_text(page), str)
