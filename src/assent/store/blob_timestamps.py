"""Timestamps on stored blobs: when each was last stored or found to be stored."""

import time

from assent.store.blob_disk import BlobDisk

REFRESH_AFTER_S = 60.0  # seconds after which a mark is set again


class BlobTimestamps:
    """Sets the timestamp of blob files that are needed from now on."""

    def __init__(self, disk: BlobDisk) -> None:
        self._disk = disk
        self._set: dict[str, float] = {}

    def set(self, path: str, marked: float | None = None) -> bool:
        """Marks a file, unless it bears a young mark; tells whether it is there."""
        if marked is None:
            if time.monotonic() - self._set.get(path, -REFRESH_AFTER_S) < REFRESH_AFTER_S:
                return True
        elif 0 <= time.time() - marked < REFRESH_AFTER_S:
            return True
        try:
            self._disk.utime(path)
        except FileNotFoundError:
            return False
        except OSError:
            return True  # where nobody may write, nobody collects
        if marked is None:
            self._set[path] = time.monotonic()
        return True
