"""A crash at every step of making, using, renewing and clearing a copy leaves nothing behind."""

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from tests.sandbox.profiles import needs_bubblewrap
from tests.scratch.crash_sweep import Report

pytestmark = needs_bubblewrap

# What each backend cannot do without, and how often it is killed at least.
EXPECTED = {
    "overlay": ({"mkdir", "mknod", "rename", "rmdir", "unlink", "chmod", "fork_exec"}, 180),
    "copy": ({"mkdir", "copy_file_range", "rename", "rmdir", "unlink", "chmod", "symlink"}, 180),
}


@pytest.mark.slow
@pytest.mark.parametrize("only", EXPECTED)
def test_g13_a_crash_at_any_step_leaves_the_workspace_and_nothing_else(
    only: str, tmp_path: Path
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.scratch.crash_sweep", only, str(tmp_path)],
        cwd=Path(__file__).parents[2], capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr.decode()
    report = msgspec.json.decode(done.stdout, type=Report)
    assert report.complaints == []
    kinds, least = EXPECTED[only]
    assert kinds <= {kind for killed in report.killed.values() for kind in killed}
    assert all(report.killed[name] for name in ("make", "use", "renew", "clear", "sweep"))
    assert sum(sum(killed.values()) for killed in report.killed.values()) >= least
