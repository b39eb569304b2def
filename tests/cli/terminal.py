"""A pseudo-terminal with a person at it, for the one question that only a person may answer."""

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Mapping
from typing import Any

from tests.cli.harness import Answer, World
from tests.support import forked_python

QUESTION = b"Type the first 8 characters of the digest to approve: "
PATIENCE = 30.0
BREATH_S = 0.1  # between the last letter and Enter, as people take it
LONG_S = 5.0  # after which a person would try once more

SEQUENCE = re.compile(rb"\x1b\][^\x07]*\x07|\x1b\[[0-9;?<>=$]*[a-zA-Z]")

# Makes the terminal the controlling one, as a login does, and then is the program itself.
LAUNCH = """
import fcntl, signal, sys, termios
fcntl.ioctl(int(sys.argv.pop(1)), termios.TIOCSCTTY, 0)
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, getattr(signal, sys.argv.pop(1)))
"""
PROGRAM = """
from assent.cli import main
main()
"""


def _letters(painted: bytes) -> bytes:
    """Returns what was written there, without what puts it into its place."""
    return b"".join(SEQUENCE.sub(b"", painted).split())


class Terminal:
    """One command line on a terminal. Only what `shared` names goes there besides /dev/tty.

    Another `program` may watch how this one begins, so it is started afresh unless it is `forked`.
    """

    def __init__(
        self,
        world: World,
        *arguments: str,
        typed: bytes = b"",
        shared: tuple[str, ...] = (),
        hangup: str = "SIG_DFL",
        env: Mapping[str, str] | None = None,
        program: str = PROGRAM,
        forked: bool = False,
    ) -> None:
        self.screen = b""
        self._settings: list[Any] = []
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self.type(typed)
        streams = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        streams |= dict.fromkeys(shared, slave)
        line = [sys.executable, "-c", LAUNCH + program, str(slave), hangup, *arguments]
        start = forked_python.Popen if forked or program == PROGRAM else subprocess.Popen
        self._process = start(
            line,
            cwd=world.root,
            env={**world.env, **(env or {})},
            start_new_session=True,
            pass_fds=(slave,),
            stdin=streams["stdin"],
            stdout=streams["stdout"],
            stderr=streams["stderr"],
        )
        os.close(slave)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def settings(self) -> list[Any]:
        """How the terminal is set, as `termios` tells it; after the end, as it was left."""
        return self._settings or termios.tcgetattr(self._master)

    @property
    def stdout(self) -> Any:
        """What a program that goes on has printed so far; it is not on the terminal."""
        return self._process.stdout

    def type(self, keys: bytes) -> None:
        """Types keys, whether anybody reads them or not."""
        os.write(self._master, keys)

    def enter(self, words: bytes) -> None:
        """Types words, and Enter after a breath: what comes all at once is a paste's."""
        before = len(self.screen)
        self.type(words)
        while _letters(words) not in _letters(self.screen[before:]):
            assert self._read(), self.screen
        while select.select([self._master], [], [], BREATH_S)[0]:
            assert self._read(), self.screen
        self.type(b"\r")

    def wait_for(self, text: bytes) -> None:
        """Waits until the text is on the screen."""
        while text not in self.screen:
            assert self._read(), self.screen

    def insist(self, text: bytes, keys: bytes) -> None:
        """Waits until the text is on the screen; types keys whenever nothing comes for long."""
        tries = int(PATIENCE / LONG_S)
        while text not in self.screen:
            if select.select([self._master], [], [], LONG_S)[0]:
                assert self._read(), self.screen
            else:
                assert (tries := tries - 1), self.screen
                self.type(keys)

    def answer(self, keys: bytes) -> Answer:
        """Waits for the question, types the keys, and waits for the end."""
        self.wait_for(QUESTION)
        self.type(keys)
        return self.end()

    def hang_up(self) -> Answer:
        """Takes the terminal away."""
        self._settings = termios.tcgetattr(self._master)
        os.close(self._master)
        return self._ended()

    def hang_up_only(self) -> None:
        """Takes the terminal away, and waits for nothing."""
        os.close(self._master)

    def reap(self) -> int:
        """Returns the exit code of a program that has ended."""
        return int(self._process.wait(PATIENCE))

    def kill(self) -> None:
        """Ends a program that should have ended by itself."""
        self._process.kill()
        self._process.wait(PATIENCE)

    def wait_for_bytes(self, count: int) -> None:
        """Waits until that many bytes were written, or no more come."""
        while len(self.screen) < count and select.select([self._master], [], [], LONG_S)[0]:
            assert self._read(), self.screen

    def read_for(self, seconds: float) -> None:
        """Takes what is written for a time: a terminal that nobody reads would hold it up."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            if select.select([self._master], [], [], left)[0] and not self._read():
                return

    def end(self) -> Answer:
        """Reads the screen to its end and returns what went to the pipes."""
        while self._read():
            pass
        return self.hang_up()

    def _read(self) -> bool:
        """Reads a little more; tells whether there was more."""
        ready, _, _ = select.select([self._master], [], [], PATIENCE)
        assert ready, self.screen
        try:
            more = os.read(self._master, 65536)
        except OSError:  # every descriptor of the other side is closed
            return False
        self.screen += more
        return bool(more)

    def _ended(self) -> Answer:
        out, err = self._process.communicate(timeout=PATIENCE)
        return Answer(self._process.returncode, out or b"", err or b"")
