"""Mount points: made for a call and removed after it, or after whoever made them was killed."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from tests.sandbox.profiles import HOME, TOOL, gathered, needs_bubblewrap, profile

from assent.core.shell.process import ProcessLimits, Program
from assent.sandbox.runner.bubblewrap import BubblewrapRunner
from assent.sandbox.runner.mount_points import MountPointFolder, MountPointRecord, MountPoints

ENDLESS = 2**62

MAKES = """
import sys
from assent.sandbox.runner.mount_points import MountPoints
with MountPoints(sys.argv[1]).active([sys.argv[2].encode()]):
    print("on", flush=True)
    sys.stdin.read()
"""


def started(state: Path, path: Path) -> subprocess.Popen[bytes]:
    """A process that stands on a folder until its input ends."""
    process = subprocess.Popen(
        [sys.executable, "-c", MAKES, str(state), str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"on\n"
    return process


def kill(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGKILL)
    process.communicate()


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / ".claude"


def test_it_is_there_for_the_call_and_no_longer(state: Path, place: Path) -> None:
    with MountPoints(str(state)).active([bytes(place)]) as held:
        assert len(held) == 1
        assert place.is_dir()
    assert not place.exists()
    assert os.listdir(state) == []


def test_what_was_there_before_is_neither_recorded_nor_removed(state: Path, place: Path) -> None:
    place.mkdir()
    with MountPoints(str(state)).active([bytes(place)]) as held:
        assert held == ()
    assert place.is_dir()


def test_a_folder_that_somebody_made_anew_stays(state: Path, place: Path) -> None:
    with MountPoints(str(state)).active([bytes(place)]):
        place.rmdir()
        place.mkdir()
        os.utime(place, ns=(1, 1))
    assert place.is_dir()


def test_after_a_kill_the_next_sweep_removes_it_once(state: Path, place: Path) -> None:
    kill(started(state, place))
    assert place.is_dir()
    assert MountPoints(str(state)).sweep() == (bytes(place),)
    assert not place.exists()
    assert MountPoints(str(state)).sweep() == ()


def test_after_a_kill_the_next_call_removes_it_too(state: Path, place: Path) -> None:
    kill(started(state, place))
    with MountPoints(str(state)).active([]):
        assert not place.exists()


def test_nothing_is_swept_while_it_is_in_use(state: Path, place: Path) -> None:
    process = started(state, place)
    assert MountPoints(str(state)).sweep() == ()
    assert place.is_dir()
    process.communicate()
    assert not place.exists()


@pytest.mark.parametrize("first_is_killed", [False, True])
def test_a_folder_of_two_calls_stays_until_the_second_ends(
    state: Path, place: Path, first_is_killed: bool
) -> None:
    first = started(state, place)
    with MountPoints(str(state)).active([bytes(place)]):
        if first_is_killed:
            kill(first)
        else:
            first.communicate()
        assert MountPoints(str(state)).sweep() == ()
        assert place.is_dir()
    assert not place.exists()


@pytest.mark.parametrize(("far", "stays"), [(0, False), (1, True)])
def test_killed_before_its_time_was_recorded_the_time_of_the_record_tells(
    state: Path, place: Path, far: int, stays: bool
) -> None:
    place.mkdir()
    at = place.stat().st_mtime_ns - far * 3600 * 10**9
    state.mkdir()
    (state / "left").write_bytes(
        msgspec.json.encode(MountPointRecord(at, ENDLESS, (MountPointFolder(bytes(place)),)))
    )
    MountPoints(str(state)).sweep()
    assert place.is_dir() is stays


def test_a_damaged_record_removes_nothing_and_goes(state: Path, place: Path) -> None:
    place.mkdir()
    state.mkdir()
    (state / "left").write_bytes(b'{"at": 1, "made"')
    assert MountPoints(str(state)).sweep() == ()
    assert place.is_dir()
    assert os.listdir(state) == []


@needs_bubblewrap
def test_while_another_call_ends_the_place_stays_closed(state: Path, tmp_path: Path) -> None:
    """A mount whose folder is removed outside is gone inside, too."""
    root = tmp_path / "root"
    root.mkdir()
    place = root / ".claude"
    first = started(state, place)
    kept = msgspec.structs.replace(profile(root, home=HOME, writable=True), kept=(bytes(place),))
    assert TOOL is not None
    runner = BubblewrapRunner(lambda: kept, TOOL, points=MountPoints(str(state)))
    waits = b"echo on; until [ -e go ]; do sleep 0.02; done; "
    line = waits + b"mkdir .claude/x || rmdir .claude || echo closed"
    parts = runner.run((Program((b"/bin/sh", b"-c", line)),), bytes(root), ProcessLimits())
    said = next(parts)
    first.communicate()
    (root / "go").touch()
    assert getattr(said, "content", b"") == b"on\n"
    assert gathered(parts).output == b"closed\n"
    assert not place.exists()
