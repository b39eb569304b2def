"""Real processes for tests: each runs a few lines of Python and speaks over its pipes."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from textwrap import dedent

from tests.support import forked_python


class Child:
    """A process that a test can hear, speak to, and kill."""

    def __init__(self, code: str, *arguments: object) -> None:
        self.process = forked_python.Popen(
            [sys.executable, "-c", dedent(code), *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
        )

    def hear(self) -> str:
        """Waits for the next line that the process prints."""
        assert self.process.stdout
        return self.process.stdout.readline().rstrip("\n")

    def say(self, line: str = "") -> None:
        assert self.process.stdin
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def kill(self) -> None:
        """Ends the process as a power cut would: no handler runs."""
        self.process.kill()
        self.process.wait()

    def end(self) -> str:
        """Waits until the process ends well and returns what else it printed."""
        printed, _ = self.process.communicate(timeout=60)
        assert self.process.returncode == 0
        return printed


@contextmanager
def child(code: str, *arguments: object) -> Iterator[Child]:
    """Starts a process and makes sure that it does not outlive the test."""
    started = Child(code, *arguments)
    with started.process:
        try:
            yield started
        finally:
            started.process.kill()


def run(code: str, *arguments: object) -> str:
    """Runs a process to its end and returns what it printed."""
    with child(code, *arguments) as started:
        return started.end()
