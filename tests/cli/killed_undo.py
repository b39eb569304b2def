"""An undo that dies: `python -m tests.cli.killed_undo ROOT VERB CALL AT` is killed in it.

VERB is `undo` or `redo`, of the newest there is; CALL and AT are as in `killed`.
"""

import os
import sys

from tests.cli.harness import World
from tests.cli.killed_build import DyingDisk, dies, engine

from assent.core.run.journal import drive_to_end


def kill_undo(world: World, verb: str = "undo", call: str = "rename", at: int = 1) -> None:
    """Takes back the newest run, or undo, in a process that is killed before call number `at`."""
    dies(world, "tests.cli.killed_undo", verb, call, str(at))


if __name__ == "__main__":
    root, verb, call, at = sys.argv[1:]
    undoing = engine(os.fsencode(root), DyingDisk(call, int(at))).undo
    drive_to_end(undoing.apply(undoing.redo() if verb == "redo" else undoing.preview(), "test"))
