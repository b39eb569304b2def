"""Worlds with a server for the tests of the web API."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser
from tests.cli.harness import World
from tests.web.browser import chromium
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


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One browser for all tests of a module; each visitor has a context of its own."""
    with chromium() as found:
        yield found
