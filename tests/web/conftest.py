"""Worlds with a server for the tests of the web API."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.harness import World
from tests.web.harness import Served, served


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A workspace without git, and a user whose configuration lets a digest approve."""
    return World(tmp_path)


@pytest.fixture
def server(world: World) -> Iterator[Served]:
    """A server of that workspace."""
    with served(world) as found:
        yield found
