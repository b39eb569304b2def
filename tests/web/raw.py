"""Bytes on a connection, as a client would not send them by accident."""

import socket
from contextlib import suppress
from urllib.parse import urlsplit

WAIT_S = 30


def connect(url: str) -> socket.socket:
    parts = urlsplit(url)
    return socket.create_connection((parts.hostname, parts.port), WAIT_S)


def exchange_bytes(url: str, sent: bytes) -> bytes:
    """Sends bytes and returns everything that comes until the server closes the connection."""
    with connect(url) as sock:
        with suppress(BrokenPipeError, ConnectionResetError):
            sock.sendall(sent)
        return read_to_end(sock)


def read_to_end(sock: socket.socket) -> bytes:
    found = b""
    with suppress(ConnectionResetError):
        while more := sock.recv(65536):
            found += more
    return found


def head(url: str, line: str, *headers: str) -> bytes:
    """Returns a request without a body; the server closes the connection after it."""
    host = f"Host: {urlsplit(url).netloc}"
    return "\r\n".join([line, host, "Connection: close", *headers, "", ""]).encode("latin-1")


def status(answer: bytes) -> int:
    """Returns the status of the first answer in what came."""
    return int(answer.split(b" ", 2)[1])
