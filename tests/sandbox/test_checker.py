"""The standing: tested once, remembered while nothing changes, and never taken from others."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from tests.sandbox.leaky_sandboxes import ENVIRONMENT, confined, real_tool, script, unconfined

from assent.core.shell.process import SandboxState, SandboxStatus
from assent.sandbox.selftest.canaries import SelfTestPaths
from assent.sandbox.selftest.checker import (
    KERNEL_RESTRICTIONS,
    KernelRestriction,
    SandboxChecker,
    bubblewrap_confinement,
    restricted_status,
)
from assent.sandbox.selftest.selftest import ConfinementFactory, PipelineRunner
from assent.sandbox.status import FILE, CachedStatus, cache_key, install_command

HELD = SandboxStatus(SandboxState.HELD)


class Counted:
    """A confinement that counts how often it was used."""

    def __init__(self, confine: Callable[[], ConfinementFactory] = confined) -> None:
        self.times = 0
        self._confine = confine

    def __call__(self, _: bytes) -> ConfinementFactory:
        def confine(ground: SelfTestPaths) -> PipelineRunner:
            self.times += 1
            return self._confine()(ground)

        return confine


def nothing_lacks() -> SandboxStatus | None:
    return None


def test_g13_the_self_test_is_made_once_a_boot(tmp_path: Path) -> None:
    first, second = Counted(), Counted()
    assert SandboxChecker(tmp_path, first).cached() is None
    assert SandboxChecker(tmp_path, first).status() == HELD
    assert SandboxChecker(tmp_path, second).status() == HELD
    assert SandboxChecker(tmp_path, second).cached() == HELD
    # One to see whether it starts, one for the attempts, one for the boundaries of a call.
    assert (first.times, second.times) == (3, 0)
    assert (tmp_path / FILE).stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.iterdir()] == [FILE]


def test_g13_a_leak_turns_the_shell_off_and_is_remembered(tmp_path: Path) -> None:
    found = SandboxChecker(tmp_path, lambda _: unconfined).status()
    assert (found.hold, found.next) == (SandboxState.OFF, "assent doctor")
    assert found.reason.startswith(
        "The sandbox is not safe. A program inside it can: create a file;"
    )
    assert SandboxChecker(tmp_path, Counted()).cached() == found
    assert SandboxChecker(tmp_path, Counted()).retest()[0] == HELD
    assert SandboxChecker(tmp_path, Counted()).cached() == HELD


def test_another_program_is_tested_anew(tmp_path: Path) -> None:
    tool = tmp_path / "bwrap"
    tool.symlink_to(os.fsdecode(real_tool()))
    names = [cache_key(os.fsencode(tool)), cache_key(real_tool())]
    copy = script(tmp_path / "..", "#!/bin/sh\n")
    names.append(cache_key(copy))
    os.utime(copy, (1, 1))
    names.append(cache_key(copy))
    assert len(set(names)) == 4
    assert cache_key(b"/nowhere/bwrap") == ""


@pytest.mark.parametrize(
    "text",
    [b"", b"{", b"[]", b"\xff", b'{"key": 1}', b'{"key": "x", "standing": {"hold": "yes"}}'],
)
def test_a_damaged_result_is_made_anew(tmp_path: Path, text: bytes) -> None:
    file = tmp_path / FILE
    file.write_bytes(text)
    file.chmod(0o600)
    assert SandboxChecker(tmp_path, Counted()).cached() is None
    assert SandboxChecker(tmp_path, Counted()).status() == HELD
    assert msgspec.json.decode(file.read_bytes(), type=CachedStatus).standing == HELD


def test_a_result_that_others_could_write_does_not_count(tmp_path: Path) -> None:
    SandboxChecker(tmp_path, Counted()).status()
    file = tmp_path / FILE
    ways: list[Callable[[], object]] = [
        lambda: file.chmod(0o666),
        lambda: file.chmod(0o640),
        lambda: _linked(file),
        lambda: _folder(file),
    ]
    if os.geteuid() == 0:
        ways.append(lambda: _given_away(file))
    for way in ways:
        kept = file.read_bytes()
        way()
        assert SandboxChecker(tmp_path, Counted()).cached() is None
        _clear(file)
        file.write_bytes(kept)
        file.chmod(0o600)
        assert SandboxChecker(tmp_path, Counted()).cached() == HELD


def test_a_result_of_other_circumstances_does_not_count(tmp_path: Path) -> None:
    file = tmp_path / FILE
    file.write_bytes(msgspec.json.encode(CachedStatus("another boot", HELD)))
    file.chmod(0o600)
    assert SandboxChecker(tmp_path, Counted()).cached() is None


def test_a_result_that_cannot_be_kept_is_still_one(tmp_path: Path) -> None:
    taken = tmp_path / "state"
    taken.write_bytes(b"no folder")
    assert SandboxChecker(taken, Counted()).status() == HELD


def test_g13_a_self_test_that_breaks_turns_the_shell_off(tmp_path: Path) -> None:
    def broken(_: bytes) -> ConfinementFactory:
        raise RuntimeError("out of order")

    standings = SandboxChecker(tmp_path, broken, None, real_tool, nothing_lacks)
    words = "The sandbox self-test failed: RuntimeError: out of order."
    assert standings.status() == SandboxStatus(SandboxState.OFF, words, "assent doctor")
    assert standings.cached() is None


def test_g13_without_bubblewrap_there_is_no_sandbox(tmp_path: Path) -> None:
    lack = SandboxStatus(
        SandboxState.NONE, "bubblewrap is not installed.", "apt install bubblewrap"
    )
    standings = SandboxChecker(tmp_path, Counted(), None, lambda: None, lambda: lack)
    expected = SandboxStatus(SandboxState.NONE, lack.reason, install_command("bubblewrap"))
    assert standings.cached() == standings.status() == expected
    assert standings.retest() == (expected, ())
    assert standings.confinement() is None
    assert "bubblewrap" in expected.next
    assert list(tmp_path.iterdir()) == []


def test_g13_a_bubblewrap_that_cannot_start_is_no_sandbox(tmp_path: Path) -> None:
    tool = script(tmp_path, "#!/bin/sh\necho bwrap: no namespaces >&2\nexit 1\n")

    def confine(tool: bytes) -> ConfinementFactory:
        return bubblewrap_confinement(ENVIRONMENT, tool)

    state = tmp_path / "state"
    state.mkdir()
    (state / FILE).write_text("what was found when it started", encoding="utf-8")
    standings = SandboxChecker(state, confine, None, lambda: tool, nothing_lacks)
    found = standings.status()
    assert found.hold is SandboxState.NONE
    assert found.reason.startswith("bubblewrap cannot start here")
    assert found.reason.endswith("Output: bwrap: no namespaces")
    assert standings.confinement() is None
    assert SandboxChecker(state, confine, None, lambda: tool, nothing_lacks).cached() == found


def test_what_hindered_is_tried_again(tmp_path: Path) -> None:
    tool = real_tool()
    hindered = SandboxStatus(SandboxState.NONE, "bubblewrap cannot start here.")
    (tmp_path / FILE).write_bytes(msgspec.json.encode(CachedStatus(cache_key(tool), hindered)))
    (tmp_path / FILE).chmod(0o600)
    standings = SandboxChecker(tmp_path, Counted())
    assert standings.cached() == hindered
    assert standings.status() == HELD


def test_in_a_container_it_is_tested_anew() -> None:
    code = (
        "import sys; sys.path[:0] = sys.argv[2:]; "
        "from assent.sandbox.status import cache_key; "
        "print(cache_key(sys.argv[1].encode()))"
    )
    tool = os.fsdecode(real_tool())
    ask = [sys.executable, "-c", code, tool, *sys.path]
    box = [tool, "--unshare-user", "--dev-bind", "/", "/", "--"]
    found = [subprocess.check_output(line, text=True).strip() for line in (ask, ask, [*box, *ask])]
    assert len(found[0]) == 64
    assert found[0] == found[1] != found[2]


@pytest.mark.parametrize("one", KERNEL_RESTRICTIONS, ids=lambda one: one.file)
def test_what_forbids_namespaces_is_named(tmp_path: Path, one: KernelRestriction) -> None:
    file = tmp_path / one.file.lstrip("/")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"{one.value}\n", encoding="utf-8")
    reason = f"bubblewrap cannot start here: {one.words}. Output: bwrap: no"
    assert restricted_status(" bwrap:\n no ", tmp_path) == SandboxStatus(
        SandboxState.NONE, reason, one.next
    )
    if one.value:
        file.write_text("7\n", encoding="utf-8")
        words = "bubblewrap cannot start here. Output: no output"
        assert restricted_status("", tmp_path) == SandboxStatus(
            SandboxState.NONE, words, "assent doctor"
        )


def _linked(file: Path) -> None:
    target = file.with_name("target")
    file.rename(target)
    file.symlink_to(target)


def _folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


def _given_away(file: Path) -> None:
    os.chown(file, 65534, 65534)


def _clear(file: Path) -> None:
    if file.is_dir() and not file.is_symlink():
        file.rmdir()
    else:
        file.unlink()
