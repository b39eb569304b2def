"""F113 for builds: a command of a run is ended from another thread, and a person decides."""

from tests.runs.test_runs_with_commands import WAYS, approved, files, results, script, write
from tests.sandbox.profiles import left_over, long_time
from tests.support.threads import Worker

from assent.app.engine import Engine
from assent.core.plan.record import PlanRecord, PlanState
from assent.core.run.journal import CommandEndedEntry, LiveCommandOutput, drive_to_end
from assent.runs.journal import StoreJournal
from assent.runs.run_status import RunReport
from assent.testing.engine_fixture import EngineFixture, open_engine_fixture


def interrupted(engine: Engine, record: PlanRecord) -> RunReport:
    """Builds a plan in a thread, and ends its command once that says that it has begun."""
    worker = Worker(engine.runs.build(record.plan_id))
    worker.until(lambda live: isinstance(live, LiveCommandOutput) and b"begun" in live.content)
    assert engine.runs.interrupt()
    worker.ended()
    report: RunReport = worker.result
    return report


def waits(mark: str) -> str:
    return f"echo x > x.txt; echo begun; [ -e free ] || sleep {mark}; echo y > y.txt"


def test_f113_the_command_of_a_build_is_ended_and_the_run_waits_for_a_person(
    site: EngineFixture,
) -> None:
    engine, mark = open_engine_fixture(site), long_time()
    record = approved(engine, write("a.txt", "a\n"), script(waits(mark)), write("b.txt", "b\n"))
    assert not engine.runs.interrupt()
    report = interrupted(engine, record)
    assert left_over(mark) == []
    assert (report.outcome, results(report)) == ("needs_you", ["done", "failed", "not_started"])
    assert [way for way in WAYS if any(way in note for note in report.notes)] == [*WAYS]
    assert engine.plans.find(record.plan_id).state is PlanState.HALTED
    assert files(site) == {"a.txt": b"a\n", "x.txt": b"x\n"}
    entries = StoreJournal(engine._ports, engine.runs.repository()).read(report.run)
    assert [(e.code, e.cut) for e in entries if isinstance(e, CommandEndedEntry)] == [
        (130, "interrupted")
    ]
    assert not engine.runs.interrupt()


def test_f113_after_it_a_run_goes_on_or_back(site: EngineFixture) -> None:
    engine, mark = open_engine_fixture(site), long_time()
    record = approved(engine, write("a.txt", "a\n"), script(waits(mark)), write("b.txt", "b\n"))
    interrupted(engine, record)
    report = drive_to_end(engine.runs.recover("roll_back"))
    assert (report.outcome, files(site)) == ("rolled_back", {})


def test_f113_an_interrupt_before_a_command_begins_keeps_it_from_running(
    site: EngineFixture,
) -> None:
    engine = open_engine_fixture(site)
    record = approved(engine, script("echo x > x.txt"), script("echo y > y.txt"))
    work = engine.runs.build(record.plan_id)
    next(work)  # it is about to begin
    assert engine.runs.interrupt()
    report = drive_to_end(work)
    assert (report.outcome, files(site)) == ("needs_you", {})
    report = drive_to_end(engine.runs.recover("resume"))
    assert (report.outcome, files(site)) == ("done", {"x.txt": b"x\n", "y.txt": b"y\n"})


def test_f113_files_are_never_interrupted(site: EngineFixture) -> None:
    engine = open_engine_fixture(site)
    record = approved(engine, write("a.txt", "a\n"), write("b.txt", "b\n"))
    work = engine.runs.build(record.plan_id)
    next(work)
    assert engine.runs.interrupt()
    assert (drive_to_end(work).outcome, files(site)) == ("done", {"a.txt": b"a\n", "b.txt": b"b\n"})
