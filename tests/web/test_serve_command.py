"""`assent serve` and its commands: start, one-time codes, tokens, workspaces, and the end."""

import os
import re
import socket
import stat
import time
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
from tests.cli.harness import World
from tests.cli.terminal import Terminal
from tests.web.harness import Client, Served, served
from tests.web.test_login import cookie_of, log_in

from assent.app.server import FORMAT, ServerAddress, process_start
from assent.store.cache_file import LocalCacheFile

CODE = re.compile(rb"[A-Z2-7]{5}-[A-Z2-7]{5}")
WAIT_S = 30


@pytest.fixture
def strict(tmp_path: Path) -> World:
    """A user whose configuration says nothing."""
    return World(tmp_path / "strict", config="")


def wait_until_gone(path: Path) -> None:
    until = time.monotonic() + WAIT_S
    while path.exists():
        assert time.monotonic() < until
        time.sleep(0.02)


def first_line(terminal: Terminal) -> dict[str, object]:
    found: dict[str, object] = msgspec.json.decode(terminal.stdout.readline())
    return found


# Start.


def test_the_first_line_is_the_url_and_the_process(server: Served) -> None:
    assert server.process.poll() is None
    row = msgspec.json.decode(server.first)
    assert row == {"url": server.url, "pid": server.process.pid}
    assert re.fullmatch(r"http://127\.0\.0\.1:[0-9]+", server.url)


def test_without_a_terminal_there_is_no_code(strict: World) -> None:
    with served(strict) as server:
        answer = strict.process("serve", "code", "--json")
        assert (answer.code, answer.error["error"]) == (4, "declined")
    assert not CODE.search(server.stdout + server.stderr + answer.out + answer.err)
    assert b"assent serve code" in server.stderr  # how to get one


def test_a_code_is_in_the_answer_if_the_user_allows_that(server: Served) -> None:
    row = server.world.ok("serve", "code", "--role", "author")
    assert row.keys() == {"url", "code", "role", "expires"}
    assert (row["url"], row["role"]) == (server.url, "author")
    browser = Client(server.url, {"cookie": cookie_of(log_in(server.nobody, code=row["code"]))})
    assert browser.get("/access")["role"] == "author"


def test_a_code_without_a_server_names_what_starts_one(world: World) -> None:
    assert world.no(1, "serve", "code")["next"] == "assent serve"


def test_on_a_terminal_the_code_is_there_and_nowhere_else(strict: World) -> None:
    with served(strict) as server:
        terminal = Terminal(strict, "serve", "code", "--role", "viewer", "--json")
        answer = terminal.end()
        (code,) = CODE.findall(terminal.screen)
        assert answer.code == 0
        assert answer.json == {**answer.json, "code": None, "role": "viewer", "url": server.url}
        assert not CODE.search(answer.out + answer.err)
        browser = Client(
            server.url, {"cookie": cookie_of(log_in(server.nobody, code=code.decode()))}
        )
        assert browser.get("/access")["role"] == "viewer"


def test_a_project_cannot_make_codes_visible_or_tokens_decide(strict: World) -> None:
    strict.put(
        ".opencode/assent.toml",
        b"[approve]\nwithout_terminal = true\n[serve]\ntoken_may_decide = true\n"
        b"public_url = 'https://evil.example'\n",
    )
    with served(strict) as server:
        assert strict.process("serve", "code", "--json").code == 4
        assert server.token("approver").get("/access")["decides"] is False
        reply = server.nobody.request("GET", "/login", headers={"host": "evil.example"})
        assert reply.status == 403


# The browser.


@pytest.fixture
def browser_log(strict: World) -> Path:
    """A browser that notes its arguments and the page that it was opened on."""
    log = strict.base / "opened"
    program = strict.base / "browser"
    program.write_text(f'#!/bin/sh\necho "$@" > {log}.part\nmv {log}.part {log}\n', "utf-8")
    program.chmod(0o755)
    strict.env["BROWSER"] = str(program)
    return log


