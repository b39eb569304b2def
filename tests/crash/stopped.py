"""Kills a build and a recovery at every moment, and stops them there; run by the tests.

    python -m tests.crash.stopped STORY FOLDER

What a stop shows must be what a kill leaves: sweeps of recoveries rely on it. What was killed is
also recovered where it lies, not in a copy. The report is a JSON array on stdout: the states of the
build, then those of a recovery from its middle.
"""

import gc
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path

import msgspec
from tests.crash.rig import Moment, Rig
from tests.crash.stories import BY_NAME
from tests.crash.sweep import COPIES, SYNCS, Sweep, decides, killed, stops

from assent.testing.call_trace import CallListener, CallTrigger, kill_process


class States(msgspec.Struct, frozen=True):
    """What a recovery finds after each moment."""

    killed: list[bytes]
    stopped: list[bytes]
    complaints: list[str]


def compared(
    sweep: Sweep, work: Callable[[CallListener], object], start: Moment
) -> tuple[States, list[Moment]]:
    """Does some work from a moment on; returns both, and the moments at which it was stopped."""
    rig, killing, stopping = sweep.rig, list[bytes](), list[bytes]()
    complaints: list[str] = []
    for at in count():
        rig.restore(start)
        if not killed(work, CallTrigger(changes, at=at, act=kill_process)):
            break
        killing.append(_state(sweep, rig.save()))
        complaints += sweep.complaints(sweep.recover())
    rig.restore(start)
    lefts = stops(rig, work, changes)
    for left in lefts:
        rig.restore(left)
        stopping.append(_state(sweep, left))
    return States(killing, stopping, complaints), lefts


def changes(moment: str) -> bool:
    """Tells whether a moment can change what a recovery finds.

    A sync cannot. How often one comes varies from try to try, too: in which order folders are
    flushed depends on the name of the run, and where one is gone, one flush takes the place of the
    others. Were they counted, the same number would be another moment in another try.
    """
    return decides(moment) and moment not in SYNCS


def _state(sweep: Sweep, left: Moment) -> bytes:
    tree = {path: entry for path, entry in left.tree.items() if not path.startswith(COPIES)}
    return sweep.state(msgspec.structs.replace(left, tree=tree))


if __name__ == "__main__":
    gc.disable()
    story, folder = sys.argv[1:]
    sweep = Sweep(Rig(Path(folder), BY_NAME[story]), "build")
    built, lefts = compared(sweep, sweep.verb_watched, sweep.ready)
    recovered, _ = compared(sweep, sweep.settle, lefts[len(lefts) // 2])
    sys.stdout.buffer.write(msgspec.json.encode([built, recovered]))
