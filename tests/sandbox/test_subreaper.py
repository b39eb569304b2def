"""Where nobody clears away the dead, a call leaves none behind."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.sandbox.profiles import needs_bubblewrap

# Process 1 of a namespace of its own, which clears away its own child and nobody else.
FIRST = """
import os, subprocess, sys
subprocess.run([sys.executable, "-c", sys.argv[1], *sys.argv[2:]], check=True)
pids = [name for name in os.listdir("/proc") if name.isdigit()]
states = [open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[0] for pid in pids]
print(states.count("Z"))
"""
CALL = """
import os, sys
sys.path[:0] = sys.argv[2:]
from assent.core.shell.process import (ProcessResult, ProcessLimits, Program)
from assent.sandbox.runner.bubblewrap import BubblewrapRunner
from assent.sandbox.status import find_bwrap
from assent.sandbox.profile.profile import SandboxProfile
root = os.fsencode(sys.argv[1])
shown = tuple(p for p in (b"/usr", b"/bin", b"/lib", b"/lib64") if os.path.lexists(p))
for script in (b"true", b"sleep 60 & sleep 60", b"setsid sleep 60 & true"):
    program = Program((b"/bin/sh", b"-c", script))
    run = BubblewrapRunner(lambda: SandboxProfile(root, b"/root", shown), find_bwrap()).run
    *_, ended = run([program], root, ProcessLimits(seconds=0.3))
    assert isinstance(ended, ProcessResult) and ended.cut in ("", "time"), ended
"""


@needs_bubblewrap
def test_no_dead_process_is_left(tmp_path: Path) -> None:
    apart = ["unshare", "--pid", "--fork", "--mount-proc"]
    if os.geteuid():
        apart += ["--user", "--map-root-user"]
    line = [*apart, sys.executable, "-c", FIRST, CALL, str(tmp_path), *sys.path]
    done = subprocess.run(line, capture_output=True, text=True, timeout=60, check=False)
    if "unshare" in done.stderr:
        pytest.skip(done.stderr)
    assert (done.stdout, done.stderr) == ("0\n", "")