def opened(log: Path) -> str:
    until = time.monotonic() + WAIT_S
    while not log.exists():
        assert time.monotonic() < until
        time.sleep(0.02)
    return log.read_text("utf-8").strip()


def test_the_browser_is_opened_on_a_private_file_that_is_gone_after_use(
    strict: World, browser_log: Path
) -> None:
    terminal = Terminal(strict, "serve", "--json")
    row = first_line(terminal)
    address = opened(browser_log)
    assert not CODE.search(address.encode())
    page = Path(address.removeprefix("file://"))
    assert stat.S_IMODE(page.stat().st_mode) == 0o600
    assert stat.S_IMODE(page.parent.stat().st_mode) == 0o700
    (code,) = re.findall(r'name="code" value="([^"]+)"', page.read_text("utf-8"))
    terminal.wait_for(b"One-time code")
    assert code.encode() not in terminal.screen  # the one on the screen is another
    client = Client(str(row["url"]))
    # As a browser sends the form of a file.
    headers = {"origin": "null", "sec-fetch-site": "cross-site", "sec-fetch-dest": "document"}
    assert log_in(client, headers, code=code).status == 200
    wait_until_gone(page)
    strict.ok("serve", "stop")
    assert terminal.end().code == 0


def test_the_private_file_is_gone_when_the_server_ends_or_starts_again(
    strict: World, browser_log: Path
) -> None:
    terminal = Terminal(strict, "serve", "--json")
    page = Path(opened(browser_log).removeprefix("file://"))
    strict.ok("serve", "stop")
    assert terminal.end().code == 0
    assert not page.exists()
    page.write_text("left by a server that was killed", "utf-8")
    with served(strict):
        assert not page.exists()


@pytest.mark.parametrize("options", [("--no-open",), ()], ids=["no-open", "no terminal"])
def test_no_browser_is_opened_without_a_terminal_or_if_unwanted(
    strict: World, browser_log: Path, options: tuple[str, ...]
) -> None:
    if options:
        terminal = Terminal(strict, "serve", "--json", *options)
        first_line(terminal)
        terminal.wait_for(b"One-time code")
        strict.ok("serve", "stop")
        terminal.end()
    else:
        answer = strict.start(["true"])
        with served(strict, opens=True):
            assert answer.code == 0
    assert not browser_log.exists()
    assert not (strict.state / "assent" / "serve" / "login.html").exists()


# A second server, the port, the end.


def test_a_second_server_names_the_first_and_a_fresh_code(server: Served) -> None:
    error = server.world.no(1, "serve", "--no-open")
    assert (error["error"], error["next"]) == ("busy", "assent serve code")
    assert server.url in error["message"]


def test_a_second_server_on_a_terminal_shows_a_fresh_code(strict: World) -> None:
    with served(strict) as server:
        terminal = Terminal(strict, "serve", "--no-open")
        terminal.wait_for(b"[y/N] ")
        terminal.type(b"y\n")
        answer = terminal.end()
        assert answer.code == 0
        (code,) = CODE.findall(terminal.screen)
        assert not CODE.search(answer.out + answer.err)
        assert log_in(server.nobody, code=code.decode()).status == 200


def test_the_port_is_taken_again_unless_another_has_it(world: World) -> None:
    with served(world) as first:
        port = int(first.url.rpartition(":")[2])
    with served(world) as second:
        assert second.url == first.url
    with closing(socket.create_server(("127.0.0.1", port))), served(world) as third:
        assert third.url != first.url
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        number = str(taken.getsockname()[1])
        error = world.no(2, "serve", "--port", number, "--no-open")
    assert number in error["message"]


def test_an_address_that_is_not_ours_cannot_be_served(world: World) -> None:
    world.ok("serve", "password", "--stdin", stdin=b"a long password\n")
    assert world.no(2, "serve", "--host", "203.0.113.7")["error"] == "usage"


