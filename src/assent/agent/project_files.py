"""Assent's own files in a project: which ones the user trusts, and the plan agent's file."""

from collections.abc import Sequence
from typing import Literal, TypeAlias

from assent.core.digest import sha256
from assent.core.errors import Refused
from assent.core.event import TrustGiven, TrustRevoked
from assent.core.permission.trust import ProjectFile, TrustedFile
from assent.planning.ports import Ports, WorkspaceConfig
from assent.planning.repositories import WorkspaceRepository
from assent.ports import Projection

# Records in the log which project files a person trusted, or trusts no longer.


class TrustLog:
    """Records trust; the effective trust list is written by the caller."""

    def __init__(
        self, ports: Ports, config: WorkspaceConfig, workspaces: WorkspaceRepository
    ) -> None:
        self._ports = ports
        self._config = config
        self._workspaces = workspaces

    def give(self, file: ProjectFile, does: Sequence[str]) -> TrustedFile:
        """Records that the user trusts exactly this content of a file (law 8)."""
        user = self._config.user
        self._workspaces.append(TrustGiven(file.path, file.content_hash, tuple(does), user))
        return TrustedFile(self._config.root, file.path, file.content_hash, self._ports.clock.now())

    def revoke(self, path: str) -> None:
        """Records that the user no longer trusts a file."""
        self._workspaces.append(TrustRevoked(path, self._config.user))


# Keeps the plan agent's file in a workspace up to date, unless a person changed it.


AgentFileStatus: TypeAlias = Literal["written", "updated", "current", "changed_by_person"]

# The SHA-256 of every version that was ever packaged; a change of the file adds its hash.
RELEASED_DIGESTS = frozenset(
    (
        "8c08a07bc7b47b49ad3f16769a6893256b9995affea59530f07d43c5d08474af",
        "7756efd82ad176d43e1d461ec4347ead7146c9619878a97496a7f981ef9b95ed",
        "ff1e91735cd9c94bda34425fe1f1d2889f70a7a3c89c029b2356cd1e815f3a7f",
    )
)


def sync_agent_file(projection: Projection, text: bytes) -> AgentFileStatus:
    """Writes the file if it is missing or an older version of ours; returns what was found."""
    try:
        found = projection.read_agent()
    except Refused:
        return "changed_by_person"  # a symlink, for example: it was made on purpose
    if found == text:
        return "current"
    if found is not None and sha256(found) not in RELEASED_DIGESTS:
        return "changed_by_person"
    projection.write_agent(text)
    return "written" if found is None else "updated"
