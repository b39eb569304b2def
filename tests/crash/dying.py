"""A build that is killed right before a chosen call.

python -m tests.crash.dying MOMENT AT FOLDER PLAN_ID
"""

import sys
from pathlib import Path

from assent.core.run.journal import drive_to_end
from assent.testing.engines import Site, open_site
from assent.testing.watched import Moments, kill

if __name__ == "__main__":
    moment, at, folder, plan_id = sys.argv[1:]
    site = Site(Path(folder) / "work", Path(folder) / "state" / "assent")
    dying = Moments(lambda name: name == moment, at=int(at), act=kill)
    drive_to_end(open_site(site, dying).runs.build(plan_id))
