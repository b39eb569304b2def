"""Contents: where the bytes behind a state come from, and how they get into the blob store."""

from collections.abc import Iterable, Iterator

from assent.core.draft import Net, net
from assent.core.errors import Drift
from assent.core.motion import Seen
from assent.core.operation import FileState, MoveFile, Operation, RunCommand, footprint
from assent.core.paths import shown
from assent.engine.doors import Doors

CHUNK = 1 << 20


class Contents:
    """Reads files and drafts, and keeps what a plan names before the plan names it."""

    def __init__(self, doors: Doors) -> None:
        self._doors = doors

    def seen(self, draft: Net, path: bytes) -> Seen:
        """Returns what stands under a name with the draft applied."""
        if path in draft:
            return draft[path][1]
        return self._doors.files.look((path,))[path]

    def chunks(self, draft: Net, path: bytes) -> Iterator[bytes]:
        """Streams a file's content with the draft applied."""
        if path in draft and (state := draft[path][1]):
            if self._doors.blobs.has(state.digest):
                return self._doors.blobs.chunks(state.digest)
            path = next(p for p, (before, _) in draft.items() if before == state)
        return self._from_disk(path)

    def keep(self, chunks: Iterable[bytes]) -> tuple[str, int]:
        """Puts new content into the blob store."""
        return self._doors.blobs.keep(chunks)

    def keep_all(self, operations: Iterable[Operation], added: Iterable[Operation]) -> None:
        """Keeps every content that the added operations replace, remove or bring."""
        origin = {before: path for path, (before, _) in net(operations).items() if before}
        for op in added:
            if isinstance(op, MoveFile | RunCommand):
                continue  # a rename needs no copy: its inverse is a rename
            for state in [state for _, *states in footprint(op) for state in states]:
                if state and not self._doors.blobs.has(state.digest):
                    self._keep_from_disk(origin[state], state)
        self._doors.blobs.flush()

    def _keep_from_disk(self, path: bytes, state: FileState) -> None:
        digest, _ = self._doors.blobs.keep(self._from_disk(path))
        if digest != state.digest:
            raise Drift(f"{shown(path)} changed while it was being read.", "assent stage list")

    def _from_disk(self, path: bytes) -> Iterator[bytes]:
        with self._doors.files.open(path) as file:
            while chunk := file.read(CHUNK):
                yield chunk
