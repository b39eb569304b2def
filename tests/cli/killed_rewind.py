"""A rewind with files that dies: `python -m tests.cli.killed_rewind ROOT SESSION MESSAGE CALL AT`.

CALL and AT are as in `killed_build`; or CALL is `between`, which is after the files were restored
and before the conversation is rewound.
"""

import os
import signal
import sys

from tests.cli.harness import World
from tests.cli.killed_build import DyingDisk, dies, engine

from assent.agent.sessions import Sessions
from assent.core.run.journal import drive_to_end
from assent.core.session.record import SessionRecord


def kill_rewind(world: World, session: str, message: str, call: str, at: int = 0) -> None:
    """Rewinds a session with its files in a process that is killed before call number `at`."""
    dies(world, "tests.cli.killed_rewind", session, message, call, str(at))


class DyingSessions(Sessions):
    """Kills its own process where the conversation would be rewound."""

    def rewind_held(self, record: SessionRecord, message: str = "") -> SessionRecord:
        os.kill(os.getpid(), signal.SIGKILL)
        return super().rewind_held(record, message)


if __name__ == "__main__":
    root, session, message, call, at = sys.argv[1:]
    opened = engine(os.fsencode(root), DyingDisk(call, int(at)))
    if call == "between":
        opened.__dict__["sessions"] = DyingSessions(opened._services)
    rewinds = opened.file_rewinds
    shown = rewinds.preview(opened.sessions.find(session), message)
    drive_to_end(rewinds.apply(shown, "test"))
