"""A terminal with a person at it: runs shell lines on one, and answers what Assent asks there."""

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
from collections.abc import Mapping
from pathlib import Path

QUESTION = b"Type the first 8 characters of the digest to approve: "
ASKED = 8
PATIENCE = 60.0
SIZE = struct.pack("HHHH", 500, 100, 0, 0)  # so long that nothing is paged

_DIGEST = re.compile(rb"\b[0-9a-f]{64}\b")

# Makes its stdin the terminal of the session, as a login does, and becomes the shell.
_LAUNCH = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execvp("bash", ["bash", "-e", "-c", sys.argv[1]])
"""


def on_terminal(script: str, folder: Path, env: Mapping[str, str]) -> tuple[int, str]:
    """Runs a script on a terminal, types each digest that is asked for; returns code and screen."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, SIZE)
    process = subprocess.Popen(
        [sys.executable, "-c", _LAUNCH, script],
        cwd=folder,
        env=env,
        start_new_session=True,
        stdin=slave,
        stdout=slave,
        stderr=slave,
    )
    os.close(slave)
    try:
        screen = _conversation(master)
    finally:
        os.close(master)
        process.kill()  # it has ended, unless it asked something else and waits
        code = process.wait()
    return code, screen.decode("utf-8").replace("\r\n", "\n")


def _conversation(master: int) -> bytes:
    """Reads the screen to its end, and agrees to every digest that was shown last."""
    screen, answered = b"", 0
    while more := _read(master):
        screen += more
        if screen.endswith(QUESTION) and len(screen) > answered:
            answered = len(screen)
            os.write(master, _DIGEST.findall(screen)[-1][:ASKED] + b"\n")
    return screen


def _read(master: int) -> bytes:
    ready, _, _ = select.select([master], [], [], PATIENCE)
    try:
        return os.read(master, 65536) if ready else b""
    except OSError:  # nobody has the other side open any more
        return b""
