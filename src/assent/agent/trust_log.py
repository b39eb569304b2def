"""Records in the log which project files a person trusted, or trusts no longer."""

from collections.abc import Sequence

from assent.core.event import TrustGiven, TrustRevoked
from assent.core.permission.trust import ProjectFile, TrustedFile
from assent.planning.ports import Ports, WorkspaceConfig
from assent.planning.workspace_repository import WorkspaceRepository


class TrustLog:
    """Records trust. The trust list that counts is written by the caller."""

    def __init__(
        self, doors: Ports, place: WorkspaceConfig, workspaces: WorkspaceRepository
    ) -> None:
        self._doors = doors
        self._place = place
        self._workspaces = workspaces

    def give(self, file: ProjectFile, does: Sequence[str]) -> TrustedFile:
        """Records that a person lets exactly this content do what it says (law 8)."""
        user = self._place.user
        self._workspaces.append(TrustGiven(file.path, file.content_hash, tuple(does), user))
        return TrustedFile(self._place.root, file.path, file.content_hash, self._doors.clock.now())

    def revoke(self, path: str) -> None:
        """Records that a person lets a file do nothing any more."""
        self._workspaces.append(TrustRevoked(path, self._place.user))
