"""The registry of models: what it opens to ask a server is closed again."""

import socket
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing

import pytest
from tests.llm.server import serving

from assent.app.models import ModelRegistry
from assent.config.settings import Settings
from assent.core.errors import ModelError
from assent.core.llm import ChatMessage, ModelRequest, TextPart
from assent.llm.http_client import HttpClient, wrap_tls

PATIENCE = 30
LIST = b'{"data":[{"id":"one"}]}'
KEPT = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: keep-alive\r\n\r\n%b"


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as found:
        found.settimeout(PATIENCE)
        yield found


def answered(listener: socket.socket, answer: bytes) -> bytes:
    """Answers one request, keeps the connection, and returns what the client sends next."""
    connection, _ = listener.accept()
    with connection:
        connection.settimeout(PATIENCE)
        head = b""
        while b"\r\n\r\n" not in head:
            head += connection.recv(1 << 16)
        connection.sendall(answer)
        return connection.recv(1)  # nothing: it was closed


@pytest.mark.parametrize(
    ("body", "is_list"), [(LIST, True), (b"no list", False)], ids=["a list", "another answer"]
)
def test_the_connection_that_lists_models_is_closed(
    listener: socket.socket, body: bytes, is_list: bool
) -> None:
    url = f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
    environment = {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "k"}
    registry = ModelRegistry(Settings(), environment, b"/")
    with ThreadPoolExecutor(1) as pool:
        later: Future[bytes] = pool.submit(answered, listener, KEPT % (len(body), body))
        if is_list:
            assert registry.open("openai").name == "openai/one"
        else:
            with pytest.raises(ModelError):
                registry.open("openai")
        assert later.result(PATIENCE) == b"", "although the registry is still in use"
    registry.close()


def test_turns_share_the_connections_of_a_client_that_outlives_them() -> None:
    request = ModelRequest((), (ChatMessage("user", (TextPart("Hello"),)),))
    with serving() as server, closing(HttpClient(wrap_tls, {})) as client:
        environment = {"OPENAI_BASE_URL": f"{server.url}/v1", "OPENAI_API_KEY": "k"}
        for _ in range(2):
            registry = ModelRegistry(Settings(), environment, b"/", client=client)
            assert list(registry.open("openai/m").model.stream(request))
            registry.close()
        own = ModelRegistry(Settings(), environment, b"/")
        assert list(own.open("openai/m").model.stream(request))
        own.close()
        assert [heard.connection for heard in server.heard] == [1, 1, 2]
