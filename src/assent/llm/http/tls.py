"""Wraps a connection in TLS with certificate checks; loaded only for https."""

import socket
import ssl
from functools import cache


def wrap_tls(sock: socket.socket, host: str) -> socket.socket:
    """Returns the wrapped socket; its handshake is still to be made.

    The system's certificates count, or those that SSL_CERT_FILE and SSL_CERT_DIR name.
    """
    return _context().wrap_socket(sock, server_hostname=host, do_handshake_on_connect=False)


@cache
def _context() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    return context
