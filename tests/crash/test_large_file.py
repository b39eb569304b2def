"""F145: a file of hundreds of megabytes is written, replaced and taken back with flat memory."""

import subprocess
from pathlib import Path

import pytest
from tests.crash.apart import PATIENT, apart
from tests.crash.large import MEGABYTE, NO_FILE, SEEDS, Peak

pytestmark = PATIENT

LARGE, SMALL = 300, 1  # megabytes
ALLOWED = 32 * MEGABYTE


@pytest.mark.slow
def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    small, large = _peak(tmp_path / "small", SMALL), _peak(tmp_path / "large", LARGE)
    assert large.outcomes == ["done"] * 4
    first, second = SEEDS
    assert large.stood == [first, second, first, NO_FILE]
    assert large.memory - small.memory < ALLOWED


def _peak(folder: Path, megabytes: int) -> Peak:
    folder.mkdir()
    try:
        return apart(Peak, "tests.crash.large", megabytes, folder, fresh=True)
    finally:
        subprocess.run(["rm", "-rf", folder], check=True)  # more than a gigabyte by now
