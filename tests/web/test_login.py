"""The login: a one-time code becomes a cookie, once, soon, and for the one who has it."""

import re
import threading
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlencode

import pytest
from tests.cli.harness import World
from tests.cli.terminal import Terminal
from tests.web.harness import FORM, Client, Reply, Served, served

from assent.core.access import ACCESS_STREAM, CODE_S, COOKIE_S
from assent.core.errors import NotFound, UsageError
from assent.store.memory import MemoryEventStore
from assent.web.access import (
    FREE_FAILURES,
    MAX_PASSWORD_TRIES,
    AccessControl,
    LoginLimiter,
    new_code,
)
from assent.web.errors import LoginFailed

PASSWORD = "correct horse battery"


class StillClock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.seconds = 1_000_000
        self.ids = 0

    def now(self) -> str:
        return self.later(0)

    def later(self, seconds: int) -> str:
        return f"{self.seconds + seconds:020}"

    def new_id(self) -> str:
        self.ids += 1
        return f"id-{self.ids}"


def log_in(client: Client, headers: dict[str, str] | None = None, **fields: str) -> Reply:
    sent = {"content-type": FORM, **(headers or {})}
    return client.request("POST", "/login", raw=urlencode(fields).encode(), headers=sent)


def cookie_of(reply: Reply) -> str:
    assert reply.status == 200, reply
    return reply.headers["set-cookie"].partition(";")[0]


@pytest.fixture
def clock() -> StillClock:
    return StillClock()


@pytest.fixture
def store() -> MemoryEventStore:
    return MemoryEventStore()


@pytest.fixture
def access(store: MemoryEventStore, clock: StillClock) -> AccessControl:
    return AccessControl(store, clock)


# Codes.


def test_a_code_works_once(server: Served) -> None:
    code = server.code()
    assert log_in(server.nobody, code=code).status == 200
    reply = log_in(server.nobody, code=code)
    assert (reply.status, reply.headers.get("set-cookie")) == (401, None)


def test_a_code_may_be_typed_in_small_letters_and_without_its_dash(server: Served) -> None:
    code = server.code().lower().replace("-", " ")
    assert log_in(server.nobody, code=f" {code} ").status == 200


def test_of_many_who_use_a_code_at_the_same_time_one_gets_in(server: Served) -> None:
    code, start = server.code(), threading.Barrier(8)

    def attempt(_: int) -> int:
        start.wait()
        return log_in(server.nobody, code=code).status

    with ThreadPoolExecutor(8) as pool:
        statuses = sorted(pool.map(attempt, range(8)))
    assert statuses[0] == 200
    assert set(statuses[1:]) <= {401, 429}


def test_two_processes_cannot_use_one_code(store: MemoryEventStore, clock: StillClock) -> None:
    one, other = AccessControl(store, clock), AccessControl(store, clock)
    code, _ = one.issue_code("viewer", "ada")
    assert other.is_open(code)
    one.log_in(code, "first", "ada")
    with pytest.raises(LoginFailed):
        other.log_in(code, "second", "ada")
    assert [each.name for each in other.current()] == ["first"]


def test_a_code_is_too_old_after_five_minutes(access: AccessControl, clock: StillClock) -> None:
    code, expires = access.issue_code("approver", "ada")
    assert expires == clock.later(CODE_S)
    clock.seconds += CODE_S - 1
    assert access.is_open(code)
    clock.seconds += 1
    assert not access.is_open(code)
    with pytest.raises(LoginFailed):
        access.log_in(code, "browser", "ada")


def test_codes_are_long_and_never_the_same() -> None:
    codes = {new_code() for _ in range(2_000)}
    assert len(codes) == 2_000
    assert all(re.fullmatch(r"[A-Z2-7]{5}-[A-Z2-7]{5}", code) for code in codes)


def test_neither_a_url_nor_json_logs_in(server: Served) -> None:
    code = server.code()
    assert server.nobody.request("GET", f"/login?code={code}").status == 200
    assert server.nobody.request("POST", f"/login?code={code}").status == 401
    assert server.nobody.request("POST", "/login", {"code": code}).status == 401
    assert log_in(server.nobody, code=code).status == 200  # none of them used it up


def test_the_form_asks_for_a_code_and_runs_no_script(server: Served) -> None:
    reply = server.nobody.request("GET", "/login")
    assert b'name="code"' in reply.body
    assert b'name="password"' not in reply.body
    assert not re.search(rb"<script|<style|style=|onclick|https?://", reply.body)
    assert reply.headers["content-type"].startswith("text/html")


# Cookies.


