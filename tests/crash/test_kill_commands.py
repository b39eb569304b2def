"""Law 6 on a real disk: a build with a command is killed at every moment, and taken up again."""

from pathlib import Path

import pytest
from tests.crash.apart import PATIENT, apart
from tests.crash.command_sweep import FINISH, OLD, START, Report, all_quiet
from tests.crash.rig import Rig
from tests.crash.stories import Story, write
from tests.crash.sweep import killed

from assent.core.plan.operation import RunCommand
from assent.core.plan.record import PlanRecord
from assent.core.run.journal import drive_to_end
from assent.core.undo import attributed_text
from assent.planning.drafts import Drafts
from assent.testing.call_trace import CallTrigger

pytestmark = PATIENT

FORWARD = {
    "nothing, nothing, AWAITING_APPROVAL",
    "rolled_back, rolled_back, AWAITING_APPROVAL",
    "done, done, COMPLETED",
    "nothing, nothing, COMPLETED",
}
# Killed while the command ran, or before its end was on record: a person decides.
DECIDED = {
    "auto": {"needs_you, rolled_back, AWAITING_APPROVAL"},
    "resume": {"needs_you, done, COMPLETED"},
}


@pytest.mark.parametrize("way", ["auto", "resume"])
def test_g5_a_build_with_a_command_killed_at_every_moment(way: str, tmp_path: Path) -> None:
    report = swept(way, tmp_path)
    assert report.complaints == []
    assert report.killed >= 90
    assert {*report.ends} == FORWARD | DECIDED[way]
    assert {
        "hands.rename_exchange",
        "hands.syncfs",
        "blobs.pwrite",
        "blobs.rename",
        "blobs.fsync",
    } <= {*report.moments}


def test_g5_a_roll_back_over_a_command_killed_at_every_moment(tmp_path: Path) -> None:
    report = swept("back", tmp_path)
    assert report.complaints == []
    assert report.killed >= 40
    waiting = "needs_you, rolled_back, AWAITING_APPROVAL"  # killed before the word was on record
    goes_on = "rolled_back, rolled_back, AWAITING_APPROVAL"
    over = "nothing, nothing, AWAITING_APPROVAL"
    assert {*report.ends} == {waiting, goes_on, over}


def test_law_6_a_command_that_takes_its_process_down_with_it_is_unknown(tmp_path: Path) -> None:
    script = b"echo half >> log.txt; kill -9 $PPID; kill -9 $$"
    command = RunCommand(script=script, profile="unconfined")

    def run(drafts: Drafts, record: PlanRecord) -> object:
        return drafts.run(record, command)

    steps = (write(b"in.txt", b"new in\n"), run, write(b"last.txt", b"last\n"))
    rig = Rig(tmp_path, Story("dies", START, steps, FINISH))
    assert killed(lambda listen: rig.build(), CallTrigger())
    engine = rig.open()
    all_quiet(engine)
    report = drive_to_end(engine.runs.recover())
    results = [result for _, result in report.operations]
    assert (report.outcome, results) == ("needs_you", ["done", "unknown", "not_started"])
    assert report.exits == (None, None, None)  # nobody saw how it ended
    told = engine.history.items(engine.history.find(report.run))[1].told
    assert told is not None
    assert (told.code, told.cut) == (None, "unknown")
    assert rig.tree()[b"log.txt"].content == OLD + b"half\n"
    assert attributed_text([b"log.txt"], "that command") in report.notes
    assert drive_to_end(engine.runs.recover("roll_back")).outcome == "rolled_back"
    assert rig.tree() == START


def swept(way: str, folder: Path) -> Report:
    """Runs a sweep in a process of its own."""
    return apart(Report, "tests.crash.command_sweep", way, folder)
