"""A command is known to who keeps watch before it begins, and holds nothing of that."""

import os
import subprocess
from pathlib import Path

from assent.sandbox.runner.watchdog import tied_to_watchdog


def test_the_number_is_told_before_the_command_begins(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    script = b'ls /proc/self/fd | wc -l > "$1"'
    process = subprocess.Popen(
        tied_to_watchdog((b"/bin/sh", b"-c", script, b"sh", bytes(tmp_path / "open")), writer)
    )
    told = os.read(reader, 100)
    os.close(writer)
    assert process.wait() == 0
    assert told == b"%d\n" % process.pid
    assert os.read(reader, 100) == b"", "nobody else holds the pipe open"
    os.close(reader)
    assert int((tmp_path / "open").read_text("utf-8")) == 4  # its three, and the folder


def test_a_command_that_nobody_can_be_told_of_does_not_begin(tmp_path: Path) -> None:
    starter = subprocess.Popen([b"/bin/true"])
    starter.wait()
    shell, option, script, _, *words = tied_to_watchdog(
        (b"/bin/touch", bytes(tmp_path / "begun")), 3
    )
    gone = b"/proc/%d/fd/3" % starter.pid
    done = subprocess.run(
        [shell, option, script, gone, *words], stderr=subprocess.DEVNULL, check=False
    )
    assert done.returncode == 126
    assert list(tmp_path.iterdir()) == []
