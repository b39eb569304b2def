"""Attacks on the server, each as an attacker would send it: over the network, byte by byte."""

import http.client
import re
import select
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import quote

import pytest
from tests.cli.harness import World
from tests.web.harness import FORM, Client, Served, served
from tests.web.raw import connect, exchange_bytes, head, read_to_end, status
from tests.web.test_login import PASSWORD, cookie_of, log_in

from assent.web.guard import SAFE_HEADERS, BodyLimits
from assent.web.listener import MAX_HEAD

MIB = 1 << 20


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One server for all of them: none may harm it."""
    with served(World(tmp_path_factory.mktemp("attacked"))) as found:
        yield found
    assert b"internal error" not in found.stderr, found.stderr
    assert b"Traceback" not in found.stderr, found.stderr


@pytest.fixture(scope="module")
def browser(server: Served) -> Client:
    return server.browser()


# Cross-site requests.


def logout_from(browser: Client, headers: dict[str, str | None]) -> int:
    """Sends what would change something, with the browser's cookie; None drops a header."""
    wanted = {**browser.headers, **headers}
    sent = {name: value for name, value in wanted.items() if value is not None}
    return Client(browser.url, sent).request("POST", "/logout").status


@pytest.mark.parametrize(
    "headers",
    [
        {"x-assent-csrf": None},
        {"x-assent-csrf": ""},
        {"x-assent-csrf": "0" * 64},
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "https://127.0.0.1"},
        {"origin": "http://localhost:1"},
        {"origin": ""},
        {"origin": None, "x-assent-csrf": None, "content-type": FORM},
        {"origin": None, "x-assent-csrf": None, "content-type": "text/plain"},
        {"origin": None, "sec-fetch-site": "cross-site"},
        {"origin": None, "sec-fetch-site": "same-site"},
    ],
    ids=str,
)
def test_csrf_another_site_changes_nothing(
    server: Served, browser: Client, headers: dict[str, str | None]
) -> None:
    assert logout_from(browser, headers) == 403
    assert browser.get("/access")["kind"] == "cookie"


def test_csrf_two_origins_are_none(server: Served, browser: Client) -> None:
    lines = [f"{name}: {value}" for name, value in browser.headers.items()]
    sent = head(
        server.url, "POST /logout HTTP/1.1", *lines, "Origin: http://evil.example",
        "Content-Length: 0",
    )  # fmt: skip
    assert status(exchange_bytes(server.url, sent)) == 403


def test_csrf_the_token_of_another_login_does_not_help(server: Served, browser: Client) -> None:
    other = server.browser("viewer")
    assert logout_from(browser, {"x-assent-csrf": other.headers["x-assent-csrf"]}) == 403


def test_csrf_the_origin_null_is_only_for_the_file_that_opens_the_browser(server: Served) -> None:
    for dest, expected in (("document", 200), ("iframe", 403), ("empty", 403)):
        code = server.code()
        headers = {"origin": "null", "sec-fetch-dest": dest}
        assert log_in(server.nobody, headers, code=code).status == expected


def test_no_site_may_read_answers(server: Served, browser: Client) -> None:
    for method in ("GET", "OPTIONS"):
        reply = browser.request(method, "/api/v1/access", headers={"origin": "http://evil.example"})
        assert not [name for name in reply.headers if name.lower().startswith("access-control")]


# A foreign name that resolves to this machine.


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:PORT", "127.0.0.1", "127.0.0.1:1", "127.0.0.1.evil.example:PORT",
     "localhost.evil.example:PORT", "0.0.0.0:PORT", "[::1]:PORT", "", "127.0.0.1:PORT@evil.example",
     "127.0.0.1:PORT, evil.example", "2130706433:PORT"],
)  # fmt: skip
def test_dns_rebinding_a_foreign_host_gets_nothing(
    server: Served, browser: Client, host: str
) -> None:
    port = server.url.rpartition(":")[2]
    for path in ("/login", "/api/v1/access", "/"):
        reply = browser.request("GET", path, headers={"host": host.replace("PORT", port)})
        assert reply.status == 403
        assert b"csrf" not in reply.body


def test_the_names_of_this_machine_are_ours(server: Served, browser: Client) -> None:
    port = server.url.rpartition(":")[2]
    for host in (f"127.0.0.1:{port}", f"localhost:{port}", f"LocalHost:{port}"):
        assert browser.request("GET", "/login", headers={"host": host}).status == 200


