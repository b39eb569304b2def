"""A stage for every test."""

from pathlib import Path

import pytest
from tests.agent.stage import Stage


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)
