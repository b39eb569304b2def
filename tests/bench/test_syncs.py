"""How often a step waits until the log is on disk (decision 0047), counted in the whole program."""

import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest
from bench.model_server import model_server
from bench.step import make_workspace, run_turn, write_big_file

FEW, MANY = 2, 12


@cache
def strace_works() -> bool:
    if not shutil.which("strace"):
        return False
    return (
        subprocess.run(["strace", "-o", "/dev/null", "true"], capture_output=True).returncode == 0
    )


pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not strace_works(), reason="strace is missing or not permitted"),
]


@pytest.mark.parametrize(
    ("kind", "mode", "waits"),
    [
        ("loop", "plan", 1),  # the answer, its call and its result, with the next step
        ("edits", "plan", 1),  # the draft's new version as well
        # The run is recorded before its slot is made; all that follows, with the next step.
        ("edits", "auto-edit", 2),
    ],
)
def test_a_call_waits_for_the_log_as_rarely_as_it_can(
    kind: str, mode: str, waits: int, tmp_path: Path
) -> None:
    with model_server() as port:
        few, many = [
            _syncs_of_log(tmp_path / str(count), port, f"{kind}/{count}", mode)
            for count in (FEW, MANY)
        ]
    assert many - few == waits * (MANY - FEW)


def _syncs_of_log(base: Path, port: int, kind: str, mode: str) -> int:
    root, trace = make_workspace(base / "ws"), base / "trace"
    write_big_file(root)
    starter = ("strace", "-f", "-y", "-e", "trace=fdatasync,fsync", "-o", str(trace))
    env = {"XDG_STATE_HOME": f"{base}/state", "XDG_CONFIG_HOME": f"{base}/config"}
    run_turn(root, port, kind, "--mode", mode, env=env, starter=starter)
    return trace.read_text(encoding="utf-8", errors="replace").count("log.db-wal>")
