"""Records in the log which keys a person trusted or revoked, and returns the machine's own key."""

from assent.core.event import KeyRevoked, KeyTrusted
from assent.planning.ports import Ports, WorkspaceConfig
from assent.ports import EventBatch

STREAM = "keys/here"  # keys belong to a person on a machine, and to no workspace


class KeyLog:
    """Records key decisions. The file that counts is written by the caller."""

    def __init__(self, doors: Ports, place: WorkspaceConfig) -> None:
        self._doors = doors
        self._place = place

    def own(self) -> str:
        """Returns this machine's public key; the first call makes the pair."""
        return self._doors.signer.key()

    def trusted(self, key: str, name: str) -> None:
        """Records that a person lets a key approve plans from elsewhere (law 8)."""
        self._append(KeyTrusted(key, name, self._place.user))

    def revoked(self, key: str, name: str) -> None:
        """Records that a person lets a key approve nothing any more."""
        self._append(KeyRevoked(key, name, self._place.user))

    def _append(self, event: KeyTrusted | KeyRevoked) -> None:
        store, at = self._doors.store, self._doors.clock.now()
        store.append(EventBatch(STREAM, len(store.read(STREAM)), at, (event,)))
