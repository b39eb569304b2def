"""Checkouts: any two trees, and a disk that fails in the middle."""

import errno
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from tests.core.states import applied
from tests.executor.disk_doubles import failing
from tests.planning.test_patches import Bench
from tests.support.engine import World
from tests.support.file_trees import Entries, lay, states, stories

from assent.core.errors import WorkspaceError
from assent.core.plan.operation import DeleteFile
from assent.workspace.source_folder import LocalSourceFolder


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return Bench(World(tmp_path_factory.mktemp("bench")))


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(stories())
def test_the_workspace_becomes_like_the_copy(bench: Bench, story: tuple[Entries, Entries]) -> None:
    before, after = story
    other = bench.world.root.parent / "copy"
    lay(other, after)
    operations = bench.compare(before, LocalSourceFolder(os.fsencode(other)))
    assert applied(states(before), operations) == states(after)
    left = set(before) - set(after)
    assert len([op for op in operations if isinstance(op, DeleteFile)]) <= len(left)


@pytest.mark.parametrize("call", ["scan", "read", "readlink"])
def test_what_cannot_be_read_is_an_error_and_nothing_is_staged(bench: Bench, call: str) -> None:
    other = bench.world.root.parent / "copy"
    lay(other, {b"f": ("file", 0o644, b"f\n"), b"l": ("link", 0o777, b"f")})
    with pytest.raises(WorkspaceError, match="Permission denied"):
        bench.compare({}, LocalSourceFolder(os.fsencode(other), failing(call, errno.EACCES)))
    assert bench.operations() == []


def test_a_file_that_is_alike_is_only_looked_at(bench: Bench, tmp_path: Path) -> None:
    lay(tmp_path / "copy", {b"f": ("file", 0o644, b"f\n")})
    other = LocalSourceFolder(os.fsencode(tmp_path / "copy"))
    other.open = None  # type: ignore[method-assign, assignment]
    assert bench.compare({b"f": ("file", 0o644, b"f\n")}, other) == []
