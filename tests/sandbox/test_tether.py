"""Law 6: a command without a sandbox ends with the process that started it, or is known to live."""

import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.sandbox.cell import left_over, long_time
from tests.sandbox.room import Room, furnished

from assent.core.errors import Refused
from assent.core.process import Chunk, Errand, Limits
from assent.sandbox.running.tether import Marks

PATIENCE = 30
STARTER = """
import os, sys
from pathlib import Path
from tests.sandbox.room import Room
from assent.core.process import Chunk, Errand, Limits
from assent.sandbox.running.tether import Marks
base, line = sys.argv[1:]
room = Room(Path(base))
process = room.process().marking(Marks(base + "/state/running"))
for part in process.perform(Errand(line, profile="unconfined"), bytes(room.root), Limits()):
    if isinstance(part, Chunk):
        os.write(1, part.content)
"""

# In place of bubblewrap: something that leaves a child behind when it is killed.
STUCK = "#!/bin/sh\nsleep {time} &\necho $!\nwait\n"
SANDBOX = """
import os, sys
from assent.core.process import Limits, Program
from assent.sandbox.running.bubblewrap import Bubblewrap
from assent.sandbox.view.profile import Profile
root, tool = map(os.fsencode, sys.argv[1:])
profile = Profile(root, b"/root", (), writable=True)
for part in Bubblewrap(lambda: profile, tool).run([Program((b"true",))], root, Limits()):
    os.write(1, part.content)
"""


@pytest.fixture
def room(tmp_path: Path) -> Room:
    return furnished(tmp_path)


def marks(room: Room) -> Marks:
    return Marks(str(room.base / "state/running"))


@contextmanager
def starter(room: Room, line: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process that runs a line without a sandbox."""
    words = [sys.executable, "-c", STARTER, str(room.base), line]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as process:
        yield process
        process.kill()


def said(process: subprocess.Popen[bytes]) -> int:
    """Returns the number on the next line that the command says."""
    assert process.stdout is not None
    return int(process.stdout.readline())


def ends(pid: int) -> bool:
    """Waits for the end of a process that is nobody's child here."""
    try:
        watched = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([watched], [], [], PATIENCE)[0])
    finally:
        os.close(watched)


def test_law_6_all_of_a_command_ends_when_its_starter_is_killed(room: Room) -> None:
    time = long_time()
    with starter(room, f"sleep {time} & echo $!; echo $$; sleep {time}") as process:
        pids = [said(process), said(process)]
        process.send_signal(signal.SIGKILL)
        assert [ends(pid) for pid in pids] == [True, True]
    assert left_over(time) == []
    assert marks(room).outlived() == ""


def test_law_6_what_left_its_group_and_lives_on_is_named(room: Room) -> None:
    line = f"setsid sh -c 'echo $$; exec sleep {long_time()}' & wait"
    with starter(room, line) as process:
        pid = said(process)
        process.send_signal(signal.SIGKILL)
        process.wait(PATIENCE)
        assert marks(room).outlived() == f"process {pid}"
        assert room.process().marking(marks(room)).outlived() == f"process {pid}"
        os.kill(pid, signal.SIGKILL)
        assert ends(pid)
    assert marks(room).outlived() == ""
    assert list((room.base / "state/running").iterdir()) == []


def test_a_command_that_was_seen_to_its_end_leaves_no_mark(room: Room) -> None:
    process = room.process().marking(marks(room))
    work = process.perform(Errand("echo ran"), bytes(room.root), Limits(), confined=False)
    assert next(work) == Chunk(b"ran\n")
    folder = room.base / "state/running"
    assert len(list(folder.iterdir())) == 1
    list(work)
    assert list(folder.iterdir()) == []


def test_without_a_place_for_its_mark_nothing_runs(room: Room) -> None:
    (room.base / "state/running").write_bytes(b"")
    process = room.process().marking(marks(room))
    with pytest.raises(Refused, match="did not run"):
        list(process.perform(Errand("touch x"), bytes(room.root), Limits(), confined=False))
    assert not (room.root / "x").exists()


def test_law_6_what_a_killed_sandbox_leaves_behind_ends_too(room: Room) -> None:
    tool = room.base / "tool"
    tool.write_text(STUCK.format(time=long_time()), encoding="utf-8")
    tool.chmod(0o755)
    words = [sys.executable, "-c", SANDBOX, str(room.root), str(tool)]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as process:
        pid = said(process)
        process.kill()
        assert ends(pid)