def test_the_cookie_is_for_this_server_and_no_script(server: Served) -> None:
    reply = log_in(server.nobody, code=server.code())
    name, *attributes = reply.headers["set-cookie"].split("; ")
    port = server.url.rpartition(":")[2]
    assert name.startswith(f"assent-{port}=")
    assert len(name.partition("=")[2]) >= 43  # 256 bits
    assert sorted(each.lower() for each in attributes) == [
        "httponly", f"max-age={COOKIE_S}", "path=/", "samesite=strict",
    ]  # fmt: skip


def test_a_cookie_survives_a_restart_and_a_crash(world: World) -> None:
    with served(world) as first:
        browser = first.browser("author")
        first.kill()
    with served(world) as second:
        assert second.url == first.url  # the port is taken again
        again = Client(second.url, browser.headers)
        assert again.get("/access")["role"] == "author"


def test_a_cookie_ends_after_thirty_days(access: AccessControl, clock: StillClock) -> None:
    code, _ = access.issue_code("approver", "ada")
    secret = access.log_in(code, "browser", "ada")
    clock.seconds += COOKIE_S - 1
    assert access.find(secret) is not None
    clock.seconds += 1
    assert access.find(secret) is None
    assert not access.is_valid(secret)
    assert access.current() == []


def test_a_browser_logs_out_and_no_other(server: Served) -> None:
    browser, other = server.browser(), server.browser()
    csrf = browser.headers.pop("x-assent-csrf")
    refused = browser.request("POST", "/logout", raw=b"", headers={"content-type": FORM})
    assert refused.status == 403
    assert browser.get("/access")["kind"] == "cookie"
    form = urlencode({"csrf": csrf}).encode()
    reply = browser.request("POST", "/logout", raw=form, headers={"content-type": FORM})
    assert reply.status == 200
    assert "max-age=0" in reply.headers["set-cookie"].lower()
    assert browser.get("/access", 401)["error"] == "not_logged_in"
    assert other.get("/access")["kind"] == "cookie"


def test_the_first_page_says_who_is_logged_in_and_logs_out(server: Served) -> None:
    stranger = server.nobody.request("GET", "/")
    assert (stranger.status, stranger.headers["location"]) == (303, "/login")
    browser = server.browser("viewer")
    page = browser.request("GET", "/").body.decode()
    assert "role viewer" in page
    (csrf,) = re.findall(r'name="csrf" value="(\w+)"', page)
    assert csrf == browser.headers["x-assent-csrf"]


def test_a_token_does_not_log_out(server: Served) -> None:
    token = server.token()
    assert token.request("POST", "/logout").status == 403
    assert token.get("/access")["kind"] == "token"


def test_what_a_browser_calls_itself_is_shown_and_steers_nothing(server: Served) -> None:
    sent = {"user-agent": "<b>Fire\x1b[2Jfox</b> " + "x" * 200}
    browser = Client(
        server.url, {"cookie": cookie_of(log_in(server.nobody, sent, code=server.code()))}
    )
    name = browser.get("/access")["name"]
    assert len(name) <= 60
    assert name.isprintable()
    assert b"<b>" not in browser.request("GET", "/").body
    assert b"\x1b" not in server.world.run("serve", "token", "--list").out


# Failed logins.


def test_failed_logins_are_slowed_and_a_right_code_still_counts(server: Served) -> None:
    code = server.code()
    statuses = [log_in(server.nobody, code=new_code()).status for _ in range(FREE_FAILURES)]
    assert statuses == [401] * FREE_FAILURES
    slowed = log_in(server.nobody, code=new_code())
    assert slowed.status == 429
    assert int(slowed.headers["retry-after"]) >= 1
    assert log_in(server.nobody, code=code).status == 200


def test_who_guesses_holds_up_no_one_else(server: Served) -> None:
    code, browser = server.code(), server.browser()
    with ThreadPoolExecutor(32) as pool:
        guesses = [pool.submit(log_in, server.nobody, code=new_code()) for _ in range(200)]
        assert browser.get("/access")["kind"] == "cookie"
        assert log_in(server.nobody, code=code).status == 200
        assert {each.result().status for each in guesses} == {401, 429}


def test_waits_grow_and_failures_are_forgotten() -> None:
    now = [0.0]
    limiter = LoginLimiter(lambda: now[0])
    assert [limiter.failed() for _ in range(12)] == [0.0] * 5 + [2, 4, 8, 16, 30, 30, 30]
    now[0] += 61
    assert limiter.failed() == 0.0


