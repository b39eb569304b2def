"""Parses http and https URLs of providers and proxies."""

import re

import msgspec

from assent.core.errors import UsageError

_URL = re.compile(
    r"(?P<scheme>https?)://(?:(?P<user>[^@/\s]*)@)?"
    r"(?P<host>\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::(?P<port>\d{1,5}))?(?P<path>/[\x21-\x7e]*)?",
    re.IGNORECASE,
)
_PORTS = {"http": 80, "https": 443}
_LOOPBACK = re.compile(r"localhost|127(\.\d{1,3}){3}|::1")


class HttpUrl(msgspec.Struct, frozen=True):
    """Scheme, host, port and path; `user` only for a proxy with credentials."""

    scheme: str
    host: str
    port: int
    path: str = ""
    user: str = ""

    @property
    def origin(self) -> str:
        """Scheme, host and port, as users write them."""
        return f"{self.scheme}://{self.authority}"

    @property
    def authority(self) -> str:
        """Host, and the port if it is not the default."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def is_loopback(self) -> bool:
        return _LOOPBACK.fullmatch(self.host) is not None

    def below(self, path: str) -> "HttpUrl":
        """Returns the URL of a path below this one."""
        return msgspec.structs.replace(self, path=self.path.rstrip("/") + path)


def parse_url(url: str, whose: str) -> HttpUrl:
    """Parses a URL; `whose` names the setting or variable that has it."""
    found = _URL.fullmatch(url.strip())
    if found is None or not 0 < int(found["port"] or 80) < 1 << 16:
        raise UsageError(f"{whose} is not an http or https URL: {url!r}.")
    scheme = found["scheme"].lower()
    host = found["host"].lower().strip("[]")
    port = int(found["port"] or _PORTS[scheme])
    return HttpUrl(scheme, host, port, found["path"] or "", found["user"] or "")