def test_stop_ends_the_server_in_good_order(world: World) -> None:
    assert world.ok("serve", "stop") == {"stopped": False}
    with served(world) as server:
        assert world.ok("serve", "stop") == {"stopped": True}
        assert server.process.wait(WAIT_S) == 0
        assert world.no(1, "serve", "code")["next"] == "assent serve"


def test_a_stale_address_never_ends_another_process(world: World) -> None:
    """After a crash another process may have the id of the server."""
    with served(world) as server:
        file = LocalCacheFile(str(world.state / "assent" / "serve" / "address"), lambda: FORMAT)
        real = msgspec.json.decode(file.read(), type=ServerAddress)
        assert real.started == process_start(server.process.pid)
        file.write(msgspec.json.encode(ServerAddress(real.url, real.port, os.getpid(), "1")))
        assert world.no(1, "serve", "code")["error"] == "not_found"  # and this process goes on
        file.write(msgspec.json.encode(real))


def test_a_damaged_address_file_is_as_none(world: World) -> None:
    with served(world):
        pass
    (world.state / "assent" / "serve" / "address").write_bytes(b"\xff damaged")
    with served(world) as server:
        assert server.browser().get("/access")["role"] == "approver"


# Workspaces.


def test_several_workspaces_and_those_that_are_added(world: World) -> None:
    more = [world.base / name for name in ("one", "two", "three")]
    for folder in more:
        folder.mkdir()
        world.run("init", folder=folder)
    with served(world, "--workspace", str(more[0]), "--workspace", str(more[1])) as server:
        token = server.token()
        names = [row["name"] for row in token.get("/workspaces")["workspaces"]]
        assert names == ["one", "two"]
        assert world.ok("serve", "add", str(more[2]))["served"] is True
        names = [row["name"] for row in token.get("/workspaces")["workspaces"]]
        assert names == ["one", "two", "three"]
        assert world.ok("serve", "add", str(more[2]), "--remove")["served"] is False
        assert len(token.get("/workspaces")["workspaces"]) == 2
        world.no(2, "serve", "add", str(more[2]), "--remove")
    world.ok("serve", "add", str(more[2]))
    with served(world) as server:
        headers = token.headers
        rows = Client(server.url, headers).get("/workspaces")["workspaces"]
        assert [row["name"] for row in rows] == ["project", "three"]


def test_a_folder_that_is_not_there_is_not_served(world: World) -> None:
    world.no(2, "serve", "add", str(world.base / "nothing"))
    world.no(2, "serve", "--workspace", str(world.base / "nothing"), "--no-open")


# Tokens and logins.


def test_a_token_is_created_with_or_without_a_name(world: World) -> None:
    first = world.ok("serve", "token")
    assert first.keys() == {"token", "name", "role"}
    assert (first["name"], first["role"]) == ("token-1", "viewer")
    assert world.ok("serve", "token")["name"] == "token-2"
    named = world.ok("serve", "token", "--name", "ci", "--role", "author")
    assert (named["name"], named["role"]) == ("ci", "author")
    assert world.no(2, "serve", "token", "--name", "ci")["next"] == "assent serve token --list"
    assert world.run("serve", "token", "--name", "plain").out.startswith(b"assent_")


def test_tokens_and_logins_are_listed_and_revoked_without_secrets(server: Served) -> None:
    token, browser = server.token("author", "ci"), server.browser("viewer")
    rows = server.world.ok("serve", "token", "--list")["access"]
    assert [(row["kind"], row["role"]) for row in rows] == [
        ("token", "author"),
        ("cookie", "viewer"),
    ]
    text = server.world.run("serve", "token", "--list").out.decode()
    secrets = [*token.headers.values(), *browser.headers.values()]
    assert not [each for each in secrets if each.removeprefix("Bearer ") in text + repr(rows)]
    assert server.world.ok("serve", "token", "--revoke", "ci") == {"revoked": "ci"}
    assert token.get("/access", 401)["error"] == "not_logged_in"
    assert server.world.ok("serve", "logout", rows[1]["id"])["revoked"] == [rows[1]["name"]]
    assert browser.get("/access", 401)["error"] == "not_logged_in"
    assert server.world.no(1, "serve", "token", "--revoke", "ci")["error"] == "not_found"