@pytest.mark.parametrize("hosts", [(), ("OURS", "evil.example"), ("OURS", "OURS")], ids=str)
def test_a_request_has_one_host(server: Served, hosts: tuple[str, ...]) -> None:
    ours = server.nobody.address
    lines = [f"Host: {ours if host == 'OURS' else host}" for host in hosts]
    sent = "\r\n".join(["GET /login HTTP/1.1", *lines, "Connection: close", "", ""]).encode()
    assert status(exchange_bytes(server.url, sent)) in (400, 403)
    old = "\r\n".join(["GET /login HTTP/1.0", *lines, "", ""]).encode()
    assert status(exchange_bytes(server.url, old)) in (400, 403)


def test_the_target_does_not_replace_the_host(server: Served) -> None:
    sent = head(server.url, "GET http://evil.example/login HTTP/1.1")
    assert status(exchange_bytes(server.url, sent)) == 404


# Secrets.


def test_a_token_in_a_url_is_not_one(server: Served) -> None:
    token = server.token("viewer", "for a url")
    secret = token.headers["authorization"].split()[1]
    for query in (
        f"?token={secret}",
        f"?access_token={secret}",
        f"?authorization=Bearer%20{secret}",
    ):
        assert server.nobody.request("GET", f"/api/v1/access{query}").status == 401


def test_a_token_is_no_cookie_and_a_cookie_no_token(server: Served, browser: Client) -> None:
    token = server.token("approver", "as a cookie").headers["authorization"].split()[1]
    name, _, secret = browser.headers["cookie"].partition("=")
    for headers in (
        {"cookie": f"{name}={token}"},
        {"authorization": f"Bearer {secret}"},
        {"authorization": f"Basic {token}"},
        {"authorization": token},
        {"authorization": "Bearer"},
        {"authorization": "Bearer  "},
        {"authorization": "Bearer wrong", "cookie": browser.headers["cookie"]},
    ):
        assert Client(server.url, headers).get("/access", 401)["error"] == "not_logged_in"


