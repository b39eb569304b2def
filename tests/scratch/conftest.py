"""A workspace and its scratch copy, by both ways to make one."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.scratch.copies import Place, furnished

from assent.sandbox.scratch.scratch import LocalScratchCopy


@pytest.fixture(params=["overlay", "copy"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    """A workspace that must be the same afterwards, to the byte and the nanosecond."""
    made = furnished(tmp_path, only=request.param)
    before = made.seen()
    yield made
    assert made.seen() == before


@pytest.fixture
def copy(place: Place) -> Iterator[LocalScratchCopy]:
    opened = place.open()
    yield opened
    opened.close()
