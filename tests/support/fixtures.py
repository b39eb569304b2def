"""A world for the tests of the engine."""

from pathlib import Path

import pytest
from tests.support.engine import World
from tests.support.pending_questions import CALL, Booth, on_disk
from tests.support.sandbox_status import remember_sandbox

from assent.testing.engine_fixture import EngineFixture


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest.fixture
def site(tmp_path: Path) -> EngineFixture:
    """An empty workspace on a real disk, for real programs."""
    site = EngineFixture(tmp_path / "work", tmp_path / "state" / "assent")
    site.root.mkdir()
    remember_sandbox(site.state)
    return site


@pytest.fixture
def booth(world: World, tmp_path: Path) -> Booth:
    booth = Booth(on_disk(world, tmp_path))
    booth.step(CALL)
    return booth
