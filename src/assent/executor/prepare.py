"""The prepare step: writes all new content to slots and syncs it, before any visible change."""

from collections.abc import Generator, Iterable, Sequence

from assent.core.errors import StoreError
from assent.core.plan.operation import FileOperation, WriteFile
from assent.core.run.journal import AbortedEntry, CommittedEntry
from assent.core.run.results import DisplacedLookup, no_displaced
from assent.core.run.slot_move import SlotContent
from assent.ports import MAX_WHOLE_READ, BlobStore
from assent.ports.file_writer import FileWriter

PROGRESS_INTERVAL = 64  # files between two reports of progress


class SlotContents:
    """Where the content of a slot comes from: the store, or a displaced file."""

    def __init__(
        self,
        blobs: BlobStore,
        operations: Sequence[FileOperation],
        spares: DisplacedLookup = no_displaced,
    ) -> None:
        self._blobs = blobs
        self._operations = operations
        self._spares = spares

    def has(self, digest: str) -> bool:
        """Tells whether the store keeps a content."""
        return self._blobs.has(digest)

    def of(self, fill: SlotContent) -> Iterable[bytes]:
        """Returns the stored content; nothing for a copy of another file."""
        if fill.source is not None:
            return ()
        digest, size = fill.after.digest, fill.after.size
        return (self._blobs.read(digest),) if size <= MAX_WHOLE_READ else self._blobs.chunks(digest)

    @property
    def has_displaced(self) -> bool:
        """Whether any displaced file may be available."""
        return self._spares is not no_displaced

    def displaced_slot(self, index: int) -> bytes | None:
        """Returns the slot from which the content that an operation restores was displaced."""
        op = self._operations[index]
        return self._spares(op.path, op.after) if type(op) is WriteFile else None


def prepare(
    writer: FileWriter,
    contents: SlotContents,
    folder: bytes,
    slots: Sequence[SlotContent],
    *,
    alone: bool = False,
) -> Generator[int, None, CommittedEntry | AbortedEntry]:
    """Fills the slots and syncs once. Nothing visible has changed if it fails.

    The slot of a run that is one rename (`alone`) has to have its content on disk, not its name.
    """
    index, path, spares = 0, folder, contents.has_displaced
    try:
        writer.create_folder(folder)
        for at, fill in enumerate(slots):
            index, path = fill.index, fill.slot
            spare = spares and contents.displaced_slot(index)
            if not spare or not writer.restore_displaced(fill, spare):
                writer.write_slot(fill, contents.of(fill))
            if at % PROGRESS_INTERVAL == 0:
                yield at
        if alone:
            writer.sync_besides_slots()
        else:
            writer.sync_to_disk()
    except OSError as error:
        return AbortedEntry(0, index, path, error.strerror or str(error), "failed")
    except StoreError as error:
        return AbortedEntry(0, index, path, error.message, "failed")
    return CommittedEntry()
