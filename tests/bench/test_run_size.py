"""What a small run leaves on disk: sizes, so that a test can hold what the bench reports."""

from pathlib import Path

import pytest
from bench.run_history import MOST_FILES, MOST_STATE, SmallRuns


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SmallRuns:
    for name in ("STATE", "CONFIG"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    return SmallRuns(tmp_path / "work")


def test_f146_a_small_run_keeps_little_in_few_files(small: SmallRuns) -> None:
    left = small.leave(25)
    assert left.state <= MOST_STATE.limit
    assert left.state_files <= MOST_FILES.limit
    # In the workspace: the plan's text, and four readable copies in two folders.
    assert left.all <= left.state + 28
    assert left.all_files <= left.state_files + 5
