"""Preparing: writes all new content to slots and syncs it, before anything visible changes."""

from collections.abc import Generator, Sequence

from assent.core.errors import StoreError
from assent.core.journal import Aborted, Committed
from assent.core.motion import Fill
from assent.ports import WHOLE, Blobs, Hands

PACE = 64  # files between two reports of progress


def prepare(
    hands: Hands, blobs: Blobs, folder: bytes, slots: Sequence[Fill]
) -> Generator[int, None, Committed | Aborted]:
    """Fills the slots and syncs once. Nothing visible has changed if it fails."""
    index, path = 0, folder
    try:
        hands.make_folder(folder)
        for at, fill in enumerate(slots):
            index, path, after = fill.index, fill.slot, fill.after
            if fill.source is None and after.size <= WHOLE:
                hands.create(fill, (blobs.read(after.digest),))
            else:
                hands.create(fill, () if fill.source else blobs.chunks(after.digest))
            if at % PACE == 0:
                yield at
        hands.sync()
    except OSError as error:
        return Aborted(0, index, path, error.strerror or str(error), "failed")
    except StoreError as error:
        return Aborted(0, index, path, error.message, "failed")
    return Committed()
