"""A world for the doctor, whose own files it must leave alone."""

from pathlib import Path

import pytest
from tests.cli.harness import World


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A workspace, with state and configuration of its own."""
    return World(tmp_path)