def test_few_answers_are_held_back_at_a_time() -> None:
    limiter = LoginLimiter()
    held = [limiter.holding(30) for _ in range(100)]
    assert sum(bool(each.__enter__()) for each in held) == 64
    for each in held:
        each.__exit__(None, None, None)
    with limiter.holding(30) as wait:
        assert wait == 2


# The password, for logins from other machines.


def test_another_host_needs_a_password_first(world: World) -> None:
    error = world.no(2, "serve", "--host", "0.0.0.0")
    assert error["next"] == "assent serve password"
    assert "0.0.0.0" in error["message"]


def test_another_host_needs_a_code_and_the_password(world: World) -> None:
    world.ok("serve", "password", "--stdin", stdin=PASSWORD.encode() + b"\n")
    with served(world, "--host", "0.0.0.0") as server:
        assert b'name="password"' in server.nobody.request("GET", "/login").body
        code = server.code()
        asked = log_in(server.nobody, code=code)
        assert asked.status == 401
        assert f'value="{code}"'.encode() in asked.body  # so that only the password is missing
        assert log_in(server.nobody, code=code, password="wrong").status == 401
        assert log_in(server.nobody, code=new_code(), password=PASSWORD).status == 401
        assert log_in(server.nobody, code=code, password=PASSWORD).status == 200
        loopback = Client(f"http://127.0.0.1:{server.url.rpartition(':')[2]}")
        assert loopback.request("GET", "/login").status == 200
    assert b"Not encrypted" in server.stderr


def test_only_a_few_passwords_can_be_tried_with_a_code(access: AccessControl) -> None:
    access.set_password(PASSWORD, "ada")
    code, _ = access.issue_code("approver", "ada")
    for _ in range(MAX_PASSWORD_TRIES):
        with pytest.raises(LoginFailed):
            access.log_in(code, "browser", "ada", "wrong")
    with pytest.raises(LoginFailed):
        access.log_in(code, "browser", "ada", PASSWORD)
    fresh, _ = access.issue_code("approver", "ada")
    assert access.log_in(fresh, "browser", "ada", PASSWORD)


def test_without_a_password_none_is_right(access: AccessControl) -> None:
    code, _ = access.issue_code("approver", "ada")
    for tried in ("", "anything"):
        with pytest.raises(LoginFailed):
            access.log_in(code, "browser", "ada", tried)


def test_a_password_is_typed_twice_and_not_shown(world: World) -> None:
    terminal = Terminal(world, "serve", "password", "--json")
    for question in (b"New password: ", b"Again: "):
        terminal.wait_for(question)
        terminal.type(PASSWORD.encode() + b"\n")
    answer = terminal.end()
    assert (answer.code, answer.json) == (0, {"password": True})
    assert PASSWORD.encode() not in terminal.screen
    assert world.ok("serve", "password", "--remove") == {"password": False}


def test_passwords_that_differ_or_are_short_change_nothing(world: World) -> None:
    terminal = Terminal(world, "serve", "password", "--json")
    terminal.wait_for(b"New password: ")
    terminal.type(b"correct horse\n")
    terminal.wait_for(b"Again: ")
    terminal.type(b"correct house\n")
    assert terminal.end().error["error"] == "usage"
    assert world.no(2, "serve", "password", "--stdin", stdin=b"short\n")["error"] == "usage"
    assert world.no(2, "serve", "--host", "0.0.0.0")["next"] == "assent serve password"


def test_without_a_terminal_no_password_is_set(tmp_path_factory: pytest.TempPathFactory) -> None:
    strict = World(tmp_path_factory.mktemp("strict"), config="")
    for more in ((), ("--stdin",)):
        assert strict.process("serve", "password", "--json", *more, stdin=b"x" * 20).code == 4


# What is recorded.


def test_a_name_is_used_once_and_is_readable(access: AccessControl) -> None:
    access.create_token("ci", "viewer", "ada")
    for bad in ("ci", "", "x" * 61, "a\nb", "a\x1b"):
        with pytest.raises(UsageError):
            access.create_token(bad, "viewer", "ada")
    with pytest.raises(NotFound):
        access.revoke("nothing", "ada")


def test_only_hashes_are_recorded(access: AccessControl, store: MemoryEventStore) -> None:
    code, _ = access.issue_code("approver", "ada")
    secrets = [code, access.log_in(code, "browser", "ada"), access.create_token("t", "viewer", "a")]
    access.set_password(PASSWORD, "ada")
    recorded = repr([each.event for each in store.read(ACCESS_STREAM)])
    assert not [each for each in (*secrets, PASSWORD) if each in recorded]
