"""G5, law 6: plans with commands through the engine, with real programs on a real disk."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.sandbox_status import remember_sandbox
from tests.support.stored_contents import small_records, store_alone

from assent.app.engine import Engine
from assent.core.errors import ApprovalUsed, Drift, Refused, RunUnfinished
from assent.core.event import Event, RunEnded, RunHalted, RunResumed, RunStarted
from assent.core.plan.operation import RunCommand
from assent.core.plan.record import PlanRecord, PlanState
from assent.core.run.journal import LiveCommandOutput, drive_to_end
from assent.core.undo import CHANGES_UNKNOWN
from assent.runs.run_status import RunReport
from assent.testing.engine_fixture import EngineFixture, open_engine_fixture

WAYS = ("assent recover --resume", "assent recover --roll-back", "assent recover --accept")
START = {"in.txt": b"in\n", "log.txt": b"first\n", "mine.txt": b"mine\n"}

Step = Callable[[Engine, PlanRecord], PlanRecord]


@pytest.fixture
def site(tmp_path: Path) -> EngineFixture:
    site = EngineFixture(tmp_path / "work", tmp_path / "state" / "assent")
    site.root.mkdir()
    for name, content in START.items():
        (site.root / name).write_bytes(content)
    remember_sandbox(site.state)
    return site


def script(text: str, undo: str = "") -> Step:
    words = (b"sh", b"-c", undo.encode()) if undo else ()
    command = RunCommand(script=text.encode(), undo=words, profile="unconfined")
    return lambda engine, record: engine.drafts.run(record, command).record


def write(path: str, content: str) -> Step:
    return lambda engine, record: (
        engine.drafts.write(record, path.encode(), [content.encode()], None).record
    )


def approved(engine: Engine, *steps: Step) -> PlanRecord:
    record = engine.plans.new("work", "tests", "A goal")
    for step in steps:
        record = step(engine, record)
    record = engine.approvals.propose(record)
    return engine.approvals.approve(record, record.digest, "", "test")


def built(engine: Engine, *steps: Step) -> tuple[PlanRecord, RunReport]:
    record = approved(engine, *steps)
    report = drive_to_end(engine.runs.build(record.plan_id))
    return engine.plans.find(record.plan_id), report


def files(site: EngineFixture) -> dict[str, bytes]:
    found = [path for path in site.root.rglob("*") if path.is_file()]
    named = {str(path.relative_to(site.root)): path.read_bytes() for path in found}
    return {name: content for name, content in named.items() if ".opencode" not in name}


def results(report: RunReport) -> list[str]:
    return [result for _, result in report.operations]


def run_events(engine: Engine) -> list[type[Event]]:
    kinds = (RunStarted, RunHalted, RunResumed, RunEnded)
    return [type(one.event) for one in engine.log() if isinstance(one.event, kinds)]


FAIL = script(
    "echo more >> log.txt; mkdir -p made/up; echo x > made/up/out; echo oh no >&2; exit 3"
)


def test_g5_a_plan_with_a_command_is_built_in_order_and_what_it_says_comes_live(
    site: EngineFixture,
) -> None:
    engine = open_engine_fixture(site)
    record = approved(
        engine, write("in.txt", "new\n"), script("cat in.txt; cat in.txt >> log.txt"),
        write("last.txt", "last\n"),
    )  # fmt: skip
    said = [
        step for step in engine.runs.build(record.plan_id) if isinstance(step, LiveCommandOutput)
    ]
    assert b"".join(step.content for step in said) == b"new\n"
    assert files(site) == {
        **START, "in.txt": b"new\n", "log.txt": b"first\nnew\n", "last.txt": b"last\n"
    }  # fmt: skip
    assert engine.plans.find(record.plan_id).state is PlanState.COMPLETED
    assert run_events(engine) == [RunStarted, RunEnded]
    with pytest.raises(ApprovalUsed):
        drive_to_end(engine.runs.build(record.plan_id))


def test_g5_a_failed_command_halts_and_says_what_was_done_what_was_not_and_the_ways_on(
    site: EngineFixture,
) -> None:
    engine = open_engine_fixture(site)
    record, report = built(engine, write("in.txt", "new\n"), FAIL, write("last.txt", "last\n"))
    assert (report.outcome, record.state) == ("needs_you", PlanState.HALTED)
    assert results(report) == ["done", "failed", "not_started"]
    assert "the command ended with exit code 3." in report.notes[0]
    assert report.notes[0].startswith("$ echo more >> log.txt")
    assert "Output: oh no" in report.notes
    assert [way for way in WAYS if any(note.startswith(way) for note in report.notes)] == [*WAYS]
    assert run_events(engine) == [RunStarted, RunHalted]
    with pytest.raises(RunUnfinished):
        drive_to_end(engine.runs.build(record.plan_id))
    assert files(site)["log.txt"] == b"first\nmore\n"


def test_g5_roll_back_restores_every_recorded_byte_and_the_plan_waits_for_a_new_yes(
    site: EngineFixture,
) -> None:
    engine = open_engine_fixture(site)
    record, _ = built(engine, write("in.txt", "new\n"), FAIL)
    report = drive_to_end(engine.runs.recover("roll_back"))
    assert (report.outcome, results(report)) == ("rolled_back", ["undone", "failed"])
    assert files(site) == START
    assert not (site.root / "made").exists()
    assert engine.plans.find(record.plan_id).state is PlanState.AWAITING_APPROVAL
    assert run_events(engine) == [RunStarted, RunHalted, RunResumed, RunEnded]
    with pytest.raises(ApprovalUsed):
        drive_to_end(engine.runs.build(record.plan_id))


def test_g5_accept_keeps_everything_and_completes_the_plan(site: EngineFixture) -> None:
    engine = open_engine_fixture(site)
    record, _ = built(engine, write("in.txt", "new\n"), FAIL, write("last.txt", "last\n"))
    left = files(site)
    report = drive_to_end(engine.runs.recover("accept"))
    assert (report.outcome, results(report)) == ("done", ["done", "failed", "not_started"])
    assert files(site) == left
    assert engine.plans.find(record.plan_id).state is PlanState.COMPLETED
    assert run_events(engine) == [RunStarted, RunHalted, RunEnded]


def test_g5_resume_runs_the_command_again_and_goes_on(site: EngineFixture) -> None:
    engine = open_engine_fixture(site)
    record, report = built(engine, script("cat wanted >> log.txt"), write("last.txt", "last\n"))
    assert report.outcome == "needs_you"
    (site.root / "wanted").write_bytes(b"here\n")
    report = drive_to_end(engine.runs.recover("resume"))
    assert (report.outcome, results(report)) == ("done", ["done", "done"])
    assert files(site)["log.txt"] == b"first\nhere\n"
    assert engine.plans.find(record.plan_id).state is PlanState.COMPLETED


def test_f66_files_that_a_command_changed_under_the_next_segment_halt_it(
    site: EngineFixture,
) -> None:
    engine = open_engine_fixture(site)
    record = approved(engine, script("echo late > there.txt"), write("there.txt", "mine\n"))
    report = drive_to_end(engine.runs.build(record.plan_id))
    assert (report.outcome, results(report)) == ("needs_you", ["done", "conflict"])
    assert report.notes[0].startswith("there.txt: expected nothing, found a file")
    assert files(site)["there.txt"] == b"late\n"
    assert drive_to_end(engine.runs.recover("roll_back")).outcome == "rolled_back"
    assert "there.txt" not in files(site)


def test_what_was_changed_since_is_left_and_named_until_a_person_decides(
    site: EngineFixture,
) -> None:
    engine = open_engine_fixture(site)
    built(engine, write("in.txt", "new\n"), FAIL)
    (site.root / "log.txt").write_bytes(b"somebody else's\n")
    report = drive_to_end(engine.runs.recover("roll_back"))
    assert (report.outcome, results(report)) == ("needs_you", ["undone", "failed"])
    assert report.notes[0] == "log.txt: it changed after the run wrote it."
    assert files(site) == {**START, "log.txt": b"somebody else's\n"}
    (site.root / "log.txt").write_bytes(b"first\nmore\n")
    assert drive_to_end(engine.runs.recover("roll_back")).outcome == "rolled_back"
    assert files(site) == START


def test_an_undo_command_of_the_plan_runs_when_the_run_is_taken_back(site: EngineFixture) -> None:
    engine = open_engine_fixture(site)
    _, report = built(
        engine, script("echo on > switch", undo="rm switch; echo off >> log.txt"), FAIL
    )
    assert results(report) == ["done", "failed"]
    report = drive_to_end(engine.runs.recover("roll_back"))
    assert (report.outcome, results(report)) == ("rolled_back", ["undone", "failed"])
    assert files(site) == START  # what the failed command did to the same file is back, too


def test_what_is_no_file_any_more_is_left_alone_too(site: EngineFixture) -> None:
    engine = open_engine_fixture(site)
    built(engine, write("in.txt", "new\n"), FAIL)
    (site.root / "log.txt").unlink()
    os.mkfifo(site.root / "log.txt")
    report = drive_to_end(engine.runs.recover("roll_back"))
    assert report.outcome == "needs_you"
    assert report.notes[0] == "log.txt: it is no longer a file or cannot be read."
    assert files(site)["in.txt"] == START["in.txt"]


def test_the_undo_of_a_command_that_failed_does_not_run_and_that_is_said(
    site: EngineFixture,
) -> None:
    engine = open_engine_fixture(site)
    _, report = built(engine, script("echo on > switch; false", undo="echo no > undone"))
    assert results(report) == ["failed"]
    report = drive_to_end(engine.runs.recover("roll_back"))
    assert files(site) == START
    told = (
        "Undo command not run, because the command it reverses may not have succeeded: $ sh "
        "-c 'echo no > undone'."
    )
    assert told in report.notes


def test_a_report_does_not_need_what_a_damaged_store_has_lost(site: EngineFixture) -> None:
    engine = open_engine_fixture(site)
    record, report = built(engine, FAIL)
    blobs = site.state / "blobs"
    for blob in [store_alone(blobs, digest) for digest, _ in small_records(blobs)]:
        if blob.read_bytes() == b"oh no\n" or b'"operations"' in blob.read_bytes()[:20]:
            blob.write_bytes(b"damaged")
    ledger = engine.runs.repository()
    again = engine.runs.report(ledger, report.run, ledger.plan(record))
    assert results(again) == ["failed"]
    assert "Output: oh no" not in again.notes
    assert any(CHANGES_UNKNOWN in note for note in again.notes)


def test_what_no_roll_back_covers_is_said(site: EngineFixture) -> None:
    engine = open_engine_fixture(site)
    _, report = built(engine, FAIL)
    told = [note for note in report.notes if note.startswith("Not covered by a rollback: ")]
    assert len(told) == 1
    assert "without the sandbox" in told[0]
    report = drive_to_end(engine.runs.recover("roll_back"))
    assert told == [note for note in report.notes if note.startswith("Not covered")]


def test_law_3_what_is_refused_before_the_start_leaves_the_approval_unspent(
    site: EngineFixture,
) -> None:
    engine = open_engine_fixture(site)
    record = approved(engine, script("true"), write("in.txt", "new\n"))
    (site.root / "in.txt").write_bytes(b"drifted\n")
    with pytest.raises(Drift):
        drive_to_end(engine.runs.build(record.plan_id))
    assert engine.approvals.is_approved(engine.plans.find(record.plan_id))
    assert run_events(engine) == []


def test_law_3_a_command_that_could_not_run_here_is_refused_before_anything_starts(
    site: EngineFixture,
) -> None:
    engine = open_engine_fixture(site)
    folder = site.root / "sub"
    folder.mkdir()
    command = RunCommand((b"true",), cwd=b"sub", profile="unconfined")
    record = approved(
        engine, write("in.txt", "new\n"), lambda e, r: e.drafts.run(r, command).record
    )
    folder.rmdir()
    folder.symlink_to("/")
    with pytest.raises(Refused, match="symbolic link"):
        drive_to_end(engine.runs.build(record.plan_id))
    assert (files(site)["in.txt"], run_events(engine)) == (START["in.txt"], [])
    assert engine.approvals.is_approved(engine.plans.find(record.plan_id))


def test_what_a_roll_back_displaces_is_kept_however_small(site: EngineFixture) -> None:
    """What was written while a command ran may be the user's own, and is stored nowhere else."""
    engine = open_engine_fixture(site)
    _, report = built(engine, script("echo second > log.txt; exit 3"))
    assert report.outcome == "needs_you"
    assert drive_to_end(engine.runs.recover("roll_back")).outcome == "rolled_back"
    assert files(site) == START
    kept = [path.read_bytes() for path in (site.state / "spares").rglob("*") if path.is_file()]
    assert b"second\n" in kept
