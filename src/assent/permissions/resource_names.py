"""Resource names: how rules and grants spell a file or a URL, and which hosts are private."""

import re
from posixpath import join, normpath

from assent.core.errors import Refused
from assent.core.tool import Action, ResourceAccess

# Hosts of URLs, and whether one is this machine or on a private network.


# Patterns are compiled when they are first needed, which is seldom.
_URL = (
    r"(?i)(?P<scheme>https?)://(?P<host>\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::(?P<port>\d{1,5}))?"
    r"(?P<rest>[/?#][\x21-\x7e]*)?"
)
_PORTS = {"http": "80", "https": "443"}
_QUAD = r"(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})"
_NUMBER = r"(?:0x[0-9a-f]*|\d+)(?:\.(?:0x[0-9a-f]*|\d+))*"  # 127.1, 0x7f000001
_NEAR = r"(?:.*\.)?(?:localhost|local|lan|home|internal|intranet|corp|arpa)|[^.]*"
# First bytes of networks that are not the internet, as far as they have to be looked at.
_OWN = (
    r"(?:0|10|127|2[2-5]\d)\..*|169\.254\..*|192\.168\..*|172\.(?:1[6-9]|2\d|3[01])\..*"
    r"|100\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7])\..*|192\.0\.[02]\..*|198\.1[89]\..*"
)


def host_of(url: str) -> str:
    """Returns the host of a URL in lower case; refuses anything but a plain http or https URL."""
    return _host(_parted(url))


def origin_of(url: str) -> str:
    """Returns scheme and host of a URL in lower case, and the port if it is not the default."""
    found = _parted(url)
    scheme, port = found["scheme"].lower(), found["port"]
    shown = f":{port}" if port and port != _PORTS[scheme] else ""
    return f"{scheme}://{_host(found)}{shown}"


def canonical_url(url: str) -> str:
    """Returns the canonical spelling of a URL, which rules match."""
    rest = _parted(url)["rest"] or "/"
    return origin_of(url) + (rest if rest.startswith("/") else f"/{rest}")


def _parted(url: str) -> re.Match[str]:
    found = re.fullmatch(_URL, url)
    if found is None:
        raise Refused(f"{url!a} is not an http or https URL, or it contains a login.")
    return found


def _host(found: re.Match[str]) -> str:
    return found["host"].lower().rstrip(".")


def is_private_host(host: str) -> bool:
    """Tells whether a host is this machine, or on a private network."""
    if host.startswith("[") or re.fullmatch(_NEAR, host):
        return True
    if not re.fullmatch(_NUMBER, host):
        return False
    quad = re.fullmatch(_QUAD, host)
    if quad is None or any(len(part) > 1 and part[0] == "0" for part in quad.groups()):
        return True  # another spelling of some address; never needed
    return re.fullmatch(_OWN, host) is not None


PATHS = (Action.READ, Action.EDIT, Action.OUTSIDE)
FOLDERS = ("list",)  # words of tools that look for nothing but a path


def resource_names(request: ResourceAccess, root: str) -> tuple[str, ...]:
    """Returns a file as relative and absolute paths, a URL as written and in canonical form."""
    if request.action in PATHS or (request.action is Action.SEEK and request.key in FOLDERS):
        return _paths(request.resource, root)
    if request.action is Action.FETCH:
        return tuple(dict.fromkeys((request.resource, canonical_url(request.resource))))
    return (request.resource,)


def _paths(path: str, root: str) -> tuple[str, ...]:
    if not root:
        return (path,)
    whole = normpath(join(root, path))
    inside = whole.removeprefix(root.rstrip("/") + "/")
    return tuple(dict.fromkeys((path, whole, inside)))
