"""The sandbox's self-test beside a session: searches do not wait for it, programs do."""

from pathlib import Path
from threading import Event
from typing import cast

import pytest

from assent.app.tool_environment import SandboxSelfTest
from assent.core.shell.process import SandboxState, SandboxStatus
from assent.sandbox.process_runner import LocalProcessRunner
from assent.sandbox.status import FILE, CachedStatus, cache_key, find_bwrap, write_status


class Slow:
    """What starts programs, where the test of the sandbox takes as long as a test wants."""

    def __init__(self) -> None:
        self.began, self.may_end = Event(), Event()
        self.tests = 0

    def sandbox_status(self) -> SandboxStatus:
        self.tests += 1
        self.began.set()
        self.may_end.wait()
        return SandboxStatus(SandboxState.HELD)


def selftest(slow: Slow) -> SandboxSelfTest:
    return SandboxSelfTest(lambda: cast("LocalProcessRunner", slow))


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    (tmp_path / "assent").mkdir(mode=0o700)
    if find_bwrap() is None:
        pytest.skip("bubblewrap is missing")
    return tmp_path / "assent"


def test_the_first_to_ask_starts_it_and_nobody_waits(state: Path) -> None:
    slow = Slow()
    test = selftest(slow)
    assert [test.is_over() for _ in range(3)] == [False] * 3
    slow.began.wait()
    slow.may_end.set()
    test.wait()
    assert test.is_over()
    assert slow.tests == 1


def test_a_result_that_is_known_is_not_found_out_again(state: Path) -> None:
    tool = find_bwrap()
    assert tool is not None
    write_status(state / FILE, CachedStatus(cache_key(tool), SandboxStatus(SandboxState.HELD)))
    slow = Slow()
    test = selftest(slow)
    assert test.is_over()
    test.wait()
    assert slow.tests == 0
