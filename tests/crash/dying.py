"""A build that is killed right before a chosen call.

python -m tests.crash.dying MOMENT AT FOLDER PLAN_ID
"""

import sys
from pathlib import Path

from assent.core.run.journal import drive_to_end
from assent.testing.call_trace import CallTrigger, kill_process
from assent.testing.engine_fixture import EngineFixture, open_engine_fixture

if __name__ == "__main__":
    moment, at, folder, plan_id = sys.argv[1:]
    site = EngineFixture(Path(folder) / "work", Path(folder) / "state" / "assent")
    dying = CallTrigger(lambda name: name == moment, at=int(at), act=kill_process)
    drive_to_end(open_engine_fixture(site, dying).runs.build(plan_id))
