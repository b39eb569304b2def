"""A stage for the tests of the screen."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.tui.harness import Stage
from tests.tui.tmux import Tmux, tmux


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


@pytest.fixture(scope="module")
def server() -> Iterator[Tmux]:
    """A server for real terminals."""
    with tmux() as started:
        yield started
