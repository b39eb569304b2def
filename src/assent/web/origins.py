"""Origins: under which addresses the server answers, and from which pages changes may come."""

from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

import msgspec

from assent.core.errors import UsageError

DEFAULT_PORTS: Final = {"http": 80, "https": 443}
WILDCARDS: Final = ("0.0.0.0", "::")  # listening on these means on every address
SETTING: Final = "serve.public_url"


class Origins(msgspec.Struct, frozen=True):
    """The server's own hosts, and the origin of a proxy in front of it."""

    port: int
    hosts: frozenset[str]  # as the header Host names them
    public: str = ""
    everywhere: bool = False  # it listens on every address of the machine

    @property
    def is_encrypted(self) -> bool:
        return self.public.startswith("https://")

    def knows(self, host: str, address: str) -> bool:
        """Tells whether a request may name this host.

        Any other name may be one that an attacker lets resolve to this machine. The `address`
        that a connection was made to cannot be such a name.
        """
        if host in self.hosts or (self.public and host == urlsplit(self.public).netloc):
            return True
        return self.everywhere and host in _with_port(address, self.port)

    def accepts(self, origin: str, host: str) -> bool:
        """Tells whether a change may come from a page of this origin."""
        return origin == f"http://{host}" or (bool(self.public) and origin == self.public)

    def is_public(self, host: str, origin: str) -> bool:
        """Tells whether a request came through the proxy, as far as its headers say so."""
        return bool(self.public) and (origin == self.public or host == urlsplit(self.public).netloc)


def make_origins(host: str, port: int, names: tuple[str, ...] = (), public: str = "") -> Origins:
    """Returns the origins of a server that listens at a host; `names` are further ones of it."""
    own = {host, *names}
    if is_loopback(host):
        own |= {"127.0.0.1", "localhost"} if ":" not in host else {"::1", "localhost"}
    hosts = frozenset(form for name in own for form in _with_port(name.lower(), port))
    return Origins(port, hosts, parse_public_url(public), host in WILDCARDS)


def is_loopback(host: str) -> bool:
    """Tells whether only programs of this machine can reach an address."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def in_url(host: str) -> str:
    """Returns a host as a URL has it."""
    return f"[{host}]" if ":" in host else host


def parse_public_url(text: str) -> str:
    """Returns the origin that a proxy has; raises UsageError if the setting is not one."""
    if not text:
        return ""
    try:
        parts = urlsplit(text)
        host, port = (parts.hostname or "").lower(), parts.port
        text.encode("ascii")
    except ValueError as error:  # a port that is not one, or a character that no host has
        raise _not_an_origin(text) from error
    rest = (parts.username, parts.password, parts.query, parts.fragment, parts.path.strip("/"))
    if parts.scheme not in DEFAULT_PORTS or not host or any(rest) or not _is_host(host):
        raise _not_an_origin(text)
    shown = (
        in_url(host) if port in (None, DEFAULT_PORTS[parts.scheme]) else f"{in_url(host)}:{port}"
    )
    return f"{parts.scheme}://{shown}"


def _is_host(host: str) -> bool:
    return all(char.isalnum() or char in ".-:_" for char in host)


def _not_an_origin(text: str) -> UsageError:
    return UsageError(
        f"{SETTING} is {text!a}, but must be like https://assent.example, without a path.",
        "edit your configuration, then: assent serve",
    )


def _with_port(host: str, port: int) -> set[str]:
    shown = in_url(host)
    return {f"{shown}:{port}", shown} if port == DEFAULT_PORTS["http"] else {f"{shown}:{port}"}
