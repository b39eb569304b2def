"""Sources for the tests of configuration."""

from pathlib import Path

import pytest
from tests.config.sources import Sources


@pytest.fixture
def sources(tmp_path: Path) -> Sources:
    return Sources(tmp_path)
