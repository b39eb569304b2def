"""Places: where state and the user's configuration lie on this machine."""

from collections.abc import Mapping
from pathlib import Path

import msgspec


class Places(msgspec.Struct, frozen=True):
    """The two folders of Assent outside every workspace."""

    state: Path
    config: Path


def places(environment: Mapping[str, str], home: Path) -> Places:
    """Follows the XDG variables; a relative path in one of them does not count."""
    return Places(
        _folder(environment.get("XDG_STATE_HOME", ""), home / ".local" / "state") / "assent",
        _folder(environment.get("XDG_CONFIG_HOME", ""), home / ".config") / "assent",
    )


def _folder(named: str, otherwise: Path) -> Path:
    return Path(named) if named.startswith("/") else otherwise
