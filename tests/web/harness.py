"""A running server for tests: the real program on loopback, and clients that speak HTTP to it."""

import http.client
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urlencode, urlsplit

import msgspec
from tests.cli.harness import PROGRAM, World
from tests.support import forked_python

from assent.web.api import ENDPOINTS

WAIT_S = 60
TICK_S = 0.02
Found = TypeVar("Found")
FORM = "application/x-www-form-urlencoded"


class Reply(NamedTuple):
    """What the server answered."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> dict[str, Any]:
        found = msgspec.json.decode(self.body)
        assert isinstance(found, dict), self
        return found


class Client:
    """Somebody who calls the server: a browser with a cookie, a program with a token, or nobody."""

    def __init__(self, url: str, headers: Mapping[str, str] | None = None) -> None:
        self.url = url
        self.address = urlsplit(url).netloc
        self.headers = dict(headers or {})

    def request(
        self,
        method: str,
        path: str,
        body: object = None,
        headers: Mapping[str, str] | None = None,
        raw: bytes | None = None,
    ) -> Reply:
        """Sends one request on a connection of its own; `body` is sent as JSON, `raw` as it is."""
        connection = http.client.HTTPConnection(self.address, timeout=WAIT_S)
        sent = raw if body is None else msgspec.json.encode(body)
        try:
            connection.request(method, path, sent, {**self.headers, **(headers or {})})
            response = connection.getresponse()
            return Reply(response.status, dict(response.getheaders()), response.read())
        finally:
            connection.close()

    def get(self, path: str, status: int = 200) -> dict[str, Any]:
        """Reads something of the API, below `/api/v1`."""
        return self._call("GET", path, None, status)

    def post(self, path: str, body: object = None, status: int = 200) -> dict[str, Any]:
        """Changes something of the API."""
        return self._call("POST", path, body, status)

    def patch(self, path: str, body: object = None, status: int = 200) -> dict[str, Any]:
        return self._call("PATCH", path, body, status)

    def delete(self, path: str, status: int = 200) -> dict[str, Any]:
        return self._call("DELETE", path, None, status)

    def _call(self, method: str, path: str, body: object, status: int) -> dict[str, Any]:
        reply = self.request(method, f"/api/v1{path}", body)
        assert reply.status == status, reply
        found = reply.json
        if status >= 400:
            assert found.keys() - {"changed"} == {"error", "message", "next"}, found
        else:
            check_answer(method, path, found)
        return found


def check_answer(method: str, path: str, found: dict[str, Any]) -> None:
    """Holds an answer to what the OpenAPI document says about it: no field less, and none more."""
    for endpoint in ENDPOINTS:
        pattern = re.sub(r"\\{\w+\\}", "[^/]+", re.escape(endpoint.path))
        if endpoint.method == method and re.fullmatch(pattern, path.partition("?")[0]):
            described: object = msgspec.convert(found, endpoint.answer)
            assert msgspec.to_builtins(described) == found, endpoint.answer
            return


class Served:
    """A server of a world, and the clients it knows."""

    def __init__(self, world: World, url: str, process: Any) -> None:
        self.world = world
        self.url = url
        self.process = process
        self.first = b""  # line of its stdout
        self.stdout = self.stderr = b""  # all that it printed, once it has ended

    @property
    def nobody(self) -> Client:
        return Client(self.url)

    def code(self, role: str = "approver") -> str:
        """Returns a one-time code, which the user's configuration lets a program have."""
        return str(self.world.ok("serve", "code", "--role", role)["code"])

    def browser(self, role: str = "approver") -> Client:
        """Logs in as a browser does, and returns it with its cookie and its CSRF token."""
        form = urlencode({"code": self.code(role)}).encode()
        reply = self.nobody.request("POST", "/login", raw=form, headers={"content-type": FORM})
        assert reply.status == 200, reply
        cookie = reply.headers["set-cookie"].partition(";")[0]
        client = Client(self.url, {"cookie": cookie, "origin": self.url})
        client.headers["x-assent-csrf"] = client.get("/access")["csrf"]
        return client

    def token(self, role: str = "viewer", name: str = "program") -> Client:
        """Creates a token for a program, and returns a client that has it."""
        row = self.world.ok("serve", "token", "--name", name, "--role", role)
        return Client(self.url, {"authorization": f"Bearer {row['token']}"})

    def kill(self) -> None:
        """Ends the server at once, as a crash would."""
        self.process.kill()
        self.process.wait(WAIT_S)


@contextmanager
def served(world: World, *options: str, opens: bool = False) -> Iterator[Served]:
    """Starts the server of a world, and stops it in the end."""
    line = [*PROGRAM, "serve", "--json", *([] if opens else ["--no-open"]), *options]
    process = forked_python.Popen(
        line, cwd=world.root, env=world.env, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    assert process.stdout
    assert process.stderr
    try:
        first = process.stdout.readline()
        if not first:
            raise AssertionError(process.stderr.read())
        found = Served(world, msgspec.json.decode(first)["url"], process)
        found.first = first
        yield found
        process.send_signal(signal.SIGTERM)
        found.stdout, found.stderr = process.communicate(timeout=WAIT_S)
        found.stdout = first + found.stdout
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        try:
            process.wait(WAIT_S)
        finally:
            process.kill()
            process.wait()
            process.stdout.close()
            process.stderr.close()


def wait_for(found: Callable[[], Found | None], what: str = "what was waited for") -> Found:
    """Returns what a look finds, as soon as it finds it."""
    end = time.monotonic() + WAIT_S
    while time.monotonic() < end:
        value = found()
        if value:
            return value
        time.sleep(TICK_S)
    raise AssertionError(f"{what} did not come in {WAIT_S} s")
