"""A folder in memory, for tests that make so many changes that a disk would slow them down."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SHARED_MEMORY = "/dev/shm"


@contextmanager
def in_memory(otherwise: Path, room: int = 0) -> Iterator[Path]:
    """Makes a folder without a slow device below it, if the machine has one with so much room."""
    if not os.access(SHARED_MEMORY, os.W_OK) or shutil.disk_usage(SHARED_MEMORY).free < room:
        yield otherwise
        return
    with tempfile.TemporaryDirectory(dir=SHARED_MEMORY, prefix="assent-") as folder:
        yield Path(folder)
