"""https: certificates are checked, one's own can be named, and a proxy only passes bytes on."""

import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from tests.cli.harness import World
from tests.llm.http_models import shown
from tests.llm.server import serving

from assent.core.llm import ChatMessage, ModelRequest, TextPart
from assent.llm.errors import ErrorContext
from assent.llm.http_client import HttpClient, parse_url
from assent.llm.http_model import HttpModel, ProviderEndpoint
from assent.llm.wires.chat import ChatWire
from assent.llm.wires.wire import WireTarget

ASK = ("models", "ask", "openai/m", "Hi")
KEY = {"OPENAI_API_KEY": "sk-secret"}


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ssl.SSLContext]:
    """A certificate that nobody vouches for, and a server's side of it."""
    folder = tmp_path_factory.mktemp("tls")
    names = "subjectAltName=IP:127.0.0.1,DNS:model.test"
    line = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    line += ["-nodes", "-days", "2", "-subj", "/CN=test", "-addext", names]
    line += ["-keyout", "key.pem", "-out", "cert.pem"]
    subprocess.run(line, cwd=folder, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
    return folder / "cert.pem", context


def test_a_certificate_that_nobody_vouches_for_is_refused_at_once(
    world: World, certificate: tuple[Path, ssl.SSLContext]
) -> None:
    with serving(tls=certificate[1]) as server:
        base = {"OPENAI_BASE_URL": f"https://127.0.0.1:{server.port}/v1"}
        answer = world.process(*ASK, env={**KEY, **base})
        assert (answer.code, answer.out) == (1, b"")
        assert b"is not trusted" in answer.err
        assert b"SSL_CERT_FILE" in answer.err
        assert b"(attempt 2)" not in answer.err
        assert server.heard == []


def test_certificates_can_be_named(world: World, certificate: tuple[Path, ssl.SSLContext]) -> None:
    trusted = {**KEY, "SSL_CERT_FILE": str(certificate[0])}
    with serving(tls=certificate[1]) as server:
        base = {"OPENAI_BASE_URL": f"https://127.0.0.1:{server.port}/v1"}
        assert world.process(*ASK, env={**trusted, **base}) == (0, b"Hello there.\n", b"")
        other = {"OPENAI_BASE_URL": f"https://localhost:{server.port}/v1"}
        answer = world.process(*ASK, env={**trusted, **other})
        assert b"is not trusted" in answer.err  # it is for another name


def test_a_connection_is_kept(certificate: tuple[Path, ssl.SSLContext]) -> None:
    trusting = ssl.create_default_context(cafile=certificate[0])

    def secure(sock: socket.socket, host: str) -> socket.socket:
        return trusting.wrap_socket(sock, server_hostname=host, do_handshake_on_connect=False)

    with serving(tls=certificate[1]) as server:
        client = HttpClient(secure, {})
        base = parse_url(f"https://127.0.0.1:{server.port}/v1", "url")
        door = ProviderEndpoint(ErrorContext("test", "m"), base, {})
        model = HttpModel(ChatWire(WireTarget("test", "m")), door, client)
        long = ModelRequest((), (ChatMessage("user", (TextPart("x" * 3_000_000),)),))
        for _ in range(3):
            assert shown(list(model.stream(long))) == "Hello there."
        client.close()
        assert [heard.connection for heard in server.heard] == [1, 1, 1]
        assert len(server.heard[0].body) > 3_000_000


def test_https_through_a_proxy(world: World, certificate: tuple[Path, ssl.SSLContext]) -> None:
    with serving(tls=certificate[1]) as server, passing_on(server.port) as (port, asked):
        environment = {
            **KEY,
            "SSL_CERT_FILE": str(certificate[0]),
            "HTTPS_PROXY": f"http://127.0.0.1:{port}",
            "OPENAI_BASE_URL": "https://model.test/v1",
        }
        assert world.process(*ASK, env=environment) == (0, b"Hello there.\n", b"")
        assert asked == [b"CONNECT model.test:443 HTTP/1.1"]
        assert server.heard[0].headers["host"] == "model.test"


@contextmanager
def passing_on(target: int) -> Iterator[tuple[int, list[bytes]]]:
    """A proxy for one connection, which leads to a server on this machine."""
    listener = socket.create_server(("127.0.0.1", 0))
    asked: list[bytes] = []

    def serve() -> None:
        client, _ = listener.accept()
        with client, socket.create_connection(("127.0.0.1", target)) as server:
            head = b""
            while not head.endswith(b"\r\n\r\n"):
                head += client.recv(1)
            asked.append(head.split(b"\r\n")[0])
            client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            back = threading.Thread(target=_pour, args=(server, client))
            back.start()
            _pour(client, server)
            back.join()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    yield listener.getsockname()[1], asked
    thread.join(60)
    listener.close()


def _pour(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while piece := source.recv(1 << 16):
            target.sendall(piece)
        target.shutdown(socket.SHUT_WR)