def test_logout_ends_every_login_and_tokens_on_request(server: Served) -> None:
    token, browsers = server.token(), [server.browser(), server.browser("viewer")]
    assert len(server.world.ok("serve", "logout")["revoked"]) == 2
    for browser in browsers:
        browser.get("/access", 401)
    token.get("/access")
    assert server.world.ok("serve", "logout", "--tokens")["revoked"] == ["program"]
    token.get("/access", 401)


def test_options_that_exclude_each_other_are_refused(world: World) -> None:
    for line in (
        ("token", "--list", "--revoke", "x"),
        ("logout", "x", "--tokens"),
        ("password", "--remove", "--stdin"),
        ("token", "--role", "owner"),
    ):
        assert world.no(2, "serve", *line)["error"] == "usage"


@pytest.mark.parametrize("host", ["", " "])
def test_a_host_that_is_no_address_is_refused(world: World, host: str) -> None:
    world.ok("serve", "password", "--stdin", stdin=b"a long password\n")  # else that is missing
    error = world.no(2, "serve", "--no-open", "--host", host)
    assert (error["error"], "--host" in error["message"]) == ("usage", True)


@pytest.mark.parametrize("command", ["", "code", "token", "logout", "password", "add", "stop"])
def test_help_has_an_example(world: World, command: str) -> None:
    answer = world.run("serve", *filter(None, [command]), "--help")
    assert answer.code == 0
    assert f"assent serve {command}".strip() in answer.out.decode().partition("Examples:")[2]


# A proxy.


def proxied(world: World, url: str) -> None:
    config = world.config.read_text("utf-8")
    world.config.write_text(f"{config}[serve]\npublic_url = '{url}'\n", "utf-8")


@pytest.mark.parametrize("url", ["https://a.example/path", "a.example", "ftp://a", "https://a:x"])
def test_a_public_url_that_is_not_one_is_refused(world: World, url: str) -> None:
    proxied(world, url)
    error = world.no(2, "serve", "--no-open")
    assert "serve.public_url" in error["message"]


def test_behind_a_proxy_its_host_and_origin_are_ours_and_the_cookie_is_encrypted(
    world: World,
) -> None:
    proxied(world, "https://Assent.example")
    with served(world) as server:
        for host in ("assent.example", server.nobody.address):  # proxies keep it, or do not
            headers = {"host": host, "origin": "https://assent.example"}
            reply = log_in(server.nobody, headers, code=server.code())
            name, *attributes = reply.headers["set-cookie"].split("; ")
            assert name.startswith("__Host-assent-")
            assert "Secure" in attributes
            browser = Client(server.url, {**headers, "cookie": name})
            browser.headers["x-assent-csrf"] = browser.get("/access")["csrf"]
            assert browser.request("POST", "/logout").status == 200
        others = {"host": "assent.example", "origin": "https://other.example"}
        assert log_in(server.nobody, others, code=server.code()).status == 403
        # On this machine it is reached as before, unencrypted.
        direct = log_in(server.nobody, {"origin": server.url}, code=server.code())
        assert "Secure" not in direct.headers["set-cookie"]
    assert b"assent serve password" in server.stderr


def test_behind_a_proxy_a_password_counts_if_there_is_one(world: World) -> None:
    proxied(world, "https://assent.example")
    world.ok("serve", "password", "--stdin", stdin=b"a long password\n")
    with served(world) as server:
        headers = {"host": "assent.example", "origin": "https://assent.example"}
        code = server.code()
        assert log_in(server.nobody, headers, code=code).status == 401
        reply = log_in(server.nobody, headers, code=code, password="a long password")
        assert reply.status == 200
