"""Kills a person's decision about a halted run at every moment, and decides again; run by a test.

    python -m tests.crash.ways_out WAY FOLDER

The report is one JSON object on stdout.
"""

import os
import sys
from itertools import count
from pathlib import Path

import msgspec
from tests.crash.halting import STORY, Person
from tests.crash.rig import Rig
from tests.crash.sweep import Report, decides, in_child, killed
from tests.crash.trees import Tree

from assent.core.run.journal import RecoveryChoice, drive_to_end
from assent.testing.call_trace import CallListener, CallTrigger, ignore_call, kill_process


class Left(msgspec.Struct, frozen=True):
    """How a run ended and what it left."""

    outcome: str
    tree: Tree
    slots: list[bytes]
    moments: list[str] = []


class WayOut:
    """One way out of one halted run."""

    def __init__(self, folder: Path, way: RecoveryChoice) -> None:
        self.rig = Rig(folder, STORY)
        self.way: RecoveryChoice = way
        self.rig.build(Person(self.rig.root))
        if way == "resume":
            os.unlink(self.rig.root + b"/last.txt")
        if way == "roll_back":
            os.unlink(self.rig.root + b"/a.txt")
        self.halted = self.rig.save()

    def report(self) -> Report:
        wanted = in_child(self._undisturbed, Left)
        report = Report(moments=wanted.moments)
        for at in count():
            self.rig.restore(self.halted)
            if not killed(self._decide, CallTrigger(decides, at=at, act=kill_process)):
                break
            report.killed += 1
            found = in_child(self._go_on, Left)
            report.ends[found.outcome] = report.ends.get(found.outcome, 0) + 1
            if found != msgspec.structs.replace(wanted, moments=[]):
                report.complaints.append(f"killed at {at}: {found}")
        return report

    def _decide(self, listen: CallListener) -> None:
        drive_to_end(self.rig.open(listen).runs.recover(self.way))

    def _undisturbed(self) -> Left:
        moments = CallTrigger(decides)
        self._decide(moments)
        return self._left(moments.seen)

    def _go_on(self) -> Left:
        """Recovers as the next start does; if a person is needed after all, decides once more."""
        if drive_to_end(self.rig.open().runs.recover()).outcome == "needs_you":
            self._decide(ignore_call)
        return self._left([])

    def _left(self, moments: list[str]) -> Left:
        record = self.rig.record(self.rig.open())
        outcome = record.runs[-1].outcome or "unfinished"
        return Left(outcome, self.rig.tree(), self.rig.leftovers(), moments)


if __name__ == "__main__":
    way, folder = sys.argv[1:]
    ways: dict[str, RecoveryChoice] = {
        "resume": "resume",
        "roll_back": "roll_back",
        "accept": "accept",
    }
    sys.stdout.buffer.write(msgspec.json.encode(WayOut(Path(folder), ways[way]).report()))
