"""Where the crash tests work: on a disk, or in memory where only the number of tries matters."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

SHARED_MEMORY = "/dev/shm"


@pytest.fixture
def quick_path(tmp_path: Path) -> Iterator[Path]:
    """A folder on a file system without a slow device below it, if the machine has one."""
    if not os.access(SHARED_MEMORY, os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=SHARED_MEMORY, prefix="assent-") as folder:
        yield Path(folder)
