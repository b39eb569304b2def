"""Law 6: while something of a command that was ended still runs, nothing is decided about it."""

import os
import re
import signal
from pathlib import Path

import pytest
from tests.engine.test_runs_with_commands import approved, files, script, write
from tests.engine.threads import Worker
from tests.sandbox.cell import left_over, long_time

from assent.core.errors import Unsettled
from assent.core.journal import Said, finished
from assent.testing.engines import Site, open_site


@pytest.fixture
def site(tmp_path: Path) -> Site:
    site = Site(tmp_path / "work", tmp_path / "state" / "assent")
    site.root.mkdir()
    return site


def test_law_6_what_left_the_session_of_an_ended_command_is_named(site: Site) -> None:
    engine, mark, other = open_site(site), long_time(), long_time()
    line = f"(setsid sh -c 'echo begun; sleep {mark}; :' &); sleep {other}"
    record = approved(engine, write("a.txt", "a\n"), script(line))
    worker = Worker(engine.runs.build(record.plan_id))
    worker.until(lambda live: isinstance(live, Said) and b"begun" in live.content)
    engine.runs.interrupt()
    worker.ended()
    assert left_over(other) == []
    with pytest.raises(Unsettled) as refused:
        finished(engine.runs.recover("roll_back"))
    assert files(site) == {"a.txt": b"a\n"}
    alive = re.findall(r"process (\d+)", refused.value.message)
    assert len(alive) == 2  # the shell and what it waits for
    for pid in alive:
        os.kill(int(pid), signal.SIGKILL)
    while left_over(mark):
        pass
    assert finished(engine.runs.recover("roll_back")).outcome == "rolled_back"
    assert files(site) == {}
