"""Worlds for the tests of the command line."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from bench.story_code import CONFIG
from bench.story_server import StoryServer, story_server
from tests.cli.harness import World
from tests.cli.scripts import Talker
from tests.cli.story_model import Model

from assent.sandbox.runner.bubblewrap import sandbox_unavailable


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A workspace without git, and a user whose configuration lets a digest approve."""
    return World(tmp_path)


@pytest.fixture
def repo(tmp_path: Path) -> World:
    """The same in a git repository with one commit."""
    world = World(tmp_path)
    world.git("init", "-q", "-b", "main")
    world.put("kept.txt", b"kept\n")
    world.git("add", "kept.txt")
    world.git("commit", "-q", "-m", "first")
    return world


@pytest.fixture
def talker(world: World) -> Talker:
    """A world in which a scripted model can be talked to."""
    return Talker(world)


@pytest.fixture
def planned(world: World) -> World:
    """A world with an empty plan, where commands of plans can run."""
    lack = sandbox_unavailable()
    if lack is not None:
        pytest.skip(lack.reason)
    world.plan()
    return world


@pytest.fixture
def server() -> Iterator[StoryServer]:
    """A model server that keeps every request."""
    with story_server() as server:
        yield server


@pytest.fixture
def model(tmp_path: Path, server: StoryServer) -> Model:
    """A small code base, and a model on that server."""
    return Model(tmp_path, server, CONFIG)
