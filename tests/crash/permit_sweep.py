"""Kills a real process at every moment of a permitted edit and lets another recover it.

python -m tests.crash.permit_sweep MANNER STORY FOLDER
"""

import gc
import sys
from pathlib import Path

import msgspec
from tests.crash.rig import Rig
from tests.crash.stories import BY_NAME
from tests.crash.sweep import Ended, Sweep, _promised

from assent.app.engine import Engine
from assent.core.errors import AssentError
from assent.core.plan.operation import FileOperation, footprint
from assent.core.run.journal import drive_to_end
from assent.core.session.record import SessionRecord
from assent.core.tool import EditEffect


class PermitSweep(Sweep):
    """The story's operations, as one call of a session in auto-edit mode."""

    def __init__(self, rig: Rig) -> None:
        self._edit = edit(rig)
        super().__init__(rig, "permit")

    def do(self, engine: Engine) -> None:
        at, workspace = "2026-01-01T00:00:00.000Z", engine.plans.repository().workspace
        session = SessionRecord("s1", workspace, "crash", "auto-edit", at, at, 1, turns=1)
        engine.permits.apply(session, "c1", self._edit, "mode", "auto-edit")

    def complaints(self, end: Ended) -> list[str]:
        wanted = self.after if end.run == "done" else self.before
        held = {
            "recovery ends": end.recovery in ("done", "rolled_back", "nothing"),
            "run ends": end.run in ("done", "rolled_back", "not started"),
            "forward once committed, else back": end.run == _promised(end.journal),
            "tree is as the outcome says": end.tree == wanted,
            "no slot is left": end.leftovers == [],
            "it is never done twice": end.again == (5 if end.run == "done" else 0),
            "and done in the end": end.tree_again == self.after,
        }
        return [f"not held: {law}; {end.recovery}, {end.run}" for law, ok in held.items() if not ok]

    def recover(self) -> Ended:
        engine = self.rig.open()
        journal = self._journal(engine)
        recovery = drive_to_end(engine.runs.recover()).outcome
        runs = engine.plans.repository().permit_runs()
        run = (runs[-1].outcome or "unfinished") if runs else "not started"
        tree = self.rig.tree()
        again, left = self._again_exit(engine), self.rig.leftovers()
        engine.close()
        return Ended(journal, recovery, run, False, bool(runs), tree, left, again, self.rig.tree())

    def _again_exit(self, engine: Engine) -> int:
        try:
            self.do(engine)
        except AssentError as error:
            return error.exit
        return 0


def edit(rig: Rig) -> EditEffect:
    """Returns what the story's plan does, with its contents."""
    engine = rig.open()
    plan = engine.plans.repository().plan(rig.record(engine))
    operations = tuple(op for op in plan.operations if isinstance(op, FileOperation))
    states = [after for op in operations for _, _, after in footprint(op) if after]
    blobs = engine._ports.blobs
    contents = {s.digest: blobs.read(s.digest) for s in states if blobs.has(s.digest)}
    engine.close()
    return EditEffect(operations, contents)


if __name__ == "__main__":
    gc.disable()
    manner, story, folder = sys.argv[1:]
    sweep = PermitSweep(Rig(Path(folder), BY_NAME[story]))
    sys.stdout.buffer.write(msgspec.json.encode(sweep.report(manner)))
