"""Where the crash tests work: on a disk, or in memory where only the number of tries matters."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.in_memory import in_memory


@pytest.fixture
def quick_path(tmp_path: Path) -> Iterator[Path]:
    """A folder on a file system without a slow device below it, if the machine has one."""
    with in_memory(tmp_path) as folder:
        yield folder