def everything_below(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


def test_no_secret_is_in_a_file_an_output_or_an_argument(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.ok("serve", "password", "--stdin", stdin=PASSWORD.encode())
    with served(world) as server:
        code = server.code()
        cookie = cookie_of(log_in(server.nobody, code=code))
        browser = Client(server.url, {"cookie": cookie, "origin": server.url})
        csrf = str(browser.get("/access")["csrf"])
        token = server.token("author").headers["authorization"].split()[1]
        unused = server.code()
        log_in(server.nobody, code="WRONG-CODES", password=PASSWORD)
        exchange_bytes(server.url, b"GET /%s HTTP/1.1\r\nbroken\r\n\r\n" % token.encode())
        listed = [
            world.run(*line).out
            for line in (("log",), ("log", "--json"), ("serve", "token", "--list"), ("status",))
        ]
        secrets = [code, code.replace("-", ""), unused, cookie.partition("=")[2], csrf, token]
        secrets += [PASSWORD]
        process = Path("/proc") / str(server.process.pid)
        arguments = b"".join((process / name).read_bytes() for name in ("cmdline", "environ"))
        found = everything_below(world.state) + everything_below(world.root) + arguments
        found += b"".join(listed)
    found += server.stdout + server.stderr
    assert len(found) > 10_000
    assert [each for each in secrets if each.encode() in found] == []


def test_who_may_use_the_server_is_in_no_log_of_a_workspace(server: Served) -> None:
    answer = server.world.run("log", "--json")
    assert answer.code == 0
    assert b"access_" not in answer.out
    assert b"access_" not in server.world.run("log").out


# Paths.


@pytest.mark.parametrize(
    "path",
    ["/api/v1/plans/../..", "/api/v1/plans/%2e%2e/%2e%2e", "/api/v1/plans/..%2f..%2fetc%2fpasswd",
     "/api/v1/plans/%00", "/api/v1/plans/a%00b/review", "/api/v1/plans/%ff%fe", "/../../etc/passwd",
     "//etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/login/../api/v1/access", "/api/v1/plans/%0d%0a",
     "/api/v1/plans/" + "a" * 20_000, "/api/v1//access", "/API/V1/access", "/api/v1/access/",
     "/api/v1/plans/" + quote("../" * 100, safe=""), "/static/../../../etc/passwd", "/.git/config"],
    ids=lambda path: path[:40],
)  # fmt: skip
def test_traversal_leads_nowhere(server: Served, browser: Client, path: str) -> None:
    cookie = f"Cookie: {browser.headers['cookie']}"
    answer = exchange_bytes(server.url, head(server.url, f"GET {path} HTTP/1.1", cookie))
    assert status(answer) in (307, 404)
    assert b"root:" not in answer
    assert server.nobody.request("GET", "/api/v1/access").status == 401


def test_a_head_that_is_too_long_is_refused(server: Served, browser: Client) -> None:
    for sent in (
        head(server.url, "GET /" + "a" * (40 * MAX_HEAD) + " HTTP/1.1"),
        head(server.url, "GET /login HTTP/1.1", "X-Long: " + "a" * (40 * MAX_HEAD)),
        head(server.url, "GET /login HTTP/1.1", *[f"X-{n}: {'a' * 50}" for n in range(40_000)]),
    ):
        assert status(exchange_bytes(server.url, sent)) == 400


# Headers and framing.


def test_header_injection_nothing_that_is_sent_becomes_a_header(server: Served) -> None:
    for path in (
        "/login?next=%0d%0aSet-Cookie:%20a=b",
        "/api/v1/%0d%0aX-Evil:%20yes",
        "/?%0aX-Evil:%20yes",
    ):
        answer = exchange_bytes(server.url, head(server.url, f"GET {path} HTTP/1.1"))
        names = answer.partition(b"\r\n\r\n")[0].lower()
        assert b"x-evil" not in names
        assert b"a=b" not in names
    for line in ("X: a\rSet-Cookie: a=b", "X: a\nSet-Cookie: a=b", "X: a\x00b", "X : a"):
        answer = exchange_bytes(server.url, head(server.url, "GET /login HTTP/1.1", line))
        assert b"a=b" not in answer
    name = {"user-agent": "a\tb"}
    assert log_in(server.nobody, name, code=server.code()).status == 200


@pytest.mark.parametrize(
    "lines",
    [
        ("Content-Length: 5", "Transfer-Encoding: chunked"),
        ("Transfer-Encoding: chunked", "Content-Length: 5"),
        ("Content-Length: 5", "Content-Length: 6"),
        ("Content-Length: -1",),
        ("Content-Length: +5",),
        ("Content-Length: 5 5",),
        ("Content-Length: " + "9" * 5_000,),
        ("Transfer-Encoding: gzip, chunked",),
        ("Transfer-Encoding: chunked, identity",),
        ("Transfer-Encoding: xchunked",),
        ("Transfer-Encoding : chunked",),
        ("Transfer-Encoding: chunked", "Transfer-Encoding: chunked"),
    ],
    ids=str,
)
def test_smuggling_what_is_ambiguous_is_refused_and_the_rest_is_no_request(
    server: Served, lines: tuple[str, ...]
) -> None:
    smuggled = head(server.url, "GET /login HTTP/1.1").replace(b"Connection: close\r\n", b"")
    first = head(server.url, "POST /login HTTP/1.1", f"Content-Type: {FORM}", *lines)
    first = first.replace(b"Connection: close\r\n", b"")
    answer = exchange_bytes(server.url, first + b"0\r\n\r\n" + smuggled)
    assert 400 <= status(answer) < 502
    assert len(re.findall(rb"^HTTP/1\.1 ", answer, re.MULTILINE)) == 1


def test_chunks_that_are_none_end_the_connection(server: Served) -> None:
    start = head(server.url, "POST /login HTTP/1.1", "Transfer-Encoding: chunked")
    for chunks in (
        b"zz\r\n\r\n",
        b"-1\r\n",
        b"5\r\nabc",
        b"ffffffffffffffffffff\r\n",
        b"1;a=\x00\r\n",
    ):
        with connect(server.url) as sock:
            sock.sendall(start + chunks)
            sock.shutdown(1)
            answer = read_to_end(sock)
        assert not answer or 400 <= status(answer) < 500


def test_huge_bodies_are_refused_before_they_are_read(server: Served, browser: Client) -> None:
    for path in ("/login", "/api/v1/plans"):
        sent = head(server.url, f"POST {path} HTTP/1.1", f"Content-Length: {1 << 40}",
                    "Expect: 100-continue")  # fmt: skip
        answer = exchange_bytes(server.url, sent)
        assert status(answer) == 413
        assert b"100 Continue" not in answer


def test_huge_chunked_bodies_are_read_no_further_than_the_limit(server: Served) -> None:
    """Without a login no more than a form is read; then the connection ends."""
    with connect(server.url) as sock:
        sock.sendall(head(server.url, "POST /login HTTP/1.1", "Transfer-Encoding: chunked"))
        chunk = b"%x\r\n" % MIB + b"a" * MIB + b"\r\n"
        sent = 0
        try:
            while sent < 2_000 * MIB:
                sock.sendall(chunk)
                sent += MIB
        except OSError:
            pass
    assert sent < 2_000 * MIB
    assert memory_of(server) < 300 * MIB


def memory_of(server: Served) -> int:
    text = Path(f"/proc/{server.process.pid}/status").read_text("utf-8")
    return int(text.partition("VmRSS:")[2].split()[0]) << 10


def test_a_form_is_short(server: Served) -> None:
    for fields in ({"code": "a" * 5_000}, {f"f{n}": "a" for n in range(100)}):
        assert log_in(server.nobody, **fields).status in (400, 413)
    raw = b"code=%ff%fe%00&code=&&&=;%zz"
    reply = server.nobody.request("POST", "/login", raw=raw, headers={"content-type": FORM})
    assert reply.status in (401, 429)


@pytest.mark.parametrize(
    "method", ["HEAD", "OPTIONS", "TRACE", "CONNECT", "PUT", "PROPFIND", "get", "X" * 500]
)
def test_other_methods_do_nothing(server: Served, browser: Client, method: str) -> None:
    cookie = f"Cookie: {browser.headers['cookie']}"
    for path in ("/login", "/logout", "/api/v1/access", "/api/v1/events", "/nothing", "*"):
        answer = exchange_bytes(server.url, head(server.url, f"{method} {path} HTTP/1.1", cookie))
        allowed = {200, 404} if method == "HEAD" else {400, 403, 404}
        assert status(answer) in allowed, path
        if method == "HEAD":
            assert answer.endswith(b"\r\n\r\n")
        assert b"x-evil" not in answer
    assert browser.get("/access")["kind"] == "cookie"


def test_an_upgrade_is_not_one(server: Served) -> None:
    for protocol in ("websocket", "h2c"):
        lines = (f"Upgrade: {protocol}", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: eA==")
        sent = head(server.url, "GET /login HTTP/1.1", *lines).replace(
            b"Connection: close", b"Connection: close, upgrade"
        )
        assert status(exchange_bytes(server.url, sent)) == 200


def test_what_is_not_http_is_answered_in_our_form(server: Served) -> None:
    for sent in (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
                 b"\x00" * 100, b"GET / HTTP/9.9\r\n\r\n", b"\r\n\r\n"):  # fmt: skip
        with connect(server.url) as sock:
            sock.sendall(sent)
            sock.shutdown(1)
            answer = read_to_end(sock)
        assert not answer or (status(answer) in (400, 403) and b'"error"' in answer)


def test_every_answer_has_safe_headers(server: Served, browser: Client) -> None:
    for reply in (
        browser.request("GET", "/"),
        browser.request("GET", "/login"),
        browser.request("GET", "/api/v1/access"),
        browser.request("GET", "/nothing"),
        browser.request("GET", "/login", headers={"host": "evil.example"}),
        server.nobody.request("GET", "/api/v1/access"),
    ):
        headers = {name.lower(): value for name, value in reply.headers.items()}
        assert SAFE_HEADERS.items() <= headers.items()
        assert "server" not in headers
    policy = SAFE_HEADERS["content-security-policy"]
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    bad = exchange_bytes(server.url, b"broken\r\n\r\n").lower()
    assert b"content-security-policy" in bad


# Streams of events.


@contextmanager
def open_stream(client: Client) -> Iterator[http.client.HTTPResponse]:
    connection = http.client.HTTPConnection(client.address, timeout=60)
    with closing(connection):
        connection.request("GET", "/api/v1/events", headers=client.headers)
        response = connection.getresponse()
        with closing(response):
            assert response.status == 200
            yield response


@pytest.mark.parametrize("kind", ["cookie", "token", "logout"])
def test_a_revoked_login_ends_its_streams_and_no_others(server: Served, kind: str) -> None:
    name = f"watcher {kind}"
    token, browser = server.token("viewer", name), server.browser("viewer")
    mine, other = (token, browser) if kind == "token" else (browser, token)
    with open_stream(mine) as ended, open_stream(other) as stays:
        began = time.monotonic()
        if kind == "token":
            server.world.ok("serve", "token", "--revoke", name)
        elif kind == "logout":
            assert mine.request("POST", "/logout").status == 200
        else:
            rows = server.world.ok("serve", "token", "--list")["access"]
            newest = [row["id"] for row in rows if row["kind"] == "cookie"][-1]
            server.world.ok("serve", "logout", newest)
        ended.read()  # to its proper end
        assert time.monotonic() - began < 10  # not with the next heartbeat
        assert stays.fp is not None
        assert not select.select([stays.fp], [], [], 0)[0] or stays.read1()
    mine.get("/access", 401)
    other.get("/access")


def test_no_stream_without_a_login_and_none_says_who_logs_in(server: Served) -> None:
    assert server.nobody.request("GET", "/api/v1/events").status == 401
    watcher = server.token("viewer", "curious")
    with open_stream(watcher) as stream:
        server.browser()
        server.world.ok("serve", "token", "--name", "another one")
        server.world.ok("serve", "token", "--revoke", "curious")
        assert not re.search(rb"access|granted|another one", stream.read())


# Limits are what they are thought to be.


def test_a_body_of_a_persons_size_is_read() -> None:
    assert BodyLimits().size == 16 * MIB


def test_the_server_still_answers(server: Served, browser: Client) -> None:
    assert browser.get("/access")["role"] == "approver"
