"""A server in a thread of the test, for limits and tables of endpoints that tests choose."""

import asyncio
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any

from starlette.types import ASGIApp
from tests.web.harness import Client

from assent.core.event import Role
from assent.ports.storage import Clock
from assent.store.clock import SystemClock
from assent.store.memory import MemoryEventStore
from assent.web.access import AccessControl
from assent.web.app import make_app, watch_access
from assent.web.caller import csrf_token
from assent.web.endpoint import Endpoint
from assent.web.event_feed import EventFeed
from assent.web.host import ServerHost
from assent.web.listener import ConnectionLimits, make_listener, open_socket, serve
from assent.web.origins import make_origins
from assent.web.server import Server, ServerOptions

WAIT_S = 30


class EmptyHost(ServerHost):
    """A host without workspaces."""

    user = "ada"

    def roots(self) -> list[str]:
        return []

    def engine(self, root: str) -> Any:
        raise AssertionError(root)

    def runtime(self, root: str, asker: Any, model: str, agent: str) -> Any:
        raise AssertionError(root)

    def close(self) -> None: ...


@contextmanager
def listening(
    app: ASGIApp, limits: ConnectionLimits, port_socket: Any, *tasks: Any
) -> Iterator[str]:
    """Serves an application on loopback; yields its URL."""
    listener = make_listener(app, limits)

    def run() -> None:
        asyncio.run(serve(listener, port_socket, *(task() for task in tasks)))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{port_socket.getsockname()[1]}"
    finally:
        listener.stop()
        thread.join(WAIT_S)
        assert not thread.is_alive()


class SmallServer:
    """A server with a table of endpoints, and those who may use it."""

    def __init__(self, url: str, server: Server) -> None:
        self.url = url
        self.server = server

    def browser(self, role: Role) -> Client:
        access = self.server.access
        code, _ = access.issue_code(role, "ada")
        secret = access.log_in(code, f"browser of {role}", "ada")
        cookie = f"{self.server.cookie}={secret}"
        headers = {"cookie": cookie, "origin": self.url, "x-assent-csrf": csrf_token(secret)}
        return Client(self.url, headers)

    def token(self, role: Role) -> Client:
        secret = self.server.access.create_token(f"token of {role}", role, "ada")
        return Client(self.url, {"authorization": f"Bearer {secret}"})


@contextmanager
def small_server(
    endpoints: Sequence[Endpoint] = (),
    *,
    tokens_decide: bool = False,
    limits: ConnectionLimits | None = None,
    clock: Clock | None = None,
) -> Iterator[SmallServer]:
    store = MemoryEventStore()
    access = AccessControl(store, clock or SystemClock())
    with closing(open_socket("127.0.0.1", 0)) as port_socket:
        port = port_socket.getsockname()[1]
        options = ServerOptions(port, make_origins("127.0.0.1", port), tokens_decide=tokens_decide)
        feed = EventFeed(store, lambda stored: None)
        with closing(Server(EmptyHost(), access, feed, options)) as server:
            app = make_app(server, endpoints)
            tasks = (feed.run, lambda: watch_access(server))
            with listening(app, limits or ConnectionLimits(), port_socket, *tasks) as url:
                yield SmallServer(url, server)
