"""Reads the bytes behind a file state and stores in blobs what a plan refers to."""

from collections.abc import Iterable, Sequence

from assent.core.errors import Drift, StoreError
from assent.core.paths import display_path
from assent.core.plan.draft import content_sources
from assent.core.plan.operation import DeleteFile, FileState, Operation, WriteFile
from assent.planning.ports import Ports
from assent.tools.overlay import Overlay


class PlanContents:
    """Reads files and drafts, and keeps what a plan names before the plan names it."""

    def __init__(self, doors: Ports) -> None:
        self._doors = doors

    def overlay(self, operations: Sequence[Operation] = ()) -> Overlay:
        """Returns the files with these operations applied."""
        return Overlay(self._doors.files, self._doors.blobs, operations)

    def keep(self, chunks: Iterable[bytes]) -> tuple[str, int]:
        """Puts new content into the blob store."""
        return self._doors.blobs.keep(chunks)

    def keep_all(self, operations: Iterable[Operation], added: Iterable[Operation]) -> None:
        """Keeps every content that the added operations replace, remove or bring.

        The caller flushes, together with what names them.
        """
        # A rename needs no copy: its inverse is a rename.
        every = tuple(added)
        old = [op.before for op in every if type(op) is WriteFile or type(op) is DeleteFile]
        new = [op.after for op in every if type(op) is WriteFile]
        # Old ones come last: of two with one content, those are where it can be read from.
        states = {state.digest: state for state in (*new, *old) if state}
        missing = [states[digest] for digest in self._doors.blobs.missing(states)]
        origin = content_sources(operations) if missing else {}
        for state in missing:
            self._keep_from_disk(origin.get(state), state)

    def _keep_from_disk(self, path: bytes | None, state: FileState) -> None:
        if path is None:
            raise StoreError(
                f"The content {state.digest[:12]}… is neither stored nor on disk; nothing was "
                "changed.",
                "assent status",
            )
        digest, _ = self._doors.blobs.keep(self.overlay().chunks(path))
        if digest != state.digest:
            raise Drift(
                f"{display_path(path)} changed while it was being read.", "assent stage list"
            )
