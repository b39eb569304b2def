"""An undo that dies: `python -m tests.cli.killed_undo ROOT VERB CALL AT` is killed in it.

VERB is `undo` or `redo`, of the newest there is; CALL and AT are as in `killed`.
"""

import os
import signal
import subprocess
import sys

from tests.cli.killed import PROJECT, DyingDisk, engine
from tests.cli.world import World

from assent.core.journal import finished


def kill_undo(world: World, verb: str = "undo", call: str = "rename", at: int = 1) -> None:
    """Takes back the newest run, or undo, in a process that is killed before call number `at`."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.cli.killed_undo", str(world.root), verb, call, str(at)],
        cwd=PROJECT,
        env=world.env,
        capture_output=True,
        check=False,
    )
    assert done.returncode == -signal.SIGKILL, done


if __name__ == "__main__":
    root, verb, call, at = sys.argv[1:]
    undoing = engine(os.fsencode(root), DyingDisk(call, int(at))).undoing
    finished(undoing.apply(undoing.redo() if verb == "redo" else undoing.preview(), "test"))
