"""Cuts the power of a real file system at every change of a permitted edit.

python -m tests.disks.permit_power TYPE STORY FOLDER
"""

import sys
from pathlib import Path

import msgspec
from tests.crash.permit_sweep import PermitSweep, edit
from tests.crash.rig import Rig
from tests.crash.stories import BY_NAME
from tests.disks.power import Cuts, Machine, started, unshare_mounts
from tests.store.logs import note

from assent.app.engine import Engine


class PermitCuts(PermitSweep, Cuts):
    """The story's operations as one call of a session, whose machine fails."""

    def __init__(self, machine: Machine, rig: Rig) -> None:
        self._edit = edit(rig)
        Cuts.__init__(self, machine, rig, "permit")

    def do(self, engine: Engine) -> None:
        """Makes the edit, and records something after it that is waited for, as a session does."""
        super().do(engine)
        after = engine._ports.store.last()
        engine._ports.store.append(msgspec.structs.replace(note("end", 0), stream=f"end/{after}"))


if __name__ == "__main__":
    kind, story, folder = sys.argv[1:]
    unshare_mounts()
    with started(kind, Path(folder)) as machine:
        found = PermitCuts(machine, Rig(machine.disk, BY_NAME[story])).cuts()
    sys.stdout.buffer.write(msgspec.json.encode(found))
