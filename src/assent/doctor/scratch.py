"""Checks of the scratch copy: from inside, the real files cannot be reached or changed."""

import os
from collections.abc import Callable
from functools import partial
from typing import Final, TypeAlias

from assent.core.errors import Busy, Refused
from assent.core.scratch import ScratchBackendName
from assent.core.shell.process import CommandSpec, OutputChunk, ProcessLimits, ProcessResult
from assent.doctor.check import CheckSkipped, DoctorCheck, require_safeguard, run_check
from assent.doctor.workspace import PROJECT, DoctorWorkspace, doctor_workspace
from assent.sandbox.scratch.backend import ScratchCopies

CHANNEL: Final = "scratch copy"
# By backend: what is tried.
ROWS: Final[dict[ScratchBackendName, str]] = {
    "overlay": "change or reach real files from a scratch copy (overlay)",
    "copy": "change or reach real files from a scratch copy (copied files)",
}
CANARY: Final = b"not for commands"
_LIMITS: Final = ProcessLimits(seconds=30)
# Everything that could reach a layer: by writing, by names, by mounts, by other processes.
_ATTACK: Final = """
echo changed > kept.txt; rm -rf sub; chmod 777 .; touch -d 1999-01-01 kept.txt
echo changed > {outside}/new; echo changed > {state}/new; cat {state}/canary
find {state} {outside} -exec cat {{}} +
umount -l {root}; mount -o remount,rw /; mount --bind / {root}
unshare -Urm umount -l {root}; nsenter -t 1 -m cat {state}/canary
for process in /proc/[0-9]*; do cat $process/root{state}/canary; done
mknod white c 0 0; rm -rf {root}/.
echo over
"""

CopiesOpener: TypeAlias = Callable[[DoctorWorkspace, ScratchBackendName], ScratchCopies]


def scratch_checks(opening: CopiesOpener) -> list[DoctorCheck]:
    """Attacks the real files from inside a copy of each kind."""
    return [
        run_check(CHANNEL, name, tried, partial(_attacked, opening, name))
        for name, tried in ROWS.items()
    ]


def _attacked(opening: CopiesOpener, name: ScratchBackendName) -> str:
    with doctor_workspace() as workspace:
        workspace.place.write("state/canary", CANARY)
        before = _seen(workspace)
        try:
            copy = opening(workspace, name).open("doctor")
        except (Refused, Busy) as refused:
            raise CheckSkipped(refused.message) from refused
        try:
            root, state = str(workspace.root), str(workspace.places.state)
            line = _ATTACK.format(root=root, state=state, outside=workspace.outside)
            parts = list(copy.run(CommandSpec(line), os.fsencode(root), _LIMITS))
            said = b"".join(part.content for part in parts if isinstance(part, OutputChunk))
            changed = {change.path for change in copy.changes().changes}
        finally:
            copy.close()
        require_safeguard(CANARY not in said, "A command in the copy read Assent's state.")
        require_safeguard(_seen(workspace) == before, "A command in the copy changed real files.")
        ended = isinstance(parts[-1], ProcessResult) and b"over" in said
        require_safeguard(ended, "The attack did not run to its end, so nothing is shown.")
        require_safeguard(b"kept.txt" in changed, "The copy itself could not be changed.")
    return "The copy was changed, the real files were not."


def _seen(workspace: DoctorWorkspace) -> dict[str, object]:
    """Returns the workspace and what is outside it, in enough detail to show any change."""
    tops = (PROJECT, workspace.outside.name)
    return {name: one for name, one in workspace.place.seen().items() if name.startswith(tops)}
