"""Fetching pages, against a real server on loopback: redirects, limits, and what is refused."""

import gzip
from collections.abc import Callable

import pytest
from tests.llm.http_models import client
from tests.llm.server import Turn, serving

from assent.core.errors import Refused, Unavailable
from assent.llm.fetch import HttpPageFetcher
from assent.llm.limits import MAX_REDIRECTS
from assent.ports import FetchResponse

LIMIT = 1000


def answer(body: bytes, *headers: str, status: str = "200 OK") -> Turn:
    lines = [f"HTTP/1.1 {status}", "Content-Type: text/plain", *headers]
    head = "\r\n".join([*lines, f"Content-Length: {len(body)}", "", ""])
    return Turn(raw=head.encode() + body)


def moved(location: str, status: str = "302 Found") -> Turn:
    return answer(b"", f"Location: {location}", status=status)


def fetch(
    url: str,
    *,
    limit: int = LIMIT,
    seconds: float = 60,
    allowed: Callable[[str], bool] | None = None,
) -> FetchResponse:
    own = allowed or (lambda host: host == "127.0.0.1")
    return HttpPageFetcher(client(), seconds).get(url, limit, own)


def test_a_page_is_got_without_credentials() -> None:
    with serving(answer(b"hello")) as server:
        got = fetch(f"{server.url}/a%20b/ä?q=1 2#part")
        assert got == FetchResponse(
            f"{server.url}/a%20b/%C3%A4?q=1%202", 200, "text/plain", b"hello"
        )
        (heard,) = server.heard
        assert heard.line == "GET /a%20b/%C3%A4?q=1%202 HTTP/1.1"
        assert {"authorization", "cookie"}.isdisjoint(heard.headers)


def test_a_url_without_a_path_may_have_a_query() -> None:
    with serving(answer(b"x")) as server:
        assert fetch(f"{server.url}?q=1").url == f"{server.url}/?q=1"


@pytest.mark.parametrize(
    ("location", "leads"),
    [("/b?c", "/b?c"), ("b", "/dir/b"), ("//{host}/d", "/d"), ("{url}/e#f", "/e")],
)
def test_a_redirect_on_the_same_host_is_followed(location: str, leads: str) -> None:
    with serving(answer(b"there"), answer(b"there")) as server:
        host = server.url.removeprefix("http://")
        server._turns[0] = moved(location.format(host=host, url=server.url))
        assert fetch(f"{server.url}/dir/a?x").url == server.url + leads


def test_a_redirect_to_another_host_is_refused_before_anybody_is_asked() -> None:
    with serving(answer(b"secret")) as other:
        away = other.url.replace("127.0.0.1", "localhost")
        with serving(moved(f"{away}/x")) as server:
            with pytest.raises(Refused, match=f"redirects to {away}/x, on another host"):
                fetch(server.url)
            assert other.heard == []
            assert fetch(server.url, allowed=lambda host: True).content == b"secret"


@pytest.mark.parametrize(
    "location", ["file:///etc/passwd", "ftp://x/y", "gopher://x", "http://user:pw@127.0.0.1/"]
)
def test_a_redirect_to_another_scheme_or_with_a_login_is_refused(location: str) -> None:
    with serving(moved(location), answer(b"no")) as server:
        if location.startswith("http"):
            with pytest.raises(Refused, match="login"):
                fetch(server.url)
        else:
            assert fetch(server.url).url.startswith(server.url)  # it is only a strange path there


def test_redirects_without_end_are_refused() -> None:
    with serving(moved("/again")) as server:
        with pytest.raises(Refused, match=f"more than {MAX_REDIRECTS} times"):
            fetch(server.url)
        assert len(server.heard) == MAX_REDIRECTS + 1


@pytest.mark.parametrize(
    "url",
    ["file:///etc/passwd", "ftp://h/x", "http:/x", "//h/x", "h/x", "", "http://", "data:,x",
     "http://h:99999/", "http://a b/", "http://h\r\nX: y/", "javascript:1", "http://" + "x" * 9000],
)  # fmt: skip
def test_what_is_no_plain_url_is_refused(url: str) -> None:
    with pytest.raises(Refused, match="URL"):
        fetch(url)


@pytest.mark.parametrize("login", ["user:pw@", "user@", "@", "a@b@"])
def test_a_login_in_the_url_is_refused(login: str) -> None:
    with pytest.raises(Refused, match="login"):
        fetch(f"http://{login}127.0.0.1/")


def test_a_body_without_end_is_cut_at_the_limit() -> None:
    endless = Turn(raw=b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n" + b"x" * 200_000)
    with serving(endless) as server:
        got = fetch(server.url)
    assert (len(got.content), got.cut) == (LIMIT, True)


def test_a_drip_ends_when_the_time_is_over() -> None:
    drip = Turn(raw=b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\nbegun")
    with serving(drip) as server:
        got = fetch(server.url, seconds=-1)
    assert (got.content, got.cut) == (b"begun", True)


def test_a_bomb_is_unpacked_no_further_than_the_limit() -> None:
    bomb = gzip.compress(b"\0" * (64 << 20))
    with serving(answer(bomb, "Content-Encoding: gzip")) as server:
        got = fetch(server.url)
    assert (len(got.content), got.cut) == (LIMIT, True)


def test_a_page_packed_otherwise_is_refused() -> None:
    packed = answer(b"???", "Content-Encoding: br")
    with serving(packed) as server, pytest.raises(Refused, match="in an unsupported encoding"):
        fetch(server.url)


def test_a_server_that_breaks_off_is_told() -> None:
    broken = Turn(raw=b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this", close=True)
    with serving(broken) as server, pytest.raises(Unavailable, match="could not be read"):
        fetch(server.url)
    with pytest.raises(Unavailable, match="cannot be reached"):
        fetch("http://127.0.0.1:1/")


def test_an_error_page_is_an_answer_too() -> None:
    with serving(answer(b"gone", status="404 Not Found")) as server:
        assert (fetch(server.url).status, fetch(server.url).content) == (404, b"gone")
