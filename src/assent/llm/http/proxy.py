"""Which proxy a request uses, by the usual environment variables."""

from collections.abc import Mapping

from assent.core.errors import UsageError
from assent.llm.http.url import HttpUrl, parse_url


def proxy_for(target: HttpUrl, environment: Mapping[str, str]) -> HttpUrl | None:
    """Returns the proxy for a target; never for this machine itself."""
    if target.is_loopback or _spared(target, _value(environment, "no_proxy")[1]):
        return None
    for name in (f"{target.scheme}_proxy", "all_proxy"):
        variable, url = _value(environment, name)
        if not url:
            continue
        proxy = parse_url(url if "://" in url else f"http://{url}", variable)
        if proxy.scheme == "http":
            return proxy
        raise UsageError(
            f"{variable} names a proxy that is spoken to by {proxy.scheme}; only http works here.",
            f"export {variable}=http://HOST:PORT",
        )
    return None


def _spared(target: HttpUrl, listed: str) -> bool:
    return any(_covers(entry.strip().lower(), target) for entry in listed.split(",") if entry)


def _covers(entry: str, target: HttpUrl) -> bool:
    name, _, port = entry.rpartition(":") if entry.count(":") == 1 else (entry, "", "")
    if port and port != str(target.port):
        return False
    name = name.removeprefix("*").removeprefix(".")
    return entry == "*" or (bool(name) and f".{target.host}".endswith(f".{name}"))


def _value(environment: Mapping[str, str], name: str) -> tuple[str, str]:
    """Returns a variable's spelling and value; the lower-case one counts first."""
    found = [spelt for spelt in (name, name.upper()) if environment.get(spelt)]
    return (found[0], environment[found[0]]) if found else (name.upper(), "")
