"""Law 6: what a command that was cut off started ends with it, before anything is decided."""

from tests.runs.test_run_cancellation import interrupted
from tests.runs.test_runs_with_commands import approved, files, script, write
from tests.sandbox.profiles import left_over, long_time

from assent.core.run.journal import drive_to_end
from assent.testing.engine_fixture import EngineFixture, open_engine_fixture


def test_law_6_what_left_the_session_of_an_ended_command_ends_as_well(site: EngineFixture) -> None:
    engine, mark, other = open_engine_fixture(site), long_time(), long_time()
    line = f"(setsid sh -c 'echo begun; sleep {mark}; :' &); sleep {other}"
    record = approved(engine, write("a.txt", "a\n"), script(line))
    interrupted(engine, record)
    assert left_over(other) == left_over(mark) == []
    assert files(site) == {"a.txt": b"a\n"}
    assert drive_to_end(engine.runs.recover("roll_back")).outcome == "rolled_back"
    assert files(site) == {}
